# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of detectors, declared once: blocks, command line, GRC and docs read them here."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A keyword argument of a detector.

    Attributes:
        name: as in Python.
        label: what a user interface calls it.
        default: its default value.
        kind: "int", "ints" (a list), "device" (an int or a list), "float", "enum", "bool" or
            "constellation" (what GRC shows).
        doc: one sentence with unit and allowed values.
        choices: the values of an enum.
        optional: None is allowed, and means what ``doc`` says.
        allowed: a condition on it, as an expression of the parameters, which GRC checks.
        in_blocks: whether a block has a use for it.
    """

    name: str
    label: str
    default: Any
    kind: str
    doc: str
    choices: tuple = ()
    optional: bool = False
    allowed: str = ""
    in_blocks: bool = True


BACKENDS = ("auto", "cpu", "cuda", "reference")
LLR_TYPES = ("float32", "int8")
ISAS = ("auto", "avx512", "avx2", "baseline")

COMMON = (
    Parameter("num_tx", "Transmit antennas", 4, "int", "Number of layers nt."),
    Parameter("num_rx", "Receive antennas", 4, "int", "Number of receive antennas nr >= nt."),
    Parameter("constellation", "Constellation", "qam16", "constellation",
              "A built-in name, a digital.constellation object, points, or (points, labels)."),
    Parameter("backend", "Backend", "auto", "enum",
              "cpu: C++ with SIMD and OpenMP; cuda: an NVIDIA GPU, through CuPy; reference: NumPy "
              "in double precision, slow; auto: cuda for batches for which it is faster here, "
              "which is measured once, else cpu.", BACKENDS),
    Parameter("threads", "Threads", 0, "int", "CPU threads; 0 takes all cores."),
    Parameter("device", "GPU", 0, "device",
              "cuda and auto: number of the GPU, or a list of several that share each batch."),
    Parameter("llr_type", "LLR type", "float32", "enum",
              "Type of the LLRs; int8 saturates at +-127.", LLR_TYPES),
    Parameter("llr_scale", "LLR scale", 8.0, "float",
              "int8 only: an LLR of 1 becomes this many steps."),
)

# Of the detectors that take a-priori LLRs.
PRIOR = (
    Parameter("extrinsic", "Extrinsic output", False, "bool",
              "Where a-priori LLRs come in: subtract them from the result, which is then "
              "extrinsic instead of a-posteriori."),
)
