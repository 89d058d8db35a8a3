# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of the blocks that find Wi-Fi frames in samples."""

from ..checks import number, positive
from ..wifi.frame_detectors import FrameDetectors, is_function
from .sample_stream import SampleSink, sample_block


class WifiSink(SampleSink):
    """Take samples for ``wifi.Receiver``, ``wifi.Synchroniser`` or ``wifi.ChannelEstimator``.

    Args:
        frequency: centre frequency in Hz, or None.

    Others are those of ``SampleSink``.
    """

    def __init__(self, name, engine, frequency, outlet, overload="wait", buffer_seconds=0.25,
                 source=None):
        self.set_frequency(frequency)
        self._threshold = engine.threshold
        SampleSink.__init__(self, name, engine, outlet, overload, buffer_seconds, source)

    def frequency(self):
        """Return the centre frequency in Hz of samples without a tag rx_freq; None if unknown."""
        return self._frequency

    def set_frequency(self, frequency):
        """Set the centre frequency in Hz of samples without a tag rx_freq; None if unknown."""
        self._frequency = None if frequency is None else positive("frequency", frequency)

    def threshold(self):
        """Return the threshold of preamble detection."""
        return self._threshold

    def set_threshold(self, threshold):
        """Set the threshold, 0.2 to 0.95, from the next samples on."""
        threshold = number("threshold", threshold)
        if not 0.2 <= threshold <= 0.95:
            raise ValueError(f"threshold: got {threshold}, allowed are 0.2 to 0.95")
        self._threshold = threshold

    def _prepare(self):
        self.engine.threshold = self._threshold


class DetectorChoice:
    """Mixin of blocks whose detector can change while they run; uses ``_iterations``."""

    def detector(self):
        """Return the MIMO detector: its name with parameters, an object or a function."""
        return self._detector

    def set_detector(self, detector):
        """Use another detector from the next samples on."""
        # Refuse it here: the engine in the other thread could not tell the caller.
        if not is_function(detector):
            FrameDetectors(detector, self._iterations)
        self._detector = detector


class wifi_block(sample_block):
    """Base class of the public blocks, whose sink is a ``WifiSink``."""

    def frequency(self):
        """Return the centre frequency in Hz of samples without a tag rx_freq; None if unknown."""
        return self._sink.frequency()

    def set_frequency(self, frequency):
        """Set the centre frequency in Hz of samples without a tag rx_freq; None if unknown."""
        self._sink.set_frequency(frequency)

    def threshold(self):
        """Return the threshold of preamble detection."""
        return self._sink.threshold()

    def set_threshold(self, threshold):
        """Set the threshold, 0.2 to 0.95, from the next samples on."""
        self._sink.set_threshold(threshold)

