# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF Collections."""

import hashlib
import json
from pathlib import Path

import numpy as np

from . import contract, mutations
from .sigmf import check_recording, metadata

MAX_LEN = 2048
mutate = mutations.of_json(
    ("core:streams", "core:version", "core:description", "core:author", "core:extensions",
     "collection", "name", "hash", "left", "right", "slow", "broken", "without"))
_FOLDER = contract.folder()
_FILE = Path(_FOLDER.name, "set.sigmf-collection")


def _make_streams():
    """Write two streams that fit together, a slower one, and two that cannot be opened."""
    rng = np.random.default_rng(1)
    for name, own in (("left", {}), ("right", {"core:datatype": "cf32_le", "core:num_channels": 1}),
                      ("slow", {"core:sample_rate": 1e6})):
        told = metadata(**own)
        _FILE.with_name(f"{name}.sigmf-meta").write_text(json.dumps(told))
        _FILE.with_name(f"{name}.sigmf-data").write_bytes(
            rng.integers(0, 256, 2400, np.uint8).tobytes())
    _FILE.with_name("broken.sigmf-meta").write_text("{")
    _FILE.with_name("without.sigmf-meta").write_text(json.dumps(metadata()))


_make_streams()


def check(data):
    """A collection is refused by name, or its channels are those of its streams."""
    _FILE.write_bytes(data)
    check_recording(_FILE, data)


def seeds():
    """Return collections in the forms of SigMF 1.2 and 1.0."""
    told = {"core:version": "1.0.0", "core:description": "two radios"}
    digest = hashlib.sha512(_FILE.with_name("left.sigmf-meta").read_bytes()).hexdigest()
    return [json.dumps({"collection": told | {"core:streams": streams}}).encode() for streams in (
        [{"name": "left", "hash": digest}, {"name": "right", "hash": digest}],
        [["left", digest], ["right", "0"]], ["left", "slow"], ["broken"], ["without"])]
