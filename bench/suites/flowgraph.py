# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``flowgraph`` and ``gpu-flowgraph``: detector blocks in a flowgraph.

The blocks run between GNU Radio's sources and sinks with default buffers. They are compared with
the same block with a detector that does nothing.
"""

import time
from functools import partial

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun
from gnuradio.mimopack.apps.bench.measuring import Run, measure

from .cases import QAM16, shared
from .failures import Fragile, attempt, missing_row

CASES = tuple(Case(name, parameters, setting) for setting in (
    QAM16, shared(QAM16)) for name, parameters in (
    ("zf", {}), ("mmse", {}), ("nway", {"num_passes": 1}), ("nway", {"num_passes": 4})))
GPU_CASES = tuple(case for case in CASES if case.detector != "zf")
SOURCE_VECTORS = 14 * 2000    # vectors that the sources repeat


def repeat_into(top_block, block, arrays, items):
    """Connect sources that repeat the arrays' items, ``items`` in total, to the block's ports.

    Returns:
        The sources, and the heads that count the items.
    """
    ends = []
    for port, array in enumerate(arrays):
        width = array[0].size
        source = blocks.vector_source_c(array.ravel().tolist(), True, width)
        head = blocks.head(gr.sizeof_gr_complex * width, items)
        top_block.connect(source, head, (block, port))
        ends += [source, head]
    return ends[::2], ends[1::2]


class BlockRun(Fragile, Run):
    """Time a block in a flowgraph, or with ``idle`` a no-op block; a unit of work is a vector."""

    def __init__(self, case, data, threads, most, idle=False, backend="cpu"):
        self.backend = backend
        setting, self.period, self.batches = case.setting, case.setting.per_channel, []
        self.block = getattr(mimopack, f"{case.detector}_detector")(
            setting.num_tx, setting.num_rx, setting.constellation, noise_var=setting.noise_var,
            symbols_per_channel=self.period, threads=threads, backend=backend,
            **case.parameters)
        detect = self.block._detector.detect

        def counted(y, *arguments, **keywords):
            self.batches.append(len(y))
            return None if idle else detect(y, *arguments, **keywords)

        self.block._detector.detect = counted
        items = min(SOURCE_VECTORS, data.vectors) // self.period
        arrays = data.y[:items * self.period].reshape(items, -1), data.h[:items]
        self.top_block = gr.top_block()
        self.sources, self.heads = repeat_into(self.top_block, self.block, arrays, items)
        self.sink = blocks.null_sink(gr.sizeof_float * setting.bits_per_vector * self.period)
        self.top_block.connect(self.block, self.sink)
        # Enough vectors to make the flowgraph's start-up time negligible.
        self.most = most - most % self.period
        self.least = self.step = min(self.most, 2**16 * 14)

    def plan(self, seconds):
        super().plan(seconds)
        self.batches.clear()

    def time(self, n):
        for source, head in zip(self.sources, self.heads, strict=True):
            source.rewind()
            head.set_length(n // self.period)
            head.reset()
        before = self.block.vectors()
        start = time.perf_counter()
        self.top_block.run()
        elapsed = time.perf_counter() - start
        if self.block.vectors() - before != n:
            raise RuntimeError(f"{n} vectors went in, {self.block.vectors() - before} came out")
        if self.block.failures() or self.block._detector.backend != self.backend:
            raise RuntimeError("the detector failed")
        return elapsed


class ArraysRun(Fragile, DetectorRun):
    """Time a detector on host arrays."""


def run(options, store):
    """Measure detector blocks, no-op blocks with the same ports, and the detectors on arrays."""
    return _run(options, store, CASES,
                [("cpu", threads) for threads in sorted({1, options.threads})])


def run_gpu(options, store):
    """Measure detector blocks on a GPU and on the CPU."""
    return _run(options, store, GPU_CASES, [("cpu", options.threads), ("cuda", 0)])


def _run(options, store, cases, ways):
    """Measure blocks with each of ``ways``, pairs (backend, threads).

    Each backend needs its own no-op block, because the batch size depends on the backend.
    """
    def block(case, backend, threads, **keywords):
        return BlockRun(case, store.get(case.setting), threads, options.vectors, backend=backend,
                        **keywords)

    idle = {(case.setting, backend): block(case, backend, 1, idle=True)
            for case in cases for backend, _ in ways}
    timed = [(case, backend, threads, block(case, backend, threads),
              ArraysRun(case.create(threads=threads, backend=backend), store.get(case.setting)))
             for case in cases for backend, threads in ways]
    measure([*idle.values(), *(run for *_, block, arrays in timed for run in (block, arrays))],
            options)

    rows, missing = [], []
    for (setting, _), run in idle.items():
        label = "no-op" if setting.per_channel == 1 else f"no-op, T = {setting.per_channel}"
        made, _ = attempt(partial(_row, label, setting, 1, run), run)
        rows += [made] if made else []
    for case, backend, threads, run, arrays in timed:
        free = idle[case.setting, backend]
        made, why = attempt(partial(_compared, case, threads, run, arrays, free),
                            free, run, arrays)
        if made:
            rows.append(made)
        else:
            missing.append(missing_row(case, why) | {"backend": backend})
    return {"results": rows, "missing": missing}


def _row(label, setting, threads, run):
    return {"label": label, "constellation": setting.constellation,
            "symbols_per_channel": setting.per_channel, "backend": run.backend,
            "threads": threads, "vectors": run.units, "vectors_per_s": run.rate,
            "mean_batch": float(np.mean(run.batches))}


def _compared(case, threads, run, arrays, idle):
    return _row(case.label, case.setting, threads, run) | {
        "of_no_op": run.rate / idle.rate, "arrays_vectors_per_s": arrays.rate,
        "of_slower": run.rate / min(idle.rate, arrays.rate)}
