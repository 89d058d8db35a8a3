# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact max-log by tree search."""

from ..checks import positive
from .base import Detector
from .exhaustive import sliced_candidates
from .parameters import Parameter


class SoftSphere(Detector):
    """Exact max-log LLRs by a single tree search that starts from N-way's candidates.

    The LLRs are MLA's (000 eq. 12), to what float32 holds, for any channel and noise. N-way with
    all passes (001) gives each value of each bit a first candidate; then a tree search (C. Studer,
    A. Burg, H. Boelcskei: Soft-Output Sphere Decoding: Algorithms and VLSI Implementation, IEEE
    Journal on Selected Areas in Communications 26 (2), 2008) visits only the nodes whose metric is
    below that of a candidate which it could still replace, in two column orders (three with three
    layers), as the last two layers of each are finished by slicing. Where M^(nt-1), the parents
    of leaves, are at most 4096 with QPSK and 1024 otherwise, MLA's method "sliced" is what runs.

    Takes a-priori LLRs (002 eq. 4), the result is then a-posteriori (extrinsic=True subtracts
    them). Needs square QAM with Gray labels per axis.

    With llr_clip, LLRs further than this from their prior are set to that distance; as they need
    not be exact, the search gets faster, on a GPU by much.

    Complexity: about 100 slices for 4x4 16-QAM and 1000 for 64-QAM at 20 dB per receive antenna,
    where all are 16384 and a million, more as the noise grows or H gets worse. It is not bounded
    but by O(M^(nt-1)): the time of a vector grows exponentially with the layers, and at low SNR or
    with nearly dependent columns of H from about eight layers on it can be hours, and a flowgraph
    stops only after the work() call it is in. Where time is short take NWay.
    """

    name = "softsphere"
    summary = "Exact max-log LLRs by a tree search seeded by N-way"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    UNEQUAL_TIME = True
    PARAMETERS = (
        Parameter("llr_clip", "LLR clipping", None, "float",
                  "LLRs are limited to +- this (from the prior, if any), which makes the search "
                  "faster; default no limit.", optional=True, check=positive),
    )

    @property
    def candidates(self):
        """The order of what is looked at in a usual channel; a bad one can take far more."""
        size, num_tx = self.constellation.size, self.num_tx
        return min(sliced_candidates(size, num_tx), size**((num_tx + 1) // 2) * num_tx)

    def gpu_threads(self):
        # Shared memory has room for no more.
        return self.GPU_THREADS // 2 if self.constellation.size > 16 else self.GPU_THREADS
