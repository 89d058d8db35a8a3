#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the manual pages of the mimopack command from its help texts, as the build does.

    PYTHONPATH=build/python .venv/bin/python scripts/generate_man.py FOLDER
"""

import inspect
import re
import sys
from pathlib import Path

import click
from gnuradio.mimopack.apps.cli import main as mimopack
from gnuradio.mimopack.checks import MOST_THREADS

HEADER = """\
.\\" SPDX-FileCopyrightText: 2026 The gr-mimopack authors
.\\" SPDX-License-Identifier: GPL-3.0-or-later
.\\" Written by scripts/generate_man.py from the help texts.
"""


def escaped(text):
    """Return a text in which roff finds no command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def paragraphs(text):
    """Return roff for a help text of click; a paragraph after a line \\b keeps its lines."""
    found = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.startswith("\b\n")
        body = escaped(paragraph.removeprefix("\b\n"))
        found.append(f".nf\n{body}\n.fi" if kept else body)
    return "\n.PP\n".join(found)


def options(context):
    """Return {heading: [(option, help)]} of a command, in the order of its help."""
    sections = {}
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            sections.setdefault(getattr(parameter, "heading", None), []).append(record)
    return sections


def page(name, command, summary, parent):
    """Return the manual page of a command."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    title = context.command_path.replace(" ", "-")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f'.TH {title.upper()} 1 "" "gr-mimopack"',
             ".SH NAME", escaped(f"{title} - {summary.removesuffix('.')}"),
             ".SH SYNOPSIS", escaped(usage),
             ".SH DESCRIPTION", paragraphs(command.help), ".SH OPTIONS"]
    for heading, records in options(context).items():
        if heading:
            lines.append(f".SS {escaped(heading)}")
        for names, text in records:
            text = text.replace(f"0<=x<={MOST_THREADS}]", "up to 16, or 4 for each core]")
            lines += [".TP", f"\\fB{escaped(names)}\\fR", escaped(text)]
    others = []
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for other in command.list_commands(context):
            lines += [".TP", f"\\fB{escaped(other)}\\fR", escaped(summary_of(command, other))]
            others.append(f"{title}-{other}")
    lines += [".SH SEE ALSO", ", ".join(
        f"\\fB{escaped(other)}\\fR(1)" for other in others or ["mimopack"])]
    return HEADER + "\n".join(lines) + "\n"


def summary_of(group, name):
    """Return the line about a command of a group."""
    return (group.summary(name) if hasattr(group, "summary") else
            group.commands[name].help.split(".")[0])


def pages():
    """Return {file name: text} of all pages."""
    context = mimopack.make_context("mimopack", [], resilient_parsing=True)
    found = {"mimopack.1": page("mimopack", mimopack, "MIMO receivers for GNU Radio.", None)}
    for name in mimopack.list_commands(context):
        command = mimopack.get_command(context, name)
        found[f"mimopack-{name}.1"] = page(name, command, mimopack.summary(name), context)
        for other, own in getattr(command, "commands", {}).items():    # as mimopack sim status
            found[f"mimopack-{name}-{other}.1"] = page(
                f"{name} {other}", own, summary_of(command, other), context)
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (folder / file).write_text(text, encoding="utf-8")
