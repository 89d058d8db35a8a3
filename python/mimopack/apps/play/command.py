# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack play``: a recording through the Wi-Fi receiver, one detector after another."""

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path

import click

from ... import detectors as registry
from ... import recording
from ...detectors.parameters import BACKENDS
from ..interrupt import STATUS, Interrupt
from ..machine import describe
from ..progress import Progress
from ..wifi.opening import introduce, open_reader, own_files, refuse, refuse_receiver
from ..wifi.outputs import OutputError, Replacement, is_fifo, make_folder, naming, pcap_time
from ..wifi.words import plural
from .table import frame_line, table
from .tally import Tally, Truth

DEFAULT_DETECTORS = ("zf", "mmse", "nway", "mla")
# With iterations: they take a-priori LLRs.
ITERATING_DETECTORS = ("mmsepic", "nway", "mla")
# The speed of a flowgraph is taken over about so long, a short recording played again and again.
_TIMED_SECONDS = 2.0


class _Capture:
    """A capture file that a flowgraph writes; without a path, none."""

    def __init__(self, path, start_time, warn):
        from ...blocks import wifi_pcap_sink

        self.replacement = Replacement(path)
        if is_fifo(path):
            warn(f"{path} waits for a reader, such as wireshark -k -i {path}")
        self.sink = wifi_pcap_sink(str(self.replacement.part),
                                   time=pcap_time(start_time, path, warn))

    def close(self):
        """Complete the file; returns its path.

        Raises:
            OutputError: it is not complete.
        """
        self.sink.close()
        lost = self.sink.lost()
        if lost:
            raise OutputError(f"--pcap: {self.replacement.part} is not complete: "
                              f"{plural(lost, 'MPDU')} could not be written")
        with naming("--pcap", self.replacement.path):
            self.replacement.finish()
        return self.replacement.path

    def discard(self):
        """Remove what was written."""
        self.sink.close()
        self.replacement.discard()


def play(path, detectors=(), output=Path("demo-output"), show=None, quiet=False, pictures=True,
         backend="auto", iterations=1, pcap=None, echo=click.echo, interrupt=None):
    """Play a recording through a GNU Radio flowgraph once for each detector, and report.

    Prints a line per frame (for one detector) and a table, writes ``summary.json`` and pictures
    into a folder. Ctrl-C ends the recording where it is, and no other detector plays.

    Args:
        path: of the recording, see ``recording.Reader``.
        detectors: names, keys of ``detectors.REGISTRY``; none stands for DEFAULT_DETECTORS, or
            ITERATING_DETECTORS where iterations > 1.
        output: folder for the summary and the pictures; None writes nothing.
        show: the detector whose frames get a line each and go to ``pcap``; by default the last.
        quiet: no line per frame.
        pictures: draw them.
        backend: of the detectors.
        iterations: passes of detector and decoder at most, see ``wifi_receiver``.
        pcap: capture file or FIFO for the MPDUs, or None.
        echo: prints a line.
        interrupt: ``Interrupt`` in force; None makes one.

    Returns:
        The summary, a dictionary (see docs/recordings.md).

    Raises:
        Refusal: the recording, an option or an output cannot be used; said before anything plays.
        KeyboardInterrupt: Ctrl-C before anything plays, or again and again where something hangs.
    """
    with ExitStack() as stack:
        if interrupt is None:
            interrupt = stack.enter_context(Interrupt())
        return _Run(path, detectors, output, show, quiet, pictures, backend, iterations, pcap,
                    echo, interrupt).summary()


class _Run:
    """A call of :func:`play`; arguments as there."""

    def __init__(self, path, detectors, output, show, quiet, pictures, backend, iterations, pcap,
                 echo, interrupt):
        self._echo, self._interrupt, self._progress = echo, interrupt, Progress()
        self._output = None if output is None else Path(output)
        self._quiet, self._pictures, self._iterations = quiet, pictures, iterations
        self._names = list(dict.fromkeys(detectors)) or list(
            ITERATING_DETECTORS if iterations > 1 else DEFAULT_DETECTORS)
        self._show = self._names[-1] if show is None else show
        self._reader, self._rate = self._open(path)
        self._playback = self._check(backend)
        self._truth = Truth(recording.read_frames(self._reader.annotations))
        self._capture = self._views = None
        self._prepare(pcap)

    @staticmethod
    def _open(path):
        """Return (reader, sample rate) of a SigMF recording."""
        try:
            bare = isinstance(recording.open_recording(path), recording.RawReader)
        except ValueError as error:
            bare = str(error).startswith("datatype: the name of")
        except (OSError, ImportError):
            bare = False    # open_reader() says why
        if bare:
            refuse(f"{path} has no SigMF metadata, which play needs; mimopack wifi takes raw "
                   "samples")
        return open_reader(path, None, None, None, None)

    def _check(self, backend):
        """Return the playback; what it refuses is said before anything plays."""
        from .playback import Playback

        for name in [*self._names, self._show]:
            if name not in registry.REGISTRY:
                refuse(f"detector: got {name!r}, allowed are {', '.join(registry.REGISTRY)}")
        if self._show not in self._names:
            refuse(f"--show: got {self._show!r}, which is not played; allowed are "
                   f"{', '.join(self._names)} (or play it as well: -d {self._show})")
        playback = Playback(self._reader, self._rate, backend, self._iterations)
        try:
            for name in self._names:
                playback.receiver(name)
        except (ValueError, ImportError) as error:
            refuse_receiver(error)
        return playback

    def _prepare(self, pcap):
        """Open what is written before anything plays."""
        if pcap is not None and os.path.realpath(pcap) in map(os.path.realpath,
                                                              own_files(self._reader)):
            refuse(f"--pcap: {pcap} is the recording too")
        try:
            if self._output is not None:
                make_folder(self._output)
            if pcap is not None:
                with self._interrupt.allowed(), naming("--pcap", pcap):
                    self._capture = _Capture(Path(pcap), self._reader.start_time, self._warn)
        except OutputError as error:
            refuse(str(error))
        if self._pictures and self._output is not None:
            from .pictures import Views

            self._views = Views()

    def _say(self, line):
        self._progress.clear()
        self._echo(line)

    def _warn(self, text):
        self._say(click.style("warning: ", fg="yellow") + recording.printable(text))

    def summary(self):
        """Play, print and write; returns the summary."""
        try:
            return self._summary()
        except BaseException:
            if self._capture is not None:
                self._capture.discard()
            raise

    def _summary(self):
        reader = self._reader
        introduce(reader, self._rate, self._say, self._warn)
        with self._interrupt.allowed():
            for message in reader.checksum_errors():
                reader.notes.append(message)
                self._warn(message)
        known = len(self._truth.frames)
        self._say(f"annotations tell {plural(known, 'frame')} that were sent" if known
                  else "no annotations tell what was sent")
        tallies, rows = [], []
        for name in self._names:
            tally, row = self._one(name)
            if row["samples"] or not tallies:
                tallies.append(tally)
                rows.append(row)
            if self._interrupt.happened:
                break
        missing = [name for name in self._names
                   if name not in {tally.detector for tally in tallies if tally.complete}]
        summary = {
            "recording": str(reader.path), "description": reader.description,
            "notes": reader.notes, "complete": not missing, "sample_rate": self._rate,
            "samples": reader.num_samples, "num_rx": reader.num_channels,
            "frames_annotated": known, "iterations": self._iterations, "machine": describe(),
            "detectors": rows, "frames": {tally.detector: tally.frames for tally in tallies}}
        for line in table(summary, tallies):
            self._say(line)
        if not any(row["frames_decoded"] for row in rows) and not missing:
            self._say("\nNothing was decoded. To find out what the file may hold, run\n"
                      f"  mimopack wifi {recording.printable(reader.path)}")
        written, failure = [], None
        for paths in (self._write_capture(tallies), self._write_folder(summary, tallies)):
            try:
                for path in paths:
                    written.append(path)
            except OutputError as error:
                failure = failure or error
        if written:
            self._say("\nwritten: " + recording.printable(", ".join(map(str, written))))
        if missing:
            self._say(click.style("\nIncomplete: interrupted; not or not wholly played: "
                                  f"{', '.join(missing)}.", fg="yellow"))
        elif self._interrupt.happened:
            self._say(click.style("\nInterrupted while the speed was measured: all frames are "
                                  "counted.", fg="yellow"))
        if failure is not None:
            refuse(str(failure))
        return summary

    def _one(self, name):
        """Play with one detector; returns its tally and its row."""
        shown = name == self._show
        lines = shown and not self._quiet
        self._say(f"\nFrames with the detector {name}:" if lines else f"Playing with {name}")
        tally = Tally(name, self._truth, self._rate, on_frame=(
            lambda told: self._say(frame_line(told))) if lines else None)
        total = self._reader.num_samples
        start = time.perf_counter()
        counts, samples = self._playback.decode(
            name, tally, self._interrupt,
            on_progress=lambda searched: self._progress.update(
                searched / total, f"{name}: {plural(len(tally.frames), 'frame')}"),
            pcap_sink=self._capture.sink if shown and self._capture is not None else None,
            views=self._views if shown else None)
        seconds = time.perf_counter() - start
        self._progress.clear()
        late = counts["frames"] - len(tally.frames)
        if late:
            self._warn(f"{plural(late, 'frame')} came after the flowgraph had ended and are not "
                       "counted")
        if counts["failures"]:
            self._warn(f"{plural(counts['failures'], 'failure')} in the receiver, each of which "
                       "cost the samples at hand")
        tally.close(samples, complete=samples == total)
        timed = samples
        if seconds < _TIMED_SECONDS and tally.complete and not self._interrupt.happened:
            timed, seconds = self._playback.time(name, samples * _TIMED_SECONDS / seconds,
                                                 self._interrupt)
        row = tally.summary()
        row |= {"samples": samples, "flowgraph_samples_per_s": timed / seconds,
                "real_time_factor": timed / seconds / self._rate, "receiver": counts}
        return tally, row

    def _write_capture(self, tallies):
        """Complete the capture file; yields its path."""
        if self._capture is not None:
            capture, self._capture = self._capture, None
            if any(tally.detector == self._show for tally in tallies):
                yield capture.close()
            else:
                capture.discard()
                self._warn(f"--pcap: {capture.replacement.path} is not written, as the detector "
                           f"{self._show} was not played")

    def _write_folder(self, summary, tallies):
        """Write the summary and the pictures; yields their paths."""
        if self._output is None:
            return
        with naming("--output", self._output):
            path = self._output / "summary.json"
            path.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
            yield path
            if self._views is not None and any(tally.frames for tally in tallies):
                from .pictures import draw

                shown = next((tally.frames for tally in tallies
                              if tally.detector == self._show), [])
                yield from draw(summary["detectors"], self._views, self._views.best(shown),
                                self._output)


@click.command("play")
@click.argument("path", metavar="RECORDING", type=click.Path(path_type=Path))
@click.option("-d", "--detector", "detectors", multiple=True,
              type=click.Choice(list(registry.REGISTRY)), metavar="NAME",
              help=f"MIMO detector; may be given several times: {', '.join(registry.REGISTRY)}. "
                   f"Default {', '.join(DEFAULT_DETECTORS)}, with --iterations "
                   f"{', '.join(ITERATING_DETECTORS)}.")
@click.option("--show", type=click.Choice(list(registry.REGISTRY)), metavar="NAME",
              help="Detector whose frames are listed, drawn and written to --pcap. Default: the "
                   "last.")
@click.option("-q", "--quiet", is_flag=True, help="No line per frame.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False),
              default=Path("demo-output"), show_default=True, metavar="FOLDER",
              help="Write summary.json and pictures there.")
@click.option("--pictures/--no-pictures", default=True, show_default=True)
@click.option("--pcap", type=click.Path(path_type=Path), metavar="FILE",
              help="Write MPDUs for Wireshark, with radiotap headers; FILE may be a FIFO.")
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
              help="Where the detectors run.")
@click.option("--iterations", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="Passes of detector and decoder at most, for frames of several streams with an "
                   "LDPC code.")
@click.pass_context
def play_command(context, path, **options):
    """Compare MIMO detectors on the Wi-Fi frames of the SigMF recording RECORDING.

    Plays the recording through a GNU Radio flowgraph once for each detector, lists the frames of
    one of them, and prints a table: frames found and decoded, packet error rate (PER), speed. Where
    annotations tell what was sent, errors are counted against them.

    Ctrl-C ends the command with a table of what was decoded so far.

    Exit status: 0 where a frame was decoded, 1 where none was, 2 where the recording or an option
    was refused, 130 after Ctrl-C.
    """
    with Interrupt() as interrupt:
        try:
            summary = play(path, **options, interrupt=interrupt)
            status = 0 if any(row["frames_decoded"] for row in summary["detectors"]) else 1
        except KeyboardInterrupt:
            Progress().clear()
            click.echo("\nIncomplete: interrupted.", err=True)
        except OSError as error:
            refuse(str(error))
        if interrupt.happened:
            status = STATUS
    context.exit(status)
