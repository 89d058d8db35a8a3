# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load the JSON files of SigMF, and check them against its schema."""

import json
import math
from functools import lru_cache

from ..checks import SMALLEST
from ..text import printable_metadata, shortened
from . import names
from .packing import MOST_CHANNELS
from .timeline import LARGEST_HZ

_TEXT = {"type": "string"}
# Global fields with other limits than in SigMF. The reader itself checks which files it may open.
_OWN_LIMITS = {
    "core:sample_rate": {"type": "number", "minimum": SMALLEST, "maximum": LARGEST_HZ},
    "core:num_channels": {"type": "integer", "minimum": 1, "maximum": MOST_CHANNELS},
    "core:dataset": _TEXT}
# What the reader needs of a Collection. SigMF 1.0 wrote pairs [name, hash]. The schema of the
# package "sigmf" allows nothing else.
_COLLECTION = {"type": "object", "required": ["collection"], "properties": {"collection": {
    "type": "object", "required": ["core:streams"], "properties": {
        "core:description": _TEXT,
        "core:streams": {
            "type": ["array", "string"], "minItems": 1, "maxItems": MOST_CHANNELS, "items": {
                "type": ["object", "array", "string"],
                "required": ["name"], "properties": {"name": _TEXT, "hash": _TEXT},
                "minItems": 1, "maxItems": 2, "items": _TEXT}}}}}}
_LONGEST = 200    # characters of an error's message, which quotes the value


def load_recording(path):
    """Load a metadata file; return {"global": {...}, "captures": [...], "annotations": [...]}.

    All text is printable, and missing global fields have SigMF's defaults. A ValueError names the
    field that is not valid.
    """
    defaults = {"core:version": names.library().__specification__, "core:num_channels": 1,
                "core:offset": 0}
    return _load(path, _recording_validator(), defaults)


def complaint_of(metadata):
    """Return what SigMF does not allow in the metadata of a recording; None if it allows all."""
    error = next(_recording_validator().iter_errors(metadata), None)
    return error and _complaint(error)


def load_collection(path):
    """Load a Collection; return (its object, list of (place, name, hash or None) of the streams).

    All text is printable. The place of a stream is its path in the JSON, for messages.
    """
    names.library()
    collection = _load(path, _collection_validator(), {})["collection"]
    streams = collection["core:streams"]
    named = []
    for index, entry in enumerate([streams] if isinstance(streams, str) else streams):
        if isinstance(entry, dict):
            entry = [entry["name"], entry.get("hash")]
        elif isinstance(entry, str):
            entry = [entry]
        named.append((f"collection.core:streams[{index}]", *[*entry, None][:2]))
    return collection, named


def _load(path, validator, defaults):
    """Return the checked content of a file, with defaults of what is missing in "global"."""
    try:
        loaded = printable_metadata(json.loads(path.read_text(encoding="utf-8")))
        if isinstance(loaded, dict) and isinstance(loaded.get("global"), dict):
            loaded["global"] = defaults | loaded["global"]
        error = next(validator.iter_errors(loaded), None)
    except RecursionError:
        raise ValueError(f"path: {path} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"path: {path} is not JSON ({error})") from error
    if error is not None:
        raise ValueError(f"path: {path}: {_complaint(error)}")
    return loaded


@lru_cache(None)
def _recording_validator():
    schema = names.library().schema.get_schema()
    schema["properties"]["global"]["properties"].update(_OWN_LIMITS)
    return _validator(schema)


@lru_cache(None)
def _collection_validator():
    return _validator(_COLLECTION)


def _validator(schema):
    # The package "sigmf" depends on this one.
    from jsonschema import Draft202012Validator, validators

    # The standard takes 2.0 for an integer, and NaN for a number.
    strict = Draft202012Validator.TYPE_CHECKER.redefine_many({
        "integer": lambda _, value: _is_integer(value),
        "number": lambda _, value: _is_integer(value) or (
            isinstance(value, float) and math.isfinite(value))})
    return validators.extend(Draft202012Validator, type_checker=strict)(schema)


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _complaint(error):
    """Return the place and what is wrong there, from an error of jsonschema."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}"
                    for step in error.absolute_path)
    return f"{place[1:] or 'the object'}: {shortened(error.message, _LONGEST)}"
