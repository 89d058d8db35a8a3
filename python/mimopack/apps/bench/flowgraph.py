# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--suite flowgraph``: detector blocks between GNU Radio's sources and sinks with their default
buffers, beside the same block with a detector that does nothing."""

import time

import numpy as np
from gnuradio import blocks, gr, mimopack

from .cases import OF_NO_OP, QAM16, Case
from .measuring import DetectorRun, Run, take_turns

# Sources, detector and sink share the cores: on arrays a detector has them for itself, and must be
# so much faster than the no-op block for the CPU not to be the limit.
FASTER = 1.5
CASES = tuple(Case(name, parameters, setting) for setting in (
    QAM16, QAM16.__class__(per_channel=14)) for name, parameters in (
    ("zf", {}), ("mmse", {}), ("nway", {"num_passes": 1}), ("nway", {"num_passes": 4})))
SOURCE_VECTORS = 14 * 2000    # the sources repeat so many


def repeat_into(top_block, block, arrays, items):
    """Connect sources that repeat the arrays' items, ``items`` of them in all, to the block's
    ports; returns the sources and the heads that count the items."""
    ends = []
    for port, array in enumerate(arrays):
        width = array[0].size
        source = blocks.vector_source_c(array.ravel().tolist(), True, width)
        head = blocks.head(gr.sizeof_gr_complex * width, items)
        top_block.connect(source, head, (block, port))
        ends += [source, head]
    return ends[::2], ends[1::2]


class BlockRun(Run):
    """A block in a flowgraph of its own; a unit is a vector. No-op where ``idle``."""

    def __init__(self, case, data, threads, most, idle=False):
        setting, self.period, self.batches = case.setting, case.setting.per_channel, []
        self.block = getattr(mimopack, f"{case.detector}_detector")(
            setting.num_tx, setting.num_rx, setting.constellation, noise_var=setting.noise_var,
            symbols_per_channel=self.period, backend="cpu", threads=threads, **case.parameters)
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
        # So many that the flowgraph's start does not show in the rate.
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
        return elapsed


def run(options, store, progress):
    """Rates of blocks, of the no-op with the same ports, and of the detectors on arrays.

    Where arrays are much faster than the no-op block, the flowgraph is the limit and not the
    detector: there a block must come close to the no-op.
    """
    counts = sorted({1, options.threads})
    idle = {case.setting: BlockRun(case, store.get(case.setting), 1, options.vectors, idle=True)
            for case in CASES}
    timed = [(case, threads, BlockRun(case, store.get(case.setting), threads, options.vectors),
              DetectorRun(case.create(backend="cpu", threads=threads), store.get(case.setting)))
             for case in CASES for threads in counts]
    everything = [*idle.values(), *(run for *_, block, arrays in timed for run in (block, arrays))]
    with progress(len(everything) * (options.rounds + 1)) as tick:
        take_turns(everything, options.seconds, options.rounds, tick)

    def row(label, setting, threads, run):
        return {"label": label, "constellation": setting.constellation,
                "symbols_per_channel": setting.per_channel, "threads": threads,
                "vectors": run.units, "vectors_per_s": run.rate,
                "mean_batch": float(np.mean(run.batches))}

    rows = []
    for setting, run in idle.items():
        label = "no-op" if setting.per_channel == 1 else f"no-op, T = {setting.per_channel}"
        rows.append(row(label, setting, 1, run))
    for case, threads, block, arrays in timed:
        free = idle[case.setting].rate
        rows.append(row(case.label, case.setting, threads, block) | {
            "of_no_op": block.rate / free, "arrays_vectors_per_s": arrays.rate,
            "target_of_no_op": OF_NO_OP if arrays.rate > FASTER * free else None,
            "of_slower": block.rate / min(free, arrays.rate)})
    return {"results": rows}
