# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack schema``: print the JSON Schema of a command's output."""

import json

import click

from .. import schemas


@click.command("schema")
@click.argument("name", type=click.Choice(schemas.NAMES), metavar="NAME")
def schema_command(name):
    """Print the JSON Schema of a command's output.

    NAME is bench, nr, play, sim or wifi. The schema describes each key of the JSON that this
    command writes. Programs can validate a file with it.
    """
    click.echo(json.dumps(schemas.load(name), indent=1, ensure_ascii=False))
