# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: channel, noise and phase of OFDM frames, in the form that detectors take."""

import numpy as np
import pmt

from ..ofdm import ChannelEstimator, Parameters
from .frame_stream import (
    FRAME_TAG,
    FrameCollector,
    extended,
    frame_number,
    queued_block,
    vector,
)

_NOISE_VAR = pmt.intern("noise_var")


class ofdm_channel_estimator(queued_block):
    """Least-squares channel estimate, noise variance and pilot phase tracking of OFDM frames.

    Inputs are num_rx streams of 64 carriers in ascending frequency (``fft.fft_vcc(64, True, [],
    True)`` behind ``ofdm_frame_sync``) with "frame" tags. Output 0 is y (complex, vlen T * num_rx),
    output 1 is h (complex, vlen num_rx * num_tx, row-major), one item per data carrier and group of
    T = symbols_per_channel data symbols: y = H x + n. The first item of a frame carries on output
    0 the tag "frame", the input's dictionary with these keys added or changed,

        items (of this output), snr_db, condition_db (mean over the carriers), noise_var (with
        the channel estimate's error), noise_var_raw (without)

    and the tag "noise_var", which a detector block takes over from that item on. A frame whose
    samples are not finite passes with noise_var 1 for the detector to erase. See
    ``ofdm.ChannelEstimator``.

    Raises:
        ValueError: a parameter that ``ofdm.Parameters`` or ``ofdm.ChannelEstimator`` refuses.
    """

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="1/2",
                 payload_length=500, symbols_per_channel=1):
        parameters = Parameters(num_tx, constellation, code_rate, payload_length)
        num_tx = parameters.num_tx
        self._estimator = ChannelEstimator(parameters, num_rx, symbols_per_channel)
        self._collector = FrameCollector()
        self._frames = 0
        # An item in makes about 52 / T out.
        queued_block.__init__(
            self, "ofdm_channel_estimator", [(np.complex64, 64)] * num_rx,
            [vector(np.complex64, symbols_per_channel * num_rx),
             vector(np.complex64, num_rx * num_tx)],
            rate=(52, symbols_per_channel), multiple=52 * 64)

    def frames(self):
        """Frames estimated."""
        return self._frames

    def items_outside(self):
        """Input items that belonged to no frame, or to one of another format."""
        return self._collector.items_outside

    def failures(self):
        """Frames left out because they could not be estimated."""
        return self._log.failures

    def _finish(self):
        self._collector.close()

    def _take(self, inputs):
        tags = self.get_tags_in_window(0, 0, len(inputs[0]), FRAME_TAG)
        for info, symbols in self._collector.feed(inputs, tags, self.nitems_read(0)):
            before = self._log.failures
            with self._log.guard(f"frame {frame_number(info)}"), np.errstate(all="ignore"):
                self._estimate(info, np.stack(symbols))
            if self._log.failures > before:
                self._collector.items_outside += len(symbols[0])

    def _estimate(self, info, symbols):
        estimate = self._estimator.estimate(symbols)
        self._frames += 1
        finite = np.isfinite(estimate.noise_var)
        noise_var = estimate.noise_var if finite else 1.0
        info = extended(info, items=len(estimate.y), noise_var=noise_var,
                        noise_var_raw=estimate.noise_var_raw, snr_db=estimate.snr_db,
                        condition_db=estimate.condition_db)
        self._queue.put([estimate.y, estimate.h.reshape(len(estimate.h), -1)],
                        [(0, FRAME_TAG, info), (0, _NOISE_VAR, pmt.from_double(noise_var))])
