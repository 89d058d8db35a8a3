# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that are too slow for real time."""

import time

from gnuradio.mimopack import detectors


class SlowDetector:
    """N-way detector slowed down by 20 ms of processor time per call."""

    def __init__(self, unknowns, rows, constellation):
        self._detector = detectors.NWay(num_tx=unknowns, num_rx=rows, constellation=constellation)
        self.candidates = self._detector.candidates

    def detect(self, y, h, noise_var):
        self.pass_time()
        return self._detector.detect(y, h, noise_var)

    @staticmethod
    def pass_time():
        """Use 20 ms of processor time."""
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass


class WaitingDetector(SlowDetector):
    """N-way detector that waits 20 ms per call without using the processor."""

    waited = 0.0

    @staticmethod
    def pass_time():
        """Wait for 20 ms, without Python's lock."""
        begun = time.monotonic()
        time.sleep(0.02)
        WaitingDetector.waited += time.monotonic() - begun


class SlowNWay(detectors.NWay):
    """N-way detector in Python, too slow for real time."""

    def detect(self, *arguments, **options):
        SlowDetector.pass_time()
        return super().detect(*arguments, **options)
