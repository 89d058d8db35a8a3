# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the pictures of ``mimopack play``.

They show the share of frames that each detector decodes, and one frame's constellation and channel.
Streams and antennas are counted from 0.
"""

import numpy as np
import pmt

from ..style import STYLE, plt, save
from ..wifi.pictures import channel_figure, constellation_figure

_KEPT = 64    # frames whose points and channels are kept; the best one is drawn


class Views:
    """Keep equalised points and channel matrices of a detector's first frames."""

    def __init__(self):
        self._symbols, self._channels = {}, {}

    def add_symbols(self, message):
        """Store a PDU of the port ``symbols``."""
        self._keep(self._symbols, message)

    def add_csi(self, message):
        """Store a PDU of the port ``csi``."""
        self._keep(self._channels, message)

    @staticmethod
    def _keep(kept, message):
        if len(kept) < _KEPT:
            told = pmt.to_python(pmt.car(message))
            kept[told["start"]] = told, np.array(pmt.c32vector_elements(pmt.cdr(message)),
                                                 np.complex64)

    def best(self, frames):
        """Return the start of the best decoded frame, or None.

        The best frame has the most streams; among these, the highest SNR minus condition number in
        dB.
        """
        known = [frame for frame in frames
                 if frame["num_mpdus_ok"] and frame["start"] in self._symbols
                 and frame["start"] in self._channels]
        return max(known, key=_quality, default={"start": None})["start"]

    def draw(self, start, folder):
        """Draw a frame's constellation and channel, and yield the paths."""
        told, points = self._symbols[start]
        csi, matrices = self._channels[start]
        title = (f"{told['format'].upper()} MCS {told['mcs']}, sample {start}, "
                 f"SNR {csi['snr_db']:.1f} dB")
        shape = (-1, csi["num_rx"], csi["num_space_time_streams"])
        yield save(constellation_figure(told["constellation"],
                                        points.reshape(told["num_streams"], -1).T, told["evm_db"],
                                        title), folder / "constellation.png", follow=False)
        yield save(channel_figure(csi["carriers"], matrices.reshape(shape), csi["noise"], title),
                   folder / "channel.png", follow=False)


def _quality(frame):
    condition = frame["condition_db"]
    return frame["num_streams"] or 0, frame["snr_db"] - (0.0 if condition is None else condition)


def draw(rows, views, start, folder):
    """Draw all pictures.

    Args:
        rows: summaries of ``Tally``.
        views: ``Views`` of one detector.
        start: start of the frame to draw, see ``Views.best``; None draws no frame.
        folder: folder for the pictures.

    Yields:
        The path of each picture.
    """
    with plt.rc_context(STYLE):
        yield save(_decoded(rows), folder / "detectors.png", follow=False)
        if start is not None:
            yield from views.draw(start, folder)


def _decoded(rows):
    """Draw the share of frames that each detector decodes, over SNR if annotations give it."""
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    axis.set(ylabel="frames decoded, %", ylim=(-3, 103))
    if any(row["decoded_by_snr"] for row in rows):
        for row in rows:
            levels = [level for level in row["decoded_by_snr"] or [] if level["sent"]]
            axis.plot([level["snr_db"] for level in levels],
                      [100 * level["decoded"] / level["sent"] for level in levels], "o-",
                      label=row["detector"] + " (incomplete)" * (not row["complete"]))
        axis.set(xlabel="SNR per receive antenna, dB")
        axis.legend()
    else:
        shares = [0.0 if row["packet_error_rate"] is None else 100 * (1 - row["packet_error_rate"])
                  for row in rows]
        axis.bar([row["detector"] for row in rows], shares)
        axis.set(xlabel="detector")
    axis.set_title(f"Frames decoded of the frames {rows[0]['packet_error_rate_of']}")
    return figure
