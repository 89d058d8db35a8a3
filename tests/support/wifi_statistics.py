# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames that two antennas received, and their statistics."""

from gnuradio.mimopack.wifi.statistics import Statistics
from wifi_air import FRAMES, air, frames_in

RATE = 20e6


def receive_frames():
    """Return (received frames with their points, sent frames)."""
    samples, sent = air(FRAMES * 3, num_rx=2)
    return frames_in(samples, keep_symbols=True), sent


def counted(frames, **options):
    """Return new statistics, with these options, that have counted the frames."""
    statistics = Statistics(2, RATE, **options)
    for frame in frames:
        statistics.add(frame)
    return statistics
