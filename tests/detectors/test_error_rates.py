# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the detectors by bit error rate, on the same simulated vectors.

Bit errors within a vector are not independent, but vectors are. All detectors process the same
vectors. The mean difference of their errors per vector therefore has a far narrower confidence
interval than either error rate.
"""

from functools import cache

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import problem

Z = 3.29    # 99.9 % of a normal distribution are within this number of standard deviations


@cache
def errors(name):
    """Return the bit errors of each vector of 4x4 16-QAM at 20 dB per receive antenna."""
    y, h, noise_var, bits = problem(100_000, 4, 4, "qam16", 20, seed=11)
    llr = detectors.create(name).detect(y, h, noise_var)
    return np.count_nonzero(detectors.hard_decisions(llr) != bits, axis=1)


def interval(worse, better):
    """Return the 99.9 % interval of the mean of errors(worse) - errors(better)."""
    difference = errors(worse).astype(float) - errors(better)
    half = Z * difference.std(ddof=1) / np.sqrt(len(difference))
    return difference.mean() - half, difference.mean() + half


@pytest.mark.parametrize("better, worse", [
    ("mmse", "zf"), ("zfsic", "zfsic:ordering=norm"), ("hfsd", "zfsic"), ("mla", "hfsd"),
    ("mmsepic:num_iterations=3", "mmse"), ("ep", "mmse"), ("mla", "ep"),
    ("nway:num_passes=1", "mmse"), ("nway:num_passes=2", "nway:num_passes=1"),
    ("nway", "nway:num_passes=2"), ("kbest:k=8", "kbest:k=2"), ("kbest:k=64", "kbest:k=8"),
    ("trellis", "nway:num_passes=1"), ("nway:num_passes=2", "trellis")])
def test_order(better, worse):
    """The trellis detector lies between N-way with two passes and with one (001 Fig. 3)."""
    assert interval(worse, better)[0] > 0


@pytest.mark.parametrize("name, share", [("nway", 0.02), ("fpfsd", 0.1), ("sfsd", 0.1),
                                         ("kbest:k=64", 0.05)])
def test_near_exact(name, share):
    assert interval(name, "mla")[1] < share * errors("mla").mean()
