# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack play: output, refused options, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import invoke, start
from gnuradio.mimopack import detectors, recording
from gnuradio.mimopack.apps.play import play
from gnuradio.mimopack.apps.play.playback import Playback
from gnuradio.mimopack.apps.wifi.reading import Refusal
from gnuradio.mimopack.wifi import HT
from own_detectors import OwnLoud, OwnZf
from wifi_air import FRAMES, air, data_mpdu, multipath, record

_play = partial(invoke, "play")


class TestCommand:
    def test_frames_table_and_files(self, small, tmp_path):
        out = tmp_path / "out"
        result = _play(small, "-d", "mmse", "-d", "nway", "--show", "nway", "-o", out, "--pcap",
                       tmp_path / "f.pcap")
        assert result.exit_code == 0, result.output
        assert "Frames with the detector nway" in result.output
        assert "annotations describe 12 transmitted frames" in result.output
        lines = [line for line in result.output.splitlines() if " ms  sample " in line]
        assert len(lines) == 12
        assert all("HT MCS 28, 20 MHz, 4 streams" in line and "SNR" in line and "condition" in line
                   and "FCS" in line for line in lines)
        summary = json.loads((out / "summary.json").read_text())
        mmse, nway = summary["detectors"]
        assert (mmse["detector"], nway["detector"], summary["complete"]) == ("mmse", "nway", True)
        assert (f"nway decodes {nway['frames_decoded'] - mmse['frames_decoded']} frames that mmse "
                "loses, and loses 0 that mmse decodes") in result.output
        table = {line.split()[0]: line.split() for line in result.output.splitlines()
                 if line.startswith(("mmse  ", "nway  "))}
        # The last table is by SNR.
        assert table["mmse"][1:] == [f"{level['decoded']}/6" for level in mmse["decoded_by_snr"]]
        assert all(row["real_time_factor"] > 0 for row in (mmse, nway))
        assert [len(frames) for frames in summary["frames"].values()] == [12, 12]
        for name in ("detectors.png", "constellation.png", "channel.png"):
            data = (out / name).read_bytes()
            assert data.startswith(b"\x89PNG") and len(data) > 10000
        sent = [one.mpdus[0] for one in recording.read_frames(recording.Reader(small).annotations)]
        pcap = (tmp_path / "f.pcap").read_bytes()
        assert sum(mpdu in pcap for mpdu in sent) == nway["frames_decoded"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f.pcap", "out"]

    def test_objects_and_classes(self, small):
        def played(*given, show=None):
            return play(small, given, None, show, quiet=True, echo=lambda line: None)

        names = ["kbest:k=2", "mmse", "own_zf:scale=0.5", "own_loud"]
        loud = OwnLoud(4, 4, "wlan_qam16")
        try:
            summary = played(detectors.KBest(2, 2, "qpsk", k=2), detectors.MMSE,
                             OwnZf(4, 4, "wlan_qam16", scale=0.5), loud, show=loud)
        finally:
            detectors.REGISTRY.pop("own_zf", None)
        found = {row["detector"]: row["frames_decoded"] for row in summary["detectors"]}
        assert list(found) == names and found["own_loud"] == 0
        texts = {row["detector"]: row["frames_decoded"]
                 for row in played("kbest:k=2", "mmse", "zf")["detectors"]}
        assert found == {"kbest:k=2": texts["kbest:k=2"], "mmse": texts["mmse"],
                         "own_zf:scale=0.5": texts["zf"], "own_loud": 0}

    @pytest.mark.parametrize("given, show, message", [
        ([detectors.MLA(2, 2), "mla"], None, "got two detectors named 'mla'"),
        ("mla", None, "detectors: got 'mla', must be a list"), ([3], None, "detector: got 3"),
        (["mla"], detectors.ZF, "--show: got 'zf', which is not played; allowed are mla"),
        (["mla", "kbest:q=2"], None, "kbest has no parameter 'q', allowed are k, llr_clip")])
    def test_other_detectors_are_refused(self, small, given, show, message):
        with pytest.raises(Refusal) as caught:
            play(small, given, None, show, echo=pytest.fail)
        assert message in caught.value.message

    def test_iterations_decode_more_frames(self, tmp_path):
        """Play frames with an LDPC code. A detector without a-priori LLRs is refused at once."""
        frames = [(lambda n: HT(26, n, coding="ldpc"), [data_mpdu(400, i)]) for i in range(16)]
        path, _ = record(tmp_path / "r", frames, 4, snr_db=8.5, channel=multipath)
        decoded = []
        for passes in (1, 4):
            printed = []
            summary = play(path, detectors=["mmsepic"], output=None, quiet=True, iterations=passes,
                           echo=printed.append)
            decoded.append(summary["detectors"][0]["frames_decoded"])
            assert any("up to 4 passes" in line for line in printed) == (passes == 4)
        assert 0 < decoded[0] < decoded[1]
        result = _play(path, "-d", "mmse", "--iterations", "2", "-o", tmp_path / "out")
        assert result.exit_code == 2 and "takes no a-priori LLRs" in result.output
        assert not (tmp_path / "out").exists()

    def test_noise_alone_is_a_failure_that_says_what_to_do(self, tmp_path):
        rng = np.random.default_rng(1)
        noise = rng.standard_normal((2, 20000, 2)).view(complex)[..., 0] * 0.1
        path = recording.write(tmp_path / "noise", noise, 20e6)
        result = _play(path, "-d", "mmse", "-o", tmp_path / "out")
        assert result.exit_code == 1
        assert f"mimopack wifi {path}" in result.output
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        row, = summary["detectors"]
        assert (row["frames_found"], row["packet_error_rate"]) == (0, None)
        assert [one.name for one in (tmp_path / "out").iterdir()] == ["summary.json"]

    def test_a_recording_that_is_cut_while_it_plays(self, small, tmp_path, monkeypatch):
        for ending in (".sigmf-meta", ".sigmf-data"):
            (tmp_path / f"r{ending}").write_bytes(Path(f"{small}{ending}").read_bytes())
        data, whole = tmp_path / "r.sigmf-data", Playback.frames

        def frames(self, detector, *arguments, **options):
            if detector == "nway":
                os.truncate(data, 16 * 20_000)
            return whole(self, detector, *arguments, **options)

        monkeypatch.setattr(Playback, "frames", frames)
        result = _play(tmp_path / "r", "-d", "mmse", "-d", "nway", "-q", "--no-pictures", "-o",
                       tmp_path / "out", "--pcap", tmp_path / "f.pcap")
        assert result.exit_code == 2
        assert re.fullmatch(rf"Error: {data} ends at sample 20000: it had \d+ samples when it was "
                            "opened", result.output.splitlines()[-1])
        assert not list(tmp_path.glob("f.pcap*"))
        # What the detector before has decoded is not lost.
        assert ("Incomplete: these detectors did not play the whole recording: nway.\n"
                in result.output)
        summary = json.loads((tmp_path / "out/summary.json").read_text())
        assert not summary["complete"] and list(summary["frames"]) == ["mmse"]
        assert [row["frames_found"] for row in summary["detectors"]] == [12]
        assert re.search(r"^mmse +\d", result.output, re.MULTILINE)


class TestRefusals:
    def _refused(self, *arguments):
        result = _play(*arguments)
        assert result.exit_code == 2, result.output
        assert "Playing" not in result.output and "Frames with" not in result.output
        assert "Traceback" not in result.output
        return result.output

    def test_a_capture_file_that_cannot_be_written(self, small, tmp_path):
        said = self._refused(small, "-o", tmp_path / "out", "--pcap", tmp_path / "no" / "p.pcap")
        assert "--pcap: cannot write" in said
        data = f"{small}.sigmf-data"
        before = Path(data).read_bytes()
        assert "is the recording too" in self._refused(small, "-o", tmp_path, "--pcap", data)
        assert Path(data).read_bytes() == before

    def test_showing_what_is_not_played(self, small, tmp_path):
        said = self._refused(small, "--show", "nway", "-d", "mmse", "-o", tmp_path / "out")
        assert "--show: got 'nway', which is not played; allowed are mmse" in said
        said = self._refused(small, "-d", "kbest:k=0", "-o", tmp_path / "out")
        assert "got 'kbest:k=0': k: got 0, allowed are 1 to 256" in said

    def test_recordings(self, tmp_path):
        assert "no recording" in self._refused(tmp_path / "nothing", "-o", tmp_path)
        path = recording.write(tmp_path / "r", np.ones((2, 2000)), 25e6)
        said = self._refused(path, "-o", tmp_path)
        assert "has 25 MS/s, this command supports 5, 10, 20, 40, 80 or 160 MS/s" in said
        for name in ("r.ci16", "r.dat", "r.txt"):
            (tmp_path / name).write_bytes(bytes(4000))
            said = self._refused(tmp_path / name, "-o", tmp_path)
            assert f"{tmp_path / name} is no SigMF recording. " in said

@pytest.fixture(scope="module")
def lengthy(tmp_path_factory):
    """Recording of two antennas: an annotated frame, a long silence, another frame."""
    path = tmp_path_factory.mktemp("lengthy") / "r"
    samples, sent = air(FRAMES[1:2], 2)
    gap = 60_000_000
    with recording.Writer(path, 2, 20e6, datatype="ci8") as writer:
        writer.write(samples)
        for _ in range(gap // 1_000_000):
            writer.write(np.zeros((2, 1_000_000), np.complex64))
        writer.write(samples)
        for at in (0, samples.shape[1] + gap):
            recording.annotate_frame(writer, at + sent[0].start, sent[0].format.num_samples,
                                     sent[0].mpdus, 35.0)
    return path


class TestInterrupt:
    def test_it_ends_with_what_was_decoded_so_far(self, lengthy, tmp_path):
        """The first detector ends within the recording, and the second one does not begin."""
        child = start(
            "play", lengthy, "-d", "mmse", "-d", "nway", "--show", "mmse", "-o", tmp_path / "out",
            "--pcap", tmp_path / "f.pcap", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        try:
            said = ""
            while " ms  sample " not in said:
                said = child.stdout.readline()
                assert said
            child.send_signal(signal.SIGINT)
            rest = child.communicate(timeout=60)[0]
        finally:
            child.kill()
        assert child.returncode == 130, rest
        assert "Playing with nway" not in rest and "Traceback" not in rest
        assert "Interrupted: these detectors did not play the whole recording: mmse, nway." in rest
        row = next(line for line in rest.splitlines() if line.startswith("mmse "))
        assert row.split()[1:5] == ["1", "1", "0.000", "1"] and "incomplete:" in row
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert summary["complete"] is False
        (only,) = summary["detectors"]
        assert only["samples"] < summary["samples"] and only["frames_sent"] == 1
        assert (tmp_path / "f.pcap").read_bytes().count(
            recording.read_frames(recording.Reader(lengthy).annotations)[0].mpdus[0]) == 1
        assert not list(tmp_path.glob("*.part"))
