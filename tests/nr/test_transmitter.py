# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Grids of the transmitters: data, reference signals and precoding, element by element."""

import dataclasses

import nr_oracle
import numpy as np
import pytest
from gnuradio.mimopack import constellation, nr

pytestmark = pytest.mark.quick

CARRIER = nr.Carrier(n_cell_id=9, n_size_grid=8)


def random_bits(transmitter, n, seed=2):
    return np.random.default_rng(seed).integers(0, 2, (n, transmitter.tb_size), np.uint8)


def expected_layers(channel, config, symbols, slot):
    """Compute the grid of each layer; symbols are the modulation symbols of the codeword."""
    grid = np.zeros((config.num_layers, config.carrier.symbols_per_slot,
                     config.carrier.num_subcarriers), complex)
    for i, (k, symbol) in enumerate(nr_oracle.data_elements(channel, config)):
        grid[:, symbol, k] = symbols[i * config.num_layers:(i + 1) * config.num_layers]
    for layer, port in enumerate(config.dmrs_ports):
        for (k, symbol), value in nr_oracle.dmrs(channel, config, slot, port).items():
            grid[layer, symbol, k] = value
    if config.ptrs is not None:
        port = config.dmrs_ports[0] if config.ptrs.port is None else config.ptrs.port
        for (k, symbol), value in nr_oracle.ptrs(channel, config, slot).items():
            grid[:, symbol, k] = 0
            grid[config.dmrs_ports.index(port), symbol, k] = value
    return grid


@pytest.mark.parametrize("settings", [
    {"num_layers": 3}, {"num_layers": 2, "dmrs_ports": (3, 0), "mcs": nr.Mcs(index=20)},
    {"num_layers": 2, "ptrs": nr.Ptrs(port=1, time_density=2)},
    {"mapping_type": "B", "symbol_allocation": (5, 4), "prb_start": 2, "num_prb": 3}])
def test_pusch(settings):
    config = nr.PuschConfig(carrier=CARRIER, **settings)
    transmitter = nr.PuschTransmitter(config)
    bits = random_bits(transmitter, 2)
    coded = nr.TransportCoder(nr.codeword(config)).encode(bits)
    grids = transmitter.grids(bits, [3, 17])
    for row, slot, grid in zip(coded, (3, 17), grids, strict=True):
        symbols = constellation.get(config.constellation).modulate(row)
        np.testing.assert_allclose(grid, expected_layers("pusch", config, symbols, slot),
                                   atol=1e-6)


@pytest.mark.parametrize("layers, first", [(4, 4), (5, 2), (6, 3), (7, 3), (8, 4)])
def test_pdsch(layers, first):
    """TS 38.211 table 7.3.1.3-1: the codewords' layers; §7.3.1.1: their scramblers."""
    config = nr.PdschConfig(
        carrier=CARRIER, num_layers=layers, dmrs=nr.Dmrs(length=2), n_rnti=77, rv=2,
        vrb_to_prb_bundle=2, mcs=nr.Mcs(index=12),
        **({"second_mcs": nr.Mcs(index=5), "second_rv": 3} if layers > 4 else {}))
    transmitter = nr.PdschTransmitter(config)
    words = nr.codewords(config)
    assert [word.num_layers for word in words] == [first, layers - first][:1 + (layers > 4)]
    bits = [np.random.default_rng(q).integers(0, 2, (1, size), np.uint8)
            for q, size in enumerate(transmitter.tb_sizes)]
    grid = transmitter.grids(bits if layers > 4 else bits[0], [6])[0]
    assert [word.rv for word in words] == [2, 3][:len(words)]
    symbols, elements = [], nr_oracle.data_elements("pdsch", config)
    for q, (word, block, name) in enumerate(zip(words, bits, ("qam16", "qpsk"), strict=False)):
        assert word.num_coded_bits == len(elements) * word.num_layers * word.modulation_order
        plain = dataclasses.replace(word, c_init=0)    # x2 is 0: the scrambler is x1 alone
        sent = (nr.TransportCoder(plain).encode(block)[0]
                ^ np.array(nr_oracle.gold(0, word.num_coded_bits), np.uint8)
                ^ np.array(nr_oracle.gold(77 * 2**15 + q * 2**14 + 9, word.num_coded_bits),
                           np.uint8))
        symbols.append(constellation.get(name).modulate(sent).reshape(-1, word.num_layers))
    expected = expected_layers("pdsch", config, np.hstack(symbols).ravel(), 6)
    np.testing.assert_allclose(grid, expected, atol=1e-6)


def test_pdsch_on_more_antennas_than_layers():
    config = nr.PdschConfig(carrier=CARRIER, num_layers=2)
    w = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 2)))[0]
    plain, precoded = nr.PdschTransmitter(config), nr.PdschTransmitter(config, w)
    bits = np.random.default_rng(2).integers(0, 2, (1, plain.tb_sizes[0]), np.uint8)
    np.testing.assert_allclose(precoded.grids(bits, [0])[0],
                               np.tensordot(w, plain.grids(bits, [0])[0], 1), atol=1e-6)
    assert precoded.samples(bits).shape == (8, 15 * 128)
    with pytest.raises(ValueError, match=r"precoding: got shape \(8, 3\), must be \(antennas, 2"):
        nr.PdschTransmitter(config, np.ones((8, 3)))


def test_codebook_precoding():
    config = nr.PuschConfig(carrier=CARRIER, num_layers=3, mcs=nr.Mcs(index=4))
    precoded = dataclasses.replace(config, transmission_scheme="codebook", num_antenna_ports=4,
                                   tpmi=5)
    bits = random_bits(nr.PuschTransmitter(config), 1)
    layers, ports = (nr.PuschTransmitter(each).grids(bits, [0])[0] for each in (config, precoded))
    w = np.array([[1, 1, 1], [-1, 1, -1], [1, 1, -1], [-1, 1, 1]]) / np.sqrt(12)
    np.testing.assert_allclose(ports, np.tensordot(w, layers, 1), atol=1e-6)


def every_precoder():
    for (layers, ports), most in {(1, 2): 5, (1, 4): 27, (2, 2): 2, (2, 4): 21, (3, 4): 6,
                                  (4, 4): 4}.items():
        for tpmi in range(most + 1):
            for transform in (False, True)[:1 + (layers == 1)]:
                yield nr.PuschConfig(
                    carrier=CARRIER, num_layers=layers, num_antenna_ports=ports, tpmi=tpmi,
                    transmission_scheme="codebook", transform_precoding=transform)


def test_properties_of_all_precoders():
    """Columns are orthogonal; no two precoders of a table are proportional."""
    tables = {}
    for config in every_precoder():
        w = nr.precoding_matrix(config)
        gram = w.conj().T @ w
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
        assert (np.linalg.norm(w, axis=1)**2).max() < 1 / w.shape[0] + 1e-12
        tables.setdefault((w.shape, config.transform_precoding), []).append(w / np.linalg.norm(w))
    for matrices in tables.values():
        products = np.abs(np.einsum("apl,bpl->ab", np.conj(matrices), matrices))
        assert (products - np.eye(len(matrices))).max() < 0.99
    gains = np.linalg.svd(np.hstack(tables[(4, 1), True][12:]))[1]
    np.testing.assert_allclose(gains, gains[0], rtol=1e-6)    # they look in all directions alike


def test_dft_s_ofdm():
    config = nr.PuschConfig(carrier=CARRIER, num_prb=6, transform_precoding=True, n_id=3,
                            mcs=nr.Mcs(index=11))
    transmitter = nr.PuschTransmitter(config)
    bits = random_bits(transmitter, 1)
    grid = transmitter.grids(bits, [4])[0, 0]
    symbols = constellation.get("qam16").modulate(nr.TransportCoder(nr.codeword(config))
                                                  .encode(bits))[0]
    n = np.arange(72)
    dft = np.exp(-2j * np.pi * np.outer(n, n) / 72) / np.sqrt(72)
    with_data = [symbol for symbol in range(14) if symbol != 2]
    expected = symbols.reshape(13, 72) @ dft.T
    np.testing.assert_allclose(grid[with_data][:, :72], expected, atol=1e-5)
    np.testing.assert_allclose(nr.transform_deprecode(expected), symbols.reshape(13, 72), atol=1e-5)
    np.testing.assert_allclose(grid[2, 0:72:2], np.sqrt(2) * np.array(nr_oracle.low_papr(9, 0, 36)),
                               atol=1e-5)
    assert not grid[2, 1::2].any() and not grid[:, 72:].any()
    # The reason for it: samples of low peak power
    samples = transmitter.samples(bits, 4)
    plain = nr.PuschTransmitter(dataclasses.replace(config, transform_precoding=False))
    other = plain.samples(random_bits(plain, 1), 4)
    peaks = [np.quantile(np.abs(each)**2, 0.999) / np.mean(np.abs(each)**2)
             for each in (samples, other)]
    assert peaks[0] < 0.75 * peaks[1]


def test_pi2_bpsk():
    config = nr.PuschConfig(carrier=CARRIER, num_prb=6, transform_precoding=True, tp_pi2bpsk=True,
                            mcs=nr.Mcs(index=1))
    transmitter, word = nr.PuschTransmitter(config), nr.codeword(config)
    assert (word.modulation_order, word.target_coderate) == (1, 314 / 1024)
    assert word.num_coded_bits == 13 * 72
    bits = random_bits(transmitter, 1)
    grid = transmitter.grids(bits, [4])[0, 0]
    expected = nr_oracle.pi2_bpsk(nr.TransportCoder(word).encode(bits)[0].tolist())
    with_data = [symbol for symbol in range(14) if symbol != 2]
    np.testing.assert_allclose(nr.transform_deprecode(grid[with_data][:, :72]).ravel(), expected,
                               atol=1e-5)


@pytest.mark.parametrize("size, groups, density, symbols", [
    (2, 2, 1, [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13]), (4, 2, 2, [0, 4, 6, 8, 10, 13]),
    (2, 4, 2, [0, 4, 6, 8, 10, 13]), (4, 4, 2, [0, 4, 6, 8, 10, 13]),
    (4, 8, 2, [0, 4, 6, 8, 10, 13])])
def test_pt_rs_with_transform_precoding(size, groups, density, symbols):
    """64-QAM, DMRS in symbols 2 and 11. The outermost points are 7 / sqrt(21) from 0."""
    config = nr.PuschConfig(
        carrier=CARRIER, num_prb=6, transform_precoding=True, n_rnti=50 + groups, mcs=nr.Mcs(
            index=18), dmrs=nr.Dmrs(additional_position=1), ptrs=nr.Ptrs(
                time_density=density, samples_per_group=size, num_groups=groups))
    transmitter, word = nr.PuschTransmitter(config), nr.codeword(config)
    assert word.num_coded_bits == 6 * (12 * 72 - size * groups * len(symbols))
    bits = random_bits(transmitter, 1)
    grid = transmitter.grids(bits, [4])[0, 0]
    spread = nr.transform_deprecode(grid[:, :72])
    signals = nr_oracle.spread_ptrs(config, 4, symbols, 7 / np.sqrt(21))
    assert len(signals) == size * groups * len(symbols)
    data = iter(constellation.get("qam64").modulate(nr.TransportCoder(word).encode(bits))[0])
    for symbol in set(range(14)) - {2, 11}:
        expected = [signals[place, symbol] if (place, symbol) in signals else next(data)
                    for place in range(72)]
        np.testing.assert_allclose(spread[symbol], expected, atol=1e-5)
    assert next(data, None) is None


def test_samples_of_consecutive_slots():
    config = nr.PuschConfig(carrier=CARRIER, num_layers=2)
    transmitter = nr.PuschTransmitter(config)
    bits = random_bits(transmitter, 3)
    samples = transmitter.samples(bits, slot=19)    # the last slot of a frame, then the next frame
    grids = nr.Ofdm(CARRIER).demodulate(samples, 19)
    np.testing.assert_allclose(grids, transmitter.grids(bits, [19, 0, 1]), atol=1e-5)


def test_bad_slots():
    transmitter = nr.PuschTransmitter(nr.PuschConfig(carrier=CARRIER))
    with pytest.raises(ValueError, match="slots: got 20 to 20, allowed are 0 to 19"):
        transmitter.grids(random_bits(transmitter, 1), [20])
    with pytest.raises(ValueError, match="bits: got 2 transport blocks for 1 slots"):
        transmitter.grids(random_bits(transmitter, 2), [0])
