#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Begin the next version, after a release: write it into all files that contain it.

    scripts/release.py 0.2.0

packaging/README.md lists the steps of a release.
"""

import re
import sys
from datetime import datetime, timezone
from email.utils import format_datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# CMake and the wheel read the version in this file.
SOURCE = ROOT / "python/mimopack/__init__.py"
# The other files that contain it, with the text around it.
COPIES = {ROOT / "MANIFEST.yml": "version: {}\n", ROOT / "CITATION.cff": "version: {}\n",
          ROOT / "packaging/conda/recipe.yaml": '  version: "{}"\n',
          ROOT / "packaging/pybombs/gr-mimopack.lwr": "gitrev: v{}\n"}


def main(new):
    old = re.search(r'^__version__ = "(.*)"$', SOURCE.read_text(), re.M).group(1)
    for path, line in {SOURCE: '__version__ = "{}"\n', **COPIES}.items():
        path.write_text(path.read_text().replace(line.format(old), line.format(new)))
    changelog = ROOT / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace(
        "\n## ", f"\n## Unreleased ({new})\n\n## ", 1))
    debian = ROOT / "debian/changelog"
    maintainer = re.search(r"^ -- (.+>)  ", debian.read_text(), re.M).group(1)
    now = format_datetime(datetime.now(timezone.utc))
    debian.write_text(f"gr-mimopack ({new}-1) UNRELEASED; urgency=medium\n\n"
                      f"  * New version.\n\n -- {maintainer}  {now}\n\n{debian.read_text()}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: scripts/release.py VERSION, three numbers with dots, such as 0.2.0")
    main(sys.argv[1])
