# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a recording of several channels in either layout."""

import copy
import hashlib

import numpy as np

from . import files
from .datatypes import get_datatype

LAYOUTS = ("interleaved", "collection")
_RECORDER = "gr-mimopack"
# Receiver parameters and truth travel in fields of this namespace; readers may ignore them.
_EXTENSION = {"name": "mimopack", "version": "0.1.0", "optional": True}


class Writer:
    """Write samples of several channels piece by piece, metadata at the end.

    Args:
        path: of the files, without extension (one of SigMF's is taken off). "interleaved"
            makes path.sigmf-data and path.sigmf-meta, "collection" makes path.sigmf-collection
            and path-0.sigmf-data, path-0.sigmf-meta, ... with one channel each.
        num_channels: antennas.
        sample_rate: samples per second.
        datatype: see ``get_datatype``; integers have full scale 1 (what exceeds it is clipped).
        layout: "interleaved" or "collection".
        frequency: centre frequency in Hz; None leaves it out.
        description: ``core:description``. Say so here where a recording is simulated.
        datetime: ``core:datetime`` of the first sample, ISO 8601 in UTC; None leaves it out.
        fields: further global fields, as {"core:author": "...", "core:license": "..."}. The
            namespace "mimopack" is declared by itself, others go into "core:extensions".
        overwrite: replace files that exist.

    Attributes:
        num_samples: written so far, per channel.
        frequency, datetime: as above; may be set until the metadata is written.
        clipped: components that exceeded full scale or were not a number.

    Raises:
        ValueError: a parameter is not as above.
        FileExistsError: the recording exists and ``overwrite`` is not set.
    """

    def __init__(self, path, num_channels, sample_rate, datatype="cf32_le", layout="interleaved",
                 frequency=None, description="", datetime=None, fields=None, overwrite=False):
        files.library()
        if int(num_channels) != num_channels or num_channels < 1:
            raise ValueError(f"num_channels: got {num_channels}, must be a whole number from 1")
        if not (np.isfinite(sample_rate) and sample_rate > 0):
            raise ValueError(f"sample_rate: got {sample_rate}, must be positive")
        if layout not in LAYOUTS:
            raise ValueError(f"layout: got {layout!r}, allowed are {', '.join(LAYOUTS)}")
        self._datatype = get_datatype(datatype)
        self._base = files.base(path)
        self.num_channels = int(num_channels)
        self.layout = layout
        self.num_samples = 0
        self.clipped = 0
        self.annotations = []
        self._global = {
            "core:datatype": self._datatype.name, "core:sample_rate": sample_rate,
            "core:recorder": _RECORDER, **(fields or {})}
        if description:
            self._global["core:description"] = description
        self.frequency = frequency
        self.datetime = datetime
        self._check()
        self._open(overwrite)

    def _open(self, overwrite):
        if self.layout == "interleaved":
            bases = [self._base]
        else:
            bases = [self._base.with_name(f"{self._base.name}-{channel}")
                     for channel in range(self.num_channels)]
        self.path = files.with_extension(
            self._base, files.META if self.layout == "interleaved" else files.COLLECTION)
        names = {self.path, *(files.with_extension(stem, extension) for stem in bases
                              for extension in (files.META, files.DATA))}
        existing = sorted(name for name in names if name.exists())
        if existing and not overwrite:
            raise FileExistsError(f"path: {existing[0]} exists: choose another name, or set "
                                  "overwrite")
        # Old metadata must not describe new samples if the run is broken off.
        for name in existing:
            name.unlink()
        self._bases = bases
        self._handles = [files.with_extension(stem, files.DATA).open("wb") for stem in bases]
        self._hashes = [hashlib.sha512() for _ in bases]

    def write(self, samples):
        """Append samples (num_channels, n) complex."""
        samples = np.asarray(samples)
        if samples.ndim != 2 or len(samples) != self.num_channels:
            raise ValueError(f"samples: got shape {samples.shape}, "
                             f"must be ({self.num_channels}, n)")
        groups = [samples] if self.layout == "interleaved" else samples[:, None]
        for group, handle, digest in zip(groups, self._handles, self._hashes, strict=True):
            components, clipped = self._datatype.encode(group)
            data = np.ascontiguousarray(components).data.cast("B") if components.size else b""
            handle.write(data)
            digest.update(data)
            self.clipped += clipped
        self.num_samples += samples.shape[1]

    def annotate(self, start, count, **fields):
        """Add an annotation of count samples from start.

        Args:
            fields: ``label``, ``comment`` and other fields of the core namespace by their bare
                names; those of other namespaces as **{"mimopack:snr_db": 20.0}.
        """
        self.annotations.append({
            "core:sample_start": int(start), "core:sample_count": int(count),
            **{key if ":" in key else f"core:{key}": value for key, value in fields.items()}})

    def save(self):
        """Write the metadata of what was written so far. Writing may go on."""
        streams = []
        for stem, handle, digest in zip(self._bases, self._handles, self._hashes, strict=True):
            handle.flush()
            meta = self._metadata()
            meta.set_global_field("core:sha512", digest.hexdigest())
            meta.validate()
            path = files.with_extension(stem, files.META)
            _dump(meta, path)
            streams.append({"name": stem.name,
                            "hash": hashlib.sha512(path.read_bytes()).hexdigest()})
        if self.layout == "collection":
            collection = files.library().SigMFCollection()
            collection.set_collection_field("core:streams", streams)
            for key, value in self._with_extensions(self._global).items():
                if key in ("core:description", "core:extensions") or not key.startswith("core:"):
                    collection.set_collection_field(key, value)
            _dump(collection, self.path)

    def _metadata(self):
        info = {**self._global,
                "core:num_channels": self.num_channels if self.layout == "interleaved" else 1}
        if self.layout == "collection":
            info["core:collection"] = self._base.name
        meta = files.library().SigMFFile(global_info=self._with_extensions(info))
        meta.add_capture(0, metadata=self._capture())
        for annotation in sorted(copy.deepcopy(self.annotations),
                                 key=lambda entry: entry["core:sample_start"]):
            meta.add_annotation(annotation.pop("core:sample_start"),
                                annotation.pop("core:sample_count"), metadata=annotation)
        return meta

    def _check(self):
        """Refuse now what would keep the metadata from being written at the end."""
        try:
            meta = self._metadata()
            meta.validate()
            meta.dumps()
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"fields, frequency, datetime, description: not valid in SigMF: "
                             f"{reason}") from error

    def _capture(self):
        known = {"core:frequency": self.frequency, "core:datetime": self.datetime}
        return {key: value for key, value in known.items() if value is not None}

    def _with_extensions(self, info):
        keys = [*info, *(key for annotation in self.annotations for key in annotation)]
        declared = list(info.get("core:extensions", []))
        if (any(key.startswith("mimopack:") for key in keys)
                and _EXTENSION["name"] not in [entry["name"] for entry in declared]):
            declared.append(_EXTENSION)
        return {**info, "core:extensions": declared} if declared else dict(info)

    def close(self):
        """Write the metadata and close the files."""
        if not self._handles[0].closed:
            self.save()
            for handle in self._handles:
                handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _dump(metadata, path):
    # Written beside and renamed, so that a reader never meets half a file.
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="\n") as handle:
        metadata.dump(handle)
        handle.write("\n")
    part.replace(path)


def write(path, samples, sample_rate, **options):
    """Write a whole recording; samples (channels, n), options of ``Writer``. Returns its path."""
    samples = np.asarray(samples)
    if samples.ndim != 2:
        raise ValueError(f"samples: got shape {samples.shape}, must be (channels, n)")
    with Writer(path, len(samples), sample_rate, **options) as writer:
        writer.write(samples)
    return writer.path
