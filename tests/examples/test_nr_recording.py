# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recording of 5G NR slots: the command finds what examples/recordings/make_nr.py sent."""

import json
from dataclasses import replace

import numpy as np
import pytest
from commands import invoke
from gnuradio.mimopack import nr, recording, schemas
from jsonschema import Draft202012Validator
from source_tree import ROOT

PATH = ROOT / "examples/recordings/nr_2rx.sigmf-meta"
CONFIG = PATH.with_name("nr_2rx.json")
SENT = json.loads(CONFIG.read_text())["tb_sent"]


def decoded(path, tmp_path, *options):
    output = tmp_path / "blocks.json"
    result = invoke("nr", path, "--config", CONFIG, "--json", output, *options)
    assert result.exit_code == 0, result.output
    blocks = json.loads(output.read_text())
    assert not list(Draft202012Validator(schemas.load("nr")).iter_errors(blocks))
    return blocks, result.output


def test_it_is_small_and_labelled_simulated():
    assert PATH.with_suffix(".sigmf-data").stat().st_size < 150_000
    reader = recording.Reader(PATH, verify=True)
    assert reader.global_info["mimopack:simulated"] is True
    assert reader.global_info["core:description"].startswith("SIMULATED")


def test_the_command_decodes_all_blocks(tmp_path):
    blocks, text = decoded(PATH, tmp_path)
    assert [(block["slot"], block["user"]) for block in blocks] == [
        (slot, user) for slot in (4, 5, 6, 7) for user in (0, 1)]
    assert all(block["crc_ok"] for block in blocks)
    assert [block["tb"] for block in blocks] == [SENT[user][slot] for slot in range(4)
                                                 for user in range(2)]
    assert "   1        4     4 " in text


def test_the_number_of_the_first_slot_is_found(tmp_path):
    settings = json.loads(CONFIG.read_text())
    del settings["slot_numbers"]
    other, output = tmp_path / "nr.json", tmp_path / "out.json"
    other.write_text(json.dumps(settings))
    result = invoke("nr", PATH, "--config", other, "--json", output)
    assert result.exit_code == 0, result.output
    assert [(block["slot"], block["crc_ok"]) for block in json.loads(output.read_text())] == [
        (slot, True) for slot in (4, 5, 6, 7) for _ in range(2)]


@pytest.mark.parametrize("name", ["nr_2rx", "nr_2rx.sigmf-data"])
def test_a_recording_has_several_names(tmp_path, name):
    assert decoded(PATH.with_name(name), tmp_path) == decoded(PATH, tmp_path)


def test_a_missing_recording_is_refused(tmp_path):
    result = invoke("nr", tmp_path / "no", "--config", CONFIG)
    assert (result.exit_code, "Error: no recording" in result.output) == (2, True)


@pytest.mark.parametrize(("sent", "given"), [(3.5e9, None), (None, 3.5e9), (3.5e9, 2.6e9)])
def test_the_phase_of_the_carrier_is_found(tmp_path, sent, given):
    config = nr.PuschConfig(carrier=nr.Carrier(n_size_grid=12, carrier_frequency_hz=sent))
    rng, transmitter = np.random.default_rng(1), nr.PuschTransmitter(config)
    samples = transmitter.samples(rng.integers(0, 2, (2, transmitter.tb_size), np.uint8))
    samples = samples + rng.normal(0, 0.05, (*samples.shape, 2)) @ [1, 1j]
    recording.write(tmp_path / "nr", samples, nr.Ofdm(config.carrier).sample_rate, frequency=3.5e9)
    config = replace(config, carrier=replace(config.carrier, carrier_frequency_hz=given))
    (tmp_path / "nr.json").write_text(json.dumps(config.to_json()))
    result = invoke("nr", tmp_path / "nr", "--config", tmp_path / "nr.json")
    assert result.exit_code == 0
    assert (f"with the carrier_frequency_hz {json.dumps(given)}, but with {json.dumps(sent)}: "
            in result.output)
    assert "   0        2     2 " in result.output


def test_users_that_are_lost_get_a_hint(tmp_path):
    settings = json.loads(CONFIG.read_text())
    settings["users"][1]["n_rnti"] = 1
    (tmp_path / "nr.json").write_text(json.dumps(settings))
    result = invoke("nr", PATH, "--config", tmp_path / "nr.json")
    assert result.exit_code == 0
    assert "No transport block of user 1 was decoded. Check n_rnti" in result.output


def test_the_hint_knows_whether_the_dmrs_are_there(tmp_path):
    settings, other = json.loads(CONFIG.read_text()), tmp_path / "nr.json"
    for user in settings["users"]:
        user["n_rnti"] += 9
    other.write_text(json.dumps(settings))
    result = invoke("nr", PATH, "--config", other)
    assert (result.exit_code, "but the DMRS were found" in result.output) == (1, True)


@pytest.mark.parametrize(("spec", "allowed"), [
    ("nvay", "allowed are auto, zf, "), ("kbest:kk=8", "allowed are k, llr_clip, device, isa\n")])
def test_a_wrong_detector_is_refused(spec, allowed):
    result = invoke("nr", PATH, "--config", CONFIG, "--detector", spec)
    assert (result.exit_code, allowed in result.output) == (2, True), result.output


def test_another_number_of_antennas_is_refused():
    result = invoke("nr", PATH, "--config", CONFIG, "--channels", 4)
    assert (result.exit_code, "its metadata say 2 channels" in result.output) == (2, True)


@pytest.mark.parametrize(("options", "first"), [((), 4), (("--start", "900"), 7)])
def test_a_wrong_slot_number_counts_only_with_a_start(tmp_path, options, first):
    result = invoke("nr", PATH, "--config", CONFIG, "--slot", "7", *options)
    assert result.output.startswith(f"slot    {first}  user 0")
    assert result.exit_code == (first != 4)


def test_a_linear_detector_loses_user_0(tmp_path):
    blocks, text = decoded(PATH, tmp_path, "--detector", "mmse", "--quiet")
    assert not any(block["crc_ok"] for block in blocks if block["user"] == 0)
    assert {block["detector"] for block in blocks} == {"mmse"}
    assert text.splitlines()[0].split() == ["user", "decoded", "sent", "mean", "SNR", "/", "dB"]


def test_raw_samples_and_grids(tmp_path):
    samples = recording.Reader(PATH).read()
    raw = tmp_path / "nr.cf32"
    samples.T.copy().tofile(raw)
    blocks, _ = decoded(PATH, tmp_path)
    message = invoke("nr", raw, "--config", CONFIG).output
    assert "the sample rate is unknown: give --rate, or time_domain.sample_rate_hz" in message
    assert decoded(raw, tmp_path, "--rate", "7.68M", "--channels", 2)[0] == blocks
    settings = json.loads(CONFIG.read_text())
    ofdm = nr.Ofdm(nr.load_users(settings)[0].carrier)
    settings["time_domain"] = {"sample_rate_hz": ofdm.sample_rate, "num_antennas": 2}
    other = tmp_path / "nr.json"
    other.write_text(json.dumps(settings))
    output = tmp_path / "out.json"
    result = invoke("nr", raw, "--config", other, "--json", output)
    assert result.exit_code == 0, result.output
    assert [block["tb"] for block in json.loads(output.read_text())] == [
        block["tb"] for block in blocks]
    begin = nr.synchronise(samples, ofdm, nr.PuschReceiver(
        nr.load_users(settings), 2).known_symbols, 4).start
    grids = tmp_path / "nr.npz"
    np.savez(grids, grid=ofdm.demodulate(samples[:, begin:], 4, early=4))
    assert all(block["crc_ok"] for block in decoded(grids, tmp_path)[0])


@pytest.mark.parametrize(("text", "message"), [
    ("{", "--config"), ('{"carrier": {"n_cell_id": 2000}}', "n_cell_id: got 2000")])
def test_a_wrong_configuration_is_refused(tmp_path, text, message):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    result = invoke("nr", PATH, "--config", path)
    assert result.exit_code == 2
    assert message in result.output


def test_a_wrong_sample_rate_is_refused(tmp_path):
    raw = tmp_path / "nr.cf32"
    recording.open_recording(PATH).read().T.astype(np.complex64).tofile(raw)
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(json.loads(CONFIG.read_text()) | {
        "time_domain": {"num_antennas": 2, "sample_rate_hz": 130 * 30e3}}))
    result = invoke("nr", raw, "--config", path)
    assert result.exit_code == 2
    assert "got 3.9e+06 samples per second, must be a multiple of 3.84e+06" in result.output
    assert "resample first" in result.output


@pytest.mark.parametrize(("numbers", "message"), [
    (4, "slot_numbers: got type int64 of shape ()"), ([-1], "slot_numbers: got -1"),
    ([25], "slot_numbers: got 25, allowed are 0 to 19")])
def test_wrong_slot_numbers_are_refused(tmp_path, numbers, message):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(json.loads(CONFIG.read_text()) | {"slot_numbers": numbers}))
    result = invoke("nr", PATH, "--config", path)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(("domain", "message"), [
    ([1], "time_domain: got [1], must be a JSON object"),
    ({"sample_rate": 1}, "time_domain.sample_rate: got an unknown key, similar to sample_rate_hz"),
    ({"sample_rate_hz": "fast"}, "time_domain.sample_rate_hz: got 'fast', must be a number"),
    ({"num_antennas": 0}, "time_domain.num_antennas: got 0, allowed are 1 to 256"),
    ({"sample_rate_hz": 3.84e6}, "got 3.84e+06 samples per second, must be 7.68e+06 or more"),
    ({"sample_rate_hz": 30.72e6}, "antennas: got 1, must be 2 or more")])
def test_a_wrong_description_of_samples_is_refused(tmp_path, domain, message):
    raw, path = tmp_path / "nr.cf32", tmp_path / "wrong.json"
    np.zeros(5000, np.complex64).tofile(raw)
    path.write_text(json.dumps(json.loads(CONFIG.read_text()) | {"time_domain": domain}))
    result = invoke("nr", raw, "--config", path, "-d", "mmse")
    assert result.exit_code == 2
    assert message in result.output


def test_wrong_grids_are_refused(tmp_path):
    path, config = tmp_path / "nr.npz", tmp_path / "nr.json"
    config.write_text(json.dumps({"slot_numbers": [1, 2]}))
    for content, message in (
            (lambda: path.write_bytes(b"no file"), f"{path}: "),
            (lambda: path.write_bytes(b"PK\x03\x04no file"), f"{path}: "),
            (lambda: np.savez(path, other=1), "got no array grid"),
            (lambda: np.savez(path, grid=np.zeros((4, 1, 14, 612))),
             "slot_numbers: got 2, must be 4, one for each slot of")):
        content()
        result = invoke("nr", path, "--config", config)
        assert (result.exit_code, message in result.output) == (2, True), result.output


def test_slots_of_zeros_are_lost(tmp_path):
    path, output = tmp_path / "nr.npz", tmp_path / "out.json"
    (tmp_path / "nr.json").write_text("{}")
    np.savez(path, grid=np.zeros((2, 1, 14, 612)))
    result = invoke("nr", path, "--config", tmp_path / "nr.json", "--json", output)
    assert result.exit_code == 1
    assert [block["snr_db"] for block in json.loads(output.read_text())] == [-100, -100]
    assert "SNR -\n" in result.output
    assert "   0        0     2              -\nNo transport block was decoded." in result.output


@pytest.mark.parametrize("num_layers", [2, 6])
def test_a_downlink_slot_is_decoded(tmp_path, num_layers):
    """There are two codewords with more than four layers."""
    rng = np.random.default_rng(1)
    config = nr.PdschConfig(carrier=nr.Carrier(n_size_grid=12), num_layers=num_layers,
                            mcs=nr.Mcs(index=5), dmrs=nr.Dmrs(length=2))
    transmitter = nr.PdschTransmitter(config)
    bits = [rng.integers(0, 2, (1, size), np.uint8) for size in transmitter.tb_sizes]
    grid = transmitter.grids(bits[0] if num_layers == 2 else bits, [3])
    np.savez(tmp_path / "slot.npz", grid=grid + rng.normal(0, 0.03, (*grid.shape, 2)) @ [1, 1j])
    (tmp_path / "slot.json").write_text(json.dumps(config.to_json() | {"slot_numbers": [3]}))
    result = invoke("nr", tmp_path / "slot.npz", "--config", tmp_path / "slot.json", "--json",
                    tmp_path / "blocks.json")
    assert result.exit_code == 0, result.output
    blocks = json.loads((tmp_path / "blocks.json").read_text())
    assert not list(Draft202012Validator(schemas.load("nr")).iter_errors(blocks))
    assert [bytes.fromhex(block["tb"]) for block in blocks] == [
        np.packbits(word[0]).tobytes() for word in bits]
    assert all((block["slot"], block["crc_ok"]) == (3, True) for block in blocks)
    codewords = [0, 1] if num_layers == 6 else [None]
    assert [block.get("codeword") for block in blocks] == codewords
    assert ("codeword 1" in result.output) == (num_layers == 6)
