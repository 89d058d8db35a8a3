# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wifi_receiver in flowgraphs that change or stop while samples come.

GNU Radio 3.10 then clears all buffers and counts samples from 0 again. The sources here wait until
the receiver has read all samples, so any loss is the receiver's. Each flowgraph runs in a process
of its own, because a hang could not be ended otherwise.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import flowgraphs
import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from wifi_blocks import expected, mixed, pdu, post

CHANGES = (5, 10, 15)    # the flowgraph changes before or in these frames


class Pieces(gr.sync_block):
    """Play samples once, over several starts; wait before each of the given samples."""

    def __init__(self, samples, waits):
        self.samples, self.at = samples, 0
        self.waits = [*waits, samples.shape[1]]
        gr.sync_block.__init__(self, "pieces", None, [np.complex64] * len(samples))

    def work(self, _input_items, output_items):
        count = min(self.waits[0] - self.at, len(output_items[0]), 777)
        if not count:
            if self.at == self.samples.shape[1]:
                return -1
            time.sleep(1e-3)
        for out, row in zip(output_items, self.samples, strict=True):
            out[:count] = row[self.at:self.at + count]
        self.at += count
        return count


class Graph:
    """A receiver of samples, whose messages are kept."""

    def __init__(self, samples, waits):
        self.top, self.source = gr.top_block(), Pieces(samples, waits)
        self.receivers = []
        self.pdus, self.frames = flowgraphs.Messages(), flowgraphs.Messages()
        self.links = [(self.source, 0), (self.source, 1)]
        self.more = []    # GNU Radio does not keep Python blocks
        self.connect_receiver()

    def connect_receiver(self):
        self.receiver = mimopack.wifi_receiver(2)
        self.receivers.append(self.receiver)
        for port, link in enumerate(self.links):
            self.top.connect(link, (self.receiver, port))
        self.top.msg_connect(self.receiver, "out", self.pdus, "in")
        self.top.msg_connect(self.receiver, "frames", self.frames, "in")

    def samples_read(self):
        return sum(receiver.counts()["samples"] for receiver in self.receivers)

    def frames_without_problem(self):
        return sum(not frame["problem"] for frame in self.frames.values())

    def change(self, how):
        if how == "stop":
            self.top.stop()
            self.top.wait()
            self.top.start()
            return
        self.top.lock()
        getattr(self, how)()
        self.top.unlock()

    def a_block_between(self):
        self.more.append(blocks.copy(gr.sizeof_gr_complex))
        self.top.disconnect(self.links[1], (self.receiver, 1))
        self.top.connect(self.links[1], self.more[-1], (self.receiver, 1))
        self.links[1] = self.more[-1]

    def another_receiver(self):
        for port, link in enumerate(self.links):
            self.top.disconnect(link, (self.receiver, port))
        self.top.msg_disconnect(self.receiver, "out", self.pdus, "in")
        self.top.msg_disconnect(self.receiver, "frames", self.frames, "in")
        self.connect_receiver()


def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def play(how, where):
    """Change a flowgraph between two frames or within one, three times.

    With ``where`` = "anywhere", change it as often as possible while samples come. Return the
    results of the receiver.
    """
    samples, sent = mixed(count=20)
    at = [sent[index].start for index in CHANGES]
    waits = {"between": [start - 200 for start in at],    # within the gap
             "within": [sent[index].start + sent[index].format.num_samples // 2
                        for index in CHANGES],
             "anywhere": []}[where]
    graph = Graph(np.tile(samples, 4) if where == "anywhere" else samples, waits)
    graph.top.start()
    if where == "anywhere":
        rng = np.random.default_rng(3)
        for _ in range(40):
            time.sleep(rng.uniform(0, 0.02))
            graph.change(how)
    else:
        for wait in waits:
            whole = [len(frame.mpdus) for index, frame in enumerate(sent)
                     if frame.start + frame.format.num_samples <= wait
                     and not (where == "within" and index in CHANGES)]
            until(lambda wait=wait, whole=whole: graph.samples_read() == wait
                  and len(graph.pdus.received) == sum(whole)
                  and graph.frames_without_problem() == len(whole), "samples are left")
            graph.change(how)
            graph.source.waits.pop(0)
    waiter = threading.Thread(target=graph.top.wait, daemon=True)
    waiter.start()
    until(lambda: not waiter.is_alive(), "the flowgraph does not end")
    wanted = expected(sent)
    got = [wanted.index(data) if data in wanted else -1 for data in (
        bytes(pmt.u8vector_elements(pmt.cdr(message))) for _, message in graph.pdus.received)]
    frame_of = [index for index, frame in enumerate(sent) for _ in frame.mpdus]
    return {"mpdus": got, "frame_of": frame_of,
            "problems": [frame["problem"] for frame in graph.frames.values()],
            "failures": sum(receiver.failures() for receiver in graph.receivers)}


def run(how, where):
    done = subprocess.run(
        [sys.executable, __file__, how, where], capture_output=True, text=True, timeout=150,
        cwd=Path(__file__).parent, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


each_change = pytest.mark.parametrize("how", [
    "stop", "a_block_between", "another_receiver"])


@each_change
def test_no_frame_is_lost_where_the_change_comes_between_frames(how):
    result = run(how, "between")
    assert result["mpdus"] == list(range(len(result["frame_of"])))
    assert result["problems"] == [""] * 20
    assert result["failures"] == 0


@each_change
def test_a_change_within_a_frame_costs_that_frame(how):
    result = run(how, "within")
    assert result["mpdus"] == [index for index, frame in enumerate(result["frame_of"])
                               if frame not in CHANGES]
    lost = [problem for problem in result["problems"] if problem]
    assert len(result["problems"]) == 20 and len(lost) == 3
    assert all(problem.startswith("truncated") for problem in lost)
    assert result["failures"] == 0


@pytest.mark.parametrize("how", ["stop", "a_block_between"])
def test_changes_at_any_time_make_nothing_up(how):
    """Samples in buffers, and with them frames, are lost. The remaining frames are in order."""
    result = run(how, "anywhere")
    assert -1 not in result["mpdus"] and result["failures"] == 0
    count, last = len(result["frame_of"]), -1
    for mpdu in result["mpdus"]:    # sent four times
        last = next(at for at in range(last + 1, 4 * count + 1) if at % count == mpdu)
    assert last < 4 * count
    assert result["mpdus"]


class Slow(gr.sync_block):
    """Take samples more slowly than they are made."""

    def __init__(self):
        gr.sync_block.__init__(self, "slow", [np.complex64], None)

    def work(self, input_items, _output_items):
        time.sleep(1e-3)
        return min(len(input_items[0]), 5000)


@pytest.mark.parametrize("how", ["stop", "lock"])
def test_pdus_that_wait_for_the_transmitter_are_sent_after_a_change(how):
    top, source = gr.top_block(), mimopack.wifi_transmitter()
    sink = Slow()
    top.connect(source, sink)
    top.start()
    for number in range(10):    # 107,120 samples each, more than the buffer holds
        post(source, "in", pdu(bytes([number]) * 4000))
    until(lambda: source.frames() >= 2, "nothing is sent")
    assert source.frames() < 10
    if how == "stop":
        top.stop()
        top.wait()
        top.start()
    else:
        top.lock()
        top.connect(source, blocks.null_sink(gr.sizeof_gr_complex))
        top.unlock()
    post(source, "in", pmt.PMT_EOF)
    waiter = threading.Thread(target=top.wait, daemon=True)
    waiter.start()
    until(lambda: not waiter.is_alive(), "the flowgraph does not end")
    assert (source.frames(), source.refused(), source.dropped()) == (10, 0, 1)    # one was cut


if __name__ == "__main__":
    print(json.dumps(play(*sys.argv[1:])))


def test_the_end_of_the_process_waits_for_the_end_of_the_stream(monkeypatch):
    """Two threads then end the receiver: the scheduler's, and the one that ends the process."""
    receiver = mimopack.wifi_receiver(1)
    sink, calls, finishing = receiver._sink, [], threading.Event()
    finish_frames, restart = sink.engine.finish, sink.engine.restart

    def slow_finish():
        finishing.set()
        time.sleep(0.3)
        calls.append("finish")
        return finish_frames()

    monkeypatch.setattr(sink.engine, "finish", slow_finish)
    monkeypatch.setattr(sink.engine, "restart",
                        lambda *at: (calls.append("restart"), restart(*at))[1])
    graph = gr.top_block()
    graph.connect(blocks.null_source(8), blocks.head(8, 100_000), receiver)
    graph.start()
    assert finishing.wait(30)
    sink.abandon()
    graph.wait()
    assert calls[-2:] == ["finish", "restart"]
