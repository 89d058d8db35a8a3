# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between LLRs that rounding explains.

Rounding may send a search elsewhere where candidates are almost equally good, and grows in
iterations that do not converge. The LLRs must then vary as much when y and H change a little.
"""

import numpy as np


def almost_as(arguments, at, period, count, largest):
    """Return the arguments of ``count`` vectors that are almost the one at an index.

    Args:
        arguments: those of ``detect``.
        at: index of the vector.
        period: vectors per matrix.
        largest: largest relative change of the entries of y and H; the least is 1e-7.
    """
    rng = np.random.default_rng(1)
    size = 10.0 ** rng.uniform(-7, np.log10(largest), (count, 1))
    given = {key: value[at // period if key == "h" else at] if np.ndim(value) else value
             for key, value in arguments.items()}
    many = {key: np.repeat(value[None], count, 0) if np.ndim(value) else value
            for key, value in given.items()}
    for key in ("y", "h"):
        noise = size * rng.normal(0, 1, (2, count, many[key][0].size))
        factors = 1 + (noise[0] + 1j * noise[1]).reshape(many[key].shape)
        many[key] = (many[key] * factors).astype(np.complex64)
    return many


def assert_only_rounding(llr, expected, detector, arguments, period=1, share=0.01, largest=1e-5):
    """Assert that LLRs agree but for rounding, see above.

    Args:
        llr, expected: (n, nt*m), the second from ``detector``.
        arguments: those of ``detector.detect``.
        share: largest share of the vectors that may differ.
        largest: see ``almost_as``.
    """
    allowed = 1e-3 * np.abs(expected).max(axis=1, keepdims=True) + 1e-6
    differ = np.flatnonzero((np.abs(llr - expected) > allowed).any(axis=1))
    assert len(differ) <= max(1, share * len(llr)), differ
    for at in differ:
        again = detector.detect(**almost_as(arguments, at, period, 100, largest))
        low, high = again.min(axis=0), again.max(axis=0)
        margin = allowed[at] + (high - low) / 2
        assert ((low - margin <= llr[at]) & (llr[at] <= high + margin)).all(), at
