# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of detectors, declared once for the blocks, the command line, GRC and the docs."""

from dataclasses import dataclass
from typing import Any

from ..backends import BACKENDS
from ..checks import choice, flag, integer, limit, positive, share

# Conditions that correspond to the checks of floats.
_CONDITIONS = {positive: "{} > 0", limit: "{} > 0", share: "0 <= {} < 1"}


@dataclass(frozen=True)
class Parameter:
    """A keyword argument of a detector, declared once for Python, C++ and CUDA.

    Attributes:
        name: name of the argument in Python.
        label: name in user interfaces.
        default: default value.
        kind: "int", "ints" (a list), "device" (an int or a list), "float", "enum", "bool" or
            "constellation"; determines the input field in GRC.
        doc: description with unit and allowed values.
        choices: allowed values of an enum.
        optional: whether None is allowed; ``doc`` says what None means.
        least, most: bounds of an int; ``most`` may be the name of another parameter.
        check: for a float or bool, the function of the module ``checks`` to call with (name,
            value); or None.
        in_core: whether the parameter is among the C++ options of the detector's family. An enum is
            passed to C++ as its index in ``choices``. For None, the C++ default applies.
        in_reference: whether the NumPy reference takes the parameter.
        live: whether the parameter may change between two calls of ``detect``, and in a running
            block.
        advanced: whether Companion shows the parameter in the tab Advanced.
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
    in_core: bool = True
    in_reference: bool = True
    live: bool = False
    advanced: bool = False

    @property
    def allowed(self):
        """The allowed range as an expression that GRC evaluates, or ""."""
        if self.most is not None:
            return f"{self.least} <= {self.name} <= {self.most}"
        return _CONDITIONS.get(self.check, "").format(self.name)

    def checked(self, value, detector):
        """Check a value for a detector, and return it.

        The detector's earlier parameters must be set, because ``most`` may name one of them.

        Raises:
            ValueError: the value is not allowed.
        """
        if value is None and self.optional:
            return None
        if self.kind == "enum":
            return choice(self.name, value, self.choices)
        if self.most is not None:
            most = getattr(detector, self.most) if isinstance(self.most, str) else self.most
            return integer(self.name, value, self.least, most)
        return self.check(self.name, value) if self.check else value

    def core_value(self, value):
        """Return a value in the form that C++ takes: a number or a list."""
        if self.kind == "enum":
            return self.choices.index(value)
        if self.kind == "bool":
            return int(value)
        return list(value) if self.kind == "ints" else value


LLR_TYPES = ("float32", "int8")

# Parameters of all detectors.
COMMON = (
    Parameter("num_tx", "Transmit antennas", 4, "int",
              "Number of layers nt."),
    Parameter("num_rx", "Receive antennas", 4, "int", "Number of receive antennas nr >= nt."),
    Parameter("constellation", "Constellation", "qam16", "constellation",
              "A built-in name, a digital.constellation object, an array of points, or (points, "
              "labels). Layers may differ: a list with one name for each layer, such as "
              "['qam64', 'qpsk'], of square QAM and BPSK."),
    Parameter("backend", "Backend", "auto", "enum",
              "cpu: C++ with SIMD and OpenMP; cuda: an NVIDIA GPU, through CuPy; reference: NumPy "
              "in double precision, slow; auto: arrays are processed where they lie, and a block "
              "takes the faster of cpu and cuda, by a short measurement in start().", BACKENDS),
    Parameter("threads", "Threads", 0, "int",
              "Number of CPU threads; 0 takes all cores."),
    Parameter("device", "GPU", 0, "device",
              "For cuda and auto: index of the GPU, or a list of the indices of several GPUs that "
              "share each batch."),
    Parameter("llr_type", "LLR type", "float32", "enum",
              "Data type of the LLRs; int8 saturates at +-127.", LLR_TYPES),
    Parameter("llr_scale", "LLR scale", 8.0, "float",
              "For int8: number of steps for an LLR of 1."),
)

# The budget of a tree search.
MAX_NODES = Parameter(
    "max_nodes", "Most nodes", None, "int",
    "Most nodes that the search of a vector visits, 1 to 2^24. A vector whose search ends there "
    "gets the best result found so far, and counts as truncated. None: no limit.",
    optional=True, least=1, most=2**24, live=True)

# The output of a detector that decides for a candidate.
SOFT = (
    Parameter("soft", "Soft output", False, "bool",
              "Whether to put out LLRs for a soft decoder instead of +-1.", check=flag),
    Parameter("llr_clip", "LLR clipping", 8.0, "float",
              "With soft=True: LLRs are limited to +- this value (relative to the prior, if there "
              "is one).", check=positive),
)

# Additional parameters of detectors with soft output that take a-priori LLRs.
PRIOR = (
    Parameter("extrinsic", "Extrinsic output", False, "bool",
              "Whether to subtract the a-priori LLRs from the result, if there are any. The result "
              "is then extrinsic instead of a-posteriori."),
)
