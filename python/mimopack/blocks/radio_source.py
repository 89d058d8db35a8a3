# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: receive with several antennas of a radio, through SoapySDR or UHD."""

import weakref

import numpy as np

from ..checks import flag, integer, number, positive
from .hierarchy import hierarchical_block
from .radio import RadioSettings, open_radio
from .recording_stream import message_taker
from .settings import Controlled
from .streams import BlockLog

_MOST_ANTENNAS = 64


class radio_source(Controlled, hierarchical_block):
    """Receive with several antennas of a radio, through SoapySDR (gr-soapy) or UHD (gr-uhd).

    All antennas have the same frequency, sample rate and filters. The block sets the device's clock
    to the host's time when it is made. Then the tags rx_time are in seconds since 1970. With a
    ``time_source`` that gives a pulse per second, and with several USRPs, the clock is set at a
    pulse, which takes up to three seconds. When the flowgraph starts, the device starts the samples
    of all antennas at the same time.

    Ports:
        out 0 to num_rx - 1: complex: the samples of each antenna. Full scale is 1.
        message in ``control``: dictionary with the keys ``frequency`` or ``freq`` (in Hz) and
            ``gain`` (in dB for all antennas, or "auto"), or a pair of one key and its value. A
            click into a QT GUI Frequency Sink sends such a pair.

    Tags: those of the inner block ``source``, on each output: rx_time (a tuple of whole seconds and
    a fraction), rx_rate (samples per second) and rx_freq (centre frequency in Hz). gr-soapy tags
    the first sample, and the first one after an overflow. gr-uhd also tags the first one after a
    change.

    Keep a reference to the block: the device is given back when Python frees it. A flowgraph with
    the freed block does not start. Two blocks cannot have one device: a flowgraph with them may
    hang when it starts.

    The block logs what the device does not do as asked: it has no clock, its filters have another
    bandwidth, or a USRP is not locked to its reference clock. If the radio is unplugged, gr-soapy
    logs "Soapy source error: STREAM_ERROR" repeatedly, and the flowgraph does not end by itself.

    Args:
        device: ``driver=NAME``, with further arguments of SoapySDR after commas, as in
            "driver=lime,serial=0009". ``driver=uhd``, with a device address of UHD after a comma,
            selects gr-uhd.
        frequency: centre frequency in Hz.
        num_rx: number of antennas, 1..64.
        sample_rate: sample rate in samples per second.
        gain: gain in dB, or a sequence with one for each antenna; "auto" lets the device control
            it; None keeps the device's.
        bandwidth: bandwidth of the analogue filters in Hz; None keeps the device's.
        antenna_names: name of the port of all antennas, such as "RX2", or a sequence with one for
            each antenna; None keeps the device's.
        clock_source: name of the reference clock, such as "external"; None keeps the device's.
        time_source: name of the source of time, such as "gpsdo"; None keeps the device's.
        correction: whether the device corrects DC offset and IQ imbalance, if it can.

    Attributes:
        source: the inner block, ``soapy.source`` or ``uhd.usrp_source``, for further settings.

    Raises:
        ValueError: an argument is not as above, the device cannot be opened, or it does not have a
            setting.
    """

    CONTROLS = ("frequency", "freq", "gain")

    def __init__(self, device, frequency, num_rx=1, sample_rate=20e6, gain=None, bandwidth=None,
                 antenna_names=None, clock_source=None, time_source=None, correction=True):
        settings = RadioSettings(
            device, positive("frequency", frequency), positive("sample_rate", sample_rate),
            integer("num_rx", num_rx, 1, _MOST_ANTENNAS), _gains(gain),
            None if bandwidth is None else positive("bandwidth", bandwidth),
            (antenna_names,) if isinstance(antenna_names, str) else
            antenna_names and tuple(antenna_names), clock_source, time_source,
            flag("correction", correction))
        self._radio = open_radio(settings)
        self.source = self._radio.source
        hierarchical_block.__init__(self, "radio_source", 0, (1,) * settings.num_rx)
        for antenna in range(settings.num_rx):
            self.connect((self.source, antenna), (self, antenna))
        # Without references to itself, the block gives the device back as soon as it is unused.
        this = weakref.proxy(self)
        self._log = BlockLog(this)
        self._taker = message_taker(self, "control", lambda message: this._on_control(message),
                                    self._log)
        # GNU Radio does not tell a hierarchical block that it starts, so set the clock here. The
        # inner block starts all antennas together.
        warning = self._radio.set_clock()
        for line in (*self._radio.notes, *([warning] if warning else [])):
            self._log.warn(None, line)

    def frequency(self):
        """Return the centre frequency in Hz."""
        return self._radio.frequency

    def set_frequency(self, frequency):
        """Tune all antennas to a frequency in Hz.

        Raises:
            ValueError: the device does not have the frequency. It keeps its present one.
        """
        self._radio.set_frequency(positive("frequency", frequency))

    set_freq = set_frequency    # the name in messages of GNU Radio's displays

    def gain(self):
        """Return a tuple with the gain in dB of all antennas or of each; "auto"; or None."""
        return self._radio.gain

    def set_gain(self, gain):
        """Set the gain, as the argument ``gain``; None leaves it as it is.

        Raises:
            ValueError: the device does not have the gain. It keeps its present one.
        """
        self._radio.set_gain(_gains(gain))


def _gains(gain):
    """Check gains; return a tuple, "auto" or None."""
    if gain is None or isinstance(gain, str) and gain == "auto":
        return gain
    return tuple(number("gain", value) for value in np.ravel(gain))
