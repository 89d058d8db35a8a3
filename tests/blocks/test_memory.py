# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A discarded flowgraph gives its memory back."""

import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play
from memory import allocated_bytes

ALL = STREAMS | MESSAGES | SOURCES
ROUNDS = 5
# Far less than a buffer of samples or a detector. GNU Radio keeps a few bytes for each block, and
# NumPy keeps up to 3.5 MiB of small arrays, which it gets by and by.
MOST = 16 * 2**10


@pytest.mark.parametrize("name", ALL)
def test_discarded_flowgraphs_leave_no_memory(name, tmp_path, monkeypatch):
    case = ALL[name]()

    def run(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        block, _, outputs = make_with_ports(case, folder, monkeypatch)
        play(block, outputs, [items[:1000] for items in case.inputs],
             {port: [message] for port, message in case.good.items()})

    for number in range(5):    # caches fill
        run(number)
    before = allocated_bytes()
    for number in range(ROUNDS):
        run(5 + number)
    assert allocated_bytes() - before < ROUNDS * MOST
