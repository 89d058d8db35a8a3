# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line as a whole."""

import os
import re
import subprocess
import sys

import click
import generate_man
import pytest
from commands import output_of, run
from gnuradio.mimopack.apps.cli import main
from source_tree import PACKAGES


def test_help_lists_the_commands_without_loading_gnuradio_or_numpy():
    code = ("import sys; from gnuradio.mimopack.apps.cli import main\n"
            "main(['--help'], standalone_mode=False)\n"
            "print([m for m in ('numpy', 'gnuradio.gr') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGES)}, timeout=60)
    assert done.returncode == 0, done.stderr
    for command in ("bench", "doctor", "nr", "play", "sim", "wifi"):
        assert f"  {command}  " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["bench", "doctor", "nr", "play", "sim", "wifi"])
def test_every_command_has_help(command):
    assert output_of(command, "--help").startswith("Usage:")


def test_each_command_has_a_manual_page():
    pages = generate_man.pages()
    assert {"mimopack-sim.1", "mimopack-sim-status.1"} < pages.keys()
    assert "\n.SS Input\n" in pages["mimopack-wifi.1"]
    assert generate_man.escaped(".a\n-b\\c") == "\\&.a\n\\-b\\ec"


def test_unknown_command_is_refused():
    done = run("detect")
    assert done.returncode == 2
    assert "No such command 'detect'. The commands are bench, doctor, nr, play, " in done.stderr
    assert "No such command 'wfi'. Did you mean 'wifi'?" in run("wfi").stderr


HEADED = ["bench", "nr", "sim", "wifi"]    # the commands with many options


@pytest.mark.parametrize("name", HEADED)
def test_help_lists_each_option_once_under_a_heading(name):
    command = main.get_command(None, name)
    context = click.Context(command, info_name=name, terminal_width=80,
                            help_option_names=["-h", "--help"])
    sections = re.findall(r"^(\S[^\n]*):\n((?:  [^\n]*\n|\n)+)", context.get_help() + "\n", re.M)
    listed = {}
    for title, text in sections:
        for record in re.findall(r"^  (-[^\n]*?)(?:  |$)", text, re.M):
            for option in re.findall(r"--?[a-z][a-z0-9-]*", record):
                assert option not in listed
                listed[option] = title
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if isinstance(parameter, click.Option):
                assert listed.pop(option) == parameter.heading
    assert listed == {"-h": "Other options", "--help": "Other options"}
