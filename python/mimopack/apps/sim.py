# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack sim``: bit and frame error rates over SNR, alone or several in a campaign."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from .. import sim
from ..checks import MOST_THREADS
from ..constellation import BUILT_IN
from ..detectors import names as detector_names
from ..detectors.parameters import BACKENDS
from ..files import in_use
from ..sim import channels, codes
from ..sim.campaign import Campaign, snr_values
from ..sim.store import read_results
from .clusters import describe_cluster, scheduler_options
from .interrupt import interruptible
from .machine import describe, describe_gpu
from .options import (
    BACKEND,
    FiniteRange,
    HeadedCommand,
    OutputFile,
    Parsed,
    PictureFile,
    heading,
)
from .progress import showing

DEFAULT_DETECTORS = ("mmse", "nway")
DEFAULT_SNRS = "8:24:4"


_SNRS = Parsed("FIRST:LAST:STEP", snr_values)


def _simulate(runs, client, seconds, quiet):
    """Run simulations together until their end or Ctrl-C.

    Args:
        runs: list of (name in the progress, ``Simulation``, {name: argument} of its ``run``).
        client: ``distributed.Client`` of a cluster that simulates, or None.

    Returns:
        None, or the OSError if a file cannot be written or the cluster is lost.
    """
    machine = describe()
    if client is not None:
        machine["cluster"] = describe_cluster(client)
    elif any(simulation.backend == "cuda" for _, simulation, _ in runs):
        machine["gpu"] = describe_gpu()
    for _, simulation, _ in runs:
        simulation.machine = machine
    points = sum(len(simulation.detectors) * len(run["snrs"]) for _, simulation, run in runs)
    try:
        with interruptible(), showing(points, quiet) as show, suppress(KeyboardInterrupt):
            sim.run_together([(simulation, run | {"progress": partial(_grown, show, name, run)})
                              for name, simulation, run in runs], seconds)
    except OSError as error:
        return error
    return None


def _grown(show, name, run, detector, at_db, tally):
    """Show that a point of a ``run`` has grown."""
    show(f"{name + ': ' if name else ''}{detector} at {at_db:g} dB",
         min(1.0, max(tally.frame_errors / run["errors"], tally.frames / run["max_frames"])),
         tally.frames, tally.frame_errors)


def _draw(*arguments):
    """Draw curves, see ``curves.draw``; return the error, or None."""
    from . import curves

    try:
        curves.draw(*arguments)
    except (ValueError, OSError) as error:
        return error
    click.echo(f"written: {arguments[2]}")
    return None


def _show(rows, indent=""):
    """Print a table of results."""
    if not rows:
        return
    width = max(len(row["detector"]) for row in rows)
    click.echo(f"{indent}{'detector':<{width}} {'dB':>7} {'frames':>8} {'FER':>9} "
               f"{'95 % interval':>20} {'BER':>9} {'before dec.':>11}")
    for row in rows:
        low, high = row["fer_95"][-1]
        click.echo(
            f"{indent}{row['detector']:<{width}} {row['at_db']:>7g} {row['frames']:>8} "
            f"{row['fer'][-1]:>9.2e} {f'{low:.2e} {high:.2e}':>20} {row['ber'][-1]:>9.2e} "
            f"{row['ber_before_decoding']:>11.2e}{'' if row['complete'] else '  not complete'}")


_link = heading("Link")
_receiver = heading("Receiver")
_run = heading("Length of the run")
_machine = heading("Machine")
_output = heading("Output")


_threads = _machine("--threads", default=0, show_default=True,
                    type=click.IntRange(0, MOST_THREADS), metavar="N",
                    help="CPU threads without --scheduler; 0 takes all cores.")


class _Sim(HeadedCommand, click.Group):
    def format_options(self, ctx, formatter):
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group("sim", cls=_Sim, invoke_without_command=True,
             subcommand_metavar="[campaign FILE | status FILE]")
@_link("--code", default="none", show_default=True, metavar="NAME", help=f"{codes.allowed()}.")
@_link("--channel", default="rayleigh", show_default=True, metavar="NAME",
       help=f"{channels.ALLOWED}.")
@_link("--constellation", default="qam16", show_default=True, metavar="NAME",
       help=f"{', '.join(BUILT_IN)}; or one for each antenna, as in qam64,qpsk.")
@_link("--num-tx", default=4, show_default=True, metavar="N", help="Transmit antennas.")
@_link("--num-rx", default=4, show_default=True, metavar="N", help="Receive antennas.")
@_link("--interferer", type=FiniteRange(-100, 200), metavar="DB",
       help="Add an interferer: its mean power over that of the noise, in dB. Detectors know the "
            "covariance of noise and interference, unless covariance=none follows their name.")
@_link("--interleaver", type=click.Choice(["random", "none"]), default="random",
       show_default=True, help="Permutation of the coded bits of a frame.")
@_link("--snr", type=_SNRS,
       help="SNR per receive antenna (num_tx / noise_var) in dB: FIRST:LAST:STEP, or values "
            f"separated by commas. Default: {DEFAULT_SNRS}.")
@_link("--ebn0", type=_SNRS,
       help="Eb/N0 in dB instead of --snr. Eb is the energy of an information bit at all receive "
            "antennas.")
@_receiver("-d", "--detector", "names", multiple=True, metavar="NAME[:KEY=VALUE]",
           help=f"Detector: {', '.join(detector_names())}. Its parameters may follow, as in "
                "nway:num_passes=2, and parameters of the receiver for this detector only: "
                "iterations=, feedback_scale=, list_bits= (list decoder in the last pass) and "
                "covariance= (known, or none: see --interferer). May be given several times; all "
                "detectors receive the same frames. Default: "
                f"{', '.join(DEFAULT_DETECTORS)}.")
@_receiver("--iterations", default=1, show_default=True, metavar="N",
           help="Passes of detector and decoder; 1 means no feedback.")
@_receiver("--decoder-iterations", default=20, show_default=True, metavar="N",
           help="Maximum number of decoder iterations in each pass.")
@_receiver("--feedback-scale", default=0.6, show_default=True, metavar="FACTOR",
           help="Factor of the LLRs that the decoder feeds back to the detector.")
@_receiver("--early-stop/--no-early-stop", default=True, show_default=True,
           help="Skip further passes for frames in which the decoder has found a codeword.")
@_run("--errors", default=100, show_default=True, type=click.IntRange(1), metavar="N",
      help="Frame errors that complete a point.")
@_run("--max-frames", default=100_000, show_default=True, type=click.IntRange(1), metavar="N",
      help="Frames that complete a point, however few are wrong.")
@_run("--seconds", type=FiniteRange(0, min_open=True), metavar="SECONDS",
      help="Stop after about this time.")
@_run("--seed", default=1, show_default=True, metavar="N",
      help="Seed of the random numbers; equal seeds give equal frames.")
@_machine("--backend", type=click.Choice(BACKENDS), default="cpu", show_default=True,
          metavar="NAME", help=f"Where the detectors run: {BACKEND}")
@_threads
@_machine("--batch", type=click.IntRange(1, 2**20), metavar="N",
          help="Frames per call; default 64, on a GPU 1024. N does not affect the results.")
@scheduler_options
@_output("-o", "--output", type=OutputFile(),
         help="JSON file for the results. A further run continues it.")
@_output("--plot", type=PictureFile(),
         help="Picture of the curves, a PNG file, or PDF or SVG by its ending.")
@_output("--title", help="Title of the picture. Default: a description of the link.")
@_output("--labels", metavar="TEXTS",
         help="Names of the detectors in the picture, separated by commas, in the order of -d.")
@_output("-q", "--quiet", is_flag=True, help="No progress bar.")
@click.pass_context
def sim_command(context, names, snr, ebn0, iterations, decoder_iterations, feedback_scale,
                early_stop, errors, max_frames, seconds, backend, threads, batch, scheduler, output,
                plot, title, labels, quiet, **link):
    """Simulate bit and frame error rates over SNR.

    Without options, two detectors of uncoded 4x4 16-QAM are compared. Each detector has a point for
    each SNR. The point is complete after --errors wrong frames or --max-frames frames. All data are
    simulated; the receiver knows channel and noise variance. See docs/simulation.md.

    Two other commands: mimopack sim campaign FILE runs the simulations of a campaign file, and
    mimopack sim status FILE shows how far a file of results or a campaign is.

    \b
    Examples:
      mimopack sim -d mmse -d nway --code wifi:648:1/2 --snr 9:13:1 -o sim.json
      mimopack sim -d mmse --snr 9:13:1 -o sim.json --scheduler tcp://host:8786
    """
    if context.invoked_subcommand:
        given = [option.opts[-1] for option in context.command.params if option.name and
                 context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE]
        if given:
            raise click.UsageError(f"{', '.join(given)}: must follow {context.invoked_subcommand}")
        return
    if snr is not None and ebn0 is not None:
        raise click.UsageError("give either --snr or --ebn0")
    assumed = [f"-d {name}" for name in DEFAULT_DETECTORS if not names]
    if snr is None and ebn0 is None:
        assumed.append(f"--snr {DEFAULT_SNRS}")
        snr = snr_values(DEFAULT_SNRS)
    names, at = names or DEFAULT_DETECTORS, ebn0 if snr is None else snr
    if labels is not None and labels.count(",") + 1 != len(names):
        raise click.UsageError(f"--labels: got {labels.count(',') + 1} for {len(names)} detectors")
    labels = dict(zip(names, map(str.strip, labels.split(",")), strict=True)) if labels else {}
    try:
        link = sim.Link(snr_kind="snr" if ebn0 is None else "ebn0", **link)
        with scheduler.client() as client:
            simulation = sim.Simulation(link, names, iterations, decoder_iterations, feedback_scale,
                                        early_stop, output, backend, threads, batch, client)
            run = {"snrs": at, "errors": errors, "max_frames": max_frames}
            failure = _simulate([("", simulation, run)], client, seconds, quiet)
    except (ValueError, ImportError, OSError) as error:
        raise click.UsageError(str(error)) from error
    rows = simulation.store.rows
    if assumed:
        click.echo(f"by default: {' '.join(assumed)} (mimopack sim --help lists all options)")
    interferer = "" if link.interferer is None else f", interferer {link.interferer:g} dB"
    click.echo(f"simulated: {link.num_tx}x{link.num_rx} {link.constellation}, code {link.code}, "
               f"channel {link.channel}{interferer}; dB of "
               + ("SNR per receive antenna" if ebn0 is None else "Eb/N0"))
    _show(rows)
    if output and failure is None:
        click.echo(f"written: {output}")
    if not simulation.complete:
        click.echo("not complete" + (": run the same command to continue" if output else ""))
    if plot and rows:
        unable = _draw(rows, simulation.store.parameters, plot, title, labels)
        failure = failure or unable
    if failure is not None:
        raise click.ClickException(str(failure))


@sim_command.command("campaign")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--seconds", type=FiniteRange(0, min_open=True), metavar="SECONDS",
              help="Stop after about this time.")
@_threads
@scheduler_options
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def campaign_command(file, seconds, threads, scheduler, quiet):
    """Run the simulations of a campaign FILE, and draw its picture.

    FILE is in TOML: see docs/campaigns.md. A further run continues. Without --scheduler, threads of
    this machine compute.

    \b
    Example:
      mimopack sim campaign figure.toml --scheduler tcp://host:8786
    """
    try:
        campaign = Campaign(file)
        if campaign.plot is not None:
            from .style import picture_format

            picture_format(campaign.plot)    # refuse it now, not after the simulation
        with scheduler.client() as client:
            simulations = campaign.simulations(threads, client)
            failure = _simulate(
                [(part.name, simulations[part.name], part.run) for part in campaign.parts],
                client, seconds, quiet)
    except (ValueError, ImportError, OSError) as error:
        raise click.UsageError(str(error)) from error
    named_rows = []
    for part in campaign.parts:
        rows = simulations[part.name].store.rows
        click.echo(f"{part.name}: {part.output}")
        _show(rows)
        named_rows += [{**row, "detector": f"{part.name}: {row['detector']}"} for row in rows]
    if not all(simulation.complete for simulation in simulations.values()):
        click.echo("not complete: run the same command to continue")
    if campaign.plot is not None and named_rows:
        first = simulations[campaign.parts[0].name].store
        failure = failure or _draw(named_rows, first.parameters, campaign.plot, campaign.title)
    if failure is not None:
        raise click.ClickException(str(failure))


@sim_command.command("status")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def status_command(file):
    """Show how far a FILE of results, or a campaign file, is. It may be in use by a run."""
    try:
        if Path(file).suffix == ".toml":
            for part in Campaign(file).parts:
                rows = read_results(part.output)["results"] if part.output.exists() else []
                complete, begun, waiting = part.state(rows)
                _show_state(part.name, part.output, rows,
                            f"{complete} points complete, {begun} begun, {waiting} not begun")
        else:
            rows = read_results(Path(file))["results"]
            complete = sum(row["complete"] for row in rows)
            _show_state(file, file, rows,
                        f"{complete} points complete, {len(rows) - complete} begun")
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from error


def _show_state(name, path, rows, state):
    click.echo(f"{name}: {state}{', in use by a run' if in_use(path) else ''}")
    _show(rows, "  ")
