# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrays that hold the latest samples of a stream."""

import numpy as np
import pytest
from gnuradio.mimopack.wifi import sample_store
from gnuradio.mimopack.wifi.sample_store import SampleStore


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(sample_store, "_BYTES", 2 * 8 * 100)


def append(store, count, keep):
    """Append samples whose values are their positions; return the array that holds them."""
    array, origin, at = store.room(count, keep)
    assert store.end == origin + at + count
    array[:, at:at + count] = np.arange(store.end - count, store.end)
    return array


def test_samples_of_several_arrays():
    store = SampleStore(2, 40)
    for _ in range(50):
        append(store, 17, store.end - 30)
    for first, stop in [(40, 890), (500, 501), (300, 700)]:
        samples = store.cut(first, stop)
        assert samples.shape == (2, stop - first)
        np.testing.assert_array_equal(samples, [range(first, stop)] * 2)


def test_arrays_are_used_again_unless_somebody_holds_them():
    store, arrays = SampleStore(2, 0), set()
    for _ in range(100):
        arrays.add(id(append(store, 17, store.end - 30)))
        store.forget(store.end - 30)
    assert len(arrays) <= 3

    held, expected = store.cut(store.end - 10, store.end), range(store.end - 10, store.end)
    for _ in range(100):
        append(store, 17, store.end - 30)
        store.forget(store.end - 30)
    np.testing.assert_array_equal(held, [expected] * 2)


def test_a_new_stream_uses_the_arrays_of_the_old_one():
    store = SampleStore(2, 0)
    array = append(store, 17, 0)
    kept = id(array)
    del array
    store.restart(1000)
    assert (store.begin, store.end, store.has_room(1)) == (1000, 1000, False)
    assert id(append(store, 17, 1000)) == kept
    np.testing.assert_array_equal(store.cut(1000, 1017), [range(1000, 1017)] * 2)


def test_few_arrays_wait_and_no_large_ones():
    store = SampleStore(2, 0)
    held = [append(store, 99, store.end) for _ in range(20)]
    append(store, 500, store.end)
    store.restart(0)
    assert len(store._dropped) == sample_store._MOST_DROPPED < len(held)
    assert all(array.nbytes <= 4 * sample_store._BYTES for array in store._dropped)
