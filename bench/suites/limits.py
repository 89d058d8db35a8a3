# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upper limits of a machine's speed, from rates measured in the same run.

The arithmetic limit is the rate of alternating fused multiply-adds and additions without memory
access, over the SIMD instructions per vector (``operations``). The memory limit is the bandwidth of
a copy over the bytes of y, H and the LLRs, each moved once; a batch that stays in a cache can
exceed it.
"""

import time

import numpy as np
from gnuradio.mimopack import _core
from gnuradio.mimopack.apps.bench.measuring import Run

from . import operations

NODE_VECTORS = 5000


def bytes_per_vector(setting):
    """Return the bytes per vector: y and the vector's share of H are read, LLRs are written."""
    return (8 * setting.num_rx + 8 * setting.num_rx * setting.num_tx / setting.per_channel
            + 4 * setting.bits_per_vector)


def nodes_per_vector(detector, data):
    """Return the mean number of nodes that a search visits, or None if it does not count them."""
    if not hasattr(detector, "count_nodes"):
        return None
    n = min(NODE_VECTORS, data.vectors)
    n -= n % data.setting.per_channel
    nodes = detector.count_nodes(data.y[:n], data.h[:n // data.setting.per_channel],
                                 data.setting.noise_var)
    return float(nodes.sum() / n)    # psd counts for each thread


def instructions_per_vector(detector, data, lanes, per_fma=1):
    """Return the SIMD instructions for a vector in each lane.

    ``per_fma`` is the number of instructions for a fused multiply-add.
    """
    fma, other = operations.count(detector, data.setting.per_channel, lanes,
                                  nodes_per_vector(detector, data))
    return float(per_fma * fma + other)


class ArithmeticRun(Run):
    """Time multiply-adds and additions without memory; a unit of work is a turn of the loop."""

    least = 1000

    def __init__(self, isa, threads):
        self.isa, self.threads = isa, threads
        self.instructions = 0    # per unit of work

    def time(self, n):
        start = time.perf_counter()
        issued = _core.issue_arithmetic(self.isa, self.threads, n)
        elapsed = time.perf_counter() - start
        self.instructions = issued / n
        return elapsed

    @property
    def instructions_per_s(self):
        return self.rate * self.instructions


class CopyRun(Run):
    """Time copies of the channel matrices of ``data``; a unit is a byte read and a byte written."""

    def __init__(self, data, threads):
        self.data, self.threads = data, threads
        self.most = self.least = data.h.nbytes
        self.room = np.zeros_like(data.h)

    def time(self, n):
        start = time.perf_counter()
        _core.copy(self.room, self.data.h, self.threads)
        return time.perf_counter() - start

    @property
    def bytes_per_s(self):
        """Bytes per second, read and written together."""
        return 2 * self.rate


class Limits:
    """Runs that measure a machine's rates; they take turns with the detectors."""

    def __init__(self, isas, threads, data):
        self.arithmetic = {isa: ArithmeticRun(isa, threads) for isa in isas}
        self.copy = CopyRun(data, threads)

    @property
    def runs(self):
        return [*self.arithmetic.values(), self.copy]

    def rates(self):
        """Return the measured rates for the JSON file."""
        return {"simd_instructions_per_s": {
                    isa: run.instructions_per_s for isa, run in self.arithmetic.items()},
                "copy_bytes_per_s": self.copy.bytes_per_s}

    def of(self, case, detector, data):
        """Return {"arithmetic": ..., "memory": ...} in vectors/s, and instructions per vector."""
        isa = detector.isa
        lanes = _core.lanes(isa)
        instructions = instructions_per_vector(detector, data, lanes,
                                               _core.instructions_per_fma(isa))
        arithmetic = self.arithmetic[isa].instructions_per_s * lanes / instructions
        return {"arithmetic": arithmetic,
                "memory": self.copy.bytes_per_s / bytes_per_vector(data.setting)}, instructions
