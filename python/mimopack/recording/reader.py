# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read SigMF recordings of several channels."""

import hashlib
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..checks import integer, positive
from ..text import printable
from . import names
from .dataset import Dataset, Recording
from .datatypes import get_datatype
from .metadata import load_collection, load_recording
from .packing import MOST_CHANNELS
from .timeline import Segment, later, parse_time


@dataclass(frozen=True)
class _Stream:
    """A metadata file and the dataset that it describes."""

    meta: Path
    metadata: dict
    dataset: Dataset

    @property
    def global_info(self):
        return self.metadata["global"]


class Reader(Recording):
    """A SigMF recording, read in pieces.

    The channels are the ``core:num_channels`` interleaved channels of one dataset, or the channels
    of all streams of a Collection in the order of ``core:streams``.

    Args:
        path: path of the metadata (``.sigmf-meta``), the dataset (``.sigmf-data``) or the
            collection (``.sigmf-collection``), or their common stem.
        verify: whether to compare each dataset with its ``core:sha512``, if it has one. This reads
            the whole dataset.
        datatype, num_channels, sample_rate, frequency: values that replace those in the metadata,
            or None. A collection's number of channels cannot be replaced.
        allow_outside: whether files that belong to the recording may lie in other folders: the
            files that a collection or ``core:dataset`` names, and the dataset beside the metadata.
            Otherwise names in other folders and symbolic links to them are refused, because they
            could lead a recording of someone else to any file. The metadata or collection file
            itself may be a symbolic link; its folder is then that of the file behind it.

    Attributes, beside those of :class:`Recording`:
        segments: list of at least one ``Segment``: the position, time, frequency and sample rate of
            each capture segment. Without ``core:frequency``, the frequency of the first segment is
            ``frequency``, and that of any other segment is None.
        global_info: global metadata of the first stream; the collection's values override it.
        captures, annotations: lists of dictionaries as in SigMF, from the first stream's metadata.
        streams: list of the streams, each a metadata file and its dataset.

    Text from the metadata is printable: control characters become escapes, see ``printable``.

    Raises:
        FileNotFoundError: the recording, one of its streams or a dataset is missing.
        OSError: a file cannot be read.
        ValueError: an argument is invalid, the metadata is not SigMF, it names a file that is not
            allowed, the datatype is not supported, the streams' sample rates differ, a checksum
            differs (``verify``), or there are no samples. For metadata the message names the file
            and the field.
        ImportError: the package sigmf is missing.
    """

    def __init__(self, path, verify=False, datatype=None, num_channels=None, sample_rate=None,
                 frequency=None, allow_outside=False):
        path = names.metadata_file(path)
        if datatype is not None:
            datatype = get_datatype(datatype)
        if num_channels is not None:
            integer("num_channels", num_channels, 1, MOST_CHANNELS)
        if path.suffix == names.COLLECTION:
            if num_channels is not None:
                raise ValueError(f"num_channels: got {num_channels}, but the channels of the "
                                 f"collection {path.name} are its streams")
            collection, named = load_collection(path)
            notes, self.streams = _open_collection(path, named, datatype, allow_outside)
        else:
            collection = {}
            notes, self.streams = [], [_open_stream(path, datatype, num_channels, allow_outside)]
        super().__init__(path, [stream.dataset for stream in self.streams])
        self.notes = notes + self.notes
        if verify:
            for message in self.checksum_errors():
                raise ValueError(f"path: {message}")
        first = self.streams[0]
        self.sample_rate = (self._common_sample_rate() if sample_rate is None
                            else positive("sample_rate", sample_rate))
        self.captures = first.metadata["captures"]
        self.annotations = first.metadata["annotations"]
        self.global_info = {**first.global_info, **collection}
        self.description = self.global_info.get("core:description", "")
        self.frequency = (self._first_frequency() if frequency is None
                          else positive("frequency", frequency))
        self._segments = self._read_segments(frequency, sample_rate)
        time = self._segments[0].time
        self.start_time = None if time is None else time[0] + time[1]

    @property
    def segments(self):
        return list(self._segments)

    def _read_segments(self, frequency, sample_rate):
        """Return the capture segments as ``Segment``; arguments that are not None override."""
        segments, outside = {}, 0
        for capture in self.captures:
            start = capture["core:sample_start"]
            if start >= self.num_samples:
                outside += 1
                continue
            # If several segments start at one sample, the last one applies.
            time = self._optional(capture, "core:datetime", parse_time)
            rate = self._optional(capture, "mimopack:sample_rate",
                                  partial(positive, "mimopack:sample_rate"))
            segments[start] = Segment(start, time, frequency or capture.get("core:frequency"),
                                      sample_rate or rate or self.sample_rate)
        if outside:
            self.notes.append(f"{outside} of {len(self.captures)} capture segments begin after "
                              "the last sample: they are ignored")
        first = segments.get(0)
        if first is None:
            # The time of the first segment also gives the time of the samples before it.
            known = segments[min(segments)] if segments else Segment(0)
            time = (None if known.time is None or not self.sample_rate
                    else later(known.time, -known.start / self.sample_rate))
            first = Segment(0, time, None, sample_rate or self.sample_rate)
        if first.frequency is None:
            first = replace(first, frequency=self.frequency)
        segments[0] = first
        return [segments[start] for start in sorted(segments)]

    def _optional(self, capture, key, read):
        """Return a value of a capture segment; None without one, and with a note if it is wrong."""
        try:
            return read(capture[key]) if key in capture else None
        except ValueError as error:
            self.notes.append(f"{error}: it is ignored")
            return None

    def checksum_errors(self):
        """Yield a text for each dataset whose checksum differs from its ``core:sha512``.

        Datasets without a checksum are not read.
        """
        for stream in self.streams:
            expected = stream.global_info.get("core:sha512")
            if expected and expected.lower() != _sha512(stream.dataset.path):
                yield (f"{stream.dataset.path} does not match {stream.meta.name}: "
                       "its checksum (core:sha512) differs")

    def _first_frequency(self):
        known = [capture["core:frequency"] for capture in self.captures
                 if "core:frequency" in capture]
        if len(set(known)) > 1:
            self.notes.append(f"the frequency changes within the recording ({len(set(known))} "
                              f"values): the first, {known[0] / 1e6:g} MHz, is used throughout")
        return known[0] if known else None

    def _common_sample_rate(self):
        rates = {stream.meta.stem: stream.global_info.get("core:sample_rate")
                 for stream in self.streams}
        if len(set(rates.values())) > 1:
            listed = ", ".join(f"{name}: {rate}" for name, rate in rates.items())
            raise ValueError(f"path: {self.path} joins streams whose sample rates differ "
                             f"({listed}): all must be equal")
        return next(iter(rates.values()))


def _open_collection(path, named, datatype, allow_outside):
    """Open the streams that ``load_collection`` found; return (notes, streams)."""
    notes, streams = [], []
    for place, name, digest in named:
        base = names.base(path.parent / name)
        meta = names.with_extension(base, names.META)
        for file in (meta, names.with_extension(base, names.DATA)):
            _check_place(path, file, place, allow_outside)
        if not meta.is_file():
            raise FileNotFoundError(f"path: {path} names the stream {name!r}, but "
                                    f"there is no file {meta}")
        if digest and digest != _sha512(meta):
            notes.append(f"{meta.name} has changed since the collection was written "
                         "(its hash differs)")
        streams.append(_open_stream(meta, datatype, None, allow_outside))
    return notes, streams


def _check_place(source, path, place, allow_outside):
    """Raise ValueError for a path in metadata that leads to another folder.

    Args:
        source: the metadata file. If it is a link, the folder of the file behind it counts too.
        path: the path, perhaps a symbolic link.
        place: path in the JSON of the name that led to ``path``.
        allow_outside: see :class:`Reader`.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if not allow_outside and folder not in (os.path.dirname(os.path.realpath(source)),
                                            os.path.realpath(source.parent)):
        raise ValueError(f"path: {source}: {place}: {path.name} leads to the folder "
                         f"{printable(folder)}, must be in the same folder; allow_outside permits "
                         "others")


def _open_stream(meta, replaced_datatype, replaced_channels, allow_outside):
    metadata = load_recording(meta)
    info = metadata["global"]
    try:
        datatype = replaced_datatype or get_datatype(info["core:datatype"])
    except ValueError as error:
        raise ValueError(f"path: {meta}: global.core:{error}") from error
    headers = [capture for capture in metadata["captures"] if capture.get("core:header_bytes")]
    if headers or info.get("core:trailing_bytes"):
        raise ValueError(f"path: {meta} describes a dataset with header or trailing bytes, "
                         "allowed are plain samples")
    data = _data_file(meta, info, allow_outside)
    if not data.is_file():
        raise FileNotFoundError(f"path: {meta.name} has no dataset: there is no file {data}")
    channels = replaced_channels or info["core:num_channels"]
    return _Stream(meta, metadata, Dataset(data, datatype, channels))


def _data_file(meta, info, allow_outside):
    if "core:dataset" in info:
        data = meta.parent / info["core:dataset"]
    else:
        data = names.with_extension(names.base(meta), names.DATA)
    _check_place(meta, data, "global.core:dataset", allow_outside)
    return data


def _sha512(path):
    digest = hashlib.sha512()
    with path.open("rb") as handle:
        for piece in iter(lambda: handle.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()
