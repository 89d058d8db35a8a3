# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack sim campaign`` and ``mimopack sim status``."""

import time
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from ..checks import MOST_THREADS
from ..files import in_use
from ..sim.campaign import Campaign
from ..sim.content import WHAT, check, parse
from ..text import printable
from .clusters import describe_cluster, scheduler_options
from .interrupt import interruptible
from .machine import describe
from .options import FiniteRange
from .progress import showing
from .sim import table


@click.command("campaign")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--seconds", type=FiniteRange(0, min_open=True), metavar="SECONDS",
              help="Stop after about this time.")
@click.option("--threads", default=0, show_default=True, type=click.IntRange(0, MOST_THREADS),
              metavar="N", help="CPU threads without --scheduler; 0 takes all cores.")
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
            machine = describe()
            if client is not None:
                machine["cluster"] = describe_cluster(client)
            simulations = campaign.simulations(threads, client)
            failure = _run(campaign, simulations, machine, seconds, quiet)
    except (ValueError, ImportError, OSError) as error:
        raise click.UsageError(str(error)) from error
    for part in campaign.parts:
        rows = simulations[part.name].store.rows
        click.echo(f"{part.name}: {part.output}")
        for line in table(rows) if rows else ():
            click.echo(line)
    if not all(simulation.complete for simulation in simulations.values()):
        click.echo("not complete: run the same command to continue")
    if campaign.plot is not None:
        failure = failure or _draw(campaign, simulations)
    if failure is not None:
        raise click.ClickException(str(failure))


def _run(campaign, simulations, machine, seconds, quiet):
    """Run the simulations until their end or Ctrl-C; return the OSError that ended them, or None.
    """
    runs = []
    start = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        show = stack.enter_context(showing(quiet))
        for part in campaign.parts:
            simulation = simulations[part.name]
            stack.enter_context(simulation.store.held())
            runs.append({"machine": machine, "seconds": 0.0,
                         "backend": part.simulation.get("backend", "cpu")})
            simulation.store.runs.append(runs[-1])

        def following(part, simulation):
            return show.following(simulation, part.snrs, part.run["errors"],
                                  part.run["max_frames"], name=part.name)

        try:
            with suppress(KeyboardInterrupt):
                campaign.run(simulations, seconds, following, show.say)
            for run, simulation in zip(runs, simulations.values(), strict=True):
                run["seconds"] = round(time.perf_counter() - start, 3)
                simulation.store.write()
        except OSError as error:
            return error
    return None


def _draw(campaign, simulations):
    """Draw the curves of all simulations; return the error, or None."""
    from . import curves

    rows = [{**row, "detector": f"{part.name}: {row['detector']}"}
            for part in campaign.parts for row in simulations[part.name].store.rows]
    if not rows:
        return None
    try:
        curves.draw(rows, simulations[campaign.parts[0].name].store.parameters, campaign.plot,
                    campaign.title)
    except (ValueError, OSError) as error:
        return error
    click.echo(f"written: {campaign.plot}")
    return None


@click.command("status")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def status_command(file):
    """Show how far a FILE of results, or a campaign file, is. It may be in use by a run."""
    try:
        if Path(file).suffix == ".toml":
            for part in Campaign(file).parts:
                rows = _rows(part.output) if part.output.exists() else []
                complete, begun, waiting = part.state(rows)
                _show(part.name, part.output, rows,
                      f"{complete} points complete, {begun} begun, {waiting} not begun")
        else:
            rows = _rows(file)
            complete = sum(row["complete"] for row in rows)
            _show(file, file, rows,
                  f"{complete} points complete, {len(rows) - complete} begun")
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from error


def _rows(path):
    """Return the rows of a file of results."""
    try:
        content = parse(Path(path).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("what") != WHAT:
            raise ValueError("holds no results of mimopack sim")
        check(content, {})
    except ValueError as error:
        raise ValueError(f"{path}: {printable(error)}") from None
    return content["results"]


def _show(name, path, rows, state):
    click.echo(f"{name}: {state}{', in use by a run' if in_use(path) else ''}")
    for line in table(rows) if rows else ():
        click.echo(f"  {line}")
