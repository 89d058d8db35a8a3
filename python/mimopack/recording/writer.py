# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write SigMF recordings of several channels."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from ..checks import positive
from ..files import replace_file
from . import names
from .annotations import annotation_line, annotation_text
from .metadata import complaint_of
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
        annotations: list of (start, JSON text), see ``annotations.annotation_text``.
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
        self._open(overwrite, checksum)

    @classmethod
    def check(cls, *arguments, **named):
        """Check arguments of a ``Writer``, from num_channels to fields, without writing anything.

        Raises:
            ValueError: an argument is invalid.
            ImportError: the package sigmf is missing.
        """
        cls.__new__(cls)._describe(*arguments, **named)

    def _describe(self, num_channels, sample_rate, datatype="cf32_le", layout="interleaved",
                  frequency=None, description="", datetime=None, fields=None):
        self.packing = Packing(num_channels, datatype, layout)
        self.num_channels, self.layout = self.packing.num_channels, layout
        self.sample_rate = positive("sample_rate", sample_rate)
        self.frequency, self.datetime = frequency, datetime
        self.num_samples = self.clipped = 0
        self.annotations = []
        fields = dict(fields or {})
        extensions = [each for each in fields.get("core:extensions", []) if each != _EXTENSION]
        self._global = {
            "core:version": names.library().__specification__,
            "core:datatype": self.packing.datatype.name, "core:recorder": _RECORDER,
            **({"core:description": description} if description else {}),
            **fields, "core:extensions": [*extensions, _EXTENSION]}
        self.captures = [{"core:sample_start": 0}]
        self._check(self.captures)

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
        self._hashes = [hashlib.sha512() for _ in bases] if checksum else None
        self._bases, self._handles = bases, []
        try:
            for stem in bases:
                # A new file: not another program's, and none that a link leads to. Without a
                # buffer, write() returns the number of bytes that a full disk accepted.
                data = names.with_extension(stem, names.DATA)
                self._handles.append(data.open("xb", buffering=0))
        except OSError:
            self._close()
            raise

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
        """Append samples start to stop - 1 of an array that ``packing.pack`` has filled."""
        for at in range(start, stop, _ROW):
            self._write_row([part[at:min(at + _ROW, stop)] for part in block])

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
        capture = {"core:sample_start": self.num_samples, **fields,
                   **_known(frequency, datetime)}
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
        self.annotations.append((start, annotation_text(start, count, **fields)))

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
        metadata = self._check([capture for capture in self.captures
                                if capture["core:sample_start"] < max(1, self.num_samples)])
        annotations = sorted(self.annotations, key=lambda each: each[0])
        if self.layout == "collection":
            metadata["global"]["core:collection"] = self._base.name
        streams = []
        for index, stem in enumerate(self._bases):
            if self._hashes is not None:
                metadata["global"]["core:sha512"] = self._hashes[index].hexdigest()
            path = names.with_extension(stem, names.META)
            with replace_file(path, follow=False) as file:
                file.write(json.dumps(metadata, indent=4).removesuffix("\n}"))
                file.write(',\n    "annotations": [')
                file.writelines(f"{',' * (number > 0)}\n        {annotation_line(*annotation)}"
                                for number, annotation in enumerate(annotations))
                file.write("\n    ]\n}\n")
            streams.append({"name": stem.name,
                            "hash": hashlib.sha512(path.read_bytes()).hexdigest()})
        if self.layout == "collection":
            shared = {key: value for key, value in self._global.items()
                      if not key.startswith("core:") or key in (
                          "core:version", "core:description", "core:extensions")}
            with replace_file(self.path, follow=False) as file:
                json.dump({"collection": {**shared, "core:streams": streams}}, file, indent=4)
                file.write("\n")

    def _check(self, captures):
        """Return the metadata with these captures; raise ValueError if SigMF does not allow them.
        """
        info = {**self._global, "core:sample_rate": self.sample_rate,
                "core:num_channels": self.num_channels // self.packing.num_files}
        first = _known(self.frequency, self.datetime) | captures[0]
        metadata = {"global": info, "captures": [first, *captures[1:]]}
        try:
            json.dumps(metadata, allow_nan=False)
            complaint = complaint_of(metadata | {"annotations": []})
        except (TypeError, ValueError) as error:
            complaint = str(error)
        if complaint:
            raise ValueError("fields, frequency, datetime, description: not valid in SigMF: "
                             + complaint)
        return metadata

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
        if not self.num_samples and not self.path.exists():    # the disk refused everything
            for handle in self._handles:
                Path(handle.name).unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _known(frequency, datetime):
    """Return the fields of a capture segment that are not None."""
    fields = {"core:frequency": frequency, "core:datetime": datetime}
    return {key: value for key, value in fields.items() if value is not None}


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
