# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of the parameter ``backend``, and the response to a GPU failure.

- "cpu" runs C++ on the CPU and takes host arrays (NumPy).
- "reference" runs NumPy in double precision and takes host arrays.
- "cuda" runs on a GPU. Arrays on a GPU stay there. Host arrays are copied to the GPU, and the
  results are copied back.
- "auto" processes arrays where they are: GPU arrays on their GPU, host arrays on the CPU.
  ``prepare``, which each block calls in start(), times one batch on the CPU and on the GPU. From
  then on, the faster one processes all host arrays.

A GPU failure on arrays of a GPU is raised, because the CPU cannot read them.
"""

import time
import warnings

from .arrays import is_device_array
from .checks import choice
from .cuda import device

BACKENDS = ("auto", "cpu", "cuda", "reference")
# A measurement repeats calls that take less than this in all, and at most three times.
SECONDS = 0.1


class BackendChoice:
    """Base class of objects that process batches on the CPU or on a GPU.

    Attributes:
        backend: the backend that the user requested.
        last_backend: the backend that processed the last batch: "cpu", "cuda" or "reference"; None
            before the first batch.
        on_gpu_failure: a function that is called once, with the exception, when a GPU fails on host
            arrays; or None. Without a function, backend "auto" warns, and backend "cuda" raises the
            exception. After the call or the warning, the CPU processes that batch and all later
            ones, until ``prepare`` asks for the GPU again.
    """

    backend = "cpu"
    last_backend = on_gpu_failure = None
    _copies_to_gpu = False    # whether a GPU processes host arrays
    _may_copy = True          # whether backend "auto" may choose that

    def _set_backend(self, backend, allowed=BACKENDS):
        self.backend = choice("backend", backend, allowed)
        self._copies_to_gpu = backend == "cuda"

    def _is_on_gpu(self, array):
        """Return whether an array is on a GPU and is to be processed there."""
        return self.backend in ("auto", "cuda") and is_device_array(array)

    def _run(self, on_cpu, on_gpu):
        """Process a batch of host arrays.

        Args:
            on_cpu: a function without arguments that processes the batch on the CPU, or with NumPy
                for "reference". It may be called after on_gpu has failed.
            on_gpu: the same for the GPU.

        Returns:
            The result of the last function called.

        Raises:
            Exception: on_cpu failed; or on_gpu failed, and nothing reports it.
        """
        if self._copies_to_gpu:
            try:
                result, self.last_backend = on_gpu(), "cuda"
                return result
            except Exception as error:
                self._lose_gpu(error)
        result = on_cpu()
        self.last_backend = "reference" if self.backend == "reference" else "cpu"
        return result

    def _prepare(self, make_batch):
        """Make the GPU ready for batches of host arrays and, for "auto", choose the backend.

        A GPU that has failed before gets another chance. If it fails again, this is reported again.

        Args:
            make_batch: a function without arguments that makes a batch and returns two functions
                without arguments, as for ``_run``.

        Returns:
            A sentence about the choice of "auto"; None if there was none.
        """
        self._copies_to_gpu = self.backend == "cuda"
        chooses = self.backend == "auto" and self._may_copy and device.count()
        if not (chooses or self._copies_to_gpu):
            return None
        try:
            on_cpu, on_gpu = make_batch()
            on_gpu()    # compiles
            if not chooses:
                return None
            cpu, gpu = seconds(on_cpu), seconds(on_gpu)
        except Exception as error:
            self._lose_gpu(error)
            return None
        self._copies_to_gpu = gpu < cpu
        return (f"backend auto: {'cuda' if gpu < cpu else 'cpu'}; a batch takes {1e3 * cpu:.3g} ms "
                f"on the CPU, {1e3 * gpu:.3g} ms on the GPU")

    def _lose_gpu(self, error):
        """Report a GPU failure and go on with the CPU, or raise the error again."""
        if not is_gpu_error(error):
            raise error
        if self.on_gpu_failure:
            self.on_gpu_failure(error)
        elif self.backend == "auto":
            warnings.warn(f"the GPU failed, going on with the CPU: {error!r}", RuntimeWarning,
                          stacklevel=4)
        else:
            raise error
        self._copies_to_gpu = False
        self._forget_gpu()

    def _forget_gpu(self):
        """Drop programs and memory of a GPU that has failed."""


def is_gpu_error(error):
    """Return whether an exception comes from CUDA or CuPy."""
    return isinstance(error, device.UnusableGpu) or any(
        kind.__module__.partition(".")[0] in ("cupy", "cupy_backends")
        for kind in type(error).__mro__)


def seconds(function):
    """Return the time of a call: the shortest of three, or of fewer if calls are long."""
    times = []
    while len(times) < 3 and sum(times) < SECONDS:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
