# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``mimopack bench`` command: its options, and its output to the screen and a JSON file."""


import click
from click.core import ParameterSource

from ... import _core, detectors
from ...checks import MOST_THREADS
from ...constellation import BUILT_IN
from ...constellation import get as get_constellation
from ...files import replace_file
from ...text import json_rows
from ..machine import describe, describe_gpu
from ..options import SPEC, FiniteRange, HeadedCommand, OutputFile, detector_spec, heading
from .data import Setting
from .single import ROUNDS, SECONDS, VECTORS, chosen
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


_setting = heading("Setting (not with --suite)")
_measurement = heading("Measurement")
_suite = heading("Suites")


@click.command("bench", cls=HeadedCommand)
@_setting("--detector", "names", multiple=True, type=detector_spec(detectors.look_up),
          metavar=SPEC,
          help=f"Detector to measure: {', '.join(detectors.names())}; its parameters may follow, "
               "as in kbest:k=8. May be given several times. Default: all.")
@_setting("--num-tx", type=click.IntRange(1, 64), default=4, show_default=True, metavar="N",
          help="Transmit antennas.")
@_setting("--num-rx", type=click.IntRange(1, 256), default=4, show_default=True, metavar="N",
          help="Receive antennas.")
@_setting("--constellation", type=click.Choice(BUILT_IN), default="qam16", show_default=True,
          metavar="NAME", help=f"{', '.join(BUILT_IN)}.")
@_setting("--snr", type=FiniteRange(-100, 200), default=20.0, show_default=True, metavar="DB",
          help="SNR per receive antenna: noise_var = num_tx / 10^(snr/10).")
@_setting("--symbols-per-channel", type=click.IntRange(1, 2**20), default=1, show_default=True,
          metavar="N", help="Consecutive vectors that share a channel matrix.")
@_setting("--backend", "backends", multiple=True,
          type=click.Choice(["cpu", "cuda", "reference"]),
          default=["cpu", "reference"], show_default=True,
          help="Where the detectors run; may be given several times. cuda is an NVIDIA GPU, "
               "reference is slow NumPy code.")
@_measurement("--isa", "isas", multiple=True, metavar="NAME",
              help="Instruction set of the backend cpu, one of those that mimopack doctor lists; "
                   "may be given several times. Default: the best one; the suite cpu takes all.")
@_measurement("--threads", type=click.IntRange(0, MOST_THREADS), metavar="N",
              help="CPU threads; 0 takes all cores. Default without a suite: 0.")
@_measurement("--vectors", type=click.IntRange(1, 2**26), metavar="N",
              help=f"Largest batch in vectors. Default without a suite: {VECTORS}.")
@_measurement("--seconds", type=FiniteRange(0, min_open=True), metavar="SECONDS",
              help="Approximate time for each row of the table. Default without a suite: "
                   f"{SECONDS:g}.")
@_measurement("--rounds", type=click.IntRange(1, 10**6), metavar="N",
              help="Rounds in which all rows take turns; each figure is the median of its rounds. "
                   f"Default without a suite: {ROUNDS}.")
@_measurement("--output", type=OutputFile(), help="Write the results as JSON.")
@_suite("--suite", "suite_name", metavar="NAME",
        help="Run a fixed suite of the source tree instead of one setting, see bench/README.md. A "
             "suite has its own defaults.")
@_suite("--suites", type=click.Path(exists=True, file_okay=False),
        help="Folder of the suites. They are Python code, which this command runs. Default: "
             "bench/suites of the source tree whose .venv this command belongs to.")
@_suite("--antennas", multiple=True, type=click.IntRange(1, 16), metavar="N",
        help="Suites antennas and gpu-antennas: measure only with N transmit and N receive "
             "antennas; may be given several times. Without a suite, use --num-tx and --num-rx.")
@_suite("--peers", type=click.Path(exists=True, file_okay=False),
        help="Folder bench/peers of the source tree: also time IT++ and Sionna in the suites that "
             "compare with them.")
@_suite("--sionna-python", type=click.Path(exists=True, dir_okay=False),
        help="Python interpreter with Sionna. Default: the one that bench/peers/sionna-setup.sh "
             "installs.")
@click.pass_context
def bench_command(context, num_tx, num_rx, constellation, snr, symbols_per_channel, names, backends,
                  isas, threads, vectors, seconds, rounds, output, suite_name, suites, antennas,
                  peers, sionna_python):
    """Measure the speed of the MIMO detectors on simulated data.

    The table has vectors/s, Mbit/s of coded bits and the bit error rate of each detector.
    """
    if suite_name:
        suite = find(suite_name, suites)
    else:
        setting = Setting(num_tx, num_rx, get_constellation(constellation), snr,
                          symbols_per_channel)
        suite = chosen(setting, names, backends)
        if symbols_per_channel > (vectors or suite.vectors):
            raise click.UsageError(f"--symbols-per-channel: got {symbols_per_channel}, must be at "
                                   f"most the {vectors or suite.vectors} vectors of --vectors")
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
    click.echo(text(suite.tables(results)))
    if output:
        try:
            with replace_file(output) as file:
                file.write(json_rows({"what": suite.what, "machine": machine, **results}) + "\n")
        except OSError as error:
            raise click.ClickException(f"--output: {error}") from error
        click.echo(f"written: {output}")
