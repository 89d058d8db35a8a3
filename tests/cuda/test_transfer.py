# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of host arrays in parts on several GPUs; support/fake_cuda.py imitates the GPUs."""

import fake_cuda
import numpy as np
import pytest
from fake_cuda import Fake
from gnuradio.mimopack import detectors
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.cuda import program, transfer
from gnuradio.mimopack.cuda.decoding import DecoderProgram
from simulated import problem


def pinned(array):
    """Return a copy in pinned memory."""
    copy = np.frombuffer(Fake.pinned_memory(array.nbytes), array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("part_bytes", [100, 2000, 2**25])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("n, period", [(1, 1), (501, 1), (14 * 31, 14), (300, 300)])
def test_any_parts_and_devices_give_the_same(n, period, count, part_bytes, monkeypatch):
    fake_cuda.install(monkeypatch, count)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", part_bytes)
    monkeypatch.setattr(transfer, "LARGEST_PART_BYTES", part_bytes)
    y, h, noise_var, bits = problem(n, 4, 4, "qam16", 18, period)
    prior = np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)
    noise = np.linspace(noise_var, 2 * noise_var, n, dtype=np.float32)
    y[n // 2, 0] = np.nan
    common = {"device": list(range(count)), "backend": "cuda"}
    for one, both in ((detectors.NWay(backend="cpu"), detectors.NWay(**common)),
                      (detectors.NWay(backend="cpu", llr_type="int8"),
                       detectors.NWay(llr_type="int8", **common))):
        for arguments in ((noise_var,), (noise,), (noise_var, prior)):
            expected = one.detect(y, h, *arguments)
            np.testing.assert_array_equal(both.detect(y, h, *arguments), expected)
            assert both.erasures == one.erasures == 1 and both.last_backend == "cuda"


@pytest.mark.parametrize("which", [("y",), ("h",), ("out",), ("y", "h", "prior", "out")])
def test_arrays_in_pinned_memory_are_not_staged(which, monkeypatch):
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 1000)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 1000)
    y, h, noise_var, bits = problem(500, 4, 4, "qam16", 18)
    given = {"y": y, "h": h, "out": np.zeros(bits.shape, np.float32),
             "prior": np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)}
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var, given["prior"])
    given |= {name: pinned(given[name]) for name in which}
    staged = []
    copy = transfer.copy
    monkeypatch.setattr(transfer, "copy", lambda to, source, threads: (
        staged.append(len(source)), copy(to, source, threads)))
    det = detectors.NWay(backend="cuda")
    out = det.detect(noise_var=noise_var, **given)
    assert out is given["out"]
    np.testing.assert_array_equal(out, expected)
    assert sum(staged) == sum(array.nbytes for name, array in given.items() if name not in which)


def test_hard_solutions(monkeypatch):
    fake_cuda.install(monkeypatch, 2)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 5000)
    y, h, noise_var, bits = problem(333, 4, 4, "qam16", 12)
    hard = np.stack([bits, 1 - bits, bits])
    arguments = y, h, noise_var
    np.testing.assert_array_equal(
        detectors.BitFlip(backend="cuda", device=[0, 1]).detect(*arguments, hard=hard),
        detectors.BitFlip(backend="cpu").detect(*arguments, hard=hard))


@pytest.mark.parametrize("parts", [1, 8])
def test_all_devices_have_work_before_any_is_waited_for(parts, monkeypatch):
    fake_cuda.install(monkeypatch, 3)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 1)
    monkeypatch.setattr(transfer, "PARTS", parts)
    y, h, noise_var, _ = problem(600, 4, 4, "qam16", 18)
    detectors.ZF(backend="cuda", device=(2, 0, 1)).detect(y, h, noise_var)
    under_way = min(parts, transfer.SLOTS)
    assert Fake.log[:3 * under_way] == [("launch", number) for number in (2, 0, 1)] * under_way
    assert Fake.log.count(("launch", 1)) == Fake.log.count(("wait", 1)) == parts


def test_a_batch_has_as_many_streams_as_asked_for(monkeypatch):
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 1)
    y, h, noise_var, _ = problem(600, 2, 2, "qam16", 18)
    llr = detectors.PSD(2, 2, backend="cuda", streams=7).detect(y, h, noise_var)
    np.testing.assert_array_equal(llr, detectors.PSD(2, 2, backend="cpu").detect(y, h, noise_var))
    assert Fake.log[:7] == [("launch", 0)] * 7 and Fake.log.count(("wait", 0)) == 7


def test_parts_of_long_searches_are_small(monkeypatch):
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr(program, "PART_CANDIDATES", 300)
    y, h, noise_var, _ = problem(60, 2, 2, "qam16", 18)
    det = detectors.MLA(2, 2, backend="cuda")
    np.testing.assert_array_equal(det.detect(y, h, noise_var),
                                  detectors.MLA(2, 2, backend="cpu").detect(y, h, noise_var))
    assert Fake.log.count(("launch", 0)) == -(-60 // (300 // det.candidates)) > 1


@pytest.mark.parametrize("launches", [0, 3])
def test_after_a_failure_nothing_is_under_way(launches, monkeypatch):
    fake_cuda.install(monkeypatch, 2)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 1)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 1)
    y, h, noise_var, _ = problem(600, 4, 4, "qam16", 18)
    det = detectors.ZF(backend="cuda", device=[0, 1])
    Fake.launches_left = launches
    out = pinned(np.zeros((600, 16), np.float32))
    with pytest.raises(RuntimeError, match="illegal memory access"):
        det.detect(y, h, noise_var, out=out)
    out[...] = 7
    for stream in fake_cuda.Stream.all.values():
        assert stream.work == []
    assert np.all(out == 7)
    Fake.launches_left = -1
    np.testing.assert_array_equal(det.detect(y, h, noise_var),
                                  detectors.ZF(backend="cpu").detect(y, h, noise_var))


@pytest.mark.parametrize("device, message", [
    ([0, 0], r"device: got \[0, 0\], must be a number or a list of different numbers"),
    ("cuda:0", "device: got 'cuda:0', must be a number or a list"),
    ([0, 1.5], "device: got 1.5, must be an integer"), (2, "device: got 2, allowed are 0 to 1")])
def test_devices_that_are_not_there(device, message, monkeypatch):
    fake_cuda.install(monkeypatch, 2)
    with pytest.raises(ValueError, match=message):
        detectors.ZF(backend="cuda", device=device)


@pytest.mark.parametrize("size, threads", [(1000, 4), (2**21 + 5, 4)])
def test_copies_of_several_threads(size, threads):
    source = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    to = np.zeros_like(source)
    transfer.copy(to, source, threads)
    np.testing.assert_array_equal(to, source)


def test_a_parameter_changes_between_calls(monkeypatch):
    fake_cuda.install(monkeypatch)
    y, h, noise_var, _ = problem(300, 4, 4, "qam16", 12)
    det = detectors.NWay(backend="cuda")
    det.detect(y, h, noise_var)
    for num_passes in (2, 3):
        det.num_passes = num_passes
        np.testing.assert_array_equal(
            det.detect(y, h, noise_var),
            detectors.NWay(backend="cpu", num_passes=num_passes).detect(y, h, noise_var))
        assert det.last_backend == "cuda"


class CpuProgram(DecoderProgram):
    """A decoder's program whose kernel is the CPU's decoder."""

    def __init__(self, decoder, at_once):
        super().__init__(0, decoder.num_bits, 0, 32)
        self._decoder, self._shared, self._at_once = decoder, 0, at_once

    def _kernel(self, grid, block, arguments, shared_mem):
        n, iterations, llr, out, _, found, taken, erased = map(int, arguments)
        assert grid == (n,) and iterations == 5

        def run():
            decoder, shape = self._decoder, (n, self._num_bits)
            fake_cuda.view(out, np.float32, *shape)[...] = decoder.decode(
                fake_cuda.view(llr, np.float32, *shape))
            fake_cuda.view(found, bool, n)[...] = decoder.found
            fake_cuda.view(taken, np.int32, n)[...] = decoder.iterations_taken
            fake_cuda.view(erased, np.uint64, 1)[0] += np.uint64(decoder.erasures)

        Fake.log.append(("launch", fake_cuda.Device.now))
        fake_cuda.Stream.now.work.append(run)


@pytest.mark.parametrize("at_once, parts", [(2**20, 6), (7, 8)])
@pytest.mark.parametrize("is_pinned", [False, True])
def test_decoders_use_the_same_pipeline(at_once, parts, is_pinned, monkeypatch):
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr(transfer, "LEAST_PART_BYTES", 30_000)
    monkeypatch.setattr(transfer, "LARGEST_PART_BYTES", 50_000)
    monkeypatch.setattr(transfer, "LEAST_PINNED_BYTES", 1000)
    cpu = ldpc.LdpcDecoder(ldpc.get("wifi:648:1/2"), 5, backend="cpu")
    llr = np.random.default_rng(1).normal(3, 2.5, (51, 648)).astype(np.float32)
    llr[4], llr[30] = 0, np.nan
    expected = cpu.decode(llr), cpu.found, cpu.iterations_taken
    if is_pinned:
        llr = pinned(llr)
    out = pinned(np.zeros_like(llr)) if is_pinned else np.zeros_like(llr)
    *results, erased = CpuProgram(cpu, at_once).decode_from_host(llr, out, None, 5, 1)
    assert erased == 2 and Fake.log.count(("launch", 0)) == parts
    for result, wanted in zip((out, *results), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
