# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The code of README.md and of the pages in docs/: it runs, or the page says why it does not.

CONTRIBUTING.md explains the marks.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import own_detectors
import pytest
from documents import DOCUMENTS, blocks, commands, complaint, imports, indented_code
from gnuradio.mimopack import recording
from gnuradio.mimopack.detectors import lookup
from source_tree import PACKAGES, ROOT

LANGUAGES = {"sh", "python", "toml", "json", "text"}
# Number of blocks that are not run, by reason. Run a block rather than change a number.
NOT_RUN = {"compiles for minutes": 1, "installs packages": 13, "needs a GPU": 6,
           "needs a cluster": 5, "needs a radio": 10, "needs an installation": 1,
           "needs the network": 4, "opens a window": 3, "runs the tests": 3, "takes hours": 1}

# What commands read; they may write into their own copy of examples/ and anywhere else.
SOURCES = ("README.md", "CMakeLists.txt", "apps", "bench", "cmake", "docs", "grc", "lib",
           "packaging", "pyproject.toml", "python", "scripts", "soapy", "tests")

BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]
PAGES = {path: [block for block in BLOCKS if block.path == path and block.code
                and block.language in ("sh", "python")] for path in DOCUMENTS}

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


def give(page, folder, traffic):
    """Make the files that the page's reader has."""
    text = page.read_text(encoding="utf-8")
    source = recording.Reader(traffic)
    samples = source.read(0, 1_000_000)
    if "wifi capture.sigmf-meta" in text:
        recording.write(folder / "capture", samples, source.sample_rate, datatype="ci16_le")
    (samples.T * 32767).copy().view(np.float32).astype("<i2").tofile(folder / "capture.dat")
    for antenna, one in enumerate(samples):
        one.astype("<c8").tofile(folder / f"antenna{antenna}.cf32")
    for block in blocks(page):
        first = block.code.split("\n")[0]
        if first.startswith("# ") and first.endswith((".py", ".toml")):
            (folder / first[2:]).write_text(block.code)    # that the reader is told to save
        elif block.language == "toml":
            assert f'"{lookup.GROUP}"' in block.code    # pip would install the package
            entries = re.findall(r'(?m)^(\w+ = )"(\w+:\w+)"$', block.code)
            own_detectors.install(folder / "packages", map("".join, entries), {})


def files(folder):
    """Return {name: time of change} of the files in a folder, without those of folders in it."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}


def test_code_is_fenced():
    assert len(BLOCKS) > 60
    assert [f"{path.name}:{line}" for path in DOCUMENTS for line in indented_code(path)] == []
    assert [block.place for block in BLOCKS if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("page", [page for page in PAGES if PAGES[page]],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_runs(page, tmp_path, traffic):
    environment = checkout(tmp_path)
    give(page, tmp_path, traffic)
    made, failed = files(tmp_path), []
    ours = set(made)
    for block in PAGES[page]:
        program = ([sys.executable, "-"] if block.language == "python"
                   else ["bash", "-euo", "pipefail"])
        done = subprocess.run(program, input=block.code, cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=300)
        if done.returncode:
            failed.append(f"{block.place}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        now = files(tmp_path)
        failed += [f"{block.place}: {name} is of an earlier block"
                   for name in set(made) - ours if now.get(name) != made[name]]
        made = now
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.left_out],
                         ids=lambda block: f"{block.place}: {block.reason}")
def test_what_is_not_run_parses(block, tmp_path):
    environment = checkout(tmp_path)
    if block.language == "python":
        check = [sys.executable, "-c", imports(block.left_out)]
    else:
        check = ["bash", "-n", "-c", block.left_out]
    done = subprocess.run(check, cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and not done.stderr
    if block.language == "sh":
        found = commands(block.left_out)
        assert found
        assert [text for words in found if (text := complaint(words, tmp_path, environment))] == []


def test_pages_say_how_a_checkout_finds_the_command():
    bare = {block.path for block in BLOCKS if block.language == "sh"
            and re.search(r"(?m)^mimopack ", block.code + block.left_out)}
    assert len(bare) > 5
    assert [path.name for path in bare
            if "`source .venv/bin/activate`" not in path.read_text(encoding="utf-8")] == []


def test_little_is_not_run():
    assert Counter(block.reason for block in BLOCKS if block.left_out) == NOT_RUN
