# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine could reach at most, from rates measured in the same run.

Arithmetic: the rate at which fused multiply-adds and additions in turn issue, without memory, over
the SIMD instructions that are counted for a vector (``operations``). Memory: the bytes of y, H and
the LLRs, each moved once, over the bandwidth of a copy; a batch that stays in a cache can pass it.
"""

from ... import _core
from . import operations
from .measuring import ArithmeticRun, CopyRun

NODE_VECTORS = 5000


def bytes_per_vector(setting):
    """y and the vector's share of H read, its LLRs written."""
    return (8 * setting.num_rx + 8 * setting.num_rx * setting.num_tx / setting.per_channel
            + 4 * setting.bits_per_vector)


def nodes_per_vector(detector, data):
    """Nodes that a search visits for a vector, the mean of some; None where it does not tell."""
    if not hasattr(detector, "count_nodes"):
        return None
    n = min(NODE_VECTORS, data.vectors)
    n -= n % data.setting.per_channel
    nodes = detector.count_nodes(data.y[:n], data.h[:n // data.setting.per_channel],
                                 data.setting.noise_var)
    return float(nodes.sum() / n)    # psd counts thread by thread


def count(case, lanes, nodes=None):
    """``operations.count`` of a case."""
    setting = case.setting
    problem = operations.Problem(setting.num_tx, setting.num_rx, setting.points.size,
                                 setting.per_channel)
    return operations.count(case.detector, problem, lanes, case.parameters, nodes)


class Limits:
    """Runs that measure a machine's rates, to be timed in turns with the detectors."""

    def __init__(self, isas, threads, data):
        self.arithmetic = {isa: ArithmeticRun(isa, threads) for isa in isas}
        self.copy = CopyRun(data, threads)

    @property
    def runs(self):
        return [*self.arithmetic.values(), self.copy]

    def rates(self):
        """What was measured, for the JSON file."""
        return {"simd_instructions_per_s": {
                    isa: run.instructions_per_s for isa, run in self.arithmetic.items()},
                "copy_bytes_per_s": self.copy.bytes_per_s}

    def of(self, case, detector, data):
        """Vectors per second: {"arithmetic": ..., "memory": ...}, and what was counted."""
        isa = detector.isa
        lanes = _core.lanes(isa)
        instructions = count(case, lanes, nodes_per_vector(detector, data)).instructions(
            _core.instructions_per_fma(isa))
        arithmetic = self.arithmetic[isa].instructions_per_s * lanes / instructions
        return {"arithmetic": arithmetic,
                "memory": self.copy.bytes_per_s / bytes_per_vector(data.setting)}, instructions
