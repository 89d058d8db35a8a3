# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release script: one version everywhere, and no release that lacks a step."""

import shutil
import subprocess
import sys

import pytest
import yaml
from gnuradio import mimopack
from source_tree import ROOT

FILES = ("scripts/release.py", "scripts/sbom.py", "python/mimopack/__init__.py", "CHANGELOG.md",
         "debian/changelog", "MANIFEST.yml", "CITATION.cff", "packaging/conda/recipe.yaml",
         "packaging/pybombs/gr-mimopack.lwr")
OWN = mimopack.__version__


@pytest.fixture
def copy(tmp_path):
    """Repository with a copy of the files that name the version, committed."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=folder,
                   check=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")


def release(folder, *arguments):
    return subprocess.run([sys.executable, folder / "scripts/release.py", *arguments],
                          capture_output=True, text=True, timeout=60)


def edit(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def test_this_tree_has_one_version():
    assert "another version" not in release(ROOT, "check").stderr
    assert f"gr-mimopack ({OWN}-1) " in (ROOT / "debian/changelog").read_text().splitlines()[0]


def test_a_new_version_is_written_everywhere(copy):
    done = release(copy, "version", "12.3.4")
    assert done.returncode == 0, done.stderr
    for name in FILES[2:]:
        assert "12.3.4" in (copy / name).read_text(), name
    assert yaml.safe_load((copy / "MANIFEST.yml").read_text())["version"] == "12.3.4"
    changes = (copy / "CHANGELOG.md").read_text()
    assert changes.index("## Unreleased (12.3.4)") < changes.index(f"({OWN})")
    assert "another version" not in release(copy, "check").stderr


@pytest.mark.parametrize("asked", ["1.2", "v1.2.3", OWN, "0.0.9"])
def test_a_wrong_version_is_refused(copy, asked):
    done = release(copy, "version", asked)
    assert done.returncode == 2 and f"got {asked}" in done.stderr
    assert f'"{OWN}"' in (copy / "python/mimopack/__init__.py").read_text()


def test_each_step_that_is_missing_is_named(copy):
    (copy / "new").touch()
    edit(copy / "CITATION.cff", f"version: {OWN}", "version: 0.0.7")
    done = release(copy, "build", copy / "dist")
    assert done.returncode == 1 and not (copy / "dist").exists()
    for step in ("CITATION.cff has another version", "CHANGELOG.md begins with",
                 "debian/changelog begins with", "not committed", f"git tag -s v{OWN}"):
        assert step in done.stderr
    assert len(done.stderr.splitlines()) == 5


def test_with_all_steps_the_commit_is_a_release(copy):
    edit(copy / "CHANGELOG.md", f"Unreleased ({OWN})", f"{OWN} (2026-12-01)")
    edit(copy / "debian/changelog", "UNRELEASED", "unstable")
    commit(copy)
    assert release(copy, "check").stderr.splitlines() == [
        f"release: the commit has no tag: git tag -s v{OWN} -m 'gr-mimopack {OWN}'"]
    git(copy, "tag", f"v{OWN}")
    done = release(copy, "check")
    assert (done.returncode, done.stderr) == (0, "")


def test_recipes_are_read(copy):
    recipe = yaml.safe_load((copy / "packaging/conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == OWN and recipe["package"]["name"] == "gnuradio-mimopack"
    assert {"build", "host", "run"} <= set(recipe["requirements"])
    for path in recipe["tests"][1]["files"]["source"]:
        assert (ROOT / path).exists()
    lwr = yaml.safe_load((copy / "packaging/pybombs/gr-mimopack.lwr").read_text())
    assert set(lwr) == {"category", "depends", "description", "gitrev", "inherit", "satisfy",
                        "source", "vars"}
    assert lwr["gitrev"] == f"v{OWN}" and lwr["inherit"] == "cmake"
    assert "gnuradio" in lwr["depends"] and lwr["source"].startswith("git+")
