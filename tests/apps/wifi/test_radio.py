# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open and set up radios for mimopack wifi: the driver of soapy/, and a USRP."""

import time

import pytest
from commands import invoke
from gnuradio.mimopack.recording.timeline import between
from usrp import Usrp
from wifi_sky import FREQUENCY, LOST, RATE, frames_of, on_air


def test_a_clock_is_set_at_a_pulse(sky, tmp_path):
    """With a time source of its own, the device's time is that of the pulse."""
    before = time.time()
    result = on_air(sky, "-q", "--json", tmp_path / "f.json", "--time-source", "external",
                    "--duration", (sky.samples - 100) / RATE)
    assert result.exit_code == 0, result.output
    frames = frames_of(tmp_path / "f.json")
    assert len(frames) == len(sky.sent)
    assert before - 1 < sum(frames[0]["rx_time"]) < time.time() + 1


@pytest.mark.parametrize("arguments, said", [
    (["--antennas", 3], "--antennas: got 3, the device has 2"),
    (["--rate", "40e6"], "--rate: Unsupported sample rate"),
    (["--frequency", "5.2G"], "--frequency: got 5200000000, allowed is 5180000000"),
    (["--gain", "100"], "--gain: got 100 dB, the device has 0 to 80 dB"),
    (["--gain", "10,20,30"], "--gain: got 3 values, must be 1 or one for each of 2 antennas"),
    (["--gain", "auto"], "--gain: Channel 0 does not support AGC"),
    (["--antenna-names", "RX2"], "Available antennas are: [RX]"),
    (["--bandwidth", "2e9"], "--bandwidth: got 2000000000, allowed is 0 to 1e9 Hz"),
    (["--clock-source", "gps"], "Valid clock sources: [internal, external]"),
    (["--keep", "1"], "--keep: with --radio, this option needs --record"),
    (["--record", "/no/where"], "--record: "),
    (["--record", "r", "--keep", "1e6"], "--keep: got 1000000.0, which need"),
    (["a.sigmf-meta"], "--radio DEVICE --frequency HZ, not both")])
def test_a_wrong_setting_is_refused_in_a_sentence(sky, arguments, said):
    result = on_air(sky, *arguments)
    assert result.exit_code == 2 and said in result.output, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments, said", [
    (["--radio", "driver=none_such", "--frequency", "5.18G"], "no device for 'driver=none_such'"),
    (["--radio", "driver=mimopack,foo=1", "--frequency", "5.18G"], '--radio: argument: got "foo"'),
    (["--radio", "soapy,driver=none_such", "--frequency", "5.18G"],
     "no device for 'driver=none_such'"),
    (["--radio", "driver=uhd,type=none_such", "--frequency", "5.18G"], "--radio: "),
    (["--radio", "driver=mimopack,loopback=identity", "--frequency", "1e14"],
     "--frequency: got 1e+14, allowed"),
    (["--radio", "serial=F5", "--frequency", "5.18G"],
     "--radio: got 'serial=F5', must be driver=NAME"),
    (["--radio", "none_such", "--frequency", "5.18G"],
     "--radio: got 'none_such', must be driver=NAME"),
    (["--radio", "driver=mimopack,recording", "--frequency", "5.18G"],
     "--radio: got 'recording', must be driver=NAME"),
    (["--radio", "driver=mimopack"], "--radio needs --frequency"),
    ([], "give a RECORDING, or a radio with --radio DEVICE"),
    (["a.sigmf-meta", "--gain", "3"], "--gain is an option of --radio"),
    (["a.sigmf-meta", "--no-correction"], "--correction is an option of --radio")])
def test_what_is_no_radio_is_refused_in_a_sentence(arguments, said):
    result = invoke("wifi", *arguments)
    assert result.exit_code == 2 and said in result.output, result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("device", ["driver=uhd,serial=F5", "uhd,serial=F5"])
def test_a_usrp(sky, tmp_path, usrp, device):
    before = time.time()
    result = invoke("wifi", "--radio", device, "--frequency", FREQUENCY, "--antennas", 2, "--gain",
                    "30,40", "--antenna-names", "RX2", "--clock-source", "external", "--json",
                    tmp_path / "f.json")
    assert result.exit_code == 0, result.output
    source = Usrp.made
    assert source.address == "serial=F5"
    assert [call for call in source.calls if call[0].startswith("set_")] == [
        ("set_clock_source", "external", 0), ("set_samp_rate", RATE),
        ("set_antenna", "RX2", 0), ("set_antenna", "RX2", 1),
        ("set_center_freq", FREQUENCY, 0), ("set_center_freq", FREQUENCY, 1),
        ("set_gain", 30.0, 0), ("set_gain", 40.0, 1),
        ("set_auto_dc_offset", True, 0), ("set_auto_iq_balance", True, 0),
        ("set_auto_dc_offset", True, 1), ("set_auto_iq_balance", True, 1)]
    # The device's clock was set to the host's, and its channels start together a little later.
    assert before < source.clock < source.begins.get_real_secs() < time.time() + 1
    frames = frames_of(tmp_path / "f.json")
    assert [one["complete"] for one in frames] == [index != 4 for index in range(15)]
    begins = int(source.begins.get_full_secs()), source.begins.get_frac_secs()
    for one, sent in zip(frames, sky.sent, strict=True):
        assert between(begins, one["rx_time"]) * RATE == pytest.approx(sent.start, abs=3)
    assert f"1 gap: the radio lost {LOST} samples" in result.output


@pytest.mark.parametrize("clock, locked, noted", [
    ("external", False, True), ("external", True, False), ("internal", False, False)])
def test_a_reference_clock_that_is_missing_is_noted(usrp, monkeypatch, clock, locked, noted):
    monkeypatch.setattr(Usrp, "locked", locked)
    result = invoke("wifi", "--radio", "uhd", "--frequency", FREQUENCY, "--clock-source", clock)
    assert ("note: board 0 is not locked to its reference clock, 'external'"
            in result.output) == noted


@pytest.mark.parametrize("arguments, said", [
    (["--antennas", 3], "--antennas: got 3, the device has fewer: multi_usrp: RX "
     "channel 2 out of range"),
    (["--gain", "80"], "--gain: got 80 dB, the device has 0 to 76 dB"),
    (["--rate", "40e6"], "--rate: got 40 MS/s, the device offers 20 MS/s instead"),
    (["--frequency", "2.4e9"], "--frequency: got 2400 MHz, the device is at 5180 MHz instead"),
    (["--antenna-names", "RX1"], "--antenna-names: possible values are: [TX/RX, RX2].")])
def test_a_usrp_refuses_in_a_sentence(usrp, arguments, said):
    result = invoke("wifi", "--radio", "uhd", "--frequency", FREQUENCY, *arguments)
    assert result.exit_code == 2 and said in result.output, result.output
