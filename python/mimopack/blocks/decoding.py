# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of blocks that run a detector or a decoder: backend, totals, status messages."""

import time

import pmt

from ..checks import thread_count
from .settings import STATUS, Controlled
from .streams import REPORT_SECONDS, BlockLog


class BackendBlock(Controlled):
    """Base class of blocks whose ``_engine``, a ``backends.BackendChoice``, does the work.

    A subclass has ``TOTALS``, the names of the methods whose values the port ``status`` sends,
    beginning with that of all items, and a sentence part ``ERASED`` that names the reasons of
    erasures.
    """

    QUIET = ()    # totals whose change alone is not reported

    def _begin(self, engine):
        self._engine = engine
        engine.on_gpu_failure = self._on_gpu_failure
        self._log = BlockLog(self)
        self._erasures = self._failures = 0
        self._reported, self._last_report = {}, 0.0

    def _register_ports(self):
        self._register_control()
        self.message_port_register_out(STATUS)

    def stop(self):
        self._report(final=True)
        self._log.flush()
        return super().stop()

    def set_threads(self, threads):
        """Set the number of CPU threads; 0 takes all cores."""
        self._engine.threads = thread_count(threads)

    def threads(self):
        """Return the number of CPU threads; 0 means all cores."""
        return self._engine.threads

    def last_backend(self):
        """Return the last batch's backend, "cpu", "cuda" or "reference"; None if there is none."""
        return self._engine.last_backend

    def erasures(self):
        """Return the number of erased vectors or codewords since the block was made."""
        return self._erasures

    def failures(self):
        """Return the number of exceptions, each of which erased the items of a call or PDU."""
        return self._failures

    def _prepare(self, *arguments):
        """Make the engine ready for batches, in start(); log what backend "auto" has chosen."""
        choice = self._engine.prepare(*arguments)
        if choice:
            self._log.info(choice)

    def _on_gpu_failure(self, error):
        self._log.error(f"the GPU failed, going on with the CPU: {error!r}")

    def _fail(self, n, items, error):
        """Count n erased items of a call that has raised an exception; the stream continues."""
        self._failures += 1
        self._erasures += n
        self._log.warn("failures", f"{n} {items} are erased: {error!r}")

    def _report(self, final=False):
        """Send the totals that have changed, at most once a second."""
        now, status = time.monotonic(), {name: getattr(self, name)() for name in self.TOTALS}
        news = {key: value for key, value in status.items() if key not in self.QUIET}
        before = self._reported or dict.fromkeys(news, 0)
        if news == before or (not final and now - self._last_report < REPORT_SECONDS):
            return
        if status["erasures"] > before["erasures"]:
            items, total = next(iter(status.items()))
            self._log.warn(None, f"{status['erasures']} of {total} {items} erased so far "
                           f"({self.ERASED})")
        self._last_report, self._reported = now, news
        self.message_port_pub(STATUS, pmt.to_pmt(status))


class Decoding(BackendBlock):
    """Base class of blocks that decode with a decoder or an iterative receiver (``_engine``)."""

    TOTALS = ("codewords", "undecoded", "erasures", "failures", "mean_iterations",
              "refused_settings")
    ERASED = "NaN, Inf, all LLRs 0, or a failure"

    def _begin(self, engine):
        super()._begin(engine)
        self._codewords = self._undecoded = self._iterations_taken = 0

    def codewords(self):
        """Return the number of codewords processed since the block was made."""
        return self._codewords

    def undecoded(self):
        """Return the number of codewords that were not decoded, not counting erased codewords.

        Such a codeword violates a check of the code. Convolutional codes have no checks: see
        ``coding.ConvolutionalDecoder``.
        """
        return self._undecoded

    def mean_iterations(self):
        """Return the mean number of iterations per codeword since the block was made."""
        return self._iterations_taken / max(self._codewords, 1)

    def _count(self, n, found, taken, erased):
        """Count n codewords: those found, all iterations taken, and the erased codewords."""
        self._codewords += n
        self._undecoded += n - int(found.sum()) - erased
        self._iterations_taken += int(taken.sum())
        self._erasures += erased


def refuse_reserved(name, options, reserved):
    """Refuse options that the block sets itself; the detector or decoder refuses unknown ones."""
    for option in options:
        if option in reserved:
            raise ValueError(f"{name}: got {option}, which the block sets itself")
