# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codewords of a batch shared out to several receivers (002 §3)."""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import integer
from ..cuda.device import cupy
from ..cuda.transfer import Upload
from .batch import Batch

# Codewords that a receiver on the CPU gets at least, a register's lanes of its decoder.
LEAST_CODEWORDS = 16


@dataclass(frozen=True)
class Decided:
    """What receivers have decided of n codewords, arrays of the host.

    Attributes:
        bits, found, iterations, history: as of ``Received``.
        erasures, erased: as of ``Received``, vectors and codewords.
    """

    bits: Any
    found: Any
    iterations: Any
    history: Any
    erasures: int
    erased: int


class SharedReceiver:
    """Iterative receivers that each take a share of the codewords of a batch at the same time.

    On the CPU a receiver has one thread, and does not wait for the others before a batch is done,
    as threads within a detector or decoder do; up to 16 codewords are one receiver's, with all
    threads. Of several GPUs each has a receiver: arrays of the host go there once, and what is
    decided comes back.

    Args:
        make: makes an :class:`IterativeReceiver`; for GPUs called with the number of one. All are
            to be alike.
        devices: numbers of GPUs; None for the CPU.
        threads: of the CPU, 0 for all cores.

    Attributes:
        layout: of the receivers.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, make, devices=None, threads=0):
        if devices is not None and (not isinstance(devices, list | tuple) or not devices):
            raise ValueError(f"devices: got {devices!r}, must be a list of numbers of GPUs, or "
                             "None for the CPU")
        self._make, self._devices = make, devices
        self._receivers = [make(device) for device in devices] if devices else [make()]
        self._uploads = [Upload() for _ in self._receivers] if devices else []
        self._pool = None
        self.layout = self._receivers[0].layout
        self.threads = threads

    @property
    def receiver(self):
        """The first."""
        return self._receivers[0]

    @property
    def iterations(self):
        """Passes, at most; may be changed."""
        return self.receiver.iterations

    @iterations.setter
    def iterations(self, iterations):
        for receiver in self._receivers:
            receiver.iterations = iterations

    @property
    def threads(self):
        """CPU threads, 0 for all cores; may be changed."""
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = integer("threads", threads, 0, 1024)

    def receive(self, y, h, noise_var, keep_history=False):
        """:class:`Decided`; arguments and errors as of ``IterativeReceiver.receive``, arrays of
        the host."""
        shares = self._shares(self.receiver.codewords(y))
        whole = Batch(y, h, noise_var, self.layout.vectors)
        if len(shares) < 2:
            return self._one(0, whole, keep_history)
        if self._pool is None or self._pool._max_workers < len(shares):
            self._pool = ThreadPoolExecutor(len(shares))
        parts = [self._pool.submit(self._one, number, whole.part(*share), keep_history)
                 for number, share in enumerate(shares)]
        wait(parts)
        return _joined([part.result() for part in parts])

    def _shares(self, n):
        """(first, end) of each receiver's codewords."""
        if self._devices:
            step = -(-n // len(self._devices))
        else:
            from .. import _core

            threads = self._threads or _core.max_threads()
            step = -(-n // threads)
            step += -step % LEAST_CODEWORDS
            shares = max(1, -(-n // step)) if n else 1
            while len(self._receivers) < shares:
                self._receivers.append(self._make())
                self._receivers[-1].iterations = self.iterations
            for receiver in self._receivers:
                receiver.threads = max(1, threads // shares)
        return [(at, min(at + step, n)) for at in range(0, n, step)] if n else []

    def _one(self, number, batch, keep_history):
        """One of the receivers receives a batch."""
        receiver = self._receivers[number]
        if receiver.detector.backend != "cuda":
            return _decided(receiver.receive(batch.y, batch.h, batch.noise_var, keep_history),
                            np.asarray)
        xp, upload = cupy(), self._uploads[number]
        receiver.detector.checked(batch.y, batch.h, batch.noise_var, None)
        with xp.cuda.Device(receiver.detector.devices[0]):
            arrays = [upload(array, self._threads)
                      if isinstance(array, np.ndarray) and array.ndim else array
                      for array in (batch.y, batch.h, batch.noise_var)]
            return _decided(receiver.receive(*arrays, keep_history), xp.asnumpy)


def _decided(received, to_host):
    """The part of what was received that leaves a GPU."""
    history = None if received.history is None else to_host(received.history)
    return Decided(to_host(received.bits), to_host(received.found), to_host(received.iterations),
                   history, received.erasures, received.erased)


def _joined(parts):
    def all_of(name, axis=0):
        return np.concatenate([getattr(part, name) for part in parts], axis=axis)

    return Decided(all_of("bits"), all_of("found"), all_of("iterations"),
                   None if parts[0].history is None else all_of("history", axis=1),
                   sum(part.erasures for part in parts), sum(part.erased for part in parts))
