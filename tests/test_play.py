# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack play and the demo's recording: golden output, counts against the truth, messages."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors, ofdm, recording
from gnuradio.mimopack.apps import play as play_module
from gnuradio.mimopack.apps.pictures import equalise
from gnuradio.mimopack.apps.play import play, play_command
from gnuradio.mimopack.apps.playback import Playback
from gnuradio.mimopack.apps.tally import Tally, Truth

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "recordings"
DEMO = FOLDER / "mimo_4x4_qam16"


def _script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def golden():
    return json.loads(DEMO.with_name(DEMO.name + ".golden.json").read_text())


@pytest.fixture(autouse=True)
def _short_timing(monkeypatch):
    monkeypatch.setattr(play_module, "_TIMED_SECONDS", 0.0)
    monkeypatch.setattr(play_module, "_DETECTOR_SECONDS", 0.0)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Eight frames at 17 and 30 dB: some are lost, some are not."""
    path = tmp_path_factory.mktemp("small") / "small"
    result = CliRunner().invoke(_script("make_capture").main, [
        "--output", str(path), "--frames", "8", "--snr", "17", "--snr", "30", "--seed", "3"])
    assert result.exit_code == 0, result.output
    return path


def _tally(path, detector):
    reader = recording.Reader(path)
    parameters = ofdm.Parameters(**recording.read_format(reader.global_info))
    truth = Truth(recording.read_frames(reader.annotations), ofdm.Transmitter(parameters))
    tally = Tally(detector, truth)
    Playback(reader, parameters).decode(detector, tally.add_packet, tally.add_frame)
    return tally


@pytest.mark.parametrize("detector", ["zf", "mmse", "nway", "mla"])
def test_the_demo_recording_gives_its_golden_output(golden, detector):
    tally = _tally(DEMO, detector)
    assert len(tally.lines) == len(golden["frames"])
    expected = golden["detectors"][detector]
    for index, (line, frame) in enumerate(zip(tally.lines, golden["frames"], strict=True)):
        assert line.start == frame["start"]
        assert line.cfo == pytest.approx(frame["cfo"], abs=5)
        assert line.snr_db == pytest.approx(frame["snr_db"], abs=0.05)
        assert line.condition_db == pytest.approx(frame["condition_db"], abs=0.05)
        # make_golden.py says when rounding could turn a CRC.
        if index not in expected["borderline"]:
            assert line.crc_ok == (expected["crc_ok"][index] == "1"), f"frame {index}"
    # Each packet whose CRC fits is what was sent.
    assert tally.summary()["packets_decoded"] == sum(line.crc_ok for line in tally.lines)


def test_nway_and_mla_decode_what_mmse_loses(golden):
    clear = {}
    for name, result in golden["detectors"].items():
        clear[name] = [ok if index not in result["borderline"] else None
                       for index, ok in enumerate(result["crc_ok"])]
    for name in ("nway", "mla"):
        gained = sum(a == "1" and b == "0"
                     for a, b in zip(clear[name], clear["mmse"], strict=True))
        assert gained >= 15


def test_the_demo_recording_is_what_its_script_makes(tmp_path):
    result = CliRunner().invoke(_script("make_capture").main, ["--output", str(tmp_path / "r")])
    assert result.exit_code == 0, result.output
    made, stored = recording.Reader(tmp_path / "r"), recording.Reader(DEMO, verify=True)
    # Another machine's mathematics library may turn a rounding.
    assert np.abs(made.read() - stored.read()).max() <= 1.5 / 32768
    assert made.annotations == stored.annotations
    assert "SIMULATED" in stored.global_info["core:description"]
    assert stored.global_info["mimopack:simulated"] is True
    assert sum(path.stat().st_size for path in FOLDER.glob(f"{DEMO.name}*")) < 4e6


def test_equal_options_give_equal_bytes(small, tmp_path):
    CliRunner().invoke(_script("make_capture").main, [
        "--output", str(tmp_path / "again"), "--frames", "8", "--snr", "17", "--snr", "30",
        "--seed", "3"])
    for extension in (".sigmf-data", ".sigmf-meta"):
        again = (tmp_path / f"again{extension}").read_bytes()
        assert again == small.with_name(f"small{extension}").read_bytes()


def test_a_capture_that_exists_stays_unless_overwriting_is_asked_for(tmp_path):
    make = ["--output", str(tmp_path / "r"), "--frames", "1", "--snr", "30", "--seed"]
    data = tmp_path / "r.sigmf-data"
    assert CliRunner().invoke(_script("make_capture").main, [*make, "1"]).exit_code == 0
    before = data.read_bytes()
    result = CliRunner().invoke(_script("make_capture").main, [*make, "2"])
    assert result.exit_code == 1
    assert "exists" in result.output and "--overwrite" in result.output
    assert data.read_bytes() == before
    assert CliRunner().invoke(_script("make_capture").main,
                              [*make, "2", "--overwrite"]).exit_code == 0
    assert data.read_bytes() != before
    data.unlink()  # what is left has lost its samples
    assert CliRunner().invoke(_script("make_capture").main, [*make, "1"]).exit_code == 0
    assert data.read_bytes() == before


def test_counts_are_those_of_the_array_interface(small):
    reader = recording.Reader(small)
    parameters = ofdm.Parameters(**recording.read_format(reader.global_info))
    truth = recording.read_frames(reader.annotations)
    sync = ofdm.FrameSync(parameters, 4)
    estimator, decoder = ofdm.ChannelEstimator(parameters, 4), ofdm.PacketDecoder(parameters)
    transmitter = ofdm.Transmitter(parameters)
    tally = _tally(small, "mmse")
    detector = detectors.MMSE(4, 4, "wlan_qam16")
    errors, decoded, payload_errors = 0, 0, 0
    frames = [*sync.process(reader.read()), *sync.finish()]
    for frame, sent in zip(frames, truth, strict=True):
        estimate = estimator.estimate(ofdm.to_subcarriers(frame.symbols))
        llr = detector.detect(estimate.y, estimate.h, estimate.noise_var)
        packet = decoder.decode(llr)
        errors += np.count_nonzero((llr > 0) != transmitter.coded_bits(sent.payload))
        decoded += packet.payload == sent.payload
        wrong = np.frombuffer(packet.payload, np.uint8) ^ np.frombuffer(sent.payload, np.uint8)
        payload_errors += np.unpackbits(wrong).sum()
    summary = tally.summary()
    assert 0 < decoded < len(truth)
    assert (summary["packets_sent"], summary["packets_found"]) == (8, 8)
    assert summary["packets_decoded"] == decoded
    assert summary["packet_error_rate"] == pytest.approx(1 - decoded / 8)
    bits = 8 * parameters.num_items * 16
    assert summary["bit_error_rate_before_decoding"] == pytest.approx(errors / bits, abs=20 / bits)
    assert summary["bit_error_rate_after_decoding"] == pytest.approx(
        payload_errors / (8 * 4000), rel=0.1)


def test_without_annotations_errors_are_counted_against_decoded_packets(small, tmp_path):
    reader = recording.Reader(small)
    fields = recording.format_fields(**recording.read_format(reader.global_info))
    bare = recording.write(tmp_path / "bare", reader.read(), 20e6, fields=fields)
    known = _tally(small, "nway")
    unknown = _tally(bare, "nway").summary()
    assert unknown["packets_sent"] is None
    assert unknown["packets_decoded"] == known.summary()["packets_decoded"]
    assert unknown["packet_error_rate_of"] == "found"
    assert unknown["bit_error_rate_against"] == "decoded packets encoded again"
    assert unknown["bit_error_rate_after_decoding"] is None
    # The same errors as against the truth, over the packets that were decoded.
    errors = bits = 0
    for frame, line in zip(known.kept, known.lines, strict=True):
        if line.crc_ok:
            errors += np.count_nonzero((frame.llr > 0) != frame.bits)
            bits += frame.bits.size
    assert unknown["bit_error_rate_before_decoding"] == pytest.approx(errors / bits, rel=0.1)


def test_timing_plays_the_recording_as_often_as_asked(small):
    reader = recording.Reader(small)
    parameters = ofdm.Parameters(**recording.read_format(reader.global_info))
    samples, seconds = Playback(reader, parameters).time("mmse", 2.6 * reader.num_samples)
    assert samples == 3 * reader.num_samples
    assert seconds > 0


@pytest.mark.parametrize("broken", [0, 1])
def test_an_error_while_listening_ends_the_flowgraph_and_is_raised(small, broken):
    def fail(*_):
        raise RuntimeError("cannot listen")

    listeners = [lambda *_: None] * 2
    listeners[broken] = fail
    reader = recording.Reader(small)
    parameters = ofdm.Parameters(**recording.read_format(reader.global_info))
    with pytest.raises(RuntimeError, match="cannot listen"):
        Playback(reader, parameters).decode("mmse", *listeners)


def _packet(start, crc_ok, **more):
    return {"frame": 0, "start": start, "cfo": 0.0, "snr_db": 20.0, "condition_db": 10.0,
            "crc_ok": crc_ok, "iterations": 1, **more}


def test_tally_trusts_the_truth_more_than_the_crc():
    parameters = ofdm.Parameters(payload_length=2)
    truth = Truth([recording.TrueFrame(1000, 1, b"ab", 20.0),
                   recording.TrueFrame(5000, 1, b"cd", 20.0),
                   recording.TrueFrame(9000, 1, b"ef", 30.0)], ofdm.Transmitter(parameters))
    tally = Tally("mmse", truth)
    tally.add_packet(_packet(1003, True), b"ab")
    tally.add_packet(_packet(5000, True), b"cf")  # 'd' ^ 'f' has one bit
    tally.add_packet(_packet(7000, True), b"zz")  # nothing was sent there
    summary = tally.summary()
    assert summary["packets_decoded"] == 1
    assert summary["packets_found"] == 2
    assert summary["false_detections"] == 1
    assert summary["packet_error_rate"] == pytest.approx(2 / 3)
    assert summary["bit_error_rate_after_decoding"] == pytest.approx(1 / 32)
    assert summary["decoded_by_snr"] == [{"snr_db": 20.0, "decoded": 1, "sent": 2},
                                         {"snr_db": 30.0, "decoded": 0, "sent": 1}]


def test_equaliser_is_unbiased_and_exact_without_noise():
    rng = np.random.default_rng(0)
    x, noise = (rng.standard_normal((4000, n, 2)).view(complex)[..., 0] for n in (2, 3))
    h = np.tile(rng.standard_normal((1, 3, 2, 2)).view(complex)[..., 0], (4000, 1, 1))
    y = np.einsum("nij,nj->ni", h, x)
    assert equalise(y, h, 1e-12) == pytest.approx(x, abs=1e-6)
    estimate = equalise(y + 0.3 * noise, h, 0.18)
    assert np.mean(estimate * x.conj(), axis=0) == pytest.approx(
        np.mean(np.abs(x) ** 2, axis=0), rel=0.05)


def test_command_prints_packets_table_and_writes_files(small, tmp_path):
    result = CliRunner().invoke(play_command, [
        str(small), "-d", "mmse", "-d", "nway", "--show", "nway", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Packets with the detector nway" in result.output
    lines = [line for line in result.output.splitlines() if line.startswith("packet ")]
    assert len(lines) == 8
    assert all("SNR" in line and "condition" in line and "CRC" in line for line in lines)
    assert any(line.startswith("mmse ") for line in result.output.splitlines())
    assert "packets that mmse lost" in result.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [row["detector"] for row in summary["detectors"]] == ["mmse", "nway"]
    assert all(row["vectors_per_s"] > 0 and row["real_time_factor"] > 0
               for row in summary["detectors"])
    assert len(summary["packets"]["mmse"]) == 8
    for name in ("constellation.png", "channel.png", "llr.png"):
        data = (tmp_path / "out" / name).read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) > 10000


def test_iterations(tmp_path):
    """An LDPC code's packets, of which further passes save some; with other codes it says why not,
    and plays nothing."""
    result = CliRunner().invoke(_script("make_capture").main, [
        "--output", str(tmp_path / "ldpc"), "--frames", "12", "--snr", "15", "--correlation", "0",
        "--code-rate", "ldpc:1/2"])
    assert result.exit_code == 0, result.output
    decoded = []
    for passes in (1, 3):
        printed = []
        summary = play(tmp_path / "ldpc", detectors=["mmsepic"] if passes == 1 else (), output=None,
                       quiet=True, iterations=passes, echo=printed.append)
        rows = {row["detector"]: row for row in summary["detectors"]}
        decoded.append(rows["mmsepic"]["packets_decoded"])
        assert any("Up to 3 passes" in line for line in printed) == (passes == 3)
    assert list(rows) == ["mmsepic", "nway", "mla"] and 0 < decoded[0] < decoded[1]
    assert 1 < rows["mmsepic"]["passes"] < 3
    result = CliRunner().invoke(play_command, [str(tmp_path / "ldpc"), "-d", "mmse",
                                               "--iterations", "2", "-o", str(tmp_path / "out")])
    assert result.exit_code == 1 and "mmse takes no a-priori LLRs" in result.output
    assert not (tmp_path / "out").exists()


def test_quiet_prints_no_packets(small, tmp_path):
    result = CliRunner().invoke(play_command, [
        str(small), "-d", "zf", "-q", "--no-pictures", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert not [line for line in result.output.splitlines() if line.startswith("packet ")]
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_format_can_be_given_where_the_metadata_lacks_it(small, tmp_path):
    bare = recording.write(tmp_path / "bare", recording.Reader(small).read(), 20e6)
    result = CliRunner().invoke(play_command, [str(bare), "-o", str(tmp_path)])
    assert result.exit_code == 1
    assert "num_tx, constellation, code_rate, payload_length: bare.sigmf-meta" in result.output
    summary = play(bare, detectors=["nway"], output=None, quiet=True, echo=lambda line: None,
                   num_tx=4, constellation="wlan_qam16", code_rate="1/2", payload_length=500)
    assert summary["detectors"][0]["packets_decoded"] >= 4


def test_noise_alone_gives_an_empty_table(tmp_path):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((2, 20000, 2)).view(complex)[..., 0] * 0.1
    path = recording.write(tmp_path / "noise", noise, 20e6, fields=recording.format_fields(
        num_tx=2, constellation="wlan_qpsk", code_rate="1/2", payload_length=100))
    printed = []
    summary = play(path, detectors=["mmse"], output=tmp_path, echo=printed.append)
    assert summary["detectors"][0]["packets_found"] == 0
    assert summary["detectors"][0]["packet_error_rate"] is None
    assert not list(tmp_path.glob("*.png"))
    assert any("no annotations" in line for line in printed)


@pytest.mark.parametrize(("options", "said"), [
    (["--payload-length", "499"], "Found 8, decoded 0. Do constellation (wlan_qam16)"),
    (["--payload-length", "60000"], "frames that broke off: do payload length (60000"),
])
def test_nothing_decoded_says_what_to_check_and_is_a_failure(small, tmp_path, options, said):
    result = CliRunner().invoke(play_command, [str(small), "-d", "mmse", "-q", "--no-pictures",
                                               "-o", str(tmp_path), *options])
    assert result.exit_code == 1
    assert said in result.output
    assert (tmp_path / "summary.json").exists()


def test_nothing_found_says_what_to_check_and_is_a_failure(tmp_path):
    path = recording.write(tmp_path / "none", np.full((3, 5000), 1e-3), 10e6,
                           fields=recording.format_fields(
                               num_tx=2, constellation="wlan_qpsk", code_rate="1/2",
                               payload_length=100))
    result = CliRunner().invoke(play_command, [str(path), "-o", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "Found 0. Do the sample rate (10 MS/s" in result.output
    assert "number of antennas (3)" in result.output


def _refused(*arguments):
    result = CliRunner().invoke(play_command, [str(argument) for argument in arguments])
    assert result.exit_code == 1
    assert "Playing" not in result.output and "Packets with" not in result.output
    return result.output


def test_a_folder_that_cannot_be_made_is_refused_before_playing(small, tmp_path):
    (tmp_path / "file").write_text("")
    assert "Error" in _refused(small, "-o", tmp_path / "file" / "out")


def test_showing_what_is_not_played_is_refused(small, tmp_path):
    said = _refused(small, "--show", "nway", "-d", "mmse", "-o", tmp_path / "out")
    assert "show: got 'nway', which is not played; allowed are mmse" in said


def test_a_constellation_of_another_labelling_names_the_one_meant(small, tmp_path):
    said = _refused(small, "--constellation", "qam16", "-o", tmp_path)
    assert "wlan_qam16 is meant" in said
    assert "allowed are wlan_bpsk" in _refused(small, "--constellation", "x", "-o", tmp_path)


def test_command_names_what_is_wrong(tmp_path):
    result = CliRunner().invoke(play_command, [str(tmp_path / "nothing")])
    assert result.exit_code == 1
    assert "no recording" in result.output
    assert "Traceback" not in result.output
