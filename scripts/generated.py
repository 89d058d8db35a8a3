# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep generated files up to date: what the scripts generate_*.py share."""

import argparse
import sys


def update(folder, pattern, wanted, write):
    """Return the names of outdated files in a folder, and rewrite them if ``write`` is set.

    Args:
        folder: path of the folder.
        pattern: files of this pattern are outdated if they are not wanted.
        wanted: {file name: text}.
        write: whether to write or remove what is outdated.
    """
    changed = [path.name for path in folder.glob(pattern) if path.name not in wanted]
    if write:
        for name in changed:
            (folder / name).unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if write:
                path.write_text(text, encoding="utf-8")
    return sorted(changed)


def main(description, out_of_date):
    """Run a script: write the files, or with --check only list the outdated ones.

    Args:
        description: for --help.
        out_of_date: function of ``write`` that returns the names of outdated files.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1")
    check = parser.parse_args().check
    changed = out_of_date(write=not check)
    for name in changed:
        print(f"{name}: {'out of date' if check else 'written'}")
    sys.exit(1 if check and changed else 0)
