# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ring buffer that keeps the last seconds of a stream."""

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between
from recordings import random_samples

RATE = 20e6


def test_the_ring_holds_the_lastrandom_samples(tmp_path):
    samples = random_samples(2, 100_000)
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


def test_the_ring_s_segments_are_those_of_itsrandom_samples(tmp_path):
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
    with pytest.raises(ValueError, match="seconds: got 10000000.*allows up to"):
        recording.Ring(4, RATE, 1e7)
    with pytest.raises(ValueError, match="seconds: got 0"):
        recording.Ring(4, RATE, 0)
