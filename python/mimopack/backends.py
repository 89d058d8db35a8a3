# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of the parameter ``backend``, and the response to a GPU failure.

- "cpu" runs C++ on the CPU and takes host arrays (NumPy).
- "reference" runs NumPy in double precision and takes host arrays.
- "cuda" runs on a GPU. Arrays on a GPU stay there. Host arrays are copied to the GPU, and the
  results are copied back.
- "auto" processes arrays on a GPU on that GPU. A batch of host arrays goes to the GPU if the GPU is
  faster for its size, according to a measurement on this machine (``crossover``). Smaller batches
  go to the CPU, as do all batches on a machine without a GPU.

A GPU failure on a batch of host arrays is reported once: ``on_failure`` is called if it is set;
otherwise "auto" warns and "cuda" raises the exception. After ``on_failure`` or the warning, the CPU
processes that batch and all later ones, until ``prepare`` asks for the GPU again. A failure on
arrays of a GPU is always raised, because the CPU cannot read them.
"""

import sys
import time
import warnings

from .arrays import is_device_array
from .checks import choice
from .cuda.waiting import GpuTimeout, keep_while_busy

BACKENDS = ("auto", "cpu", "cuda", "reference")


class Placement:
    """The choice between CPU and GPU for each batch that one object processes.

    Args:
        backend: the backend that the user requested.
        crossover: a :class:`crossover.Crossover` for the object's work, used by "auto"; None leaves
            all host arrays to the CPU.
        allowed: the backends that the object supports.
        forget: a function without arguments that drops the object's GPU programs and memory. It is
            called after a GPU failure has been reported, unless the GPU is still busy. None if
            there is nothing to drop.

    Attributes:
        backend: see above.
        crossover: None unless the backend is "auto", and while the GPU is lost.
        last: the backend that processed the last batch: "cpu", "cuda" or "reference"; None before
            the first batch.
        on_failure: a function that is called once, with the exception, when a GPU fails; or None.
        gpu_is_lost: whether a GPU has failed. The CPU then processes all host arrays, until
            :meth:`prepare` asks for the GPU again.

    Raises:
        ValueError: the backend is not an allowed one.
    """

    def __init__(self, backend, crossover=None, allowed=BACKENDS, forget=None):
        self.backend = choice("backend", backend, allowed)
        self.crossover = self._crossover = crossover if backend == "auto" else None
        self.last = self.on_failure = None
        self.gpu_is_lost = False
        self._forget = forget

    def is_on_gpu(self, array):
        """Return whether an array is on a GPU and is to be processed there."""
        return self.backend in ("auto", "cuda") and is_device_array(array)

    def run(self, n, on_cpu, on_gpu, case=()):
        """Process a batch of host arrays.

        Args:
            n: number of items in the batch.
            on_cpu: a function without arguments that processes the batch on the CPU, or with NumPy
                for "reference". It may be called after on_gpu has failed.
            on_gpu: the same for the GPU.
            case: settings besides n that affect the run time, see :class:`crossover.Crossover`.

        Returns:
            The result of the last function called.

        Raises:
            Exception: on_cpu failed; or on_gpu failed, with backend "cuda" and no ``on_failure``.
        """
        try:
            if self._takes_gpu(n, case):
                result, self.last = on_gpu(), "cuda"
                return result
        except Exception as error:
            self._lose(error)
        start = time.perf_counter()
        result = on_cpu()
        if self.crossover:
            self.crossover.took(time.perf_counter() - start, case)
        self.last = "reference" if self.backend == "reference" else "cpu"
        return result

    def prepare(self, n, start_gpu, case=()):
        """Choose the backend for batches of n items now, so that the first batch is fast.

        A GPU that has failed before gets another chance. If it fails again, this is reported again.

        Args:
            n: number of items in a batch.
            start_gpu: a function without arguments, called if the GPU is to process such batches.
            case: see ``run``.
        """
        self.gpu_is_lost, self.crossover = False, self._crossover
        try:
            if self._takes_gpu(n, case, many=True):
                start_gpu()
        except Exception as error:
            self._lose(error)

    def _takes_gpu(self, n, case, many=False):
        if self.crossover:
            return self.crossover.prefers_gpu(n, case, many)
        return self.backend == "cuda" and not self.gpu_is_lost

    def _lose(self, error):
        """Report a GPU failure and go on with the CPU, or raise the error again."""
        if self.on_failure:
            self.on_failure(error)
        elif self.backend == "auto":
            warnings.warn(f"the GPU failed, going on with the CPU: {error!r}", RuntimeWarning,
                          stacklevel=_level_outside())
        else:
            raise error
        self.gpu_is_lost, self.crossover = True, None
        if isinstance(error, GpuTimeout):    # freeing memory would wait too
            keep_while_busy(self._forget)
        elif self._forget:
            self._forget()


class Placed:
    """Base class of objects that keep a :class:`Placement` in ``_placement``."""

    @property
    def last_backend(self):
        """The backend of the last batch: "cpu", "cuda" or "reference"; None before the first."""
        return self._placement.last

    @property
    def on_gpu_failure(self):
        """Function called once, with the exception, when a GPU fails on host arrays; or None.

        After the call the CPU processes that batch and all later ones. Without a function, backend
        "auto" warns, and backend "cuda" raises the exception.
        """
        return self._placement.on_failure

    @on_gpu_failure.setter
    def on_gpu_failure(self, report):
        self._placement.on_failure = report


def _level_outside():
    """Return the stacklevel at which a warning names the first line outside this package."""
    package, frame, count = __name__.rpartition(".")[0], sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(package):
        frame, count = frame.f_back, count + 1
    return count
