# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply a reference detector to a batch, and erase vectors that cannot be detected."""

import numpy as np

from ..checks import LARGEST, SMALLEST
from ..constellation import bits_per_vector
from .qr import modified_gram_schmidt

_LARGEST = np.finfo(np.float32).max
_LARGEST_ENERGY = 1e26    # of y, and of a column of H: largest_energy in lib/common/config.h


def rank_tolerance(num_rx):
    """Return the tolerance of the rank test.

    A column of H counts as linearly dependent on the columns before it if the norm of its component
    orthogonal to them is less than the tolerance times the norm of the column. float32 cannot
    distinguish a smaller component from zero, because the rounding error grows with the square root
    of the number of rows.
    """
    return 1e-6 * np.sqrt(max(num_rx / 4, 1))


def usable(y, h, noise_var, needs_rank=True):
    """Return whether y, h and noise_var are in range.

    If ``needs_rank``, h must have full column rank, too.
    """
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(h))
            and np.float32(SMALLEST) <= noise_var <= np.float32(LARGEST)):
        return False
    norms = np.linalg.norm(h, axis=0)
    if max(np.linalg.norm(y), *norms) ** 2 >= _LARGEST_ENERGY:
        return False
    if not needs_rank:
        return True
    if not np.all(norms > 0):
        return False
    _, r = modified_gram_schmidt(h / norms)
    return bool(np.all(np.diag(r).real > rank_tolerance(len(h))))


@np.errstate(divide="ignore", over="ignore", invalid="ignore")    # what comes of it is erased
def run(detector, y, h, noise_var, constellation, prior=None, width=None, hard=None,
        needs_rank=True, **parameters):
    """Apply a reference detector to a batch.

    Args:
        detector: one of this package's functions.
        y: (n, nr) received vectors.
        h: (n/T, nr, nt) channel matrices; each applies to T consecutive vectors.
        noise_var: (n,) noise power per complex receive dimension, or (1,) for all vectors.
        prior: (n, nt*m) a-priori LLRs, or None.
        width: number of values that the detector returns for a vector; None for nt*m LLRs.
        hard: (iterations, n, nt*m) hard solutions for a detector that takes them, or None.
        needs_rank: whether a vector is erased if its h has no full column rank.
        parameters: further arguments of the detector.

    Returns:
        (llr (n, width) float64, erased (n,) bool).
    """
    y = np.asarray(y, np.complex128)
    h = np.asarray(h, np.complex128)
    n, num_tx = len(y), h.shape[2]
    noise_var = np.broadcast_to(noise_var, n)
    per_channel = n // len(h) if n else 1
    llr = np.zeros((n, width or bits_per_vector(constellation, num_tx)))
    erased = np.zeros(n, bool)
    for i in range(n):
        matrix = h[i // per_channel]
        known = {} if prior is None else {"prior": np.asarray(prior[i], np.float64)}
        if not usable(y[i], matrix, noise_var[i], needs_rank) or (
                known and not np.all(np.isfinite(known["prior"]))):
            erased[i] = True
            continue
        if hard is not None:
            known["hard"] = hard[:, i]
        values = detector(y[i], matrix, noise_var[i], constellation, **known, **parameters)
        # LLRs are float32, which cannot hold larger ones.
        erased[i] = not np.all(np.abs(values) <= _LARGEST)
        if not erased[i]:
            llr[i] = values
    return llr, erased
