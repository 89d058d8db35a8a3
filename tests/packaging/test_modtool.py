# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""gr_modtool works on this module as on those that it makes itself."""

import ast
import shutil
import subprocess
import sys

import pytest
from cmake_runs import configure
from source_tree import ROOT


def modtool(*arguments, cwd=ROOT):
    done = subprocess.run(["gr_modtool", *arguments], cwd=cwd, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and "Error" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def copy(tmp_path):
    """A copy of the sources."""
    return shutil.copytree(ROOT, tmp_path / "gr-mimopack", ignore=shutil.ignore_patterns(
        "build", "build-*", ".*", "__pycache__", "data", "bench", "images"))


def test_it_knows_the_module():
    info = ast.literal_eval(modtool("info", "--python-readable"))
    assert info["modname"] == "mimopack" and info["base_dir"] == str(ROOT)


def test_it_adds_a_block_that_cmake_installs_and_tests(copy, tmp_path):
    modtool("add", "--block-type", "sync", "--lang", "python", "--copyright", "authors",
            "--argument-list", "", "--add-python-qa", "halver", cwd=copy)
    assert "from .halver import halver" in (copy / "python/mimopack/__init__.py").read_text()
    build = tmp_path / "build"
    configure(build, f"-DPYTHON_EXECUTABLE={sys.executable}", source=copy)
    listed = subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True, timeout=60)
    assert "qa_halver" in listed.stdout
    assert (build / "python/gnuradio/mimopack/halver.py").exists()
    assert "mimopack_halver.block.yml" in (build / "grc/cmake_install.cmake").read_text()
