# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU fails at any call while a flowgraph runs: no vector is lost.

support/fake_cuda.py imitates the GPU, so each LLR is exactly the CPU's.
"""

import re

import fake_cuda
import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import Fake, GpuError
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import pinning, transfer
from simulated import problem

Y, H, NOISE_VAR, _ = problem(60, 2, 2, "qpsk", 15.0)
SIZES = {"num_tx": 2, "num_rx": 2, "constellation": "qpsk"}
EXPECTED = detectors.NWay(backend="cpu", **SIZES).detect(Y, H, NOISE_VAR)


class Fault:
    """The call with a number, counted from 1, fails; ``lasts``: all later calls fail too."""

    def __init__(self, at, lasts):
        self.at, self.lasts, self.calls, self.happened = at, lasts, 0, False

    def watch(self, patch, owner, name):
        """Count the calls of a function, and let it fail."""
        real = getattr(owner, name)

        def call(*arguments, **keywords):
            self.calls += 1
            if self.calls == self.at or self.lasts and self.calls > self.at:
                self.happened = True
                raise GpuError("injected: cudaErrorDevicesUnavailable")
            return real(*arguments, **keywords)

        patch.setattr(owner, name, call)


def watch_all(fault, fake, patch):
    for owner, name in (
            (fake_cuda.Device, "__enter__"), (fake.cuda, "Stream"),
            (fake_cuda.Stream, "synchronize"), (fake.cuda, "alloc"),
            (fake.cuda, "alloc_pinned_memory"), (fake.cuda.driver, "launchKernel"),
            *((fake.cuda.runtime, name) for name in (
                "memcpyAsync", "memsetAsync", "pointerGetAttributes", "deviceGetAttribute",
                "hostRegister", "hostUnregister"))):
        fault.watch(patch, owner, name)


def check_all(block):
    before = block.vectors()
    llr, _ = play(block, Y, H, step=20)
    np.testing.assert_array_equal(llr, EXPECTED)
    assert block.vectors() - before == len(Y) and block.erasures() == block.failures() == 0


@pytest.mark.parametrize("lasts", [False, True], ids=["fails once", "is lost"])
@pytest.mark.parametrize("backend", ["cuda", "auto"])
def test_a_gpu_fails_at_any_call(backend, lasts, monkeypatch, capfd):
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 64)
    runs = reports = 0
    for at in range(1, 1000, 9):
        fake, fault = fake_cuda.install(monkeypatch), Fault(at, lasts)
        monkeypatch.setattr(pinning, "_holders", {})
        with pytest.MonkeyPatch.context() as patch:
            fake_cuda.let_gpu_win(patch)
            watch_all(fault, fake, patch)
            try:
                block = make("nway", backend=backend, noise_var=NOISE_VAR, **SIZES)
            except GpuError as error:
                assert "injected" in str(error)
                continue
            check_all(block)
        log = "".join(capfd.readouterr())
        # Memory that is not pinned only costs time.
        reported = bool(re.search("injected|not pinned", log))
        assert fault.happened or not reported
        assert log.count("injected") <= 3 and log.count("going on with the CPU") <= 1
        Fake.log.clear()
        check_all(block)    # the GPU works again, and start() asks for it
        capfd.readouterr()
        assert Fake.log.count(("launch", 0)) > 1    # the first is that of start()
        if not fault.happened:
            break
        runs, reports = runs + 1, reports + reported
    assert not fault.happened and runs > 8 and reports
