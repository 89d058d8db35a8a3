# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The thread that waits for a flowgraph's end: it alone calls stop and wait, never both at once."""

import threading
import time

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr
from gnuradio.mimopack import _runtime
from gnuradio.mimopack.apps.waiter import Flowgraph, Waiter
from gnuradio.mimopack.blocks.hierarchy import hierarchical_block

PATIENCE = 30    # seconds, for a busy machine


class Pausing(gr.sync_block):
    """A source that sends nothing until ``go`` is set, and then ends or fails."""

    def __init__(self, failure=None):
        gr.sync_block.__init__(self, "pausing", None, [np.complex64])
        self.go, self._failure = threading.Event(), failure

    def work(self, _, output):
        if not self.go.wait(0.01):
            return 0
        if self._failure:
            raise self._failure
        return -1


class Hidden(hierarchical_block):
    """A hierarchical block with one sink."""

    def __init__(self):
        hierarchical_block.__init__(self, "hidden", 1)
        self.connect_inputs(blocks.null_sink(gr.sizeof_gr_complex), None)


class Listener(gr.basic_block):
    """A block with a message input only."""

    def __init__(self):
        gr.basic_block.__init__(self, "listener", None, None)
        self.message_port_register_in(pmt.intern("in"))


@pytest.fixture
def calls(monkeypatch):
    """Note the calls of stop and wait, and check that no two are in progress at once."""
    made, active = [], []

    def watch(name):
        call = getattr(gr.top_block, name)

        def watched(self):
            assert not active, f"{name} during {active}"
            active.append(name)
            made.append(name)
            try:
                call(self)
            finally:
                active.remove(name)

        monkeypatch.setattr(gr.top_block, name, watched)

    watch("stop")
    watch("wait")
    return made


def run(source, *behind):
    top = Flowgraph()
    top.connect(source, *behind)
    return top, Waiter(top)


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_an_end_by_itself_needs_no_stop(calls):
    source = Pausing()
    top, waiter = run(source, blocks.null_sink(gr.sizeof_gr_complex))
    assert top.runs() and not waiter.ended.wait(0.1)
    source.go.set()
    assert waiter.ended.wait(PATIENCE) and waiter.failure is None
    assert calls == ["wait"]
    waiter.stop()    # too late, and harmless
    assert calls == ["wait"]


def test_stop_ends_a_flowgraph(calls):
    _, waiter = run(Pausing(), blocks.head(gr.sizeof_gr_complex, 5), Hidden())
    assert not waiter.ended.wait(0.1)
    waiter.stop()
    assert waiter.ended.is_set() and waiter.failure is None
    assert calls == ["stop", "wait"]


def test_several_threads_stop_a_flowgraph(calls):
    _, waiter = run(Pausing(), Hidden())
    threads = [threading.Thread(target=waiter.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert waiter.ended.is_set() and calls == ["stop", "wait"]


def test_many_flowgraphs_that_end_while_they_are_stopped(calls):
    for _ in range(200):
        source = Pausing()
        _, waiter = run(source, Hidden())
        source.go.set()
        waiter.stop()
        assert waiter.ended.is_set() and waiter.failure is None
    assert calls.count("wait") == 200


def test_a_thread_that_died_does_not_run():
    source, sink = Pausing(RuntimeError("injected")), blocks.null_sink(gr.sizeof_gr_complex)
    _, waiter = run(source, sink)
    assert _runtime.any_runs([source.to_basic_block()])
    source.go.set()
    until(lambda: not _runtime.any_runs([source.to_basic_block()]))
    assert _runtime.any_runs([sink.to_basic_block()])    # GNU Radio lets it wait for ever
    waiter.stop()


def test_blocks_with_messages_only_run():
    source, hidden, listeners = Pausing(), Hidden(), [Listener(), Listener()]
    sender = blocks.message_strobe(pmt.PMT_NIL, 1000)
    top = Flowgraph()
    top.connect(source, hidden)
    top.msg_connect(sender, pmt.intern("strobe"), listeners[0], pmt.intern("in"))
    top.msg_connect((sender, "strobe"), (listeners[1], "in"))
    waiter = Waiter(top)
    source.go.set()
    until(lambda: not _runtime.any_runs([source.to_basic_block(), hidden.to_basic_block()]))
    assert all(_runtime.any_runs([one.to_basic_block()]) for one in (sender, *listeners))
    assert not waiter.ended.wait(0.1) and top.runs()
    waiter.stop()
    assert waiter.ended.is_set()


def test_hierarchical_blocks_of_others_are_refused():
    class Foreign(gr.hier_block2):
        def __init__(self):
            gr.hier_block2.__init__(self, "foreign", gr.io_signature(1, 1, gr.sizeof_gr_complex),
                                    gr.io_signature(0, 0, 0))
            self.connect(self, blocks.null_sink(gr.sizeof_gr_complex))

    with pytest.raises(TypeError, match="got the hierarchical block foreign"):
        Flowgraph().connect(Pausing(), Foreign())


def test_a_failure_of_wait_is_told_and_the_flowgraph_stops(monkeypatch):
    wait, failures = gr.top_block.wait, [RuntimeError("injected")]

    def failing(self):
        if failures:
            raise failures.pop()
        wait(self)

    monkeypatch.setattr(gr.top_block, "wait", failing)
    source = Pausing()
    _, waiter = run(source, Hidden())
    source.go.set()
    assert waiter.ended.wait(PATIENCE) and str(waiter.failure) == "injected"


def test_a_flowgraph_that_does_not_start(monkeypatch, calls):
    def failing(_):
        raise RuntimeError("injected")

    monkeypatch.setattr(gr.top_block, "start", failing)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="injected"):
        run(Pausing(), Hidden())
    until(lambda: threading.active_count() <= before)
    assert calls == []


def test_a_refused_thread_starts_nothing(monkeypatch):
    def refused(_):
        raise RuntimeError("can't start new thread")

    top, source = Flowgraph(), Pausing()
    top.connect(source, Hidden())
    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(top, "start", lambda: pytest.fail("the flowgraph was started"))
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Waiter(top)


def test_an_interrupted_stop_does_not_wait_again():
    _, waiter = run(Pausing(), Hidden())
    waiter.ended = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        waiter.stop()
    waiter.stop()
    until(waiter.ended.is_set)


class Interrupted(threading.Event):
    """An event whose wait ends by Ctrl-C."""

    def wait(self):
        raise KeyboardInterrupt
