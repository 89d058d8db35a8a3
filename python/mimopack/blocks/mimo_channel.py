# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: simulate a MIMO channel from num_tx to num_rx streams."""

import threading

import numpy as np
from gnuradio import gr

from ..channel import MIMOChannel
from .settings import Controlled
from .streams import BlockLog


class mimo_channel(Controlled, gr.basic_block):
    """Simulate a MIMO channel with fading, delays, correlation, frequency offsets and noise.

    ``channel.MIMOChannel`` describes the model. A block keeps one realisation of the channel, which
    varies with the Doppler frequency. The output does not depend on how the scheduler divides the
    stream into calls. When the input ends, its last ``latency`` samples are still in the filter and
    are lost.

    Each output carries the tags of all inputs. A tag moves with its sample on the path without
    delay: ``latency`` samples later, and nearer or further away with a sampling offset.

    Ports:
        in 0 to num_tx - 1: complex: the samples of each transmit antenna.
        out 0 to num_rx - 1: complex: the samples of each receive antenna.
        message in ``control``: dictionary with the keys ``snr_db`` (in dB) and ``cfo`` (in Hz), or
            a pair of one key and its value.

    The arguments are those of ``channel.MIMOChannel``. ``snr_db`` and ``cfo`` can be changed while
    the flowgraph runs, by the methods ``set_snr_db`` and ``set_cfo`` or by a message.

    Raises:
        ValueError: ``channel.MIMOChannel`` refuses an argument.
    """

    CONTROLS = ("snr_db", "cfo")

    def __init__(self, num_tx=4, num_rx=4, profile="flat", delay_spread=0.0, sample_rate=20e6,
                 doppler=0.0, rho_tx=0.0, rho_rx=0.0, snr_db=None, signal_power=1.0, cfo=0.0,
                 sampling_offset=0.0, seed=None):
        self._channel = MIMOChannel(
            num_tx, num_rx, profile=profile, delay_spread=delay_spread, sample_rate=sample_rate,
            doppler=doppler, rho_tx=rho_tx, rho_rx=rho_rx, snr_db=snr_db,
            signal_power=signal_power, cfo=cfo, sampling_offset=sampling_offset, seed=seed)
        gr.basic_block.__init__(self, "mimo_channel", [np.complex64] * num_tx,
                                [np.complex64] * num_rx)
        # Both move the tags.
        self.declare_sample_delay(self.latency)
        self.set_relative_rate(10**9, round(10**9 + 10**3 * sampling_offset))
        self._lock = threading.Lock()
        self._log = BlockLog(self)
        self._register_control()

    @property
    def latency(self):
        """Delay from input to output of a path without delay, in samples."""
        return self._channel.latency

    def snr_db(self):
        """Return the mean SNR at each receive antenna in dB; None without noise."""
        return self._channel.snr_db

    def set_snr_db(self, snr_db):
        """Set the SNR in dB; None turns the noise off."""
        with self._lock:
            self._channel.snr_db = snr_db

    def cfo(self):
        """Return the carrier frequency offset in Hz."""
        return self._channel.cfo

    def set_cfo(self, cfo):
        """Set the carrier frequency offset in Hz; the phase stays continuous."""
        with self._lock:
            self._channel.cfo = cfo

    def forecast(self, noutput_items, ninputs):
        # With a sampling offset, one input can give two outputs.
        return [max(noutput_items - 1, 1)] * ninputs

    def general_work(self, input_items, output_items):
        space = len(output_items[0])
        count = min(min(map(len, input_items)), space)
        with self._lock:
            while count and self._channel.num_outputs(count) > space:
                count -= 1
            made = self._channel.num_outputs(count)
            received = self._channel.process(np.stack([x[:count] for x in input_items]))
            for out, samples in zip(output_items, received, strict=True):
                out[:made] = samples
        self.consume_each(count)
        return made
