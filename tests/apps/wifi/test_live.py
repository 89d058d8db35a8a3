# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack wifi --radio with the driver of soapy/: decoding, recording and refused options."""

import errno
import json
import os
import pty
import signal
import threading
import time

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from commands import invoke
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps.wifi.outputs import JsonFile
from gnuradio.mimopack.recording.timeline import between
from wifi_sky import (
    FREQUENCY,
    LOST,
    RATE,
    frames_of,
    middle_of,
    on_air,
    pcap_times,
    spawn,
)


def _timeless(frames):
    return [{key: value for key, value in one.items() if key != "rx_time"} for one in frames]


def test_a_radio_gives_what_its_recording_gives(sky, tmp_path):
    before = time.time()
    result = on_air(sky, "--json", tmp_path / "live.json", "--pcap", tmp_path / "live.pcap",
                    "--csi", tmp_path / "live.npz", "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 0, result.output
    assert "2 antennas, 20 MS/s, 5180 MHz" in result.output.splitlines()[0]
    assert result.output.count("FCS") >= len(sky.sent)
    invoke("wifi", sky.path, "--json", tmp_path / "file.json", "--csi", tmp_path / "file.npz")
    live, file = frames_of(tmp_path / "live.json"), frames_of(tmp_path / "file.json")
    assert len(file) == len(sky.sent) and _timeless(live) == file
    assert (tmp_path / "live.npz").stat().st_size > 1000
    # The device's clock was set to the host's. Times follow the sample rate.
    times = [one["rx_time"] for one in live]
    assert before - 1 < sum(times[0]) < time.time() + 1
    for one, when in zip(live, times, strict=True):
        assert between(times[0], when) == pytest.approx((one["start"] - live[0]["start"]) / RATE,
                                                        abs=1e-9)
    stamps = pcap_times(tmp_path / "live.pcap")
    expected = [sum(one["rx_time"]) for one in live for _ in one["mpdus"]]
    assert stamps == pytest.approx(expected, abs=1e-6)


def test_what_is_recorded_is_received_again(sky, tmp_path):
    seconds = (sky.samples - LOST - 100) / RATE
    result = on_air(sky, "-q", "--json", tmp_path / "live.json", "--record", tmp_path / "r",
                    "--duration", seconds,
                    faults=f",overflow_at={middle_of(sky, 4)},overflow_samples={LOST}")
    assert result.exit_code == 0, result.output
    assert f"1 gap: the radio lost {LOST} samples per antenna" in result.output
    assert f"{tmp_path / 'r.sigmf-meta'}" in result.output
    live = frames_of(tmp_path / "live.json")
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert len(reader.segments) == 2    # one for each gap
    received = [one for one in reader.annotations if one.get("mimopack:received")]
    assert [one["core:sample_start"] for one in received] == [one["start"] for one in live]
    assert reader.frequency == FREQUENCY and reader.sample_rate == RATE
    first = live[0]
    assert between(reader.segments[0].time, first["rx_time"]) == pytest.approx(
        first["start"] / RATE, abs=1e-9)
    invoke("wifi", "-q", tmp_path / "r", "--json", tmp_path / "again.json")
    again = frames_of(tmp_path / "again.json")
    assert len(again) == len(sky.sent) and _timeless(again) == _timeless(live)
    assert sum(not one["complete"] for one in again) == 1
    for one, other in zip(again, live, strict=True):
        assert abs(between(one["rx_time"], other["rx_time"])) < 2e-9
    second = on_air(sky, "-q", "--record", tmp_path / "r", "--duration", seconds)
    assert second.exit_code == 2 and "--record: " in second.output


def test_a_disk_that_is_full_ends_the_command(sky, tmp_path, monkeypatch):
    def write(self, frame, when=None, _write=JsonFile.write):
        if frame.start > sky.sent[4].start:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _write(self, frame, when)

    monkeypatch.setattr(JsonFile, "write", write)
    result = on_air(sky, "-q", "--record", tmp_path / "r", "--json", tmp_path / "f.json",
                    "--csi", tmp_path / "c.npz", "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 2 and "--json: cannot write" in result.output
    assert "No space left" in result.output and "Stopped by an error." in result.output
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert reader.num_channels == 2 and reader.num_samples > 0
    assert (tmp_path / "c.npz").is_file() and not (tmp_path / "f.json").exists()


@pytest.mark.parametrize("threads", [2])
def test_auto_takes_a_detector_that_keeps_up(sky, slow_nway, tmp_path, threads):
    result = on_air(sky, "-q", "--detector", "auto", "--duration", 4, "--json", tmp_path / "f.json",
                    "--output", tmp_path, "--no-pictures", "--threads", threads,
                    faults=",repeat=1")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "summary.json").read_text())
    switch, = told["detector_switches"]
    assert (switch["before"], switch["after"], told["detector"]) == ("nway", "mmse", "mmse")
    assert "% of it detection, is too much" in switch["reason"]
    assert f"detector nway -> mmse: {switch['reason']}" in result.output
    several = [one for one in frames_of(tmp_path / "f.json")
               if one["num_streams"] == 2 and one["mpdus"]]
    names = [one["detector"] for one in several]
    change = names.index("mmse")
    assert 0 < change < len(names) - 1
    assert set(names[:change]) == {"nway"} and set(names[change:]) == {"mmse"}


@pytest.mark.parametrize("asked_by", ["signal", "key"])
def test_ctrl_c_ends_with_the_summary_and_what_was_kept_stays(sky, tmp_path, asked_by):
    keyboard, terminal = pty.openpty()
    child = spawn(
        "--radio", f"driver=mimopack,recording={sky.path},repeat=1,speed=0.05", "--frequency",
        FREQUENCY, "--antennas", 2, "--json", tmp_path / "f.json", "--record", tmp_path / "k",
        "--keep", 0.05, stdin=terminal)
    watchdog = threading.Timer(30, child.kill)
    watchdog.start()
    try:
        lines = []
        while not any("FCS" in line for line in lines[-1:]):
            lines.append(child.stdout.readline())
            assert lines[-1], lines
        if asked_by == "key":
            os.write(keyboard, b"\n")
        else:
            child.send_signal(signal.SIGUSR1)
        while not lines[-1].startswith("written: "):
            lines.append(child.stdout.readline())
            assert lines[-1], lines
        child.send_signal(signal.SIGINT)
        rest = child.communicate(timeout=30)[0]
    finally:
        watchdog.cancel()
        child.kill()
        os.close(keyboard)
        os.close(terminal)
    assert child.returncode == 130, rest
    assert "Ended by Ctrl-C." in rest and "of 2 antennas searched" in rest
    assert frames_of(tmp_path / "f.json")
    kept = recording.Reader(tmp_path / "k-001")
    assert 0 < kept.num_samples <= 0.05 * RATE and kept.num_channels == 2


def test_a_run_that_does_not_begin_leaves_no_recording(sky, tmp_path):
    result = on_air(sky, "--record", tmp_path / "r", "--json", tmp_path / "no" / "f.json")
    assert result.exit_code == 2 and "--json: cannot write" in result.output
    result = on_air(sky, "--record", tmp_path / "r", "--json", tmp_path / "r.sigmf-meta")
    assert result.exit_code == 2 and "is the recording too" in result.output
    assert not list(tmp_path.iterdir())
