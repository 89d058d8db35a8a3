# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the code in Markdown documents, and check commands without running them.

Code stands between fences with a language. A comment before the fence says why a block is not run,
or why its lines with a certain text are not:

    <!-- not run: needs a radio -->
    <!-- not run (--radio): needs a radio -->
"""

import ast
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from source_tree import ROOT

DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"( *)```(.*)")
_MARK = re.compile(r" *<!-- not run(?: \((?P<text>.+?)\))?: (?P<reason>.+) -->")
# Parse the arguments of a program that uses click or argparse, and do nothing else. Files that the
# arguments name may be missing.
_PARSE = """
import argparse, pathlib, runpy, sys
import click
parse = argparse.ArgumentParser.parse_args
argparse.ArgumentParser.parse_args = lambda *given, **named: (parse(*given, **named), sys.exit())
invoke = click.Command.invoke
click.Command.invoke = lambda self, context: (
    invoke(self, context) if isinstance(self, click.Group) else None)
click.Path.convert = lambda self, value, parameter, context: value
del sys.argv[0]
sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Block:
    """Fenced code of a document.

    Attributes:
        path, line: the document, and the number of the fence's line.
        language: what follows the fence.
        code: the code to run; "" if all of it is left out.
        left_out: the lines that are not run; "" if there are none.
        reason: why not.
    """

    path: Path
    line: int
    language: str
    code: str
    left_out: str
    reason: str

    @property
    def place(self):
        """Where the block is, for messages."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def blocks(path):
    """Return the ``Block``s of a document, in order."""
    found, lines, start = [], path.read_text(encoding="utf-8").splitlines(), None
    mark = None    # the last line that is not blank, if it is one
    for number, line in enumerate(lines, 1):
        fence = _FENCE.fullmatch(line)
        if fence and start is None:
            start, indent, language = number, len(fence[1]), fence[2]
        elif fence and len(fence[1]) == indent:
            code = [one[indent:] for one in lines[start:number - 1]]
            found.append(Block(path, start, language, *_split(code, mark)))
            start = mark = None
        elif start is None and line.strip():
            mark = _MARK.fullmatch(line)
    return found


def _split(lines, mark):
    """Return what to run of some lines of code, what to leave out, and why."""
    whole = "\n".join(lines) + "\n"
    if mark is None:
        return whole, "", ""
    if mark["text"] is None:
        return "", whole, mark["reason"]
    left_out = [line for line in lines if mark["text"] in line]
    assert left_out, f"{mark[0]}: no line with {mark['text']}"
    return ("".join(f"{line}\n" for line in lines if line not in left_out),
            "".join(f"{line}\n" for line in left_out), mark["reason"])


def indented_code(path):
    """Return the numbers of the lines where code begins that is indented instead of fenced."""
    found, fenced, item, blank, code = [], False, 0, True, False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= bool(_FENCE.fullmatch(line))
        bullet = re.match(r" *([-*]|\d+\.) +", line)
        if not fenced and line.strip():
            code = (code or blank) and not bullet and line.startswith(" " * (item + 4))
            if code and blank:
                found.append(number)
            item = len(bullet[0]) if bullet else item if line.startswith("  ") else 0
        blank = not line.strip()
    return found


def commands(code):
    """Return the words of each command in lines of shell, without what stands before its name."""
    found = []
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and (re.match(r"\w+=", words[0]) or words[0] == "sudo"):
            del words[0]
        if words:
            found.append(words[:-1] if words[-1] == "&" else words)
    return found


def complaint(words, folder, environment):
    """Return what is wrong with a command, "" if nothing is; it does not run.

    The options of this project's programs are parsed, and files of the source tree must exist.

    Args:
        words: the command, as from ``commands``.
        folder: folder that looks like a checkout.
        environment: environment in which ``folder``'s programs work.
    """
    missing = [word for word in words if "/" in word and not (folder / word).exists()
               and ROOT / word.split("/")[0] in ROOT.iterdir()]
    if missing:
        return f"not in the source tree: {', '.join(missing)}"
    if words[0].endswith("bin/python") and not words[1].startswith("-"):
        del words[0]
    ours = Path(words[0]).name == "mimopack"    # in whatever environment
    program = folder / (".venv/bin/mimopack" if ours else words[0])
    if program.suffix == ".sh" and program.exists():
        usage = program.read_text(encoding="utf-8")
        if "-m pytest" in usage:
            # Only pytest's options are left to check; a conftest.py may add some.
            options = [word for word in words[1:] if "/" not in word and word not in usage.split()]
            conftests = [folder / word / "conftest.py" for word in words[1:]
                         if (folder / word / "conftest.py").exists()]
            check = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options,
                     *(conftests or [folder / "tests/conftest.py"])]
        else:
            unknown = [word for word in words[1:] if word.startswith("-") and word not in usage]
            if unknown:
                return f"unknown options: {', '.join(unknown)}"
            check = ["bash", "-n", program]
    elif ours or program.suffix == ".py" and program.exists():
        check = [sys.executable, "-c", _PARSE, program, *words[1:]]
    else:
        return ""
    done = subprocess.run(check, cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=60)
    deselected = 5    # pytest's status if no test is left
    return done.stderr if done.returncode not in (0, deselected) else ""


def imports(code):
    """Return the imports of a Python program as a program; it must be valid as a whole."""
    tree = ast.parse(code)
    return "\n".join(ast.unparse(one) for one in tree.body
                     if isinstance(one, ast.Import | ast.ImportFrom))
