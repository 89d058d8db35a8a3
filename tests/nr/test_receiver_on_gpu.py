# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Grids on a GPU give the same transport blocks as on the host."""

import dataclasses

import numpy as np
import pytest
from gnuradio.mimopack import nr
from nr_link import CARRIER, noisy, pusch, sent, through

pytestmark = pytest.mark.gpu
ONE = [pusch(num_layers=2, mcs=nr.Mcs(index=15))]
PAIR = [pusch(mcs=nr.Mcs(index=5)), pusch(mcs=nr.Mcs(index=18), dmrs_ports=(1,), n_rnti=301)]
CASES = {"two layers": (ONE, 10, 0.0, 1), "carrier offset": (ONE, 10, 0.01, 1),
         "two users": (PAIR, 8, 0.0, 1), "few slots": (PAIR, 2, 0.0, 4),
         "later passes": ([pusch(num_layers=4, mcs=nr.Mcs(index=20))], 8, 0.0, 3)}


def compare(found, expected, bits):
    """Compare blocks on a GPU with those on the host, and with the bits sent where they are."""
    for gpu, host in zip(found, expected, strict=True):
        assert (gpu.slot, gpu.user, gpu.crc_ok) == (host.slot, host.user, host.crc_ok)
        assert gpu.snr_db == pytest.approx(host.snr_db, abs=0.05)
        if host.crc_ok:
            assert np.array_equal(gpu.bits, bits[host.user][host.slot])


@pytest.mark.parametrize("name", CASES)
def test_the_same_blocks(name):
    import cupy

    configs, slots, offset, iterations = CASES[name]
    rng = np.random.default_rng(1)
    bits, grids = sent(rng, configs, range(slots))
    received = through(rng, grids, 4, 0.02, offset)
    received[-1] += 0.3 * rng.normal(size=(4, 1, 1)) * noisy(
        rng, np.zeros((1, *received.shape[2:])), 1.0)    # an interferer
    expected, found = [nr.PuschReceiver(configs, 4, iterations=iterations).process(
        grid, range(slots)) for grid in (received, cupy.asarray(received))]
    assert sum(block.crc_ok for block in expected) > slots / 2
    compare(found, expected, bits)


class Pair:
    """A receiver on the host and one on a GPU, which get the same slots."""

    def __init__(self, configs, iterations=1, **options):
        self.host, self.gpu = [nr.PuschReceiver(configs, 4, iterations=iterations, backend=backend,
                                                **options) for backend in ("cpu", "cuda")]

    def receive(self, grid, slots, bits, **options):
        """Return the GPU's blocks, and whether a CUDA graph decoded them."""
        expected = self.host.process(grid, slots, **options)
        found = self.gpu.process(grid, slots, **options)
        compare(found, expected, bits)
        return found, "graph" in self.gpu.seconds


def learned(rng, configs, slots=20, offset=0.0, **options):
    """Return a :class:`Pair` that has learned the profile, bits and received grids."""
    bits, grids = sent(rng, configs, range(slots))
    received, pair = through(rng, grids, 4, 0.02, offset), Pair(configs, **options)
    assert not pair.receive(received[:8], np.arange(8), bits)[1]
    return pair, bits, received


@pytest.mark.parametrize("name", ["two layers", "carrier offset", "two users"])
@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
def test_graphs(name, device):
    """Batches of two sizes; any slot of the frame may come at any place."""
    configs, _, offset, _ = CASES[name]
    rng = np.random.default_rng(2)
    pair, bits, received = learned(rng, configs, offset=offset)
    used = []
    for count in (1, 1, 3, 3, 1, 3, 3, 1):
        slots = rng.permutation(20)[:count]
        if device:
            import cupy

            blocks = pair.gpu.process(cupy.asarray(received[slots]), slots)
            compare(blocks, pair.host.process(received[slots], slots), bits)
            used.append("graph" in pair.gpu.seconds)
        else:
            used.append(pair.receive(received[slots], slots, bits)[1])
    assert used == [False, True, False, True, True, True, True, True]


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
def test_values_that_are_not_finite(device):
    """A slot with one is refused also where a graph would decode it, and nothing is learned."""
    import cupy

    pair, bits, received = learned(np.random.default_rng(6), ONE)
    place = cupy.asarray if device else np.asarray
    for slot in (8, 9, 10):
        pair.gpu.process(place(received[slot:slot + 1]), [slot])
    for value in (np.nan, np.inf):
        wrong = received[11:12].copy()
        wrong[0, 3, 5, 7] = value
        with pytest.raises(ValueError, match="not finite in slot 11, antenna 3"):
            pair.gpu.process(place(wrong), [11])
    _, by_graph = pair.receive(received[12:13], [12], bits)
    assert by_graph


def test_graphs_of_a_part_of_the_grid():
    """The first and last PRBs are others', and DMRS symbols carry data too."""
    carrier = dataclasses.replace(CARRIER, n_size_grid=20)
    configs = [pusch(carrier=carrier, prb_start=3, num_prb=12, mcs=nr.Mcs(index=10),
                     dmrs={"num_cdm_groups_without_data": 1})]
    pair, bits, received = learned(np.random.default_rng(3), configs)
    assert [pair.receive(received[8:10], [8, 9], bits)[1] for _ in range(3)] == [False, True, True]


def test_wrong_blocks():
    """A slot of another phone: its data are scrambled otherwise. It gets further passes."""
    rng = np.random.default_rng(4)
    other = [dataclasses.replace(config, n_rnti=config.n_rnti + 9) for config in PAIR]
    for iterations in (1, 2):
        pair, bits, received = learned(rng, PAIR, iterations=iterations)
        received[9] = through(rng, sent(rng, other, [9])[1], 4, 0.02)[0]
        for _ in range(3):
            blocks, by_graph = pair.receive(received[8:11], [8, 9, 10], bits)
        assert by_graph and [block.crc_ok for block in blocks] == [True] * 2 + [False] * 2 + [
            True] * 2
        assert [block.iterations for block in blocks] == [1, 1, iterations, iterations, 1, 1]


def test_interference_is_whitened():
    """It comes and stays; graphs whiten too."""
    rng = np.random.default_rng(5)
    pair, bits, received = learned(rng, ONE)
    source = 0.6 * noisy(rng, np.zeros((20, 1, *received.shape[2:])), 1.0)
    for slot in range(10, 20):
        received[slot] += noisy(rng, np.zeros((4, 1, 1)), 1.0) * source[slot]
    used = [pair.receive(received[slot:slot + 1], [slot], bits)[1] for slot in range(8, 20)]
    assert all(used[1:])


def test_another_profile():
    """All paths are later; the noise jumps until the profile is learned again."""
    rng = np.random.default_rng(6)
    pair, bits, received = learned(rng, ONE)
    late = received * np.exp(-2j * np.pi * 0.03 * np.arange(received.shape[-1]))
    late = late.astype(np.complex64)
    used = [pair.receive(grid[slot:slot + 1], [slot], bits)[1]
            for grid, slots in ((received, (8, 9)), (late, range(20))) for slot in slots]
    assert used[1] and not used[2] and used[-1]


def test_noise_comes_first():
    """The profile of noise has no modes."""
    rng = np.random.default_rng(8)
    bits, grids = sent(rng, ONE, range(20))
    received, pair = through(rng, grids, 4, 0.02, 0.0), Pair(ONE)
    received[:12] = noisy(rng, np.zeros((12, *received.shape[1:])), 0.02)
    used = [pair.receive(received[first:last], np.arange(first, last), bits)[1]
            for first, last in ((0, 8), (8, 9), (9, 10), (10, 11), (11, 12), (12, 20))]
    assert used == [False, False, True, True, True, False]


@pytest.mark.parametrize("dtype", [np.complex128, np.float32])
def test_other_types_on_a_gpu(dtype):
    """Nothing beyond a grid is read, whatever its values are."""
    import cupy

    bits, grids = sent(np.random.default_rng(9), ONE, range(2))
    grid = through(np.random.default_rng(9), grids, 4, 0.02, 0.0).real.astype(dtype)
    expected, found = (nr.PuschReceiver(ONE, 4, iterations=1).process(place(grid))
                       for place in (np.asarray, cupy.asarray))
    compare(found, expected, bits)


def test_harq_without_a_graph():
    rng, slots = np.random.default_rng(7), [8, 9]
    pair, bits, received = learned(rng, ONE, versions=(0, 2))
    for _ in range(3):
        first, by_graph = pair.receive(received[8:10], slots, bits)
    assert by_graph
    again = nr.PuschTransmitter(dataclasses.replace(ONE[0], rv=2)).grids(bits[0][8:10], slots)
    again = through(rng, again, 4, 0.02)
    host = pair.host.process(received[8:10], slots)
    expected = pair.host.process(again, slots, rv=2, earlier=host)
    found = pair.gpu.process(again, slots, rv=2, earlier=first)
    compare(found, expected, bits)
    assert "graph" not in pair.gpu.seconds and found[0].crc_ok
