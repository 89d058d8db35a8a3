# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the links of HTML pages that lead to no file, to no place in a page, or are no address."""

import re
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

# "scripts/docs.sh --external" asks the servers.
ADDRESS = re.compile(r"(https?://(\w[\w-]*(\.[\w-]+)+)(:\d+)?(/\S*)?|mailto:\S+@\S+|data:\S+)")


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
    """Return "page: link" for each link of a folder's pages that leads nowhere.

    Links to other sites need only be addresses.
    """
    found = []
    for path in sorted(folder.rglob("*.html")):
        for link in sorted(read(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if not ADDRESS.fullmatch(link):
                    found.append(f"{path.relative_to(folder)}: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if (not target.is_file() or (target.suffix == ".html" and
                                         unquote(parts.fragment) not in read(target).places)):
                found.append(f"{path.relative_to(folder)}: {link}")
    return found
