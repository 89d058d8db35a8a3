# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write SigMF recordings of several channels."""

import hashlib
import json
import os
import textwrap
from pathlib import Path

import numpy as np

from ..files import replace_file
from . import names
from .annotations import annotation_text, entry
from .packing import LAYOUTS, Packing

__all__ = ["LAYOUTS", "Writer", "write"]
_RECORDER = "gr-mimopack"
# Fields of this namespace hold receiver parameters and the transmitted data. Readers may ignore
# them.
_EXTENSION = {"name": "mimopack", "version": "0.1.0", "optional": True}
# Samples per conversion step.
_PIECE = 1 << 16
# Samples that are written to all files before the next ones. If the disk is full, the files lose up
# to this many samples, those that only some files got.
_ROW = 1 << 14


class Writer:
    """Write a SigMF recording: samples of several channels in pieces, and the metadata at the end.

    If the disk fails or fills up, or Ctrl-C interrupts a call, the samples written so far stay: all
    datasets are cut to the same length. If the disk refuses the metadata, the datasets stay without
    them, or with those of an earlier save.

    Args:
        path: path of the files without extension (a SigMF extension is removed).
        num_channels: number of channels, 1..1024.
        sample_rate: samples per second.
        datatype: name of the sample format, see ``get_datatype``. Full scale is 1; integer formats
            clip larger values.
        layout: "interleaved" writes all channels into path.sigmf-data, with path.sigmf-meta.
            "collection" writes path-0.sigmf-data, path-0.sigmf-meta and so on with one channel
            each, and path.sigmf-collection.
        frequency: centre frequency in Hz; None writes no ``core:frequency``.
        description: ``core:description``. Say here if the recording is simulated.
        datetime: time of the first sample, ISO 8601 in UTC; None writes no ``core:datetime``.
        fields: dictionary of further global fields, such as {"core:author": "...",
            "core:license": "..."}. The namespace "mimopack" is declared automatically; declare
            others in "core:extensions".
        overwrite: whether to replace files that exist. A symbolic link is replaced, not followed.
        checksum: whether to write ``core:sha512``, which takes about 2 s per GB on one core.

    Attributes:
        path: path of the metadata file or collection file.
        num_samples: number of samples per channel written so far.
        sample_rate: as above; may be set until the metadata is written.
        frequency, datetime: values of the first capture segment; may be set until the metadata is
            written.
        captures: list of the capture segments, dictionaries as in SigMF.
        clipped: number of real and imaginary parts that exceeded full scale or were NaN.

    Raises:
        ValueError: an argument is invalid.
        FileExistsError: a file of the recording exists, or a symbolic link has its name, and
            ``overwrite`` is not set.
        OSError: the files cannot be created.
        ImportError: the package sigmf is missing.
    """

    def __init__(self, path, num_channels, sample_rate, datatype="cf32_le", layout="interleaved",
                 frequency=None, description="", datetime=None, fields=None, overwrite=False,
                 checksum=True):
        self._describe(num_channels, sample_rate, datatype, layout, frequency, description,
                       datetime, fields)
        self._base = names.base(path)
        if not self._base.name:
            raise ValueError(f"path: got {str(path)!r}, must end with the name of a recording")
        self._check(self.captures)
        self._open(overwrite, checksum)

    @classmethod
    def check(cls, num_channels, sample_rate, datatype="cf32_le", layout="interleaved",
              frequency=None, description="", datetime=None, fields=None):
        """Check the arguments of a ``Writer`` without writing anything.

        Raises:
            ValueError: an argument is invalid.
            ImportError: the package sigmf is missing.
        """
        described = cls.__new__(cls)
        described._describe(num_channels, sample_rate, datatype, layout, frequency, description,
                            datetime, fields)
        described._base = Path("checked")
        described._check(described.captures)

    def _describe(self, num_channels, sample_rate, datatype, layout, frequency, description,
                  datetime, fields):
        names.library()
        if int(num_channels) != num_channels or num_channels < 1:
            raise ValueError(f"num_channels: got {num_channels}, must be a whole number from 1")
        if not (np.isfinite(sample_rate) and sample_rate > 0):
            raise ValueError(f"sample_rate: got {sample_rate}, must be positive")
        self.packing = Packing(int(num_channels), datatype, layout)
        self.num_channels, self.layout = self.packing.num_channels, layout
        self.sample_rate = sample_rate
        self.num_samples = self.clipped = 0
        self._hashes = None    # checksums of the datasets
        self._annotations, self._extra = [], []
        self._global = {
            "core:datatype": self.packing.datatype.name, "core:recorder": _RECORDER,
            **(fields or {})}
        if description:
            self._global["core:description"] = description
        self.captures = [{"core:sample_start": 0}]
        self.frequency, self.datetime = frequency, datetime

    @property
    def frequency(self):
        return self.captures[0].get("core:frequency")

    @frequency.setter
    def frequency(self, frequency):
        _put(self.captures[0], "core:frequency", frequency)

    @property
    def datetime(self):
        return self.captures[0].get("core:datetime")

    @datetime.setter
    def datetime(self, datetime):
        _put(self.captures[0], "core:datetime", datetime)

    @property
    def annotations(self):
        """List of the annotations added with :meth:`annotate`, dictionaries as in SigMF."""
        return [entry(start, text) for start, text in self._annotations]

    def _open(self, overwrite, checksum):
        if self.layout == "interleaved":
            bases = [self._base]
        else:
            bases = [self._base.with_name(f"{self._base.name}-{channel}")
                     for channel in range(self.num_channels)]
        self.path = names.with_extension(
            self._base, names.META if self.layout == "interleaved" else names.COLLECTION)
        paths = {self.path, *(names.with_extension(stem, extension) for stem in bases
                              for extension in (names.META, names.DATA))}
        existing = sorted(path for path in paths if os.path.lexists(path))
        if existing and not overwrite:
            kind = "is a symbolic link" if existing[0].is_symlink() else "exists"
            raise FileExistsError(f"path: {existing[0]} {kind}: choose another name, or set "
                                  "overwrite")
        # Delete the old metadata now: it must not describe new samples if the run is interrupted.
        for path in existing:
            path.unlink()
        self._bases, self._handles = bases, []
        for stem in bases:
            # A new file: not another program's, and none that a link leads to. Without a buffer,
            # write() returns the number of bytes that a full disk accepted.
            self._handles.append(names.with_extension(stem, names.DATA).open("xb", buffering=0))
        if checksum:
            self._hashes = [hashlib.sha512() for _ in bases]

    def write(self, samples):
        """Append samples.

        Args:
            samples: (num_channels, n) complex array, or a sequence of num_channels arrays of
                length n.

        Raises:
            ValueError: the samples have another shape.
            OSError: the disk fails or is full; ``num_samples`` counts the samples written.
        """
        samples = self.packing.check(samples)
        count = len(samples[0])
        block = self.packing.empty(min(count, _PIECE))
        for start in range(0, count, _PIECE):
            piece = [channel[start:start + _PIECE] for channel in samples]
            clipped = self.packing.pack(piece, block)
            self.write_block(block, 0, len(piece[0]))
            self.clipped += clipped

    def write_block(self, block, start, stop):
        """Append samples start to stop - 1 of an array that ``packing.pack`` has filled.

        Args:
            block: array from ``packing.empty``.
            start, stop: indices of samples in ``block``.

        Raises:
            OSError: as in :meth:`write`.
        """
        step = max(1, stop - start) if self.packing.num_files == 1 else _ROW
        for at in range(start, stop, step):
            self._write_row([part[at:min(at + step, stop)] for part in block])

    def _write_row(self, row):
        """Append stored samples, an array for each file; keep those that all files took."""
        size = self.packing.sample_bytes // self.packing.num_files
        groups = [memoryview(part).cast("B") for part in row]
        complete, problem = [], None
        for group, handle in zip(groups, self._handles, strict=True):
            done = 0
            try:
                while done < len(group):
                    done += handle.write(group[done:])
            except OSError as error:
                problem = OSError(error.errno, error.strerror, str(handle.name))
            complete.append(done // size)
        whole = min(complete)
        if self._hashes is not None:
            for group, digest in zip(groups, self._hashes, strict=True):
                digest.update(group[:whole * size])
        self.num_samples += whole
        if problem is not None:
            self._cut()
            raise problem

    def _cut(self):
        """Cut all datasets to ``num_samples``, their common length."""
        size = self.packing.sample_bytes // self.packing.num_files
        for handle in self._handles:
            handle.truncate(self.num_samples * size)
            handle.seek(self.num_samples * size)

    def add_capture(self, frequency=None, datetime=None, **fields):
        """Begin a capture segment at the next sample, after a gap or a change of frequency.

        Args:
            frequency: centre frequency in Hz from here on; None writes no ``core:frequency``.
            datetime: time of the next sample, ISO 8601 in UTC; None writes no ``core:datetime``.
            fields: further fields of the segment, such as **{"core:global_index": 5}.

        Raises:
            ValueError: SigMF does not allow the segment.
        """
        capture = {"core:sample_start": self.num_samples, **fields}
        _put(capture, "core:frequency", frequency)
        _put(capture, "core:datetime", datetime)
        self._check([capture])
        # SigMF does not allow a segment without samples.
        self.captures = [*(segment for segment in self.captures
                           if segment["core:sample_start"] < self.num_samples), capture]

    def annotate(self, start, count, **fields):
        """Add an annotation of count samples from start on.

        Args:
            start: position of the first sample.
            count: number of samples.
            fields: fields of the core namespace by their bare names, such as ``label`` and
                ``comment``; fields of other namespaces as **{"mimopack:snr_db": 20.0}.

        Raises:
            ValueError: SigMF does not allow the annotation.
        """
        self._annotations.append((start, annotation_text(start, count, **fields)))

    def annotate_later(self, annotations):
        """Set annotations to write in addition to those of :meth:`annotate`.

        Args:
            annotations: list of (start, text), with text from :func:`.annotations.annotation_text`.
        """
        self._extra = list(annotations)

    def save(self):
        """Put the samples written so far on disk, with their metadata. More samples may follow.

        Raises:
            OSError: the disk fails or is full. The samples stay, see :class:`Writer`.
        """
        if not self._closed:
            self._cut()    # an interrupted write leaves more
            for handle in self._handles:
                os.fsync(handle.fileno())
        # A capture segment may have no samples yet.
        captures = [capture for capture in self.captures
                    if capture["core:sample_start"] < max(1, self.num_samples)]
        annotations = sorted([*self._annotations, *self._extra], key=lambda each: each[0])
        streams = []
        for index, stem in enumerate(self._bases):
            metadata = self._metadata(captures)
            if self._hashes is not None:
                metadata.set_global_field("core:sha512", self._hashes[index].hexdigest())
            metadata.validate()
            path = names.with_extension(stem, names.META)
            _dump(metadata, path, annotations)
            streams.append({"name": stem.name,
                            "hash": hashlib.sha512(path.read_bytes()).hexdigest()})
        if self.layout == "collection":
            collection = names.library().SigMFCollection()
            collection.set_collection_field("core:streams", streams)
            for key, value in self._with_extensions(self._global).items():
                if key in ("core:description", "core:extensions") or not key.startswith("core:"):
                    collection.set_collection_field(key, value)
            _dump(collection, self.path, ())

    def _metadata(self, captures):
        info = {**self._global, "core:sample_rate": self.sample_rate,
                "core:num_channels": self.num_channels if self.layout == "interleaved" else 1}
        if self.layout == "collection":
            info["core:collection"] = self._base.name
        meta = names.library().SigMFFile(global_info=self._with_extensions(info))
        for capture in captures:
            fields = dict(capture)
            meta.add_capture(fields.pop("core:sample_start"), metadata=fields)
        return meta

    def _check(self, captures):
        """Raise ValueError now if the metadata could not be written at the end."""
        try:
            meta = self._metadata(captures)
            meta.validate()
            meta.dumps()
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"fields, frequency, datetime, description: not valid in SigMF: "
                             f"{reason}") from error

    def _with_extensions(self, info):
        declared = list(info.get("core:extensions", []))
        if ((any(key.startswith("mimopack:") for fields in (info, *self.captures) for key in fields)
             or any('"mimopack:' in text for _, text in [*self._annotations, *self._extra]))
                and _EXTENSION["name"] not in [entry["name"] for entry in declared]):
            declared.append(_EXTENSION)
        return {**info, "core:extensions": declared} if declared else dict(info)

    def close(self, save=True):
        """Write the metadata and close the files.

        Args:
            save: whether to write the metadata.

        Raises:
            OSError: as in :meth:`save`.
        """
        try:
            if save and not self._closed:
                self.save()
        finally:
            self._close()

    @property
    def _closed(self):
        return all(handle.closed for handle in self._handles)

    def _close(self):
        for handle in self._handles:
            handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _put(fields, key, value):
    fields.pop(key, None)
    if value is not None:
        fields[key] = value


def _dump(metadata, path, annotations):
    with replace_file(path, follow=False) as file:
        file.writelines(_pieces(metadata, annotations))
        file.write("\n")


def _pieces(metadata, annotations):
    """Yield metadata in the library's format, but annotations one by one to save memory."""
    if not annotations:
        yield metadata.dumps()
        return
    before, _, after = metadata.dumps().rpartition('"annotations": []')
    yield before + '"annotations": ['
    for index, (start, fields) in enumerate(annotations):
        text = json.dumps(entry(start, fields), indent=4, separators=(",", ": "), sort_keys=True)
        yield ("," if index else "") + "\n" + textwrap.indent(text, " " * 8)
    yield "\n    ]" + after


def write(path, samples, sample_rate, **options):
    """Write a whole recording at once; return the path of its metadata or collection file.

    Args:
        path, sample_rate: see ``Writer``.
        samples: (num_channels, n) complex array.
        options: further keyword arguments of ``Writer``.

    Raises:
        ValueError, FileExistsError, OSError: as :class:`Writer` and :meth:`Writer.write`.
    """
    samples = np.asarray(samples)
    if samples.ndim != 2:
        raise ValueError(f"samples: got shape {samples.shape}, must be (num_channels, n)")
    with Writer(path, len(samples), sample_rate, **options) as writer:
        writer.write(samples)
    return writer.path
