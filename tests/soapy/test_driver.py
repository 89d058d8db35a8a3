# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SoapySDR driver in soapy/: it plays recordings like a radio, with faults on request."""

import json
import re
import time

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr
from gnuradio.mimopack import recording
from soapy_driver import LENGTH, RATE, SoapySDR, ramp, run, soapy
from source_tree import ROOT

NS = 1e9 / RATE


@pytest.fixture
def air(tmp_path):
    """A recording of four ramps."""
    return recording.write(tmp_path / "air", ramp(4), RATE, frequency=5.18e9)


def receive(arguments, count, channels=1, kind="fc32", seconds=10):
    """Run gr-soapy's source; return samples (channels, n) and the tags of the first channel."""
    flowgraph = gr.top_block()
    source = soapy.source("driver=mimopack", kind, channels, arguments, "", [""], [""])
    size = gr.sizeof_gr_complex if kind == "fc32" else 2 * gr.sizeof_short
    sinks = []
    for channel in range(channels):
        head = blocks.head(size, count)
        if kind == "fc32":
            sinks.append(blocks.vector_sink_c())
            flowgraph.connect((source, channel), head, sinks[-1])
        else:
            sinks.append(blocks.vector_sink_s(2))
            flowgraph.connect((source, channel), head,
                              blocks.copy(size), sinks[-1])
    width = 1 if kind == "fc32" else 2
    run(flowgraph, lambda: all(len(sink.data()) >= width * count for sink in sinks), seconds)
    tags = [(tag.offset, pmt.symbol_to_string(tag.key), pmt.to_python(tag.value))
            for tag in sinks[0].tags()]
    return np.array([sink.data() for sink in sinks]), tags


def make(arguments):
    return SoapySDR.Device(f"driver=mimopack,{arguments}")


class Receiver:
    """A SoapySDR receive stream with time stamps, which gr-soapy does not show."""

    def __init__(self, arguments="", channels=1, device=None, start=True):
        self.device = device or make(arguments)
        self.stream = self.device.setupStream(
            SoapySDR.SOAPY_SDR_RX, SoapySDR.SOAPY_SDR_CF32, list(range(channels)))
        self.channels = channels
        self.origin = None    # time of the first sample
        self.total = 0
        if start:
            assert self.device.activateStream(self.stream) == 0

    def __del__(self):
        self.device.closeStream(self.stream)

    def read(self, count, timeout_us=5_000_000):
        """Read; return (code, number of the first sample by its time stamp, samples)."""
        samples = np.empty((self.channels, count), np.complex64)
        result = self.device.readStream(self.stream, list(samples), count, 0, timeout_us)
        self.flags, self.stamp = result.flags, result.timeNs
        if result.ret <= 0:
            return result.ret, None, None
        assert result.flags & SoapySDR.SOAPY_SDR_HAS_TIME
        if self.origin is None:
            self.origin = result.timeNs
        self.total += result.ret
        return (result.ret, round((result.timeNs - self.origin) / NS), samples[:, :result.ret])

    def pieces(self, count):
        """Read ``count`` samples; return (first sample number by time stamp, samples) per read."""
        pieces, end = [], self.total + count
        while self.total < end:
            code, start, samples = self.read(min(5000, end - self.total))
            assert code > 0, SoapySDR.errToStr(code)
            pieces.append((start, samples))
        return pieces


class Transmitter:
    """A SoapySDR transmit stream with times, which gr-soapy does not pass."""

    def __init__(self, arguments, channels=2):
        self.device = make(arguments)
        self.stream = self.device.setupStream(
            SoapySDR.SOAPY_SDR_TX, SoapySDR.SOAPY_SDR_CF32, list(range(channels)))
        assert self.device.activateStream(self.stream) == 0

    def write(self, samples, flags=0, at=0, timeout_us=5_000_000):
        return self.device.writeStream(
            self.stream, list(samples), samples.shape[1], flags, at, timeout_us).ret

    def status(self, timeout_us=5_000_000):
        result = self.device.readStreamStatus(self.stream, timeout_us)
        return result.ret, result.flags, result.timeNs

    def close(self):
        self.device.closeStream(self.stream)


def test_samples_come_in_whole_packets(air):
    """No sample arrives before its packet is complete, whatever number a caller asks for."""
    packet = 363
    receiver = Receiver(f"recording={air},packet={packet}")
    before, sizes = time.monotonic_ns(), []
    while receiver.total < 20 * packet:
        code, start, samples = receiver.read(5 * packet)
        sizes.append(code)
        assert np.array_equal(numbers(samples[0]), start + np.arange(code))
        # No sample arrives before its time.
        assert time.monotonic_ns() - before >= (start + code - packet) * NS
    assert all(size % packet == 0 for size in sizes)
    code, start, _ = receiver.read(packet // 3)    # read a part, then the rest of the packet
    rest, _, _ = receiver.read(5 * packet - code)
    assert code == packet // 3 and (code + rest) % packet == 0


def times(tags):
    """Return (offset, seconds) of the rx_time tags."""
    return [(offset, value[0] + value[1]) for offset, key, value in tags if key == "rx_time"]


def numbers(samples):
    return samples.real.astype(int)


@pytest.mark.parametrize(("channels", "speed"), [(4, 0), (2, 1)])
def test_gr_soapy_receives_a_recording(air, channels, speed):
    samples, tags = receive(f"recording={air},speed={speed},buffer_s=5", LENGTH, channels)
    assert np.array_equal(samples, ramp(channels).astype(np.complex64))
    assert [key for _, key, _ in tags] == ["rx_time", "rx_rate", "rx_freq"]
    assert {key: value for _, key, value in tags}["rx_rate"] == RATE
    assert {key: value for _, key, value in tags}["rx_freq"] == 5.18e9


def test_an_overflow_loses_samples_and_is_reported(air):
    samples, tags = receive(f"recording={air},speed=0,overflow_at=5000:0.02s,"
                            "overflow_samples=700", 40000)
    kept = np.r_[0:5000, 5700:20000, 20700:41400]
    assert np.array_equal(numbers(samples[0]), kept)
    (first, start), *later = times(tags)
    assert first == 0
    assert [offset for offset, _ in later] == [5000, 19300]
    assert [round((at - start) * RATE) for _, at in later] == [5700, 20700]


def test_a_drop_loses_samples_and_only_the_time_stamp_tells(air):
    arguments = f"recording={air},speed=0,drop_every=10000,drop_samples=300"
    samples, tags = receive(arguments, 30000)
    kept = np.r_[0:10000, 10300:20000, 20300:30000, 30300:30900]
    assert np.array_equal(numbers(samples[0]), kept)
    assert len(times(tags)) == 1    # gr-soapy reads time stamps only after overflows
    pieces = Receiver(arguments).pieces(30000)
    assert [(start, numbers(piece[0])[0]) for start, piece in pieces
            if start in (10300, 20300, 30300)] == [(at, at) for at in (10300, 20300, 30300)]
    assert all(start == numbers(piece[0])[0] for start, piece in pieces)


def test_samples_are_delivered_again_with_their_old_times(air):
    arguments = f"recording={air},speed=0,duplicate_at=5000,duplicate_samples=900"
    samples, _ = receive(arguments, 20000)
    assert np.array_equal(numbers(samples[0]), np.r_[0:5000, 4100:5000, 5000:19100])
    pieces = Receiver(arguments).pieces(20000)
    assert [start for start, _ in pieces].count(4100) == 1
    assert all(start == numbers(piece[0])[0] for start, piece in pieces)


def test_a_channel_shifts(air):
    samples, _ = receive(f"recording={air},speed=0,shift_at=7000,shift_channel=1", 20000, 2)
    assert np.array_equal(numbers(samples[0]), np.arange(20000))
    assert np.array_equal(numbers(samples[1]), np.r_[0:7000, 6999:19999])
    assert np.all(samples[1].imag == 1)


def test_the_device_disappears(air):
    arguments = f"recording={air},speed=0,disappear_at=0.007s"
    samples, _ = receive(arguments, LENGTH, seconds=0.7)
    assert samples.shape == (1, 7000)
    radio = Receiver(arguments)
    radio.pieces(7000)
    assert [radio.read(100)[0] for _ in range(3)] == [SoapySDR.SOAPY_SDR_STREAM_ERROR] * 3
    assert radio.device.activateStream(radio.stream) == SoapySDR.SOAPY_SDR_STREAM_ERROR


def test_slow_readers_lose_samples_once_the_buffer_is_full(air):
    radio = Receiver(f"recording={air},repeat=1,buffer_s=0.01")
    time.sleep(0.03)
    before = []
    while (got := radio.read(4000))[0] > 0:
        before.append(got)
    assert got[0] == SoapySDR.SOAPY_SDR_OVERFLOW
    assert sum(code for code, _, _ in before) >= 10000
    code, start, samples = radio.read(100)
    lost = start - sum(code for code, _, _ in before)
    assert code > 0 and lost > 0
    assert numbers(samples[0])[0] == start % LENGTH
    assert int(radio.device.readSensor("rx_lost")) == lost


def test_a_recording_repeats_without_a_gap(air):
    samples, tags = receive(f"recording={air},speed=0,repeat=1", 150000, 2)
    assert np.array_equal(numbers(samples[1]), np.arange(150000) % LENGTH)
    assert len(times(tags)) == 1


@pytest.mark.parametrize("end, code", [("wait", "SOAPY_SDR_TIMEOUT"),
                                       ("disappear", "SOAPY_SDR_STREAM_ERROR")])
def test_the_end(air, end, code):
    radio = Receiver(f"recording={air},speed=0,end={end}")
    radio.pieces(LENGTH)
    assert radio.read(100, 10000)[0] == getattr(SoapySDR, code)


def test_all_channels_start_at_the_time_that_was_asked_for(air):
    radio = Receiver(f"recording={air}", channels=4, start=False)
    radio.device.setHardwareTime(7_000_000_000)
    at = radio.device.getHardwareTime() + 50_000_000
    assert radio.device.activateStream(radio.stream, SoapySDR.SOAPY_SDR_HAS_TIME, at) == 0
    assert radio.read(1000, 1000)[0] == SoapySDR.SOAPY_SDR_TIMEOUT
    code, _, samples = radio.read(1000)
    assert abs(radio.stamp - at) <= NS
    assert np.array_equal(samples, ramp(4)[:, :code])
    radio.device.deactivateStream(radio.stream)
    assert radio.device.activateStream(
        radio.stream, SoapySDR.SOAPY_SDR_HAS_TIME, at) == SoapySDR.SOAPY_SDR_TIME_ERROR


def test_a_stream_of_a_given_length_ends(air):
    radio = Receiver(f"recording={air},speed=0", start=False)
    assert radio.device.activateStream(radio.stream, 0, 0, 1500) == 0
    radio.pieces(1500)
    assert radio.flags & SoapySDR.SOAPY_SDR_END_BURST
    assert radio.read(10, 1000)[0] == SoapySDR.SOAPY_SDR_TIMEOUT


@pytest.mark.parametrize("datatype", ["cf32_le", "ci16_le", "ci8"])
def test_sample_formats(tmp_path, datatype):
    values = np.random.default_rng(1).integers(-120, 120, (2, 3, 40000)) / 128
    truth = (values[0] + 1j * values[1]).astype(np.complex64)
    path = recording.write(tmp_path / "air", truth, RATE, datatype=datatype)
    floats, _ = receive(f"recording={path},speed=0", 5000, 3)
    assert np.array_equal(floats, truth[:, :5000])
    integers, _ = receive(f"recording={path},speed=0", 5000, 3, "sc16")
    parts = integers.reshape(3, 5000, 2) / 32768
    assert np.array_equal(parts[..., 0] + 1j * parts[..., 1], truth[:, :5000])


def test_settings_change_faults_while_reading(air):
    radio = Receiver(f"recording={air},speed=0,drop_samples=50")
    radio.pieces(1000)
    radio.device.writeSetting("drop_at", "now")
    assert radio.device.readSetting("drop_at") == "now"
    assert radio.read(100)[1] == 1050
    with pytest.raises(ValueError, match="shift_channel: got \"?4\"?, allowed is 0 to 3"):
        radio.device.writeSetting("shift_channel", "4")


def test_gr_soapy_sets_what_a_radio_has(air):
    source = soapy.source("driver=mimopack", "fc32", 2, f"recording={air}", "", [""], [""])
    source.set_clock_source("external")
    source.set_time_source("external")
    # The Python binding of GNU Radio 3.10.5 has no default for "what".
    source.set_hardware_time(5_000_000_000, "")
    for channel in range(2):
        source.set_sample_rate(channel, RATE)
        source.set_frequency(channel, 5.18e9)
        source.set_antenna(channel, "RX")
        source.set_bandwidth(channel, RATE)
        source.set_gain_mode(channel, False)
        source.set_gain(channel, 20)
        source.set_dc_offset_mode(channel, True)
        source.set_dc_offset(channel, 0.1)
        source.set_iq_balance_mode(channel, True)
        source.set_iq_balance(channel, 0)
        source.set_frequency_correction(channel, 0)
        assert source.get_gain(channel) == 20 and source.get_dc_offset_mode(channel)
    assert source.get_clock_source() == "external"
    assert source.get_hardware_time("") >= 5_000_000_000
    assert make(f"recording={air}").getHardwareInfo()["origin"] == "recording"
    with pytest.raises(ValueError, match="sample rate"):
        source.set_sample_rate(0, 2 * RATE)
    with pytest.raises(ValueError, match=r"frequency: got 2412000000, allowed is 5180000000"):
        source.set_frequency(0, 2.412e9)
    with pytest.raises(ValueError, match="Only  4 channels"):
        soapy.source("driver=mimopack", "fc32", 5, f"recording={air}", "", [""], [""])


@pytest.mark.parametrize("arguments, message", [
    ("", "recording, capture, loopback: got none"),
    ("recording=missing", "recording: missing: no such recording"),
    ("recordin=x", 'argument: got "recordin", allowed is buffer_s, '),
    ("loopback=identity,speed=0", 'speed: got "0", allowed is more than 0 with loopback'),
    ("loopback=identity,repeat=1", 'repeat: got "1", allowed is none without a recording'),
    ("loopback=identity,drop_at=1:x", 'drop_at: got "x", allowed is a number of samples'),
    ("loopback=identity,shift_channel=2", "shift_channel: got 2, allowed is 0 to 1"),
])
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        soapy.source("driver=mimopack", "fc32", 1, arguments, "", [""], [""])


@pytest.mark.parametrize("field, message", [
    ({"core:datatype": "ri16_le"}, "core:datatype: got"),
    ({"core:num_channels": 0}, "core:num_channels: got 0, allowed is 1 to 64"),
    ({"core:num_channels": 2.5}, "core:num_channels: must be an integer"),
    ({"core:trailing_bytes": 2**32}, "core:trailing_bytes is not supported"),
    ({"core:sample_rate": None}, "sample_rate"),
    ({"core:dataset": "../other"}, "core:dataset: allowed is the name of a file"),
])
def test_recordings_that_it_does_not_play_are_refused(air, field, message):
    whole = json.loads(air.read_text())
    whole["global"].update(field)
    air.write_text(json.dumps(whole))
    with pytest.raises(ValueError, match=message):
        make(f"recording={air}")


def test_a_dataset_that_is_a_link_to_another_folder_is_refused(air, tmp_path):
    (tmp_path / "far").mkdir()
    data = air.with_suffix(".sigmf-data")
    data.rename(tmp_path / "far/data")
    data.symlink_to(tmp_path / "far/data")
    with pytest.raises(ValueError, match="a symbolic link to another folder, must be a file in"):
        make(f"recording={air}")


def bursts(path):
    """Return (start, samples) of each burst in a capture."""
    reader = recording.Reader(path)
    whole = np.concatenate(list(reader.pieces(10**6)), axis=1)
    marks = json.loads(path.read_text())["annotations"]
    assert not np.any(np.delete(whole, np.concatenate([
        np.arange(mark["core:sample_start"], mark["core:sample_start"] + mark["core:sample_count"])
        for mark in marks]), axis=1))
    return [(mark["core:sample_start"],
             whole[:, mark["core:sample_start"]:][:, :mark["core:sample_count"]])
            for mark in marks]


def noise(channels, count, seed=1):
    parts = np.random.default_rng(seed).normal(0, 0.2, (2, channels, count))
    return (parts[0] + 1j * parts[1]).astype(np.complex64)


class Bursts(gr.sync_block):
    """Source of bursts with length tags; a burst waits until ``ready`` reaches its samples."""

    def __init__(self, bursts, ready):
        gr.sync_block.__init__(self, "bursts", None, [np.complex64] * len(bursts[0]))
        self._bursts, self._ready, self._sent = list(bursts), ready, 0

    def work(self, _inputs, outputs):
        if not self._bursts:
            return -1
        if self._ready() < self._sent:
            time.sleep(0.001)
            return 0
        burst = self._bursts.pop(0)
        count = burst.shape[1]
        for port, (output, samples) in enumerate(zip(outputs, burst, strict=True)):
            output[:count] = samples
            self.add_item_tag(port, self._sent, pmt.intern("packet_len"), pmt.from_long(count))
        self._sent += count
        return count


def test_gr_soapy_transmits_bursts_into_a_capture(tmp_path):
    truth = [noise(2, count) for count in (500, 700, 1000)]
    flowgraph = gr.top_block()
    sink = soapy.sink("driver=mimopack", "fc32", 2,
                      f"capture={tmp_path}/sent,rate={RATE},channels=2", "", [""], [""])
    sink.set_length_tag_name("packet_len")
    sink.set_frequency(0, 5.2e9)
    source = Bursts(truth, lambda: sink.nitems_read(0))
    for port in range(2):
        flowgraph.connect((source, port), (sink, port))
    run(flowgraph, lambda: sink.nitems_read(0) == 2200)
    # GNU Radio 3.10's sink does not initialise its count of a burst's samples, so it can lose the
    # first samples.
    sent = bursts(tmp_path / "sent.sigmf-meta")
    assert len(sent) in (2, 3)
    first, second = sent[-2:]
    assert np.array_equal(first[1], truth[1]) and np.array_equal(second[1], truth[2])
    assert sent[0][0] == 0 and second[0] >= first[0] + 700
    reader = recording.Reader(tmp_path / "sent")
    assert reader.sample_rate == RATE and reader.frequency == 5.2e9


def test_bursts_are_put_at_their_times(tmp_path):
    radio = Transmitter(f"capture={tmp_path}/sent,rate={RATE}")
    truth = noise(2, 500)
    at = radio.device.getHardwareTime() + 100_000_000
    end = SoapySDR.SOAPY_SDR_HAS_TIME | SoapySDR.SOAPY_SDR_END_BURST
    assert radio.write(truth, end, at) == 500
    assert radio.write(truth, end, at + 3_000_000) == 500
    done = [radio.status(), radio.status()]
    assert [(code, bool(flags & SoapySDR.SOAPY_SDR_END_BURST)) for code, flags, _ in done] == [
        (0, True)] * 2
    assert [round((stamp - at) / NS) for _, _, stamp in done] == [500, 3500]
    radio.close()
    sent = bursts(tmp_path / "sent.sigmf-meta")
    assert [start for start, _ in sent] == [0, 3000]
    assert all(np.array_equal(samples, truth) for _, samples in sent)


def test_late_bursts_are_reported_and_not_sent(tmp_path):
    radio = Transmitter(f"capture={tmp_path}/sent,rate={RATE}")
    late = radio.device.getHardwareTime()
    time.sleep(0.001)
    truth = noise(2, 500)
    assert radio.write(truth, SoapySDR.SOAPY_SDR_HAS_TIME, late) == 500
    assert radio.write(truth, SoapySDR.SOAPY_SDR_END_BURST) == 500
    assert radio.status()[::2] == (SoapySDR.SOAPY_SDR_TIME_ERROR, late)
    assert radio.write(truth[:, :10], SoapySDR.SOAPY_SDR_END_BURST) == 10
    assert radio.status()[0] == 0
    assert radio.device.readSensor("tx_late") == "1"
    radio.close()
    (_, samples), = bursts(tmp_path / "sent.sigmf-meta")
    assert np.array_equal(samples, truth[:, :10])


def test_a_burst_that_runs_dry_is_reported(tmp_path):
    radio = Transmitter(f"capture={tmp_path}/sent,rate={RATE}")
    at = radio.device.getHardwareTime() + 50_000_000
    assert radio.write(noise(2, 500), SoapySDR.SOAPY_SDR_HAS_TIME, at) == 500
    code, _, stamp = radio.status()
    assert code == SoapySDR.SOAPY_SDR_UNDERFLOW
    assert round((stamp - at) / NS) == 500
    assert radio.device.readSensor("tx_underflows") == "1"


def test_gr_soapy_receives_what_it_transmits(tmp_path):
    arguments = f"loopback=identity,snr_db=inf,rate={RATE},buffer_s=5,serial={tmp_path.name}"
    truth = noise(2, 3000)
    flowgraph = gr.top_block()
    source = soapy.source("driver=mimopack", "fc32", 2, arguments, "", [""], [""])
    sink = soapy.sink("driver=mimopack", "fc32", 2, arguments, "", [""], [""])
    assert "SIMULATED" in make(arguments).getHardwareInfo()["origin"]
    sinks = [blocks.vector_sink_c() for _ in range(2)]
    for channel in range(2):
        flowgraph.connect(blocks.vector_source_c(truth[channel]), (sink, channel))
        flowgraph.connect((source, channel), blocks.head(8, 10**6), sinks[channel])
    run(flowgraph, lambda: min(np.count_nonzero(sink.data()) for sink in sinks) >= 3000)
    heard = np.array([sink.data()[:min(len(sink.data()) for sink in sinks)] for sink in sinks])
    first = np.flatnonzero(heard[0])[0]
    assert np.array_equal(heard[:, first:first + 3000], truth)
    assert not np.any(heard[:, :first]) and not np.any(heard[:, first + 3000:])


def test_bursts_come_back_through_the_channel_at_their_time(tmp_path):
    count, taps, offset = 4000, 3, 1234.5
    radio = Transmitter(f"loopback=rayleigh,taps={taps},cfo_hz={offset},snr_db=30,rate={RATE},"
                        f"buffer_s=5,seed=5,channels=2,serial={tmp_path.name}")
    receiver = Receiver(device=radio.device, channels=2)
    truth = noise(2, count)
    at = radio.device.getHardwareTime() + 50_000_000
    assert radio.write(truth, SoapySDR.SOAPY_SDR_HAS_TIME | SoapySDR.SOAPY_SDR_END_BURST,
                       at) == count
    pieces = receiver.pieces(120000)
    heard = np.concatenate([piece for _, piece in pieces], axis=1)
    start = round((at - receiver.origin) / NS)
    quiet = np.concatenate([heard[:, :start], heard[:, start + count + taps:]], axis=1)
    level = np.mean(np.abs(quiet)**2)
    assert np.isclose(level, 1e-3, rtol=0.05)
    # Without the carrier offset, each antenna's signal is linear in the transmitted samples.
    burst = heard[:, start:start + count] * np.exp(-2j * np.pi * offset / RATE * np.arange(count))
    delayed = np.concatenate([np.roll(truth, tap, axis=1) for tap in range(taps)])
    system = delayed[:, taps:].T
    h, *_ = np.linalg.lstsq(system, burst[:, taps:].T, rcond=None)
    left = np.mean(np.abs(burst[:, taps:].T - system @ h)**2)
    assert np.isclose(left, 1e-3, rtol=0.1)
    assert np.linalg.matrix_rank(h[:2]) == 2 and np.all(np.abs(h) > 1e-3)


def test_the_readme_has_every_argument(air):
    text = (ROOT / "soapy/README.md").read_text()
    with pytest.raises(ValueError) as refusal:
        make(f"recording={air},unknown=1")
    names = str(refusal.value).split("allowed is ")[1].split(", ")
    assert len(names) > 25
    ours = set(names) - {"driver", "label"}
    assert [name for name in sorted(ours) if f"`{name}" not in text] == []
