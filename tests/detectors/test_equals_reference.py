# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPU's LLRs are those of the reference, at the sizes and parameters that take other code."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, detectors
from rounding import assert_only_rounding
from simulated import PSK8, problem, random_prior

# Names of detectors, and (layers, antennas, constellation, SNR in dB, number of vectors).
CASES = [
    # Many antennas. Tall matrices take H^H H, others Gram-Schmidt; columns go in pairs and singly.
    ("zf mmse mmsepic ep", [
        (9, 11, "qpsk", 10, 12), (12, 12, "qam16", 20, 12), (16, 64, "wlan_qam16", 5, 12),
        (13, 26, "qam256", 25, 6), (12, 24, "wlan_qam1024", 35, 6)]),
    ("zf mmse", [(64, 64, "qam16", 20, 9), (64, 256, "qam16", 20, 9), (4, 256, "qam16", 20, 15)]),
    # From twice as many antennas as layers on, searches work in R.
    ("nway nway:num_passes=2,llr_method=logsum fpfsd kbest:k=12 hfsd:levels=1 sfsd:levels=1", [
        (9, 17, "qpsk", 10, 6), (12, 12, "wlan_qam16", 20, 6), (5, 256, "qam64", 20, 6),
        (17, 18, "qpsk", 10, 6), (32, 40, "qam16", 25, 3)]),
    # The default number of levels is 2 for 6 and 8 layers, and 3 for 16.
    ("hfsd sfsd zfsic bitflip", [
        (8, 8, "qam16", 22, 6), (16, 16, "qpsk", 22, 15), (6, 256, "qam64", 22, 3)]),
    ("nway", [(8, 8, "qam16", 20, 21), (5, 7, "qam16", 20, 21), (16, 16, "qam16", 20, 6)]),
    ("nway:llr_method=logsum fpfsd:llr_method=logsum", [
        (2, 3, "qpsk", 10, 39), (4, 4, "qam16", 10, 39), (3, 4, "wlan_qam16", 10, 39)]),
    ("nway:num_passes=1,llr_method=logsum nway:num_passes=3", [(4, 4, "qam64", 10, 39)]),
    ("hfsd:levels=2 sfsd:levels=2,num_paths=7 sfsd:num_paths=1", [(4, 4, "qam16", 16, 39)]),
    ("hfsd:levels=3 sfsd:levels=3,num_paths=64", [(4, 4, "qpsk", 16, 39)]),
    ("zfsic:ordering=norm zfsic:ordering=none bitflip:ordering=norm bitflip:ordering=none", [
        (4, 5, "qam16", 18, 60)]),
    ("kbest:k=1 kbest:k=7 kbest:k=64", [(4, 4, "qam16", 20, 60), (4, 4, PSK8, 20, 39)]),
    ("kbest:k=33", [(8, 8, "qpsk", 20, 39)]), ("kbest:k=10", [(16, 16, "qam64", 20, 9)]),
    ("trellis", [(4, 4, "qam64", 18, 3), (8, 8, "qam16", 18, 6), (5, 7, PSK8, 18, 21),
                 (16, 18, "bpsk", 18, 21)]),
    # SNRs from 1/10 to 10^4: no condition number is squared.
    ("mmsepic ep", [(2, 2, "qpsk", -10, 39), (3, 5, "wlan_qam64", 5, 39), (4, 4, "qam64", 40, 39),
                    (4, 4, "qam16", 25, 39)]),
    ("mla mla:method=plain mla:method=table", [
        (4, 5, "bpsk", 12, 39), (3, 4, "qpsk", 12, 39), (2, 3, "wlan_qam16", 12, 39),
        (2, 3, "qam64", 12, 9), (1, 2, "qam256", 12, 21), (2, 3, PSK8, 12, 39)]),
    ("mla omap", [(8, 9, "bpsk", 20, 21)]),
    ("zf mmse nway fpfsd", [(1, 1, "wlan_qam1024", 35, 21), (2, 2, "wlan_qam1024", 35, 21),
                            (1, 1, "wlan_qam4096", 45, 21), (2, 2, "qam4096", 45, 6),
                            (3, 7, "wlan_qam4096", 45, 3)]),
    ("zf mmse", [(4, 5, "wlan_qam4096", 50, 3), (9, 20, "wlan_qam4096", 45, 3)]),
]


@pytest.mark.quick
@pytest.mark.parametrize("name, size", [(name, size) for names, sizes in CASES
                                        for name in names.split() for size in sizes], ids=str)
def test_cpu_equals_reference(name, size):
    """Without a-priori LLRs, and with them and three vectors for each matrix."""
    num_tx, num_rx, points, snr_db, n = size
    arguments = {"num_tx": num_tx, "num_rx": num_rx, "constellation": points}
    reference = detectors.create(name, backend="reference", **arguments)
    for period in (1, 3):
        y, h, noise_var, bits = problem(n, num_tx, num_rx, points, snr_db, period)
        vectors = {"y": y, "h": h, "noise_var": noise_var}
        if period > 1 and reference.SUPPORTS_PRIOR:
            vectors["prior"] = random_prior(bits, 3)
        expected = reference.detect(**vectors)
        assert np.ptp(expected) > 0 and reference.erasures == 0
        for isa in _core.available_isas():
            detector = detectors.create(name, backend="cpu", isa=isa, **arguments)
            assert_only_rounding(detector.detect(**vectors), expected, reference, vectors, period)
