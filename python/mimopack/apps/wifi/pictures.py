# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of a recording's frames: constellations, channels, SNR and EVM over time.

Streams and antennas are numbered from 0.
"""

import numpy as np

from ... import constellation as constellations
from ..style import BLUE, GREY, ORANGE, STYLE, plt, save
from .words import format_words

_FRAMES = 3          # number of frames drawn
_POINTS = 4000       # maximum number of points in a constellation
_MOMENTS = 20_000    # maximum number of frames in the picture over time


class Gallery:
    """Collect the data for pictures: a few of the best frames, and SNR and EVM of all frames.

    For each number of streams, the best frame has the largest SNR minus condition number, in dB.
    Frames with the most streams are drawn.
    """

    def __init__(self):
        self._frames = {}
        self._moments = []    # (seconds, SNR, EVM of the worst stream)
        self._stride, self._seen = 1, 0

    def write(self, frame, time=None):
        """Add a frame; keep its arrays only if it is one of the best."""
        if self._seen % self._stride == 0:
            self._moments.append((frame.time, frame.snr_db,
                                  max(frame.evm_db) if frame.evm_db else np.nan))
        self._seen += 1
        if len(self._moments) >= _MOMENTS:
            self._moments = self._moments[::2]
            self._stride *= 2
        for part in frame.parts:
            if part.symbols is None or part.channel is None or not part.fcs_ok:
                continue
            streams = part.format.num_streams
            if streams not in self._frames or _quality(part) > _quality(self._frames[streams]):
                self._frames[streams] = part

    def best(self):
        """Return the best frames, those with the most streams first."""
        return [self._frames[streams] for streams in sorted(self._frames, reverse=True)]

    def draw(self, folder):
        """Draw all pictures into a folder; yield their paths."""
        with plt.rc_context(STYLE):
            for number, frame in enumerate(self.best()[:_FRAMES], 1):
                yield save(constellation_figure(frame), folder / f"constellation-{number}.png",
                           follow=False)
                yield save(channel_figure(frame), folder / f"channel-{number}.png", follow=False)
            if self._moments:
                yield save(_over_time(np.array(self._moments), self._stride),
                           folder / "quality.png", follow=False)


def _quality(frame):
    value = frame.snr_db - (frame.condition_db if np.isfinite(frame.condition_db) else 0.0)
    return value if np.isfinite(value) else -np.inf


def _title(frame):
    return f"{format_words(frame)}, sample {frame.start}, SNR {frame.snr_db:.1f} dB"


def constellation_figure(frame):
    """Draw the equalised points of a frame."""
    symbols = frame.symbols.reshape(-1, frame.symbols.shape[2])
    names = frame.format.constellation.split(",")
    points = [constellations.get(name).points for name in names]
    streams = symbols.shape[1]
    limit = 1.6 * max(np.abs(own.view(float)).max() for own in points)
    figure, axes = plt.subplots(1, streams, figsize=(max(2.9 * streams, 4.5), 3.4), squeeze=False,
                                sharex=True, sharey=True, layout="constrained")
    for stream, axis in enumerate(axes[0]):
        shown = symbols[::-(-len(symbols) // _POINTS), stream]
        axis.plot(shown.real, shown.imag, ".", markersize=3, alpha=0.5, color=BLUE)
        own = points[stream % len(names)]
        axis.plot(own.real, own.imag, "+", markersize=7, color=ORANGE)
        axis.set_title(f"stream {stream}, EVM {frame.evm_db[stream]:.1f} dB")
        axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xlabel="in-phase")
    axes[0, 0].set_ylabel("quadrature")
    figure.suptitle(f"Equalised constellation\n{_title(frame)}")
    return figure


def channel_figure(frame):
    """Draw |H| over the subcarriers of a frame."""
    carriers, h = frame.channel.carriers, frame.channel.matrices
    decibels = 20 * np.log10(np.maximum(np.abs(h), 1e-12))
    num_rx, streams = h.shape[1:]
    figure, axes = plt.subplots(num_rx, streams, squeeze=False, sharex=True, sharey=True,
                                figsize=(max(2.2 * streams + 0.8, 5), 1.6 * num_rx + 1.2),
                                layout="constrained")
    noise = 10 * np.log10(np.maximum(frame.channel.noise, 1e-30))
    for i in range(num_rx):
        for j in range(streams):
            axes[i, j].plot(carriers, decibels[:, i, j], ".-", markersize=2.5,
                            linewidth=1, color=BLUE)
            axes[i, j].axhline(noise[i], color=GREY, linewidth=0.8, linestyle="--")
    bottom = max(min(decibels.min(), noise.min()) - 3, decibels.max() - 60)
    axes[0, 0].set_ylim(bottom, decibels.max() + 3)
    for j in range(streams):
        axes[0, j].set_title(f"stream {j}")
        axes[-1, j].set_xlabel("subcarrier")
    for i in range(num_rx):
        axes[i, 0].set_ylabel(f"antenna {i}\n|H|, dBFS")
    figure.suptitle(f"|H| over the subcarriers; dashed: noise per subcarrier\n{_title(frame)}")
    return figure


def _over_time(moments, stride):
    figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True, layout="constrained")
    every = "each frame" if stride == 1 else f"one frame in {stride}"
    for axis, values, name, colour in (
            (axes[0], moments[:, 1], "SNR, dB", BLUE),
            (axes[1], moments[:, 2], "EVM of the worst\nstream, dB", ORANGE)):
        axis.plot(1e3 * moments[:, 0], values, ".", markersize=3, color=colour)
        axis.set_ylabel(name)
    axes[1].set_xlabel("time, ms")
    figure.suptitle(f"SNR and error vector magnitude over time, {every}")
    return figure
