# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the links of HTML pages that lead to no file, or to no place in a page."""

from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the named places of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src"):
                self.links.add(value)
            elif key == "id" or (tag, key) == ("a", "name"):
                self.places.add(value)


@cache
def read(path):
    return Page(path.read_text(encoding="utf-8"))


def broken(folder):
    """Return "page: link" for each internal link of a folder's pages that leads nowhere."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        for link in sorted(read(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if (not target.is_file() or (target.suffix == ".html" and
                                         unquote(parts.fragment) not in read(target).places)):
                found.append(f"{path.relative_to(folder)}: {link}")
    return found
