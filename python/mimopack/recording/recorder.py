# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a live stream that must not wait for the disk, with gaps, times and annotations."""

import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from queue import LifoQueue

from ..checks import choice, integer, number
from .annotations import annotation_text
from .timeline import Timeline, captures_of

# What to do if the disk is too slow.
OVERLOADS = ("wait", "drop")
# Bytes per write to the disk.
_BLOCK = 1 << 22
_MOST_ANNOTATIONS = 1_000_000


class Spans:
    """Map sample positions of a stream to sample positions of its recording."""

    def __init__(self):
        self._spans = []    # (position in the stream, position in the recording, length)

    def __bool__(self):
        return bool(self._spans)

    def add(self, start, place, count):
        """Add count samples, at position ``start`` of the stream and ``place`` of the recording."""
        if self._spans:
            first, at, length = self._spans[-1]
            if (start, place) == (first + length, at + length):
                self._spans[-1] = (first, at, length + count)
                return
        self._spans.append((start, place, count))

    def place(self, start, count):
        """Return the position in the recording of count samples of the stream.

        Args:
            start: position in the stream of the first sample.
            count: number of samples.

        Returns:
            Position of the first sample; None if the recording does not hold all samples without a
            gap.
        """
        index = bisect_right(self._spans, start, key=lambda span: span[0]) - 1
        if index < 0:
            return None
        first, at, length = self._spans[index]
        return at + start - first if start + count <= first + length else None

    def captures(self, timeline, sample_rate):
        """Return the capture segments of the recording, see ``timeline.captures_of``."""
        return captures_of([(at + segment.start - first, segment)
                            for first, at, length in self._spans
                            for segment in timeline.cut(first, first + length)], sample_rate)


class Recorder:
    """Write a stream to disk from a separate thread.

    ``write`` converts the samples in the calling thread and hands them to the disk thread in blocks
    of about 4 MB. If the disk is slower than the stream and ``buffer_mib`` is full, ``write``
    either waits for room, or drops samples until half of the buffer is free again. Dropped samples
    are counted. The samples after them begin a new capture segment with their own time.

    All positions are positions in the stream: ``write``, ``annotate`` and the methods of
    ``timeline`` count every sample, recorded or not.

    Args:
        writer: ``Writer``. Its frequency and datetime apply until ``timeline`` gets other values.
        overload: what ``write`` does if the buffer is full: "wait" for room, or "drop" samples.
        buffer_mib: memory for samples that wait for the disk, in MiB, 16..1048576.

    Attributes:
        writer: as above.
        timeline: ``Timeline`` of the stream. Add the times, frequencies and rates of samples before
            writing these samples.
        clipped: number of real and imaginary parts that exceeded full scale or were NaN.
        num_samples: number of samples per channel accepted for writing.
        dropped: number of samples per channel that were not written.
        drops: number of times that dropping began.
        annotations_left_out: number of annotations that the last ``save`` did not write, because
            their samples are not in the recording or there are more than a million annotations.
        error: exception that ended the recording, such as an OSError of the disk; None if there is
            none.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, writer, overload="wait", buffer_mib=256):
        self.overload = choice("overload", overload, OVERLOADS)
        if not 16 <= number("buffer_mib", buffer_mib) <= 1 << 20:
            raise ValueError(f"buffer_mib: got {buffer_mib}, allowed are 16 to {1 << 20}")
        self.writer, self.packing = writer, writer.packing
        self.timeline = Timeline(writer.sample_rate, writer.frequency)
        self.clipped = self.drops = self._dropped = 0
        self.annotations_left_out = 0
        self.error, self._raised = None, False
        self._block_samples = max(1, _BLOCK // self.packing.sample_bytes)
        most = max(2, int(buffer_mib * 2**20) // (self._block_samples * self.packing.sample_bytes))
        self._most_blocks = most
        self._disk = ThreadPoolExecutor(1, "recorder")
        # Blocks that are free, the last used one first; None for those that do not exist yet.
        self._spare = LifoQueue()
        for _ in range(most):
            self._spare.put(None)
        # write and save hold _busy throughout; _lock protects the annotations and the spans.
        self._busy, self._lock = threading.RLock(), threading.Lock()
        self._block, self._used = None, 0
        self._dropping, self._closed = False, False
        self.num_samples, self._next = 0, 0
        self._spans = Spans()
        self._annotations, self._num_annotations = [], 0
        # What _resolve() returned for the streams before the last restart.
        self._ended = []

    @property
    def dropped(self):
        missing = 0 if self.error is None else self.num_samples - self.writer.num_samples
        return self._dropped + missing

    def write(self, samples, start=None):
        """Record the next samples of the stream.

        Args:
            samples: as for ``Writer.write``.
            start: position in the stream of the first sample. None continues after the previous
                samples; a later position leaves a gap.

        Returns:
            Number of samples per channel accepted: n, or fewer if samples were dropped.

        Raises:
            ValueError: the samples have another shape, ``start`` is before the end of the previous
                samples, or the recorder is closed.
            OSError: a disk error has ended the recording (overload "wait"). With overload "drop",
                further samples are dropped instead, and ``error`` holds the exception.
        """
        with self._busy:
            return self._write(self.packing.check(samples), start)

    def _write(self, samples, start):
        if self._closed:
            raise ValueError("samples: the recorder is closed")
        if start is None:
            start = self._next
        elif integer("start", start, 0, 2**62) < self._next and self._spans:
            raise ValueError(f"start: got {start}, must not be before {self._next}")
        count, taken = len(samples[0]), 0
        self.timeline.begin(start)
        self._next = start + count
        try:
            while taken < count and self._has_room():
                size = min(count - taken, self._block_samples - self._used)
                self.clipped += self.packing.pack(
                    [channel[taken:taken + size] for channel in samples], self._block, self._used)
                with self._lock:
                    self._spans.add(start + taken, self.num_samples, size)
                self.num_samples += size
                self._used += size
                taken += size
                if self._used == self._block_samples:
                    self._hand_over()
        finally:
            self._dropped += count - taken
        self._raise_error()
        return taken

    def annotate(self, start, count, **fields):
        """Annotate count samples of the stream from start on. Any thread may call this.

        The samples may be written later. ``save`` does not write the annotation if the recording
        does not hold all of these samples without a gap.

        Args:
            start: position in the stream of the first sample.
            count: number of samples.
            fields: see ``Writer.annotate``.

        Raises:
            ValueError: SigMF does not allow the annotation.
        """
        # An annotated frame may have begun before the stream.
        text = annotation_text(max(0, start), count, **fields)
        with self._lock:
            self._num_annotations += 1
            if self._num_annotations <= _MOST_ANNOTATIONS:
                self._annotations.append((start, count, text))

    def restart(self):
        """Begin a new stream, whose positions restart from 0.

        The recording continues with a new capture segment.
        """
        with self._busy:
            self.flush()
            with self._lock:
                self._ended.append(self._resolve())
                self._spans, self._annotations = Spans(), []
            self._next = 0
            self._dropping = False
            self.timeline.restart()

    def flush(self):
        """Wait until all accepted samples are on disk."""
        with self._busy:
            self._hand_over()
            if not self._closed:
                self._disk.submit(int).result()    # the thread does one after the other

    def save(self):
        """Write all samples and the metadata. More samples may follow.

        Raises:
            OSError: the metadata cannot be written.
        """
        with self._busy:
            self.flush()
            with self._lock:
                captures, annotations = map(list, map(chain.from_iterable, zip(
                    *self._ended, self._resolve(), strict=True)))
                self.annotations_left_out = self._num_annotations - len(annotations)
            if captures:
                self.writer.captures = captures
            self.writer.annotations = annotations
            self.writer.clipped = self.clipped
            self.writer.save()

    def _raise_error(self):
        if self.error is not None and self.overload == "wait":
            self._raised = True
            raise self.error

    def close(self):
        """Write all samples and the metadata, end the thread and close the files.

        Raises:
            OSError: the metadata cannot be written, or a disk error has ended the recording and
                ``write`` has not raised it (overload "wait").
        """
        if self._closed:
            return
        try:
            self.save()
        finally:
            self._closed = True
            self._disk.shutdown()
            self.writer.close(save=False)
        if not self._raised:
            self._raise_error()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _resolve(self):
        """Return the stream's captures and annotations at recording positions."""
        stop = self.writer.num_samples
        if self._spans and not any(captures for captures, _ in self._ended):
            self.writer.sample_rate = self.timeline.segments[0].sample_rate
        captures = [
            capture for capture in self._spans.captures(self.timeline, self.writer.sample_rate)
            if capture["core:sample_start"] < stop]
        placed = [(self._spans.place(start, count), count, text)
                  for start, count, text in self._annotations]
        return captures, [(place, text) for place, count, text in placed
                          if place is not None and place + count <= stop]

    def _has_room(self):
        """Return whether the current block has room; get a new block if there is none."""
        if self._block is None:
            spare = self._spare.qsize()
            if self.overload == "drop" and (
                    not spare or self._dropping and 2 * spare < self._most_blocks):
                self.drops += not self._dropping
                self._dropping = True
                return False
            self._block = self._spare.get()
            if self._block is None:
                self._block = self.packing.empty(self._block_samples)
            self._dropping, self._used = False, 0
        return self.error is None

    def _hand_over(self):
        """Give the current block, full or not, to the disk thread."""
        block, self._block = self._block, None
        if block is not None:
            self._disk.submit(self._store, block, self._used)

    def _store(self, block, used):
        try:
            if self.error is None:
                self.writer.write_block(block, 0, used)
        except Exception as error:
            self.error = error
        finally:
            self._spare.put(block)
