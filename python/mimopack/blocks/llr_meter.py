# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: measure the saturation and calibration of LLRs."""

import threading

import numpy as np
import pmt
from gnuradio import gr

from .._runtime import to_pmt_dict
from ..checks import choice, integer, number, positive
from ..llr_health import LlrHealth
from .fec_decoder import LLR_TYPES
from .streams import vector

_HEALTH = pmt.intern("health")


class llr_meter(gr.sync_block):
    """Compare LLRs with decoded bits, and measure saturation and calibration.

    Each LLR is compared with the bit at the same place. For a detector's LLRs, decode them, encode
    the decisions again, and connect the coded bits. For a decoder's LLRs of information bits,
    connect the decoder's decisions. See ``llr_health.LlrHealth``.

    Ports:
        in 0 ``llr``: float (or int8), vlen num_bits: ln P(1)/P(0).
        in 1 ``bits``: byte, vlen num_bits: one bit per byte (the least significant).
        message out ``health``: a dictionary after each ``period`` LLRs. The keys ``bits``,
            ``wrong``, ``erased``, ``saturated``, ``limit``, ``invalid``, ``scale``,
            ``scale_error`` and ``verdict`` are defined in ``llr_health.LlrFigures`` (scale and
            scale_error are missing if they are nan). The f64vectors ``range_low``, ``range_bits``,
            ``range_wrong`` and ``range_expected`` have an element for each range of magnitudes, see
            ``llr_health.Range``.

    The method ``text`` returns the figures of all LLRs as one line, for GNU Radio's Function Probe.

    Args:
        num_bits: LLRs per item, 1..2^24.
        llr_type: "float32" or "int8".
        llr_scale: for int8: integer value of an LLR of 1, as in the detector.
        limit: magnitude from which on an LLR counts as saturated. 0 takes the largest magnitude so
            far, or for int8 the largest possible magnitude.
        period: number of LLRs per message, 1..2^40.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, num_bits=1, llr_type="float32", llr_scale=8.0, limit=0.0, period=100_000):
        kind = LLR_TYPES[choice("llr_type", llr_type, tuple(LLR_TYPES))]
        self._step = 1.0
        if kind is np.int8:
            self._step = 1 / positive("llr_scale", llr_scale)
        limit = number("limit", limit)
        if not 0 <= limit < np.inf:
            raise ValueError(f"limit: got {limit}, must be 0 or positive and finite")
        self._limit = limit or (127 * self._step if kind is np.int8 else None)
        self._period = integer("period", period, 1, 2**40)
        self._all, self._recent = LlrHealth(self._limit), LlrHealth(self._limit)
        self._waiting, self._lock = 0, threading.Lock()
        num_bits = integer("num_bits", num_bits, 1, 2**24)
        gr.sync_block.__init__(self, "llr_meter", [vector(kind, num_bits),
                                                   vector(np.uint8, num_bits)], None)
        self.message_port_register_out(_HEALTH)

    def figures(self):
        """Return ``llr_health.LlrFigures`` of all LLRs since the block was made."""
        with self._lock:
            total = LlrHealth(self._limit)
            total.merge(self._all)
            total.merge(self._recent)
            return total.figures()

    def text(self):
        """Return the figures of all LLRs as one line of text."""
        return self.figures().text()

    def work(self, input_items, _output_items):
        llr, bits = (items.reshape(-1) for items in input_items)
        at = 0
        while at < llr.size:
            count = min(llr.size - at, self._period - self._waiting)
            part = slice(at, at + count)
            with self._lock:
                self._recent.add(llr[part] * self._step, bits[part])
            at, self._waiting = at + count, (self._waiting + count) % self._period
            if not self._waiting:
                self._tell()
        return len(input_items[0])

    def _tell(self):
        with self._lock:
            figures = self._recent.figures()
            self._all.merge(self._recent)
            self._recent = LlrHealth(self._limit)
        told = vars(figures) | {f"range_{name}": [float(getattr(part, name))
                                                  for part in figures.ranges]
                                for name in ("low", "bits", "wrong", "expected")}
        told.pop("ranges")
        if np.isnan(figures.scale):
            told["scale"] = told["scale_error"] = None
        self.message_port_pub(_HEALTH, to_pmt_dict(told))
