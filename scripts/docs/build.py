# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the site; scripts/docs.sh calls this program with the Python that has Sphinx.

The sources are a copy of the repository, so that a link leads to the same file on the site as on a
forge. Generated pages are added to the copy.
"""

import argparse
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def stage(folder):
    """Copy the repository into a new folder, without what is built or hidden."""
    unwanted = shutil.ignore_patterns("build", "build-*", "demo-output", "__pycache__", ".*")

    def ignored(parent, names):
        return unwanted(parent, names) | {
            name for name in names if Path(parent, name) == folder.parent}

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, ignore=ignored)
    for generated in ("api", "blocks"):
        (folder / "docs" / generated).mkdir()


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs.sh", description="Build the site.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", metavar="FOLDER",
                        help="where to build; the pages are in FOLDER/html (default: build/docs)")
    parser.add_argument("--external", action="store_true",
                        help="also check the links to other sites, which needs a network")
    arguments = parser.parse_args()
    try:
        from gnuradio.mimopack import blocks  # noqa: F401
    except ImportError as error:
        sys.exit("docs: the pages of the API are made from gnuradio.mimopack, which cannot be "
                 f"imported: {error}. scripts/setup.sh installs GNU Radio and builds the module.")
    import links
    import pages
    from sphinx.cmd.build import build_main

    source = arguments.output.resolve() / ".pages"
    stage(source)
    pages.write(source / "docs")
    for builder in ["html"] + ["linkcheck"] * arguments.external:
        failed = build_main([
            "--builder", builder, "--conf-dir", str(HERE), "--fail-on-warning", "--keep-going",
            "--quiet", "--jobs", "auto", "--doctree-dir", str(source.parent / "doctrees"),
            str(source), str(source.parent / builder)])
        if failed:
            sys.exit(failed)
    html = source.parent / "html"
    if broken := links.broken(html):
        sys.exit("\n".join(["docs: links that lead nowhere:", *broken]))
    print(f"docs: {html / 'index.html'}")


if __name__ == "__main__":
    main()
