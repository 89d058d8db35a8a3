# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive simulated frames, and count the errors of each detector."""

import threading

import numpy as np

from ..arrays import array_module, on_host
from ..checks import choice
from ..coding import ListDecoder
from ..cuda.device import cupy
from ..detectors import look_up
from ..iterative import IterativeReceiver
from .counts import Counts
from .link import BLOCK

# Parameters of the receiver that may follow a detector's name.
_OF_RECEIVER = ("iterations", "feedback_scale", "list_bits", "covariance")


class Receiver:
    """A detector, and a decoder if the link has a code. Not thread-safe.

    Args:
        link: the ``Link``.
        detector: one of:

            - a text with its parameters, such as "nway:num_passes=4". It may also set four
              parameters of the receiver: ``iterations`` and ``feedback_scale``, which override the
              arguments below; ``list_bits`` of a ``coding.ListDecoder`` for the last pass; and
              ``covariance``, which is "known" (the default), or "none" for a receiver that takes
              the interferer for white noise of the same mean power;
            - an object of this package's detectors, made for the same link. A new one is made with
              its arguments other than backend and threads;
            - a user's object (see ``detectors.register``). It is copied with
              ``copy.deepcopy``. If it has attributes num_tx, num_rx or constellation, they must be
              those of the link;
            - a class of such objects.

        iterations, feedback_scale, early_stop: see ``IterativeReceiver``.
        decoder_iterations: maximum number of decoder iterations.
        backend: backend of the detector. With "cuda", a decoder that accepts GPU arrays also runs
            on the GPU; with "reference", the decoder runs on the CPU.
        threads: number of CPU threads of detector and decoder; 0 takes all cores.

    Raises:
        ValueError: an argument is invalid, or needs a code that the link does not have.
    """

    def __init__(self, link, detector, iterations=1, decoder_iterations=20, feedback_scale=0.6,
                 early_stop=True, backend="cpu", threads=0):
        factory = look_up(detector, _OF_RECEIVER)
        self.iterations = factory.extra.get("iterations", iterations)
        feedback_scale = factory.extra.get("feedback_scale", feedback_scale)
        list_bits = factory.extra.get("list_bits", 0)
        covariance = str(factory.extra.get("covariance", "known")).lower()    # none becomes None
        choice("covariance", covariance, ("known", "none"))
        if "covariance" in factory.extra and link.interferer is None:
            raise ValueError(f"covariance: got {covariance} without an interferer")
        self._knows_covariance = link.interferer is not None and covariance == "known"
        self._code = link.coding
        self._detector = factory.make(
            link.num_tx, link.num_rx, link.points, backend=backend, threads=threads,
            **({"extrinsic": True} if factory.kind.takes_feedback(**factory.keywords) else {}))
        self._receiver, self._on_gpu = None, False
        if link.is_coded:
            decoder = self._decoder(decoder_iterations, backend, threads)
            self._on_gpu = backend == "cuda" and decoder.backend == "auto"
            self._receiver = IterativeReceiver(
                self._detector, decoder, link.permutation, self.iterations, early_stop,
                feedback_scale, ListDecoder(decoder, list_bits))
        elif self.iterations != 1:
            raise ValueError(f"iterations: got {self.iterations} without a code, must be 1")
        elif list_bits != 0:
            raise ValueError(f"list_bits: got {list_bits} without a code, must be 0")

    def _decoder(self, iterations, backend, threads):
        """Make the code's decoder; options in the code's name override the usual ones.

        After a detector on a GPU, the decoder accepts GPU arrays.
        """
        usual = {"iterations": iterations, "threads": threads,
                 "backend": "auto" if backend in ("auto", "cuda") else "cpu"}
        return self._code.decoder(**usual | self._code.options)

    def count(self, frames):
        """Receive ``Frames`` and return their ``Counts``."""
        n = len(frames.bits)
        to_device = cupy().asarray if self._on_gpu else np.asarray
        noise = ({"noise_cov": to_device(frames.noise_cov)} if self._knows_covariance else
                 {"noise_var": frames.noise_var})
        if self._receiver is None:
            llr = self._detector.detect(frames.y, frames.h, **noise)
            wrong = np.count_nonzero((llr.reshape(n, -1) > 0) != frames.bits, axis=1)
            ones = np.ones(n, int)
            return Counts(wrong[None], wrong, np.zeros(n, bool), ones, 0 * ones)
        received = self._receiver.receive(to_device(frames.y), to_device(frames.h),
                                          keep_history=self.iterations > 1, **noise)
        decided = received.bits[None] if received.history is None else received.history
        before = (received.detected > 0) != to_device(frames.words)
        xp = array_module(before)
        return Counts(*map(on_host, (
            xp.count_nonzero(decided != to_device(frames.bits), axis=2),
            xp.count_nonzero(before, axis=1), received.found, received.iterations,
            received.decoder_iterations)))


class Receivers:
    """The receivers of a simulation. Thread-safe: each thread has receivers of its own.

    A copy made with pickle has the same arguments, and makes its receivers when it needs them.
    ``detectors`` are {label: detector}, ``options`` further arguments of ``Receiver``. A call of a
    receiver takes ``batch`` blocks.
    """

    def __init__(self, link, detectors, options, batch):
        self._arguments = link, detectors, options, batch
        self._local, self._making = threading.local(), threading.Lock()

    def __reduce__(self):
        return type(self), self._arguments

    def count(self, snr, block, count, labels):
        """Simulate blocks of frames at an SNR in dB, from number ``block`` on.

        Return {label: list with ``Counts.sums()`` of each block} of these detectors.
        """
        link, _, _, batch = self._arguments
        sums = {label: [] for label in labels}
        for first in range(block, block + count, batch):
            blocks = min(batch, block + count - first)
            frames = link.frames(snr, first, blocks)
            for label in labels:
                counts = self.receiver(label).count(frames)
                sums[label] += [counts.part(slice(at, at + BLOCK)).sums()
                                for at in range(0, blocks * BLOCK, BLOCK)]
        return sums

    def receiver(self, label):
        """Return this thread's ``Receiver`` for a detector."""
        link, detectors, options, _ = self._arguments
        receivers = self._local.__dict__.setdefault("receivers", {})
        if label not in receivers:
            with self._making:    # users' code need not be thread-safe
                receivers[label] = Receiver(link, detectors[label], **options)
        return receivers[label]
