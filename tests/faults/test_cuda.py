# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each CuPy call fails once in turn, or fails from then on: no vector is lost.

support/fake_cuda.py imitates the GPU, so each LLR is exactly the CPU's.
"""

import re

import fake_cuda
import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import Fake
from faults import each_fault, watch
from gnuradio.mimopack import crossover, detectors
from gnuradio.mimopack.cuda import pinning, transfer
from simulated import problem

Y, H, NOISE_VAR, _ = problem(60, 2, 2, "qpsk", 15.0)
SIZES = {"num_tx": 2, "num_rx": 2, "constellation": "qpsk"}
EXPECTED = detectors.NWay(backend="cpu", **SIZES).detect(Y, H, NOISE_VAR)


def error(*_):
    return RuntimeError("injected: cudaErrorDevicesUnavailable")


# {call of CuPy: function (fake) that returns (owner, name)}
CALLS = {
    "select the GPU": lambda fake: (fake_cuda.Device, "__enter__"),
    "make a stream": lambda fake: (fake.cuda, "Stream"),
    "wait for a stream": lambda fake: (fake_cuda.Stream, "synchronize"),
    "allocate": lambda fake: (fake.cuda, "alloc"),
    "allocate pinned memory": lambda fake: (fake.cuda, "alloc_pinned_memory"),
    "launch": lambda fake: (fake.cuda.driver, "launchKernel"),
    "copy": lambda fake: (fake.cuda.runtime, "memcpyAsync"),
    "clear": lambda fake: (fake.cuda.runtime, "memsetAsync"),
    "look at a pointer": lambda fake: (fake.cuda.runtime, "pointerGetAttributes"),
    "ask for properties": lambda fake: (fake.cuda.runtime, "deviceGetAttribute"),
    "pin": lambda fake: (fake.cuda.runtime, "hostRegister"),
    "unpin": lambda fake: (fake.cuda.runtime, "hostUnregister"),
}


@pytest.fixture
def flowgraph(monkeypatch, capfd):
    """Return a function (backend, calls, lasts) that runs flowgraphs with each call failing."""
    monkeypatch.setattr(crossover, "measure", lambda *_: [(1, 2.0, 1.0)])
    monkeypatch.setattr(crossover, "LEAST_ITEMS", 1)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 64)

    def run_each(backend, calls, lasts):
        told = []

        def run(fault):
            fake = fake_cuda.install(monkeypatch)
            monkeypatch.setattr(pinning, "_holders", {})
            with pytest.MonkeyPatch.context() as patch:
                for call in calls:
                    watch(patch, fault, *CALLS[call](fake), error)
                try:
                    block = make("nway", backend=backend, noise_var=NOISE_VAR, **SIZES)
                except RuntimeError as refusal:
                    told.append(str(refusal))
                    return
                right(block)
            said = "".join(capfd.readouterr())
            # Memory that is not pinned only costs time. Memory that is not freed is no loss either.
            told.append(re.search("injected|not pinned", said))
            assert fault.happened or not told[-1]
            assert said.count("injected") <= 3 and said.count("going on with the CPU") <= 1
            Fake.log.clear()
            right(block)    # the GPU works again, and start() asks for it
            capfd.readouterr()
            # The first launch is that of start().
            assert Fake.log.count(("launch", 0)) > 1 and not block._detector._placement.gpu_is_lost

        runs = each_fault(run, lasts)
        assert any(told)
        return runs

    def right(block):
        before = block.vectors()
        llr, _ = play(block, Y, H, step=20)
        np.testing.assert_array_equal(llr, EXPECTED)
        assert block.vectors() - before == len(Y) and block.erasures() == block.failures() == 0

    return run_each


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("backend", ["cuda", "auto"])
def test_a_call_fails_once(call, backend, flowgraph):
    assert flowgraph(backend, [call], lasts=False) >= 1


@pytest.mark.parametrize("backend", ["cuda", "auto"])
def test_the_gpu_is_lost_at_any_call(backend, flowgraph):
    """As after an error that destroys the context: all later calls fail too."""
    assert flowgraph(backend, CALLS, lasts=True) > 20
