# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the site and their order in the sidebar.

A page of docs/ that is missing here stops the build.
"""

ROOT_PAGE = "docs/README"
SIDEBAR = {
    "Start": ["README", "docs/install", "docs/glossary"],
    "Tutorials": ["docs/first-flowgraph", "docs/own-ofdm", "docs/own-detector"],
    "Guides": ["docs/wifi", "docs/live", "docs/nr", "docs/recordings", "docs/detectors",
               "docs/coding", "docs/sionna", "docs/iterative", "docs/simulation", "docs/campaigns"],
    "Measurements": ["docs/measurements", "docs/wifi-measurements", "docs/performance",
                     "docs/papers", "docs/reproduction",
                     "bench/README"],
    "Reference": ["docs/blocks/index", "docs/api/index", "soapy/README", "docs/references"],
    "Project": ["CHANGELOG", "docs/reliability", "SECURITY", "CONTRIBUTING", "docs/architecture",
                "packaging/README"],
}
# Titles in the sidebar that differ from the page's heading
TITLES = {"README": "The README"}
SOURCES = [f"{page}.md" for page in (ROOT_PAGE, *sum(SIDEBAR.values(), []))] + ["docs/**"]


def toctrees():
    """Return the directives that put the pages into the sidebar, and nothing on the page."""
    text = ""
    for caption, pages in SIDEBAR.items():
        lines = [f"{TITLES[page]} </{page}>" if page in TITLES else f"/{page}" for page in pages]
        text += "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {caption}", "", *lines,
                           "```\n"])
    return text
