# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack sim campaign`` and ``mimopack sim status``."""

from pathlib import Path

import click

from ..checks import MOST_THREADS
from ..files import in_use
from ..sim.campaign import Campaign
from ..sim.store import read_results
from .clusters import describe_cluster, scheduler_options
from .machine import describe
from .options import FiniteRange
from .sim import simulate, table


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
            failure = simulate(
                [(part.name, simulations[part.name], part.run) for part in campaign.parts],
                machine, seconds, quiet)
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
                rows = read_results(part.output)["results"] if part.output.exists() else []
                complete, begun, waiting = part.state(rows)
                _show(part.name, part.output, rows,
                      f"{complete} points complete, {begun} begun, {waiting} not begun")
        else:
            rows = read_results(Path(file))["results"]
            complete = sum(row["complete"] for row in rows)
            _show(file, file, rows,
                  f"{complete} points complete, {len(rows) - complete} begun")
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from error


def _show(name, path, rows, state):
    click.echo(f"{name}: {state}{', in use by a run' if in_use(path) else ''}")
    for line in table(rows) if rows else ():
        click.echo(f"  {line}")
