# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport blocks of 5G NR become codewords as TS 38.212 says, and come back through noise."""

import dataclasses

import nr_oracle
import numpy as np
import pytest
from gnuradio.mimopack import coding, nr
from gnuradio.mimopack.coding import ldpc

pytestmark = pytest.mark.quick

RNG = np.random.default_rng


def config(prbs=20, **settings):
    return nr.PuschConfig(carrier=nr.Carrier(n_cell_id=9, n_size_grid=51), num_prb=prbs,
                          n_rnti=3000, **{"num_layers": 2, "mcs": nr.Mcs(index=10), **settings})


def sent_with_noise(coder, bits, sigma, seed=1, **options):
    """Return LLRs of sent bits, over BPSK with noise of a standard deviation."""
    sent = coder.encode(bits, **options)
    received = 2.0 * sent - 1 + RNG(seed).normal(0, sigma, sent.shape)
    return (2 * received / sigma**2).astype(np.float32)


def random_bits(coder, n, seed=2):
    return RNG(seed).integers(0, 2, (n, coder.codeword.tb_size), np.uint8)


@pytest.mark.parametrize("settings", [
    {}, {"prbs": 1}, {"prbs": 51, "mcs": nr.Mcs(index=23), "num_layers": 3},
    {"prbs": 51, "rv": 2},
    {"prbs": 51, "num_layers": 4, "lbrm": True, "max_layers": 2, "rv": 3, "mcs": nr.Mcs(index=20)},
    {"num_layers": 1, "mcs": nr.Mcs(table=3, index=0)}])
def test_encoded_as_the_clauses_say(settings):
    """§6.2: CRC, segmentation, LDPC, rate matching, concatenation; TS 38.211 §6.3.1.1."""
    user = config(**settings)
    word = nr.codeword(user)
    coder = nr.TransportCoder(word)
    bits = random_bits(coder, 2)
    blocks = coding.NrSegmentation(word.tb_size, word.base_graph).segment(bits)
    assert len(blocks) == coder.num_blocks
    step = word.num_layers * word.modulation_order
    share, more = divmod(word.num_coded_bits // step, len(blocks))
    buffer = None
    if user.lbrm:    # 51 PRBs count as 66, with 64-QAM, rate 948/1024 and two layers
        full = 156 * 66 * 6 * 2 * 948 / 1024
        n = int(np.log2(full - 24)) - 5
        quantised = 2**n * round((full - 24) / 2**n)
        count = -(-(quantised + 24) // 8424)
        size = 8 * count * -(-(quantised + 24) // (8 * count)) - 24
        buffer = int(size / (len(blocks) * 2 / 3))
    parts = []
    for r, block in enumerate(blocks):
        coded = step * (share + (r > len(blocks) - 1 - more))
        matching = ldpc.NrRateMatching(block.shape[1], coded, word.base_graph, user.rv,
                                       word.modulation_order, buffer, prune=False)
        encoder = ldpc.LdpcEncoder(matching.code)
        parts.append(matching.match(encoder.encode(matching.with_filler(block))))
    assert buffer is None or buffer < 40 * matching.lifting_size
    scrambling = nr_oracle.gold(3000 * 2**15 + 9, word.num_coded_bits)
    np.testing.assert_array_equal(coder.encode(bits),
                                  np.hstack(parts) ^ np.array(scrambling, np.uint8))


@pytest.mark.parametrize("prbs, order_blocks", [(4, 1), (51, 4)])
def test_decoded_in_batches(prbs, order_blocks):
    coder = nr.TransportCoder(nr.codeword(config(prbs, mcs=nr.Mcs(index=12))))
    assert coder.num_blocks == order_blocks
    bits = random_bits(coder, 6)
    llr = sent_with_noise(coder, bits, 0.5)
    llr[4] = RNG(5).normal(0, 1, llr.shape[1])
    found = coder.decode(llr.reshape(2, 3, -1))
    expected = np.array([[True, True, True], [True, False, True]])
    np.testing.assert_array_equal(found.crc_ok, expected)
    np.testing.assert_array_equal(found.bits[expected], bits.reshape(2, 3, -1)[expected])
    assert found.block_crc_ok.shape == (2, 3, order_blocks)
    np.testing.assert_array_equal(found.block_crc_ok.all(axis=2), expected)


def test_posterior_llrs_are_in_the_order_of_the_bits_sent():
    coder = nr.TransportCoder(nr.codeword(config(51)))
    bits = random_bits(coder, 2)
    llr = sent_with_noise(coder, bits, 0.7)
    found = coder.decode(llr, posterior=True)
    assert found.crc_ok.all() and (np.sign(llr) != np.sign(found.posterior)).mean() > 0.05
    np.testing.assert_array_equal(found.posterior > 0, coder.encode(bits))


def test_llrs_in_another_order():
    """LLRs among those of another user, and in another order than that of the bits sent."""
    coder = nr.TransportCoder(nr.codeword(config()))
    bits, count = random_bits(coder, 2), coder.codeword.num_coded_bits
    llr = sent_with_noise(coder, bits, 0.6)
    order = nr.LlrOrder(RNG(3).permutation(2 * count)[:count], 2 * count)
    turned = RNG(4).normal(size=(2, order.width)).astype(np.float32)
    turned[:, order.places] = llr
    found = coder.decode(turned, order=order)
    assert found.crc_ok.all()
    np.testing.assert_array_equal(found.soft, coder.decode(llr).soft)


@pytest.mark.parametrize("versions", [(0, 2), (0, 0), (3, 1, 0)])
def test_harq_combines_transmissions(versions):
    """Each transmission alone is lost; together they suffice."""
    coder = nr.TransportCoder(nr.codeword(config(20, mcs=nr.Mcs(index=14))), versions=versions)
    bits = random_bits(coder, 4)
    sigma = {2: 0.95, 3: 1.15}[len(versions)]
    soft = None
    for number, version in enumerate(versions):
        llr = sent_with_noise(coder, bits, sigma, seed=number, rv=version)
        alone = coder.decode(llr, rv=version)
        assert not alone.crc_ok.any()
        combined = coder.decode(llr, rv=version, soft=soft)
        soft = combined.soft
    assert combined.crc_ok.all()
    np.testing.assert_array_equal(combined.bits, bits)


def test_bad_arguments():
    coder = nr.TransportCoder(nr.codeword(config()))
    size, coded = coder.codeword.tb_size, coder.codeword.num_coded_bits
    with pytest.raises(ValueError, match=rf"bits: got shape .* must be \(..., {size}\)"):
        coder.encode(np.zeros((2, size + 1), np.uint8))
    with pytest.raises(ValueError, match=rf"llr: got shape .* must be \(..., {coded}\)"):
        coder.decode(np.zeros((2, coded + 1), np.float32))
    with pytest.raises(ValueError, match="rv: got 2, allowed are 0"):
        coder.decode(np.zeros((2, coded), np.float32), rv=2)
    with pytest.raises(ValueError, match="versions: got 4"):
        nr.TransportCoder(coder.codeword, versions=(0, 4))


def test_another_user_descrambles_noise():
    user = config()
    coder, other = (nr.TransportCoder(nr.codeword(dataclasses.replace(user, n_rnti=rnti)))
                    for rnti in (3000, 3001))
    assert not other.decode(sent_with_noise(coder, random_bits(coder, 3), 0.3)).crc_ok.any()


@pytest.mark.parametrize("kind, settings", [
    (nr.PuschConfig, {"lbrm": True, "num_layers": 4}),
    (nr.PdschConfig, {"num_layers": 4}),
    (nr.PdschConfig, {"num_layers": 8, "second_mcs": nr.Mcs(index=10),
                      "dmrs": nr.Dmrs(length=2)})])
def test_the_limited_buffer_is_the_same_if_256_qam_is_given_by_numbers(kind, settings):
    by_table, by_numbers = (nr.codewords(kind(mcs=mcs, **settings)) for mcs in (
        nr.Mcs(table=2, index=20), nr.Mcs(modulation_order=8, target_coderate_x1024=682.5)))
    assert by_table == by_numbers
