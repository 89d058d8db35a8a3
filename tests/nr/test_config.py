# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of 5G NR: JSON, errors that name the field, sizes of transport blocks."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from gnuradio.mimopack import nr
from gnuradio.mimopack.nr.mcs import mcs_entry, transport_block_size

pytestmark = pytest.mark.quick

# With keys that only inform
RECORDED = {
    "name": "two users", "slot_numbers": [1, 8], "frame_number": 3, "tb": {"tb_size": 1}, "no": 0.1,
    "carrier": {"n_cell_id": 430, "subcarrier_spacing_khz": 30, "mu": 1, "n_size_grid": 24,
                "n_start_grid": 0, "cyclic_prefix": "normal"},
    "bwp": {"n_size_bwp": 24, "n_start_bwp": 0},
    "pusch": {"prb_start": 2, "num_prb": 20, "mapping_type": "A", "symbol_allocation": [0, 14],
              "num_layers": 1, "num_antenna_ports": 1, "transmission_scheme": "non-codebook",
              "tpmi": None, "transform_precoding": False, "frequency_hopping": "neither", "rv": 0,
              "lbrm": False, "xoh": 0},
    "users": [{"n_rnti": 40560, "n_id": 12, "n_id_source": "own", "dmrs_ports": [0]},
              {"n_rnti": 57508, "dmrs_ports": [2], "mcs": {"index": 4}, "dmrs": {"n_scid": 1}}],
    "dmrs": {"config_type": 1, "type_a_position": 2, "additional_position": 2, "length": 1,
             "num_cdm_groups_without_data": 2, "n_id": None, "n_scid": 0, "beta_dmrs": 1.414,
             "dmrs_symbols": [2, 7, 11], "n_id_note": "null is n_cell_id"},
    "mcs": {"table": 1, "index": 15}}


def test_users_of_a_recording():
    first, second = nr.load_users(RECORDED)
    assert (first.n_rnti, first.n_id, first.dmrs_ports) == (40560, 12, (0,))
    assert (second.n_rnti, second.n_id, second.dmrs_ports) == (57508, 430, (2,))
    assert (first.constellation, second.constellation) == ("qam16", "qpsk")
    assert (first.dmrs.n_scid, second.dmrs.n_scid) == (0, 1)
    assert list(first.prbs) == list(range(2, 22)) and first.symbol_allocation == (0, 14)
    assert nr.PuschConfig.from_json(RECORDED, user=1) == second


def test_json_comes_back():
    for config in (*nr.load_users(RECORDED), nr.PuschConfig(prb_set=[1, 2, 7]), nr.PuschConfig(
            ptrs=nr.Ptrs(port=1), num_layers=2, rv=3, lbrm=True, transmission_scheme="codebook",
            num_antenna_ports=4, tpmi=16, dmrs=nr.Dmrs(n_id=(1, 2)),
            mcs=nr.Mcs(modulation_order=8, target_coderate_x1024=682.5)), nr.PdschConfig(
                num_layers=6, second_mcs=nr.Mcs(index=3), dmrs=nr.Dmrs(length=2))):
        data = json.loads(json.dumps(config.to_json()))
        assert type(config).from_json(data) == config and nr.load_users(data) == [config]


@pytest.mark.parametrize("make, message", [
    (lambda: nr.Carrier(subcarrier_spacing_khz=20), "subcarrier_spacing_khz: got 20"),
    (lambda: nr.Carrier(cyclic_prefix="extended"), r"cyclic_prefix: .*table 4\.2-1"),
    (lambda: nr.Carrier(n_cell_id=1008), "n_cell_id: got 1008, allowed are 0 to 1007"),
    (lambda: nr.Dmrs(length=2, additional_position=2), r"dmrs\.additional_position: .*6\.4\.1\.1"),
    (lambda: nr.Dmrs(num_cdm_groups_without_data=3), "dmrs.num_cdm_groups_without_data: got 3"),
    (lambda: nr.Dmrs(n_id=(1, 2, 3)), r"dmrs\.n_id: got \(1, 2, 3\), must be a list of 2 integers"),
    (lambda: nr.Ptrs(time_density=3), "ptrs.time_density: got 3"),
    (lambda: nr.Ptrs(num_groups=8), "ptrs.num_groups: got 8, allowed are 2, 4"),
    (lambda: nr.PuschConfig(transform_precoding=True, ptrs=nr.Ptrs(time_density=4), num_prb=10),
     r"ptrs\.time_density: got 4, .*6\.4\.1\.2\.2\.2"),
    (lambda: nr.PuschConfig(transform_precoding=True, num_prb=2, ptrs=nr.Ptrs(
        samples_per_group=4, num_groups=8)), r"ptrs\.num_groups: got 8, .*2 PRBs"),
    (lambda: nr.Mcs(), "mcs.modulation_order: got None"),
    (lambda: nr.PuschConfig(mcs=nr.Mcs(index=29)), "mcs.index: got 29, allowed are 0 to 28"),
    (lambda: nr.PuschConfig(mcs=nr.Mcs(index=3, modulation_order=4, target_coderate_x1024=251)),
     "mcs.index: got 3 with modulation_order = 4 .* table 1 has 2 and 251"),
    (lambda: nr.PuschConfig(num_layers=5), "num_layers: got 5, allowed are 1 to 4"),
    (lambda: nr.PuschConfig(num_prb=52), "num_prb: got 52, allowed are 1 to 51"),
    (lambda: nr.PuschConfig(prb_set=3), "prb_set: got 3, must be a list of integers"),
    (lambda: nr.PuschConfig(prb_set=(3, 51)), "prb_set: got 51, allowed are 0 to 50"),
    (lambda: nr.PuschConfig(prb_set=(3, 2)), r"prb_set: got \(3, 2\), .*ascending"),
    (lambda: nr.PuschConfig(prb_set=(3, 5), prb_start=1), "prb_set: got 2 PRBs from 3 on with prb"),
    (lambda: nr.PuschConfig(prb_set=(3, 5), transform_precoding=True),
     r"prb_set: got \(3, 5\), must be neighbours"),
    (lambda: nr.PuschConfig(symbol_allocation=(1, 13)), r"symbol_allocation: .*6\.1\.2\.1-1"),
    (lambda: nr.PuschConfig(symbol_allocation=(0, 15)), "symbol_allocation: got 15"),
    (lambda: nr.PuschConfig(symbol_allocation=(4, 12), mapping_type="B"),
     r"symbol_allocation: got \(4, 12\), must end within the slot's 14 symbols"),
    (lambda: nr.PuschConfig(num_layers=2, dmrs_ports=(0, 4)),
     "dmrs_ports: got 4, allowed with this DMRS are 0, 1, 2, 3"),
    (lambda: nr.PuschConfig(num_layers=2, dmrs_ports=(1, 1)), "dmrs_ports: .*different ports"),
    (lambda: nr.PuschConfig(num_antenna_ports=2), "num_antenna_ports: got 2, allowed are 1"),
    (lambda: nr.PuschConfig(num_layers=2, transmission_scheme="codebook", tpmi=3),
     "tpmi: got 3, allowed are 0 to 2"),
    (lambda: nr.PuschConfig(num_layers=2, tpmi=1), r"tpmi: got 1, .*6\.3\.1\.5"),
    (lambda: nr.PuschConfig(num_layers=2, transform_precoding=True), r"num_layers: .*6\.1\.1"),
    (lambda: nr.PuschConfig(num_prb=7, transform_precoding=True), r"num_prb: .*6\.3\.1\.4"),
    (lambda: nr.PuschConfig(dmrs=nr.Dmrs(group_hopping=True)), "dmrs.group_hopping"),
    (lambda: nr.PuschConfig(mcs=nr.Mcs(modulation_order=1, target_coderate_x1024=300)),
     r"mcs\.modulation_order: got 1, .*6\.3\.1\.2"),
    (lambda: nr.PuschConfig(num_prb=4, transform_precoding=True, tp_pi2bpsk=True, mcs=nr.Mcs(
        index=1), dmrs=nr.Dmrs(uplink_transform_precoding=True)), r"num_prb: got 4, .*5\.2\.3"),
    (lambda: nr.PuschConfig(dmrs=nr.Dmrs(type_a_position=3, additional_position=3)),
     "dmrs.additional_position: got 3"),
    (lambda: nr.PuschConfig(dmrs=nr.Dmrs(length=2), dmrs_ports=(4,), ptrs=nr.Ptrs()),
     r"ptrs: got .*6\.2\.3"),
    (lambda: nr.PdschConfig(num_layers=9), "num_layers: got 9, allowed are 1 to 8"),
    (lambda: nr.PdschConfig(num_layers=8), "dmrs_ports: got 4, allowed with this DMRS"),
    (lambda: nr.PdschConfig(second_rv=1), r"second_rv: got 1, .*7\.3\.1\.3"),
    (lambda: nr.PdschConfig(second_mcs=nr.Mcs(index=1)), "second_mcs: got "),
    (lambda: nr.PdschConfig(vrb_to_prb_bundle=3), "vrb_to_prb_bundle: got 3"),
    (lambda: nr.PdschConfig(symbol_allocation=(3, 5)), r"symbol_allocation: .*5\.1\.2\.1-1"),
    (lambda: nr.PdschConfig(mapping_type="B"), r"symbol_allocation: got 14 .*7\.4\.1\.1\.2"),
    (lambda: nr.load_users({"pusch": {"frequency_hopping": "intraSlot"}}),
     "frequency_hopping: got 'intraSlot', must be 'neither'"),
    (lambda: nr.PuschConfig(dmrs_ports=1), "dmrs_ports: got 1, must be a list of integers"),
    (lambda: nr.PuschConfig(num_layers=2, dmrs_ports=(0,)),
     r"dmrs_ports: got \(0,\), must be one port for each of num_layers = 2 layers"),
    (lambda: nr.PuschConfig(mcs=15), "mcs: got 15, must be a Mcs"),
    (lambda: nr.PuschConfig(ptrs=True), "ptrs: got True, must be a Ptrs"),
    (lambda: nr.Carrier(carrier_frequency_hz=float("nan")), "carrier_frequency_hz: got nan, must"),
    (lambda: nr.PuschConfig(symbol_allocation=(0, 14, 2)), "symbol_allocation: .*list of 2"),
    (lambda: nr.load_users([1]), "configuration: got .*must be a dictionary"),
    (lambda: nr.load_users({"users": []}), "users: got .*must be a list"),
    (lambda: nr.load_users({"users": [1]}), "users: got 1, must be a dictionary"),
    (lambda: nr.load_users({"carrier": [1]}), "carrier: got .*must be a dictionary"),
    (lambda: nr.load_users({"pusch": {"num_layer": 2}}),
     r"pusch\.num_layer: is no key of pusch, allowed are lbrm, .*num_layers, "),
    (lambda: nr.load_users({"dmrs": {"typ": 2}}), r"dmrs\.typ: .*allowed are additional_position"),
    (lambda: nr.load_users({"bwp": {"size": 2}}), r"bwp\.size: "),
    (lambda: nr.load_users({"mcs": {"indx": 2}}), r"mcs\.indx: "),
    (lambda: nr.load_users({"ptrs": {"density": 2}}), r"ptrs\.density: "),
    (lambda: nr.load_users({"users": [{"mcs": {"tabel": 2}}]}), r"mcs\.tabel: "),
    (lambda: nr.load_users({"pdsch": {"tpmi": 2}}), r"pdsch\.tpmi: "),
    (lambda: nr.load_users({"pucsh": {}}), "pucsh: got an unknown key, similar to pusch; allowed"),
    (lambda: nr.load_users({"users": [{"n_rntis": 2}]}), r"users\.n_rntis: .*similar to n_rnti;"),
    (lambda: nr.load_users({"users": [{"dmrs_port": [2]}]}), r"users\.dmrs_port: .*dmrs_ports;"),
    (lambda: nr.load_users({"n_rnti": 7}), "n_rnti: got 7, belongs to an entry of users"),
    (lambda: nr.load_users({"n_cell_id": 7}), "n_cell_id: got 7, belongs to carrier"),
    (lambda: nr.load_users({"users": [{"num_layers": 2}]}),
     r"users\.num_layers: got 2, belongs to pusch"),
    (lambda: nr.load_users({"users": [{"mcs_index": 2}]}),
     r"users\.mcs_index: got 2, belongs to mcs, as index"),
    (lambda: nr.load_users({"users": [{"pdsch": {}}]}), r"users\.pdsch: must be users\.pusch"),
    (lambda: nr.load_users({"pusch": {}, "pdsch": {}}), "pusch, pdsch: got both")])
def test_an_error_names_the_field(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_keys_that_do_no_harm_are_ignored():
    more = {"pucch": {}, "pdcch": {}, "slot_numbers_note": "x", "time_domain_note": "x", "note": 1,
            "_comment": 2, "carrier_hz": 3e9, "carrier_id": 2, "time_domain_data": 1, "n_users": 2,
            "num_layers": 1, "n_cell_id": 430, "mcs_index": 15, "tpmi": None, "pdsch": None}
    changed = {**RECORDED, **more, "mcs": {**RECORDED["mcs"], "note": "x", "_by": "x"}}
    changed["users"] = [{**user, "c_rnti": 3, "dmrs_ports_note": "x"} for user in changed["users"]]
    del changed["users"][1]["mcs"]    # which would contradict mcs_index
    first, second = nr.load_users(changed)
    assert [first, second] == [nr.load_users(RECORDED)[0], replace(
        nr.load_users(RECORDED)[1], mcs=first.mcs)]


def test_dmrs_ports_may_be_an_array():
    assert nr.PuschConfig(num_layers=2, dmrs_ports=np.array([2, 0])).dmrs_ports == (2, 0)


def test_users_of_one_kind():
    uplink, downlink = nr.PuschConfig(), nr.PdschConfig()
    for config, kind in (([uplink, downlink], None), (downlink, nr.PuschConfig),
                         ({"pdsch": {}}, nr.PuschConfig)):
        with pytest.raises(ValueError, match="config: got a PdschConfig for user ., must be a Pus"):
            nr.read_users(config, kind)
    with pytest.raises(ValueError, match="must be a PuschConfig"):
        nr.PuschTransmitter(downlink)
    with pytest.raises(ValueError, match="config: got 2 users, must be one"):
        nr.PuschTransmitter([uplink, uplink])
    assert nr.PdschTransmitter({"pdsch": {}}).config == downlink


def test_modulation_and_rate():
    """Rows of TS 38.214 tables 5.1.3.1-1 to -3 and 6.1.4.1-1 and -2, the last of each table too."""
    assert [mcs_entry(1, i) for i in (0, 9, 10, 16, 17, 28)] == [
        (2, 120), (2, 679), (4, 340), (4, 658), (6, 438), (6, 948)]
    assert [mcs_entry(2, i) for i in (4, 5, 19, 20, 27)] == [
        (2, 602), (4, 378), (6, 873), (8, 682.5), (8, 948)]
    assert [mcs_entry(3, i) for i in (0, 14, 15, 21, 28)] == [
        (2, 30), (2, 602), (4, 340), (6, 438), (6, 772)]
    assert [mcs_entry(1, i, True) for i in (0, 2, 10, 17, 27)] == [
        (2, 120), (2, 193), (4, 340), (6, 466), (6, 948)]
    assert [mcs_entry(3, i, True) for i in (0, 15, 16, 24, 27)] == [
        (2, 30), (2, 679), (4, 378), (6, 567), (6, 772)]
    assert [mcs_entry(1, i, True, True) for i in (0, 1, 2)] == [(1, 240), (1, 314), (2, 193)]
    assert [mcs_entry(3, i, True, True) for i in (0, 5, 6)] == [(1, 60), (1, 198), (2, 120)]
    assert mcs_entry(2, 0, True, True) == (2, 120) == mcs_entry(1, 0, False, True)


@pytest.mark.parametrize("elements, order, rate, layers, size", [
    # By hand, from TS 38.214 §5.1.3.2. N_info = 42.2, n = 3, N' = 40
    (180, 2, 120 / 1024, 1, 40),
    # N_info = 3840, n = 6, N' = 64 * round(59.6) = 3840, C = 1, 8 * 483 - 24
    (1920, 4, 0.5, 1, 3840),
    # R <= 1/4: N_info = 12701.8, n = 8, N' = 256 * round(49.5) = 12800, C = 4, 32 * 401 - 24
    (108 * 156, 2, 193 / 1024, 2, 12808),
    # N_info = 1261670, n = 15, N' = 32768 * round(38.5) = 1277952, C = 152, 1216 * 1051 - 24
    (273 * 156, 8, 948 / 1024, 4, 1277992)])
def test_size_of_a_transport_block(elements, order, rate, layers, size):
    assert transport_block_size(elements, order, rate, layers) == size


@pytest.mark.parametrize("config_class, prefix", [
    (nr.Carrier, ""), (nr.Dmrs, "dmrs."), (nr.Ptrs, "ptrs."), (nr.Mcs, "mcs."),
    (nr.PuschConfig, ""), (nr.PdschConfig, "")])
def test_error_of_each_field_names_it_and_its_clause(config_class, prefix):
    """Other parts of a configuration are objects, whose errors are their own."""
    names = {field.name for field in fields(config_class)} - {
        "carrier", "dmrs", "ptrs", "mcs", "second_mcs"}
    needed = {"tpmi": {"num_layers": 2, "transmission_scheme": "codebook"},
              "second_rv": {"num_layers": 5, "dmrs": nr.Dmrs(length=2)},
              "target_coderate_x1024": {"modulation_order": 2}}
    for name in names:
        settings = {name: "wrong", **needed.get(name, {})}
        with pytest.raises(ValueError, match=rf"^{prefix}{name}: got 'wrong'.*\(TS 38\.21\d "):
            if config_class in (nr.Ptrs, nr.Mcs):
                nr.PuschConfig(**{prefix.strip("."): config_class(**settings)})
            else:
                config_class(**settings)
