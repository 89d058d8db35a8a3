# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for the GPUs of decoders and iterative receivers; no GPU is needed.

The CPU does the work, and fails on request.
"""

from copy import copy
from types import SimpleNamespace

import numpy as np
from fake_cuda import GpuError
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.coding.backend_decoder import BackendDecoder
from gnuradio.mimopack.cuda import device


class Program:
    """Replaces a ``DecoderProgram``, for host arrays."""

    text = "the CPU's decoder"

    def __init__(self, decoder, batches, fails_at):
        self._decoder, self._batches, self._fails_at = decoder, batches, fails_at

    def messages(self, n):
        """Kept messages are not passed on."""
        return n

    def decode_from_host(self, llr, out, messages, iterations, threads):
        self._batches.append(len(llr))
        if len(self._batches) == self._fails_at:
            out[:len(out) // 2] = 1    # for the returned parts
            raise GpuError("the GPU has fallen off the bus")
        decoder = copy(self._decoder)
        decoder._set_backend("cpu")
        decoder.iterations = iterations
        out[...] = decoder._on_cpu(llr)
        return decoder.found, decoder.iterations_taken, decoder.erasures


class Cuda:
    """Replaces a detector's ``CudaBackend``, for host arrays."""

    def __init__(self, plan, devices, candidates=1):
        self._core = _core.Detector(plan, "auto")

    def detect(self, batch):
        return self._core.detect(*batch), 0


def install(monkeypatch, fails_at=0, gpus=1):
    """Make detectors and decoders find this number of GPUs.

    Batch fails_at of those that decoders are given fails, counted from 1.

    Returns:
        A list of the number of codewords in each of these batches.
    """
    monkeypatch.setattr(detectors.base, "CudaBackend", Cuda)
    batches = []
    for kind in decoders():
        monkeypatch.setattr(kind, "_program", lambda self: Program(self, batches, fails_at))
    monkeypatch.setattr(device, "count", lambda: gpus)
    return batches


def decoders(base=BackendDecoder):
    """Return all classes of decoders that have a program."""
    below = [kind for one in base.__subclasses__() for kind in decoders(one)]
    return [*([base] if "_program" in vars(base) else []), *below]


def receive_on_cpu(monkeypatch, sharing):
    """Make ``SharedReceiver`` upload nothing; return the list of shapes that it would send."""
    sent = []

    class Current:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            pass

        def __exit__(self, *_):
            pass

    fake = SimpleNamespace(asnumpy=np.asarray, cuda=SimpleNamespace(Device=Current))
    monkeypatch.setattr(sharing, "cupy", lambda: fake)
    monkeypatch.setattr(sharing, "current", lambda number: fake.cuda.Device(number))
    monkeypatch.setattr(sharing, "upload",
                        lambda array, threads: (sent.append(array.shape), (array, None))[1])
    return sent
