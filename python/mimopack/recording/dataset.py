# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files of interleaved samples; the base class of all recordings."""

import os
import weakref

import numpy as np

from .timeline import Segment

# Bytes per reading step: more are no faster, and take more memory.
_PIECE = 1 << 20


class Dataset:
    """One file of samples.

    The file is read rather than mapped: if it is cut meanwhile, an access to mapped memory would
    end the process.

    Attributes:
        path: path of the file.
        datatype: ``Datatype`` of the samples.
        num_channels: number of channels interleaved in the file.
        note: a warning if the file ends within a sample, else "".

    ``len`` is the number of samples per channel when the file was opened.
    """

    def __init__(self, path, datatype, num_channels):
        self.path, self.datatype, self.num_channels = path, datatype, num_channels
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self._sample_bytes = 2 * num_channels * datatype.component.itemsize
        self._count, surplus = divmod(os.fstat(self._file).st_size, self._sample_bytes)
        self.note = (f"{path.name} ends within a sample: its last "
                     + ("byte is" if surplus == 1 else f"{surplus} bytes are") + " left out"
                     if surplus else "")

    def __len__(self):
        return self._count

    def read(self, start, count, out):
        """Read samples start to start + count - 1 of the file into a complex64 array per channel.
        """
        step = max(1, _PIECE // self._sample_bytes)
        stored = np.empty((min(step, count), self.num_channels, 2), self.datatype.component)
        for first in range(0, count, step):
            part = stored[:count - first]
            self._fill(part.reshape(-1).view(np.uint8), (start + first) * self._sample_bytes)
            self.datatype.decode(part, [channel[first:first + len(part)] for channel in out])

    def _fill(self, out, offset):
        """Fill an array with the file's bytes from an offset on."""
        while len(out):
            sample = offset // self._sample_bytes
            try:
                done = os.preadv(self._file, [out], offset)
            except OSError as error:
                raise OSError(error.errno, f"{error.strerror} at sample {sample}",
                              str(self.path)) from error
            if not done:
                raise OSError(f"{self.path} ends at sample {sample}: it had {len(self)} samples "
                              "when it was opened")
            out, offset = out[done:], offset + done


class Recording:
    """Base class of recordings: samples of several channels in one or several datasets.

    Attributes:
        path: path of the file that was opened.
        num_channels: number of channels in all datasets together.
        num_samples: number of samples per channel of the shortest dataset.
        sample_rate: samples per second; None if unknown.
        frequency: centre frequency in Hz; None if unknown.
        datatype: SigMF name (``core:datatype``) of the first dataset's sample format.
        description: the recording's own description, printable; "" if it has none.
        start_time: time of the first sample in seconds since 1970 (UTC); None if unknown.
        segments: list of ``Segment``.
        notes: list of problems that were found and worked around, one sentence each.

    Raises:
        ValueError: the datasets hold no samples.
    """

    def __init__(self, path, datasets):
        self.path = path
        self.notes = [dataset.note for dataset in datasets if dataset.note]
        self._datasets = datasets
        self.num_channels = sum(dataset.num_channels for dataset in datasets)
        self.num_samples = self._common_length()
        self.datatype = datasets[0].datatype.name
        self.sample_rate = self.frequency = None
        self.description = ""
        self.start_time = None

    @property
    def segments(self):
        """List of ``Segment``. A segment begins at each gap or change of frequency or rate."""
        return [Segment(0, None, self.frequency, self.sample_rate)]

    def __repr__(self):
        return (f"{type(self).__name__}({str(self.path)!r}: {self.num_channels} channels of "
                f"{self.num_samples} samples, {self.datatype})")

    def _common_length(self):
        lengths = [len(dataset) for dataset in self._datasets]
        if len(set(lengths)) > 1:
            listed = ", ".join(f"{dataset.path.stem} has {length}"
                               for dataset, length in zip(self._datasets, lengths, strict=True))
            self.notes.append(f"streams differ in length ({listed} samples): "
                              f"only the first {min(lengths)} samples of each are used")
        if not min(lengths):
            raise ValueError(f"path: {self.path} holds no samples")
        return min(lengths)

    @property
    def largest(self):
        """Largest real or imaginary part that the sample format can hold, with full scale 1.

        None for floating point.
        """
        return self._datasets[0].datatype.largest

    def read(self, start=0, count=None, out=None):
        """Read samples of all channels.

        Args:
            start: index of the first sample, from 0.
            count: number of samples per channel; None reads to the end.
            out: sequence of contiguous complex64 arrays of ``count`` samples to fill, one for each
                channel; None makes a new array.

        Returns:
            ``out``, or a complex64 array (num_channels, count). Integer formats are scaled so that
            full scale is 1.

        Raises:
            ValueError: the samples are not all inside the recording.
            OSError: a file cannot be read, or was cut after it was opened. The message names the
                file and the sample.
        """
        if count is None:
            count = self.num_samples - start
        if start < 0 or count < 0 or start + count > self.num_samples:
            raise ValueError(f"start, count: got {start}, {count}, must lie within the "
                             f"{self.num_samples} samples of {self.path}")
        if out is None:
            out = np.empty((self.num_channels, count), np.complex64)
        first = 0
        for dataset in self._datasets:
            channels = dataset.num_channels
            dataset.read(start, count, out[first:first + channels])
            first += channels
        return out

    def pieces(self, length):
        """Yield the recording as complex64 arrays (num_channels, n), with n up to ``length``.

        Raises:
            OSError: as :meth:`read`.
        """
        for start in range(0, self.num_samples, length):
            yield self.read(start, min(length, self.num_samples - start))
