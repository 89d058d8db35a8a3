# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source package of ``mimopack``, from which pip builds the wheel."""

import os
import subprocess
import sys
import tarfile

import pytest
from gnuradio import mimopack
from source_tree import ROOT

NAME = f"mimopack-{mimopack.__version__}"
FOLDERS = ("python/mimopack", "lib", "packaging/wheel")
FILES = {"pyproject.toml", "LICENSE", "CHANGELOG.md", "cmake/commit.cmake", "PKG-INFO"}


def build(folder):
    """Build the source package; return its path."""
    subprocess.run([sys.executable, "-c", "import sys; from scikit_build_core import build; "
                    "build.build_sdist(sys.argv[1])", folder], cwd=ROOT, check=True, timeout=120,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, stdout=sys.stderr)
    path, = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build(tmp_path_factory.mktemp("sdist"))


def test_it_contains_what_the_wheel_is_built_from(sdist):
    with tarfile.open(sdist) as archive:
        found = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    wanted = {str(path.relative_to(ROOT)) for folder in FOLDERS
              for path in (ROOT / folder).rglob("*")
              if path.is_file() and path.suffix not in (".pyc", ".so")}
    assert found == wanted | FILES
    assert {"lib/CMakeLists.txt", "python/mimopack/coding/turbo/tables/qpp.txt"} < found


def test_its_metadata_name_the_version_and_what_it_needs(sdist):
    with tarfile.open(sdist) as archive:
        lines = archive.extractfile(f"{NAME}/PKG-INFO").read().decode().splitlines()
    assert f"Version: {mimopack.__version__}" in lines
    assert "License-Expression: GPL-3.0-or-later" in lines
    needed = {line.removeprefix("Requires-Dist: ").split(">=")[0] for line in lines
              if line.startswith("Requires-Dist: ") and "extra" not in line}
    assert needed == {"click", "numpy", "sigmf"}


def test_building_it_again_gives_the_same_bytes(sdist, tmp_path):
    assert build(tmp_path).read_bytes() == sdist.read_bytes()
