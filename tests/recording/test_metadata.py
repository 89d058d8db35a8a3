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
    ("global", "core:num_channels", "2.0", r"2\.0 is not of type 'integer'"),
    ("global", "core:num_channels", "true", "True is not of type 'integer'"),
    ("global", "core:sample_rate", "NaN", "nan is not of type 'number'"),
    ("global", "core:sample_rate", "0", "0 is less than the minimum of 1e-37"),
    ("global", "core:description", "5", "5 is not of type 'string'"),
    ("global", "core:sha512", '"xyz"', "'xyz' does not match"),
    ("global", "core:extensions", '[{"name": "a"}]', "'version' is a required property"),
    ("captures", "core:sample_start", "5.0", r"5\.0 is not of type 'integer'"),
    ("captures", "core:frequency", "Infinity", "inf is not of type 'number'"),
    ("captures", "core:datetime", "7", "7 is not of type 'string'"),
    ("annotations", "core:sample_start", "3.0", r"3\.0 is not of type 'integer'"),
    ("annotations", "core:label", "[]", r"\[\] is not of type 'string'")])
def test_the_message_names_the_field_and_what_is_allowed(tmp_path, part, key, value, said):
    with recording.Writer(tmp_path / "r", 2, 1e6) as writer:
        writer.write(SAMPLES)
        writer.annotate(0, 5, label="a")
    place = (part, key) if part == "global" else (part, 0, key)
    writer.path.write_text(_changed(writer.path.read_text(), place, value))
    words = re.escape(f"path: {writer.path}: {part}{'' if part == 'global' else '[0]'}.{key}")
    with pytest.raises(ValueError, match=rf"{words}.*: {said}"):
        recording.Reader(writer.path)


@pytest.mark.parametrize(("place", "value", "said"), [
    (("core:streams",), "5", r"core:streams: 5 is not of type 'array', 'string'"),
    (("core:streams",), "[]", r"core:streams: \[\] (is too short|should be non-empty)"),
    (("core:streams",), '["r-0"' + ', "r-0"' * 1024 + "]", r"core:streams: \['r-0'.*\.\.\."),
    (("core:streams", 0), "3", r"core:streams\[0\]: 3 is not of type 'object'"),
    (("core:streams", 0), '{"hash": "0"}', r"core:streams\[0\]: 'name' is a required property"),
    (("core:streams", 1, "name"), "7", r"core:streams\[1\]\.name: 7 is not of type 'string'"),
    (("core:description",), "NaN", "core:description: nan is not of type 'string'")])
def test_a_wrong_value_in_a_collection_is_named(tmp_path, place, value, said):
    path = recording.write(tmp_path / "r", SAMPLES, 1e6, layout="collection", description="a")
    path.write_text(_changed(path.read_text(), ("collection", *place), value))
    with pytest.raises(ValueError, match=rf"path: {re.escape(str(path))}: collection\.{said}"):
        recording.Reader(path)
