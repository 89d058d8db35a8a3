# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plots in text: points and curves of braille dots, bars, and coloured cells."""

import math

import numpy as np
from rich.text import Text

# Bits of the dots in a braille character by (row, column): Unicode block U+2800.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = " ▁▂▃▄▅▆▇█"
# Colour map from dark blue over green to yellow, similar to viridis of matplotlib.
_HEAT = np.array([[15, 15, 35], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]])
COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue", "bright_cyan", "bright_yellow")


class Canvas:
    """A picture of dots on lines of braille characters, with 2 x 4 dots per character.

    A character has the colour of its last dot.

    Args:
        width, height: size in characters.
    """

    def __init__(self, width, height):
        self.dots_x, self.dots_y = 2 * width, 4 * height
        self._bits = np.zeros((height, width), int)
        self._colours = np.full((height, width), -1)

    def put(self, x, y, colour=0):
        """Set dots; dots outside the canvas are ignored.

        Args:
            x, y: integers, from the left and from the top.
            colour: index in ``COLOURS``; -1 means no colour.
        """
        x, y = np.asarray(x), np.asarray(y)
        inside = (x >= 0) & (x < self.dots_x) & (y >= 0) & (y < self.dots_y)
        x, y = x[inside], y[inside]
        np.bitwise_or.at(self._bits, (y // 4, x // 2), _DOTS[y % 4, x % 2])
        self._colours[y // 4, x // 2] = colour

    def lines(self):
        """Return a ``rich.text.Text`` for each line."""
        return [_coloured((chr(0x2800 + bits) if bits else " " for bits in row), colours)
                for row, colours in zip(self._bits.tolist(), self._colours.tolist(), strict=True)]


def _coloured(characters, colours):
    text = Text(no_wrap=True)
    # Append characters one by one: SVG then keeps their positions, whatever font shows the braille.
    for character, colour in zip(characters, colours, strict=True):
        text.append(character, COLOURS[colour % len(COLOURS)] if colour >= 0 else "")
    return text


def scatter(points, width, height, limit, colour=0):
    """Draw complex points around 0 as lines of text.

    Args:
        points: complex (n,).
        width, height: size in characters.
        limit: largest real and imaginary part shown.
        colour: index in ``COLOURS``.
    """
    canvas = Canvas(width, height)
    # Dots have about the same distance in both directions. Keep the picture square.
    side = min(canvas.dots_x, canvas.dots_y)
    if side:
        points = np.asarray(points)[np.isfinite(points)]
        places = [np.floor((1 + part / limit) / 2 * side).astype(int)
                  for part in (points.real, -points.imag)]
        inside = (places[0] >= 0) & (places[0] < side) & (places[1] >= 0) & (places[1] < side)
        canvas.put(places[0][inside] + (canvas.dots_x - side) // 2, places[1][inside], colour)
    return canvas.lines()


def curves(x, values, width, height, low, high):
    """Draw curves as lines of text.

    Args:
        x: (n,), ascending, common to all curves.
        values: (curves, n); values outside low..high appear at the edge.
        width, height: size in characters.
        low, high: values at the lower and upper edge.
    """
    canvas = Canvas(width, height)
    dots = np.arange(canvas.dots_x)
    at = x[0] + dots / max(1, canvas.dots_x - 1) * (x[-1] - x[0])
    for index, curve in enumerate(np.atleast_2d(values)):
        level = np.clip((np.interp(at, x, curve) - low) / max(high - low, 1e-9), 0, 1)
        row = np.round((1 - level) * (canvas.dots_y - 1)).astype(int)
        canvas.put(dots, row, index)
        for column in range(1, len(dots)):    # fill gaps in steep parts
            between = np.arange(*sorted((row[column - 1], row[column])))
            canvas.put(np.full(between.size, column), between, index)
    return canvas.lines()


def heights(values, width, low, high):
    """Draw values as a line of blocks; a character shows the largest of its values."""
    parts = np.array_split(np.asarray(values, float), min(width, max(1, len(values))))
    peaks = [np.max(part) if part.size else low for part in parts]
    steps = [round(8 * min(1, max(0, (peak - low) / max(high - low, 1e-9))))
             if math.isfinite(peak) else 0 for peak in peaks]
    return "".join(_HEIGHTS[max(1, step)] for step in steps)


def bar(share, width):
    """Draw a bar for a share of the width, in eighths of a character; nan is empty."""
    if not share > 0:
        return " " * width
    eighths = round(8 * width * min(1.0, share))
    text = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return text.ljust(width)


def heat(picture, width, height):
    """Draw shares as coloured cells, two rows per line, with the newest row at the bottom.

    Args:
        picture: (rows, columns), 0 to 1; nan is left blank.
        width, height: size in characters.
    """
    count = min(2 * height, len(picture))
    shown = picture[len(picture) - count:]
    if count % 2:
        shown = np.concatenate([np.full((1, shown.shape[1]), np.nan), shown])
    columns = [part for part in np.array_split(shown, min(width, shown.shape[1]), axis=1)]
    cells = np.stack([np.mean(part, axis=1) for part in columns], axis=1)
    lines = []
    for upper, lower in zip(cells[::2], cells[1::2], strict=True):
        text = Text(no_wrap=True)
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            if math.isnan(above) and math.isnan(below):
                text.append(" ")
            elif math.isnan(below):
                text.append("▀", _heat_colour(above))
            elif math.isnan(above):
                text.append("▄", _heat_colour(below))
            else:
                text.append("▀", f"{_heat_colour(above)} on {_heat_colour(below)}")
        lines.append(text)
    return lines


def _heat_colour(share):
    """Return the colour of the square root of a share, which makes short frames visible."""
    place = math.sqrt(min(1.0, max(0.0, share))) * (len(_HEAT) - 1)
    below = min(int(place), len(_HEAT) - 2)
    mixed = _HEAT[below] + (place - below) * (_HEAT[below + 1] - _HEAT[below])
    return "#" + "".join(f"{round(part):02x}" for part in mixed.tolist())
