# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reference detectors and decoders in NumPy, with which the tests compare the fast ones.

They follow the pseudo-code of the papers. The numbers 000 to 004 stand for papers, which
docs/references.md lists.

A detector has the form ``f(y, h, noise_var, constellation, ...) -> llr`` and works on one received
vector in complex128:

- y: (nr,) received vector.
- h: (nr, nt) channel matrix.
- noise_var: noise power per complex receive dimension.
- constellation: :class:`constellation.Constellation`.
- prior: (nt*m,) a-priori LLRs, if the detector takes them; None for 0.
- llr: (nt*m,) LLRs ln P(b=1)/P(b=0), layer-major, most significant bit first.

``run`` applies a detector to a batch and erases (LLR 0) the vectors that cannot be detected. The
decoders ``ldpc``, ``turbo``, ``viterbi`` and ``bcjr`` work on a batch.
"""

from .batch import run
from .ep import ep
from .exhaustive import mla, omap, softsphere
from .fsd import hfsd, sfsd
from .kbest import kbest
from .ldpc import ldpc, min_star, min_sum, sum_product
from .linear import mmse, zf
from .nway import fpfsd, nway
from .pic import mmsepic
from .sic import bitflip, zfsic
from .sphere import asd, psd, sd
from .trellis import trellis
from .turbo import turbo
from .viterbi import bcjr, viterbi

__all__ = ["asd", "bcjr", "bitflip", "ep", "fpfsd", "hfsd", "kbest", "ldpc", "min_star", "min_sum",
           "mla", "mmse", "mmsepic", "nway", "omap", "psd", "run", "sd", "sfsd", "softsphere",
           "sum_product", "trellis", "turbo", "viterbi", "zf", "zfsic"]
