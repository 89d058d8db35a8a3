# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where batches are worked on: what ``backend`` means, and what happens when a GPU fails.

- "cpu" is C++ on the CPU, "reference" NumPy in double precision. Arrays are the host's.
- "cuda" is a GPU. Arrays of a GPU are worked on where they are; those of the host go there and
  their results come back.
- "auto" works on arrays of a GPU where they are. A batch of the host goes to the GPU from the size
  on from which a measurement on this machine has found that to be faster (``crossover``). The CPU
  takes smaller ones, and all where there is no GPU.

When a GPU fails with a batch of the host, this is reported once: to ``on_failure`` where that is
set; otherwise "auto" warns and "cuda" raises the exception. Once it is reported the CPU takes that
batch and all that follow. A failure with arrays of a GPU is always raised, as the CPU cannot reach
them.
"""

import sys
import time
import warnings

from .arrays import is_device_array
from .checks import choice

BACKENDS = ("auto", "cpu", "cuda", "reference")


class Placement:
    """The choice of backend of one object, for the batches that it works on.

    Args:
        backend: as the object was asked for.
        crossover: for "auto" the :class:`crossover.Crossover` of its work; None leaves batches of
            the host to the CPU.
        allowed: backends that the object has.

    Attributes:
        backend: see above.
        crossover: None unless the backend is "auto".
        last: what the last batch was worked on by, "cpu", "cuda" or "reference"; None before.
        on_failure: called, once, with the exception of a GPU that failed; or None.
        gpu_is_lost: whether a GPU has failed, so that the CPU takes all batches of the host.

    Raises:
        ValueError: another backend than the allowed ones.
    """

    def __init__(self, backend, crossover=None, allowed=BACKENDS):
        self.backend = choice("backend", backend, allowed)
        self.crossover = crossover if backend == "auto" else None
        self.last = self.on_failure = None
        self.gpu_is_lost = False

    def is_on_gpu(self, array):
        """Return whether an array is to be worked on where it is, on a GPU."""
        return self.backend in ("auto", "cuda") and is_device_array(array)

    def run(self, n, on_cpu, on_gpu, case=()):
        """Work on a batch of the host.

        Args:
            n: items of the batch.
            on_cpu, on_gpu: functions without arguments that work on it, of which the first also
                stands for "reference"; on_cpu may be called after on_gpu has failed.
            case: what the times depend on besides n, see :class:`crossover.Crossover`.

        Returns:
            What the function called last returns.
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
        """Do ahead what the first of many batches of n items would do first: choose, and call
        start_gpu where a GPU takes them."""
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
        """Report a failure and leave all to the CPU, or raise it again."""
        if self.on_failure:
            self.on_failure(error)
        elif self.backend == "auto":
            warnings.warn(f"the GPU failed, going on with the CPU: {error!r}", RuntimeWarning,
                          stacklevel=_level_outside())
        else:
            raise error
        self.gpu_is_lost, self.crossover = True, None


def _level_outside():
    """Return the stacklevel with which a warning of the caller names the line outside of this
    package."""
    package, frame, count = __name__.rpartition(".")[0], sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(package):
        frame, count = frame.f_back, count + 1
    return count
