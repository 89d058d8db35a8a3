# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata with wrong values, and damaged files: refused by name, or read to something sane."""

import json
import math
import re

import numpy as np
import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples

# JSON texts that take the place of each value in turn.
VALUES = ["null", '"text"', '""', "[]", "[[1]]", "{}", '{"a": 1}', "2.0", "0.5", "-1", "0", "5",
          str(2**63), str(-2**70), "1" + "0" * 400, "1" + "0" * 5000, "1e-300", "1e300", "1e999",
          "-1e999", "NaN", "Infinity", "true", "[" * 300 + "]" * 300, "[" * 900 + "]" * 900,
          "[" * 100_000 + "]" * 100_000]
NAMES = {"[" * 300 + "]" * 300: "300-deep", "[" * 900 + "]" * 900: "900-deep",
         "[" * 100_000 + "]" * 100_000: "100000-deep", "1" + "0" * 400: "10^400",
         "1" + "0" * 5000: "10^5000"}
SAMPLES = exact_samples(2, 50, "ci16_le")


@pytest.fixture(scope="module", params=recording.LAYOUTS)
def whole(request, tmp_path_factory):
    """Path of a recording that has all fields the reader knows."""
    path = tmp_path_factory.mktemp("whole") / "r"
    with recording.Writer(path, 2, 1e6, "ci16_le", request.param, frequency=5e9,
                          description="SIMULATED", datetime="2026-01-02T03:04:05.5Z") as writer:
        writer.write(SAMPLES[:, :20])
        writer.add_capture(6e9, "2026-01-02T03:04:06Z", **{
            "core:global_index": 500, "mimopack:sample_rate": 2e6})
        writer.write(SAMPLES[:, 20:])
        recording.annotate_frame(writer, 3, 10, [b"abcd"], 20.0)
    return writer.path


@pytest.fixture
def files(whole):
    """The recording's metadata files, which are restored after the test."""
    paths = sorted([*whole.parent.glob("*.sigmf-meta"), *whole.parent.glob("*.sigmf-collection")])
    texts = [path.read_bytes() for path in paths]
    yield paths
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)


def _places(value, place=()):
    """Yield the path of each value in a JSON object."""
    if place:
        yield place
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*place, key))


def _changed(text, place, new):
    """Return JSON text in which a value is replaced by a JSON text, or removed with its key."""
    metadata = json.loads(text)
    inside = metadata
    for step in place[:-1]:
        inside = inside[step]
    if new is None:
        del inside[place[-1]]
        return json.dumps(metadata)
    inside[place[-1]] = "@"
    return json.dumps(metadata).replace('"@"', new)


def _is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def _open(path):
    """Open a recording; return True if it was refused properly. Otherwise check what was read."""
    try:
        reader = recording.Reader(path)
    except (ValueError, OSError) as error:
        assert re.search(r"\br(-[01])?\.sigmf-", str(error)), error
        assert len(str(error)) < 1000 and "\n" not in str(error)
        return True
    assert 1 <= reader.num_channels <= 1024 and 1 <= reader.num_samples <= 200
    assert type(reader.num_channels) is type(reader.num_samples) is int
    assert reader.datatype in recording.DATATYPES
    assert isinstance(reader.description, str) and all(isinstance(n, str) for n in reader.notes)
    assert reader.start_time is None or _is_number(reader.start_time)
    starts = [segment.start for segment in reader.segments]
    assert starts[0] == 0 and starts == sorted(set(starts)) and starts[-1] < reader.num_samples
    for segment in [reader, *reader.segments]:
        assert segment.frequency is None or _is_number(segment.frequency)
        assert segment.sample_rate is None or (
            _is_number(segment.sample_rate) and segment.sample_rate > 0)
    for segment in reader.segments:
        assert type(segment.start) is int
        if segment.time is not None:
            assert type(segment.time[0]) is int and 0 <= segment.time[1] < 1
    for entry in [*reader.captures, *reader.annotations]:
        assert type(entry["core:sample_start"]) is int and entry["core:sample_start"] >= 0
    assert reader.read().shape == (reader.num_channels, reader.num_samples)
    try:
        for frame in recording.read_frames(reader.annotations):
            assert type(frame.start) is type(frame.count) is int and frame.count >= 0
    except ValueError as error:
        assert "annotation at sample" in str(error)
    return False


@pytest.mark.parametrize("value", VALUES, ids=lambda value: NAMES.get(value, value))
def test_a_wrong_value_is_refused_by_name_or_read_to_something_sane(whole, files, value):
    refused = 0
    for path in files:
        text = path.read_bytes()
        for place in _places(json.loads(text)):
            path.write_text(_changed(text, place, value))
            refused += _open(whole)
        path.write_bytes(text)
    assert refused > 5


def test_a_missing_key_is_refused_by_name_or_has_a_default(whole, files):
    for path in files:
        text = path.read_bytes()
        for place in _places(json.loads(text)):
            path.write_text(_changed(text, place, None))
            _open(whole)
        path.write_bytes(text)
    assert not _open(whole)


def test_a_file_that_is_cut_or_has_a_wrong_bit_is_refused_or_read(whole, files):
    rng = np.random.default_rng(1)
    for path in files:
        text = path.read_bytes()
        for length in range(0, len(text) - 2, 13):
            path.write_bytes(text[:length])
            assert _open(whole)
        for at in range(0, len(text), 7):
            flipped = bytearray(text)
            flipped[at] ^= 1 << rng.integers(8)
            path.write_bytes(flipped)
            _open(whole)
        path.write_bytes(text)


def test_a_dataset_of_any_length_is_read_to_its_whole_samples(whole, files):
    data = sorted(whole.parent.glob("*.sigmf-data"))[-1]
    size = 8 if len(files) == 1 else 4
    stored = data.read_bytes()
    for length in range(len(stored) + 1):
        data.write_bytes(stored[:length])
        if length < size:
            assert _open(whole)
        else:
            reader = recording.Reader(whole)
            assert np.array_equal(reader.read(), SAMPLES[:, :length // size])
            assert any("ends within a sample" in note for note in reader.notes) == bool(
                length % size)


# (object, key, JSON text of the value, what the message says)
@pytest.mark.parametrize(("part", "key", "value", "said"), [
    ("global", "core:num_channels", "2.0", r"got 2\.0, must be an integer from 1 to 1024"),
    ("global", "core:num_channels", "true", "got True, must be an integer"),
    ("global", "core:num_channels", "5000", "got 5000, must be an integer from 1 to 1024"),
    ("global", "core:sample_rate", "NaN", r"got nan, must be a finite number from 1e-37 to 1e\+12"),
    ("global", "core:sample_rate", "-Infinity", "got -inf, must be a finite number"),
    ("global", "core:sample_rate", "1e999", "got inf, must be a finite number"),
    ("global", "core:sample_rate", "true", "got True, must be a finite number"),
    ("global", "core:sample_rate", "0", "got 0, must be a finite number from 1e-37"),
    ("global", "core:description", "5", "got 5, must be text"),
    ("global", "core:trailing_bytes", "1.0", r"got 1\.0, must be an integer from 0"),
    ("global", "core:sha512", '"xyz"', "got 'xyz', must have SigMF's form"),
    ("global", "core:extensions", '[{"name": "a"}]', None),
    ("captures", "core:sample_start", "5.0", r"got 5\.0, must be an integer from 0"),
    ("captures", "core:sample_start", "-1", "got -1, must be an integer from 0"),
    ("captures", "core:frequency", "Infinity", "got inf, must be a finite number"),
    ("captures", "core:header_bytes", "4.0", r"got 4\.0, must be an integer from 0"),
    ("captures", "core:datetime", "7", "got 7, must be text"),
    ("annotations", "core:sample_start", "3.0", r"got 3\.0, must be an integer from 0"),
    ("annotations", "core:sample_count", "1e3", r"got 1000\.0, must be an integer from 0"),
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
    (("core:streams",), "null", "core:streams: got None, must be a list or text"),
    (("core:streams",), '["r-0"' + ', "r-0"' * 1024 + "]",
     "core:streams: got .* must have 1024 or fewer entries"),
    (("core:streams", 0), "3", r"core:streams\[0\]: got 3, must be an object or a list or text"),
    (("core:streams", 0), "[]", r"core:streams\[0\]: got \[\], must have 1 or more entries"),
    (("core:streams", 0), '{"hash": "0"}', r"core:streams\[0\]\.name: it is missing"),
    (("core:streams", 1, "name"), "7", r"core:streams\[1\]\.name: got 7, must be text"),
    (("core:streams", 1, "hash"), "7", r"core:streams\[1\]\.hash: got 7, must be text"),
    (("core:description",), "NaN", "core:description: got nan, must be text")])
def test_a_wrong_value_in_a_collection_is_named(tmp_path, place, value, said):
    path = recording.write(tmp_path / "r", SAMPLES, 1e6, layout="collection", description="a")
    path.write_text(_changed(path.read_text(), ("collection", *place), value))
    with pytest.raises(ValueError, match=rf"path: {re.escape(str(path))}: collection\.{said}"):
        recording.Reader(path)
