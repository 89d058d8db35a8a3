# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive from a radio until the user stops."""

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

from ... import recording
from ...recording import files as sigmf_files
from ...recording.timeline import later
from ..waiter import Flowgraph, Waiter
from .opening import refuse
from .radio import describe, naming_options
from .summary import Summary
from .words import duration, plural

_POLL = 0.1    # seconds
_SILENCE = 5.0    # seconds without a sample until a radio counts as gone
_BUFFER = 1 << 20    # samples: enough for long waits for the interpreter lock
_MOST_WAITING = 20_000    # limit of frames that wait to be reported


class Live:
    """Run a radio through ``wifi_receiver``, and into a recording if requested.

    Args:
        radio: radio from ``radio.open_radio``.
        on_frame: function called with each frame and its time, (seconds, fraction) since 1970.
        gallery: ``pictures.Gallery`` or None.
        seconds: duration in seconds of samples; None runs without end.
        record: path of a recording, or None.
        keep: seconds to keep in memory and write on request; None records everything.
        datatype: datatype of the recording.
        options: further arguments of the receiver.

    Attributes:
        summary, counts: results so far.
        complete: whether the run ended by itself, after ``seconds``.
        written: paths of recordings.
        seconds: as above.
        on_status: function called with each status of the receiver; None at first.

    Raises:
        ValueError, ImportError: as for ``wifi.Receiver``.
        Refusal: the recording cannot be written.
    """

    def __init__(self, radio, on_frame, gallery=None, seconds=None, record=None, keep=None,
                 datatype="ci16_le", **options):
        from ... import blocks as mimopack

        self._radio, self._on_frame, self._gallery = radio, on_frame, gallery
        self._record, self._keep = record, keep
        self.on_status, self.seconds = None, seconds
        self.sample_rate, self.start_time = radio.sample_rate, None
        self.summary, self.complete, self.written = Summary(), False, []
        self._items, self._wake = SimpleQueue(), threading.Event()
        self._load, self._unreported = None, 0
        self._host_start = None
        self._top = Flowgraph("mimopack wifi")
        self._receiver = mimopack.wifi_receiver(
            radio.num_channels, radio.sample_rate, radio.frequency, overload="drop", **options)
        self._receiver.listen(self._on_frame_found, lambda told: self._put((None, told)),
                              symbols=gallery is not None)
        try:
            self._sink = self._make_sink(mimopack, datatype)
        except (OSError, ValueError) as error:
            words = str(error).removeprefix("path: ")
            refuse(f"--keep: {words.removeprefix('seconds: ')}" if words.startswith("seconds: ")
                   else f"--record: {words}")
        self._recorded = (None if self._sink is None else
                          self._sink.recorder if keep is None else self._sink.ring)
        _enlarge_buffer(radio.source)
        self._limit = None if seconds is None else max(1, round(seconds * radio.sample_rate))
        try:
            self._connect()
        except BaseException:
            self.discard()
            raise

    def _connect(self):
        radio = self._radio
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
            self._written = _Written(lambda told: self._put((None, told)))
            self._top.msg_connect(self._sink, "written", self._written, "in")

    def _make_sink(self, mimopack, datatype):
        if self._record is None:
            return None
        radio = self._radio
        told = {"datatype": datatype, "sample_rate": radio.sample_rate,
                "frequency": radio.frequency, "description": describe(radio)}
        if self._keep is not None:
            return mimopack.sigmf_ring_sink(str(self._record), radio.num_channels,
                                            seconds=self._keep, **told)
        return mimopack.sigmf_multichannel_sink(str(self._record), radio.num_channels,
                                                overload="drop", **told)

    @property
    def own_files(self):
        """Paths of the files that the run itself writes."""
        if self._record is None or self._keep is not None:
            return []
        base = sigmf_files.base(self._record)
        return [Path(f"{base}{ending}") for ending in (".sigmf-meta", ".sigmf-data")]

    @property
    def counts(self):
        """Counts of the receiver."""
        return self._receiver.counts()

    @property
    def samples(self):
        """Number of samples per antenna searched so far."""
        return self.counts["samples"]

    @property
    def num_channels(self):
        """Number of receive antennas."""
        return self._radio.num_channels

    @property
    def title(self):
        """Description of the radio in one line."""
        return describe(self._radio)

    def want_symbols(self, wanted):
        """Set whether the next frames should have equalised points."""
        self._receiver.want_symbols(wanted or self._gallery is not None)

    def introduce(self, say, warn):
        """Describe the radio and its settings."""
        self._say, self._warn = say, warn
        say(describe(self._radio))
        for note in self._radio.notes:
            say(f"note: {recording.printable(note)}")
        if self._keep is not None:
            say(f"the last {self._keep:g} s are kept: kill -USR1 {os.getpid()}"
                + (" or the Enter key" if sys.stdin and sys.stdin.isatty() else "")
                + " writes them")

    def discard(self):
        """Remove the recording of a run that did not begin."""
        if self.own_files:
            self._sink.close()
            for path in self.own_files:
                path.unlink(missing_ok=True)

    def check(self, interrupt, progress, warn):
        """Do nothing: a radio has no checksums."""

    def decode(self, interrupt, progress):
        """Receive until the end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed. Results so far are kept.
            RuntimeError: the radio sends no more samples.
        """
        with interrupt.allowed(), naming_options():
            warning = self._radio.prepare()
        if warning:
            self._warn(warning)
        with _triggers(self._trigger if self._keep is not None else None):
            try:
                waiter = Waiter(self._top)
            except BaseException:
                self._end_recording()
                raise
            reports, ended_itself = True, False
            try:
                self._run(interrupt, progress, waiter.ended)
                waiter.stop()
                if waiter.failure:
                    raise waiter.failure
                ended_itself = True
            except OSError:    # an output file cannot be written
                reports = False
                raise
            finally:
                waiter.stop()
                try:
                    if reports:
                        self._take_all(progress)
                        self.complete = ended_itself
                finally:
                    self._end_recording()

    def _run(self, interrupt, progress, ended):
        count, last, since = 0, None, time.monotonic()
        while not ended.is_set() and not self._has_all():
            with interrupt.allowed():
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
            self._take_all(progress)
            self._show(progress, count)

    def _taken(self):
        """Return how many samples the receiver, and the recording if any, have taken or dropped."""
        takers = [self._receiver] if self._sink is None or self._keep is not None else [
            self._receiver, self._sink]
        return [sum(map(taker.counts().get, ("samples", "dropped"))) for taker in takers]

    def _has_all(self):
        """Return whether all samples have come. The radio's block may then still wait for more."""
        return self._limit is not None and min(self._taken()) >= self._limit

    def _give_up(self, count):
        """Raise an error that says why nothing has happened for _SILENCE seconds.

        ``count`` samples have come.
        """
        if self._limit is not None and count >= self._limit:
            raise RuntimeError(f"--duration: only {min(self._taken())} of {self._limit} samples "
                               f"were processed or dropped, and no further one for {_SILENCE:g} s")
        raise RuntimeError(f"--radio: no sample came for {_SILENCE:g} s, after {count} samples: "
                           "is the device still connected?")

    def _on_frame_found(self, frame, when):
        """Take a frame, in the decoding thread."""
        self._put((frame, when))
        if self._recorded is not None:
            # Annotate directly: port "frames" would convert to PMT and back, in threads that are
            # busy.
            start, count, fields = recording.frame_annotation(frame.facts() | {
                "num_mpdus": len(frame.mpdus),
                "num_mpdus_ok": sum(mpdu.fcs_ok for mpdu in frame.mpdus)})
            self._recorded.annotate(start, count, **fields)

    def _put(self, item):
        # Limit the queue: a stalled terminal or FIFO would fill the memory.
        if self._items.qsize() >= _MOST_WAITING:
            self._unreported += item[0] is not None
            return
        self._items.put(item)
        self._wake.set()

    def _take_all(self, progress):
        """Report the frames and statuses that the receiver has sent."""
        with suppress(Empty):
            while True:
                frame, told = self._items.get_nowait()
                progress.clear()
                if frame is None:
                    self._status(told)
                    continue
                self.summary.add(frame)
                if self._gallery is not None:
                    self._gallery.add(frame)
                self._on_frame(frame, self._time(frame, told))

    def _time(self, frame, told):
        """Return the time (seconds, fraction) of a frame: the radio's, or else the host's."""
        if told is not None or self._host_start is None:
            return told
        whole, fraction = divmod(self._host_start, 1)
        return later((int(whole), fraction), frame.time)

    def _status(self, told):
        if "path" in told:
            self.written.append(Path(told["path"]))
            self._say(f"written: {recording.printable(told['path'])}")
        if "problem" in told:
            self._warn(f"--keep: {'incomplete' if 'path' in told else 'nothing written'}: "
                       f"{told['problem']}")
        if "load" not in told:
            return
        self._load = told["load"]
        if told["switch"]:
            self._say(told["switch"])
        if self.on_status is not None:
            self.on_status(told)
        if told["gaps"]:
            self._warn(f"the radio lost samples: {plural(told['gaps'], 'gap')} in "
                       f"{told['seconds']:.1f} s, {told['lost']} samples per antenna")
        if told["dropped"]:
            self._warn(f"this machine is too slow: {told['dropped']} samples per antenna "
                       f"dropped in {told['seconds']:.1f} s"
                       + (f"; {100 * told['slowest_share']:.0f} % of the work is "
                          f"{told['slowest']}" if told["slowest"] else ""))

    def _trigger(self):
        if self._sink.trigger():
            self._say("writing the last seconds")

    def _end_recording(self):
        if self._sink is None:
            return
        if self._keep is not None:
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

    def remarks(self):
        """Return lines about the samples received and lost."""
        counts = self.counts
        line = (f"{duration(counts['samples'], self.sample_rate)} of "
                f"{plural(self._radio.num_channels, 'antenna')} searched")
        if counts["gaps"]:
            line += (f"; {plural(counts['gaps'], 'gap')}: the radio lost {counts['lost']} samples "
                     "per antenna")
        if counts["dropped"]:
            line += (f"; {counts['dropped']} samples per antenna dropped, as this machine was "
                     "too slow")
        return [line]

    def hints(self, interrupt, progress):
        """Return lines that say what to check if no MPDU was correct."""
        lines = ["", f"Found {plural(self.counts['preambles'], 'preamble')} and "
                     f"{plural(self.summary.total.frames, 'frame')}, no MPDU with a correct frame "
                     "check sequence."]
        if not self.summary.total.frames:
            lines.append("Is there traffic on this channel (--frequency), is the gain high enough "
                         "(--gain), and an antenna at the port (--antenna-names)?")
        elif self.counts["dropped"] or self.counts["gaps"]:
            lines.append("Samples were lost: record first (--record), and decode the recording.")
        else:
            lines.append("Is the gain (--gain) too high or too low? Do the frames have more "
                         "streams than there are antennas (--antennas)?")
        return lines

    def ending(self, failure):
        """Return a message about a run that did not end by itself."""
        return "Stopped by an error." if failure else "Ended by Ctrl-C."

    def _show(self, progress, count):
        load = "" if self._load is None else f", {100 * self._load:.0f} % busy"
        progress.update(None, f"{duration(count, self.sample_rate)}, "
                              f"{plural(self.summary.total.frames, 'frame')}, "
                              f"{self.summary.total.mpdus_ok} MPDUs with a correct FCS{load}")

    def as_json(self):
        """Return a dictionary for summary.json."""
        radio, counts = self._radio, self.counts
        return {"radio": radio.settings.device, "complete": self.complete,
                "channels": radio.num_channels, "sample_rate": self.sample_rate,
                "frequency": radio.frequency, "samples_searched": counts["samples"],
                "preambles": counts["preambles"],
                **{name: counts[name] for name in ("gaps", "lost", "dropped")},
                "detector": self._receiver.detector_in_use(),
                "detector_switches": [asdict(one) for one in self._receiver.switches()],
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
        told = {}
        for name in ("path", "problem"):
            value = pmt.dict_ref(message, pmt.intern(name), pmt.PMT_NIL)
            if pmt.is_symbol(value):
                told[name] = pmt.symbol_to_string(value)
        self._function(told)


@contextmanager
def _triggers(function):
    """Call a function on SIGUSR1, and on the Enter key if there is a terminal; None: never."""
    if function is None:
        yield
        return
    previous = signal.signal(signal.SIGUSR1, lambda *_: function())
    if sys.stdin is not None and sys.stdin.isatty():
        threading.Thread(target=lambda: [function() for _ in sys.stdin], daemon=True).start()
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, previous)
