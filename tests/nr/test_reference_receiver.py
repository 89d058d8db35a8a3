# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receiver's steps equal those of the plain decoder in gnuradio.mimopack.reference.nr_pusch."""

import numpy as np
import pytest
from gnuradio.mimopack import coding, nr, reference
from gnuradio.mimopack.reference import nr_pusch
from nr_link import noisy, pusch, sent, through

CARRIER = nr.Carrier(n_cell_id=41, n_size_grid=6)
USERS = [pusch(carrier=CARRIER, num_layers=2, mcs=nr.Mcs(index=12), dmrs_ports=(0, 2)),
         pusch(carrier=CARRIER, dmrs_ports=(1,), n_rnti=5, mcs=nr.Mcs(index=4), rv=3)]


@pytest.mark.parametrize("spacing, slots", [
    (15, [0, 3]), (30, [0, 7]), (60, [0, 1, 2]), (120, [4, 5])])
def test_demodulation(spacing, slots):
    carrier = nr.Carrier(subcarrier_spacing_khz=spacing, n_size_grid=6)
    ofdm = nr.Ofdm(carrier, 128)
    for slot in slots:
        samples = noisy(np.random.default_rng(slot), np.zeros((2, ofdm.slot_length(slot))), 1.0)
        np.testing.assert_allclose(nr_pusch.demodulate(samples, carrier, 128, slot),
                                   ofdm.demodulate(samples, slot)[0], atol=1e-5)


@pytest.mark.parametrize("dmrs", [
    {}, {"length": 2}, {"config_type": 2, "num_cdm_groups_without_data": 2}])
def test_estimates_of_a_flat_channel(dmrs):
    rng = np.random.default_rng(1)
    users = [pusch(carrier=CARRIER, num_layers=2, dmrs=dmrs), pusch(
        carrier=CARRIER, dmrs=dmrs, dmrs_ports=(2,), n_rnti=5)]
    h = rng.normal(size=(4, 3, 2)) @ [1, 1j]
    received = noisy(rng, np.einsum("rp,psk->rsk", h, sent(rng, users, [3])[1][0]), 0.01)
    found, covariance = nr_pusch.estimate(received, users, 3)
    assert np.mean(np.abs(found - h)**2) < 4e-3    # less than half the noise
    np.testing.assert_allclose(covariance, 0.01 * np.eye(4), atol=0.006)
    gains, *_ = nr_pusch.least_squares(received, users[0], 3, 1)
    np.testing.assert_allclose(gains.mean(axis=(1, 2)), h[:, 1], atol=0.05)
    receiver = nr.PuschReceiver(users, 4, "mmse", 1)
    _, channels = receiver.estimate(received[None], [3])
    assert np.mean(np.abs(channels.h[0] - found)**2) < 5e-3


def test_llrs_of_code_blocks_from_a_slot():
    """Detection, order of bits, descrambling, rate recovery: with the true channel."""
    rng, slot = np.random.default_rng(2), 3
    _, grids = sent(rng, USERS, [slot])
    h = rng.normal(size=(4, 3, 2)) @ [1, 1j]
    received = noisy(rng, np.einsum("rp,psk->rsk", h, grids[0]), 0.3)
    channel = np.broadcast_to(h, (14, 72, 4, 3))
    receiver = nr.PuschReceiver(USERS, 4, "mmse", 1, versions=(0, 3))    # all bits of the code
    blocks = [receiver.process(received[None], [slot], channel[None], 0.3, user.rv)[index]
              for index, user in enumerate(USERS)]
    found = nr_pusch.detect(received, channel, 0.3 * np.eye(4), USERS)
    for config, llr, block in zip(USERS, found, blocks, strict=True):
        word = nr.codeword(config)
        matching = coding.ldpc.NrRateMatching(
            coding.NrSegmentation(word.tb_size, word.base_graph).block_bits[0],
            word.num_coded_bits, word.base_graph, word.rv, word.modulation_order, prune=False)
        recovered = nr_pusch.recover(nr_pusch.descramble(llr, word), matching,
                                     word.modulation_order, word.rv)
        bits = np.ones(recovered.size, bool)
        bits[matching.info_bits:matching.info_bits + matching.num_filler] = False
        np.testing.assert_allclose(block.soft[0, bits], recovered[bits], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rv", range(4))
@pytest.mark.parametrize("graph, info_bits, coded, buffer", [
    (1, 3000, 4800, None), (1, 500, 6000, None), (2, 300, 2400, None), (2, 700, 1200, 1500)])
def test_rate_recovery(graph, info_bits, coded, buffer, rv):
    matching = coding.ldpc.NrRateMatching(info_bits, coded, graph, rv, 4, buffer, prune=False)
    llr = np.random.default_rng(rv).normal(size=coded).astype(np.float32)
    expected = nr_pusch.recover(llr, matching, 4, rv, buffer)
    found = matching.recover(llr[None])[0]
    filler = slice(info_bits, info_bits + matching.num_filler)
    assert (found[filler] == -1e20).all() and not expected[filler].any()
    found[filler] = 0
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name, polynomial", [("24A", nr_pusch.CRC_24A), ("16", nr_pusch.CRC_16)])
def test_crc(name, polynomial):
    bits = np.random.default_rng(1).integers(0, 2, (3, 200), np.uint8)
    np.testing.assert_array_equal(
        coding.Crc(name).parity(bits), [nr_pusch.remainder(row, polynomial) for row in bits])


@pytest.mark.parametrize("users, slot, backend", [
    (USERS, 3, "cpu"),
    ([pusch(carrier=CARRIER, num_layers=4, mcs=nr.Mcs(index=20))], 9, "cpu"),    # two code blocks
    ([pusch(carrier=CARRIER, num_prb=2, mcs=nr.Mcs(index=5))], 0, "reference")])
def test_a_slot_is_decoded_as_by_the_receiver(users, slot, backend):
    rng = np.random.default_rng(4)
    bits, grids = sent(rng, users, [slot])
    received = through(rng, grids, 8, 0.003)
    found = nr_pusch.receive(received[0], users, slot, reference.mmse, backend)
    blocks = nr.PuschReceiver(users, 8, "mmse", 1).process(received, [slot])
    for (decoded, crc_ok), own, block in zip(found, bits, blocks, strict=True):
        assert crc_ok and block.crc_ok
        np.testing.assert_array_equal(decoded, own[0])
