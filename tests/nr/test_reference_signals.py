# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions and values of DMRS, PT-RS and data equal an independent reading of TS 38.211."""

import nr_oracle
import numpy as np
import pytest
from gnuradio.mimopack import nr
from gnuradio.mimopack.nr.low_papr import low_papr_sequence

pytestmark = pytest.mark.quick

CARRIER = nr.Carrier(n_cell_id=77, subcarrier_spacing_khz=30, n_size_grid=10, n_start_grid=3)


def pusch(**settings):
    dmrs = nr.Dmrs(**settings.pop("dmrs", {}))
    return nr.PuschConfig(**{"carrier": CARRIER, "n_start_bwp": 4, "n_size_bwp": 8, "prb_start": 1,
                             "num_prb": 6, "n_rnti": 1003, "dmrs": dmrs, **settings})


CONFIGS = {
    "type 1": pusch(num_layers=4),
    "type 1, later in the grid": pusch(prb_start=3, num_prb=5, dmrs={"n_id": (9, 65535)}),
    "type 1, second identity": pusch(dmrs={"n_id": (9, 65535), "n_scid": 1}),
    "type 1, data beside DMRS": pusch(num_layers=2, dmrs={"num_cdm_groups_without_data": 1}),
    "type 1, double": pusch(num_layers=3, dmrs_ports=(1, 4, 7), dmrs={
        "length": 2, "additional_position": 1, "type_a_position": 3}),
    "type 2": pusch(num_layers=3, dmrs_ports=(0, 3, 5), dmrs={
        "config_type": 2, "num_cdm_groups_without_data": 3, "additional_position": 3}),
    "type 2, double": pusch(num_layers=4, dmrs_ports=(2, 6, 9, 11), dmrs={
        "config_type": 2, "num_cdm_groups_without_data": 3, "length": 2}),
    "mapping B": pusch(mapping_type="B", symbol_allocation=(3, 7), dmrs={"additional_position": 1}),
    "extended prefix": pusch(
        carrier=nr.Carrier(n_cell_id=77, subcarrier_spacing_khz=60, n_size_grid=10, n_start_grid=3,
                           cyclic_prefix="extended"),
        symbol_allocation=(0, 12), dmrs={"additional_position": 2}),
    "list of PRBs": pusch(prb_start=0, num_prb=None, prb_set=(0, 1, 4, 7), num_layers=2,
                          dmrs={"num_cdm_groups_without_data": 1}),
    "PT-RS, list of PRBs": pusch(prb_start=0, num_prb=None, prb_set=(1, 4, 5, 7),
                                 ptrs=nr.Ptrs()),
    "PT-RS": pusch(num_layers=2, ptrs=nr.Ptrs(epre_ratio_db=3), dmrs={"additional_position": 1}),
    "PT-RS, sparse": pusch(num_layers=2, ptrs=nr.Ptrs(
        time_density=4, frequency_density=4, resource_element_offset="11", port=1)),
    "PT-RS, double": pusch(num_layers=2, dmrs_ports=(1, 2), ptrs=nr.Ptrs(
        time_density=2, resource_element_offset="01", port=2), dmrs={
            "length": 2, "additional_position": 1}),
    "PT-RS, type 2": pusch(num_layers=2, dmrs_ports=(3, 5), ptrs=nr.Ptrs(
        time_density=2, resource_element_offset="10"), dmrs={
            "config_type": 2, "num_cdm_groups_without_data": 3, "additional_position": 2}),
}


def pdsch(**settings):
    dmrs = nr.Dmrs(**settings.pop("dmrs", {}))
    return nr.PdschConfig(**{"carrier": CARRIER, "n_start_bwp": 4, "n_size_bwp": 9, "prb_start": 1,
                             "num_prb": 6, "n_rnti": 1003, "dmrs": dmrs, **settings})


CONFIGS |= {
    "PDSCH": pdsch(num_layers=4, symbol_allocation=(2, 12), dmrs={"additional_position": 2}),
    "PDSCH, mapping B": pdsch(mapping_type="B", symbol_allocation=(3, 9), dmrs={
        "additional_position": 1, "n_id": (3, 4), "n_scid": 1}),
    "PDSCH, list of PRBs, type 2": pdsch(prb_start=0, num_prb=None, prb_set=(2, 3, 8),
                                         dmrs={"config_type": 2}),
    "PDSCH, 8 layers": pdsch(num_layers=8, dmrs={"length": 2}),
    "PDSCH, interleaved": pdsch(vrb_to_prb_bundle=2),
    "PDSCH, interleaved by 4, type 2": pdsch(vrb_to_prb_bundle=4, num_layers=2, dmrs_ports=(1, 3),
                                             dmrs={"config_type": 2}),
    "PDSCH, PT-RS": pdsch(num_layers=2, vrb_to_prb_bundle=2, ptrs=nr.Ptrs(port=1)),
}
CHANNELS = {nr.PuschConfig: "pusch", nr.PdschConfig: "pdsch"}
by_name = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def as_elements(reference):
    """Return reference symbols as {(subcarrier, symbol): value}."""
    return {(int(k), int(symbol)): complex(value)
            for symbol, row in zip(reference.symbols, reference.values, strict=True)
            for k, value in zip(reference.subcarriers, row, strict=True)}


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    np.testing.assert_allclose([ours[key] for key in theirs], list(theirs.values()), atol=1e-6)


@by_name
def test_dmrs(config):
    slot = config.carrier.slots_per_frame - 3
    for port in config.dmrs_ports:
        assert_same(as_elements(nr.dmrs_symbols(config, slot, port)),
                    nr_oracle.dmrs(CHANNELS[type(config)], config, slot, port))


@by_name
def test_order_of_data(config):
    places = nr.resources(config)
    elements = list(zip(places.data_subcarriers, places.data_symbols, strict=True))
    assert elements == nr_oracle.data_elements(CHANNELS[type(config)], config)


@pytest.mark.parametrize("config", [config for config in CONFIGS.values() if config.ptrs],
                         ids=[name for name in CONFIGS if "PT-RS" in name])
def test_ptrs(config):
    ours = as_elements(nr.ptrs_symbols(config, 5))
    assert_same(ours, nr_oracle.ptrs(CHANNELS[type(config)], config, 5))
    assert len(ours) >= 4


@pytest.mark.parametrize("make", [pusch, pdsch])
@pytest.mark.parametrize("mapping", "AB")
@pytest.mark.parametrize("length, most", [(1, 3), (2, 1)])
def test_positions_of_dmrs(make, mapping, length, most):
    table = (nr_oracle.SINGLE, nr_oracle.DOUBLE)[length - 1][make.__name__, mapping]
    for count in table:
        for additional in range(most + 1):
            config = make(mapping_type=mapping, symbol_allocation=(0, count),
                          dmrs={"length": length, "additional_position": additional})
            assert list(nr.dmrs_positions(config)) == nr_oracle.l_bars(make.__name__, config)


def test_ports_of_a_group_are_orthogonal():
    config = CONFIGS["type 2, double"]
    for group in range(3):
        ports = [2 * group, 2 * group + 1, 2 * group + 6, 2 * group + 7]
        values = np.array([nr.dmrs_symbols(config, 0, port).values for port in ports])
        pairs = values.reshape(4, 2, -1, 2).transpose(0, 2, 1, 3).reshape(4, -1, 4)
        products = np.einsum("pnk,qnk->npq", pairs, pairs.conj())
        np.testing.assert_allclose(products, np.broadcast_to(12 * np.eye(4), products.shape),
                                   atol=1e-5)


class TestLowPapr:
    @pytest.mark.parametrize("length", [30, 36, 48, 72, 150])
    def test_long_sequences(self, length):
        for u in (0, 13, 29):
            for v in range(1 + (length >= 72)):
                np.testing.assert_allclose(low_papr_sequence(u, v, length),
                                           nr_oracle.low_papr(u, v, length), atol=1e-9)

    @pytest.mark.parametrize("length, peak", [(6, 3.8), (12, 2.9), (18, 2.9), (24, 2.9)])
    def test_short_sequences_have_low_peaks(self, length, peak):
        """Nearly every wrong entry of the tables would give a higher peak, in dB above the mean."""
        sequences = np.array([low_papr_sequence(u, 0, length) for u in range(30)])
        waves = np.fft.ifft(sequences, 16 * length) * 16 * np.sqrt(length)
        assert 10 * np.log10(np.abs(waves).max() ** 2) < peak
        products = np.abs(sequences @ sequences.conj().T) / length
        assert (products - np.eye(30)).max() < 0.9    # no sequence twice

    def config(self, num_prb=12, **dmrs):
        return nr.PuschConfig(carrier=nr.Carrier(n_cell_id=77, n_size_grid=20), num_prb=num_prb,
                              transform_precoding=True, dmrs=nr.Dmrs(**dmrs))

    def test_the_group_is_the_identity(self):
        for config, u in ((self.config(), 77 % 30), (self.config(n_id=(61, 5)), 1)):
            np.testing.assert_allclose(nr.dmrs_sequence(config, 3, 2),
                                       nr_oracle.low_papr(u, 0, 72), atol=1e-9)
        assert nr.dmrs_symbols(self.config(), 3, 0).values[0, 0] == pytest.approx(2**0.5)

    def test_type_2_of_pi2_bpsk(self):
        """Both symbols of double symbols have the sequence of the first."""
        for n_id, n_scid, identity in ((None, 1, 77), ((5, 65535), 1, 65535), ((5, 6), 0, 5)):
            config = nr.PuschConfig(
                carrier=nr.Carrier(n_cell_id=77, n_size_grid=20), transform_precoding=True,
                tp_pi2bpsk=True, num_prb=5, mcs=nr.Mcs(index=0), dmrs=nr.Dmrs(
                    uplink_transform_precoding=True, length=2, n_id=n_id, n_scid=n_scid))
            c_init = (2**17 * (14 * 7 + 2 + 1) * (2 * identity + 1)
                      + 2 * identity + n_scid) % 2**31
            for values in nr.dmrs_symbols(config, 7, 0).values:
                np.testing.assert_allclose(values / np.sqrt(2),
                                           nr_oracle.low_papr_type_2(c_init, 30), atol=1e-5)
            spread = nr.transform_deprecode(nr.dmrs_sequence(config, 7, 2))
            np.testing.assert_allclose(np.abs(spread), 1, atol=1e-5)

    def test_group_hopping(self):
        config = self.config(group_hopping=True)
        for slot, symbol in ((0, 2), (7, 11)):
            c = nr_oracle.gold(77 // 30, 8 * (14 * slot + symbol) + 8)[-8:]
            u = (sum(bit << m for m, bit in enumerate(c)) % 30 + 77) % 30
            np.testing.assert_allclose(nr.dmrs_sequence(config, slot, symbol),
                                       nr_oracle.low_papr(u, 0, 72), atol=1e-9)

    def test_sequence_hopping(self):
        bases = set()
        for slot in range(8):
            v = nr_oracle.gold(77, 14 * slot + 3)[-1]
            np.testing.assert_allclose(
                nr.dmrs_sequence(self.config(sequence_hopping=True), slot, 2),
                nr_oracle.low_papr(77 % 30, v, 72), atol=1e-9)
            np.testing.assert_allclose(
                nr.dmrs_sequence(self.config(num_prb=10, sequence_hopping=True), slot, 2),
                nr_oracle.low_papr(77 % 30, 0, 60), atol=1e-9)
            bases.add(v)
        assert bases == {0, 1}
