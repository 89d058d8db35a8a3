# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames that a radio receives."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue

import pmt
from gnuradio import blocks, gr

from ... import blocks as mimopack
from ... import recording
from ...recording import names
from ...recording.timeline import later
from ...wifi.fields import report_with_counts
from .radio import describe, naming_options
from .reading import refuse
from .source import FrameSource
from .words import plural

_POLL = 0.1    # seconds
_SILENCE = 5.0    # seconds without a sample until a radio counts as gone
_BUFFER = 1 << 20    # samples: enough for long waits for the interpreter lock
_MOST_WAITING = 20_000    # limit of frames that wait to be reported


class RadioFrames(FrameSource):
    """The frames that a radio receives, through ``wifi_receiver``; it may record its samples too.

    Args:
        radio: radio from ``radio.open_radio``.
        seconds: duration in seconds of samples; None runs without end.
        record: path of a recording, or None.
        keep: seconds to keep in memory and write on request; None records everything.
        datatype: datatype of the recording.
        keep_symbols: whether the frames have equalised points.
        options: further arguments of the receiver.

    Raises:
        ValueError, ImportError: as for ``wifi_receiver``.
        Refusal: the recording cannot be written.
    """

    def __init__(self, radio, seconds=None, record=None, keep=None, datatype="ci16_le",
                 keep_symbols=False, **options):
        super().__init__(radio.sample_rate, radio.num_channels)
        self._radio, self._keep, self._keep_symbols = radio, keep, keep_symbols
        self.title, self.seconds = describe(radio), seconds
        self._items, self._wake = SimpleQueue(), threading.Event()
        self._load = self._host_start = None
        self._top = gr.top_block("mimopack wifi")
        self._receiver = mimopack.wifi_receiver(
            radio.num_channels, radio.sample_rate, radio.frequency, overload="drop", **options)
        self._receiver.listen(self._on_frame, lambda status: self._put((None, status)),
                              symbols=keep_symbols)
        try:
            self._sink = None if record is None else self._make_sink(record, datatype)
        except (OSError, ValueError) as error:
            words = str(error).removeprefix("path: ")
            refuse(f"--keep: {words.removeprefix('seconds: ')}" if words.startswith("seconds: ")
                   else f"--record: {words}")
        self._recorder = (None if self._sink is None else
                          self._sink.recorder if keep is None else self._sink.ring)
        if self._sink is not None and keep is None:
            self.own_files = [Path(f"{names.base(record)}{ending}")
                              for ending in (".sigmf-meta", ".sigmf-data")]
        self._limit = None if seconds is None else max(1, round(seconds * radio.sample_rate))
        self._connect()

    def _connect(self):
        # GNU Radio keeps only the C++ part of a block: attributes keep the blocks in Python.
        radio = self._radio
        _enlarge_buffer(radio.source)
        for channel in range(radio.num_channels):
            last = radio.source, channel
            if self._limit is not None:
                head = blocks.head(gr.sizeof_gr_complex, self._limit)
                _enlarge_buffer(head)
                self._top.connect(last, head)
                last = head, 0
            self._top.connect(last, (self._receiver, channel))
            if self._sink is not None:
                self._top.connect(last, (self._sink, channel))
        if self._keep is not None:
            # A basic block without connections would keep GNU Radio from ending.
            self._written = _Written(lambda status: self._put((None, status)))
            self._top.msg_connect(self._sink, "written", self._written, "in")

    def _make_sink(self, record, datatype):
        radio = self._radio
        settings = {"datatype": datatype, "sample_rate": radio.sample_rate,
                    "frequency": radio.frequency, "description": describe(radio)}
        if self._keep is not None:
            return mimopack.sigmf_ring_sink(str(record), radio.num_channels, seconds=self._keep,
                                            **settings)
        return mimopack.sigmf_multichannel_sink(str(record), radio.num_channels, overload="drop",
                                                **settings)

    @property
    def samples(self):
        """Number of samples per antenna searched so far."""
        return self._receiver.counts()["samples"]

    def want_symbols(self, wanted):
        """Set whether the next frames should have equalised points."""
        self._receiver.want_symbols(wanted or self._keep_symbols)

    def introduce(self, say, warn):
        super().introduce(say, warn)
        say(self.title)
        for note in self._radio.notes:
            say(f"note: {recording.printable(note)}")
        if self._keep is not None:
            say(f"the last {self._keep:g} s are kept: kill -USR1 {os.getpid()}"
                + (" or the Enter key" if sys.stdin and sys.stdin.isatty() else "")
                + " writes them")

    def discard(self):
        if self.own_files:
            self._sink.close()
            for path in self.own_files:
                path.unlink(missing_ok=True)

    def frames(self, progress):
        """Yield each frame and its time, until the end; see ``FrameSource``.

        After Ctrl-C or a failure, the frames in progress come first.
        """
        failure = None
        with _triggers(self._trigger if self._keep is not None else None):
            try:
                with naming_options():
                    warning = self._radio.set_clock()
                if warning:
                    self._warn(warning)
                try:
                    self._top.start()
                    yield from self._until_end(progress)
                except (KeyboardInterrupt, RuntimeError) as error:
                    failure = error
                finally:
                    self._top.stop()
                    self._top.wait()
                yield from self._arrived(progress)
            finally:
                self._end_recording()
        if failure is not None:
            raise failure
        self.complete = True

    def _until_end(self, progress):
        """Yield frames until all samples have come, or the radio has ended.

        Raises:
            RuntimeError: the radio sends no more samples, or they are not processed.
        """
        count, last, since = 0, None, time.monotonic()
        while not self._has_all():
            self._wake.wait(_POLL)
            self._wake.clear()
            before, count = count, self._radio.source.nitems_written(0)
            now = time.monotonic()
            if count and not before:
                self._host_start = time.time() - count / self.sample_rate
            state = count, *self._taken()
            if state != last:
                last, since = state, now
            elif now - since > _SILENCE:
                self._give_up(count)
            yield from self._arrived(progress)
            load = "" if self._load is None else f", {100 * self._load:.0f} % busy"
            progress.update(None, self._progress_text(self._duration(count)) + load)

    def _taken(self):
        """Return how many samples the receiver, and the recording if any, have taken or dropped."""
        takers = [self._receiver] if self._sink is None or self._keep is not None else [
            self._receiver, self._sink]
        return [sum(map(taker.counts().get, ("samples", "dropped"))) for taker in takers]

    def _has_all(self):
        """Return whether all samples have come. The radio's block may then still wait for more."""
        taken = self._taken()
        return (self._limit is not None and min(taken) >= self._limit
                or self._receiver.ended.is_set() and len(set(taken)) == 1)

    def _give_up(self, count):
        """Raise an error that says why nothing has happened for _SILENCE seconds.

        ``count`` samples have come.
        """
        if self._limit is not None and count >= self._limit:
            raise RuntimeError(f"--duration: only {min(self._taken())} of {self._limit} samples "
                               f"were processed or dropped, and no further one for {_SILENCE:g} s")
        raise RuntimeError(f"--radio: no sample came for {_SILENCE:g} s, after {count} samples: "
                           "is the device still connected?")

    def _on_frame(self, frame, when):
        """Take a frame, in the decoding thread."""
        self._put((frame, when))
        if self._recorder is not None:
            # Annotate directly: port "frames" would convert to PMT and back, in threads that are
            # busy.
            start, count, fields = recording.frame_annotation(report_with_counts(frame))
            self._recorder.annotate(start, count, **fields)

    def _put(self, item):
        # Limit the queue: a stalled terminal or FIFO would fill the memory.
        if self._items.qsize() < _MOST_WAITING:
            self._items.put(item)
            self._wake.set()

    def _arrived(self, progress):
        """Yield the frames that the receiver has sent, and report its statuses."""
        with suppress(Empty):
            while True:
                frame, detail = self._items.get_nowait()
                progress.clear()
                if frame is None:
                    self._take_status(detail)
                else:
                    self.summary.add(frame)
                    yield frame, self._time(frame, detail)

    def _time(self, frame, when):
        """Return the time (seconds, fraction) of a frame: the radio's, or else the host's."""
        if when is not None or self._host_start is None:
            return when
        whole, fraction = divmod(self._host_start, 1)
        return later((int(whole), fraction), frame.time)

    def _take_status(self, status):
        """Report a status of the receiver, or what ``sigmf_ring_sink`` wrote."""
        if "path" in status:
            self.written.append(Path(status["path"]))
            self._say(f"written: {recording.printable(status['path'])}")
        if "problem" in status:
            self._warn(f"--keep: {'incomplete' if 'path' in status else 'nothing written'}: "
                       f"{status['problem']}")
        if "load" not in status:
            return
        self._load = status["load"]
        if status["switch"]:
            self._say(status["switch"])
        if self.on_status is not None:
            self.on_status(status)
        if status["gaps"]:
            self._warn(f"the radio lost samples: {plural(status['gaps'], 'gap')} in "
                       f"{status['seconds']:.1f} s, {status['lost']} samples per antenna")
        if status["dropped"]:
            self._warn(f"this machine is too slow: {status['dropped']} samples per antenna "
                       f"dropped in {status['seconds']:.1f} s"
                       + (f"; {100 * status['slowest_share']:.0f} % of the work is "
                          f"{status['slowest']}" if status["slowest"] else ""))

    def _trigger(self):
        if self._sink.trigger():
            self._say("writing the last seconds")

    def _end_recording(self):
        if self._sink is None or self._keep is not None:
            return
        # Save frames that were reported after the sink had stopped.
        self._sink.save()
        counts = self._sink.counts()
        self._sink.close()
        error = self._sink.recorder.error
        if error is not None:
            self._warn(f"--record: the recording ends early: {error}")
        if counts["dropped"]:
            self._warn(f"--record: the disk was too slow: {counts['dropped']} samples per "
                       f"antenna are not in the recording")
        if self._sink.writer.path.exists():    # the disk may have taken no sample
            self.written.append(self._sink.writer.path)

    def remarks(self, progress):
        """Return lines about the samples received and lost, and hints if no MPDU was correct."""
        counts, total = self._receiver.counts(), self.summary.total
        line = (f"{self._duration(counts['samples'])} of "
                f"{plural(self.num_channels, 'antenna')} searched")
        if counts["gaps"]:
            line += (f"; {plural(counts['gaps'], 'gap')}: the radio lost {counts['lost']} samples "
                     "per antenna")
        if counts["dropped"]:
            line += (f"; {counts['dropped']} samples per antenna dropped, as this machine was "
                     "too slow")
        if total.mpdus_ok or not self.complete:
            return [line]
        lines = [line, "", f"Found {plural(counts['preambles'], 'preamble')} and "
                 f"{plural(total.frames, 'frame')}, no MPDU with a correct frame check sequence."]
        if not total.frames:
            lines.append("Is there traffic on this channel (--frequency), is the gain high enough "
                         "(--gain), and an antenna at the port (--antenna-names)?")
        elif counts["dropped"] or counts["gaps"]:
            lines.append("Samples were lost: record first (--record), and decode the recording.")
        else:
            lines.append("Is the gain (--gain) too high or too low? Do the frames have more "
                         "streams than there are antennas (--antennas)?")
        return lines

    def ending(self, failure):
        """Return a message about a run that did not end by itself."""
        return "Stopped by an error." if failure else "Ended by Ctrl-C."

    def as_json(self):
        """Return a dictionary for summary.json."""
        radio, counts = self._radio, self._receiver.counts()
        return {"radio": radio.settings.device, "complete": self.complete,
                "channels": self.num_channels, "sample_rate": self.sample_rate,
                "frequency": radio.frequency, "samples_searched": counts["samples"],
                "preambles": counts["preambles"],
                **{name: counts[name] for name in ("gaps", "lost", "dropped")},
                "detector": self._receiver.detector_in_use(),
                "detector_switches": [asdict(switch) for switch in self._receiver.switches()],
                **self.summary.as_json()}


def _enlarge_buffer(block):
    """Enlarge a block's output buffers, without the line that GNU Radio prints about it."""
    level = block.log_level()
    block.set_log_level("warn")
    try:
        block.set_min_output_buffer(_BUFFER)
    finally:
        block.set_log_level(level)


class _Written(gr.basic_block):
    """Call a function with each message of a ``sigmf_ring_sink`` about what it wrote."""

    def __init__(self, function):
        gr.basic_block.__init__(self, "written", None, None)
        self._function = function
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._take)

    def _take(self, message):
        self._function({name: pmt.symbol_to_string(value) for name in ("path", "problem")
                        if pmt.is_symbol(value := pmt.dict_ref(message, pmt.intern(name),
                                                               pmt.PMT_NIL))})


@contextmanager
def _triggers(function):
    """Call a function on SIGUSR1, and on the Enter key if there is a terminal; None: never."""
    if function is None:
        yield
        return
    ended = threading.Event()
    previous = signal.signal(signal.SIGUSR1, lambda *_: function())
    if sys.stdin is not None and sys.stdin.isatty():
        threading.Thread(target=lambda: [function() for _ in sys.stdin if not ended.is_set()],
                         daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.signal(signal.SIGUSR1, previous)
