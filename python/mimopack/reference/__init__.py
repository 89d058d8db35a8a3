# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers' pseudo-code in NumPy, complex128, one vector at a time: the oracle of all tests.

Every detector here has the form ``f(y, h, noise_var, constellation, ...) -> llr`` for one
received vector: y (nr,), h (nr, nt), noise_var the noise power per complex receive dimension,
llr (nt*m,) = ln P(b=1)/P(b=0), layer-major, most significant bit first. ``run`` applies one to
a batch and erases (LLR 0) the vectors that cannot be detected. ``ldpc`` decodes one codeword,
``turbo``, ``viterbi`` and ``bcjr`` a batch.
"""

from .batch import rank_tolerance, run, usable
from .ep import ep
from .exhaustive import mla, omap
from .fsd import fpfsd, hfsd, sfsd
from .kbest import kbest
from .ldpc import ldpc, min_sum, sum_product
from .linear import mmse, zf
from .nway import nway
from .pic import mmsepic
from .sic import bitflip, zfsic
from .softsphere import softsphere
from .sphere import asd, psd, sd
from .trellis import trellis
from .turbo import turbo
from .viterbi import bcjr, viterbi

__all__ = ["asd", "bcjr", "bitflip", "ep", "fpfsd", "hfsd", "kbest", "ldpc", "min_sum", "mla",
           "mmse", "mmsepic", "nway", "omap", "psd", "rank_tolerance", "run", "sd", "sfsd",
           "softsphere", "sum_product", "trellis", "turbo", "usable", "viterbi", "zf", "zfsic"]
