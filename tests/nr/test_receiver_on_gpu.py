# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Grids on a GPU give the same transport blocks as on the host."""

import numpy as np
import pytest
from gnuradio.mimopack import nr
from nr_link import noisy, pusch, sent, through

pytestmark = pytest.mark.gpu
PAIR = [pusch(mcs=nr.Mcs(index=5)), pusch(mcs=nr.Mcs(index=18), dmrs_ports=(1,), n_rnti=301)]
CASES = {"two layers": ([pusch(num_layers=2, mcs=nr.Mcs(index=15))], 10, 0.0, 1),
         "carrier offset": ([pusch(num_layers=2, mcs=nr.Mcs(index=15))], 10, 0.01, 1),
         "two users": (PAIR, 8, 0.0, 1), "few slots": (PAIR, 2, 0.0, 4),
         "later passes": ([pusch(num_layers=4, mcs=nr.Mcs(index=20))], 8, 0.0, 3)}


@pytest.mark.parametrize("name", CASES)
def test_the_same_blocks(name):
    import cupy

    configs, slots, offset, iterations = CASES[name]
    rng = np.random.default_rng(1)
    bits, grids = sent(rng, configs, range(slots))
    received = through(rng, grids, 4, 0.02, offset)
    received[-1] += 0.3 * rng.normal(size=(4, 1, 1)) * noisy(
        rng, np.zeros((1, *received.shape[2:])), 1.0)    # an interferer
    found = [nr.PuschReceiver(configs, 4, iterations=iterations).process(grid, range(slots))
             for grid in (received, cupy.asarray(received))]
    assert sum(block.crc_ok for block in found[0]) > slots / 2
    for host, gpu in zip(*found, strict=True):
        assert gpu.crc_ok == host.crc_ok
        assert gpu.snr_db == pytest.approx(host.snr_db, abs=0.05)
        if host.crc_ok:
            assert np.array_equal(gpu.bits, bits[host.user][host.slot])
