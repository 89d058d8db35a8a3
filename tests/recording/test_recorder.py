# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of live streams to a slow or full disk, and their metadata."""

import errno
import threading

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between
from limits import small_files
from recordings import random_samples

RATE = 20e6


class _Disk:
    """Block the writes of a ``Writer`` until ``go`` is set."""

    def __init__(self, writer, monkeypatch):
        self.go = threading.Event()
        write = writer.write_block

        def wait_and_write(*arguments):
            self.go.wait()
            write(*arguments)

        monkeypatch.setattr(writer, "write_block", wait_and_write)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_nothing_is_lost_where_the_stream_waits(tmp_path, monkeypatch, layout):
    samples = random_samples(2, 3_000_000)      # 48 MB through a buffer of 16 MiB
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
    samples = random_samples(2, piece * total)
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
    # Each piece kept whole has its annotation at the new position of its samples.
    found = {entry["core:label"]: entry["core:sample_start"] for entry in reader.annotations}
    assert sorted(found, key=int) == [str(index) for index in kept]
    for label, start in found.items():
        assert np.array_equal(reader.read(start, piece),
                              samples[:, int(label) * piece:(int(label) + 1) * piece])
    assert recorder.annotations_left_out == 25


def test_a_second_stream_goes_on_in_the_same_recording(tmp_path):
    samples = random_samples(1, 400)
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
    recorder.close()


@pytest.mark.parametrize("overload", recording.OVERLOADS)
def test_a_full_disk_ends_the_recording_and_is_counted(tmp_path, overload):
    samples = random_samples(2, 2_000_000)
    writer = recording.Writer(tmp_path / "r", 2, RATE)
    recorder = recording.Recorder(writer, overload, buffer_mib=16)
    failed = 0
    with small_files(5_000_001):
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


@pytest.mark.parametrize("overload", recording.OVERLOADS)
def test_a_disk_that_fails_at_the_last_samples_is_said_at_the_end(tmp_path, overload):
    samples = random_samples(1, 100_000)
    writer = recording.Writer(tmp_path / "r", 1, RATE)
    recorder = recording.Recorder(writer, overload, buffer_mib=16)
    recorder.write(samples)    # less than a block: the disk thread gets it at the end
    with small_files(400_000):
        if overload == "wait":
            with pytest.raises(OSError) as caught:
                recorder.close()
            assert caught.value is recorder.error
        recorder.close()
    assert recorder.error.errno == errno.EFBIG and recorder.dropped == 50_000
    assert np.array_equal(recording.Reader(writer.path, verify=True).read(), samples[:, :50_000])
