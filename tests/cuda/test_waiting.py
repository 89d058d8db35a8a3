# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel that does not end in time; support/fake_cuda.py stands in for the GPU."""

import os
import subprocess
import sys

import fake_cuda
import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import Fake, Stream
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import transfer, waiting
from simulated import problem

Y, H, NOISE_VAR, _ = problem(600, 4, 4, "qam16", 18)
EXPECTED = detectors.ZF(backend="cpu").detect(Y, H, NOISE_VAR)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    fake_cuda.install(monkeypatch, 2)
    monkeypatch.setattr(waiting, "_timeout", 0.2)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 1)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 1)


def let_everything_end(monkeypatch):
    monkeypatch.setattr(Stream, "hangs", False)
    for stream in Stream.all.values():
        stream.synchronize()


@pytest.mark.parametrize("device", [0, [0, 1]])
def test_what_ends_late_writes_nothing(device, monkeypatch):
    """The caller may use its arrays for other things, and no detector uses a GPU any more."""
    out = Fake.pinned_memory(EXPECTED.nbytes).view(np.float32).reshape(EXPECTED.shape)
    det, other = detectors.ZF(backend="cuda", device=device), detectors.ZF(backend="cuda", device=1)
    det.detect(Y, H, NOISE_VAR, out=out)
    np.testing.assert_array_equal(out, EXPECTED)
    monkeypatch.setattr(Stream, "hangs", True)
    with pytest.raises(waiting.GpuTimeout, match="not ended its work within 0.2 s"):
        det.detect(Y, H, NOISE_VAR, out=out)
    out[...] = 7
    launches = Fake.log.count(("launch", 1))
    for each in (det, other):
        with pytest.raises(waiting.GpuTimeout, match="a new process can use it again"):
            each.detect(Y, H, NOISE_VAR)
    assert Fake.log.count(("launch", 1)) == launches
    monkeypatch.setattr(Stream, "hangs", False)
    for stream in Stream.all.values():
        stream.synchronize()    # in memory that is kept
    assert np.all(out == 7)


def test_a_flowgraph_goes_on_with_the_cpu(monkeypatch, capfd):
    block = make("zf", backend="cuda", noise_var=NOISE_VAR)

    def right(last, event=None):
        llr, _ = play(block, Y, H, step=50, event=event)
        np.testing.assert_array_equal(llr, EXPECTED)
        assert block.last_backend() == last
        assert block.erasures() == block.failures() == 0
        return "".join(capfd.readouterr())

    right("cuda")
    assert Fake.log.count(("pin", 0)) == Fake.log.count(("unpin", 0)) > 0
    said = right("cpu", (300, lambda: monkeypatch.setattr(Stream, "hangs", True)))
    assert said.count("the GPU failed, going on with the CPU: GpuTimeout(") == 1
    assert "a new process can use it" in right("cpu")


def test_long_work_is_waited_for(monkeypatch):
    detectors.set_gpu_timeout(1e9)
    looks = iter([600] * 300 + [0])
    monkeypatch.setattr(Stream, "query", lambda self: next(looks))
    waiting.wait(Stream())
    assert next(looks, None) is None


@pytest.mark.parametrize("seconds, message", [
    (0, "seconds: got 0"), (-1, "seconds: got -1"), (float("nan"), "seconds: got nan"),
    ("10", "seconds: got '10'")])
def test_wrong_limits(seconds, message):
    with pytest.raises(ValueError, match=message):
        detectors.set_gpu_timeout(seconds)
    assert detectors.gpu_timeout() == 0.2


CONFIGURED = """
from gnuradio.mimopack import detectors
{first}
from gnuradio import mimopack
before = detectors.gpu_timeout()
mimopack.zf_detector().start()
print(before, detectors.gpu_timeout())
"""


@pytest.mark.parametrize("text, first, said", [
    ("2.5", "", "None 2.5"), ("2.5", "detectors.set_gpu_timeout(7)", "7.0 7.0"),
    ("soon", "", "gpu_timeout in section [mimopack] of GNU Radio's configuration: got 'soon', "
     "must be a number of seconds above 0")])
def test_the_limit_of_the_configuration(text, first, said):
    done = subprocess.run([sys.executable, "-c", CONFIGURED.format(first=first)], text=True,
                          capture_output=True, timeout=60, check=False,
                          env=os.environ | {"GR_CONF_MIMOPACK_GPU_TIMEOUT": text})
    assert done.returncode == ("got" in said), done.stderr
    assert said in (done.stdout + done.stderr).splitlines()[-1]
