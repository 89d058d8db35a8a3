# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Play the demo's recording and others: golden output, counts compared with the truth."""

import numpy as np
import pytest
from demo import DEMO, FOLDER, GOLDEN, make_recording
from gnuradio.mimopack import recording, wifi
from gnuradio.mimopack.apps.play.counts import Tally
from gnuradio.mimopack.apps.play.playback import Playback
from gnuradio.mimopack.wifi import mac
from wifi_air import data_mpdu


def _tally(path, detector, truth=True):
    reader = recording.Reader(path)
    tally = Tally(detector, recording.read_frames(reader.annotations) if truth else [], 20e6)
    playback = Playback(reader, 20e6)
    for frame in playback.frames(detector):
        tally.add(frame)
    tally.close(playback.samples, playback.samples == reader.num_samples)
    return tally


class TestDemo:
    @pytest.mark.quick
    @pytest.mark.parametrize("detector", GOLDEN["detectors"])
    def test_golden_output(self, detector):
        """The flowgraph gives the same result as the array interface."""
        tally = _tally(DEMO, detector)
        assert len(tally.frames) == len(GOLDEN["frames"])
        expected = GOLDEN["detectors"][detector]
        for index, (frame, known) in enumerate(zip(tally.frames, GOLDEN["frames"], strict=True)):
            assert abs(frame["start"] - known["start"]) <= 1
            assert frame["snr_db"] == pytest.approx(known["snr_db"], abs=0.3)
            ok = frame["num_mpdus_ok"] == frame["num_mpdus"] == 1
            # A lost frame may also have a wrong offset.
            assert not ok or frame["cfo_hz"] == pytest.approx(40e3, abs=800)
            # Rounding may decide borderline frames, see make_golden.py.
            if index not in expected["borderline"]:
                assert ok == (expected["fcs_ok"][index] == "1"), f"frame {index}"
        summary = tally.summary()
        # Each MPDU with a good frame check sequence equals the transmitted one.
        assert summary["frames_decoded"] == summary["mpdus_ok"]
        assert (summary["mpdus_unknown"], summary["frames_unknown"]) == (0, 0)
        assert abs(summary["frames_decoded"] - expected["decoded"]) <= len(expected["borderline"])

    @pytest.mark.quick
    def test_nway_and_mla_decode_what_mmse_loses(self):
        clear = {name: [ok if index not in result["borderline"] else None
                        for index, ok in enumerate(result["fcs_ok"])]
                 for name, result in GOLDEN["detectors"].items()}
        for name in ("nway", "mla"):
            assert sum(a == "1" and b == "0"
                       for a, b in zip(clear[name], clear["mmse"], strict=True)) >= 20

    def test_it_is_what_its_script_makes(self, tmp_path):
        result = make_recording(tmp_path / "r")
        assert result.exit_code == 0, result.output
        made, stored = recording.Reader(tmp_path / "r"), recording.Reader(DEMO, verify=True)
        # Another machine's math library may round differently.
        assert np.abs(made.read() - stored.read()).max() <= 1.5 / 32768
        assert made.annotations == stored.annotations
        assert "SIMULATED" in stored.description
        assert stored.global_info["mimopack:simulated"] is True
        assert stored.global_info["core:sha512"] == GOLDEN["recording_sha512"]
        assert sum(path.stat().st_size for path in FOLDER.glob(f"{DEMO.name}*")) < 4e6

    def test_a_recording_that_exists_stays_unless_overwriting_is_asked_for(self, tmp_path):
        options = ["--frames", 1, "--snr", 30]
        data = tmp_path / "r.sigmf-data"
        assert make_recording(tmp_path / "r", *options, "--seed", 1).exit_code == 0
        before = data.read_bytes()
        result = make_recording(tmp_path / "r", *options, "--seed", 2)
        assert result.exit_code == 1
        assert "exists" in result.output and "--overwrite" in result.output
        assert data.read_bytes() == before
        assert make_recording(tmp_path / "r", *options, "--seed", 2, "--overwrite").exit_code == 0
        assert data.read_bytes() != before
        data.unlink()    # only the metadata is left
        assert make_recording(tmp_path / "r", *options, "--seed", 1).exit_code == 0
        assert data.read_bytes() == before


class TestCounts:
    def test_they_are_those_of_the_array_interface(self, small):
        reader = recording.Reader(small)
        truth = recording.read_frames(reader.annotations)
        receiver = wifi.Receiver(4, detector="mmse")
        frames = receiver.process(reader.read()) + receiver.finish()
        decoded = {mpdu.data for frame in frames for mpdu in frame.mpdus if mpdu.fcs_ok}
        expected = sum(one.mpdus[0] in decoded for one in truth)
        summary = _tally(small, "mmse").summary()
        assert 0 < expected < len(truth) == 12
        assert (summary["frames_sent"], summary["frames_found"]) == (12, 12)
        assert summary["frames_decoded"] == summary["mpdus_ok"] == expected
        assert summary["packet_error_rate"] == pytest.approx(1 - expected / 12)
        assert [level["sent"] for level in summary["decoded_by_snr"]] == [6, 6]
        assert summary["decoded_by_snr"][1]["decoded"] == 6

    def test_without_annotations(self, small):
        known, unknown = (_tally(small, "nway", truth).summary() for truth in (True, False))
        assert unknown["frames_sent"] is None and unknown["decoded_by_snr"] is None
        assert unknown["frames_decoded"] == known["frames_decoded"] > 6
        assert (known["packet_error_rate_of"], unknown["packet_error_rate_of"]) == ("sent", "found")
        assert unknown["packet_error_rate"] == known["packet_error_rate"]

    def _tally_of(self, truth):
        return Tally("mmse", truth, 20e6)

    @staticmethod
    def _frame(start, *mpdus, good=True):
        """Return a received frame with these MPDUs."""
        return wifi.ReceivedFrame(
            start, 500, 20e6, None, wifi.HT(0, 100), "", 0.0, 20.0, (20.0,), (-20.0,), (-40.0,),
            mpdus=tuple(mac.Mpdu(mpdu, good, 0) for mpdu in mpdus))

    def test_the_truth_counts_more_than_the_frame_check_sequence(self):
        one, two, three = (data_mpdu(20, number) for number in range(3))
        sent = [recording.TrueFrame(1000, 500, (one,), 20.0),
                recording.TrueFrame(5000, 500, (two, two), 20.0),
                recording.TrueFrame(9000, 500, (three,), 30.0),
                recording.TrueFrame(9900, 500, None, 30.0)]
        tally = self._tally_of(sent)
        tally.add(self._frame(1003, one))
        tally.add(self._frame(5000, two))    # one of its two MPDUs
        tally.add(self._frame(7000, data_mpdu(20, 9)))    # no frame was sent there
        tally.close(10_000, True)
        summary = tally.summary()
        assert (summary["frames_sent"], summary["frames_found"]) == (3, 2)
        assert (summary["frames_decoded"], summary["mpdus_ok"]) == (1, 3)
        assert (summary["frames_unknown"], summary["mpdus_unknown"]) == (1, 1)
        assert summary["packet_error_rate"] == pytest.approx(2 / 3)
        assert summary["decoded_by_snr"] == [{"snr_db": 20.0, "decoded": 1, "sent": 2},
                                             {"snr_db": 30.0, "decoded": 0, "sent": 1}]
        tally.add(self._frame(5001, two))    # the other one
        assert tally.decoded_starts() == [1000, 5000]

    def test_a_cut_recording_counts_the_frames_that_end_in_it(self):
        mpdus = [data_mpdu(20, number) for number in range(3)]
        tally = self._tally_of([recording.TrueFrame(1000 * (1 + i), 500, (mpdu,), None)
                                for i, mpdu in enumerate(mpdus)])
        for i in range(2):
            tally.add(self._frame(1000 * (1 + i), mpdus[i]))
        tally.close(3400, complete=False)
        summary = tally.summary()
        assert (summary["frames_sent"], summary["frames_decoded"]) == (2, 2)
        assert not summary["complete"] and summary["packet_error_rate"] == 0

    def test_detectors_are_compared_frame_by_frame(self):
        one, other = self._tally_of([]), self._tally_of([])
        for tally, starts in ((one, (100, 2000, 5000)), (other, (110, 5000, 9000, 12000))):
            for start in starts:
                tally.add(self._frame(start, data_mpdu(20, 0)))
        one.add(self._frame(12000, data_mpdu(20, 0), good=False))
        assert (one.more_than(other), other.more_than(one)) == (1, 2)


class TestPlayback:
    def test_timing_plays_the_recording_as_often_as_asked(self, small):
        reader = recording.Reader(small)
        samples, seconds = Playback(reader, 20e6).time("mmse", 2.6 * reader.num_samples)
        assert samples == 3 * reader.num_samples and seconds > 0

    def test_a_recording_that_cannot_be_read_to_its_end_is_an_error(self, small, monkeypatch):
        def fail(*_, **__):
            raise OSError("cannot read")

        reader = recording.Reader(small)
        monkeypatch.setattr(recording.Reader, "read", fail)
        with pytest.raises(OSError, match="cannot read"):
            list(Playback(reader, 20e6).frames("mmse"))
