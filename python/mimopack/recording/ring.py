# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the last seconds of a stream in memory, and write them on request."""

import os
import threading
from collections import deque

from ..checks import integer, positive
from .annotations import annotation_text
from .packing import Packing
from .timeline import Timeline, captures_of
from .writer import Writer

# Largest size of a block in bytes, and smallest number of blocks in a ring.
_BLOCK, _LEAST = 1 << 22, 32
_MOST_ANNOTATIONS = 100_000


class _Block:
    """Packed samples: ``used`` of them, from the position ``start`` of the stream on."""

    def __init__(self, data, start):
        self.data, self.start, self.used = data, start, 0


class Ring:
    """Keep the last seconds of a stream of several channels in memory.

    All positions are positions in the stream. The first sample has position 0, unless the first
    call of ``write`` gives another position.

    Args:
        num_channels: number of channels, 1..1024.
        sample_rate: samples per second until ``timeline`` gets another rate.
        seconds: duration to keep, in seconds at this sample rate. The ring takes the memory of
            seconds * sample_rate stored samples, and the same amount again while a snapshot is
            written.
        datatype, layout: see ``Writer``.
        frequency: centre frequency in Hz until ``timeline`` gets another one; None if unknown.

    Attributes:
        timeline: ``Timeline`` of the stream. Add the times, frequencies and rates of samples before
            writing these samples.
        clipped: number of real and imaginary parts that exceeded full scale or were NaN.

    Raises:
        ValueError: an argument is invalid, or the machine has less than twice the memory of the
            ring.
    """

    def __init__(self, num_channels, sample_rate, seconds, datatype="cf32_le",
                 layout="interleaved", frequency=None):
        self.packing = Packing(num_channels, datatype, layout)
        self.timeline = Timeline(sample_rate, frequency)
        self._length = max(1, round(positive("seconds", seconds) * sample_rate))
        size = self._length * self.packing.sample_bytes
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if 2 * size > memory:
            most = memory / 2 / self.packing.sample_bytes / sample_rate
            raise ValueError(
                f"seconds: got {seconds}, which needs {size / 2**30:.1f} GiB of memory, and the "
                "same amount again while the samples are written; this machine allows up to "
                f"{most:.3g}")
        self._block_samples = max(1, min(_BLOCK // self.packing.sample_bytes,
                                         -(-self._length // _LEAST)))
        self.clipped = 0
        self._lock = threading.Lock()
        self._snapshots = 0    # not dropped yet
        self.restart()

    def write(self, samples, start=None):
        """Store the next samples of the stream.

        Args:
            samples: as for ``Writer.write``.
            start: position in the stream of the first sample. None continues after the previous
                samples. Only the first call may choose the position.

        Raises:
            ValueError: the samples have another shape, or ``start`` is not the position after the
                previous samples.
        """
        samples = self.packing.check(samples)
        if start is not None and start != self._next:
            if self._blocks:
                raise ValueError(f"start: got {start}, must be {self._next}")
            self._next = integer("start", start, 0, 2**62)
        count, taken = len(samples[0]), 0
        self.timeline.begin(self._next)
        while taken < count:
            block = self._blocks[-1] if self._blocks else None
            if block is None or block.used == self._block_samples:
                block = self._new_block()
            size = min(count - taken, self._block_samples - block.used)
            # No lock needed: nobody reads beyond "used".
            self.clipped += self.packing.pack(
                [channel[taken:taken + size] for channel in samples], block.data, block.used)
            with self._lock:
                block.used += size
                self._next += size
            taken += size
        self.timeline.forget(self._next - self._length - self._block_samples)

    def annotate(self, start, count, **fields):
        """Annotate count samples of the stream from start on. Any thread may call this.

        The ring keeps the last 100,000 annotations. See ``Writer.annotate`` for the arguments.

        Raises:
            ValueError: SigMF does not allow the annotation.
        """
        text = annotation_text(max(0, start), count, **fields)
        with self._lock:
            self._annotations.append((start, count, text))

    def restart(self):
        """Drop all samples and annotations, and begin a new stream at position 0."""
        with self._lock:
            # Snapshots may hold the old ones.
            self._blocks, self._annotations = deque(), deque(maxlen=_MOST_ANNOTATIONS)
            self._next = 0
            self.timeline.restart()

    def snapshot(self):
        """Return the present samples of the ring as a ``Snapshot``; None before the first sample.

        The samples are not copied, and ``write`` may continue meanwhile.
        """
        with self._lock:
            first = self._next - self._length
            blocks = [(block, max(0, first - block.start), block.used) for block in self._blocks
                      if block.start + block.used > first and block.used]
            if not blocks:
                return None
            self._snapshots += 1
            first = blocks[0][0].start + blocks[0][1]
            return Snapshot(self, blocks, self.timeline.cut(first, self._next), self._annotations)

    def _new_block(self):
        with self._lock:
            data = None
            while self._blocks and (self._blocks[0].start + self._blocks[0].used
                                    <= self._next - self._length):
                data = self._blocks.popleft().data
            # Use the memory of an old block again, whose pages exist, if no snapshot holds it.
            if data is None or self._snapshots:
                data = self.packing.empty(self._block_samples)
            self._blocks.append(_Block(data, self._next))
            return self._blocks[-1]

    def _annotations_of(self, snapshot):
        with self._lock:
            return list(snapshot._annotations)

    def _release(self):
        with self._lock:
            self._snapshots -= 1


class Snapshot:
    """Samples of a ``Ring``, kept until the snapshot is written or dropped.

    Attributes:
        start: position in the stream of the first sample.
        num_samples: number of samples per channel.
        segments: list of ``Segment``, at positions in the stream.
        path: the metadata or collection file that ``write`` writes; None before.
        num_written: number of samples per channel that ``write`` has written.
    """

    def __init__(self, ring, blocks, segments, annotations):
        self._ring, self._blocks = ring, blocks
        self.segments, self._annotations = segments, annotations
        self.start = blocks[0][0].start + blocks[0][1]
        self.num_samples = sum(stop - start for _, start, stop in blocks)
        self.path, self.num_written = None, 0

    def write(self, path, **options):
        """Write the samples as a recording and release their memory.

        The recording has the annotations that arrive before the samples are written.

        Args:
            path: see ``Writer``.
            options: description, fields, overwrite and checksum of ``Writer``.

        Returns:
            Path of the metadata or collection file.

        Raises:
            ValueError, FileExistsError, ImportError: see ``Writer``. Another path may be tried.
            OSError: the disk fails or is full. The samples written before form a valid recording.
        """
        packing = self._ring.packing
        writer = Writer(path, packing.num_channels, self.segments[0].sample_rate,
                        datatype=packing.datatype.name, layout=packing.layout, **options)
        self.path = writer.path
        try:
            with writer:
                writer.captures = captures_of(
                    [(segment.start - self.start, segment) for segment in self.segments],
                    writer.sample_rate)
                try:
                    for block, start, stop in self._blocks:
                        writer.write_block(block.data, start, stop)
                finally:
                    self.num_written = writer.num_samples
                    writer.annotations = [
                        (start - self.start, text)
                        for start, count, text in self._ring._annotations_of(self)
                        if self.start <= start
                        and start + count <= self.start + writer.num_samples]
            return writer.path
        finally:
            self.drop()

    def drop(self):
        """Release the memory without writing."""
        if self._blocks:
            self._blocks = []
            self._ring._release()
