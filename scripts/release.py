#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a release: write its version, check the sources, build the files to publish.

packaging/README.md says when each step is due. The version is a line of
python/mimopack/__init__.py; CMake and the wheel read it there. "release.py version" writes it, and
copies it to the files of other formats.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import venv
from datetime import date, datetime, timezone
from email.utils import format_datetime
from pathlib import Path

from sbom import ROOT, version

SOURCE = ROOT / "python/mimopack/__init__.py"
CHANGELOG = ROOT / "CHANGELOG.md"
DEBIAN = ROOT / "debian/changelog"
# Files that repeat the version, with the text around it.
COPIES = {ROOT / "MANIFEST.yml": "version: {}\n", ROOT / "CITATION.cff": "version: {}\n",
          ROOT / "packaging/conda/recipe.yaml": '  version: "{}"\n',
          ROOT / "packaging/pybombs/gr-mimopack.lwr": "gitrev: v{}\n"}


def git(*arguments):
    """Return the output of git, without the last line end."""
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True,
                          text=True).stdout.rstrip("\n")


def set_version(new):
    """Write a version into all files that contain it.

    Raises:
        ValueError: it is not three numbers with dots, or not newer than the last one.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", new):
        raise ValueError(f"version: got {new}, must be three numbers with dots, such as 0.2.0")
    old = version()
    if [*map(int, new.split("."))] <= [*map(int, old.split("."))]:
        raise ValueError(f"version: got {new}, must be newer than {old}")
    for path, line in {SOURCE: '__version__ = "{}"\n', **COPIES}.items():
        path.write_text(path.read_text().replace(line.format(old), line.format(new)))
    text = CHANGELOG.read_text()
    CHANGELOG.write_text(text.replace("\n## ", f"\n## Unreleased ({new})\n\n## ", 1))
    maintainer = re.search(r"^ -- (.+>)  ", DEBIAN.read_text(), re.M).group(1)
    now = format_datetime(datetime.now(timezone.utc))
    DEBIAN.write_text(f"gr-mimopack ({new}-1) UNRELEASED; urgency=medium\n\n"
                      f"  * New version.\n\n -- {maintainer}  {now}\n\n{DEBIAN.read_text()}")


def problems():
    """Return what keeps the sources from being a release, a list of lines."""
    found, own = [], version()
    for path, line in COPIES.items():
        if line.format(own) not in path.read_text():
            found.append(f"{path.relative_to(ROOT)} has another version than {own}")
    heading = re.search(r"^## (.*)$", CHANGELOG.read_text(), re.M).group(1)
    released = re.fullmatch(rf"{re.escape(own)} \((\d{{4}}-\d\d-\d\d)\)", heading)
    if not released:
        found.append(f'CHANGELOG.md begins with "{heading}", must be "{own} ({date.today()})"')
    debian = DEBIAN.read_text().splitlines()[0]
    if not re.fullmatch(rf"gr-mimopack \({re.escape(own)}-\d+\) (?!UNRELEASED)[\w-]+; .*", debian):
        found.append(f'debian/changelog begins with "{debian}", must be of {own} and a suite of '
                     "Debian, such as unstable")
    if git("status", "--porcelain"):
        found.append("the working tree has changes that are not committed")
    if f"v{own}" not in git("tag", "--points-at", "HEAD").splitlines():
        found.append(f"the commit has no tag: git tag -s v{own} -m 'gr-mimopack {own}'")
    return found


def build(folder, isas):
    """Build source archive, sdist, wheel and bill of materials into a folder, with check sums."""
    folder.mkdir(parents=True)
    name = f"gr-mimopack-{version()}"
    archive = folder / f"{name}.tar.gz"
    git("archive", "--format=tar.gz", f"--prefix={name}/", "-o", archive, "HEAD")
    tools = ROOT / "build/release-tools"
    python = tools / "bin/python"
    venv.create(tools, clear=True, with_pip=True)
    run(python, "-m", "pip", "install", "--quiet", "--require-hashes",
        "-r", ROOT / "requirements-build.txt")
    plain = folder / "plain"
    # An isolated build would take its backend from PyPI without hashes.
    run(python, "-m", "build", "--no-isolation", "--outdir", plain,
        f"-Ccmake.define.MIMOPACK_ISAS={isas}", ROOT)
    sdist, = plain.glob("*.tar.gz")
    sdist.rename(folder / sdist.name)
    wheel, = plain.glob("*.whl")
    # Adds libgomp, and names the oldest C library with which the wheel works.
    run(python, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel,
        env={"PATH": f"{tools}/bin:{os.environ['PATH']}"})
    wheel.unlink()
    plain.rmdir()
    run(sys.executable, ROOT / "scripts/sbom.py", "--output", folder / f"{name}.cdx.json")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
            for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))


def run(*command, env=None):
    """Run a command as if at the time of the commit, so that it gives the same files each time."""
    subprocess.run(command, check=True, env={
        **os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct"),
        "MIMOPACK_COMMIT": git("rev-parse", "--short=12", "HEAD"), **(env or {})})


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("version", help="write the version of the next release")
    action.add_argument("version")
    actions.add_parser("check", help="say what keeps this commit from being a release")
    action = actions.add_parser("build", help="check, then build the files to publish")
    action.add_argument("folder", type=Path, help="folder to make")
    action.add_argument("--trial", action="store_true", help="build although the check fails")
    action.add_argument("--isas", default="all", help="instruction sets, default all")
    options = parser.parse_args()
    if options.action == "version":
        try:
            set_version(options.version)
        except ValueError as error:
            parser.error(str(error))
        return
    found = problems()
    for line in found:
        print(f"release: {line}", file=sys.stderr)
    if found and not getattr(options, "trial", False):
        sys.exit(1)
    if options.action == "build":
        if options.folder.exists():
            parser.error(f"folder: got {options.folder}, which exists")
        build(options.folder.resolve(), options.isas)


if __name__ == "__main__":
    main()
