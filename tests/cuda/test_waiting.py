# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel that does not end in time; support/fake_cuda.py stands in for the GPU."""

import gc
import os
import subprocess
import sys
import weakref

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
    """The caller may use its arrays for other things when the call has given up."""
    out = Fake.pinned_memory(EXPECTED.nbytes).view(np.float32).reshape(EXPECTED.shape)
    det = detectors.ZF(backend="cuda", device=device)
    det.detect(Y, H, NOISE_VAR, out=out)
    np.testing.assert_array_equal(out, EXPECTED)
    monkeypatch.setattr(Stream, "hangs", True)
    with pytest.raises(waiting.GpuTimeout, match="not ended its work within 0.2 s"):
        det.detect(Y, H, NOISE_VAR, out=out)
    out[...] = 7
    with pytest.raises(waiting.GpuTimeout, match="still runs"):
        det.detect(Y, H, NOISE_VAR)
    let_everything_end(monkeypatch)
    assert np.all(out == 7)
    np.testing.assert_array_equal(det.detect(Y, H, NOISE_VAR), EXPECTED)


def test_other_detectors_leave_the_gpus_alone_until_it_ends(monkeypatch):
    one, other = (detectors.ZF(backend="cuda", device=device) for device in (0, 1))
    monkeypatch.setattr(Stream, "hangs", True)
    with pytest.raises(waiting.GpuTimeout):
        one.detect(Y, H, NOISE_VAR)
    launches = Fake.log.count(("launch", 1))
    with pytest.raises(waiting.GpuTimeout):
        other.detect(Y, H, NOISE_VAR)
    assert Fake.log.count(("launch", 1)) == launches
    let_everything_end(monkeypatch)
    np.testing.assert_array_equal(other.detect(Y, H, NOISE_VAR), EXPECTED)


def test_memory_stays_until_the_work_ends(monkeypatch):
    det = detectors.ZF(backend="cuda")
    det.detect(Y, H, NOISE_VAR)
    memory = weakref.ref(det._engines._gpus._pipeline._slots[0][0])
    monkeypatch.setattr(Stream, "hangs", True)
    det.on_gpu_failure = lambda error: None
    np.testing.assert_array_equal(det.detect(Y, H, NOISE_VAR), EXPECTED)
    programs = weakref.ref(det._engines._gpus)
    del det
    gc.collect()
    assert memory() and programs()
    let_everything_end(monkeypatch)
    waiting.current(0)
    gc.collect()
    assert not memory() and not programs()


def test_a_flowgraph_goes_on_with_the_cpu(monkeypatch, capfd):
    block = make("zf", backend="cuda", noise_var=NOISE_VAR)

    def right(last, event=None):
        llr, _ = play(block, Y, H, step=50, event=event)
        np.testing.assert_array_equal(llr, EXPECTED)
        assert block.last_backend() == last
        assert block.erasures() == block.failures() == 0
        return "".join(capfd.readouterr())

    right("cuda")
    assert "cpu" not in right("cuda")
    pinned = Fake.log.count(("pin", 0))
    assert pinned == Fake.log.count(("unpin", 0)) > 0
    said = right("cpu", (300, lambda: monkeypatch.setattr(Stream, "hangs", True)))
    assert said.count("the GPU failed, going on with the CPU: GpuTimeout(") == 1
    assert "still runs" in right("cpu")    # each start asks for the GPU again
    let_everything_end(monkeypatch)
    assert "failed" not in right("cuda")
    assert not Fake.registered             # what could not be unpinned then is unpinned now


def test_an_error_is_no_timeout(monkeypatch):
    """After an error of the GPU, waiting ends at once."""
    detectors.set_gpu_timeout(1e9)
    monkeypatch.setattr(Stream, "query", lambda self: 719)
    monkeypatch.setattr(Stream, "synchronize", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        waiting.wait(Stream())


def test_long_work_is_waited_for(monkeypatch):
    detectors.set_gpu_timeout(1e9)
    looks = iter([600] * 300 + [0])
    monkeypatch.setattr(Stream, "query", lambda self: next(looks))
    waiting.wait(Stream())
    assert next(looks, None) is None


def test_a_stream_is_looked_at_on_its_own_gpu(monkeypatch):
    """The default streams of all GPUs have the number 0."""
    seen = []
    monkeypatch.setattr(Stream, "query", lambda self: seen.append(fake_cuda.Device.now) or 600)
    stream = Stream()
    with fake_cuda.Device(1):
        waiting.keep(stream, None)
    with pytest.raises(waiting.GpuTimeout, match="still runs"):
        waiting.current(0)
    assert seen == [1]


def test_all_that_waits_for_an_idle_gpu_is_called(monkeypatch):
    """One failure keeps no other function from its call, and reaches nobody else's call."""
    called = []
    waiting.when_idle(lambda: 1 / 0)
    waiting.when_idle(lambda: called.append(len(waiting._later)))
    waiting.current(0)
    assert called == [1]    # other threads still see that not all have been called
    assert waiting._later == []


def test_memory_of_a_gpu_that_fails_later_is_not_freed(monkeypatch):
    owner = object()
    waiting.keep(Stream(), owner)
    monkeypatch.setattr(Stream, "query", lambda self: 719)
    waiting.current(0)
    assert waiting._lost == [owner] and waiting._kept == waiting._streams == []


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
mimopack.zf_detector
print(detectors.gpu_timeout())
"""


@pytest.mark.parametrize("text, first, said", [
    ("2.5", "", "2.5"), ("", "", "None"), ("2.5", "detectors.set_gpu_timeout(7)", "7.0"),
    ("2.5", "detectors.set_gpu_timeout(None)", "None"),
    ("soon", "", "gpu_timeout in section [mimopack] of GNU Radio's configuration: got 'soon', "
     "must be a number of seconds above 0"), ("-1", "", "got '-1', must be")])
def test_the_limit_of_the_configuration(text, first, said):
    done = subprocess.run([sys.executable, "-c", CONFIGURED.format(first=first)], text=True,
                          capture_output=True, timeout=60, check=False,
                          env=os.environ | {"GR_CONF_MIMOPACK_GPU_TIMEOUT": text})
    assert done.returncode == ("got" in said), done.stderr
    assert said in (done.stdout + done.stderr).splitlines()[-1]
