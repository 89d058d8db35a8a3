# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run CMake."""

import shutil
import subprocess

from source_tree import ROOT


def cmake(*arguments):
    """Run CMake, which must succeed; return its standard error."""
    done = subprocess.run(["cmake", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def configure(build, *settings, source=ROOT):
    """Configure a build folder; return CMake's standard error."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return cmake("-S", source, "-B", build, *generator, *settings)
