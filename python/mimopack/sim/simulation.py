# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a simulation over SNRs, frames and detectors."""

import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from .. import _core
from ..checks import choice, integer, thread_count
from ..detectors.parameters import BACKENDS
from .contender import Contender, labels
from .link import BLOCK
from .store import Store
from .tally import Tally

# Frames per detector call: enough to fill the decoder's SIMD lanes, or a GPU.
_BATCH = {"cpu": 64, "reference": 16}
_GPU_BATCH = 1024
_GPU_WORKERS = 4    # some make frames while others wait for the GPU
_SAVE_SECONDS = 10.0


class Simulation:
    """Simulate the error rates of several detectors on the same frames.

    Each frame is simulated once and received by every detector that still needs it. A detector
    completes an SNR when it has made enough frame errors or received enough frames. The counted
    blocks of frames are always 0, 1, 2, ... without a gap, so results do not depend on the number
    of threads, the batch size or interruptions.

    Args:
        link: the ``Link``.
        detectors: list of detectors: texts with parameters, objects or classes, see ``Contender``.
            Each thread makes its own copy of an object. The attribute ``detectors`` and the results
            have a label for each: the text, or an object's name with the parameters that differ
            from their defaults.
        iterations, decoder_iterations, feedback_scale, early_stop: see ``Contender``.
        output: path of a JSON file for the results; an existing file is continued.
        backend: backend of the detectors.
        threads: number of CPU threads; 0 takes all cores. Each thread simulates its own frames with
            its own receivers. With backends "auto" and "cuda" at most four threads do so.
        batch: frames per call, rounded up to blocks of 16; None takes 64, or 1024 on a GPU.

    Raises:
        ValueError: an argument is invalid, or the simulation cannot continue from output: it was
            made with other parameters, is damaged, or is no file of results.
    """

    def __init__(self, link, detectors, iterations=1, decoder_iterations=20, feedback_scale=0.6,
                 early_stop=True, output=None, backend="cpu", threads=0, batch=None):
        self.link = link
        self._given = labels(detectors)
        self.detectors = list(self._given)
        if not self.detectors:
            raise ValueError("detectors: got none, must be at least one")
        choice("backend", backend, BACKENDS)
        threads = thread_count(threads) or _core.max_threads()
        on_cpu = backend in _BATCH
        self._workers = threads if on_cpu else min(threads, _GPU_WORKERS)
        batch = _BATCH.get(backend, _GPU_BATCH) if batch is None else integer(
            "batch", batch, 1, 2**20)
        self._blocks = -(-batch // BLOCK)
        told = {"iterations": iterations, "decoder_iterations": decoder_iterations,
                "feedback_scale": feedback_scale, "early_stop": early_stop}
        self._options = {**told, "backend": backend,
                         "threads": max(1, threads // self._workers)}
        self._local, self._making = threading.local(), threading.Lock()
        self._passes = {text: self._contender(text).iterations for text in self.detectors}
        self.complete = False
        self.store = Store(output, {**asdict(link), **told, "frames_per_block": BLOCK},
                           self._passes)

    def run(self, snrs, errors=100, max_frames=100_000, seconds=None, progress=None):
        """Continue from the stored results until all points are complete or time is up.

        A point is one detector at one SNR.

        Args:
            snrs: SNRs in dB, of the link's ``snr_kind``; simulated in ascending order. If a
                detector receives max_frames frames without an error, it skips the higher SNRs.
            errors: number of frame errors that completes a point, counted after the last pass.
            max_frames: number of frames that completes a point, rounded up to blocks of 16.
            seconds: approximate time limit in seconds; None for no limit.
            progress: function called with (detector, SNR, ``Tally``) after each update.

        Returns:
            A list of dictionaries with the results of all stored points, as in the file. Afterwards
            the attribute ``complete`` is True if all requested points are complete.

        Raises:
            ValueError: an argument is invalid, or another run uses the output, or the output was
                damaged in the meantime.
            OSError: the output cannot be written. ``store.rows`` has the results so far.
        """
        errors = integer("errors", errors, 1, 10**9)
        most = -(-integer("max_frames", max_frames, 1, 10**9) // BLOCK)
        for snr in snrs:
            self.link.snr_db(snr)    # raises ValueError if invalid
        snrs = sorted({float(snr) for snr in snrs})
        progress = progress or (lambda *grown: None)
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)

        def complete(tally):
            return tally.frame_errors >= errors or tally.blocks >= most

        with self.store.held():
            self.complete = self._all(snrs, complete, most, deadline, progress)
        return self.store.rows

    def _all(self, snrs, complete, most, deadline, progress):
        """Simulate all points; return whether all are complete."""
        clean = set()    # detectors without an error so far: they skip higher SNRs
        self.complete, through = False, True
        self._saved = time.monotonic()
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                for snr in snrs:
                    tallies = {text: Tally(self._passes[text], self.store.state(text, snr))
                               for text in self.detectors if text not in clean}
                    through &= self._point(pool, snr, tallies, complete, most, deadline, progress)
                    clean |= {text for text, tally in tallies.items()
                              if complete(tally) and not tally.frame_errors}
            finally:
                pool.shutdown(cancel_futures=True)
                self.store.write()
        return through

    def _point(self, pool, snr, tallies, complete, most, deadline, progress):
        """Simulate all detectors at one SNR; return whether all are complete."""
        going = {text for text, tally in tallies.items() if not complete(tally)}
        for text, tally in tallies.items():
            if tally.frames:
                self._keep(text, snr, tally, text not in going)
                progress(text, snr, tally)
        block = min((tallies[text].blocks for text in going), default=0)
        pending = deque()
        while going:
            while (block < most and len(pending) < self._workers + 2
                   and time.monotonic() < deadline):
                count = min(self._blocks, most - block)
                wanted = [text for text in self.detectors
                          if text in going and tallies[text].blocks < block + count]
                pending.append((block, pool.submit(self._receive, snr, block, count, wanted)))
                block += count
            if not pending:
                break
            first, future = pending.popleft()
            for text, blocks in future.result().items():
                tally = tallies[text]
                for counts in blocks[tally.blocks - first:] if text in going else ():
                    tally.add(counts)
                    if complete(tally):
                        going.discard(text)
                        break
                self._keep(text, snr, tally, text not in going)
                progress(text, snr, tally)
            if time.monotonic() > self._saved + _SAVE_SECONDS:
                self.store.write()
                self._saved = time.monotonic()
        for _, future in pending:
            future.cancel()
        return not going

    def _receive(self, snr, block, count, wanted):
        """Simulate blocks of frames; return {detector: [``Counts`` of each block]}."""
        frames = self.link.frames(snr, block, count)
        found = {}
        for text in wanted:
            counts = self._contender(text).count(frames)
            found[text] = [counts.part(slice(at, at + BLOCK))
                           for at in range(0, count * BLOCK, BLOCK)]
        return found

    def _contender(self, text):
        """Return this thread's ``Contender`` for a detector."""
        kept = self._local.__dict__.setdefault("contenders", {})
        if text not in kept:
            with self._making:    # users' code need not be thread-safe
                kept[text] = Contender(self.link, self._given[text], **self._options)
        return kept[text]

    def _keep(self, text, snr, tally, done):
        link = self.link
        snr_db = link.snr_db(snr)
        self.store.put({
            "detector": text, "at_db": snr, "snr_db": snr_db,
            "ebn0_db": snr_db + link.ebn0_over_snr, "noise_var": link.noise_var(snr),
            "frames": tally.frames, "complete": done, "counts": tally.state(),
            **tally.rates(link.coding.num_info, link.coding.num_bits)})
