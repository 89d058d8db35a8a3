# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the last seconds of a stream, and write them when asked."""

import os
import threading
from collections import deque

from ..checks import integer, positive
from .packing import Packing
from .recorder import Spans
from .timeline import Timeline
from .writer import Writer, annotation_text

# Bytes of a block at most, and how many blocks the ring has at least.
_BLOCK, _LEAST = 1 << 22, 32
_MOST_ANNOTATIONS = 100_000


class _Block:
    """Packed samples: where they begin in the stream, how many, and how many snapshots hold it."""

    def __init__(self, data):
        self.data = data
        self.start = self.used = self.holders = 0


class Ring:
    """The last seconds of a stream of several channels, in memory.

    Positions are those of the stream, whose first sample is 0 unless ``write`` says another.

    Args:
        num_channels: antennas.
        sample_rate: samples per second until ``timeline`` is told another rate.
        seconds: how much is kept, by this sample rate. Memory: seconds * sample_rate samples of
            the datatype, and as much again while a snapshot is being written.
        datatype, layout: as for ``Writer``.
        frequency: centre frequency in Hz until ``timeline`` is told another one, or None.

    Attributes:
        timeline: ``Timeline`` of the stream; tell it times, frequencies and rates of samples before
            these are written.
        clipped: components that exceeded full scale or were not a number.

    Raises:
        ValueError: an argument is not as above, or the machine has not twice this memory.
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
                f"seconds: got {seconds}, which take {size / 2**30:.1f} GiB and twice that while "
                f"they are written; allowed are up to {most:.3g} on this machine")
        self._block_samples = max(1, min(_BLOCK // self.packing.sample_bytes,
                                         -(-self._length // _LEAST)))
        self.clipped = 0
        self._lock = threading.Lock()
        self._blocks, self._free = deque(), []
        self._annotations = deque(maxlen=_MOST_ANNOTATIONS)
        self._next = self._stream = 0

    def write(self, samples, start=None):
        """Take the stream's next samples.

        Args:
            samples: (num_channels, n) complex, or a sequence of num_channels arrays of n.
            start: position of the first one in the stream, for the first call; None continues.

        Raises:
            ValueError: samples have another shape, or start is not the next position.
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
            # Nobody reads behind "used".
            self.clipped += self.packing.pack([one[taken:taken + size] for one in samples],
                                              block.data, block.used)
            with self._lock:
                block.used += size
                self._next += size
            taken += size
        self.timeline.forget(self._next - self._length - self._block_samples)

    def annotate(self, start, count, **fields):
        """Annotate count samples of the stream from start; from any thread.

        The last 100,000 annotations are kept.

        Raises:
            ValueError: not valid in SigMF.
        """
        text = annotation_text(max(0, start), count, **fields)
        with self._lock:
            self._annotations.append((start, count, text))

    def restart(self):
        """Forget everything: a new stream begins."""
        with self._lock:
            self._blocks.clear()
            self._free.clear()
            self._annotations.clear()
            self._next = 0
            self._stream += 1
            self.timeline.restart()

    def snapshot(self):
        """What the ring holds now, as a ``Snapshot``; None before the first sample.

        No samples are copied. The stream may go on.
        """
        with self._lock:
            first = self._next - self._length
            blocks = [(block, max(0, first - block.start), block.used) for block in self._blocks
                      if block.start + block.used > first and block.used]
            if not blocks:
                return None
            for block, _, _ in blocks:
                block.holders += 1
            annotations = list(self._annotations)
            first = blocks[0][0].start + blocks[0][1]
            segments = self.timeline.cut(first, self._next)
            stream = self._stream
        return Snapshot(self, blocks, segments, annotations, stream)

    def _new_block(self):
        with self._lock:
            # Blocks without a sample that is to be kept; their pages are touched already.
            while self._blocks and (self._blocks[0].start + self._blocks[0].used
                                    <= self._next - self._length):
                self._recycle(self._blocks.popleft())
            block = self._free.pop() if self._free else _Block(
                self.packing.empty(self._block_samples))
            block.start, block.used = self._next, 0
            self._blocks.append(block)
        return block

    def _recycle(self, block):
        if not block.holders and len(self._free) < _LEAST:
            self._free.append(block)

    def _told_since(self, snapshot):
        """The annotations of a snapshot and those that have come since, of the same stream."""
        with self._lock:
            since = self._annotations if snapshot.stream == self._stream else ()
            return list(dict.fromkeys((*snapshot.annotations, *since)))

    def _release(self, blocks):
        with self._lock:
            for block, _, _ in blocks:
                block.holders -= 1


class Snapshot:
    """Samples of a ``Ring``, which stay while this one is not written or dropped.

    Attributes:
        start: position of the first sample in the stream.
        num_samples: per channel.
        segments: list of ``Segment``, in the stream's positions.
        annotations: list of (start, count, text) that were known when it was taken; those that
            come while it is written are added.
        stream: number of the stream, which ``Ring.restart`` counts.
    """

    def __init__(self, ring, blocks, segments, annotations, stream):
        self._ring, self._blocks = ring, blocks
        self.segments, self.annotations, self.stream = segments, annotations, stream
        self.start = blocks[0][0].start + blocks[0][1]
        self.num_samples = sum(stop - start for _, start, stop in blocks)

    def write(self, path, **options):
        """Write a recording, and give the memory back.

        Args:
            path: as of ``Writer``.
            options: description, fields, overwrite and checksum of ``Writer``.

        Returns:
            The path of the metadata or collection file.

        Raises:
            ValueError, FileExistsError: as of ``Writer``.
            OSError: the disk refuses it. What it took is a valid recording.
        """
        try:
            return self.write_to(self.writer(path, **options))
        finally:
            self.drop()

    def writer(self, path, **options):
        """Return the ``Writer`` for a recording; arguments and errors as of :meth:`write`."""
        packing = self._ring.packing
        return Writer(path, packing.num_channels, self.segments[0].sample_rate,
                      datatype=packing.datatype.name, layout=packing.layout, **options)

    def write_to(self, writer):
        """Write the recording through a ``Writer`` of :meth:`writer`, as :meth:`write` does."""
        spans = Spans()
        spans.add(self.start, 0, self.num_samples)
        try:
            with writer:
                writer.captures = spans.captures(self, writer.sample_rate)
                try:
                    for block, start, stop in self._blocks:
                        writer.write_block(block.data, start, stop)
                finally:
                    writer.annotate_later([
                        (spans.place(start, count), text)
                        for start, count, text in self._ring._told_since(self)
                        if self.start <= start
                        and start + count <= self.start + writer.num_samples])
            return writer.path
        finally:
            self.drop()

    def drop(self):
        """Give the memory back without writing."""
        blocks, self._blocks = self._blocks, []
        self._ring._release(blocks)

    def cut(self, start, stop):
        """As of ``Timeline``, for all samples."""
        return self.segments
