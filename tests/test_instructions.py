# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check which instructions and functions the compiled code uses."""

import platform
import re
import subprocess
from collections import defaultdict
from functools import cache

import pytest
from gnuradio.mimopack import _core

HEADER = re.compile(r"^([0-9a-f]+) <(.*)>:$")
TARGET = re.compile(r"\b([0-9a-f]+) <[^>]*>$")
AVX512 = re.compile(r"%zmm|%[xy]mm(?:1[6-9]|2\d|3[01])|%k[0-7]")
LEVELS = "baseline", "avx2", "avx512"


@cache
def functions():
    """Return ({address: name}, {address: level of its instructions}, {address: callers})."""
    names, levels, callers = {}, defaultdict(int), defaultdict(set)
    with subprocess.Popen(["objdump", "-d", "-w", "--no-show-raw-insn", _core.__file__],
                          stdout=subprocess.PIPE, text=True) as listing:
        here = None
        for line in listing.stdout:
            if header := HEADER.match(line):
                here = int(header[1], 16)
                names[here] = header[2]
            elif here is not None and line.count("\t") == 1:
                instruction = line.split("\t")[1].strip()
                # The baseline has no instruction whose name begins with v.
                level = 2 if AVX512.search(instruction) else int(instruction[0] == "v")
                levels[here] = max(levels[here], level)
                if target := TARGET.search(instruction):
                    callers[int(target[1], 16)].add(here)
    assert listing.returncode == 0
    # A call through the linkage table is a call of the function that the entry names.
    places = {name: at for at, name in names.items()}
    for at, name in names.items():
        if name.endswith("@plt") and name[:-4] in places:
            callers[places[name[:-4]]] |= callers[at]
    return names, levels, callers


def build_of(name):
    """Return the level of the build that a function belongs to, by the namespace in its name."""
    return max((level for level, isa in enumerate(LEVELS) if isa in name), default=0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the builds are for x86-64")
@pytest.mark.skipif("baseline" not in _core.compiled_isas(),
                    reason="a build for this machine alone has no code for others")
def test_only_a_build_of_an_instruction_set_calls_code_that_needs_it():
    """The linker may keep the copy of a function of the standard library from any build."""
    names, levels, callers = functions()
    assert len(names) > 1000
    # Each build has functions with its own instructions, or this test could not fail.
    for isa in _core.compiled_isas():
        level = LEVELS.index(isa)
        assert any(levels[at] == level and build_of(name) == level for at, name in names.items())
    wrong = {f"{names[caller]} calls {names[at]}"
             for at in names if levels[at] > build_of(names[at])
             for caller in callers[at] - {at} if caller in names
             and build_of(names[caller]) < levels[at] and levels[caller] < levels[at]}
    alone = {names[at] for at in names if levels[at] > build_of(names[at]) and not callers[at]}
    assert not wrong and not alone
