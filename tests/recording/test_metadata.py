# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata with wrong values are refused by the name of the field."""

import json
import re

import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples

SAMPLES = exact_samples(2, 50, "ci16_le")


def _changed(text, place, new):
    """Return JSON text in which a value is replaced by a JSON text, or removed with its key."""
    metadata = json.loads(text)
    inside = metadata
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = "@"
    return json.dumps(metadata).replace('"@"', new)


# (object, key, JSON text of the value, what the message says)
@pytest.mark.parametrize(("part", "key", "value", "said"), [
    ("global", "core:num_channels", "2.0", r"got 2\.0, must be an integer from 1 to 1024"),
    ("global", "core:num_channels", "true", "got True, must be an integer"),
    ("global", "core:sample_rate", "NaN", r"got nan, must be a finite number from 1e-37 to 1e\+12"),
    ("global", "core:sample_rate", "0", "got 0, must be a finite number from 1e-37"),
    ("global", "core:description", "5", "got 5, must be text"),
    ("global", "core:sha512", '"xyz"', "got 'xyz', must have SigMF's form"),
    ("global", "core:extensions", '[{"name": "a"}]', None),
    ("captures", "core:sample_start", "5.0", r"got 5\.0, must be an integer from 0"),
    ("captures", "core:frequency", "Infinity", "got inf, must be a finite number"),
    ("captures", "core:datetime", "7", "got 7, must be text"),
    ("annotations", "core:sample_start", "3.0", r"got 3\.0, must be an integer from 0"),
    ("annotations", "core:label", "[]", r"got \[\], must be text")])
def test_the_message_names_the_field_and_what_is_allowed(tmp_path, part, key, value, said):
    with recording.Writer(tmp_path / "r", 2, 1e6) as writer:
        writer.write(SAMPLES)
        writer.annotate(0, 5, label="a")
    place = (part, key) if part == "global" else (part, 0, key)
    writer.path.write_text(_changed(writer.path.read_text(), place, value))
    words = re.escape(f"path: {writer.path}: {part}{'' if part == 'global' else '[0]'}.{key}")
    with pytest.raises(ValueError, match=rf"{words}{'.*it is missing' if said is None else ': '}"
                                         rf"{said or ''}"):
        recording.Reader(writer.path)


@pytest.mark.parametrize(("place", "value", "said"), [
    (("core:streams",), "5", r"core:streams: got 5, must be a list or text"),
    (("core:streams",), "[]", r"core:streams: got \[\], must have 1 or more entries"),
    (("core:streams",), '["r-0"' + ', "r-0"' * 1024 + "]",
     "core:streams: got .* must have 1024 or fewer entries"),
    (("core:streams", 0), "3", r"core:streams\[0\]: got 3, must be an object or a list or text"),
    (("core:streams", 0), '{"hash": "0"}', r"core:streams\[0\]\.name: it is missing"),
    (("core:streams", 1, "name"), "7", r"core:streams\[1\]\.name: got 7, must be text"),
    (("core:description",), "NaN", "core:description: got nan, must be text")])
def test_a_wrong_value_in_a_collection_is_named(tmp_path, place, value, said):
    path = recording.write(tmp_path / "r", SAMPLES, 1e6, layout="collection", description="a")
    path.write_text(_changed(path.read_text(), ("collection", *place), value))
    with pytest.raises(ValueError, match=rf"path: {re.escape(str(path))}: collection\.{said}"):
        recording.Reader(path)
