# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a detector runs: NumPy, the CPU, GPUs, or whichever of the last two is faster.

Each backend has ``detect(call)``, which returns the number of erased vectors, ``last``, the name of
what the last call ran on, and ``core``, the C++ detector where calls always go there. ``prepare``,
``pin`` and ``release`` are those of :class:`.base.Detector`.
"""

import time
import warnings
from contextlib import suppress

import numpy as np

from .. import _core, reference
from ..cuda import device
from ..cuda.gpus import Gpus
from .calibration import Calibration, problem


class Reference:
    """The NumPy reference, vector by vector.

    Args:
        detector: ``Detector``.
    """

    last, core, gpus = "reference", None, None

    def __init__(self, detector):
        self._detector = detector

    def detect(self, call):
        detector = self._detector
        llr, erased = reference.run(
            detector.reference, call.y, call.h, call.noise_var, detector.constellation, call.prior,
            hard=call.hard)
        if detector.extrinsic and call.has_prior:
            llr[~erased] -= call.prior[~erased]
        if call.out.dtype == np.int8:
            llr = np.clip(np.rint(llr * call.llr_scale), -127, 127)
        call.out[...] = llr
        return int(erased.sum())

    def prepare(self, n, per_channel, has_prior):
        """Do nothing."""

    def pin(self, *arrays):
        return False

    def release(self):
        """Do nothing."""


class Cpu:
    """The C++ detector, with SIMD and OpenMP.

    Args:
        detector: ``Detector``.
        isa: instruction set, or "auto".
    """

    last, gpus = "cpu", None

    def __init__(self, detector, isa):
        self.core = _core.Detector(detector.plan(), isa)
        self.isa = self.core.isa

    def detect(self, call):
        return self.core.detect(*call)

    def prepare(self, n, per_channel, has_prior):
        """Do nothing."""

    def pin(self, *arrays):
        return False

    def release(self):
        """Do nothing."""


class Cuda:
    """GPUs, for arrays of the host and of the GPUs; the CPU after a GPU has failed with the former.

    Args:
        detector: ``Detector``; its ``on_gpu_failure`` says what a failure does.
        isa: of the CPU.
    """

    core = None

    def __init__(self, detector, isa):
        self._detector, self._isa = detector, isa
        self._gpus = self._cpu = None
        self._lost = False    # arrays of a GPU may still be tried there
        self.last = None
        self._begin()

    def _begin(self):
        self.gpus()

    def gpus(self):
        """``cuda.Gpus`` with the detector's programs, made when they are needed."""
        if self._gpus is None:
            detector = self._detector
            self._gpus = Gpus(detector.plan(), detector.devices, detector.candidates)
        return self._gpus

    def cpu(self):
        """:class:`Cpu`, made when it is needed."""
        if self._cpu is None:
            self._cpu = Cpu(self._detector, self._isa)
        return self._cpu

    @property
    def isa(self):
        return self._cpu.isa if self._cpu else None

    @property
    def lost(self):
        """Whether a GPU has failed with arrays of the host."""
        return self._lost

    def detect_there(self, call):
        """Detect arrays of a GPU on the current stream; the result tells the number of erased
        vectors by int(), which waits."""
        self.last = "cuda"
        return self.gpus().detect(call)

    def detect(self, call):
        try:
            if not self._lost and self._prefers_gpu(call):
                erased = self.gpus().detect(call)
                self.last = "cuda"
                return erased
        except Exception as error:
            self._lose(error, stacklevel=5)
        return self._detect_on_cpu(call)

    def _detect_on_cpu(self, call):
        self.last = "cpu"
        return self.cpu().detect(call)

    def _prefers_gpu(self, call):
        return True

    def _prefers_gpu_for_many(self, n, per_channel, has_prior):
        return True

    def prepare(self, n, per_channel, has_prior):
        try:
            if not self._lost and self._prefers_gpu_for_many(n, per_channel, has_prior):
                period = min(per_channel, 2)    # one program for all that are more than 1
                vectors = period * len(self._detector.devices)
                self.gpus().detect(problem(self._detector, vectors, period, has_prior))
        except Exception as error:
            self._lose(error, stacklevel=4)

    def _lose(self, error, stacklevel):
        """Go on with the CPU for good, and tell somebody; or raise the error again."""
        detector = self._detector
        if detector.on_gpu_failure:
            detector.on_gpu_failure(error)
        elif detector.backend == "auto":
            warnings.warn(f"the GPU failed, going on with the CPU: {error!r}", RuntimeWarning,
                          stacklevel=stacklevel)
        else:
            raise error
        self.cpu()
        with suppress(Exception):    # nothing works any more with a GPU that has failed
            self.release()
        self._gpus, self._lost = None, True

    def pin(self, *arrays):
        return self._gpus.pin(*arrays) if self._gpus else False

    def release(self):
        if self._gpus:
            self._gpus.release()
            self._gpus.unpin()


class Auto(Cuda):
    """The CPU, or GPUs for batches of the host for which they were measured to be faster."""

    def _begin(self):
        self._calibration = Calibration(self._detector, self.cpu(), self.gpus)

    @property
    def core(self):
        """The C++ detector where there is no GPU to go to."""
        return None if self._gpus or not self._lost and device.count() else self.cpu().core

    def _prefers_gpu(self, call):
        return call.nodes is None and self._calibration.prefers_gpu(
            call.n, call.per_channel, call.has_prior, call.num_hard)

    def _prefers_gpu_for_many(self, n, per_channel, has_prior):
        return self._calibration.prefers_gpu(n, per_channel, has_prior, many=True)

    def _detect_on_cpu(self, call):
        if self._lost:
            return Cuda._detect_on_cpu(self, call)
        start = time.perf_counter()
        erased = Cuda._detect_on_cpu(self, call)
        self._calibration.took(time.perf_counter() - start, call.per_channel, call.has_prior,
                               call.num_hard)
        return erased


def make(detector, isa):
    """The backend that a detector was asked for."""
    kinds = {"cpu": Cpu, "cuda": Cuda, "auto": Auto}
    if detector.backend == "reference":
        return Reference(detector)
    return kinds[detector.backend](detector, isa)
