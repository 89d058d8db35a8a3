# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of scripts/docs.sh: it builds without a warning, and shows every block and name."""

import os
import subprocess

import pages
import pytest
from contents import SIDEBAR
from gnuradio import mimopack
from PIL import Image
from source_tree import PACKAGES, ROOT

PYTHON = ROOT / "build/docs-venv/bin/python"    # made by scripts/setup.sh --tests
BLOCKS = pages.block_files()


def build(*arguments, packages=PACKAGES):
    assert PYTHON.exists(), "scripts/setup.sh --docs installs Sphinx"
    return subprocess.run([PYTHON, ROOT / "scripts/docs/build.py", *arguments], timeout=600,
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(packages)})


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    done = build("--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {str(path.relative_to(tmp_path / "html").with_suffix(""))
            for path in (tmp_path / "html").rglob("*.html")}
    assert {page for group in SIDEBAR.values() for page in group} <= made
    assert {f"docs/blocks/{name}" for name in mimopack.blocks.__all__} <= made
    receiver = (tmp_path / "html/docs/api/wifi.html").read_text()
    assert all(f'id="gnuradio.mimopack.wifi.{name}"' in receiver for name in mimopack.wifi.__all__)


def test_every_block_has_its_picture():
    """After a change in grc/, run scripts/screenshots.sh blocks."""
    drawn = {path.stem: Image.open(path).text.get(pages.PICTURE_OF)
             for path in pages.PICTURES.glob("*.png")}
    assert drawn == {name: pages.appearance(block) for name, block in BLOCKS.items()}
    assert set(drawn) == set(mimopack.blocks.__all__)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_page_names_every_parameter_of_its_block(name):
    page = pages.block_page(name, BLOCKS[name])
    for parameter in BLOCKS[name]["parameters"]:
        if parameter.get("hide") != "all":
            assert page.count(f"(`{parameter['id']}`") == 1, parameter["id"]
