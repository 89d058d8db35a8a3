# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fuzz targets: a module for each, which checks the contract of what parses.

Each module has:

    check(data): parse bytes. Any exception is a finding; documented ones are caught inside.
    seeds(): return a list of valid examples, as bytes.
    mutate(data, rng): return changed bytes; ``rng`` is a random.Random.
    MAX_LEN: maximum number of bytes.

The targets need no fuzzer: scripts/fuzz.py runs them under Atheris, and test_corpus.py over the
corpus in tests/data/fuzz and over a few changed seeds.
"""

from importlib import import_module

NAMES = ("alist", "ampdu", "campaign", "collection", "csi", "messages", "receiver",
         "signal_fields", "signal_samples", "sigmf")


def load(name):
    """Return the module of a target."""
    return import_module(f"{__name__}.{name}")
