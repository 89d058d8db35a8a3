# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of README.md and of the pages in docs/: it runs, or the page says why it does not.

CONTRIBUTING.md explains the marks.
"""

import ast
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys

import click
import numpy as np
import own_detectors
import pytest
from documents import DOCUMENTS, blocks
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps import cli
from gnuradio.mimopack.coding import codes
from gnuradio.mimopack.detectors import lookup
from source_tree import PACKAGES, ROOT

# What commands read; they may write into their own copy of examples/ and anywhere else.
SOURCES = ("README.md", "CMakeLists.txt", "apps", "bench", "cmake", "docs", "grc", "lib",
           "packaging", "pyproject.toml", "python", "scripts", "soapy", "tests")
PAGES = {path: blocks(path) for path in DOCUMENTS}

_PYTHON = """#!/bin/sh
exec {} "$@"
"""
_MIMOPACK = """#!{}
from gnuradio.mimopack.apps.cli import main
if __name__ == "__main__":    # as in apps/mimopack.in: worker processes import it again
    main(prog_name="mimopack")
"""


def checkout(folder):
    """Make a folder that looks like a checkout with its .venv, in which commands may write.

    Returns:
        The environment of a user in it, after ``source .venv/bin/activate``.
    """
    for name in SOURCES:
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", folder / "examples")
    binaries, home = folder / ".venv/bin", folder / "home"
    binaries.mkdir(parents=True)
    home.mkdir()
    for name, text in (("python", _PYTHON), ("python3", _PYTHON), ("mimopack", _MIMOPACK)):
        (binaries / name).write_text(text.format(sys.executable))
        (binaries / name).chmod(0o755)
    built = PACKAGES.parent / "soapy"    # beside the packages, if these were not installed
    for place, meant in ((".venv/share/gnuradio/grc/blocks", ROOT / "grc"),
                         ("build/soapy", built if built.is_dir() else ROOT / "build/soapy")):
        (folder / place).parent.mkdir(parents=True)
        (folder / place).symlink_to(meant)
    path = [str(PACKAGES), str(folder / "packages"), str(folder)]
    return {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(home),
            "PYTHONPATH": os.pathsep.join(path), "MPLBACKEND": "Agg"}


def saved(block):
    """Return the name of the file that the reader is told to save a block as, or None."""
    name = re.match(r"# (\S+\.(?:py|toml))\n", block.code)
    return name and name[1]


def give(page, folder, traffic):
    """Make the files that the page's reader has."""
    text = page.read_text(encoding="utf-8")
    source = recording.Reader(traffic)
    samples = source.read(0, 1_000_000)
    if "wifi capture.sigmf-meta" in text:
        recording.write(folder / "capture", samples, source.sample_rate, datatype="ci16_le")
    (samples.T * 32767).copy().view(np.float32).astype("<i2").tofile(folder / "capture.dat")
    for antenna, row in enumerate(samples):
        row.astype("<c8").tofile(folder / f"antenna{antenna}.cf32")
    for block in PAGES[page]:
        if saved(block):
            (folder / saved(block)).write_text(block.code)
        elif block.language == "toml":
            # pip would install the package
            group = re.search(r'entry-points\."(.*)"\]', block.code)[1]
            assert group in (lookup.GROUP, codes.GROUP)
            entries = re.findall(r'(?m)^(\w+ = )"(\w+:\w+)"$', block.code)
            own_detectors.install(folder / "packages", map("".join, entries), {}, group=group)


def program(language, group):
    """Return the command that runs a page's consecutive blocks of a language, and its input."""
    if language == "sh":
        return ["bash", "-euo", "pipefail"], "".join(block.code for block in group)
    return [sys.executable, "-"], "".join(
        f"exec(compile({block.code!r}, {block.place!r}, 'exec'), {{'__name__': '__main__'}})\n"
        for block in group)


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if any(
    block.code and block.language in ("sh", "python") for block in blocks)],
    ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_runs(page, tmp_path, traffic):
    environment = checkout(tmp_path)
    give(page, tmp_path, traffic)
    run = [block for block in PAGES[page] if block.code and not saved(block)
           and block.language in ("sh", "python")]
    for language, group in itertools.groupby(run, lambda block: block.language):
        command, text = program(language, list(group))
        done = subprocess.run(command, input=text, cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{text[:2000]}\n{done.stderr[-2000:]}"


def commands():
    """Return the words of each mimopack command that is not run."""
    for block in itertools.chain(*PAGES.values()):
        if block.language == "sh":
            for line in block.left_out.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0].rpartition("/")[2] == "mimopack":
                    yield words


def test_what_is_not_run_is_valid():
    for block in itertools.chain(*PAGES.values()):
        assert block.language in ("sh", "python", "toml", "json", "text"), block.place
        if block.language == "python":
            ast.parse(block.left_out)
    for words in commands():
        command, context = cli.main, click.Context(cli.main)
        for word in words[1:]:
            if isinstance(command, click.Group) and word in command.list_commands(context):
                command = command.get_command(context, word)
        known = {option for parameter in command.params
                 for option in (*parameter.opts, *parameter.secondary_opts)}
        options = {word for word in words if word.startswith("-")}
        assert options <= known, " ".join(words)
