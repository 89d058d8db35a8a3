# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings with gaps: times of a stream, what a slow or full disk leaves, the last seconds."""

import errno
import json
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between, captures_of, later

RATE = 20e6


def _samples(channels, n, seed=0):
    parts = np.random.default_rng(seed).uniform(-0.9, 0.9, (channels, n, 2))
    return parts.astype(np.float32).view(np.complex64)[..., 0]


@pytest.mark.parametrize(("time", "text"), [
    ((0, 0.0), "1970-01-01T00:00:00.000000000Z"),
    ((1767323045, 0.123456789), "2026-01-02T03:04:05.123456789Z"),
    ((1767323044, 1 - 2**-40), "2026-01-02T03:04:05.000000000Z"),
    ((253402300799, 0.5), "9999-12-31T23:59:59.500000000Z")])
def test_times_are_written_to_a_nanosecond(time, text):
    assert recording.format_time(time) == text
    seconds, fraction = recording.parse_time(text)
    assert abs(between(time, (seconds, fraction))) < 1e-9


@pytest.mark.parametrize("text", ["now", "2026-13-01T00:00:00Z", "", "2026-01-02T03:04:05.x"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="core:datetime is no time"):
        recording.parse_time(text)
    with pytest.raises(ValueError, match="allowed are the years 1 to 9999"):
        recording.format_time((2**60, 0.0))


def test_times_that_continue_are_no_gap():
    line = recording.Timeline(61.44e6 / 7)
    exact = (1767323045, 0.1)
    for sample in (5, 1000, 10**6, 10**12):
        time = later(exact, (sample - 5) / (61.44e6 / 7))
        # As Soapy has it: whole nanoseconds.
        assert not line.add_time(sample, time[0], round(time[1], 9) % 1)
    assert (len(line.segments), line.gaps, line.lost) == (1, 0, 0)


def test_a_gap_a_repetition_and_a_new_frequency_begin_segments():
    line = recording.Timeline(RATE, 5e9)
    line.begin(100)
    line.add_time(100, 1000, 0.5)
    assert line.add_time(2100, 1000, 0.5 + 2500 / RATE)          # 500 samples are missing
    line.add_frequency(3100, 6e9)
    assert line.add_time(4100, 1000, 0.5 + 4000 / RATE)          # 500 come again
    assert [(one.start, one.frequency, round(between((1000, 0.5), one.time) * RATE))
            for one in line.segments] == [(100, 5e9, 0), (2100, 5e9, 2500), (3100, 6e9, 3500),
                                          (4100, 6e9, 4000)]
    assert (line.gaps, line.lost) == (2, 500)
    assert line.at(99) is None
    assert round(between((1000, 0.5), line.at(2200).time) * RATE) == 2600
    captures = captures_of([(one.start - 100, one) for one in line.segments], RATE)
    # The last one's time goes back, which an index cannot.
    assert [one.get("core:global_index") for one in captures] == [None, 2500, 3500, None]


def test_the_first_time_and_rate_hold_for_the_samples_before():
    line = recording.Timeline(RATE)
    line.begin(0)
    line.add_rate(1000, 10e6)
    line.add_time(1000, 50, 0.0)
    (only,) = line.segments
    assert (only.start, only.sample_rate, only.frequency) == (0, 10e6, None)
    assert between(only.time, (50, 0.0)) == pytest.approx(100e-6)
    line.add_rate(2000, 5e6)
    assert not line.add_time(3000, 50, 100e-6 + 200e-6)
    assert [one.sample_rate for one in line.segments] == [10e6, 5e6]


def test_segments_are_bounded_and_counted():
    line = recording.Timeline(RATE, most=10)
    for index in range(15):
        line.add_time(100 * index, 10 * index)
    assert (len(line.segments), line.gaps, line.untold) == (10, 14, 5)
    line.forget(550)
    assert line.at(550).start == 550
    assert line.segments[0].start == 500


@pytest.mark.parametrize(("tell", "said"), [
    (lambda line: line.add_rate(0, 0.0), "sample_rate: got 0.0"),
    (lambda line: line.add_rate(0, 1e13), r"sample_rate: got 1e\+13, allowed are up to 1e\+12"),
    (lambda line: line.add_frequency(0, np.nan), "frequency: got nan, allowed are"),
    (lambda line: line.add_time(0, 2**62), "seconds: got 4611686018427387904, allowed are 0 to"),
    (lambda line: line.add_time(0, 5, 1.0), "fraction: got 1.0"),
    (lambda line: [line.add_frequency(9, 1.0), line.add_frequency(3, 2.0)],
     "sample: got 3, must not be before 9")])
def test_what_a_device_cannot_mean_is_refused(tell, said):
    with pytest.raises(ValueError, match=said):
        tell(recording.Timeline(RATE))


def test_capture_segments_of_the_writer_come_back(tmp_path):
    samples = _samples(2, 300)
    with recording.Writer(tmp_path / "r", 2, RATE, frequency=5e9,
                          datetime="2026-01-02T03:04:05.5Z") as writer:
        writer.write(samples[:, :100])
        writer.add_capture(6e9, "2026-01-02T03:04:06.123456789Z", **{"core:global_index": 777})
        writer.add_capture(7e9, "2026-01-02T03:04:07.123456789Z")    # takes the place of the last
        with pytest.raises(ValueError, match="not valid in SigMF"):
            writer.add_capture("high")
        writer.write(list(samples[:, 100:]))
        writer.add_capture(8e9)                                      # which gets no samples
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert np.array_equal(reader.read(), samples)
    assert reader.segments == [
        recording.Segment(0, (1767323045, 0.5), 5e9, RATE),
        recording.Segment(100, (1767323047, 0.123456789), 7e9, RATE)]
    assert reader.start_time == 1767323045.5


def test_segments_that_metadata_tells_oddly_are_noted(tmp_path):
    path = recording.write(tmp_path / "r", _samples(1, 100), RATE, frequency=5e9)
    metadata = json.loads(path.read_text())
    metadata["global"]["core:extensions"] = [
        {"name": "mimopack", "version": "0.1.0", "optional": True}]
    metadata["captures"] = [
        {"core:sample_start": 20, "core:datetime": "2026-01-02T03:04:05Z"},
        {"core:sample_start": 40, "core:datetime": "2026-01-02T03:04:05.xZ", "core:frequency": 6e9},
        {"core:sample_start": 50, "mimopack:sample_rate": 10e6},
        {"core:sample_start": 60, "mimopack:sample_rate": -1},
        {"core:sample_start": 100}]
    path.write_text(json.dumps(metadata))
    reader = recording.Reader(path)
    assert [(one.start, one.frequency, one.sample_rate) for one in reader.segments] == [
        (0, 6e9, RATE), (20, None, RATE), (40, 6e9, RATE), (50, None, 10e6), (60, None, RATE)]
    assert between(reader.segments[0].time, reader.segments[1].time) == pytest.approx(1e-6)
    assert reader.segments[2].time is None
    for said in ("core:datetime is no time", "1 of 5 capture segments begin behind",
                 "mimopack:sample_rate: got -1"):
        assert any(said in note for note in reader.notes), said
    assert recording.Reader(path, frequency=1e9, sample_rate=1e6).segments[3] == \
        recording.Segment(50, None, 1e9, 1e6)


def test_annotations_are_checked_when_they_come(tmp_path):
    with recording.Writer(tmp_path / "r", 1, RATE) as writer:
        for start, fields, said in [
                (-1, {}, "start: got -1"), (0, {"label": 5}, "core:label: got 5, must be text"),
                (0, {"freq_lower_edge": 1.0}, "must be both there"),
                (0, {"freq_lower_edge": np.nan, "freq_upper_edge": 1.0}, "must be both there"),
                (0, {"mimopack:x": np.inf}, "what JSON does not have"),
                (0, {"mimopack:x": object()}, "what JSON does not have")]:
            with pytest.raises(ValueError, match=said):
                writer.annotate(start, 5, **fields)
        writer.write(np.zeros((1, 10)))
    assert recording.Reader(tmp_path / "r").annotations == []


class _Disk:
    """A ``Writer`` whose disk stands still until it is let go."""

    def __init__(self, writer, monkeypatch):
        self.go = threading.Event()
        write = writer.write_block

        def wait_and_write(*arguments):
            self.go.wait()
            write(*arguments)

        monkeypatch.setattr(writer, "write_block", wait_and_write)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_nothing_is_lost_where_the_stream_waits(tmp_path, monkeypatch, layout):
    samples = _samples(2, 3_000_000)      # 48 MB through a buffer of 16
    writer = recording.Writer(tmp_path / "r", 2, RATE, layout=layout)
    disk = _Disk(writer, monkeypatch)
    threading.Timer(0.2, disk.go.set).start()
    with recording.Recorder(writer, buffer_mib=16) as recorder:
        for start in range(0, samples.shape[1], 70_000):
            piece = samples[:, start:start + 70_000]
            assert recorder.write(piece) == piece.shape[1]
    assert (recorder.dropped, recorder.drops) == (0, 0)
    reader = recording.Reader(writer.path, verify=True)
    assert np.array_equal(reader.read(), samples)
    assert len(reader.segments) == 1


def test_what_a_slow_disk_cannot_take_is_a_counted_gap(tmp_path, monkeypatch):
    piece, total = 50_000, 60
    samples = _samples(2, piece * total)
    writer = recording.Writer(tmp_path / "r", 2, RATE, checksum=False)
    disk = _Disk(writer, monkeypatch)
    recorder = recording.Recorder(writer, "drop", buffer_mib=16)
    recorder.timeline.add_frequency(0, 5e9)
    recorder.timeline.add_time(0, 1000, 0.25)
    taken = []
    for index in range(total):
        if index == 45:
            disk.go.set()
            recorder.flush()
        part = samples[:, index * piece:(index + 1) * piece]
        taken.append(recorder.write(part))
        recorder.annotate(index * piece, piece, label=str(index))
    recorder.close()
    kept = [index for index, count in enumerate(taken) if count == piece]
    assert kept == [*range(20), *range(45, 60)]
    assert (recorder.dropped, recorder.drops) == (total * piece - sum(taken), 1)
    reader = recording.Reader(writer.path)
    before = sum(taken[:45])
    assert reader.num_samples == sum(taken)
    assert np.array_equal(reader.read(0, before), samples[:, :before])
    assert np.array_equal(reader.read(before), samples[:, 45 * piece:])
    first, second = reader.segments
    assert (second.start, second.frequency) == (before, 5e9)
    assert round(between(first.time, second.time) * RATE) == 45 * piece
    assert first.time == (1000, 0.25)
    assert reader.captures[1]["core:global_index"] == 45 * piece
    # Whole pieces keep their annotation, where their samples now are.
    found = {entry["core:label"]: entry["core:sample_start"] for entry in reader.annotations}
    assert sorted(found, key=int) == [str(index) for index in kept]
    for label, start in found.items():
        assert np.array_equal(reader.read(start, piece),
                              samples[:, int(label) * piece:(int(label) + 1) * piece])
    assert recorder.annotations_left_out == 25


def test_a_second_stream_goes_on_in_the_same_recording(tmp_path):
    samples = _samples(1, 400)
    recorder = recording.Recorder(recording.Writer(tmp_path / "r", 1, RATE))
    recorder.timeline.add_time(7, 1000)
    recorder.write(samples[:, :100], start=7)
    recorder.annotate(17, 10, label="first")
    recorder.annotate(0, 10, label="before")
    recorder.annotate(-5, 20, label="begun before")
    recorder.restart()
    recorder.timeline.add_time(0, 2000)
    recorder.timeline.add_time(150, 2001)
    recorder.write(samples[:, 100:])
    recorder.annotate(17, 10, label="second")
    recorder.close()
    reader = recording.Reader(tmp_path / "r")
    assert np.array_equal(reader.read(), samples)
    assert [(one.start, one.time) for one in reader.segments] == [
        (0, (1000, 0.0)), (100, (2000, 0.0)), (250, (2001, 0.0))]
    assert [(one["core:label"], one["core:sample_start"]) for one in reader.annotations] == [
        ("first", 10), ("second", 117)]
    assert recorder.annotations_left_out == 2
    with pytest.raises(ValueError, match="closed"):
        recorder.write(samples)


def test_wrong_arguments_of_the_recorder_are_named(tmp_path):
    writer = recording.Writer(tmp_path / "r", 1, RATE)
    with pytest.raises(ValueError, match="overload: got 'lose', allowed are wait, drop"):
        recording.Recorder(writer, "lose")
    with pytest.raises(ValueError, match="buffer_mib: got 1, allowed are 16 to"):
        recording.Recorder(writer, buffer_mib=1)
    recorder = recording.Recorder(writer)
    recorder.write(np.ones((1, 10)))
    with pytest.raises(ValueError, match="start: got 3, must not be before 10"):
        recorder.write(np.ones((1, 10)), start=3)
    with pytest.raises(ValueError, match=r"samples: got shape \(2, 10\), must be \(1, n\)"):
        recorder.write(np.ones((2, 10)))
    with pytest.raises(ValueError, match=r"samples: got shape \(1, 2, 3\), must be \(1, n\)"):
        recorder.write([np.ones((2, 3))])
    recorder.close()


@pytest.fixture
def small_disk():
    """Files may not grow beyond a size, as on a disk that is full; a write is cut there."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_what_a_full_disk_took_is_a_valid_recording(tmp_path, small_disk, layout):
    samples = _samples(3, 50_000)
    writer = recording.Writer(tmp_path / "r", 3, RATE, layout=layout)
    writer.write(samples[:, :10_000])
    size = 8 if layout == "collection" else 24
    small_disk(20_000 * size + 5)
    with pytest.raises(OSError):
        writer.write(samples[:, 10_000:])
    writer.close()
    reader = recording.Reader(writer.path, verify=True)
    assert reader.notes == []
    assert np.array_equal(reader.read(), samples[:, :20_000])


@pytest.mark.parametrize("overload", recording.OVERLOADS)
def test_a_full_disk_ends_the_recording_and_is_counted(tmp_path, small_disk, overload):
    samples = _samples(2, 2_000_000)
    writer = recording.Writer(tmp_path / "r", 2, RATE)
    recorder = recording.Recorder(writer, overload, buffer_mib=16)
    small_disk(5_000_001)
    failed = 0
    for start in range(0, 2_000_000, 100_000):
        try:
            recorder.write(samples[:, start:start + 100_000])
        except OSError:
            failed += 1
        recorder.flush()
    recorder.annotate(0, 10, label="there")
    recorder.annotate(1_500_000, 10, label="lost")
    recorder.close()
    kept = 5_000_001 // 16
    assert bool(failed) == (overload == "wait")
    assert recorder.error.errno == errno.EFBIG
    assert recorder.dropped == 2_000_000 - kept
    reader = recording.Reader(writer.path, verify=True)
    assert np.array_equal(reader.read(), samples[:, :kept])
    assert [entry["core:label"] for entry in reader.annotations] == ["there"]


def test_samples_make_room_for_metadata_on_a_full_disk(tmp_path, monkeypatch):
    from gnuradio.mimopack.recording import writer as module
    samples = _samples(2, 100_000)
    writer = recording.Writer(tmp_path / "r", 2, RATE)
    writer.write(samples)
    writer.annotate_later([(at, module.annotation_text(at, 10)) for at in (5, 99_000)])
    dump, refused = module._dump_to, []

    def full(metadata, handle, annotations):
        if len(refused) < 2:
            refused.append(handle.name)
            handle.write("{")
            raise OSError(errno.ENOSPC, "No space left on device")
        dump(metadata, handle, annotations)

    monkeypatch.setattr(module, "_dump_to", full)
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.sigmf-data", "r.sigmf-meta"]
    reader = recording.Reader(tmp_path / "r", verify=True)
    # 64 KiB, then four times that.
    assert reader.num_samples == 100_000 - 5 * 2**16 // 16
    assert np.array_equal(reader.read(), samples[:, :reader.num_samples])
    assert [one["core:sample_start"] for one in reader.annotations] == [5]
    assert reader.notes == []


def test_the_ring_holds_the_last_samples(tmp_path):
    samples = _samples(2, 100_000)
    ring = recording.Ring(2, RATE, 1000 / RATE, frequency=5e9)
    assert ring.snapshot() is None
    ring.timeline.add_time(5, 1000)
    written = 0
    for count in (1, 99, 400, 5000, 7, 30_000, 3):
        ring.write(samples[:, written:written + count], start=5 if not written else None)
        written += count
        if written < 1000:
            assert ring.snapshot().num_samples == written
    ring.annotate(5 + written - 1001, 10, label="too early")
    ring.annotate(5 + written - 500, 10, label="there")
    ring.annotate(5 + written - 5, 10, label="too late")
    path = ring.snapshot().write(tmp_path / "last", description="what was that?")
    reader = recording.Reader(path, verify=True)
    assert np.array_equal(reader.read(), samples[:, written - 1000:written])
    assert reader.description == "what was that?"
    assert reader.frequency == 5e9
    assert between((1000, 0.0), reader.segments[0].time) == pytest.approx((written - 1000) / RATE)
    (entry,) = reader.annotations
    assert (entry["core:label"], entry["core:sample_start"]) == ("there", 500)


def test_a_snapshot_stays_while_the_ring_goes_on(tmp_path):
    ring = recording.Ring(1, RATE, 1e-3, "ci16_le")
    old = np.full((1, 30_000), 0.25, np.complex64)
    ring.write(old)
    snapshot = ring.snapshot()
    ring.timeline.add_time(30_000, 5000)
    ring.annotate(15_000, 100, label="told late")
    for _ in range(100):
        ring.write(np.full((1, 5_000), -0.5, np.complex64))
    later_one = ring.snapshot()
    assert np.array_equal(recording.Reader(snapshot.write(tmp_path / "old")).read(),
                          old[:, :20_000])
    assert np.array_equal(recording.Reader(later_one.write(tmp_path / "new")).read(),
                          np.full((1, 20_000), -0.5, np.complex64))
    (entry,) = recording.Reader(tmp_path / "old").annotations
    assert (entry["core:label"], entry["core:sample_start"]) == ("told late", 5_000)
    held = ring.snapshot()
    ring.restart()
    ring.write(old)
    ring.annotate(held.start, 10, label="of another stream")
    assert recording.Reader(held.write(tmp_path / "held")).annotations == []


def test_the_ring_s_segments_are_those_of_its_samples(tmp_path):
    ring = recording.Ring(1, RATE, 100 / RATE)
    for index in range(50):
        ring.timeline.add_time(30 * index, 100 + index)
        ring.timeline.add_frequency(30 * index, 5e9 + index)
        ring.write(np.full((1, 30), index, np.complex64))
    reader = recording.Reader(ring.snapshot().write(tmp_path / "r"))
    assert [(one.start, one.frequency) for one in reader.segments] == [
        (0, 5e9 + 46), (10, 5e9 + 47), (40, 5e9 + 48), (70, 5e9 + 49)]
    assert [reader.read(one.start, 1)[0, 0] for one in reader.segments] == [46, 47, 48, 49]
    assert between((146, 20 / RATE), reader.segments[0].time) == pytest.approx(0, abs=1e-9)
    assert len(ring.timeline.segments) < 10


def test_a_ring_larger_than_memory_is_refused():
    with pytest.raises(ValueError, match="seconds: got 10000000.*allowed are up to"):
        recording.Ring(4, RATE, 1e7)
    with pytest.raises(ValueError, match="seconds: got 0"):
        recording.Ring(4, RATE, 0)


def test_a_received_frame_becomes_an_annotation(tmp_path):
    told = {"start": 40, "num_samples": 30, "format": "ht", "mcs": 28, "bandwidth_mhz": 20.0,
            "frequency": 5.18e9, "snr_db": 23.456, "num_mpdus": 2, "num_mpdus_ok": 1,
            "problem": "", "cfo_hz": None, "antenna_snr_db": [1.0], "complete": True}
    start, count, fields = recording.frame_annotation(told)
    with recording.Writer(tmp_path / "r", 1, RATE) as writer:
        writer.write(np.zeros((1, 100)))
        writer.annotate(start, count, **fields)
    annotations = recording.Reader(tmp_path / "r").annotations
    assert annotations == [{
        "core:sample_start": 40, "core:sample_count": 30, "core:label": "HT MCS 28",
        "core:comment": "MPDUs with a good FCS: 1 of 2, SNR 23.5 dB",
        "core:generator": "gr-mimopack", "core:freq_lower_edge": 5.17e9,
        "core:freq_upper_edge": 5.19e9, "mimopack:received": True, "mimopack:format": "ht",
        "mimopack:mcs": 28, "mimopack:bandwidth_mhz": 20.0, "mimopack:measured_snr_db": 23.456,
        "mimopack:num_mpdus": 2, "mimopack:num_mpdus_ok": 1, "mimopack:problem": "",
        "mimopack:complete": True}]
    # What was received is not what was sent.
    assert recording.read_frames(annotations) == []
    bare = recording.frame_annotation({"start": 1, "num_samples": 2, "problem": "no signal field"})
    assert bare[2]["label"] == "FRAME"
    assert bare[2]["comment"] == "no signal field"
    with pytest.raises(ValueError, match="num_samples: got None"):
        recording.frame_annotation({"start": 1})


def test_metadata_is_that_of_the_library(tmp_path):
    """Annotations are written one by one; the library would write the same bytes."""
    fields = {"x:y": {"annotations": []},
              "core:extensions": [{"name": "x", "version": "1.0.0", "optional": True}]}
    with recording.Writer(tmp_path / "r", 1, RATE, fields=fields) as writer:
        writer.write(np.zeros((1, 100)))
        writer.annotate(7, 3, label="\u00e4 \"annotations\": []", **{"mimopack:b": [1, {"c": 2}]})
        writer.annotate(5, 3)
    script = ("import sys, sigmf, warnings; warnings.simplefilter('ignore');"
              "print(sigmf.fromfile(sys.argv[1]).dumps())")
    again = subprocess.run([sys.executable, "-c", script, writer.path], check=True,
                           capture_output=True, text=True).stdout
    assert writer.path.read_text() == again
