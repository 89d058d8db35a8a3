# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fuzz target over its seeds, its corpus, and a few hundred changes of them.

scripts/fuzz.py searches further, guided by coverage.
"""

import random

import fuzz_targets
import pytest
from fuzz_targets import mutations
from source_tree import DATA

_CHANGED = 300
# These targets take milliseconds for each input.
_SLOW = {"receiver": 60, "sigmf": 150, "collection": 150}


@pytest.fixture(params=fuzz_targets.NAMES)
def target(request):
    return request.param, fuzz_targets.load(request.param)


def corpus(name):
    folder = DATA / "fuzz" / name
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


# The package sigmf warns of names that no extension declares.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_contract_holds(target):
    name, module = target
    inputs = [*module.seeds(), *corpus(name)]
    assert all(len(data) <= module.MAX_LEN for data in inputs)
    rng = random.Random(name)
    changed = []
    for _ in range(_SLOW.get(name, _CHANGED)):
        data = module.mutate(rng.choice(inputs), rng)
        # Changes of changes reach further.
        changed.append((module.mutate(data, rng) if rng.randrange(2) else data)[:module.MAX_LEN])
    for data in [*inputs, *changed]:
        try:
            module.check(data)
        except BaseException as error:
            raise AssertionError(f"{name}: {data!r}") from error


@pytest.mark.parametrize("depth", range(900, 1000, 5))
def test_json_nested_as_deeply_as_python_reads_is_changed(depth):
    """Python may read what it cannot write."""
    mutate, rng = mutations.of_json(["a"]), random.Random(depth)
    data = b'{"a":' * depth + b"1" + b"}" * depth
    assert all(isinstance(mutate(data, rng), bytes) for _ in range(50))
