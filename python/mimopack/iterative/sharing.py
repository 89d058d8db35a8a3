# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codewords of a batch shared out to several receivers (002 §3)."""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from .. import _core, channel
from ..backends import Placement
from ..checks import integer
from ..crossover import Crossover
from ..cuda.device import cupy
from ..cuda.transfer import Upload
from .batch import Batch

# Codewords that a receiver on the CPU gets at least, a register's lanes of its decoder.
LEAST_CODEWORDS = 16
# What backend "auto" measures: arrays of the host, at most, and an SNR at which 4x4 detectors make
# few errors.
LARGEST_BYTES = 2**26
SNR_DB, SNR_DB_PER_BIT = 12, 3


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
        make: makes an :class:`IterativeReceiver`: of a GPU, called with its number, or of the CPU.
            All are to be alike.
        devices: numbers of GPUs; None for the CPU alone.
        threads: of the CPU, 0 for all cores.
        backend: see ``backends``; None for "cuda" where there are devices, otherwise "cpu".

    Attributes:
        layout: of the receivers.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, make, devices=None, threads=0, backend=None):
        if devices is not None and (not isinstance(devices, list | tuple) or not devices):
            raise ValueError(f"devices: got {devices!r}, must be a list of numbers of GPUs, or "
                             "None for the CPU")
        self._make, self._devices = make, devices or ()
        self._placement = Placement(
            backend or ("cuda" if devices else "cpu"),
            Crossover("receiver", devices, self._configuration, self._problem) if devices else None)
        self._here, self._there = [], []
        self._pool = None
        if self._placement.backend == "cuda":
            self._start_gpus()
        else:
            self._add(self._here)
        self.layout = self.receiver.layout
        self.threads = threads

    @property
    def receiver(self):
        """The first one."""
        return (self._here or self._there)[0]

    @property
    def iterations(self):
        """Passes, at most; may be changed."""
        return self.receiver.iterations

    @iterations.setter
    def iterations(self, iterations):
        for receiver in (*self._here, *self._there):
            receiver.iterations = iterations

    @property
    def threads(self):
        """CPU threads, 0 for all cores; may be changed."""
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = integer("threads", threads, 0, 1024)

    @property
    def last_backend(self):
        """What the last batch was received by, "cpu", "cuda" or "reference"; None before."""
        return self._placement.last

    @property
    def on_gpu_failure(self):
        """Called, once, with the exception of a GPU that failed, see ``backends``; may be set."""
        return self._placement.on_failure

    @on_gpu_failure.setter
    def on_gpu_failure(self, report):
        self._placement.on_failure = report

    def prepare(self, n, per_channel=1):
        """Do ahead of many batches of n codewords, with a matrix for so many vectors, what the
        first would do first where there is a GPU: compile, and choose (backend "auto")."""
        self._placement.prepare(n, self._start_gpus, self._case(per_channel))

    def receive(self, y, h, noise_var, keep_history=False):
        """:class:`Decided`; arguments and errors as of ``IterativeReceiver.receive``, arrays of
        the host."""
        n = self.receiver.codewords(y)
        whole = Batch(y, h, noise_var, self.layout.vectors)
        self.receiver.detector.checked(y, h, noise_var, None)    # no fault of a GPU's
        return self._placement.run(n, *self._ways(whole, n, keep_history),
                                   self._case(len(y) // max(1, len(h))))

    def _ways(self, whole, n, keep_history=False):
        """Two functions that receive a batch, on the CPU and on the GPUs."""
        return (lambda: self._receive(self._receive_here, self._shares_here(n), whole,
                                      keep_history),
                lambda: self._receive(self._receive_there, self._shares_there(n), whole,
                                      keep_history))

    def _receive(self, receive, shares, whole, keep_history):
        """Let each receiver receive its share, of which there may be none."""
        if len(shares) < 2:
            return receive(0, whole, keep_history)
        if self._pool is None or self._pool._max_workers < len(shares):
            self._pool = ThreadPoolExecutor(len(shares))
        parts = [self._pool.submit(receive, number, whole.part(*share), keep_history)
                 for number, share in enumerate(shares)]
        wait(parts)
        return _joined([part.result() for part in parts])

    def _shares_here(self, n):
        """(first, end) of the codewords of each of the CPU's receivers."""
        threads = self._threads or _core.max_threads()
        step = -(-n // threads)
        step += -step % LEAST_CODEWORDS
        shares = max(1, -(-n // step)) if n else 1
        while len(self._here) < shares:
            self._add(self._here)
        for receiver in self._here:
            receiver.threads = max(1, threads // shares)
        return _in_steps(n, step)

    def _shares_there(self, n):
        """(first, end) of the codewords of each GPU."""
        self._start_gpus()
        return _in_steps(n, -(-n // len(self._devices)))

    def _start_gpus(self):
        if not self._there:
            self._uploads = [Upload() for _ in self._devices]
            for device in self._devices:
                self._add(self._there, device)

    def _add(self, receivers, *device):
        made = self._make(*device)
        if self._here or self._there:
            made.iterations = self.iterations
        receivers.append(made)

    def _receive_here(self, number, batch, keep_history):
        return _decided(self._here[number].receive(batch.y, batch.h, batch.noise_var,
                                                   keep_history), np.asarray)

    def _receive_there(self, number, batch, keep_history):
        receiver, xp, upload = self._there[number], cupy(), self._uploads[number]
        with xp.cuda.Device(self._devices[number]):
            arrays = [upload(array, self._threads)
                      if isinstance(array, np.ndarray) and array.ndim else array
                      for array in (batch.y, batch.h, batch.noise_var)]
            return _decided(receiver.receive(*arrays, keep_history), xp.asnumpy)

    def _case(self, per_channel):
        return gcd(per_channel, self.layout.vectors), self.iterations, self._threads

    def _problem(self, n, per_channel, iterations, threads):
        """Two functions for ``crossover``: they receive n codewords of zeros, at an SNR at which
        few are wrong."""
        detector, vectors = self.receiver.detector, n * self.layout.vectors
        matrices = vectors // per_channel
        numbers = vectors * detector.num_rx + matrices * detector.num_rx * detector.num_tx
        if 8 * numbers > LARGEST_BYTES:
            return None
        rng, nt = np.random.default_rng(1), detector.num_tx
        snr_db = SNR_DB + SNR_DB_PER_BIT * detector.constellation.bits_per_symbol
        noise_var = nt * 10 ** (-snr_db / 10)
        h = channel.flat_rayleigh(matrices, detector.num_rx, nt, rng)
        y = (h.sum(axis=2) * detector.constellation.points[0]).repeat(per_channel, axis=0)
        y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
        return self._ways(Batch(y, h, noise_var, self.layout.vectors), n)

    def _configuration(self, per_channel, iterations, threads):
        """What else the time depends on, for ``crossover``."""
        receiver = self._here[0]
        return {"detector": repr(receiver.detector), "of": receiver.decoder.configuration(),
                "early_stop": receiver.early_stop, "vectors": self.layout.vectors,
                "vectors_per_matrix": per_channel, "iterations": iterations,
                "threads": threads or _core.max_threads()}


def _in_steps(n, step):
    return [(at, min(at + step, n)) for at in range(0, n, step)] if n else []


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
