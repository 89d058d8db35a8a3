# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``mimopack bench`` command: its options, and its output to the screen and a JSON file."""

import json
from pathlib import Path

import click
from click.core import ParameterSource

from ... import _core, detectors
from ...constellation import get as get_constellation
from ..machine import describe, describe_gpu
from .data import Setting
from .single import chosen
from .suite import Options, find
from .table import text, thread_count

# Options that apply only without a suite, and options that apply only to suites.
OF_SETTING = ("num_tx", "num_rx", "constellation", "snr", "symbols_per_channel", "names",
              "backends")
OF_SUITES = ("suites", "antennas", "peers", "sionna_python")


def _refuse_foreign(context, suite_name):
    """Raise click.UsageError for options on the command line that would have no effect."""
    foreign = [option.opts[0] for option in context.command.params
               if option.name in (OF_SETTING if suite_name else OF_SUITES)
               and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE]
    if foreign:
        raise click.UsageError(f"{', '.join(foreign)}: " + (
            f"not for the suite {suite_name}" if suite_name else "only with --suite"))


def _instruction_sets(asked, every):
    available = _core.available_isas()
    for isa in asked:
        if isa not in ("auto", *available):
            raise click.UsageError(f"--isa {isa}: this machine has {', '.join(available)}")
    if every and not asked:
        return tuple(available)
    return tuple(available[0] if isa == "auto" else isa for isa in asked or ("auto",))


def _describe_gpu(suite_name):
    try:
        return describe_gpu()
    except (ValueError, ImportError) as error:
        raise click.UsageError(f"suite {suite_name}: no usable NVIDIA GPU ({error})") from None


@click.command("bench")
@click.option("--num-tx", default=4, show_default=True, help="Transmit antennas.")
@click.option("--num-rx", default=4, show_default=True, help="Receive antennas.")
@click.option("--constellation", default="qam16", show_default=True)
@click.option("--snr", default=20.0, show_default=True,
              help="dB per receive antenna: noise_var = num_tx / 10^(snr/10).")
@click.option("--symbols-per-channel", default=1, show_default=True,
              help="Consecutive vectors that share a channel matrix.")
@click.option("--detector", "names", multiple=True, type=click.Choice(list(detectors.REGISTRY)),
              help="Detector to measure; may be given several times. Default: all.")
@click.option("--backend", "backends", multiple=True,
              type=click.Choice(["cpu", "cuda", "reference"]),
              default=["cpu", "reference"], show_default=True)
@click.option("--isa", "isas", multiple=True,
              help="Instruction set of the cpu backend; may be given several times. Default: the "
                   "best one, but all in the suite cpu.")
@click.option("--threads", type=click.IntRange(0, 1024),
              help="CPU threads; 0 takes all cores. Default without a suite: 0.")
@click.option("--vectors", type=click.IntRange(1), help="Largest batch in vectors.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True),
              help="Approximate time for each row.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds; each figure is their median.")
@click.option("--output", type=click.Path(dir_okay=False), help="Write the results as JSON.")
@click.option("--suite", "suite_name", metavar="NAME",
              help="Run a fixed suite of the source tree instead of one setting, see "
                   "bench/README.md. A suite has its own defaults.")
@click.option("--suites", type=click.Path(exists=True, file_okay=False),
              help="Folder of the suites. Default: bench/suites of the source tree that this "
                   "command runs in.")
@click.option("--antennas", multiple=True, type=click.IntRange(1, 16),
              help="Suite antennas: measure only these numbers of antennas.")
@click.option("--peers", type=click.Path(exists=True, file_okay=False),
              help="Suites cpu, gpu and codes: also time IT++ (not in gpu) and Sionna (not in "
                   "codes); give the folder bench/peers of the source tree.")
@click.option("--sionna-python", type=click.Path(exists=True, dir_okay=False),
              help="Python interpreter with Sionna. Default: the one that "
                   "bench/peers/sionna-setup.sh installs.")
@click.pass_context
def bench_command(context, num_tx, num_rx, constellation, snr, symbols_per_channel, names, backends,
                  isas, threads, vectors, seconds, rounds, output, suite_name, suites, antennas,
                  peers, sionna_python):
    """Measure the speed of the detectors on simulated data."""
    if suite_name:
        suite = find(suite_name, suites)
    else:
        setting = Setting(num_tx, num_rx, get_constellation(constellation), snr,
                          symbols_per_channel)
        suite = chosen(setting, names, backends)
    _refuse_foreign(context, suite_name)
    options = Options(suite.threads if threads is None else threads, vectors or suite.vectors,
                      seconds or suite.seconds, rounds or suite.rounds,
                      _instruction_sets(isas, suite.every_isa), peers, sionna_python, antennas)
    machine = describe()
    if suite.gpu:
        machine["gpu"] = _describe_gpu(suite_name)
    click.echo(f"{suite.what}, simulated data; "
               + (f"{machine['gpu']['name']}; " if suite.gpu else "") + f"{machine['processor']}, "
               + thread_count(options.threads or machine["threads"]))
    results = suite.run(options)
    if output:
        Path(output).write_text(json.dumps({"what": suite.what, "machine": machine, **results},
                                           indent=1) + "\n")
    click.echo(text(suite.tables(results)))
    if output:
        click.echo(f"written: {output}")
