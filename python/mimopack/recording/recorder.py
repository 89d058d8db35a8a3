# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a stream that may not wait for the disk, with its gaps, times and annotations."""

import threading
from bisect import bisect_right
from collections import deque

from ..checks import choice, integer, number
from .timeline import Timeline, captures_of
from .writer import annotation_text

OVERLOADS = ("wait", "drop")
# Bytes that are given to the disk at a time.
_BLOCK = 1 << 22
_MOST_ANNOTATIONS = 1_000_000


class Spans:
    """Which samples of a stream are where in a recording of it."""

    def __init__(self):
        self._spans = []    # (first sample of the stream, first of the recording, how many)

    def __bool__(self):
        return bool(self._spans)

    def __iter__(self):
        return iter(self._spans)

    def add(self, start, place, count):
        """The next samples: count from a sample of the stream on, at a place of the recording."""
        if self._spans:
            first, at, length = self._spans[-1]
            if (start, place) == (first + length, at + length):
                self._spans[-1] = (first, at, length + count)
                return
        self._spans.append((start, place, count))

    def place(self, start, count):
        """Where count samples of the stream are, whole and without a gap; None if they are not."""
        index = bisect_right(self._spans, start, key=lambda span: span[0]) - 1
        if index < 0:
            return None
        first, at, length = self._spans[index]
        return at + start - first if start + count <= first + length else None

    def captures(self, timeline, sample_rate):
        """The capture segments of the recording, see ``timeline.captures_of``."""
        return captures_of([(at + segment.start - first, segment)
                            for first, at, length in self._spans
                            for segment in timeline.cut(first, first + length)], sample_rate)


class Recorder:
    """Write a stream through a thread of its own.

    Samples are converted where they come and handed to the thread in blocks of about 4 MB. Where
    the disk is slower than the stream and ``buffer_mib`` is full, ``write`` waits, or whole spans
    of samples are dropped until half of the buffer is free again. What was dropped is counted; the
    samples behind it begin a new capture segment with their own time.

    Positions are those of the stream: ``write`` and the functions of ``timeline`` and ``annotate``
    count its samples, whether they were recorded or not.

    Args:
        writer: ``Writer``; its frequency and datetime hold until ``timeline`` is told others.
        overload: "wait", or "drop" samples that the disk cannot take in time.
        buffer_mib: memory for samples that wait for the disk, in MiB, 16 to 1048576.

    Attributes:
        writer: as above.
        timeline: ``Timeline`` of the stream; tell it times, frequencies and rates of samples before
            these are written.
        clipped: components that exceeded full scale or were not a number.
        num_samples: samples per channel that were taken to be written.
        dropped: samples per channel that were not written.
        drops: how often dropping began.
        annotations_left_out: annotations of samples that are not in the recording, as of the last
            ``save``, and those for which there was no room (a million are kept).
        error: OSError with which the disk has ended the recording, or None.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, writer, overload="wait", buffer_mib=256):
        self.overload = choice("overload", overload, OVERLOADS)
        if not 16 <= number("buffer_mib", buffer_mib) <= 1 << 20:
            raise ValueError(f"buffer_mib: got {buffer_mib}, allowed are 16 to {1 << 20}")
        self.writer, self.packing = writer, writer.packing
        self.timeline = Timeline(writer.sample_rate, writer.frequency)
        self._first_datetime = writer.datetime
        self.clipped = self.drops = self._dropped = 0
        self.annotations_left_out = 0
        self.error = None
        self._block_samples = max(1, _BLOCK // self.packing.sample_bytes)
        most = max(2, int(buffer_mib * 2**20) // (self._block_samples * self.packing.sample_bytes))
        self._most_blocks, self._made = most, 0
        self._free, self._queue = [], deque()
        # Held while the stream is written to or cut off; _change only for a moment.
        self._busy, self._change = threading.RLock(), threading.Condition()
        self._thread = None
        self._block, self._used = None, 0
        self._dropping, self._closed = False, False
        self._place, self._next = 0, 0
        self._spans = Spans()
        self._annotations, self._overfull = [], 0
        # Of the streams before, in the recording's samples.
        self._old_captures, self._old_annotations, self._old_left_out = [], [], 0

    @property
    def num_samples(self):
        return self._place

    @property
    def dropped(self):
        missing = 0 if self.error is None else self._place - self.writer.num_samples
        return self._dropped + missing

    def write(self, samples, start=None):
        """Take the stream's next samples.

        Args:
            samples: (num_channels, n) complex, or a sequence of num_channels arrays of n.
            start: position of the first one in the stream; None continues. Another position than
                the next one is a gap.

        Returns:
            How many were taken: n, or less where samples were dropped.

        Raises:
            ValueError: samples have another shape, or start lies before the next position.
            OSError: the disk has ended the recording; with overload "drop" everything is dropped
                instead, and ``error`` holds it.
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
        while taken < count and self._has_room():
            size = min(count - taken, self._block_samples - self._used)
            self.clipped += self.packing.pack([one[taken:taken + size] for one in samples],
                                              self._block, self._used)
            with self._change:
                self._spans.add(start + taken, self._place, size)
                self._place += size
            self._used += size
            taken += size
            if self._used == self._block_samples:
                self._hand_over()
        self._dropped += count - taken
        if self.error is not None and self.overload == "wait":
            raise self.error
        return taken

    def annotate(self, start, count, **fields):
        """Annotate count samples of the stream from start; they may come later. From any thread.

        Samples that are not in the recording when it is saved, or not without a gap, get no
        annotation.

        Args:
            fields: as of ``Writer.annotate``.

        Raises:
            ValueError: not valid in SigMF.
        """
        # A frame may have begun before the stream did.
        text = annotation_text(max(0, start), count, **fields)
        with self._change:
            if len(self._annotations) + len(self._old_annotations) < _MOST_ANNOTATIONS:
                self._annotations.append((start, count, text))
            else:
                self._overfull += 1

    def restart(self):
        """The next samples belong to a new stream, whose positions begin anew. The recording goes
        on with a new capture segment."""
        with self._busy:
            self.flush()
            self._restart()

    def _restart(self):
        with self._change:
            captures, annotations, left_out = self._resolve()
            self._old_captures += captures
            self._old_annotations += annotations
            self._old_left_out += left_out
            self._spans, self._annotations = Spans(), []
            self._next = 0
            self._dropping = False
            if self._old_captures:
                self._first_datetime = None
            self.timeline.restart()

    def flush(self):
        """Wait until the disk has what was taken."""
        with self._busy:
            self._hand_over()
            with self._change:
                self._change.wait_for(lambda: not self._queue)

    def save(self):
        """Write all samples and the metadata. Writing may go on.

        Raises:
            OSError: the disk refuses the metadata.
        """
        with self._busy:
            self.flush()
            self._save()

    def _save(self):
        with self._change:
            captures, annotations, left_out = self._resolve()
            captures = [*self._old_captures, *captures]
            annotations = [*self._old_annotations, *annotations]
            self.annotations_left_out = self._old_left_out + left_out + self._overfull
        if captures:
            self.writer.captures = captures
        self.writer.annotate_later(annotations)
        self.writer.clipped = self.clipped
        self.writer.save()

    def close(self):
        """Write all samples and the metadata, end the thread and close the files."""
        if self._closed:
            return
        try:
            self.save()
        finally:
            self._closed = True
            self.stop()
            self.writer.close(save=False)

    def stop(self):
        """Wait until the disk has what was taken, and end the thread; writing starts another."""
        with self._busy:
            self.flush()
            with self._change:
                thread, self._thread = self._thread, None
                self._change.notify_all()
            if thread is not None:
                thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _resolve(self):
        """Captures, annotations in the recording's samples, and how many of these are left out."""
        stop = self.writer.num_samples
        if self._spans and not self._old_captures:
            self.writer.sample_rate = self.timeline.segments[0].sample_rate
        captures = [one for one in self._spans.captures(self.timeline, self.writer.sample_rate)
                    if one["core:sample_start"] < stop]
        if captures and "core:datetime" not in captures[0] and self._first_datetime is not None:
            captures[0]["core:datetime"] = self._first_datetime
        found = []
        for start, count, text in self._annotations:
            place = self._spans.place(start, count)
            if place is not None and place + count <= stop:
                found.append((place, text))
        return captures, found, len(self._annotations) - len(found)

    def _has_room(self):
        """Whether there is a block with room; gets one, if need be."""
        if self._block is not None:
            return self.error is None
        with self._change:
            spare = len(self._free) + self._most_blocks - self._made
            if self._dropping and 2 * spare < self._most_blocks:
                return False
            if self.overload == "wait":
                self._change.wait_for(lambda: self._free or self._made < self._most_blocks
                                      or self.error is not None)
            if self.error is not None:
                return False
            if self._free:
                self._block = self._free.pop()
            elif self._made < self._most_blocks:
                self._made += 1
                self._block = self.packing.empty(self._block_samples)
            else:
                self._dropping = True
                self.drops += 1
                return False
            self._dropping, self._used = False, 0
        return True

    def _hand_over(self):
        """Give the block to the thread, full or not."""
        block, used, self._block = self._block, self._used, None
        if block is None:
            return
        with self._change:
            self._queue.append((block, used))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def _run(self):
        me = threading.current_thread()
        while True:
            with self._change:
                self._change.wait_for(lambda: self._queue or self._thread is not me)
                if not self._queue:
                    return
                # It stays in the queue until it is written: flush() waits for that.
                block, used = self._queue[0]
            if self.error is None:
                try:
                    self.writer.write_block(block, 0, used)
                except Exception as error:
                    self.error = error
            with self._change:
                self._queue.popleft()
                self._free.append(block)
                self._change.notify_all()
