# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The implementations of a detector: NumPy, C++, and programs for GPUs."""

import weakref
from contextlib import suppress

import numpy as np

from .. import _core, reference
from ..cuda.gpus import Gpus


class Engines:
    """The implementations of one detector, each made on first use.

    Args:
        detector: ``Detector``.
        isa: instruction set of the CPU, or "auto".
    """

    def __init__(self, detector, isa):
        # A reference cycle would keep GPU memory until the garbage collector runs.
        self._detector, self._isa = weakref.proxy(detector), isa
        self._core = self._gpus = None
        self._outdated = False    # whether the GPU programs are those of earlier parameters

    @property
    def isa(self):
        """The CPU instruction set in use; None before the CPU is first used."""
        return self._core.isa if self._core else None

    def core(self):
        """Return the C++ detector."""
        if self._core is None:
            self._core = _core.Detector(self._detector.plan(), self._isa)
        return self._core

    def gpus(self):
        """Return the programs on the detector's GPUs, a ``cuda.gpus.Gpus``."""
        detector = self._detector
        if self._gpus is None:
            self._gpus = Gpus(detector.plan(), detector.devices, detector.candidates)
        elif self._outdated:
            self._gpus.renew(detector.plan(), detector.candidates)
        self._outdated = False
        return self._gpus

    def renew(self):
        """Make the implementations again at their next use: a parameter has changed."""
        self._core, self._outdated = None, True

    def on_host(self, call):
        """Run a :class:`.call.Call` in C++, or in NumPy for backend "reference".

        Returns:
            The number of erased vectors.
        """
        if self._detector.backend == "reference":
            return self._by_reference(call)
        return self.core().detect(*call)

    def on_gpus(self, call):
        """Run a :class:`.call.Call` on the GPUs.

        Returns:
            The number of erased vectors. For GPU arrays it is an object whose int() waits for the
            GPU.
        """
        return self.gpus().detect(call)

    def _by_reference(self, call):
        detector = self._detector
        llr, erased = reference.run(
            detector.reference, call.y, call.h, call.noise_var, detector.constellation, call.prior,
            hard=call.hard, needs_rank=detector.NEEDS_RANK)
        return write(detector, call, llr, erased)

    def pin(self, *arrays):
        """Pin host arrays, see ``Detector.pin``."""
        return self._gpus.pin(*arrays) if self._gpus else False

    def release(self):
        """Free GPU buffers and unpin host arrays, see ``Detector.release``."""
        if self._gpus:
            self._gpus.release()
            self._gpus.unpin()

    def forget_gpus(self):
        """Drop the programs of GPUs that have failed; a later call may still make new ones."""
        with suppress(Exception):    # every call fails on a GPU that has failed
            self.release()
        self._gpus = None


def write(detector, call, llr, erased):
    """Write LLRs to ``call.out``: extrinsic and int8 if the detector's parameters ask for that.

    Args:
        detector: ``Detector``.
        call: :class:`.call.Call`.
        llr: (n, nt*m) float64, a-posteriori LLRs, 0 for erased vectors; may be overwritten.
        erased: (n,) bool.

    Returns:
        The number of erased vectors.
    """
    if detector.extrinsic and call.has_prior:
        llr[~erased] -= call.prior[~erased]
    if call.out.dtype == np.int8:
        llr = np.clip(np.rint(llr * call.llr_scale), -127, 127)
    call.out[...] = llr
    return int(erased.sum())
