# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command itself: options, and results to the screen and a JSON file."""

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from ... import _core, detectors
from ...constellation import get as get_constellation
from ..machine import describe, describe_gpu
from . import printing, single
from .data import Setting, Store


@dataclass(frozen=True)
class Suite:
    """Where a suite is, and what the options that are not given are in it."""

    what: str
    function: str
    vectors: int
    seconds: float
    rounds: int
    threads: int = 2
    gpu: bool = False
    data: int = 1_000_000    # vectors that are made; a suite whose runs are longer repeats them


GPU_DATA = 500_000
# A suite's module is imported when it is asked for: "flowgraph" needs GNU Radio's runtime.
SUITES = {
    "cpu": Suite("detectors on arrays, their targets, limits and peers", "cpu.run",
                 500_000, 1.5, 5),
    "threads": Suite("growth with the threads", "sweeps.run_threads", 500_000, 1.5, 5, threads=0),
    "antennas": Suite("growth with the antennas", "sweeps.run_antennas", 10_000, 0.6, 3),
    "batch": Suite("growth with the vectors of a call", "sweeps.run_batch", 1_000_000, 0.5, 5),
    "flowgraph": Suite("detector blocks in a flowgraph", "flowgraph.run", 20_000_000, 2.5, 5),
    "codes": Suite("decoders of codes on arrays, beside IT++", "codes.run", 512, 3.0, 5,
                   threads=1),
    "gpu": Suite("detectors on a GPU, data on the device, their targets, limits and Sionna",
                 "gpu.run", 2_000_000, 0.15, 5, gpu=True, data=GPU_DATA),
    "gpu-batch": Suite("a GPU's growth with the vectors of a call, beside the CPU's",
                       "gpu_sweeps.run_batch", 10_000_000, 0.1, 3, threads=0, gpu=True,
                       data=GPU_DATA),
    "gpu-slot": Suite("a GPU beside the papers' figures", "gpu_sweeps.run_slot", 10_000, 0.2, 5,
                      threads=0, gpu=True),
    "gpu-link": Suite("a GPU from the host's memory", "gpu_sweeps.run_link", 4_000_000, 1.0, 5,
                      gpu=True, data=GPU_DATA),
    "gpu-devices": Suite("two GPUs beside one", "gpu_sweeps.run_devices", 2_000_000, 0.5, 5,
                         gpu=True, data=GPU_DATA),
    "gpu-codes": Suite("decoders of codes on a GPU, data on the device", "codes.run_gpu", 20_000,
                       0.3, 5, gpu=True, data=1),
    "gpu-flowgraph": Suite("detector blocks on a GPU in a flowgraph", "flowgraph.run_gpu",
                           20_000_000, 1.5, 3, threads=0, gpu=True, data=GPU_DATA),
}
SINGLE = Suite("detectors on arrays", "", 200_000, 3.0, 7, threads=0)


@dataclass(frozen=True)
class Options:
    """What every suite gets."""

    threads: int
    vectors: int
    seconds: float
    rounds: int
    isas: tuple
    peers: str | None
    sionna_python: str | None
    antennas: tuple


@contextmanager
def progress(steps, label="timing"):
    """Yields what is to be called after each step."""
    with click.progressbar(length=steps, label=label) as bar:
        yield lambda: bar.update(1)


def _given(context, names):
    source = click.core.ParameterSource.COMMANDLINE
    return [name for name in names if context.get_parameter_source(name) == source]


def _run_single(setting, names, backends, options):
    """What prints the results, and the results; ``_run_suite`` likewise."""
    made, refused = single.make_cases(names or single.all_names(), backends, setting,
                                      options.isas, options.threads)
    for line in refused:
        click.echo(f"left out: {line}", err=True)
    if not made:
        raise click.UsageError("no detector is left to be timed")
    results = single.run(made, options, Store(options.vectors), progress)
    show = partial(printing.print_single, results["results"])
    case = {"num_tx": setting.num_tx, "num_rx": setting.num_rx,
            "constellation": setting.points.name, "snr_db": setting.snr_db,
            "noise_var": setting.noise_var, "symbols_per_channel": setting.per_channel,
            "threads": options.threads}
    return show, {"case": case, **results}


def _describe_gpu(suite_name):
    try:
        return describe_gpu()
    except (ValueError, ImportError) as error:
        raise click.UsageError(f"suite {suite_name}: no usable NVIDIA GPU ({error})") from None


def _run_suite(name, options):
    suite = SUITES[name]
    module, function = suite.function.split(".")
    run = getattr(import_module(f"{__package__}.{module}"), function)
    results = run(options, Store(min(options.vectors, suite.data)), progress)
    show = partial(getattr(printing, f"print_{name.replace('-', '_')}"), results)
    return show, {"suite": name, "threads": options.threads,
                  "data": "i.i.d. Rayleigh, 20 dB per receive antenna, one matrix per vector "
                          "unless T is given", **results}


@click.command("bench")
@click.option("--suite", "suite_name", type=click.Choice(list(SUITES)),
              help="A fixed set of measurements; without it, detectors on one setting.")
@click.option("--num-tx", default=4, show_default=True, help="Transmit antennas.")
@click.option("--num-rx", default=4, show_default=True, help="Receive antennas.")
@click.option("--constellation", default="qam16", show_default=True)
@click.option("--snr", default=20.0, show_default=True,
              help="dB per receive antenna: noise_var = num_tx / 10^(snr/10).")
@click.option("--symbols-per-channel", default=1, show_default=True,
              help="Consecutive vectors that share a channel matrix.")
@click.option("--detector", "names", multiple=True, type=click.Choice(list(detectors.REGISTRY)),
              help="Only these; may be given several times.")
@click.option("--backend", "backends", multiple=True,
              type=click.Choice(["cpu", "cuda", "reference"]),
              default=["cpu", "reference"], show_default=True)
@click.option("--isa", "isas", multiple=True,
              help="Instruction sets of the cpu backend, several times; default the best, and in "
                   "the cpu suite all.")
@click.option("--threads", type=click.IntRange(0, 1024),
              help="CPU threads; 0 takes all cores. Default 0, in suites but threads 2, codes 1.")
@click.option("--vectors", type=click.IntRange(1),
              help="Largest batch; the default depends on the suite.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True),
              help="Time for each row, about.")
@click.option("--rounds", type=click.IntRange(1), help="Runs of which the median counts.")
@click.option("--antennas", multiple=True, type=click.IntRange(1, 16),
              help="Suite antennas: only these numbers.")
@click.option("--peers", type=click.Path(exists=True, file_okay=False),
              help="Suites cpu, gpu and codes: the folder bench/peers of the source tree; time "
                   "IT++ (not gpu) and Sionna (not codes) in the same run.")
@click.option("--sionna-python", type=click.Path(exists=True, dir_okay=False),
              help="Python that has Sionna; default that of bench/peers/sionna-setup.sh.")
@click.option("--output", type=click.Path(dir_okay=False), help="Write the results as JSON.")
@click.pass_context
def bench_command(context, suite_name, num_tx, num_rx, constellation, snr, symbols_per_channel,
                  names, backends, isas, threads, vectors, seconds, rounds, antennas, peers,
                  sionna_python, output):
    """Time the detectors on simulated data."""
    suite = SUITES.get(suite_name, SINGLE)
    foreign = _given(context, ("num_tx", "num_rx", "constellation", "snr", "symbols_per_channel",
                               "names", "backends") if suite_name else ("peers", "antennas"))
    if foreign:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in foreign)
        raise click.UsageError(f"{names}: not for " + (
            f"the suite {suite_name}" if suite_name else "this; name a --suite"))
    available = _core.available_isas()
    if suite_name == "cpu":
        isas = isas or available
    unknown = [isa for isa in isas if isa not in ("auto", *available)]
    if unknown:
        raise click.UsageError(f"--isa {unknown[0]}: this machine has {', '.join(available)}")
    isas = tuple(available[0] if isa == "auto" else isa for isa in isas or ("auto",))
    threads = suite.threads if threads is None else threads
    options = Options(threads if suite is SINGLE else threads or _core.max_threads(),
                      vectors or suite.vectors, seconds or suite.seconds, rounds or suite.rounds,
                      isas, peers, sionna_python, antennas)
    machine = describe()
    if suite.gpu:
        machine["gpu"] = _describe_gpu(suite_name)
    click.echo(f"{suite.what}, simulated data; "
               + (f"{machine['gpu']['name']}; " if suite.gpu else "") + f"{machine['processor']}, "
               f"{options.threads or machine['threads']} threads")
    if suite_name:
        show, results = _run_suite(suite_name, options)
    else:
        setting = Setting(num_tx, num_rx, get_constellation(constellation), snr,
                          symbols_per_channel)
        show, results = _run_single(setting, names, backends, options)
    if output:
        Path(output).write_text(json.dumps({"what": suite.what, "machine": machine, **results},
                                           indent=1) + "\n")
    show()
    if output:
        click.echo(f"written: {output}")
