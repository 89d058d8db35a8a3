# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the first calls of detectors on a GPU, each in a separate process.

A first call shows the time to compile, and a kernel's use of a multiprocessor. A kernel that
crashes its process does not affect the others.
"""

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from gnuradio.mimopack.apps.bench.data import Data

from .failures import reason

VECTORS = 1400
LIMIT_SECONDS = 240
MOST_PROCESSES = 16


@contextmanager
def empty_cache():
    """Within this context, give CuPy an empty cache of compiled programs."""
    before = os.environ.get("CUPY_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUPY_CACHE_DIR"] = folder
        try:
            yield
        finally:
            os.environ.pop("CUPY_CACHE_DIR")
            if before is not None:
                os.environ["CUPY_CACHE_DIR"] = before


def call(case):
    """Return the seconds of the first call, and the kernel's use of a multiprocessor."""
    import cupy

    data = Data(case.setting, VECTORS)
    y, h = cupy.asarray(data.y), cupy.asarray(data.h)
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    detector = case.create(backend="cuda")
    detector.detect(y, h, case.setting.noise_var)
    cupy.cuda.Device().synchronize()
    return {"first_call_seconds": time.perf_counter() - start,
            "kernel": detector.gpus.programs[0].resources()[-1]}


def _answer(pipe, case):
    try:
        pipe.send(call(case))
    except Exception as error:
        pipe.send(reason(error))


def _in_process(case):
    """Run ``call`` in a new process; return its result, or a str with the reason of failure."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, case), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(LIMIT_SECONDS):
            return f"took longer than {LIMIT_SECONDS} s"
        return receiver.recv()
    except EOFError:
        return "its process ended without a message"
    finally:
        process.kill()
        process.join()


def all_of(cases, tick=lambda: None):
    """Run ``call`` for each case, several at a time; a failed one gives a str."""
    def run(case):
        try:
            return _in_process(case)
        finally:
            tick()

    with ThreadPoolExecutor(min(MOST_PROCESSES, os.cpu_count() or 1)) as pool:
        return list(pool.map(run, cases))
