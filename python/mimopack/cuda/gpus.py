# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All GPUs of a detector: one program for each."""

from ..arrays import is_device_array
from .device import cupy, pinned_empty
from .pinning import Pins
from .program import Program
from .transfer import Pipeline
from .waiting import GpuTimeout, when_idle


class Gpus:
    """A detector's programs on its GPUs.

    Arrays on a GPU are processed there; a batch of host arrays is shared among all GPUs.

    Args:
        plan: ``Detector.plan()``.
        devices: indices of the GPUs.
        candidates: number of candidates evaluated per vector.
    """

    def __init__(self, plan, devices, candidates=1):
        self._devices = devices
        self._pins = Pins()
        self._make(plan, candidates)

    def _make(self, plan, candidates):
        self.programs = {device: Program(plan, device) for device in self._devices}
        self._pipeline = Pipeline(list(self.programs.values()), candidates, plan.get("streams"))

    def renew(self, plan, candidates):
        """Replace the programs by those of another plan; pinned arrays stay pinned."""
        self.release()
        self._make(plan, candidates)

    def detect(self, call):
        """Run a ``detectors.Call``.

        Arrays on one of the GPUs go to ``Program.detect``, host arrays to ``Pipeline.detect``.
        """
        if is_device_array(call.y):
            return self.programs[call.y.device.id].detect(call)
        return self._pipeline.detect(call)

    def in_pinned_memory(self, array):
        """Return a copy of a host array in pinned memory."""
        with next(iter(self.programs.values())).current():
            copy = pinned_empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def pin(self, *arrays):
        """Pin host arrays, see ``Detector.pin``."""
        with next(iter(self.programs.values())).current():
            return self._pins.add(*arrays)

    def unpin(self):
        """Unpin everything that ``pin`` has pinned."""
        try:
            with next(iter(self.programs.values())).current():
                self._pins.release()
        except GpuTimeout:    # unpinning would wait too
            pins, self._pins = self._pins, Pins()
            when_idle(pins.release)
            raise

    def release(self):
        """Free the memory that is kept between calls for host arrays."""
        self._pipeline.release()

    def empty(self, shape, dtype, device):
        """Return an uninitialised CuPy array on one of the GPUs."""
        with self.programs[device].current():
            return cupy().empty(shape, dtype)

    def zeros(self, shape, dtype, device):
        """Return a CuPy array of zeros on one of the GPUs."""
        with self.programs[device].current():
            return cupy().zeros(shape, dtype)
