# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a simulation over SNRs, frames and detectors."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

from .. import _core
from ..checks import choice, flag, integer, positive, thread_count
from ..detectors.lookup import labels
from ..detectors.parameters import BACKENDS
from .link import BLOCK
from .plan import Plan, compute
from .receivers import Receivers
from .store import Store

# Frames per detector call: enough to fill the decoder's SIMD lanes, or a GPU.
_BATCH = {"auto": 64, "cpu": 64, "reference": 16}
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
        detectors: list of detectors: texts with parameters, objects or classes, see ``Receiver``.
            Each thread makes its own copy of an object. The attribute ``detectors`` and the results
            have a label for each: the text, or an object's name with the parameters that differ
            from their defaults.
        iterations, decoder_iterations, feedback_scale, early_stop: see ``Receiver``.
        output: path of a JSON file for the results; an existing file is continued.
        backend: backend of the detectors.
        threads: number of CPU threads; 0 takes all cores. Each thread simulates its own frames with
            its own receivers. With backend "cuda" at most four threads do so.
        batch: frames per call, rounded up to blocks of 16; None takes 64, or 1024 on a GPU.
        client: ``distributed.Client`` of a Dask cluster whose workers simulate, or None for
            threads of this process. Backend "cuda" needs workers with the resource GPU.

    Attributes:
        machine: dictionary that describes the machine of a run, for the list of runs in the file;
            None leaves the run out.
        complete: whether all points of the last run are complete.
        store: the ``Store`` of the results.

    Raises:
        ValueError: an argument is invalid, or the simulation cannot continue from output: it was
            made with other parameters, is damaged, or is no file of results; or the workers have
            another version.
        ImportError: client is given, and Dask is not installed.
    """

    def __init__(self, link, detectors, iterations=1, decoder_iterations=20, feedback_scale=0.6,
                 early_stop=True, output=None, backend="cpu", threads=0, batch=None, client=None):
        self.link = link
        self._given = labels(detectors)
        self.detectors = list(self._given)
        if not self.detectors:
            raise ValueError("detectors: got none, must be at least one")
        self.backend = choice("backend", backend, BACKENDS)
        threads = thread_count(threads) or _core.max_threads()
        self.threads = threads if backend in _BATCH else min(threads, _GPU_WORKERS)
        batch = _BATCH.get(backend, _GPU_BATCH) if batch is None else integer(
            "batch", batch, 1, 2**20)
        self.batch = -(-batch // BLOCK)
        # Checked here too: a link without a code uses none of them, but the results name them.
        settings = {"iterations": integer("iterations", iterations, 1, 1000),
                    "decoder_iterations": integer("decoder_iterations", decoder_iterations, 1,
                                                  10_000),
                    "feedback_scale": positive("feedback_scale", feedback_scale),
                    "early_stop": flag("early_stop", early_stop)}
        options = settings | {"backend": backend, "threads": max(1, threads // self.threads)}
        receivers = Receivers(link, self._given, options, self.batch)
        self._client, self._function, self._resources = client, (receivers.count,), {}
        if client is not None:
            from ..cluster import call_packed, packed, worker_identity

            self._resources = {"resources": {"GPU": 1}} if backend == "cuda" else {}
            count = Receivers(link, self._given, options | {"threads": 1}, self.batch).count
            self._function = (call_packed, worker_identity(client, **self._resources),
                              packed(count))
            # This machine only checks the arguments; it need not have a GPU.
            receivers = Receivers(link, self._given, options | {"backend": "cpu"}, self.batch)
        self.passes = {label: receivers.receiver(label).iterations for label in self.detectors}
        self.complete, self.machine = False, None
        self.store = Store(output, {**asdict(link), **settings, "frames_per_block": BLOCK})

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
                damaged in the meantime, or a worker has another version.
            OSError: the output cannot be written, or the cluster's scheduler is lost, or a task
                has ended several workers.
                ``store.rows`` has the results so far.
        """
        run_together([(self, {"snrs": snrs, "errors": errors, "max_frames": max_frames,
                              "progress": progress})], seconds)
        return self.store.rows

    @contextmanager
    def planned(self, arguments):
        """Context manager: the ``Plan`` of a run. At the end, the results are written."""
        begun = self._saved = time.monotonic()
        self.complete = False
        with self.store.held():
            run = {"machine": self.machine, "backend": self.backend, "seconds": 0.0}
            self.store.runs += [run] if self.machine else []
            plan = Plan(self, **arguments)
            plan.begin()
            try:
                yield plan
            finally:
                self.complete = plan.complete
                run["seconds"] = round(time.monotonic() - begun, 3)
                self.store.write()

    @contextmanager
    def executor(self):
        """Context manager: (executor, slots), as for ``plan.compute``."""
        if self._client is None:
            with ThreadPoolExecutor(self.threads) as executor:
                yield executor, self.threads
            return
        from ..cluster import cluster_executor, count_threads

        with cluster_executor(self._client) as executor:
            yield executor, lambda: count_threads(self._client)

    def submit(self, executor, arguments):
        """Let an executor call ``Receivers.count``; return the future of (its result, seconds)."""
        return executor.submit(_timed, *self._function, *arguments, **self._resources)

    def save(self):
        """Write the results if that was long ago."""
        if time.monotonic() > self._saved + _SAVE_SECONDS:
            self.store.write()
            self._saved = time.monotonic()

    def keep(self, label, snr, tally, done):
        """Store the ``Tally`` of a detector at an SNR; ``done`` says whether it is complete."""
        link = self.link
        snr_db = link.snr_db(snr)
        self.store.put({
            "detector": label, "at_db": snr, "snr_db": snr_db,
            "ebn0_db": snr_db + link.ebn0_over_snr, "noise_var": link.noise_var(snr),
            "frames": tally.frames, "complete": done, "counts": tally.state,
            **tally.rates(link.coding.num_info, link.coding.num_bits)})


def _timed(function, *arguments):
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin


def run_together(runs, seconds=None):
    """Run simulations until all their points are complete or time is up.

    Args:
        runs: list of (``Simulation``, {name: argument} of its ``run`` without seconds). Earlier
            ones come first; the tasks of later ones fill the gaps. All have the same client.
        seconds: approximate time limit; None for no limit.
    """
    deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
    with ExitStack() as stack:
        plans = [stack.enter_context(simulation.planned(arguments))
                 for simulation, arguments in runs]
        largest = max((simulation for simulation, _ in runs), key=lambda each: each.threads)
        compute(plans, *stack.enter_context(largest.executor()), deadline)
