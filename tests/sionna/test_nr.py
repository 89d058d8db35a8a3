# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""5G NR against Sionna and py3gpp: Sionna's receiver decodes what our transmitter sends.

Slots and channels are simulated. ``scripts/test.sh --sionna`` runs this file.
"""

import numpy as np
import py3gpp
import pytest
import torch
from gnuradio.mimopack import nr
from gnuradio.mimopack.coding import gold_sequence
from gnuradio.mimopack.nr.mcs import mcs_entry, transport_block_size
from sionna.phy import config as sionna_config
from sionna.phy.nr import (
    CarrierConfig,
    PUSCHConfig,
    PUSCHDMRSConfig,
    PUSCHReceiver,
    PUSCHTransmitter,
    TBConfig,
)
from sionna.phy.nr.utils import decode_mcs_index

SLOT = 7
CASES = {
    "one layer": {"num_layers": 1, "mcs": nr.Mcs(index=5)},
    "data beside DMRS": {"num_layers": 1, "mcs": nr.Mcs(index=12), "dmrs": nr.Dmrs(
        num_cdm_groups_without_data=1)},
    "four layers, several code blocks": {"num_layers": 4, "mcs": nr.Mcs(index=15), "n_id": 900,
                                         "dmrs": nr.Dmrs(additional_position=1)},
    "256-QAM": {"num_layers": 2, "mcs": nr.Mcs(table=2, index=20), "dmrs": nr.Dmrs(
        additional_position=3, n_id=(3, 65535), n_scid=1)},
    "qam64LowSE": {"num_layers": 2, "mcs": nr.Mcs(table=3, index=12), "dmrs": nr.Dmrs(
        additional_position=2, type_a_position=3)},
    "type 2": {"num_layers": 4, "dmrs_ports": (0, 1, 3, 5), "dmrs": nr.Dmrs(
        config_type=2, num_cdm_groups_without_data=3, additional_position=1)},
    "double symbols": {"num_layers": 4, "dmrs_ports": (0, 3, 4, 7), "dmrs": nr.Dmrs(
        length=2, additional_position=1)},
    "mapping B": {"num_layers": 2, "mapping_type": "B", "symbol_allocation": (3, 10),
                  "dmrs": nr.Dmrs(additional_position=2)},
    "codebook, 2 ports": {"num_layers": 1, "transmission_scheme": "codebook",
                          "num_antenna_ports": 2, "tpmi": 4},
    "codebook, 4 ports": {"num_layers": 2, "transmission_scheme": "codebook",
                          "num_antenna_ports": 4, "tpmi": 17, "mcs": nr.Mcs(index=13)},
}


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's threads wait for each other actively, which disturbs other tests."""
    torch.set_num_threads(1)
    sionna_config.seed = 1


def ours(prbs=24, spacing=30, **settings):
    return nr.PuschConfig(**{
        "carrier": nr.Carrier(n_cell_id=301, n_size_grid=prbs, subcarrier_spacing_khz=spacing),
        "n_rnti": 4711, **settings})


def theirs(config):
    """Return Sionna's form of our configuration."""
    carrier, dmrs = config.carrier, config.dmrs
    return PUSCHConfig(
        CarrierConfig(n_cell_id=carrier.n_cell_id, n_size_grid=carrier.n_size_grid,
                      subcarrier_spacing=carrier.subcarrier_spacing_khz, slot_number=SLOT),
        PUSCHDMRSConfig(config_type=dmrs.config_type, type_a_position=dmrs.type_a_position,
                        additional_position=dmrs.additional_position, length=dmrs.length,
                        dmrs_port_set=list(config.dmrs_ports), n_scid=dmrs.n_scid,
                        n_id=None if dmrs.n_id is None else list(dmrs.n_id),
                        num_cdm_groups_without_data=dmrs.num_cdm_groups_without_data),
        TBConfig(mcs_table=config.mcs.table, mcs_index=config.mcs.index, n_id=config.n_id),
        num_layers=config.num_layers, num_antenna_ports=config.num_antenna_ports,
        precoding=config.transmission_scheme, tpmi=config.tpmi or 0, n_rnti=config.n_rnti,
        mapping_type=config.mapping_type, symbol_allocation=list(config.symbol_allocation))


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_sionna_decodes_what_we_send(settings):
    config = ours(**settings)
    other = theirs(config)
    transmitter = nr.PuschTransmitter(config)
    assert transmitter.tb_size == other.tb_size
    assert nr.codeword(config).num_coded_bits == other.num_coded_bits
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (3, transmitter.tb_size), np.uint8)
    first, count = config.symbol_allocation
    grids = transmitter.grids(bits, [SLOT] * 3)[:, :, first:first + count]
    their_transmitter = PUSCHTransmitter(other, return_bits=False)
    expected = their_transmitter(torch.tensor(bits[:, None], dtype=torch.float32))
    np.testing.assert_allclose(grids, expected[:, 0].numpy(), atol=1e-5)
    antennas, noise = 8, 1e-3
    h = rng.normal(size=(3, antennas, grids.shape[1], 2)) @ [1, 1j] / np.sqrt(2)
    y = np.einsum("nrp,npsk->nrsk", h, grids)
    y += rng.normal(0, np.sqrt(noise / 2), (*y.shape, 2)) @ [1, 1j]
    receiver = PUSCHReceiver(their_transmitter, return_tb_crc_status=True)
    found, crc_ok = receiver(torch.tensor(y[:, None], dtype=torch.complex64),
                             torch.tensor(noise, dtype=torch.float32))
    assert crc_ok.all()
    np.testing.assert_array_equal(found[:, 0].numpy(), bits)


def test_sionna_decodes_two_of_our_users():
    users = [ours(dmrs_ports=(port,), n_rnti=rnti, n_id=n_id, dmrs=nr.Dmrs(additional_position=1))
             for port, rnti, n_id in ((0, 100, 7), (2, 65535, 1023))]
    transmitters = [nr.PuschTransmitter(user) for user in users]
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (2, 2, transmitters[0].tb_size), np.uint8)
    sent = np.stack([transmitter.grids(block, [SLOT] * 2)[:, 0]
                     for transmitter, block in zip(transmitters, bits, strict=True)], axis=1)
    y = np.einsum("ru,nusk->nrsk", rng.normal(size=(4, 2)), sent)
    receiver = PUSCHReceiver(PUSCHTransmitter([theirs(user) for user in users], return_bits=False),
                             return_tb_crc_status=True)
    found, crc_ok = receiver(torch.tensor(y[:, None], dtype=torch.complex64),
                             torch.tensor(1e-3, dtype=torch.float32))
    assert crc_ok.all()
    np.testing.assert_array_equal(found.numpy(), bits.transpose(1, 0, 2))


def test_all_precoders_equal_those_of_sionna():
    for (layers, ports), most in {(1, 2): 5, (1, 4): 27, (2, 2): 2, (2, 4): 21, (3, 4): 6,
                                  (4, 4): 4}.items():
        for tpmi in range(most + 1):
            config = ours(num_layers=layers, num_antenna_ports=ports, tpmi=tpmi,
                          transmission_scheme="codebook")
            np.testing.assert_allclose(nr.precoding_matrix(config), theirs(config).precoding_matrix)


def test_positions_of_dmrs_equal_those_of_sionna():
    for mapping, length in (("A", 1), ("A", 2), ("B", 1), ("B", 2)):
        for count in range({"A": 4, "B": 1 if length == 1 else 5}[mapping], 15):
            for additional in range((4, 2)[length - 1]):
                config = ours(mapping_type=mapping, symbol_allocation=(0, count),
                              dmrs=nr.Dmrs(length=length, additional_position=additional))
                found = nr.resources(config).dmrs_symbols
                assert list(found) == theirs(config).dmrs_symbol_indices


def test_sizes_of_transport_blocks_equal_those_of_sionna_and_py3gpp():
    for prbs in (1, 2, 5, 13, 24, 51, 106, 162, 273):
        for table, indices in ((1, range(29)), (2, range(28)), (3, range(29))):
            for index in indices:
                for layers in (1, 4):
                    config = ours(prbs, num_layers=layers, mcs=nr.Mcs(table=table, index=index))
                    word = nr.codeword(config)
                    name = {2: "QPSK", 4: "16QAM", 6: "64QAM", 8: "256QAM"}[word.modulation_order]
                    assert word.tb_size == py3gpp.nrTBS(name, layers, prbs, 12 * 13,
                                                        word.target_coderate)
                    if layers == 1 and index % 3 == 0:
                        assert word.tb_size == theirs(config).tb_size


def test_modulation_and_rate_with_transform_precoding_equal_those_of_sionna():
    """Sionna gives tables 6.1.4.1-1 and -2 the numbers 1 and 2."""
    for table, number in ((1, 1), (3, 2)):
        for pi2bpsk in (False, True):
            orders, rates = decode_mcs_index(
                torch.arange(28), number, True, transform_precoding=True, pi2bpsk=pi2bpsk)
            ours = [mcs_entry(table, index, True, pi2bpsk) for index in range(28)]
            assert [order for order, _ in ours] == orders.tolist()
            np.testing.assert_allclose([rate / 1024 for _, rate in ours], rates.numpy(), atol=1e-6)


def test_gold_sequence_equals_that_of_py3gpp():
    for c_init in (1, 4711 * 2**15 + 301, 2**31 - 1):
        np.testing.assert_array_equal(gold_sequence(c_init, 3000), py3gpp.nrPRBS(c_init, 3000))


@pytest.mark.parametrize("rv", range(4))
@pytest.mark.parametrize("prbs, mcs", [(10, 3), (20, 11), (51, 20)])
def test_codewords_equal_those_of_py3gpp(prbs, mcs, rv):
    """CRC, segmentation, LDPC code, rate matching and scrambling, of one layer.

    py3gpp 0.6 fails with smaller blocks, of up to 640 bits.
    """
    config = ours(prbs, mcs=nr.Mcs(index=mcs), rv=rv)
    word = nr.codeword(config)
    bits = np.random.default_rng(prbs).integers(0, 2, word.tb_size)
    with_crc = py3gpp.nrCRCEncode(bits, "24A" if word.tb_size > 3824 else "16")
    blocks = py3gpp.nrCodeBlockSegmentLDPC(with_crc, word.base_graph)
    name = {2: "QPSK", 4: "16QAM", 6: "64QAM"}[word.modulation_order]
    sent = py3gpp.nrRateMatchLDPC(py3gpp.nrLDPCEncode(blocks, word.base_graph),
                                  word.num_coded_bits, rv, name, 1)
    expected = sent.astype(int) ^ py3gpp.nrPRBS(word.c_init, sent.size).astype(int)
    np.testing.assert_array_equal(nr.TransportCoder(word).encode(bits[None])[0], expected)


@pytest.mark.parametrize("spacing", [15, 30])
def test_samples_equal_those_of_py3gpp(spacing):
    carrier = nr.Carrier(n_size_grid=24, subcarrier_spacing_khz=spacing)
    rng = np.random.default_rng(3)
    grid = rng.normal(size=(1, 14, 288)) + 1j * rng.normal(size=(1, 14, 288))
    samples, _ = py3gpp.nrOFDMModulate(grid=grid[0].T.copy(), scs=spacing, initialNSlot=0,
                                       SampleRate=512_000 * spacing)
    np.testing.assert_allclose(nr.Ofdm(carrier, 512).modulate(grid), samples * np.sqrt(512),
                               atol=1e-5)


def test_dmrs_of_pdsch_equal_those_of_py3gpp():
    settings, carrier = py3gpp.nrPDSCHConfig(), py3gpp.nrCarrierConfig()
    settings.NSizeBWP, settings.PRBSet = 51, np.arange(10, 40)
    settings.SymbolAllocation = [0, 14]
    settings.DMRS.DMRSAdditionalPosition, settings.DMRS.NIDNSCID = 2, 20
    carrier.NSlot = 3
    config = nr.PdschConfig(carrier=nr.Carrier(n_size_grid=51), prb_start=10, num_prb=30,
                            dmrs=nr.Dmrs(additional_position=2, n_id=(20, 0)))
    values = nr.dmrs_symbols(config, 3, 0).values / config.dmrs.beta
    np.testing.assert_allclose(values.ravel(), py3gpp.nrPDSCHDMRS(settings, carrier), atol=1e-6)


@pytest.mark.parametrize("time_density, frequency_density, offset, rnti, config_type", [
    (1, 2, "00", 4, 1), (2, 4, "10", 7, 1), (4, 2, "11", 5, 1), (1, 4, "00", 6, 2)])
def test_pt_rs_of_pdsch_equal_those_of_py3gpp(time_density, frequency_density, offset, rnti,
                                              config_type):
    settings, carrier = py3gpp.nrPDSCHConfig(), py3gpp.nrCarrierConfig()
    settings.NSizeBWP, settings.PRBSet, settings.RNTI = 51, np.arange(10, 41), rnti
    settings.SymbolAllocation, settings.EnablePTRS = [0, 14], 1
    settings.DMRS.DMRSAdditionalPosition, settings.DMRS.NIDNSCID = 1, 20
    settings.DMRS.DMRSConfigurationType = config_type
    settings.PTRS.TimeDensity, settings.PTRS.REOffset = time_density, offset
    settings.PTRS.FrequencyDensity = frequency_density
    carrier.NSlot = 3
    config = nr.PdschConfig(
        carrier=nr.Carrier(n_size_grid=51), prb_start=10, num_prb=31, n_rnti=rnti,
        dmrs=nr.Dmrs(additional_position=1, config_type=config_type, n_id=(20, 0)),
        ptrs=nr.Ptrs(time_density=time_density, frequency_density=frequency_density,
                     resource_element_offset=offset))
    found = nr.ptrs_symbols(config, 3)
    places = 612 * found.symbols[:, None] + found.subcarriers
    np.testing.assert_array_equal(places.ravel(), py3gpp.nrPDSCHPTRSIndices(carrier, settings))
    np.testing.assert_allclose(found.values.ravel(), py3gpp.nrPDSCHPTRS(carrier, settings),
                               atol=1e-6)


@pytest.mark.parametrize("prbs", [24, 45])
def test_pi2_bpsk_equals_that_of_py3gpp(prbs):
    """Rate matching, size, modulation and transform precoding, up to the grid."""
    config = ours(prbs, transform_precoding=True, tp_pi2bpsk=True, mcs=nr.Mcs(index=1))
    word = nr.codeword(config)
    assert word.tb_size == py3gpp.nrTBS("pi/2-BPSK", 1, prbs, 12 * 13, word.target_coderate)
    bits = np.random.default_rng(prbs).integers(0, 2, word.tb_size)
    blocks = py3gpp.nrCodeBlockSegmentLDPC(py3gpp.nrCRCEncode(bits, "16"), word.base_graph)
    sent = py3gpp.nrRateMatchLDPC(py3gpp.nrLDPCEncode(blocks, word.base_graph),
                                  word.num_coded_bits, 0, "pi/2-BPSK", 1)
    scrambled = sent.astype(int) ^ py3gpp.nrPRBS(word.c_init, sent.size).astype(int)
    symbols = np.array(py3gpp.nrSymbolModulate(scrambled, "pi/2-BPSK"))
    grid = nr.PuschTransmitter(config).grids(bits[None].astype(np.uint8), [SLOT])[0, 0]
    with_data = np.delete(np.arange(14), 2)
    np.testing.assert_allclose(grid[with_data].ravel(), py3gpp.nrTransformPrecode(symbols, prbs),
                               atol=1e-5)


def test_size_without_cap():
    """More than 156 resource elements per PRB do not count: TS 38.214 §5.1.3.2."""
    config = ours(10, symbol_allocation=(0, 14), dmrs=nr.Dmrs(num_cdm_groups_without_data=1))
    assert nr.resources(config).num_data == 162 * 10
    assert nr.codeword(config).tb_size == transport_block_size(1560, 2, 679 / 1024, 1)
