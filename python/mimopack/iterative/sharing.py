# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Share the codewords of a batch among several receivers (002 §3)."""

from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import numpy as np

from .. import _core, channel
from ..backends import BackendChoice
from ..checks import thread_count
from ..cuda.device import cupy, current
from ..cuda.transfer import upload
from .batch import Batch
from .receiver import Received

# Minimum number of codewords per receiver on the CPU, which fill a SIMD register of its decoder.
LEAST_CODEWORDS = 16
# SNR of the measurement for backend "auto", at which 4x4 detectors make few errors.
SNR_DB, SNR_DB_PER_BIT = 12, 3


class SharedReceiver(BackendChoice):
    """Several iterative receivers that process parts of a batch at the same time.

    On the CPU each receiver has one thread. The receivers wait for each other only at the end of a
    batch; several threads of one receiver would wait for each other in each pass. A batch of up to
    16 codewords goes to a single receiver with all threads. Each of several GPUs has its own
    receiver. Host arrays are copied to the GPU once, and only the decisions are copied back.

    Args:
        make: a function that makes an :class:`IterativeReceiver`. It is called with the index of a
            GPU, or without arguments for the CPU. All receivers must be alike.
        devices: indices of the GPUs; None for the CPU alone.
        threads: number of CPU threads; 0 takes all cores.
        backend: see ``backends``. None stands for "cuda" if there are devices, otherwise for "cpu".

    Attributes:
        layout: the layout of the receivers.
    """

    def __init__(self, make, devices=None, threads=0, backend=None):
        if devices is not None and (not isinstance(devices, list | tuple) or not devices):
            raise ValueError(f"devices: got {devices!r}, must be a list of numbers of GPUs, or "
                             "None for the CPU")
        self._make, self._devices = make, devices or ()
        self._set_backend(backend or ("cuda" if devices else "cpu"))
        self._may_copy = bool(devices)
        self._on_cpu_receivers, self._on_gpu_receivers = [], []
        self._pool, self._pool_size = None, 0
        if self.backend == "cuda":
            self._start_gpus()
        else:
            self._on_cpu_receivers.append(make())
        self.layout, self._iterations = self.receiver.layout, self.receiver.iterations
        self.threads = threads

    @property
    def receiver(self):
        """The first receiver."""
        return (self._on_cpu_receivers or self._on_gpu_receivers)[0]

    @property
    def iterations(self):
        """Maximum number of passes; may be changed."""
        return self._iterations

    @iterations.setter
    def iterations(self, iterations):
        self.receiver.iterations = iterations    # checks it
        self._iterations = iterations

    @property
    def threads(self):
        """Number of CPU threads; 0 takes all cores. May be changed."""
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = thread_count(threads)

    def prepare(self, n, per_channel=1):
        """Do the slow first steps on a GPU now, so that the first ``receive`` is fast.

        These steps are compiling and, for backend "auto", choosing between CPU and GPU: a random
        batch is timed on both.

        Args:
            n: number of codewords in a batch.
            per_channel: number of vectors that share a matrix.

        Returns:
            A sentence about the choice; None if there was none.
        """
        def make_batch():
            batch = self._random_batch(n, per_channel)
            return partial(self._on_cpu, batch, n), partial(self._on_gpus, batch, n)

        return self._prepare(make_batch)

    def receive(self, y, h, noise_var=None, keep_history=False, *, noise_cov=None):
        """Receive a batch of host arrays.

        Arguments and errors are those of ``IterativeReceiver.receive`` with ``strict=True``.

        Returns:
            :class:`Received` with host arrays; LLRs and ``decoder_iterations`` are None.
        """
        n = self.receiver.codewords(y)
        batch = Batch(y, h, noise_var, self.layout.vectors, noise_cov)
        # Check the arguments here, for all shares.
        self.receiver.detector.checked(y, h, noise_var, None, noise_cov)
        return self._run(partial(self._on_cpu, batch, n, keep_history),
                         partial(self._on_gpus, batch, n, keep_history))

    def _on_cpu(self, batch, n, keep_history=False):
        threads = self._threads or _core.max_threads()
        step = -(-n // threads)
        step += -step % LEAST_CODEWORDS
        shares = _shares(n, step)
        receivers = self._on_cpu_receivers
        while len(receivers) < max(1, len(shares)):
            receivers.append(self._make())
        for receiver in receivers:
            receiver.threads = threads // len(shares) if len(shares) > 1 else self._threads

        def receive(receiver, part):
            return _decisions(receiver.receive(part.y, part.h, part.noise_var, keep_history,
                                               noise_cov=part.noise_cov), np.asarray)

        return self._share(receive, receivers, shares, batch)

    def _on_gpus(self, batch, n, keep_history=False):
        self._start_gpus()

        def receive(receiver, part):
            with current(self._devices[self._on_gpu_receivers.index(receiver)]):
                # The pinned copies live until the results are here.
                (y, h, noise_var, noise_cov), _pinned = zip(*(
                    upload(array, self._threads) if np.ndim(array) else (array, None)
                    for array in (part.y, part.h, part.noise_var, part.noise_cov)), strict=True)
                return _decisions(receiver.receive(y, h, noise_var, keep_history,
                                                   noise_cov=noise_cov), cupy().asnumpy)

        return self._share(receive, self._on_gpu_receivers, _shares(n, -(-n // len(self._devices))),
                           batch)

    def _share(self, receive, receivers, shares, batch):
        """Let each receiver process its share, (first, end) codewords; there may be no shares."""
        for receiver in receivers:
            receiver.iterations = self._iterations
        if len(shares) < 2:
            return receive(receivers[0], batch)
        if self._pool_size < len(shares):
            self._pool, self._pool_size = ThreadPoolExecutor(len(shares)), len(shares)
        parts = [self._pool.submit(receive, receiver, batch.part(*share))
                 for receiver, share in zip(receivers, shares, strict=False)]
        wait(parts)
        return _joined([part.result() for part in parts])

    def _start_gpus(self):
        if not self._on_gpu_receivers:    # all or none: a GPU may be in use by another process
            self._on_gpu_receivers = [self._make(device) for device in self._devices]

    def _random_batch(self, n, per_channel):
        """Return n codewords of zeros; the SNR is high enough that few are wrong."""
        detector, vectors = self.receiver.detector, n * self.layout.vectors
        rng, nt = np.random.default_rng(1), detector.num_tx
        snr_db = SNR_DB + SNR_DB_PER_BIT * detector.constellation.bits_per_symbol
        noise_var = nt * 10 ** (-snr_db / 10)
        h = channel.flat_rayleigh(vectors // per_channel, detector.num_rx, nt, rng)
        zeros = np.array([points.points[0] for points in detector.layers])
        y = (h @ zeros).repeat(per_channel, axis=0)
        y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
        return Batch(y, h, noise_var, self.layout.vectors)


def _shares(n, step):
    return [(at, min(at + step, n)) for at in range(0, n, step)] if n else []


def _decisions(received, to_host):
    """Copy the decisions to the host and drop everything else."""
    bits, found, iterations, history = (
        None if array is None else to_host(array) for array in (
            received.bits, received.found, received.iterations, received.history))
    return Received(None, bits, found, iterations, None, None, history, received.erasures,
                    received.erased)


def _joined(parts):
    def whole(name, axis=0):
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values, axis)

    return Received(None, whole("bits"), whole("found"), whole("iterations"), None, None,
                    whole("history", 1), sum(part.erasures for part in parts),
                    sum(part.erased for part in parts))
