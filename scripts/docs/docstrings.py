# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn docstrings in Google's style into reStructuredText.

The docstrings are plain text: a word such as |x| or *own has no markup. Only ``code`` and roles
such as :class:`Receiver` are markup, so everything else is escaped here.
"""

import re

TITLES = {"Args": "Arguments"}
_MARKUP = re.compile(r"(``.+?``|:\w+:`[^`]+`)", re.DOTALL)
_ENTRY = re.compile(r"(?P<name>[^:]{1,60}(?:\{[^}]*\})?): (?P<text>.*)", re.DOTALL)


def escaped(text):
    """Return plain text with ``code``, roles and names of pages as reStructuredText."""
    parts = [part if _MARKUP.fullmatch(part) else re.sub(r"([\\`*_|])", r"\\\1", part)
             for part in _MARKUP.split(text)]
    return re.sub(r"\bdocs/([\w-]+)\.md\b", r":doc:`docs/\1.md </docs/\1>`", "".join(parts))


def indent(line):
    return len(line) - len(line.lstrip())


def paragraphs(lines):
    """Yield the groups of lines between empty lines."""
    group = []
    for line in [*lines, ""]:
        if line.strip():
            group.append(line)
        elif group:
            yield group
            group = []


def joined(lines):
    return escaped(" ".join(line.strip() for line in lines))


def is_list(group):
    return bool(re.match(r"(-|\d+\.) ", group[0].lstrip()))


def entries(groups):
    """Return a list of ``name: text``, whose texts may continue on deeper lines."""
    base = min(indent(group[0]) for group in groups)
    items = []
    for group in groups:
        for line in group:
            if indent(line) == base:
                items.append([line])
            else:
                items[-1].append(line)
    result = []
    for item in items:
        text = " ".join(line.strip() for line in item)
        entry = _ENTRY.fullmatch(text)
        if entry:
            name = entry["name"].replace("``", "")
            result.append(f"- **{escaped(name)}**: {escaped(entry['text'])}")
        else:
            result.append(f"- {escaped(text)}")
    return result


def looks_like_entries(group):
    """Return whether each line of an indented group that is not deeper begins with ``name:``."""
    base = indent(group[0])
    return all(re.match(r"\w+: ", line.strip()) for line in group if indent(line) == base)


def section(title, groups):
    """Return the lines of a section such as Args."""
    lines = ["", f"**{TITLES.get(title, title)}**", ""]
    if title in ("Returns", "Yields"):
        for group in groups:
            lines += [joined(group), ""]
        return lines
    return [*lines, *entries(groups), ""]


def converted(lines):
    """Return the lines of a docstring as reStructuredText."""
    result, groups = [], list(paragraphs(lines))
    while groups:
        group = groups.pop(0)
        if re.fullmatch(r"[A-Z][\w ]*:", group[0]) and len(group) > 1 and indent(group[1]):
            inside = [group[1:]]
            while groups and indent(groups[0][0]):
                inside.append(groups.pop(0))
            result += section(group[0][:-1], inside)
        elif is_list(group):
            result += [*(escaped(line) for line in group), ""]
        elif indent(group[0]) and looks_like_entries(group):
            result += [*entries([group]), ""]
        elif indent(group[0]):
            result += ["::", "", *group, ""]
        else:
            # The colons of an example that follows are added above.
            result += [re.sub("::$", ":", joined(group)), ""]
    return result
