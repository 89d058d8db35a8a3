# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stream times: gaps, repetitions and the segments of a recording."""

import json

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between, captures_of, later
from recordings import random_samples

RATE = 20e6


@pytest.mark.parametrize(("time", "text"), [
    ((0, 0.0), "1970-01-01T00:00:00.000000000Z"),
    ((1767323045, 0.123456789), "2026-01-02T03:04:05.123456789Z"),
    ((253402300799, 0.5), "9999-12-31T23:59:59.500000000Z")])
def test_times_are_written_to_a_nanosecond(time, text):
    assert recording.format_time(time) == text
    seconds, fraction = recording.parse_time(text)
    assert abs(between(time, (seconds, fraction))) < 1e-9


@pytest.mark.parametrize("text", ["now", "2026-13-01T00:00:00Z", "", "2026-01-02T03:04:05.x"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="core:datetime is not an ISO 8601 time"):
        recording.parse_time(text)
    with pytest.raises(ValueError, match="allowed are the years 1 to 9999"):
        recording.format_time((2**60, 0.0))


def test_times_that_continue_are_no_gap():
    line = recording.Timeline(61.44e6 / 7)
    exact = (1767323045, 0.1)
    for sample in (5, 1000, 10**6, 10**12):
        time = later(exact, (sample - 5) / (61.44e6 / 7))
        # SoapySDR's times are whole nanoseconds.
        assert not line.add_time(sample, time[0], round(time[1], 9) % 1)
    assert (len(line.segments), line.gaps, line.lost) == (1, 0, 0)


def test_a_gap_a_repetition_and_a_new_frequency_begin_segments():
    line = recording.Timeline(RATE, 5e9)
    line.begin(100)
    line.add_time(100, 1000, 0.5)
    assert line.add_time(2100, 1000, 0.5 + 2500 / RATE)          # 500 samples are missing
    line.add_frequency(3100, 6e9)
    assert line.add_time(4100, 1000, 0.5 + 4000 / RATE)          # 500 samples are repeated
    assert [(one.start, one.frequency, round(between((1000, 0.5), one.time) * RATE))
            for one in line.segments] == [(100, 5e9, 0), (2100, 5e9, 2500), (3100, 6e9, 3500),
                                          (4100, 6e9, 4000)]
    assert (line.gaps, line.lost) == (2, 500)
    assert line.cut(99, 100) == []
    assert round(between((1000, 0.5), line.cut(2200, 2201)[0].time) * RATE) == 2600
    captures = captures_of([(one.start - 100, one) for one in line.segments], RATE)
    # The last segment's time goes backward, but core:global_index cannot.
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


def test_old_segments_are_forgotten():
    line = recording.Timeline(RATE)
    for index in range(10):
        line.add_time(100 * index, 10 * index)
    line.forget(550)
    assert line.cut(550, 551)[0].start == 550 and line.segments[0].start == 500


@pytest.mark.parametrize(("tell", "said"), [
    (lambda line: line.add_rate(0, 1e13), r"sample_rate: got 1e\+13, allowed are up to 1e\+12"),
    (lambda line: line.add_frequency(0, np.nan), "frequency: got nan, allowed are"),
    (lambda line: line.add_time(0, 2**62), "seconds: got 4611686018427387904, allowed are 0 to"),
    (lambda line: [line.add_frequency(9, 1.0), line.add_frequency(3, 2.0)],
     "sample: got 3, must not be before 9")])
def test_what_a_device_cannot_mean_is_refused(tell, said):
    with pytest.raises(ValueError, match=said):
        tell(recording.Timeline(RATE))


def test_capture_segments_of_the_writer_come_back(tmp_path):
    samples = random_samples(2, 300)
    with recording.Writer(tmp_path / "r", 2, RATE, frequency=5e9,
                          datetime="2026-01-02T03:04:05.5Z") as writer:
        writer.write(samples[:, :100])
        writer.add_capture(6e9, "2026-01-02T03:04:06.123456789Z", **{"core:global_index": 777})
        writer.add_capture(7e9, "2026-01-02T03:04:07.123456789Z")    # replaces the empty segment
        with pytest.raises(ValueError, match="not valid in SigMF"):
            writer.add_capture("high")
        writer.write(list(samples[:, 100:]))
        writer.add_capture(8e9)                                      # no samples follow
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert np.array_equal(reader.read(), samples)
    assert reader.segments == [
        recording.Segment(0, (1767323045, 0.5), 5e9, RATE),
        recording.Segment(100, (1767323047, 0.123456789), 7e9, RATE)]
    assert reader.start_time == 1767323045.5


def test_segments_that_metadata_tells_oddly_are_noted(tmp_path):
    path = recording.write(tmp_path / "r", random_samples(1, 100), RATE, frequency=5e9)
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
    for said in ("core:datetime is not an ISO", "1 of 5 capture segments begin after",
                 "mimopack:sample_rate: got -1"):
        assert any(said in note for note in reader.notes), said
    assert recording.Reader(path, frequency=1e9, sample_rate=1e6).segments[3] == \
        recording.Segment(50, None, 1e9, 1e6)


def test_annotations_are_checked_when_they_come(tmp_path):
    with recording.Writer(tmp_path / "r", 1, RATE) as writer:
        for start, fields, said in [
                (-1, {}, "start: got -1"), (0, {"label": 5}, "core:label: got 5, must be text"),
                (0, {"freq_lower_edge": 1.0}, "must be two numbers"),
                (0, {"mimopack:x": np.inf}, "a value that JSON cannot represent")]:
            with pytest.raises(ValueError, match=said):
                writer.annotate(start, 5, **fields)
        writer.write(np.zeros((1, 10)))
    assert recording.Reader(tmp_path / "r").annotations == []
