# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detector's programs on its GPUs."""

from ..arrays import is_device_array
from .device import cupy, pinned_empty
from .pinning import Pins
from .program import Program
from .transfer import Pipeline


class Gpus:
    """A detector's programs on its GPUs.

    Arrays of a GPU are worked on there; those of the host are shared among all.

    Args:
        plan: ``Detector.plan()``.
        devices: their numbers.
        candidates: that are looked at for one vector.
    """

    def __init__(self, plan, devices, candidates=1):
        self.programs = {device: Program(plan, device) for device in devices}
        self._pipeline = Pipeline(list(self.programs.values()), candidates)
        self._pins = Pins()

    def detect(self, call):
        """Run a ``detectors.Call``: as ``Program.detect`` on arrays of one of the GPUs, or as
        ``Pipeline.detect`` on arrays of the host."""
        if is_device_array(call.y):
            return self.programs[call.y.device.id].detect(call)
        return self._pipeline.detect(call)

    def in_pinned_memory(self, array):
        """A copy there, of an array of the host."""
        with next(iter(self.programs.values())).current():
            copy = pinned_empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def pin(self, *arrays):
        """As ``Detector.pin``."""
        with next(iter(self.programs.values())).current():
            return self._pins.add(*arrays)

    def unpin(self):
        """What ``pin`` has pinned."""
        with next(iter(self.programs.values())).current():
            self._pins.release()

    def release(self):
        """Gives back what is held for arrays of the host between calls."""
        self._pipeline.release()

    def empty(self, shape, dtype, device):
        """A CuPy array on one of the GPUs."""
        with self.programs[device].current():
            return cupy().empty(shape, dtype)

    def zeros(self, shape, dtype, device):
        with self.programs[device].current():
            return cupy().zeros(shape, dtype)
