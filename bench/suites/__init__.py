# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixed suites of ``mimopack bench --suite NAME``, whose results the documents quote.

A suite has a function of (options, store), which returns the rows for the JSON file, and a function
that makes tables from the rows for the terminal and the documents. Its entry in ``SUITES`` has a
title and the default options.
"""

from dataclasses import replace
from functools import partial
from importlib import import_module

from gnuradio.mimopack import _core
from gnuradio.mimopack.apps.bench.data import Store
from gnuradio.mimopack.apps.bench.suite import Suite

from . import tables

DISTINCT = 1_000_000    # simulated vectors; suites with longer calls repeat them
ON_GPU = 500_000
DATA = "i.i.d. Rayleigh, 20 dB per receive antenna, one matrix per vector unless T is given"


def _run(name, function, distinct, options):
    # Import the module only now: "flowgraph" needs GNU Radio's runtime.
    module, _, function = function.partition(".")
    run = getattr(import_module(f".{module}", __package__), function)
    options = replace(options, threads=options.threads or _core.max_threads())
    return {"suite": name, "threads": options.threads, "data": DATA,
            **run(options, Store(min(options.vectors, distinct)))}


def _tables(kinds, results):
    parts = [part for kind in kinds for part in kind(results)] + tables.missing(results)
    return [part for part in parts if isinstance(part, str) or part.rows]


def _suite(name, function, what, kinds, threads=2, distinct=DISTINCT, **defaults):
    return name, Suite(what, partial(_run, name, function, distinct), partial(_tables, kinds),
                       threads=threads, **defaults)


SUITES = dict((
    _suite("cpu", "cpu.run", "detectors on arrays, and those of other projects",
           (tables.detectors, tables.isas, tables.peers),
           vectors=500_000, seconds=1.5, rounds=5, every_isa=True),
    _suite("threads", "sweeps.run_threads", "growth with the threads",
           (tables.threads,), vectors=500_000, seconds=1.5, rounds=5, threads=0),
    _suite("antennas", "sweeps.run_antennas", "growth with the antennas",
           (tables.antennas,), vectors=10_000, seconds=0.6, rounds=3),
    _suite("arrays", "arrays.run", "detectors for many antennas",
           (tables.arrays,), vectors=100_000, seconds=1.0, rounds=5),
    _suite("batch", "sweeps.run_batch", "growth with the vectors of a call",
           (tables.batch,), vectors=1_000_000, seconds=0.5, rounds=5),
    _suite("flowgraph", "flowgraph.run", "detector blocks in a flowgraph",
           (tables.flowgraph,), vectors=20_000_000, seconds=2.5, rounds=5),
    _suite("codes", "codes.run", "decoders of codes on arrays, beside IT++",
           (tables.codes,), vectors=512, seconds=3.0, rounds=5, threads=1),
    _suite("gpu", "gpu.run",
           "detectors on a GPU, data on the device, and Sionna",
           (tables.detectors, tables.gpu_peers),
           vectors=2_000_000, seconds=0.15, rounds=5, distinct=ON_GPU, gpu=True),
    _suite("gpu-arrays", "gpu.run_arrays", "detectors for many antennas on a GPU",
           (tables.arrays, tables.gpu_peers),
           vectors=500_000, seconds=0.15, rounds=5, distinct=ON_GPU, gpu=True),
    _suite("gpu-batch", "gpu_sweeps.run_batch",
           "a GPU's growth with the vectors of a call, beside the CPU's",
           (tables.gpu_batch, tables.gpu_crossover),
           vectors=10_000_000, seconds=0.1, rounds=3, threads=0, distinct=ON_GPU, gpu=True),
    _suite("gpu-searches", "gpu_searches.run",
           "tree searches on a GPU, data on the device, beside all threads of the CPU and Sionna",
           (tables.gpu_searches,),
           vectors=2**18, seconds=0.3, rounds=3, threads=0, distinct=2**18, gpu=True),
    _suite("gpu-slot", "gpu_papers.run_slot", "a GPU beside the papers' figures",
           (tables.gpu_slot, tables.gpu_exact),
           vectors=10_000, seconds=0.2, rounds=5, threads=0, gpu=True),
    _suite("gpu-antennas", "gpu_papers.run_antennas", "a GPU's growth with the antennas",
           (tables.gpu_antennas,),
           vectors=10_000, seconds=0.15, rounds=3, threads=0, gpu=True),
    _suite("gpu-psd", "gpu_papers.run_psd", "the parallel sphere detector as in 004",
           (tables.gpu_psd, tables.gpu_psd_snrs),
           vectors=4_800_000, seconds=0.06, rounds=3, threads=0, distinct=150_000, gpu=True),
    _suite("gpu-link", "gpu_sweeps.run_link", "a GPU from the host's memory",
           (tables.gpu_link,),
           vectors=4_000_000, seconds=1.0, rounds=5, distinct=ON_GPU, gpu=True),
    _suite("gpu-devices", "gpu_sweeps.run_devices", "two GPUs beside one",
           (tables.gpu_devices,),
           vectors=2_000_000, seconds=0.5, rounds=5, distinct=ON_GPU, gpu=True),
    _suite("gpu-codes", "codes.run_gpu", "decoders of codes on a GPU, data on the device",
           (tables.gpu_codes,),
           vectors=20_000, seconds=0.3, rounds=5, distinct=1, gpu=True),
    _suite("gpu-flowgraph", "flowgraph.run_gpu", "detector blocks on a GPU in a flowgraph",
           (tables.flowgraph,),
           vectors=20_000_000, seconds=1.5, rounds=3, threads=0, distinct=ON_GPU, gpu=True),
))
