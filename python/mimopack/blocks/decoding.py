# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of blocks that decode: totals and status messages."""

import time

import pmt

from ..checks import shown
from .settings import STATUS, Threaded
from .streams import REPORT_SECONDS, BlockLog


class Decoding(Threaded):
    """Base class of blocks that decode with a decoder or an iterative receiver (``_engine``).

    A subclass has the method ``_run(*arguments)``, which decodes a batch of codewords.
    """

    ERASED = "NaN, Inf, all LLRs 0, or a failure"

    def _begin(self, engine):
        self._engine = engine
        engine.on_gpu_failure = self._on_gpu_failure
        self._log = BlockLog(self)
        self._codewords = self._undecoded = self._erasures = self._failures = 0
        self._iterations_taken = 0
        self._reported = (0, 0, 0, 0)
        self._last_report = 0.0

    def codewords(self):
        """Return the number of codewords processed since the block was made."""
        return self._codewords

    def undecoded(self):
        """Return the number of codewords that were not decoded, not counting erased codewords.

        Such a codeword violates a check of the code. Convolutional codes have no checks: see
        ``coding.ConvolutionalDecoder``.
        """
        return self._undecoded

    def erasures(self):
        """Return the number of erased codewords.

        A codeword is erased if an LLR is NaN or infinite, if all its LLRs are 0, or if the decoder
        failed.
        """
        return self._erasures

    def failures(self):
        """Return the number of batches in which an exception was raised.

        All codewords of such a batch are erased.
        """
        return self._failures + self._log.failures

    def mean_iterations(self):
        """Return the mean number of iterations per codeword since the block was made."""
        return self._iterations_taken / max(self._codewords, 1)

    def last_backend(self):
        """Return the last batch's backend, "cpu", "cuda" or "reference"; None if there is none."""
        return self._engine.last_backend

    def _decoded(self, n, *arguments):
        """Return the result of ``_run`` for n codewords, or None if ``_run`` raises an exception.

        The stream continues after an exception: the codewords are counted as erased, and the
        exception is logged.
        """
        try:
            result, found, taken, erased = self._run(*arguments)
        except Exception as error:
            result, found, taken, erased = None, 0, 0, n
            self._failures += 1
            self._log.warn("failures", f"the decoder failed, {n} codewords are erased: {error!r}")
        self._codewords += n
        self._undecoded += n - found - erased
        self._erasures += erased
        self._iterations_taken += taken
        return result

    def _on_gpu_failure(self, error):
        self._log.error(f"the GPU failed, going on with the CPU: {error!r}")

    def _report(self, final=False):
        now = time.monotonic()
        counts = self._codewords, self._erasures, self.failures(), self.refused_settings()
        if counts == self._reported or (
                not final and now - self._last_report < REPORT_SECONDS):
            return
        if self._erasures > self._reported[1]:
            self._log.warn(None, f"{self._erasures} of {self._codewords} codewords erased so far "
                           f"({self.ERASED})")
        self._last_report, self._reported = now, counts
        with self._log.guard("a status"):    # in stop(), an exception would end the process
            self.message_port_pub(STATUS, pmt.to_pmt(self._status()))

    def _status(self):
        return {"codewords": self._codewords, "undecoded": self._undecoded,
                "erasures": self._erasures, "failures": self.failures(),
                "mean_iterations": self.mean_iterations(),
                "refused_settings": self.refused_settings()}

    def stop(self):
        self._report(final=True)
        self._log.flush()
        return super().stop()


def options_dict(name, value, known, reserved):
    """Check a dictionary of further keyword arguments; return it, or {} for None.

    Args:
        name: name of the block's parameter, for messages.
        value: the dictionary, or None.
        known: names of the keyword arguments that exist; None if they are not known.
        reserved: set of keys that are not allowed, because the block sets these arguments.

    Raises:
        ValueError: the value is not a dictionary, or has a key that is not allowed.
    """
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise ValueError(f"{name}: got {shown(value)}, must be a dictionary")
    for key in value:
        if known is not None and (key not in known or key in reserved):
            allowed = [option for option in known if option not in reserved]
            raise ValueError(f"{name}: got {shown(key)}, allowed are {', '.join(allowed)}")
        if not isinstance(key, str) or key in reserved:
            raise ValueError(f"{name}: got {shown(key)}, allowed are all parameters except "
                             f"{', '.join(sorted(reserved))}")
    return value
