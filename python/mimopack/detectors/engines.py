# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a detector runs on: NumPy, the C++ detector, and its programs on GPUs."""

from contextlib import suppress

import numpy as np

from .. import _core, reference
from ..cuda.gpus import Gpus


class Engines:
    """The forms of one detector, each made when it is first needed.

    Args:
        detector: ``Detector``.
        isa: instruction set of the CPU, or "auto".
    """

    def __init__(self, detector, isa):
        self._detector, self._isa = detector, isa
        self._core = self._gpus = None

    @property
    def isa(self):
        """Instruction set in use; None where the CPU has had nothing to do."""
        return self._core.isa if self._core else None

    def core(self):
        """The C++ detector."""
        if self._core is None:
            self._core = _core.Detector(self._detector.plan(), self._isa)
        return self._core

    def gpus(self):
        """``cuda.gpus.Gpus``, the programs on the detector's GPUs."""
        if self._gpus is None:
            detector = self._detector
            self._gpus = Gpus(detector.plan(), detector.devices, detector.candidates)
        return self._gpus

    def on_host(self, call):
        """Run a :class:`.call.Call` by C++, or by NumPy for backend "reference"; return the number
        of erased vectors."""
        if self._detector.backend == "reference":
            return self._by_reference(call)
        return self.core().detect(*call)

    def on_gpus(self, call):
        """Run a :class:`.call.Call` on the GPUs; return the number of erased vectors, for arrays of
        a GPU as something that int() waits for."""
        return self.gpus().detect(call)

    def _by_reference(self, call):
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

    def pin(self, *arrays):
        """As ``Detector.pin``."""
        return self._gpus.pin(*arrays) if self._gpus else False

    def release(self):
        """As ``Detector.release``."""
        if self._gpus:
            self._gpus.release()
            self._gpus.unpin()

    def forget_gpus(self):
        """Give up the programs of GPUs that have failed; new ones may still be tried."""
        with suppress(Exception):    # nothing works any more with a GPU that has failed
            self.release()
        self._gpus = None
