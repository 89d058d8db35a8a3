# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi: printed text, written files and refused options."""

import json
import re
import sys
from functools import partial

import numpy as np
import pytest
from commands import invoke
from gnuradio.mimopack import recording, wifi
from gnuradio.mimopack.wifi import mac
from gnuradio.mimopack.wifi.csi import read_csi
from recordings import stored
from source_tree import ROOT
from tshark import tshark
from wifi_air import FRAMES, air, data_mpdu, flat_channel, record

_wifi = partial(invoke, "wifi")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return (path, frames) of a recording with all of FRAMES at 5.18 GHz."""
    return record(tmp_path_factory.mktemp("simulated") / "r", cfo_hz=40e3, options={
        "frequency": 5.18e9, "description": "SIMULATED", "datetime": "2026-01-02T03:04:05Z"})


def test_frames_lines_and_table(simulated):
    path, sent = simulated
    result = _wifi(path)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    count = recording.Reader(path).num_samples
    assert lines[0] == (f"{path}: SigMF, 2 channels of cf32_le, 20 MS/s, 5180 MHz, {count} samples "
                        f"({count / 20e3:.3f} ms)")
    assert lines[1] == "SIMULATED"
    frames = lines[2:2 + len(sent)]
    for line, frame in zip(frames, sent, strict=True):
        assert f"sample {frame.start} " in line and "FCS" in line and "ok" in line
        assert f"{frame.format.length} bytes" in line
        assert abs(float(re.search(r"offset +([-+\d.]+) kHz", line)[1]) - 40) < 1
    assert "non-HT 24 Mbit/s" in frames[0] and "HT MCS 9, 20 MHz, 2 streams" in frames[1]
    assert "FCS 3/3 ok  Data 02:00:00:00:00:01 > 02:00:00:00:00:02 #0, 2 more" in frames[2]
    assert "VHT MCS 4, 2 streams, 20 MHz, short GI" in frames[3]
    table = [re.split(r"\s{2,}", line) for line in lines[2 + len(sent) + 1:]]
    assert table[0] == ["format", "frames", "complete", "MPDUs", "FCS ok", "share", "bytes",
                        "mean SNR"]
    assert [row[0] for row in table[1:]] == [
        "non-HT 6 Mbit/s, 20 MHz", "non-HT 24 Mbit/s, 20 MHz", "HT MCS 4, 1 stream, 20 MHz",
        "HT MCS 9, 2 streams, 20 MHz", "VHT MCS 4, 2 streams, 20 MHz", "all"]
    assert table[-1][1:7] == ["5", "5", "8", "8", "100.0 %", str(8 * 128)]


def test_all_files_take_all_formats(tmp_path):
    """Frames of 160 MHz, of several users and with 4096-QAM in one recording of 160 MS/s."""
    vht = [{"mcs": 5}, {"mcs": 8, "num_streams": 2, "coding": "ldpc", "user_position": 2}]
    he = [{"sta_id": 1, "ru": (996, 1), "mcs": 8, "coding": "ldpc"},
          {"sta_id": 2, "ru": (996, 1), "mcs": 5, "coding": "ldpc"},
          {"sta_id": 3, "ru": (26, 74), "mcs": 1}]
    wide = {"coding": "ldpc", "bandwidth_mhz": 160}
    formats = {
        "vht": lambda n: wifi.VHT.of_length(7, n, 2, 160),
        "he-su": lambda n: wifi.HE.of_length(11, n, 2, **wide),
        "eht-mu": lambda n: wifi.EHT.of_length(12, n, 2, **wide),
        "vht-mu": lambda n: wifi.VHTMU.of_lengths(vht, n, bandwidth_mhz=160),
        "he-mu": lambda n: wifi.HEMU.of_lengths(he, n, bandwidth_mhz=160)}
    rng = np.random.default_rng(1)
    parts, count = [np.zeros((3, 6400))], 0
    for name, frame_format_of in formats.items():
        mpdus = [[data_mpdu(60, i)] for i in range({"vht-mu": 2, "he-mu": 3}.get(name, 1))]
        if len(mpdus) > 1:
            f, psdu = wifi.pack_users(frame_format_of, mpdus)
        else:
            f, psdu = wifi.pack(frame_format_of, mpdus[0])
        streams = f.num_space_time_streams
        sent = wifi.Transmitter(streams, 160e6).frame(f, psdu)
        parts += [flat_channel(3, streams, rng) @ sent, np.zeros((3, 6400))]
        count += len(mpdus)
    samples = 0.1 * np.concatenate(parts, axis=1)
    samples = samples + 5e-4 * (rng.standard_normal((*samples.shape, 2)) @ [1, 1j])
    path = recording.write(tmp_path / "r", samples.astype(np.complex64), 160e6)
    names = [tmp_path / name for name in ("f.json", "f.pcap", "f.npz", "out")]
    result = _wifi(path, "-q", "--json", names[0], "--pcap", names[1], "--csi", names[2],
                   "--output", names[3])
    assert result.exit_code == 0, result.output
    frames = json.loads(names[0].read_text())
    assert [(frame["format"], frame["problem"], frame["complete"]) for frame in frames] == [
        (name, "", True) for name in formats]
    assert len(tshark(names[1], "wlan.seq")) == count
    assert len(read_csi(names[2])) == count
    assert (names[3] / "summary.json").exists()


@pytest.mark.quick
def test_json_has_the_frames_that_were_sent(simulated, tmp_path):
    path, sent = simulated
    result = _wifi(path, "-q", "--json", tmp_path / "f.json")
    assert f"written: {tmp_path / 'f.json'}" in result.output
    frames = json.loads((tmp_path / "f.json").read_text())
    for got, frame in zip(frames, sent, strict=True):
        f = frame.format
        assert abs(got["start"] - frame.start) <= 2
        assert (got["format"], got["mcs"], got["num_streams"], got["stbc"], got["bandwidth_mhz"],
                got["short_gi"], got["coding"], got["length"]) == (
            f.name, f.mcs, f.num_streams, f.stbc, 20, f.short_gi, "bcc", f.length)
        assert abs(got["cfo_hz"] - 40e3) < 1e3 and 25 < got["snr_db"] < 45
        assert got["psdu"] == frame.psdu.hex() and got["problem"] == ""
        assert got["mpdus"] == [{"hex": mpdu.hex(), "fcs_ok": True} for mpdu in frame.mpdus]
        assert got["frequency"] == 5.18e9
    assert sorted(tmp_path.iterdir()) == [tmp_path / "f.json"]


def test_csi_and_pcap_have_the_frames(simulated, tmp_path):
    path, sent = simulated
    result = _wifi(path, "-q", "--csi", tmp_path / "c.npz", "--pcap", tmp_path / "p.pcap")
    assert result.exit_code == 0, result.output
    records = read_csi(tmp_path / "c.npz")
    assert [one.matrices.shape[1:] for one in records] == [
        (2, frame.format.num_space_time_streams) for frame in sent]
    pcap = (tmp_path / "p.pcap").read_bytes()
    assert all(mpdu in pcap for frame in sent for mpdu in frame.mpdus)
    seconds = int.from_bytes(pcap[24:28], "little")
    assert seconds == recording.Reader(path).start_time    # by core:datetime
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c.npz", "p.pcap"]


def test_pictures_and_summary(simulated, tmp_path):
    result = _wifi(simulated[0], "-q", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    names = sorted(one.name for one in (tmp_path / "out").iterdir())
    assert names == ["channel-1.png", "channel-2.png", "constellation-1.png", "constellation-2.png",
                     "quality.png", "summary.json"]
    for name in names[:-1]:
        data = (tmp_path / "out" / name).read_bytes()
        assert data.startswith(b"\x89PNG") and len(data) > 5000
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["frames"], summary["mpdus_ok"], summary["complete"]) == (5, 8, True)
    assert summary["formats"]["HT MCS 4, 1 stream, 20 MHz"]["mpdus_ok"] == 3
    assert summary["samples_searched"] == summary["samples"]
    result = _wifi(simulated[0], "-q", "-o", tmp_path / "bare", "--no-pictures")
    assert [one.name for one in (tmp_path / "bare").iterdir()] == ["summary.json"]


@pytest.mark.parametrize("detector", ["mmse", "kbest:k=8"])
def test_the_detector_can_be_chosen(simulated, tmp_path, detector):
    result = _wifi(simulated[0], "-q", "-d", detector, "--json", tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    frames = json.loads((tmp_path / "f.json").read_text())
    assert [one["detector"] for one in frames if one["num_streams"] == 2] == [detector] * 2


@pytest.mark.parametrize("datatype", ["ci16", "cu8", "ci16_be"])
def test_bare_samples_of_two_channels(tmp_path, datatype):
    samples, sent = air(FRAMES, 2, level=0.2)
    kind = recording.get_datatype(datatype)
    path = tmp_path / "bare.bin"
    stored(samples, datatype).tofile(path)
    result = _wifi(path, "--rate", "20e6", "--format", datatype, "--channels", "2",
                   "--frequency", "5.18G", "-q", "--json", tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    assert (f"{path}: raw samples without metadata, 2 channels of {kind.name}, 20 MS/s, "
            "5180 MHz, ") in result.output
    frames = json.loads((tmp_path / "f.json").read_text())
    assert [one["psdu"] for one in frames] == [one.psdu.hex() for one in sent]


@pytest.mark.parametrize("megahertz", [5])
def test_narrow_channels_of_80211p(tmp_path, megahertz):
    path, _ = record(tmp_path / "r", FRAMES[:1], 1, sample_rate=megahertz * 1e6)
    result = _wifi(path, "--json", tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    assert f"non-HT {24 * megahertz / 20:g} Mbit/s, {megahertz} MHz channel" in result.output
    assert json.loads((tmp_path / "f.json").read_text())[0]["bandwidth_mhz"] == megahertz


def test_more_streams_than_channels_is_said_of_the_recording(tmp_path):
    path, sent = record(tmp_path / "r", [FRAMES[0], FRAMES[1], FRAMES[1]], 1)
    result = _wifi(path, "--json", tmp_path / "f.json")
    assert result.exit_code == 0
    said = re.search(r"\n +2  1 channel, but the frame has 2 streams \(first at sample (\d+)\)\n",
                     result.output)
    # If only the shifted copy of the second antenna is strong, the frame begins 4 samples earlier.
    assert said and abs(int(said[1]) - sent[1].start) <= 5
    assert "Lost or incomplete: 2 of 3 frames" in result.output
    frames = json.loads((tmp_path / "f.json").read_text())
    assert [one["problem"] for one in frames] == ["", *[
        "1 channel, but the frame has 2 streams"] * 2]
    assert (frames[1]["format"], frames[1]["mcs"], frames[1]["psdu"]) == ("ht", 9, "")
    # If there is no other frame, the command gives advice.
    path, _ = record(tmp_path / "only", [FRAMES[1]], 1)
    result = _wifi(path)
    assert result.exit_code == 1
    assert "more streams than the recording has channels" in result.output


def test_lost_frames_are_counted_by_their_reason(tmp_path):
    samples, sent = air([FRAMES[0], FRAMES[2], FRAMES[4]], 1)
    # A burst of noise hits the data of the first frame, and the recording ends within the last
    # frame.
    at = sent[0].start + 480
    samples[0, at:at + 60] += 0.5 * np.random.default_rng(1).standard_normal(60)
    path = recording.write(tmp_path / "r", samples[:, :sent[2].start + 1500], 20e6)
    result = _wifi(path)
    assert result.exit_code == 0
    assert "FCS wrong" in result.output
    assert f"1  wrong frame check sequence (at sample {sent[0].start})" in result.output
    assert "note:" not in result.output
    assert "1  truncated: the samples end before the frame does (at sample " in result.output


def _noise(path, scale=0.1, offset=0.0, datatype="cf32_le"):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((1, 40_000, 2)).view(complex)[..., 0] * scale + offset
    return recording.write(path, noise, 20e6, datatype=datatype)


def test_frames_that_no_trigger_frame_explains(tmp_path):
    f = wifi.HE.of_length(3, 90, name="he-tb", uplink=True, ltf=4, gi_us=3.2)
    samples = 0.1 * np.pad(wifi.Transmitter().frame(f, bytes(f.length)), ((0, 0), (400, 400)))
    samples = samples + 1e-3 * (np.random.default_rng(1).standard_normal((*samples.shape, 2))
                                @ [1, 1j])
    result = _wifi(recording.write(tmp_path / "r", samples.astype(np.complex64), 20e6))
    assert result.exit_code == 1
    assert "no Trigger frame is known" in result.output
    assert "--he-trigger FILE can tell what the Trigger frame has asked for" in result.output
    assert "Also tried" not in result.output


def test_nothing_found_says_what_was_tried(tmp_path):
    result = _wifi(_noise(tmp_path / "r"), "--json", tmp_path / "f.json")
    assert result.exit_code == 1
    assert json.loads((tmp_path / "f.json").read_text()) == []
    assert "No frame was found." in result.output
    assert "Searched 40000 samples of 1 channel at 20 MS/s" in result.output
    assert "levels: -17.0 dBFS" in result.output
    assert ("\nNo other reading of the file gave Wi-Fi frames.\nAlso tried, without success, on "
            "40000 samples from sample 0: with I and Q exchanged (--swap-iq); "
            "25, 30.72, 40, 50, 61.44, 80 MS/s; ") in result.output
    assert "--rate" in result.output and "--format" in result.output


@pytest.mark.parametrize(("samples", "said"), [
    (dict(scale=2.0, datatype="ci16_le"), r"clipped: 6\d\.\d % of its values"),
    (dict(offset=0.3), "of its power at 0 Hz"),
    (dict(scale=1e-6), "very weak"),
    (dict(scale=0.0), "all samples are 0"),
    (dict(scale=1e9), "stronger than any radio"),
    (dict(scale=np.inf), "40000 samples that are NaN")])
def test_odd_levels_are_told(tmp_path, samples, said):
    result = _wifi(_noise(tmp_path / "r", **samples))
    assert result.exit_code == 1, result.output
    assert re.search(said, result.output), result.output


@pytest.mark.parametrize(("written", "options", "said"), [
    ("ci16_le", ["--channels", "1"], "read as 2 channels (--channels 2)"),
    ("cf32_le", ["--channels", "2", "--format", "ci8"], "read as cf32_le (--format cf32_le)"),
    ("ci16_le", ["--channels", "2", "--rate", "40e6"], "read at 20 MS/s (--rate 20e6)")])
def test_a_wrong_reading_of_the_file_is_found(tmp_path, written, options, said):
    samples, _ = air(FRAMES, 2)
    samples = np.round(samples.view(np.float32) * 32768).view(np.complex64) / 32768
    path = tmp_path / "r.ci16"
    stored(samples, written).tofile(path)
    result = _wifi(path, "--rate", "20e6", *options)
    assert result.exit_code == 1
    assert said in result.output
    assert "8 MPDUs with a correct frame check sequence" in result.output


def _at_25(samples):
    """Return samples of 20 MS/s at 25 MS/s."""
    count = samples.shape[1] // 4 * 4
    spectrum = np.fft.fftshift(np.fft.fft(samples[:, :count], axis=1), axes=1)
    wide = np.pad(spectrum, ((0, 0), (count // 8, count // 8 + count // 4 - 2 * (count // 8))))
    return np.fft.ifft(np.fft.ifftshift(wide, axes=1), axis=1) * 1.25


def test_other_rates_are_resampled(tmp_path):
    samples, sent = air(FRAMES * 2, 2)
    path = recording.write(tmp_path / "r", _at_25(samples), 25e6,
                           datetime="2026-01-02T03:04:05Z")
    result = _wifi(path, "--json", tmp_path / "f.json", "-o", tmp_path, "--no-pictures")
    assert result.exit_code == 0, result.output
    assert (f"25 MS/s, frequency unknown, {samples.shape[1] // 4 * 5} samples "
            f"({samples.shape[1] / 20e3:.3f} ms)") in result.output
    assert ("note: 25 MS/s are resampled to 20 MS/s, and samples are counted at that rate"
            ) in result.output
    frames = json.loads((tmp_path / "f.json").read_text())
    assert [one["mpdus"][0]["hex"] for one in frames] == [one.mpdus[0].hex() for one in sent]
    assert max(abs(one["start"] - is_sent.start) for one, is_sent in
               zip(frames, sent, strict=True)) <= 2
    # Without --rate, a wrong rate in the metadata is suspected.
    assert _wifi(path, "--rate", "20e6", "-q").output.count("read at 25 MS/s (--rate 25e6)") == 1
    right = recording.write(tmp_path / "right", samples, 25e6)
    assert "read at 20 MS/s (--rate 20e6)" in _wifi(right, "-q").output
    assert invoke("play", right).output.endswith(
        "right.sigmf-meta has 25 MS/s, this command supports 5, 10, 20, 40, 80 or 160 MS/s: "
        "resample the recording first (docs/recordings.md, Other sample rates)\n")


@pytest.mark.quick
def test_exchanged_i_and_q_are_found_and_corrected(tmp_path):
    samples, sent = air(FRAMES, 2, cfo_hz=30e3)
    for name, swapped in (("swapped", samples.imag + 1j * samples.real),
                          ("mirrored", samples.conj())):
        path = recording.write(tmp_path / name, swapped, 20e6)
        result = _wifi(path, "-q")
        assert result.exit_code == 1
        assert "read with I and Q exchanged (--swap-iq), " in result.output
        assert "8 MPDUs with a correct frame check sequence" in result.output
        assert _wifi(path, "-q", "--swap-iq").exit_code == 0


def _demo():
    return recording.Reader(ROOT / "examples/recordings/wifi_4x4_ht").read()


def _with_offsets(samples):
    at = np.arange(samples.shape[1]) / 20e6
    return samples * np.exp(2j * np.pi * np.outer([0, 7e3, -2e3, 0], at))


def _with_delays(samples):
    return np.stack([np.roll(row, delay) for row, delay in zip(samples, (0, 3, 40, 12),
                                                               strict=True)])


@pytest.mark.parametrize("spoil, said", [
    (_with_offsets, [r"antenna 1 has another carrier than antenna 0, by \+(6[89]|7[01])\d\d Hz",
                     r"antenna 2 has another carrier than antenna 0, by -(1[89]|2[01])\d\d Hz"]),
    (_with_delays, ["antenna 1 is [34] samples later than antenna 0",
                    "antenna 2 is (39|40|41) samples later than antenna 0",
                    "antenna 3 is 1[123] samples later than antenna 0"])])
def test_antennas_that_do_not_fit_are_named_and_aligned(tmp_path, spoil, said):
    samples = _demo()
    whole = recording.write(tmp_path / "whole", samples, 20e6)
    path = recording.write(tmp_path / "r", spoil(samples), 20e6)
    counts = []
    for options in (["-q"], ["-q", "--align"]):
        result = _wifi(path, *options, "--json", tmp_path / "f.json")
        notes = [line for line in result.output.splitlines() if line.startswith("note: antenna")]
        if "--align" in options:
            assert notes == [] and "note: aligned: antenna 1 by" in result.output
        else:
            assert len(notes) == len(said), result.output
            for line, pattern in zip(notes, said, strict=True):
                assert re.search(pattern, line), line
            assert "--align corrects" in notes[0] and "Is the SNR" not in result.output
        counts.append(sum(one["complete"] for one in json.loads(
            (tmp_path / "f.json").read_text())))
    result = _wifi(whole, "-q", "--align", "--json", tmp_path / "f.json")
    assert "note: nothing to align: the antennas fit" in result.output
    best = sum(one["complete"] for one in json.loads((tmp_path / "f.json").read_text()))
    assert counts[0] < counts[1] >= best - 2, (counts, best)


@pytest.mark.parametrize(("options", "said"), [
    (["--rate", "2.4e6"], "--rate: got 2.4 MS/s, the receiver supports 5, 10, 20, 40, 80 or 160 "
                          "MS/s. No channel fits into these samples, so no resampling helps."),
    (["--rate", "fast"], "'--rate': got 'fast', must be a positive number of Hz"),
    ([], "the sample rate of {path} is unknown: give --rate, 5, 10, 20, 40, 80 or 160 MS/s, or "
         "another one above 20 MS/s"),
    (["--rate", "20e6", "--format", "q15"], "'--format': got 'q15', allowed are cf32_le, ci16_le"),
    (["--rate", "20e6", "--detector", "best"], "got 'best', allowed are auto, zf, mmse"),
    (["--rate", "20e6", "-d", "kbest:k=0"], "got 'kbest:k=0': k: got 0, allowed are 1 to 256"),
    (["--rate", "20e6", "--json", "{folder}/no/f"],
     "--json: cannot write {folder}/no/f: No such file or directory"),
    (["--rate", "20e6", "--csi", "{folder}/c.txt"],
     "--csi: cannot write {folder}/c.txt: the name must end in .npz, .h5, .hdf5"),
    (["--rate", "20e6", "--pcap", "-"], "--pcap: cannot write -: must be the name of a file"),
    (["--rate", "20e6", "-d", "mmse", "--iterations", "4"],
     "--detector: got 'mmse', which takes no a-priori LLRs"),
    (["--rate", "20e6", "-o", "{path}/out"], "--output: cannot write {path}/out: Not a directory"),
    (["--rate", "20e6", "--json", "{path}"], "--json: {path} is the recording too"),
    (["--rate", "20e6", "--json", "{folder}/f", "--pcap", "{folder}/f"],
     "--pcap: --json writes to {folder}/f already")])
def test_a_wrong_option_is_refused_in_a_sentence(tmp_path, options, said):
    path = tmp_path / "r.ci16"
    path.write_bytes(bytes(4000))
    before = sorted(tmp_path.iterdir())
    places = {"path": path, "folder": tmp_path}
    result = _wifi(path, *(option.format(**places) for option in options))
    assert result.exit_code == 2
    assert said.format(**places) in result.output
    assert "Traceback" not in result.output
    assert sorted(tmp_path.iterdir()) == before
def test_he_frames_with_a_trigger(tmp_path):
    """The line of an HE frame, and an HE TB frame whose Trigger frame comes from a file."""
    f = wifi.HE.of_length(1, 90, name="he-tb", ru=(52, 2), ltf=4, gi_us=3.2)
    mpdu = data_mpdu(40)
    samples, _ = air([(lambda n: wifi.HE.of_length(2, n), [mpdu])], 1)
    answer = 0.1 * wifi.Transmitter(1).frame(f, mac.aggregate([mpdu], f.length))
    noise = 0.001 * np.random.default_rng(1).standard_normal((1, 400))
    path = recording.write(tmp_path / "he", np.concatenate(
        [samples, answer, noise], axis=1).astype(np.complex64), 20e6)
    trigger = {"ul_length": f.legacy_length, "ru": "52 index 2", "mcs": 1, "coding": "bcc",
               "gi_us": 3.2, "ltf": 4, "pre_fec_padding": f.pre_fec_padding,
               "pe": f.pe_disambiguity}
    (tmp_path / "t.json").write_text(json.dumps(trigger))
    result = _wifi(path, "--he-trigger", tmp_path / "t.json")
    assert "HE SU MCS 2, 1 stream, 20 MHz, GI 0.8 us, 2x LTF" in result.output
    assert "HE TB MCS 1, 1 stream, 20 MHz, RU 52/2, GI 3.2 us, 4x LTF" in result.output
    assert re.search("^all +2 +2 +2 +2 +100.0 %", result.output, re.MULTILINE)
    assert "no Trigger frame is known" in _wifi(path).output
    (tmp_path / "t.json").write_text("[]")
    refused = _wifi(path, "--he-trigger", tmp_path / "t.json")
    assert refused.exit_code == 2 and "he_trigger: got list, must be a dictionary" in refused.output


def test_a_refused_run_leaves_older_files(simulated, tmp_path):
    old = tmp_path / "f.json"
    old.write_text("old")
    result = _wifi(simulated[0], "--json", old, "--csi", tmp_path / "c.npz", "--pcap",
                   tmp_path / "no" / "p")
    assert result.exit_code == 2
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]
def test_a_wrong_checksum_is_a_warning(simulated, tmp_path):
    path, _ = record(tmp_path / "r", FRAMES[:1])
    assert "warning" not in _wifi(path).output
    metadata = json.loads(path.read_text())
    metadata["global"]["core:sha512"] = "0" * 128
    path.write_text(json.dumps(metadata))
    result = _wifi(path, "-o", tmp_path / "out", "--no-pictures")
    assert result.exit_code == 0
    assert "warning: " in result.output and "checksum (core:sha512) differs" in result.output
    notes = json.loads((tmp_path / "out" / "summary.json").read_text())["notes"]
    assert ["core:sha512" in note for note in notes] == [True]
@pytest.mark.parametrize("command", ["wifi", "play"])
def test_backend_cuda_without_cupy_is_refused_in_one_line(simulated, tmp_path, monkeypatch,
                                                          command):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.chdir(tmp_path)
    result = invoke(command, simulated[0], "--backend", "cuda")
    assert result.exit_code == 2
    line, = result.output.splitlines()
    assert line.startswith("Error: --backend: cuda needs CuPy, ")
    assert line.endswith("scripts/setup.sh --with-cupy installs it")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ImportError, match="backend 'cuda' needs CuPy"):
        wifi.Receiver(backend="cuda")
def test_an_error_in_the_middle_keeps_what_was_decoded(simulated, tmp_path, monkeypatch):
    def broken(self):
        raise OSError("the disk is gone")
    monkeypatch.setattr(wifi.Receiver, "finish", broken)
    result = _wifi(simulated[0], "-q", "--json", tmp_path / "f.json")
    assert result.exit_code == 2
    assert re.search(r"Incomplete: stopped by an error within the first (\d+) of \1 samples",
                     result.output)
    assert result.output.splitlines()[-1] == "Error: the disk is gone"
    assert len(json.loads((tmp_path / "f.json").read_text())) == 5


def test_users_of_a_vht_frame_have_lines_of_their_own(tmp_path):
    users = [{"mcs": 3}, {"mcs": 5, "user_position": 2}]
    f, psdus = wifi.pack_users(lambda lengths: wifi.VHTMU.of_lengths(users, lengths, group_id=9),
                               [[data_mpdu(60, i)] for i in range(2)])
    sent = np.pad(0.1 * wifi.Transmitter(2).frame(f, psdus), ((0, 0), (500, 900)))
    noise = 0.001 * np.random.default_rng(1).standard_normal(sent.shape)
    path = recording.write(tmp_path / "vht", (sent + noise).astype(np.complex64), 20e6)
    line, *of_users = [line for line in _wifi(path).output.splitlines() if "VHT MU" in line][:3]
    assert "VHT MU 20 MHz, 2 users" in line and "FCS 2/2 ok" in line
    for line, place, mcs in zip(of_users, (0, 2), (3, 5), strict=True):
        assert re.search(f"user {place} of group 9 +VHT MU MCS {mcs}, 1 stream.*FCS ok", line), line


def test_users_have_lines_and_channel_matrices_of_their_own(tmp_path):
    users = [{"sta_id": 17, "ru": (106, 1), "mcs": 3}, {"sta_id": 2000, "ru": (106, 2), "mcs": 5}]
    f, psdus = wifi.pack_users(
        lambda lengths: wifi.HEMU.of_lengths(users, lengths, bss_color=9),
        [[data_mpdu(60, i)] for i in range(2)])
    sent = np.pad(0.1 * wifi.Transmitter(1).frame(f, psdus), ((0, 0), (500, 900)))
    noise = 0.001 * np.random.default_rng(1).standard_normal(sent.shape)
    path = recording.write(tmp_path / "he", (sent + noise).astype(np.complex64), 20e6)
    result = _wifi(path, "--csi", tmp_path / "csi.npz")
    line, *of_users = [line for line in result.output.splitlines() if "HE MU" in line][:3]
    assert "HE MU 20 MHz, 2 users" in line and "FCS 2/2 ok" in line
    for line, station, unit, mcs in zip(of_users, (17, 2000), (1, 2), (3, 5), strict=True):
        assert re.search(f"station {station} +HE MU MCS {mcs}, 1 stream, 20 MHz, RU 106/{unit}.*"
                         "BSS colour 9 .*FCS ok", line), line
    assert [(one.ru, one.sta_id) for one in read_csi(tmp_path / "csi.npz")] == [
        ("106 index 1", 17), ("106 index 2", 2000)]
