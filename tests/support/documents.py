# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the code in Markdown documents.

Code stands between fences with a language. A comment before the fence says why a block is not run,
or why its lines with a certain text are not:

    <!-- not run: needs a radio -->
    <!-- not run (--radio): needs a radio -->
"""

import re
from dataclasses import dataclass
from pathlib import Path

from source_tree import ROOT

DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"( *)```(.*)")
_MARK = re.compile(r" *<!-- not run(?: \((?P<text>.+?)\))?: (?P<reason>.+) -->")


@dataclass(frozen=True)
class Block:
    """Fenced code of a document.

    Attributes:
        place: the document, and the number of the fence's line.
        language: what follows the fence.
        code: the code to run; "" if all of it is left out.
        left_out: the lines that are not run; "" if there are none.
    """

    place: str
    language: str
    code: str
    left_out: str


def blocks(path: Path):
    """Return the ``Block``s of a document, in order."""
    found, lines, start = [], path.read_text(encoding="utf-8").splitlines(), None
    mark = None    # the last line that is not blank, if it is one
    for number, line in enumerate(lines, 1):
        fence = _FENCE.fullmatch(line)
        if fence and start is None:
            start, indent, language = number, len(fence[1]), fence[2]
        elif fence and len(fence[1]) == indent:
            code = [line[indent:] for line in lines[start:number - 1]]
            found.append(Block(f"{path.relative_to(ROOT)}:{start}", language, *_split(code, mark)))
            start = mark = None
        elif start is None and line.strip():
            mark = _MARK.fullmatch(line)
    return found


def _split(lines, mark):
    """Return what to run of some lines of code, and what to leave out."""
    text = mark["text"] or "" if mark else None
    left_out = [line for line in lines if text is not None and text in line]
    assert left_out or text is None, f"{mark[0]}: no line with {text}"
    return ("".join(f"{line}\n" for line in lines if line not in left_out),
            "".join(f"{line}\n" for line in left_out))
