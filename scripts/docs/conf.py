# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of Sphinx for the site; scripts/docs.sh builds it."""

from pathlib import Path

import docstrings
from contents import ROOT_PAGE, SOURCES, toctrees
from gnuradio import mimopack
from sphinx.addnodes import pending_xref

HERE = Path(__file__).parent

project = "gr-mimopack"
author = "The gr-mimopack authors"
copyright = f"2026, {author}"
version = release = mimopack.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = ROOT_PAGE
include_patterns = SOURCES
exclude_patterns = ["docs/images"]

# Anchors of headings, as on a forge
myst_heading_anchors = 4

autodoc_member_order = "bysource"
# A method without a docstring does what the base class says.
autodoc_inherit_docstrings = False

html_theme = "furo"
html_title = f"gr-mimopack {release}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_extra_path = [str(HERE / "extra")]
html_show_sphinx = False
html_copy_source = False
linkcheck_anchors = False


def read_source(app, page, content):
    if page == ROOT_PAGE:
        content[0] += toctrees()


def read_docstring(app, what, name, described, options, lines):
    lines[:] = docstrings.converted(lines)


def unlink_folders(app, page):
    """Keep only the text of links to folders, which a forge shows and the site does not."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(page.findall(pending_xref)):
        if link.get("reftype") == "myst" and (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def setup(app):
    app.connect("source-read", read_source)
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("doctree-read", unlink_folders)
