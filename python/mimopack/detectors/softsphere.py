# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft sphere detector: exact max-log LLRs by tree search."""

import math
from dataclasses import replace

from ..checks import limit
from .base import Detector
from .exhaustive import sliced_candidates
from .parameters import MAX_NODES, Parameter


class SoftSphere(Detector):
    """Exact max-log LLRs by a single tree search that starts from N-way's candidates.

    The LLRs equal MLA's (000 eq. 12, 002 eq. 4) to float32 precision, limited by the parameter
    llr_clip, for any channel and noise. First, N-way with all passes (001) finds a candidate for
    each value of each bit. A tree search then improves these candidates. It visits a node only if a
    leaf below the node could replace a candidate, that is, if the node's metric is smaller than the
    candidate's (C. Studer, A. Burg, H. Bölcskei: Soft-Output Sphere Decoding: Algorithms and VLSI
    Implementation, IEEE Journal on Selected Areas in Communications 26 (2), 2008). A search slices
    the last two layers, and therefore gives the LLRs of the other layers only. The detector
    searches twice (three times with three layers), each time with another order of the columns of
    H. For small trees, with M^(nt-1) up to 4096 for QPSK and up to 1024 otherwise, MLA's method
    "sliced" runs instead.

    llr_clip limits the distance of each LLR from its a-priori LLR. The search then ignores nodes
    that are farther than this from the best candidate. At high SNR these are most nodes. The
    default costs less than 0.02 dB with LDPC and turbo codes. With None or infinity there is no
    limit.

    Complexity: without llr_clip, at an SNR of 20 dB per receive antenna, a 4x4 vector takes about
    100 slicing operations with 16-QAM and 1000 with 64-QAM; a full search takes 16384 and a
    million. The number rises with the noise and with the condition number of H. Its only bound is
    O(M^(nt-1)), so the time per vector grows exponentially with the number of layers. From about
    eight layers on, a vector can take hours at low SNR or with nearly dependent columns of H, and a
    flowgraph stops only after the current work() call.

    ``max_nodes`` limits the searches of a vector together; each gets an equal share, and what the
    one before it has left. LLRs then come from the candidates found so far, in the worst case
    N-way's. A node counts if the search computes its children. A search ends with the children of
    its last node, so it may visit up to M - 1 more. Small trees (see above) and backend "reference"
    have no budget.

    On a GPU a team of 8 or 16 threads searches one tree for all layers, without N-way's candidates.
    Its first radius comes from noise_var and llr_clip, and grows until all LLRs are final. A search
    that ``max_nodes`` ends without a leaf completes its last nodes by slicing. Long searches go on
    as for ``SD``. Small trees have two to four layers here, with M^(nt-1) up to 256, or up to 4096
    without llr_clip. Without llr_clip and max_nodes, a warp searches four layers of 64- or 256-QAM
    as the CPU does.
    """

    name = "softsphere"
    summary = "Exact max-log LLRs by a tree search seeded by N-way"
    SUPPORTS_PRIOR = True
    NEEDS_GRID = True
    PARAMETERS = (
        Parameter("llr_clip", "LLR clipping", 10.0, "float",
                  "LLRs are limited to +- this value (relative to the prior, if there is one), "
                  "which makes the search faster. None or infinity: no limit.",
                  optional=True, check=limit),
        replace(MAX_NODES, in_reference=False),
    )

    def _complete(self):
        size = math.prod(points.size for points in self.layers)
        if self.backend == "reference" and size > self.largest_search:
            raise ValueError(f"softsphere: backend 'reference' enumerates all {size:.3g} "
                             f"candidates per vector, allowed are {self.largest_search:.3g}; use "
                             "cpu")

    @property
    def candidates(self):
        """Order of magnitude of the number of candidates; a bad channel can take far more."""
        size, num_tx = self.constellation.size, self.num_tx
        return min(sliced_candidates(size, num_tx), size**((num_tx + 1) // 2) * num_tx)

    def gpu_threads(self):
        # Shared memory has no room for more threads.
        return self.GPU_THREADS // 2 if self.constellation.size > 16 else self.GPU_THREADS
