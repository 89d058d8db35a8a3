# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of detectors, declared once: blocks, command line, GRC and docs read them here."""

from dataclasses import dataclass
from typing import Any

from ..checks import choice, integer, positive, share

# What the checks of floats allow, as conditions.
_CONDITIONS = {positive: "{} > 0", share: "0 <= {} < 1"}


@dataclass(frozen=True)
class Parameter:
    """A keyword argument of a detector: declared here once, it reaches Python, C++ and CUDA.

    Attributes:
        name: as in Python.
        label: what a user interface calls it.
        default: its default value.
        kind: "int", "ints" (a list), "device" (an int or a list), "float", "enum", "bool" or
            "constellation" (what GRC shows).
        doc: one sentence with unit and allowed values.
        choices: the values of an enum.
        optional: None is allowed, and means what ``doc`` says.
        least, most: bounds of an int; ``most`` may be the name of another parameter.
        check: of a float, a function (name, value) of ``checks``, or None.
        core: name in the C++ options of the detector's family, where an enum is the position among
            ``choices``; the same as ``name`` if None, "" for a parameter of Python alone. None as
            value leaves the C++ default.
        in_reference: whether the NumPy reference takes it.
        in_blocks: whether a block has a use for it.
    """

    name: str
    label: str
    default: Any
    kind: str
    doc: str
    choices: tuple = ()
    optional: bool = False
    least: int | None = None
    most: int | str | None = None
    check: Any = None
    core: str | None = None
    in_reference: bool = True
    in_blocks: bool = True

    @property
    def allowed(self):
        """A condition on it, as an expression of the parameters, which GRC checks; or ""."""
        if self.most is not None:
            return f"{self.least} <= {self.name} <= {self.most}"
        return _CONDITIONS.get(self.check, "").format(self.name)

    @property
    def core_name(self):
        """Name in the C++ options; "" if it is in none."""
        return self.name if self.core is None else self.core

    def checked(self, value, detector):
        """The value for a detector whose earlier parameters are set, or ValueError."""
        if value is None and self.optional:
            return None
        if self.kind == "enum":
            return choice(self.name, value, self.choices)
        if self.most is not None:
            most = getattr(detector, self.most) if isinstance(self.most, str) else self.most
            return integer(self.name, value, self.least, most)
        return self.check(self.name, value) if self.check else value

    def core_value(self, value):
        """A value as C++ takes it: a number or a list."""
        if self.kind == "enum":
            return self.choices.index(value)
        return list(value) if self.kind == "ints" else value


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
