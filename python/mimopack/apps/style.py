# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common style of all pictures, and their files; matplotlib draws them without a display."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.backend_bases import FigureCanvasBase

from ..files import replace_file

BLUE, ORANGE, GREY = "#1f6fb4", "#d95f02", "#8a8a8a"
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
         "axes.spines.right": False, "figure.dpi": 110, "savefig.bbox": "tight"}


def picture_format(path):
    """Return the format of a picture by the extension of its path, PNG without one."""
    name = Path(path).suffix[1:].lower() or "png"
    if name not in FigureCanvasBase.filetypes:
        raise ValueError(f"{path}: pictures cannot be written as {name}, allowed are "
                         f"{', '.join(sorted(FigureCanvasBase.filetypes))}")
    return name


def as_text(words):
    """Return words such that matplotlib draws them as they are, and at most 1000 characters."""
    words = words if len(words) <= 1000 else words[:999] + "…"
    return words.replace("$", r"\$")


def save(figure, path, follow=True):
    """Write a figure to a file and close it; return the path. ``follow``: ``files.Replacement``."""
    try:
        with replace_file(path, binary=True, follow=follow) as file:
            figure.savefig(file, format=picture_format(path))
    finally:
        plt.close(figure)
    return path
