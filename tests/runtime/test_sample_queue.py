# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The queue between a flowgraph's samples and a thread of Python."""

import threading
import time

import numpy as np
import pmt
import pytest
from flowgraphs import until
from gnuradio import gr
from gnuradio.mimopack import _runtime


def taker(queue, wait=lambda: None):
    """Take what is in a queue, on a thread: (the thread, list of (first, samples, tags))."""
    took = []

    def run():
        while (taken := queue.take()) is not None:
            wait()
            first, samples, tags = taken
            took.append((first, samples.copy(), [tag.offset for tag in tags]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, took


def ended(thread):
    thread.join(10)
    return not thread.is_alive()


def test_a_queue_drops_whole_spans_and_keeps_their_tags():
    """Dropping goes on until half of the queue is free; tags come with the samples behind."""
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(2, 1000, 65536, True)
    stream = np.arange(4000) + 1j * np.array([[1], [2]])

    def put(first, count):
        tag = gr.tag_t()
        tag.offset, tag.key = first, pmt.intern("rx_time")
        queue.put(first, stream[:, first:first + count], [tag])

    queue.open()
    thread, took = taker(queue, lambda: goes_on.wait(10))
    put(0, 400)
    put(400, 400)
    put(800, 400)     # 1200 are too many
    put(1200, 100)    # 900 are still more than half
    assert (queue.dropped, queue.waiting) == (500, 800)
    goes_on.set()
    until(lambda: not queue.waiting)
    put(1300, 300)
    put(1600, 500)
    queue.close()
    assert ended(thread)
    assert (queue.dropped, queue.waiting) == (500, 0)
    firsts = [first for first, _, _ in took]
    assert firsts == sorted(firsts)
    for first, samples, _ in took:
        assert np.array_equal(samples, stream[:, first:first + samples.shape[1]])
    taken = np.concatenate([first + np.arange(samples.shape[1]) for first, samples, _ in took])
    assert np.array_equal(taken, np.r_[0:800, 1300:2100])
    tags = {first: offsets for first, _, offsets in took}
    assert [offset for offsets in tags.values() for offset in offsets] == [
        0, 400, 800, 1200, 1300, 1600]
    assert tags[1300][:3] == [800, 1200, 1300]
    queue.open()    # another stream
    thread, took = taker(queue)
    queue.put(0, stream[:, :10], [])
    queue.close()
    assert ended(thread)
    (first, samples, tags), = took
    assert (first, tags) == (0, []) and np.array_equal(samples, stream[:, :10])


def test_samples_stay_as_they_are_while_somebody_holds_them():
    queue = _runtime.SampleQueue(1, 40, 10, True)
    queue.open()
    held = []
    for first in range(0, 400, 10):
        queue.put(first, np.full((1, 10), first, np.complex64), [])
        _, samples, _ = queue.take()
        if first < 50:
            held.append(samples)
    assert [set(samples[0].tolist()) for samples in held] == [{10 * i} for i in range(5)]


def test_a_queue_holds_back_who_is_too_fast():
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(1, 900, 300, False)
    stream = np.arange(5000) + 0j
    queue.open()
    thread, took = taker(queue, lambda: goes_on.wait(10))
    bringer = threading.Thread(target=lambda: queue.put(0, stream[None], []), daemon=True)
    bringer.start()
    until(lambda: queue.waiting >= 900)
    time.sleep(0.05)    # in which more would come if nothing held them back
    assert bringer.is_alive() and queue.waiting == 900 and queue.has_more
    goes_on.set()
    assert ended(bringer)
    queue.close()
    assert ended(thread)
    assert (queue.dropped, queue.waiting) == (0, 0)
    assert [first for first, _, _ in took] == sorted(first for first, _, _ in took)
    assert max(len(samples[0]) for _, samples, _ in took) == 300
    assert np.array_equal(np.concatenate([samples[0] for _, samples, _ in took]), stream)


def test_who_brings_samples_rests_until_they_are_taken():
    goes_on = threading.Event()
    queue = _runtime.SampleQueue(1, 1000, 1000, True)
    queue.open()
    thread, _ = taker(queue, lambda: goes_on.wait(10))
    queue.put(0, np.zeros((1, 100)), [])
    queue.rest(0, 0.01)
    assert queue.waiting == 100    # not for longer than that
    threading.Timer(0.05, goes_on.set).start()
    queue.rest(0, 10)
    assert queue.waiting == 0
    queue.close()
    assert ended(thread)


def test_a_queue_refuses_another_number_of_antennas():
    queue = _runtime.SampleQueue(2, 1000, 1000, True)
    with pytest.raises(ValueError, match=r"samples: must be \(2, n\)"):
        queue.put(0, np.zeros((1, 100)), [])


def test_an_abandoned_queue_drops_what_comes():
    queue = _runtime.SampleQueue(1, 900, 300, False)
    queue.open()
    bringer = threading.Thread(target=lambda: queue.put(0, np.zeros((1, 5000)), []), daemon=True)
    bringer.start()
    until(lambda: queue.waiting == 900)
    assert queue.take()[1].shape == (1, 300)
    queue.abandon()
    assert ended(bringer) and queue.take() is None
    assert queue.dropped == 5000 - 900
    queue.open()    # nothing is left of the stream before
    assert queue.waiting == 0
    queue.put(0, np.ones((1, 10)), [])
    first, samples, _ = queue.take()
    assert first == 0 and np.array_equal(samples, np.ones((1, 10)))
