# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's buffers in pinned memory; support/fake_cuda.py stands in for a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import fake_cuda
import numpy as np
import pytest
from fake_cuda import Fake
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import pinning, transfer
from simulated import problem


class Buffers(gr.sync_block):
    """Passes items on and records the addresses of its arrays; its first call runs a function."""

    def __init__(self, action=lambda *arrays: None):
        gr.sync_block.__init__(self, "buffers", [np.float32], [np.float32])
        self.action, self.seen = action, []

    def work(self, input_items, output_items):
        output_items[0][:] = input_items[0]
        self.seen.append([pinning.circular_buffer(a.ctypes.data + a.nbytes - 1)
                          for a in (input_items[0], output_items[0])])
        if len(self.seen) == 1:
            self.action(input_items[0], output_items[0])
        return len(output_items[0])


def run_through(block, items=200_000):
    top = gr.top_block()
    source = blocks.vector_source_f(np.arange(items, dtype=np.float32).tolist())
    sink = blocks.vector_sink_f()
    top.connect(source, block, sink)
    top.run()
    np.testing.assert_array_equal(sink.data(), np.arange(items))


def connect(top, block, y, h):
    """Connect sources of y and h to a block with 14 vectors per matrix, and the block to a sink."""
    sink = blocks.vector_sink_f(14 * 16)
    top.connect(blocks.vector_source_c(y.ravel().tolist(), False, 14 * 4), (block, 0))
    top.connect(blocks.vector_source_c(h.ravel().tolist(), False, 16), (block, 1))
    top.connect(block, sink)
    return sink


def test_buffers_are_found():
    block = Buffers()
    run_through(block)
    (first, end), (other, other_end) = block.seen[0]
    assert all(both == block.seen[0] for both in block.seen) and len(block.seen) > 2
    assert first < end and other < other_end and (end <= other or other_end <= first)
    assert (end - first) % 8192 == 0


PRINT_BUFFERS = """
from test_pinning import Buffers, run_through
block = Buffers()
run_through(block)
print(block.seen[0])
"""


@pytest.mark.parametrize("factory, found", [("sysv_shm", True), ("mmap_shm_open", True),
                                            ("mmap_tmpfile", False)])
def test_buffers_of_every_kind(factory, found, tmp_path):
    """Buffers in files are left alone."""
    choice = tmp_path / ".gnuradio/prefs/vmcircbuf_default_factory"
    choice.parent.mkdir(parents=True)
    choice.write_text(f"gr::vmcircbuf_{factory}_factory")
    done = subprocess.run([sys.executable, "-c", PRINT_BUFFERS], capture_output=True, text=True,
                          cwd=Path(__file__).parent, timeout=60, check=True, env=os.environ | {
                              "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.count("None") == (0 if found else 2)


def test_a_setting_keeps_a_block_from_it(monkeypatch):
    monkeypatch.setenv("GR_CONF_MIMOPACK_PIN_BUFFERS", "False")
    assert not mimopack.nway_detector()._detector.pins_buffers
    monkeypatch.delenv("GR_CONF_MIMOPACK_PIN_BUFFERS")
    assert mimopack.nway_detector()._detector.pins_buffers


def test_other_memory_is_none():
    assert pinning.circular_buffer(np.zeros(10).ctypes.data) is None
    assert pinning.circular_buffer(np.zeros(10**7).ctypes.data) is None
    assert pinning.circular_buffer(0) is None


@pytest.mark.parametrize("backend, launches, gpu", [("cuda", -1, 1), ("cuda", 5, 0),
                                                    ("cpu", -1, 0)])
def test_a_block_pins_while_it_runs(backend, launches, gpu, monkeypatch):
    """Only the first call's arrays are staged, and nothing stays pinned after the end.

    A GPU failure does not change the result.
    """
    fake_cuda.install(monkeypatch, 2)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 0)
    monkeypatch.setattr("gnuradio.mimopack.blocks.detector.BATCH_VECTORS", 14 * 500)
    staged, most = [], []
    copy, detect = transfer.copy, transfer.HostPipeline.run

    def counted(self, *arguments, **keywords):
        staged.append(0)
        most.append(len(Fake.registered))
        return detect(self, *arguments, **keywords)

    def noted(to, source, threads):
        staged[-1] += len(source)
        copy(to, source, threads)

    monkeypatch.setattr(transfer, "copy", noted)
    monkeypatch.setattr(transfer.HostPipeline, "run", counted)
    n = 14 * 5000
    y, h, noise_var, _ = problem(n, 4, 4, "qam16", 18, 14)
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
    block = mimopack.nway_detector(noise_var=noise_var, symbols_per_channel=14, backend=backend,
                                   device=gpu)
    for _ in range(2):
        staged.clear()
        Fake.launches_left = launches
        top = gr.top_block()
        sink = connect(top, block, y, h)
        top.run()
        np.testing.assert_array_equal(np.reshape(sink.data(), expected.shape), expected)
        assert not Fake.registered and not pinning._holders
        top.disconnect_all()
    if backend == "cpu":
        assert not most
        return
    assert max(most) == 3 and block.last_backend() == ("cuda" if launches < 0 else "cpu")
    assert {device for what, device in Fake.log if what in ("pin", "unpin")} == {gpu}
    assert block._detector._copies_to_gpu == (launches < 0)
    assert block.erasures() == block.failures() == 0
    if launches < 0:
        assert len(staged) > 3 and staged[1] > 0 and set(staged[2:]) == {0}


def test_two_blocks_share_buffers(monkeypatch):
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr("gnuradio.mimopack.blocks.detector.BATCH_VECTORS", 14 * 500)
    y, h, noise_var, _ = problem(14 * 3000, 4, 4, "qam16", 18, 14)
    one, other = (mimopack.nway_detector(noise_var=noise_var, symbols_per_channel=14,
                                         num_passes=passes, backend="cuda") for passes in (1, 2))
    top = gr.top_block()
    sources = (blocks.vector_source_c(y.ravel().tolist(), False, 14 * 4),
               blocks.vector_source_c(h.ravel().tolist(), False, 16))
    sinks = []
    for block in (one, other):
        sinks.append(blocks.vector_sink_f(14 * 16))
        for port, source in enumerate(sources):
            top.connect(source, (block, port))
        top.connect(block, sinks[-1])
    top.run()
    for passes, sink in zip((1, 2), sinks, strict=True):
        expected = detectors.NWay(num_passes=passes, backend="cpu").detect(y, h, noise_var)
        np.testing.assert_array_equal(np.reshape(sink.data(), expected.shape), expected)
    assert [what for what, _ in Fake.log].count("pin") >= 4    # y, h, and each block's output
    assert not Fake.registered and not pinning._holders


@pytest.mark.parametrize("failure", ["refused", "elsewhere"])
def test_what_cannot_be_pinned_is_said_once(failure, monkeypatch, capfd):
    """The stream continues, and "auto" then compares on ordinary arrays."""
    fake = fake_cuda.install(monkeypatch)
    if failure == "refused":
        def refuse(*_):
            raise fake.cuda.runtime.CUDARuntimeError("not supported")
        fake.cuda.runtime.hostRegister = refuse
    else:
        monkeypatch.setattr(pinning, "circular_buffer", lambda at: None)
    monkeypatch.setattr("gnuradio.mimopack.blocks.detector.BATCH_VECTORS", 14 * 500)
    y, h, noise_var, _ = problem(14 * 5000, 4, 4, "qam16", 18, 14)
    block = mimopack.nway_detector(noise_var=noise_var, symbols_per_channel=14, backend="cuda")
    top = gr.top_block()
    sink = connect(top, block, y, h)
    top.run()
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
    np.testing.assert_array_equal(np.reshape(sink.data(), expected.shape), expected)
    assert block.erasures() == block.failures() == 0 and not block._detector.pins_buffers
    assert "".join(capfd.readouterr()).count("are not pinned") == 1
