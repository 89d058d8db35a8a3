# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi --radio`` with each fault of the SoapySDR driver.

The tests check decoded frames, messages, and the end of the command.
"""

import json
import time

import pytest
from gnuradio.mimopack.apps.wifi import live
from gnuradio.mimopack.recording.timeline import between
from gnuradio.mimopack.wifi.csi import read_csi
from wifi_sky import GAP, LOST, RATE, length_of, middle_of, on_air


class Outcome:
    """Results of a run: exit status, output, frames, and summary.json."""

    def __init__(self, sky, folder, faults, samples, *options):
        result = on_air(
            sky, "--json", folder / "f.json", "--csi", folder / "c.npz", "--output", folder,
            "--no-pictures", "--duration", (samples - 100) / RATE, *options, faults=faults)
        self.status, self.output = result.exit_code, result.output
        assert "Traceback" not in self.output, self.output
        self.frames = json.loads((folder / "f.json").read_text())
        self.summary = json.loads((folder / "summary.json").read_text())
        self.csi = list(read_csi(folder / "c.npz"))

    @property
    def complete(self):
        return [one for one in self.frames if one["complete"]]

    def lost(self):
        """Return (gaps, samples lost in them, samples dropped)."""
        return tuple(self.summary[name] for name in ("gaps", "lost", "dropped"))


def check(sky, outcome, hit, moved, times=None):
    """Check that all frames except those hit by a fault are there, at the right samples and times.

    Args:
        hit: (first, last) sample of the recording that the fault removed or changed.
        moved: function from a sample number in the recording to the number in the stream.
        times: function from a sample number in the recording to the number by the radio's clock;
            None means ``moved``.
    """
    whole = [sent for sent in sky.sent
             if sent.start > hit[1] or sent.start + length_of(sky, sent) < hit[0]]
    assert len(whole) == len(sky.sent) - 1
    found = outcome.complete
    assert [[mpdu["hex"] for mpdu in one["mpdus"]] for one in found] \
        == [[mpdu.hex() for mpdu in sent.mpdus] for sent in whole]
    times = times or moved
    for one, sent in zip(found, whole, strict=True):
        assert abs(one["start"] - moved(sent.start)) <= 2
        apart = between(found[0]["rx_time"], one["rx_time"]) * RATE
        assert apart == pytest.approx(times(sent.start) - times(whole[0].start), abs=4)
    assert outcome.status == 0, outcome.output


def test_an_overflow(sky, tmp_path):
    """The frame that it hits is lost, the gap is counted, and later times are right."""
    at = middle_of(sky, 6)
    got = Outcome(sky, tmp_path, f",overflow_at={at},overflow_samples={LOST}", sky.samples - LOST)
    check(sky, got, (at, at + LOST), lambda sample: sample - LOST * (sample > at),
          lambda sample: sample)
    assert got.lost() == (1, LOST, 0)
    assert f"1 gap: the radio lost {LOST} samples per antenna" in got.output


@pytest.mark.parametrize("ppm", [20_000])
def test_a_clock_that_drifts(sky, tmp_path, ppm):
    """The drift is far larger than real. Samples and times are the device's, so there is no gap."""
    before = time.time()
    got = Outcome(sky, tmp_path, f",clock_ppm={ppm}", sky.samples)
    check_all(sky, got)
    assert before - 1 < sum(got.frames[0]["rx_time"]) < time.time() + 1


def check_all(sky, got):
    """Check that every frame is there, at its sample and its time."""
    assert [one["complete"] for one in got.frames] == [True] * len(sky.sent)
    for one, sent in zip(got.frames, sky.sent, strict=True):
        assert one["mpdus"][0]["hex"] == sent.mpdus[0].hex()
        assert abs(one["start"] - sent.start) <= 2
        assert between(got.frames[0]["rx_time"], one["rx_time"]) == pytest.approx(
            (one["start"] - got.frames[0]["start"]) / RATE, abs=1e-9)
    assert got.lost() == (0, 0, 0) and got.status == 0


def test_a_radio_that_disappears(sky, tmp_path, monkeypatch):
    """Earlier frames are kept. The command says that no more samples come, and fails."""
    monkeypatch.setattr(live, "_SILENCE", 0.5)
    at = sky.sent[8].start - GAP // 2
    got = Outcome(sky, tmp_path, f",disappear_at={at}", 10 * sky.samples)
    assert got.status == 2 and "no sample came for 0.5 s" in got.output
    assert [one["mpdus"][0]["hex"] for one in got.complete] \
        == [sent.mpdus[0].hex() for sent in sky.sent[:8]]
    assert got.summary["complete"] is False
