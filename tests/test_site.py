# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of scripts/docs.sh: it builds without a warning, and shows every block and name."""

import os
import re
import subprocess

import docstrings
import links
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


def test_the_build_says_that_gnuradio_is_missing(tmp_path):
    (tmp_path / "gnuradio").mkdir()
    (tmp_path / "gnuradio/__init__.py").touch()
    done = build("--output", tmp_path / "site", packages=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch("docs: .* cannot be imported: .* scripts/setup.sh .*\n", done.stderr)
    assert not (tmp_path / "site").exists()


def test_broken_links_are_found(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">1</a><a href="sub/b.html#there">2</a>'
        '<a href="https://example.com/none">3</a><img src="none.png"><a href="#nowhere">4</a>'
        '<a href="https://example/">8</a><a href="htps://example.com">9</a>')
    (tmp_path / "sub/b.html").write_text('<a name="there"></a><a href="../a.html#here%20">5</a>'
                                         '<a href="../a.html#here">6</a><a href="c%20d.txt">7</a>')
    (tmp_path / "sub/c d.txt").touch()
    assert links.broken(tmp_path) == [
        "a.html: #nowhere", "a.html: htps://example.com", "a.html: https://example/",
        "a.html: none.png", "sub/b.html: ../a.html#here%20"]


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


def converted(text):
    return "\n".join(docstrings.converted(text.splitlines())).strip()


def test_docstrings_become_restructured_text():
    assert converted("Say |x|*2 in\n``a*b`` of :class:`C`.") == (
        "Say \\|x\\|\\*2 in ``a*b`` of :class:`C`.")
    assert converted("One.\n\nArgs:\n    a: the first\n        one.\n    *own: others.\n\n"
                     "Returns:\n    (n, m) uint8: the\n    bits.") == (
        "One.\n\n\n**Arguments**\n\n- **a**: the first one.\n- **\\*own**: others.\n\n\n"
        "**Returns**\n\n(n, m) uint8: the bits.")
    assert converted("Use it::\n\n    x = 1\n      y\n\nEnd.") == (
        "Use it:\n\n::\n\n    x = 1\n      y\n\nEnd.")
    assert converted("It has\n\n    num: a number\n        of two lines.\n    b: more.") == (
        "It has\n\n- **num**: a number of two lines.\n- **b**: more.")
    assert converted("See docs/live.md.") == "See :doc:`docs/live.md </docs/live>`."
    assert converted("- one *\n  more\n- two") == "- one \\*\n  more\n- two"
