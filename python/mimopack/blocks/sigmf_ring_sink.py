# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: keep the last seconds of several antennas, and write them in SigMF on request."""

import threading
from contextlib import suppress
from pathlib import Path

import pmt

from ..recording import Ring, Writer, names
from .hierarchy import hierarchical_block
from .message_stream import message_outlet
from .recording_stream import frame_of, message_taker, sample_taker
from .streams import BlockLog


class sigmf_ring_sink(hierarchical_block):
    """Keep the last seconds of num_channels streams, and write them in SigMF on request.

    Ports:
        in 0 to num_channels - 1: complex: the samples of each channel. Full scale is 1.
        message in ``trigger``: any message writes the last seconds as a separate recording. A text
            (symbol) in UTF-8 becomes part of the recording's ``core:description``.
        message in ``frames``: dictionaries of frames to annotate, as in
            ``sigmf_multichannel_sink``. A frame reported after the recording was written gets no
            annotation.
        message out ``written``: a dictionary in response to each trigger. It has ``path`` (of the
            metadata), ``start`` (position in the stream of the recording's first sample) and
            ``num_samples`` (per channel). ``problem`` is the reason why nothing was written, or
            only the first samples if there is a ``path`` too.

    The recordings are named path-001, path-002 and so on, with the next free number. A separate
    thread writes a recording; the stream continues meanwhile, and no sample of the recording is
    lost. A trigger that arrives while a recording is being written is refused and counted.

    The block reads the same tags as ``sigmf_multichannel_sink``. When the flowgraph stops, the
    block completes a recording that is being written. When the flowgraph starts again, the ring is
    empty.

    Args:
        path: path of the recordings, without the number and the extension.
        num_channels, sample_rate, datatype, layout, frequency, description, fields: see
            ``recording.Writer``.
        seconds: duration to keep, in seconds at sample_rate. The ring takes the memory of
            seconds * sample_rate stored samples, and the same amount again while a recording is
            written.
        timestamp: see ``sigmf_multichannel_sink``.

    Raises:
        ValueError: an argument is invalid, or the machine has too little memory.
        ImportError: the package sigmf is missing.
    """

    def __init__(self, path, num_channels, seconds=5.0, datatype="cf32_le", sample_rate=20e6,
                 layout="interleaved", frequency=None, description="", fields=None,
                 timestamp=True):
        self.ring = Ring(num_channels, sample_rate, seconds, datatype, layout, frequency)
        self._base = names.base(path)
        if not self._base.parent.is_dir():
            raise ValueError(f"path: there is no folder {self._base.parent}")
        self._description, self._fields = description, dict(fields or {})
        # Report invalid arguments now, not at the first trigger.
        Writer.check(num_channels, sample_rate, datatype=datatype, layout=layout,
                     frequency=frequency, description=description, fields=fields)
        channels = self.ring.packing.num_channels
        hierarchical_block.__init__(self, "sigmf_ring_sink", channels)
        self._log = BlockLog(self)
        self._samples = sample_taker("sigmf_ring_sink_samples", channels, self.ring.timeline,
                                     bool(timestamp), self, self._log, sample_rate)
        self.connect_inputs(self._samples)
        self._frames = message_taker(self, "frames", self._annotate, self._log)
        self._trigger = message_taker(self, "trigger", self._on_trigger, self._log, self._join)
        self._outlet = message_outlet(("written",))
        self._outlet.join(self)
        self._lock, self._thread, self._number = threading.Lock(), None, 0
        self._busy = False
        self._written = self._refused = self._failed = 0

    def counts(self):
        """Return a dictionary of counts since the block was made.

        - ``written``: recordings written
        - ``refused``: triggers before the first sample, or while a recording was being written
        - ``failed``: recordings that could not be written completely
        - ``gaps``, ``lost``, ``clipped``, ``failures``: see ``sigmf_multichannel_sink``
        """
        return {"written": self._written, "refused": self._refused, "failed": self._failed,
                "gaps": self.ring.timeline.gaps, "lost": self.ring.timeline.lost,
                "clipped": self.ring.clipped, "failures": self._log.failures}

    def trigger(self, description=""):
        """Begin to write the last seconds as a recording, like a message at port ``trigger``.

        Args:
            description: text for ``core:description``.

        Returns:
            True if writing has begun, False if the trigger was refused.
        """
        with self._lock:
            snapshot = None if self._busy else self.ring.snapshot()
            if snapshot is None:
                self._refused += 1
                problem = ("a recording is being written" if self._busy
                           else "no samples have arrived yet")
            else:
                self._busy = True
                self._thread = threading.Thread(
                    target=self._write, args=(snapshot, description), name="ring", daemon=True)
                self._thread.start()
                return True
        self._say({"problem": problem})
        return False

    # sample_taker calls the following methods.

    def begin(self):
        """Begin a stream."""
        for taker in (self._frames, self._trigger):
            taker.drain()
        self.ring.restart()

    def take(self, samples, first):
        """Store samples; return whether the stream continues."""
        self.ring.write(samples, first)
        return True

    def end(self, done):
        """End the stream, after the recordings that were asked for."""
        self._trigger.drain()
        self._join()
        self._outlet.end(done)

    def _join(self):
        with self._lock:    # a trigger may be starting a thread
            thread = self._thread
        if thread is not None:
            thread.join()

    def _annotate(self, message):
        start, count, fields = frame_of(message)
        self.ring.annotate(start, count, **fields)

    def _on_trigger(self, message):
        self.trigger(pmt.symbol_to_string(message) if pmt.is_symbol(message) else "")

    def _write(self, snapshot, description):
        result = {}
        try:
            texts = [text for text in (self._description, description) if text]
            self._write_next(snapshot, ": ".join(texts))
            self._written += 1
        except Exception as error:
            self._failed += 1
            result = {"problem": f"{type(error).__name__}: {error}"}
        finally:
            snapshot.drop()
            with self._lock:
                self._busy = False
        if snapshot.path is not None and snapshot.path.exists():
            result |= {"path": str(snapshot.path), "start": snapshot.start,
                       "num_samples": snapshot.num_written}
        self._say(result)

    def _write_next(self, snapshot, description):
        """Write a snapshot with the next free number."""
        while True:
            self._number += 1
            path = self._base.with_name(f"{self._base.name}-{self._number:03d}")
            with suppress(FileExistsError):
                return snapshot.write(path, description=description, fields=self._fields,
                                      checksum=False)

    def _say(self, result):
        written = "nothing written"
        if "path" in result:
            written = f"{Path(result['path']).name}: {result['num_samples']} samples"
        if "problem" in result:
            self._log.warn("recordings", f"{written}: {result['problem']}")
        else:
            self._log.info(written)
        self._outlet.send("written", pmt.to_pmt(result))
