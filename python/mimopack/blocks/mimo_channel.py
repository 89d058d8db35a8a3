# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: simulated MIMO channel between num_tx and num_rx streams."""

import threading

import numpy as np
from gnuradio import gr

from ..channel import MIMOChannel
from .settings import Controlled
from .streams import BlockLog


class mimo_channel(Controlled, gr.basic_block):
    """MIMO channel with fading, delays, correlation, carrier and sampling offset, and noise.

    Inputs are the samples of num_tx antennas, outputs those of num_rx antennas (complex). The
    model, the units and the meaning of every parameter are those of ``channel.MIMOChannel``; one
    realisation lasts as long as the block, and moves on with the Doppler frequency. As with any
    FIR filter, what is inside it when the stream ends (``latency`` samples) does not come out.
    The result does not depend on how the scheduler cuts the stream.

    ``snr_db`` and ``cfo`` can be set while running: by their setters, or by a message at port
    "control", a pair or a dictionary with the keys "snr_db" and "cfo" and numbers as values.

    Raises:
        ValueError: a parameter that ``channel.MIMOChannel`` refuses.
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
        self._lock = threading.Lock()
        self._log = BlockLog(self)
        self._register_control()

    @property
    def latency(self):
        """Samples by which the path of delay 0 comes late."""
        return self._channel.latency

    def snr_db(self):
        """Mean SNR at each receive antenna in dB, or None."""
        return self._channel.snr_db

    def set_snr_db(self, snr_db):
        """Set the SNR in dB; None switches the noise off."""
        with self._lock:
            self._channel.snr_db = snr_db

    def cfo(self):
        """Carrier frequency offset in Hz."""
        return self._channel.cfo

    def set_cfo(self, cfo):
        """Set the carrier frequency offset in Hz; the phase goes on without a jump."""
        with self._lock:
            self._channel.cfo = cfo

    def forecast(self, noutput_items, ninputs):
        # With a sampling offset two outputs can come of one input.
        return [max(noutput_items - 1, 1)] * ninputs

    def general_work(self, input_items, output_items):
        space = len(output_items[0])
        count = min(min(map(len, input_items)), space)
        with self._lock:
            while count and self._channel.num_outputs(count) > space:
                count -= 1
            received = self._channel.process(np.stack([x[:count] for x in input_items]))
        self.consume_each(count)
        for out, samples in zip(output_items, received, strict=True):
            out[:len(samples)] = samples
        return received.shape[1]
