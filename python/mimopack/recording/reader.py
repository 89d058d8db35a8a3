# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a recording of several channels, whichever way its files hold them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import files
from .datatypes import Datatype, get_datatype


@dataclass(frozen=True)
class _Stream:
    """One dataset, mapped into memory: components (samples, channels, 2)."""

    meta: Path
    metadata: dict
    datatype: Datatype
    components: np.ndarray
    note: str

    @property
    def global_info(self):
        return self.metadata["global"]


class Reader:
    """A SigMF recording, mapped into memory and read in pieces.

    Channels are those of ``core:num_channels`` interleaved in one dataset, or those of all
    streams of a Collection, one after another in the order of ``core:streams``.

    Args:
        path: of the metadata (``.sigmf-meta``), the dataset (``.sigmf-data``), the collection
            (``.sigmf-collection``), or what these names begin with.
        verify: compare datasets with ``core:sha512`` where they have it (reads all of them).

    Attributes:
        path: the metadata or collection file.
        num_channels, num_samples: samples are those of the shortest stream.
        sample_rate, frequency: Hz, None where the metadata does not say.
        datatype: ``core:datatype`` of the first stream.
        global_info: the global metadata of the first stream, over it that of the collection.
        captures, annotations: lists of dictionaries, of the first stream.
        notes: what was found amiss and worked around, one sentence each.

    Raises:
        FileNotFoundError: the recording, one of its streams or a dataset is missing.
        ValueError: metadata that is not SigMF, a datatype that is not supported, sample rates
            that differ, a checksum that does not fit (``verify``), or no samples at all.
    """

    def __init__(self, path, verify=False):
        self.path = files.metadata_file(path)
        self.notes = []
        if self.path.suffix == files.COLLECTION:
            collection = _load(self.path).get("collection")
            if not isinstance(collection, dict):
                raise ValueError(f"path: {self.path} is not a SigMF collection: it has no object "
                                 "'collection'")
            self._streams = self._open_collection(collection)
        else:
            collection = {}
            self._streams = [_open_stream(self.path)]
        self.notes += [stream.note for stream in self._streams if stream.note]
        if verify:
            for stream in self._streams:
                _verify(stream)
        first = self._streams[0]
        self.num_channels = sum(stream.components.shape[1] for stream in self._streams)
        self.num_samples = self._common_length()
        self.sample_rate = self._common_sample_rate()
        self.datatype = first.datatype.name
        self.captures = first.metadata.get("captures", [])
        self.annotations = first.metadata.get("annotations", [])
        self.global_info = {**first.global_info, **collection}
        self.frequency = next((capture["core:frequency"] for capture in self.captures
                               if "core:frequency" in capture), None)

    def __repr__(self):
        return (f"Reader({str(self.path)!r}: {self.num_channels} channels of "
                f"{self.num_samples} samples, {self.datatype})")

    def _open_collection(self, collection):
        entries = collection.get("core:streams") or []
        if not entries:
            raise ValueError(f"path: {self.path} names no streams (core:streams)")
        streams = []
        for entry in entries:
            # Version 1.0 of SigMF wrote pairs [name, hash].
            name, digest = ((entry.get("name"), entry.get("hash")) if isinstance(entry, dict)
                            else (list(entry) + [None])[:2])
            meta = files.with_extension(files.base(self.path.parent / str(name)), files.META)
            if not meta.is_file():
                raise FileNotFoundError(f"path: {self.path} names the stream {name!r}, "
                                        f"there is no file {meta}")
            if digest and digest != _sha512(meta):
                self.notes.append(f"{meta.name} has changed since the collection was written "
                                  "(its hash differs)")
            streams.append(_open_stream(meta))
        return streams

    def _common_length(self):
        lengths = [len(stream.components) for stream in self._streams]
        if len(set(lengths)) > 1:
            listed = ", ".join(f"{stream.meta.stem} has {length}"
                               for stream, length in zip(self._streams, lengths, strict=True))
            self.notes.append(f"streams differ in length ({listed} samples): "
                              f"only the common {min(lengths)} samples are used")
        if not min(lengths):
            raise ValueError(f"path: {self.path} holds no samples")
        return min(lengths)

    def _common_sample_rate(self):
        rates = {stream.meta.stem: stream.global_info.get("core:sample_rate")
                 for stream in self._streams}
        if len(set(rates.values())) > 1:
            listed = ", ".join(f"{name}: {rate}" for name, rate in rates.items())
            raise ValueError(f"path: {self.path} joins streams whose sample rates differ "
                             f"({listed}): all must be equal")
        return next(iter(rates.values()))

    def read(self, start=0, count=None, out=None):
        """Read a piece.

        Args:
            start: first sample, from 0.
            count: samples per channel; None reads to the end.
            out: optional complex64 arrays of count samples each, one for each channel.

        Returns:
            (num_channels, count) complex64 (or out). Integer formats are scaled so that full
            scale is 1.

        Raises:
            ValueError: the piece is not inside the recording.
        """
        if count is None:
            count = self.num_samples - start
        if start < 0 or count < 0 or start + count > self.num_samples:
            raise ValueError(f"start, count: got {start}, {count}, must lie within the "
                             f"{self.num_samples} samples of {self.path}")
        if out is None:
            out = np.empty((self.num_channels, count), np.complex64)
        first = 0
        for stream in self._streams:
            channels = stream.components.shape[1]
            stream.datatype.decode(stream.components[start:start + count],
                                   out[first:first + channels])
            first += channels
        return out

    def pieces(self, length):
        """Yield the recording in pieces (num_channels, up to length)."""
        for start in range(0, self.num_samples, length):
            yield self.read(start, min(length, self.num_samples - start))


def _load(path):
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"path: {path} is not JSON ({error})") from error
    if not isinstance(loaded, dict):
        raise ValueError(f"path: {path} is not SigMF metadata")
    return loaded


def _open_stream(meta):
    metadata = _load(meta)
    if not isinstance(metadata.get("global"), dict):
        raise ValueError(f"path: {meta} is not SigMF metadata: it has no object 'global'")
    library = files.library()
    try:
        # The library fills in what SigMF has defaults for, and knows the schema.
        signal = library.SigMFFile(metadata=metadata)
        signal.validate()
    except Exception as error:
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise ValueError(f"path: {meta} is not valid SigMF metadata: {reason}") from error
    info = signal.get_global_info()
    datatype = info["core:datatype"]
    try:
        datatype = get_datatype(datatype)
    except ValueError as error:
        raise ValueError(f"path: {meta.name}: {error}") from error
    headers = [capture for capture in signal.get_captures() if capture.get("core:header_bytes")]
    if headers or info.get("core:trailing_bytes"):
        raise ValueError(f"path: {meta} describes a dataset with header or trailing bytes, "
                         "allowed are plain samples")
    data = _dataset(meta, info)
    if not data.is_file():
        raise FileNotFoundError(f"path: {meta.name} has no dataset: there is no file {data}")
    channels = info["core:num_channels"]
    sample_bytes = 2 * channels * datatype.component.itemsize
    count, surplus = divmod(data.stat().st_size, sample_bytes)
    note = (f"{data.name} ends within a sample: its last {surplus} bytes are left out"
            if surplus else "")
    shape = (count, channels, 2)
    components = (np.memmap(data, datatype.component, mode="r", shape=shape) if count
                  else np.empty(shape, datatype.component))
    return _Stream(meta, {**metadata, "global": info}, datatype, components, note)


def _dataset(meta, info):
    if "core:dataset" in info:
        return meta.with_name(info["core:dataset"])
    return files.with_extension(files.base(meta), files.DATA)


def _sha512(path):
    digest = hashlib.sha512()
    with path.open("rb") as handle:
        for piece in iter(lambda: handle.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def _verify(stream):
    expected = stream.global_info.get("core:sha512")
    data = _dataset(stream.meta, stream.global_info)
    if expected and expected.lower() != _sha512(data):
        raise ValueError(f"path: {data} is not what {stream.meta.name} describes: "
                         "its checksum (core:sha512) differs")
