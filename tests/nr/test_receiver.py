# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receiver decodes what the transmitter sends through simulated channels."""

from dataclasses import replace

import nr_loop
import numpy as np
import pytest
from gnuradio.mimopack import detectors, nr
from nr_link import CARRIER, noisy, pusch, sent, taps, through

CASES = {
    "one layer": [pusch()],
    "four layers": [pusch(num_layers=4, mcs=nr.Mcs(index=7))],
    "precoded": [pusch(num_layers=2, transmission_scheme="codebook", num_antenna_ports=4, tpmi=7)],
    "double symbols, second scrambling identity": [pusch(
        num_layers=3, dmrs_ports=(0, 4, 6), dmrs={"length": 2, "n_scid": 1, "n_id": (3, 4)})],
    "type 2, mapping B": [pusch(num_layers=2, mapping_type="B", symbol_allocation=(2, 11), dmrs={
        "config_type": 2, "num_cdm_groups_without_data": 3})],
    "data beside DMRS, part of the grid": [pusch(prb_start=3, num_prb=6, dmrs={
        "num_cdm_groups_without_data": 1, "additional_position": 0})],
    "list of PRBs": [pusch(num_layers=2, prb_set=(0, 1, 4, 5, 6, 9, 11), mcs=nr.Mcs(index=12))],
    "two users, QPSK and 64-QAM": [
        pusch(mcs=nr.Mcs(index=5)),
        pusch(mcs=nr.Mcs(index=18), dmrs_ports=(1,), n_rnti=301)],
    "two users with the same ports and other sequences": [
        pusch(num_layers=2, mcs=nr.Mcs(index=12)),
        pusch(num_layers=2, mcs=nr.Mcs(index=9), n_rnti=301, dmrs={"n_scid": 1})],
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_arrive(name):
    rng, configs, slots = np.random.default_rng(1), CASES[name], [3, 4, 19]
    bits, grids = sent(rng, configs, slots)
    blocks = nr.PuschReceiver(configs, num_rx=4).process(
        through(rng, grids, 4, 0.003, offset=0.01), slots)
    assert [(block.slot, block.user) for block in blocks] == [
        (slot, user) for slot in slots for user in range(len(configs))]
    for index, block in enumerate(blocks):
        slot, user = divmod(index, len(configs))
        assert block.crc_ok
        assert np.array_equal(block.bits, bits[user][slot])
        assert 20 < block.snr_db < 35
        assert np.array_equal(np.unpackbits(np.frombuffer(block.data, np.uint8))[
            :block.bits.size], block.bits)


@pytest.mark.parametrize("config_type", [1, 2])
@pytest.mark.parametrize("num_layers", [1, 4])
def test_an_extended_prefix(num_layers, config_type):
    """Enough slots for a common profile, and no carrier offset."""
    rng, slots = np.random.default_rng(2), list(range(6))
    config = pusch(carrier=replace(CARRIER, cyclic_prefix="extended", subcarrier_spacing_khz=60),
                   symbol_allocation=(0, 12), num_layers=num_layers,
                   dmrs={"config_type": config_type})
    bits, grids = sent(rng, [config], slots)
    blocks = nr.PuschReceiver(config, num_rx=4).process(through(rng, grids, 4, 0.003), slots)
    assert all(np.array_equal(block.bits, own) for block, own in zip(blocks, bits[0], strict=True))


@pytest.mark.parametrize("alone", [True, False])
def test_hardly_more_pilots_than_delays(alone):
    """Four layers in four PRBs far apart, DMRS type 2: the noise must not vanish."""
    rng, slots = np.random.default_rng(6), list(range(6))
    config = pusch(prb_set=(0, 1, 9, 10), num_layers=4, mcs=nr.Mcs(index=11),
                   dmrs={"config_type": 2})
    bits, grids = sent(rng, [config], slots)
    h = rng.normal(size=(6, 6, 4, 2)) @ [1, 1j] / np.sqrt(2)
    received = noisy(rng, np.einsum("nrp,npsk->nrsk", h, grids), 0.0006)
    receiver = nr.PuschReceiver(config, 6, iterations=1)
    blocks = ([receiver.process(received[slot:slot + 1], [slot])[0] for slot in slots] if alone
              else receiver.process(received, slots))
    assert all(np.array_equal(block.bits, own) for block, own in zip(blocks, bits[0], strict=True))


def test_two_prbs_do_not_look_like_motion():
    rng, slots = np.random.default_rng(8), list(range(12))
    config = pusch(num_prb=2, num_layers=2, mapping_type="B", mcs=nr.Mcs(index=13),
                   dmrs={"config_type": 2})
    bits, grids = sent(rng, [config], slots)
    h = rng.normal(size=(12, 4, 2, 2)) @ [1, 1j] / np.sqrt(2)
    received = noisy(rng, np.einsum("nrp,npsk->nrsk", h, grids), 0.003)
    blocks = nr.PuschReceiver(config, 4, iterations=1).process(received, slots)
    assert sum(block.crc_ok for block in blocks) >= 11


def test_two_detectors_on_the_same_slots():
    rng, config = np.random.default_rng(3), pusch(num_layers=2)
    bits, grids = sent(rng, [config], [0, 1])
    receiver = nr.PuschReceiver(config, 4, detector=None)
    slots, channels = receiver.estimate(through(rng, grids, 4, 0.003), [0, 1])
    detector = detectors.create("mmse", num_tx=2, num_rx=4, constellation=config.constellation)
    llr = detector.detect(*receiver.vectors(slots, channels))
    for factor, decoded in ((1, True), (0, False), (1, True)):
        blocks = receiver.decode(factor * llr, slots)
        assert [block.crc_ok for block in blocks] == [decoded] * 2


def test_pdsch_of_two_codewords_interleaved_prbs():
    rng, slots = np.random.default_rng(4), [1, 2]
    config = nr.PdschConfig(
        carrier=nr.Carrier(n_cell_id=5, n_size_grid=24), num_layers=6, num_prb=12, prb_start=6,
        vrb_to_prb_bundle=2, dmrs=nr.Dmrs(length=2, additional_position=1), mcs=nr.Mcs(index=4),
        second_mcs=nr.Mcs(index=12))
    transmitter = nr.PdschTransmitter(config)
    bits = [rng.integers(0, 2, (2, size), np.uint8) for size in transmitter.tb_sizes]
    received = through(rng, transmitter.grids(bits, slots), 8, 0.003)
    blocks = nr.PdschReceiver(config, num_rx=8).process(received, slots)
    assert [(block.slot, block.codeword, block.crc_ok) for block in blocks] == [
        (1, 0, True), (1, 1, True), (2, 0, True), (2, 1, True)]
    assert np.array_equal(blocks[3].bits, bits[1][1])


def test_dft_spread_layer():
    rng, slots = np.random.default_rng(5), [0, 1, 2]
    config = pusch(transform_precoding=True, num_prb=10, mcs=nr.Mcs(index=12))
    bits, grids = sent(rng, [config], slots)
    received = through(rng, grids, 2, 0.01)
    receiver = nr.PuschReceiver(config, num_rx=2)
    blocks = receiver.process(received, slots)
    assert all(block.crc_ok for block in blocks)
    assert np.array_equal(blocks[2].bits, bits[0][2])


@pytest.mark.parametrize("dmrs", [{}, {"uplink_transform_precoding": True, "length": 2}])
def test_pi2_bpsk(dmrs):
    rng, slots = np.random.default_rng(5), list(range(20))
    config = pusch(transform_precoding=True, tp_pi2bpsk=True, mcs=nr.Mcs(index=1), dmrs=dmrs)
    bits, grids = sent(rng, [config], slots)
    blocks = nr.PuschReceiver(config, num_rx=2).process(through(rng, grids, 2, 0.1), slots)
    assert all(block.crc_ok for block in blocks)
    assert np.array_equal([block.bits for block in blocks], bits[0])
    noisy_grids = [through(rng, grids, 2, 2.8) for _ in range(3)]
    counts = [sum(block.crc_ok for received in noisy_grids for block in nr.PuschReceiver(
        config, 2, iterations=iterations).process(received, slots)) for iterations in (1, 3)]
    assert counts[1] >= counts[0] > 15


@pytest.mark.parametrize("ptrs", [None, nr.Ptrs(samples_per_group=4, num_groups=4)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_dft_spread_layers_of_three_users(ptrs, iterations):
    """pi/2-BPSK, QPSK and 64-QAM. PT-RS of two users take data's places, and show their phases."""
    rng, slots = np.random.default_rng(5), list(range(6))
    configs = [pusch(transform_precoding=True, mcs=nr.Mcs(index=1), dmrs_ports=(2,),
                     tp_pi2bpsk=True),
               pusch(transform_precoding=True, mcs=nr.Mcs(index=9), n_rnti=301, dmrs_ports=(0,),
                     ptrs=ptrs),
               pusch(transform_precoding=True, mcs=nr.Mcs(index=17), n_rnti=302, dmrs_ports=(1,),
                     ptrs=ptrs)]
    bits, grids = sent(rng, configs, slots)
    if ptrs is not None:
        phases = np.cumsum(rng.normal(0, 0.15, (6, 3, 14, 1)), axis=2)
        phases[:, 0] = 0
        grids = grids * np.exp(1j * phases)
    receiver = nr.PuschReceiver(configs, 6, iterations=iterations)
    blocks = receiver.process(through(rng, grids, 6, 0.005), slots)
    assert receiver.vector_size == 3 and blocks[0].detector == "mmse"
    assert all(block.crc_ok for block in blocks)
    for user, own in enumerate(bits):
        assert np.array_equal([block.bits for block in blocks[user::3]], own)


def test_a_dft_spread_layer_without_noise():
    config = pusch(transform_precoding=True, mcs=nr.Mcs(index=27))
    bits, grids = sent(np.random.default_rng(1), [config], [0, 1])
    for num_rx, iterations in ((1, 1), (2, 3)):
        received = np.repeat(grids, num_rx, axis=1)
        blocks = nr.PuschReceiver(config, num_rx, iterations=iterations).process(received)
        assert all(block.crc_ok for block in blocks)
        assert np.array_equal([block.bits for block in blocks], bits[0])


def test_passes_help_two_dft_spread_users():
    rng, slots = np.random.default_rng(6), list(range(12))
    configs = [pusch(transform_precoding=True, mcs=nr.Mcs(index=12), dmrs_ports=(port,),
                     n_rnti=300 + port) for port in (0, 1)]
    _, grids = sent(rng, configs, slots)
    received = through(rng, grids, 2, 0.2)
    counts = [sum(block.crc_ok for block in nr.PuschReceiver(
        configs, 2, iterations=iterations).process(received, slots)) for iterations in (1, 4)]
    assert counts[1] > counts[0] + 2


def test_passes_decode_what_one_pass_does_not():
    rng, slots = np.random.default_rng(6), list(range(10))
    configs = [pusch(mcs=nr.Mcs(index=20)),
               pusch(mcs=nr.Mcs(index=20), dmrs_ports=(1,), n_rnti=301)]
    _, grids = sent(rng, configs, slots)
    received = through(rng, grids, 4, 0.16)
    counts = [sum(block.crc_ok for block in nr.PuschReceiver(
        configs, 4, iterations=iterations).process(received, slots)) for iterations in (1, 4)]
    assert counts[1] >= counts[0] + 2


@pytest.mark.parametrize("detector, feeds_back", [
    ("nway", True), ("psd", False), ("psd:soft=true", True), ("zfsic:soft=true", False)])
def test_detectors_with_soft_output_take_feedback(detector, feeds_back):
    receiver = nr.PuschReceiver([pusch()], 4, detector=detector)
    assert receiver.detector.extrinsic == feeds_back


def test_a_block_names_its_detector():
    for detector in ("mmse", detectors.MMSE, detectors.MMSE(1, 2, "qpsk")):
        receiver = nr.PuschReceiver(pusch(), 2, detector=detector, iterations=1)
        assert receiver.process(np.zeros((1, 2, 14, 144)))[0].detector == "mmse"


def test_harq_combines_redundancy_versions():
    rng, slots = np.random.default_rng(7), [0, 1]
    config = pusch(mcs=nr.Mcs(index=9))
    again = replace(config, rv=2)
    transmitter = nr.PuschTransmitter(config)
    bits = rng.integers(0, 2, (2, transmitter.tb_size), np.uint8)
    receiver = nr.PuschReceiver(config, num_rx=2, versions=(0, 2))
    first = receiver.process(through(rng, transmitter.grids(bits, slots), 2, 1.4), slots)
    assert not any(block.crc_ok for block in first)
    received = through(rng, nr.PuschTransmitter(again).grids(bits, slots), 2, 1.4)
    assert not any(block.crc_ok for block in receiver.process(received, slots, rv=2))
    both = receiver.process(received, slots, rv=2, earlier=first)
    assert all(block.crc_ok for block in both)
    assert np.array_equal(both[1].bits, bits[1])


def test_pt_rs_follow_the_phase():
    rng, slots = np.random.default_rng(8), [0, 1]
    config = pusch(num_layers=2, mcs=nr.Mcs(index=15), ptrs=nr.Ptrs(),
                   dmrs={"additional_position": 0})
    bits, grids = sent(rng, [config], slots)
    grids = grids * np.exp(1j * np.cumsum(rng.normal(0, 0.15, (2, 1, 14, 1)), axis=2))
    blocks = nr.PuschReceiver(config, 4).process(through(rng, grids, 4, 0.005), slots)
    assert all(block.crc_ok for block in blocks)
    assert np.array_equal(blocks[1].bits, bits[0][1])


@pytest.mark.parametrize("ptrs", [nr.Ptrs(), nr.Ptrs(
    time_density=2, samples_per_group=4, num_groups=4), None])
def test_pt_rs_of_a_dft_spread_layer_follow_the_phase(ptrs):
    """Without PT-RS, blocks are lost."""
    rng, slots = np.random.default_rng(8), [0, 1, 2]
    config = pusch(transform_precoding=True, mcs=nr.Mcs(index=12), ptrs=ptrs,
                   dmrs={"additional_position": 0})
    bits, grids = sent(rng, [config], slots)
    grids = grids * np.exp(1j * np.cumsum(rng.normal(0, 0.3, (3, 1, 14, 1)), axis=2))
    received = through(rng, grids, 2, 0.02)
    for iterations in (1, 3):
        blocks = nr.PuschReceiver(config, 2, iterations=iterations).process(received, slots)
        assert all(block.crc_ok for block in blocks) == (ptrs is not None)
        assert ptrs is None or np.array_equal([block.bits for block in blocks], bits[0])


@pytest.mark.parametrize("detector, iterations", [
    ("auto", 1), ("auto", 3), ("mmse", 1), ("zf", 1), ("kbest", 1), ("ep", 1)])
def test_pt_rs_of_two_users_follow_the_phase_of_each(detector, iterations):
    """Each user has data where the other one has PT-RS. Without PT-RS, blocks are lost."""
    lost = []
    for signals in (True, False):
        rng, slots = np.random.default_rng(8), list(range(6))
        ptrs = [nr.Ptrs(), nr.Ptrs(port=2, time_density=2)] if signals else [None, None]
        configs = [
            pusch(mcs=nr.Mcs(index=15), ptrs=ptrs[0], dmrs={"additional_position": 0}),
            pusch(num_layers=2, dmrs_ports=(1, 2), n_rnti=301, mcs=nr.Mcs(index=12), ptrs=ptrs[1],
                  dmrs={"additional_position": 0})]
        bits, grids = sent(rng, configs, slots)
        phases = np.cumsum(rng.normal(0, 0.15, (6, 2, 14, 1)), axis=2)[:, [0, 1, 1]]
        blocks = nr.PuschReceiver(configs, 4, detector, iterations).process(
            through(rng, grids * np.exp(1j * phases), 4, 0.003), slots)
        lost.append([not block.crc_ok for block in blocks])
        for block in blocks:
            assert not block.crc_ok or np.array_equal(block.bits, bits[block.user][block.slot])
    assert not any(lost[0]) and sum(lost[1]) > 2


def test_pt_rs_of_one_of_two_users_with_the_true_channel():
    rng, slots = np.random.default_rng(8), [0, 1]
    configs = [pusch(num_layers=2, mcs=nr.Mcs(index=15), ptrs=nr.Ptrs(port=1)),
               pusch(dmrs_ports=(2,), n_rnti=301)]
    _, grids = sent(rng, configs, slots)
    h = rng.normal(size=(2, 4, 3)) @ np.eye(3) + 1j * rng.normal(size=(2, 4, 3))
    received = noisy(rng, np.einsum("nrp,npsk->nrsk", h, grids), 0.01)
    channel = np.broadcast_to(h[:, None, None], (2, 14, 144, 4, 3))
    receiver = nr.PuschReceiver(configs, 4, iterations=1)
    assert receiver.num_vectors == nr.resources(configs[1]).num_data
    assert all(block.crc_ok for block in receiver.process(received, slots, channel, 0.01))


def test_interference_is_whitened():
    rng, slots = np.random.default_rng(9), list(range(6))
    config = pusch(num_layers=2, mcs=nr.Mcs(index=15))
    _, grids = sent(rng, [config], slots)
    received = through(rng, grids, 4, 0.01)
    direction = rng.normal(size=(2, 6, 4, 1, 1))
    interferer = noisy(rng, np.zeros((6, 1, 14, 144)), 1.0)
    received += (direction[0] + 1j * direction[1]) * interferer
    blocks = nr.PuschReceiver(config, 4).process(received, slots)
    assert all(block.crc_ok for block in blocks)


def test_samples_with_delay_and_carrier_offset():
    rng, config = np.random.default_rng(2), pusch(num_layers=2)
    transmitter, ofdm = nr.PuschTransmitter(config), nr.Ofdm(CARRIER)
    bits = rng.integers(0, 2, (3, transmitter.tb_size), np.uint8)
    samples = transmitter.samples(bits, slot=5)
    h = taps(rng, 3, 2, 1)[0]
    received = np.pad(h @ samples, ((0, 0), (1234, 100)))
    received *= np.exp(2j * np.pi * 0.08 / ofdm.fft_size * np.arange(received.shape[1]))
    received = noisy(rng, received, 0.01)
    receiver = nr.PuschReceiver(config, num_rx=3)
    for start in (None, 1234, 1230):
        blocks = receiver.process_samples(received, slot=5, start=start)
        assert [block.slot for block in blocks] == [5, 6, 7]
        assert all(block.crc_ok for block in blocks)
        assert np.array_equal(blocks[2].bits, bits[2])


def test_samples_without_a_signal_are_refused():
    samples, sent = nr_loop.received(num_slots=3)
    receiver = nr.PuschReceiver(nr_loop.CONFIG, 2)
    noise = noisy(np.random.default_rng(4), np.zeros((2, 60_000)), 1.0)
    for wrong, said in ((np.zeros((2, 5000)), "got 5000 without a slot"),
                        (noise, "got 60000 without a slot"),
                        (samples[:, :1000], "got 1000 without a slot")):
        with pytest.raises(ValueError, match=said):
            receiver.process_samples(wrong)
    with pytest.raises(ValueError, match="samples: got no signal"):
        nr.synchronise(np.zeros((2, 5000)), nr.Ofdm(nr_loop.CARRIER), receiver.known_symbols)
    for value in (np.nan, np.inf):
        wrong = samples.copy()
        wrong[1, 700] = value
        with pytest.raises(ValueError, match="samples: got .* from antenna 1 at sample 700"):
            receiver.process_samples(wrong)
    assert [block.data for block in receiver.process_samples(samples)] == sent


def test_noise_has_no_transport_block():
    rng = np.random.default_rng(3)
    grid = noisy(rng, np.zeros((2, 2, 14, 144)), 1.0)
    assert not any(block.crc_ok for block in nr.PuschReceiver(pusch(), 2).process(grid))


def test_slots_without_a_transmission_lose_nothing_else():
    """Six slots are enough to learn a profile from, which then has no delay."""
    rng, config = np.random.default_rng(5), pusch(num_layers=2)
    bits, grids = sent(rng, [config], range(4))
    received = through(rng, grids, 2, 1e-3)
    empty = noisy(rng, np.zeros((6, *received.shape[1:])), 1.0)
    receiver = nr.PuschReceiver(config, 2, iterations=1)
    blocks = receiver.process(empty) + receiver.process(received)
    assert [block.crc_ok for block in blocks] == [False] * 6 + [True] * 4
    assert np.array_equal([block.bits for block in blocks[6:]], bits[0])


def test_bad_arguments_are_named():
    config = pusch()
    with pytest.raises(ValueError, match=r"grid: got shape \(1, 2, 14, 100\), must be"):
        nr.PuschReceiver(config, 2).process(np.zeros((1, 2, 14, 100)))
    with pytest.raises(ValueError, match="config: user 1 has other resource elements"):
        nr.PuschReceiver([config, replace(config, num_prb=3, dmrs_ports=(1,))], 2)
    with pytest.raises(ValueError, match="config: got DMRS ports"):
        nr.PuschReceiver([config, config], 2)
    with pytest.raises(ValueError, match="config: got users with and without transform precod"):
        nr.PuschReceiver([config, replace(config, transform_precoding=True, dmrs_ports=(1,))], 2)
    with pytest.raises(ValueError, match="config: got 5, must be a configuration, a list"):
        nr.PuschReceiver(5, 2)
    with pytest.raises(ValueError, match="config: got .*must be a PdschConfig"):
        nr.PdschReceiver(config, 2)
    for versions in ((), 0):
        with pytest.raises(ValueError, match="versions: got .*must be a list of one or more"):
            nr.PuschReceiver(config, 2, versions=versions)


def test_bad_arrays_are_named():
    receiver = nr.PuschReceiver(pusch(), 2)
    grid = np.zeros((3, 2, 14, 144), np.complex64)
    for arguments, message in (
            ({"channel": np.ones((3, 14, 144, 2, 2)), "noise_var": 1}, "channel: got shape"),
            ({"channel": np.ones((2, 1)), "noise_var": 1}, "channel: got shape"),
            ({"noise_var": 1}, "noise_var: got 1, must be None without channel")):
        with pytest.raises(ValueError, match=message):
            receiver.process(grid, **arguments)
    slots, channels = receiver.estimate(grid)
    y, *_ = receiver.vectors(slots, channels)
    llr = np.zeros((*y.shape[:-1], receiver.bits_per_vector), np.float32)
    assert len(receiver.decode(llr, slots)) == 3
    with pytest.raises(ValueError, match="llr: got shape"):
        receiver.decode(llr[:2], slots)
    with pytest.raises(ValueError, match="grid: got no slot"):
        receiver.process(grid[:0])
    grid[1, 1, 5, 3] = np.nan
    with pytest.raises(ValueError, match="not finite in slot 8, antenna 1"):
        receiver.process(grid, [7, 8, 9])


@pytest.mark.filterwarnings("error")
def test_slots_of_zeros_are_lost():
    blocks = nr.PuschReceiver(pusch(), 2).process(np.zeros((6, 2, 14, 144)))
    assert [(block.crc_ok, block.snr_db) for block in blocks] == [(False, -100)] * 6


def test_results_that_are_kept_do_not_change():
    """A large result gets the memory of an earlier one only after the caller has dropped that."""
    rng, slots = np.random.default_rng(5), [0, 1]
    config = pusch(carrier=nr.Carrier(n_size_grid=106), num_layers=4, mcs=nr.Mcs(index=20))
    receiver = nr.PuschReceiver(config, num_rx=4, detector="mmse", iterations=1)

    def results():
        grid = through(rng, sent(rng, [config], slots)[1], 4, 0.003)
        found, channels = receiver.estimate(grid, slots)
        vectors = receiver.vectors(found, channels)
        llr = receiver.detector.detect(*vectors)
        blocks = receiver.process(grid, slots)
        return [vectors[0], llr, *(one.soft for one in blocks), *(one.bits for one in blocks)]

    kept = [one[:1] for one in results()]
    copies = [one.copy() for one in kept]
    results()
    for own, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(own, copy)
