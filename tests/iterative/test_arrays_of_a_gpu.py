# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An iterative receiver keeps GPU arrays on the GPU; NumPy imitates CuPy."""

import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from coded_vectors import MATRIX, POINTS
from gnuradio.mimopack import channel, coding, detectors, iterative
from gnuradio.mimopack.coding import ldpc


class OnDevice(np.ndarray):
    """Imitates CuPy's array: operations with a host array fail."""

    __module__ = "cupy"
    device = SimpleNamespace(id=0)
    copies = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **keywords):
        arrays = [*inputs, *out]
        assert all(type(a) is OnDevice for a in arrays if isinstance(a, np.ndarray) and a.ndim)
        plain = [a.view(np.ndarray) if isinstance(a, OnDevice) else a for a in inputs]
        if out:
            keywords["out"] = tuple(a.view(np.ndarray) for a in out)
        result = getattr(ufunc, method)(*plain, **keywords)
        return out[0] if out else _on_device(result)

    def __getitem__(self, key):
        self._check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._check(key)
        self._check(value)
        super().__setitem__(key, value)

    @staticmethod
    def _check(value):
        for part in value if isinstance(value, tuple) else (value,):
            assert type(part) is not np.ndarray


def _on_device(value):
    return value.view(OnDevice) if isinstance(value, np.ndarray) else value


def _fake_cupy():
    module = ModuleType("cupy")

    def wrap(name):
        def call(*arguments, **keywords):
            if name == "asarray":
                OnDevice.copies += 1
            else:
                for argument in arguments:
                    OnDevice._check(argument)
            return _on_device(getattr(np, name)(*arguments, **keywords))
        return call

    for name in ("abs", "arange", "asarray", "ascontiguousarray", "clip", "concatenate", "copyto",
                 "empty", "flatnonzero", "full", "stack", "take", "where", "zeros"):
        setattr(module, name, wrap(name))
    return module


def _host(values):
    return values.view(np.ndarray) if isinstance(values, OnDevice) else values


class DeviceBitFlip(detectors.BitFlip):
    """The CPU's detector in place of CuPy's."""

    name = "bitflip"

    def detect(self, y, h, noise_var, prior=None, out=None, hard=None):
        assert {type(a) for a in (y, h, prior, hard) if a is not None} == {OnDevice}
        arguments = [_host(a) for a in (y, h, noise_var, prior, out, hard)]
        return _on_device(super().detect(*arguments))


class DeviceDecoder(ldpc.LdpcDecoder):
    def decode(self, llr, out=None):
        assert type(llr) is OnDevice and llr.flags.c_contiguous
        posterior = _on_device(super().decode(_host(llr)))
        self.found, self.iterations_taken = map(_on_device, (self.found, self.iterations_taken))
        return posterior


@pytest.mark.parametrize("list_bits", [0, 2])
@pytest.mark.parametrize("early_stop", [True, False])
def test_arrays_of_a_gpu_stay_there(monkeypatch, early_stop, list_bits):
    """Results do not change, and no array of the results is on the host.

    Constants are copied to the GPU once: the two orders of the interleaver, the positions of the
    bits sent, and the tables of bits that are sent once or twice.
    """
    monkeypatch.setitem(sys.modules, "cupy", _fake_cupy())
    sent = np.append(np.arange(8, 640), [3, 600])    # punctured and repeated
    code, there = (coding.Code(ldpc.LdpcEncoder(MATRIX), partial(kind, MATRIX),
                               coding.Selection(324, 648, sent))
                   for kind in (ldpc.LdpcDecoder, DeviceDecoder))
    interleaver = coding.RandomInterleaver(len(sent), 1)
    rng = np.random.default_rng(4)
    words = code.encode(rng.integers(0, 2, (12, 324), np.uint8))
    x = POINTS.modulate(iterative.CodewordLayout(634, 16, interleaver).spread(words))
    h = channel.flat_rayleigh(len(x), 4, 4, rng)
    y = (np.einsum("nij,nj->ni", h, x) + channel.awgn(x.shape, 0.22, rng)).astype(np.complex64)
    noise_var = np.full(len(y), 0.22, np.float32)

    def make(detector, decoder):
        return iterative.IterativeReceiver(detector(extrinsic=True), decoder, interleaver, 3,
                                           early_stop, 0.5, coding.ListDecoder(decoder, list_bits))

    expected = make(detectors.BitFlip, code.decoder()).receive(y, h, noise_var, True)
    there = make(DeviceBitFlip, there.decoder())
    zfsic = there._first.detect
    monkeypatch.setattr(there._first, "detect",
                        lambda *arguments: _on_device(zfsic(*map(_host, arguments))))
    OnDevice.copies = 0
    for _ in range(2):
        received = there.receive(*map(_on_device, (y, h, noise_var)), True)
    assert OnDevice.copies == 7 and 0 < expected.found.sum() < 12
    for name in ("posterior", "bits", "found", "iterations", "decoder_iterations", "detected",
                 "history"):
        value = getattr(received, name)
        assert type(value) is OnDevice
        np.testing.assert_array_equal(_host(value), getattr(expected, name))
