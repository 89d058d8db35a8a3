# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata of SigMF recordings."""

import json
import math
import zlib
from pathlib import Path

import jsonschema
import numpy as np
from gnuradio.mimopack import recording

from . import contract, mutations

MAX_LEN = 4096
_KEYS = ("core:datatype", "core:sample_rate", "core:num_channels", "core:sample_start",
         "core:frequency", "core:datetime", "core:global_index", "core:sample_count",
         "core:header_bytes", "core:trailing_bytes", "core:dataset", "core:metadata_only",
         "core:offset", "core:sha512", "core:description", "core:version", "core:extensions",
         "core:label", "core:comment", "core:freq_lower_edge", "core:freq_upper_edge",
         "core:geolocation", "core:hw", "core:author", "mimopack:sample_rate", "mimopack:mpdus",
         "mimopack:snr_db", "global", "captures", "annotations", "collection")
mutate = mutations.of_json(_KEYS)
# The package sigmf checks its own schema at each call, which takes 40 times as long as all else.
jsonschema.validators.validator_for({}).check_schema = lambda *_, **__: None
_FOLDER = contract.folder()
_FILE = Path(_FOLDER.name, "air.sigmf-meta")
_FILE.with_suffix(".sigmf-data").write_bytes(
    np.random.default_rng(1).integers(0, 256, 4800, np.uint8).tobytes())


def check(data):
    """Metadata is refused with the file's name, or the recording has sane attributes."""
    _FILE.write_bytes(data)
    check_recording(_FILE, data)


def check_recording(path, data):
    """Open a recording and check the contract of recording.Reader."""
    try:
        reader = recording.Reader(path)
    except (ValueError, FileNotFoundError) as error:
        contract.check_error(error, str(path.parent), path.name)
        return
    told = _told(reader)
    if not zlib.crc32(data) % 16:
        assert contract.equal(told, _told(recording.Reader(path)))
    try:
        recording.read_frames(reader.annotations)
    except ValueError as error:
        contract.check_error(error, "mimopack:")


def _told(reader):
    """Check the attributes of a reader and return them."""
    assert reader.num_channels >= 1 and reader.num_samples >= 1
    assert reader.datatype in recording.DATATYPES
    assert _is_rate(reader.sample_rate), reader.sample_rate
    assert _is_frequency(reader.frequency), reader.frequency
    assert isinstance(reader.description, str)
    assert reader.start_time is None or math.isfinite(reader.start_time)
    for text in (reader.description, repr(reader), *reader.notes):
        assert contract.is_shown_safely(text), text
    segments = reader.segments
    starts = [segment.start for segment in segments]
    assert starts[0] == 0 and sorted(set(starts)) == starts and starts[-1] < reader.num_samples
    for segment in segments:
        assert _is_frequency(segment.frequency) and _is_rate(segment.sample_rate), segment
        if segment.time is not None:
            seconds, fraction = segment.time
            assert isinstance(seconds, int) and 0 <= fraction < 1, segment
    count = min(64, reader.num_samples)
    assert reader.read(0, count).shape == (reader.num_channels, count)
    return (reader.num_channels, reader.num_samples, reader.datatype, reader.sample_rate,
            reader.frequency, reader.description, reader.start_time, repr(segments), reader.notes)


def _is_rate(value):
    return value is None or _is_frequency(value) and value > 0


def _is_frequency(value):
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)
                             and math.isfinite(value))


def metadata(**own):
    """Return the metadata of a recording of two channels; ``own`` replaces global values."""
    return {
        "global": {"core:datatype": "ci16_le", "core:version": "1.0.0", "core:num_channels": 2,
                   "core:sample_rate": 20e6, "core:description": "a test",
                   "core:extensions": [{"name": "mimopack", "version": "1.0.0",
                                        "optional": True}], **own},
        "captures": [{"core:sample_start": 0, "core:frequency": 2.412e9,
                      "core:datetime": "2026-01-02T03:04:05.678Z"},
                     {"core:sample_start": 100, "core:frequency": 5.18e9,
                      "core:datetime": "2026-01-02T04:04:06+01:00",
                      "core:global_index": 120, "mimopack:sample_rate": 10e6}],
        "annotations": [{"core:sample_start": 10, "core:sample_count": 50, "core:label": "frame",
                         "mimopack:mpdus": ["00ff", "a1"], "mimopack:snr_db": 12.5}]}


def seeds():
    """Return metadata with everything, and the least metadata."""
    least = {"global": {"core:datatype": "cf32_le", "core:version": "1.0.0"},
             "captures": [], "annotations": []}
    return [json.dumps(one).encode() for one in (metadata(), least)]
