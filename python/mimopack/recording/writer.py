# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write SigMF recordings of several channels."""

import copy
import errno
import hashlib
import json
import os
import textwrap
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from ..files import Replacement
from . import files
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
_FULL = (errno.ENOSPC, errno.EDQUOT)
# How often samples are deleted to make room for metadata on a full disk. If that does not help, the
# disk lacks something else, such as inodes, or another program takes the room.
_CUTS = 2
# Limits of a file system's block in bytes. A network's file system gives the size of a transfer.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 12, 1 << 17


class Writer:
    """Write a SigMF recording: samples of several channels in pieces, and the metadata at the end.

    If the disk fails or fills up, or Ctrl-C interrupts a call, the samples written so far stay: all
    datasets are cut to the same length. If the disk is too full for the metadata, samples at the
    end are deleted to make room, no more than the metadata need, and no more can be written. If
    the disk still refuses the metadata, or for another reason twice, the datasets stay without
    them, and the error names the datasets. Metadata of an earlier save stay as they were. If the
    disk takes no sample, the files are deleted.

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
        error: the OSError for which samples were deleted, to make room for the metadata; None if
            there is none.

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
        self._base = files.base(path)
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

    @property
    def num_samples(self):
        return self._written[0]

    def _describe(self, num_channels, sample_rate, datatype, layout, frequency, description,
                  datetime, fields):
        files.library()
        if int(num_channels) != num_channels or num_channels < 1:
            raise ValueError(f"num_channels: got {num_channels}, must be a whole number from 1")
        if not (np.isfinite(sample_rate) and sample_rate > 0):
            raise ValueError(f"sample_rate: got {sample_rate}, must be positive")
        self.packing = Packing(int(num_channels), datatype, layout)
        self.num_channels, self.layout = self.packing.num_channels, layout
        self.sample_rate = sample_rate
        # (number of samples, checksums of the datasets or None), set in one step: an interrupt
        # between two would leave a checksum of other samples.
        self._written = 0, None
        self._failed, self.error = False, None
        self.clipped = 0
        self._annotations, self._extra = [], []
        self._saved = None    # what the metadata on disk hold, see _content
        self._synced = False    # whether the samples of that save are on disk
        self._cuts = 0    # since the last save
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
        return [entry(*one) for one in self._annotations]

    def _open(self, overwrite, checksum):
        if self.layout == "interleaved":
            bases = [self._base]
        else:
            bases = [self._base.with_name(f"{self._base.name}-{channel}")
                     for channel in range(self.num_channels)]
        self.path = files.with_extension(
            self._base, files.META if self.layout == "interleaved" else files.COLLECTION)
        names = {self.path, *(files.with_extension(stem, extension) for stem in bases
                              for extension in (files.META, files.DATA))}
        existing = sorted(name for name in names if os.path.lexists(name))
        if existing and not overwrite:
            kind = "is a symbolic link" if existing[0].is_symlink() else "exists"
            raise FileExistsError(f"path: {existing[0]} {kind}: choose another name, or set "
                                  "overwrite")
        # Delete the old metadata now: it must not describe new samples if the run is interrupted.
        for name in existing:
            name.unlink()
        self._bases, self._names, self._handles = bases, set(), []
        try:
            for stem in bases:
                data = files.with_extension(stem, files.DATA)
                # A new file: not another program's, and none that a link leads to. Without a
                # buffer, write() returns the number of bytes that a full disk accepted.
                self._handles.append(data.open("xb", buffering=0))
                self._names.add(data)
        except BaseException:
            self.discard()
            raise
        self._names = names
        self._written = 0, [hashlib.sha512() for _ in bases] if checksum else None

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
            piece = [one[start:start + _PIECE] for one in samples]
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
            self._write_row([one[at:min(at + step, stop)] for one in block])

    def _write_row(self, row):
        """Append stored samples, an array for each file; keep those that all files took."""
        if self.error is not None:
            raise self.error
        size = self.packing.sample_bytes // self.packing.num_files
        groups = [memoryview(one).cast("B") for one in row]
        took, error = [], None
        for group, handle in zip(groups, self._handles, strict=True):
            done = 0
            try:
                while done < len(group):
                    done += handle.write(group[done:])
            except OSError as problem:
                error = problem
            took.append(done // size)
        whole = min(took)
        count, hashes = self._written
        if hashes is not None:
            hashes = [digest.copy() for digest in hashes]
            for group, digest in zip(groups, hashes, strict=True):
                digest.update(group[:whole * size])
        self._written = count + whole, hashes
        if error is not None:
            self._failed = True
            self._cut()
            raise error

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
        kept = [one for one in self.captures if one["core:sample_start"] < self.num_samples]
        self.captures = [*kept, capture]

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

        If nothing has changed since the last save, nothing is written. If the disk took no sample,
        the files are deleted instead.

        Raises:
            OSError: the disk fails, or has no room for the metadata, even with fewer samples. The
                samples stay, see :class:`Writer`.
        """
        if self._failed and not self.num_samples:
            return self.discard()
        if (self._synced and self._saved == self._content()
                and all(name.exists() for name in self._names)):
            size = self.num_samples * self.packing.sample_bytes // self.packing.num_files
            if not self._closed and any(os.fstat(handle.fileno()).st_size != size
                                        for handle in self._handles):
                self._cut()    # an interrupted write leaves more
            return
        while True:
            try:
                self._save()
                self._cuts = 0
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                if not self.num_samples and self._saved is None:
                    self.error = error    # the recording ends here
                    self.discard()
                    raise
                if not self._make_room(error):
                    self._failed = True
                    raise self._without_metadata(error) from error

    def _content(self):
        """Return all that the metadata depend on and that may change."""
        captures, annotations = self._kept()
        return self.num_samples, self.sample_rate, copy.deepcopy(captures), annotations

    def _kept(self):
        """Return the capture segments and the annotations of samples that are there."""
        # A capture segment may have no samples yet, or none any more.
        captures = [one for one in self.captures
                    if one["core:sample_start"] < max(1, self.num_samples)]
        # Annotated samples may have been deleted to make room for the metadata.
        extra = [one for one in self._extra if one[0] < self.num_samples]
        return captures, sorted([*self._annotations, *extra], key=lambda one: one[0])

    def _make_room(self, error):
        """Delete samples at the end, as many as take the room of the metadata.

        Returns:
            Whether samples were deleted: no more than a half each time. None are after some
            attempts, if an earlier save holds them, if that frees no block, or if the disk lacks
            inodes.
        """
        if self._closed or self._cuts == _CUTS:
            return False
        file = self._handles[0].fileno()
        disk = os.fstatvfs(file)
        # Some file systems do not count inodes, others make them from free blocks.
        if disk.f_files and not disk.f_favail and disk.f_bavail > len(self._bases):
            return False
        block = min(max(os.fstat(file).st_blksize, _SMALLEST_BLOCK), _LARGEST_BLOCK)
        # A file takes up to a block more than its bytes, and deleted samples may free one less.
        room = 2 * block * (len(self._bases) + 1) + self._metadata_bytes()
        kept = max(self.num_samples - -(-room * (1 << self._cuts) // self.packing.sample_bytes),
                   self.num_samples // 2, 0 if self._saved is None else self._saved[0])
        size = self.packing.sample_bytes // self.packing.num_files
        if -(-kept * size // block) == -(-self.num_samples * size // block):
            return False
        self.error = error    # the recording ends here
        self._cuts += 1
        self._written = kept, None    # checksums would include the samples that are cut off
        return True

    def _without_metadata(self, error):
        """Return the error to raise for metadata that could not be written."""
        datasets = ", ".join(files.with_extension(stem, files.DATA).name for stem in self._bases)
        told = (f"without metadata stay {datasets}" if self._saved is None else
                f"the metadata stay as they were, for {self._saved[0]} samples")
        return OSError(error.errno, f"{error.strerror}; {told}", error.filename or str(self.path))

    def discard(self):
        """Close the files and delete the recording."""
        self._close()
        for name in self._names:
            with suppress(OSError):
                name.unlink()
        self._names = set()    # the names may soon belong to another recording
        self._written, self._failed = (0, None), True

    def _save(self):
        problem = None if self._closed else self._sync()
        try:
            self._save_metadata()
        except OSError as error:
            if error.errno in _FULL:
                raise
            try:
                self._save_metadata()
            except OSError as again:
                if again.errno in _FULL:
                    raise
                raise self._without_metadata(again) from again
        self._saved, self._synced = self._content(), problem is None
        if problem is not None:
            raise problem

    def _sync(self):
        """Put the samples on disk. Return the error of a dataset, which still needs metadata."""
        self._cut()    # an interrupted write leaves more
        problem = None
        for handle in self._handles:
            try:
                os.fsync(handle.fileno())
            except OSError as error:
                if error.errno in _FULL:
                    raise
                problem = error
        return problem

    def _save_metadata(self):
        """Write all metadata; no file gets its name before all are complete."""
        with ExitStack() as stack:
            parts, streams = [], []

            def dump(path, metadata, annotations):
                with _naming(path):
                    parts.append(stack.enter_context(Replacement(path, follow=False)))
                    with parts[-1].part.open("w", encoding="utf-8", newline="\n") as handle:
                        _dump_to(metadata, handle, annotations)
                        handle.write("\n")

            for path, metadata, annotations in self._all_metadata(streams):
                dump(path, metadata, annotations)
                streams.append({"name": files.base(path).name, "hash": hashlib.sha512(
                    parts[-1].part.read_bytes()).hexdigest()})
            for step in Replacement.sync, Replacement.finish:
                for part in parts:
                    with _naming(part.path):
                        step(part)

    def _all_metadata(self, streams):
        """Yield path, metadata and annotations of each file; streams are those before."""
        hashes = self._written[1]
        captures, annotations = self._kept()
        for index, stem in enumerate(self._bases):
            meta = self._metadata(captures)
            if hashes is not None:
                meta.set_global_field("core:sha512", hashes[index].hexdigest())
            meta.validate()
            yield files.with_extension(stem, files.META), meta, annotations
        if self.layout == "collection":
            collection = files.library().SigMFCollection()
            collection.set_collection_field("core:streams", list(streams))
            for key, value in self._with_extensions(self._global).items():
                if key in ("core:description", "core:extensions") or not key.startswith("core:"):
                    collection.set_collection_field(key, value)
            yield self.path, collection, ()

    def _metadata_bytes(self):
        """Return the size of all metadata files together."""
        streams = [{"name": stem.name, "hash": "0" * 128} for stem in self._bases]
        return sum(len(piece.encode()) for _, *told in self._all_metadata(streams)
                   for piece in _pieces(*told))

    def _metadata(self, captures):
        info = {**self._global, "core:sample_rate": self.sample_rate,
                "core:num_channels": self.num_channels if self.layout == "interleaved" else 1}
        if self.layout == "collection":
            info["core:collection"] = self._base.name
        meta = files.library().SigMFFile(global_info=self._with_extensions(info))
        for capture in captures:
            told = dict(capture)
            meta.add_capture(told.pop("core:sample_start"), metadata=told)
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
        if ((any(key.startswith("mimopack:") for told in (info, *self.captures) for key in told)
             or any('"mimopack:' in text for _, text in [*self._annotations, *self._extra]))
                and _EXTENSION["name"] not in [entry["name"] for entry in declared]):
            declared.append(_EXTENSION)
        return {**info, "core:extensions": declared} if declared else dict(info)

    def close(self, save=True):
        """Write the metadata and close the files.

        Args:
            save: whether to write the metadata.

        Raises:
            OSError: as in :meth:`save`; or samples were deleted, to make room for the metadata, and
                no earlier call has raised that the disk is full.
        """
        try:
            if save and not self._closed:
                self.save()
                if self.error is not None and not self._failed:
                    self._failed = True
                    raise self.error
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


def _put(told, key, value):
    told.pop(key, None)
    if value is not None:
        told[key] = value


@contextmanager
def _naming(path):
    """Context manager: give an OSError the name of a file; a failed write knows none."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _dump_to(metadata, handle, annotations):
    handle.writelines(_pieces(metadata, annotations))


def _pieces(metadata, annotations):
    """Yield metadata in the library's format, but annotations one by one to save memory."""
    if not annotations:
        yield metadata.dumps()
        return
    before, _, after = metadata.dumps().rpartition('"annotations": []')
    yield before + '"annotations": ['
    for index, one in enumerate(annotations):
        text = json.dumps(entry(*one), indent=4, separators=(",", ": "), sort_keys=True)
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
