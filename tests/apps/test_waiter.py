# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The thread that waits for a flowgraph's end: it alone calls stop and wait, never both at once."""

import threading

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr
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
    """Note which of stop and wait is in progress, and check that no two are."""
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


def started(source, *behind):
    top = Flowgraph()
    top.connect(source, *behind)
    top.start()
    return top


def test_an_end_by_itself_needs_no_stop(calls):
    source = Pausing()
    top = started(source, blocks.null_sink(gr.sizeof_gr_complex))
    waiter = Waiter(top)
    assert top.runs() and not waiter.ended.wait(0.1)
    source.go.set()
    assert waiter.ended.wait(PATIENCE) and waiter.failure is None
    assert calls == ["wait"]
    waiter.stop()    # too late, and harmless
    assert calls == ["wait"]


def test_stop_ends_a_flowgraph(calls):
    waiter = Waiter(started(Pausing(), blocks.head(gr.sizeof_gr_complex, 5), Hidden()))
    assert not waiter.ended.wait(0.1)
    waiter.stop()
    assert waiter.ended.is_set() and waiter.failure is None
    assert calls == ["stop", "wait"]


def test_many_flowgraphs_that_end_while_they_are_stopped(calls):
    for _ in range(200):
        source = Pausing()
        waiter = Waiter(started(source, Hidden()))
        source.go.set()
        waiter.stop()
        assert waiter.ended.is_set() and waiter.failure is None
    assert "wait" in calls


def test_a_thread_that_died_does_not_run():
    source = Pausing(RuntimeError("injected"))
    top = started(source, blocks.null_sink(gr.sizeof_gr_complex))
    source.go.set()
    waiter = Waiter(top)
    waiter.ended.wait(0.2)
    waiter.stop()    # GNU Radio lets the sink wait for ever
    assert waiter.ended.is_set()


def test_blocks_inside_and_with_messages_only_run():
    source, hidden, listeners = Pausing(), Hidden(), [Listener(), Listener()]
    sender = blocks.message_strobe(pmt.PMT_NIL, 1000)
    top = Flowgraph()
    top.connect(source, hidden)
    top.msg_connect(sender, "strobe", listeners[0], "in")
    top.msg_connect((sender, "strobe"), (listeners[1], "in"))
    top.start()
    waiter = Waiter(top)
    source.go.set()
    assert not waiter.ended.wait(0.1) and top.runs()    # the sender goes on
    waiter.stop()
    assert waiter.ended.is_set()
