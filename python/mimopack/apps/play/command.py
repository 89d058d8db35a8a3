# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack play``: play a recording through the Wi-Fi receiver, with one detector at a time."""

import time
from contextlib import closing
from pathlib import Path

import click
from click.core import ParameterSource

from ... import detectors as registry
from ... import recording
from ...detectors.lookup import labels, look_up
from ...detectors.parameters import BACKENDS
from ...files import replace_file
from ...text import json_rows
from ...wifi.frame_detectors import FrameDetectors
from ..interrupt import STATUS, Interruption
from ..machine import describe
from ..options import ALLOW_OUTSIDE, BACKEND, ITERATIONS, SPEC, detector_spec
from ..progress import Progress
from ..wifi.outputs import OutputError, Outputs, make_folder, naming
from ..wifi.reading import (
    introduce,
    open_reader,
    own_files,
    refuse,
    refuse_receiver,
    refuse_without_blocks,
)
from ..wifi.words import frame_line, plural
from .counts import Tally
from .table import table

DEFAULT_DETECTORS = ("zf", "mmse", "nway", "mla")
DEFAULT_OUTPUT = Path("demo-output")
# Defaults with iterations, which need detectors that take a-priori LLRs.
ITERATING_DETECTORS = ("mmsepic", "nway", "mla")
# Approximate time to measure the speed of a flowgraph; a short recording is repeated.
_TIMED_SECONDS = 2.0


def play(path, detectors=(), output=DEFAULT_OUTPUT, show=None, quiet=False, pictures=True,
         backend="auto", iterations=1, pcap=None, allow_outside=False, echo=click.echo):
    """Play a recording through a GNU Radio flowgraph once for each detector, and report.

    Print a line per frame (for one detector) and a table; write ``summary.json`` and pictures into
    a folder. Ctrl-C ends the recording at the present sample, and no other detector plays.

    Args:
        path: path of the recording, see ``recording.Reader``.
        detectors: list of detectors: names with parameters if wanted, as in "kbest:k=8", classes
            and objects, see ``wifi.Receiver``. Default: DEFAULT_DETECTORS, or ITERATING_DETECTORS
            if iterations > 1.
        output: folder for the summary and the pictures; None writes nothing.
        show: one of the detectors, or its name in the table, whose frames are listed and written
            to ``pcap``; default the last one.
        quiet: print no line per frame.
        pictures: draw the pictures.
        backend: backend of the detectors.
        iterations: maximum number of passes of detector and decoder, see ``wifi_receiver``.
        pcap: capture file or FIFO for the MPDUs, or None.
        allow_outside: see ``recording.Reader``.
        echo: function that prints a line.

    Returns:
        The summary as a dictionary (see docs/recordings.md).

    Raises:
        Refusal: the recording, an option or an output cannot be used; raised before anything plays.
        OSError: the recording cannot be read to its end; what the detectors before have decoded is
            written.
        KeyboardInterrupt: Ctrl-C was pressed a second time.
    """
    return _Run(path, detectors, output, show, quiet, pictures, backend, iterations, pcap,
                allow_outside, echo).summary()


class _Run:
    """One call of :func:`play`, with the same arguments.

    Attributes:
        interruption: the ``Interruption`` that may end it.
    """

    def __init__(self, path, detectors, output, show, quiet, pictures, backend, iterations, pcap,
                 allow_outside, echo=click.echo):
        self._echo, self._progress, self.interruption = echo, Progress(), Interruption()
        self._output = None if output is None else Path(output)
        self._quiet, self._iterations = quiet, iterations
        self._detectors, self._show = self._named(detectors, show)
        self._reader, self._rate = self._open(path, allow_outside)
        self._playback = self._check(backend)
        self._truth = [frame for frame in recording.read_frames(self._reader.annotations)
                       if frame.mpdus]
        self._gallery, self._outputs = None, Outputs()
        try:
            if self._output is not None:
                make_folder(self._output)
            self._outputs.open({"--pcap": None if pcap is None else Path(pcap)},
                               own_files(self._reader), self._reader.start_time, self._warn)
        except (OutputError, ValueError) as error:
            refuse(str(error))
        if pictures and self._output is not None:
            from ..wifi.pictures import Gallery

            self._gallery = Gallery()

    def _named(self, detectors, show):
        """Return the detectors by their names in the table, and the name of the one to show."""
        try:
            named = labels(detectors) or labels(
                ITERATING_DETECTORS if self._iterations > 1 else DEFAULT_DETECTORS)
            name = list(named)[-1] if show is None else show
            name = name if isinstance(name, str) else look_up(name).label
        except ValueError as error:
            refuse(str(error))
        if name not in named:
            refuse(f"--show: got {name!r}, which is not played; allowed are {', '.join(named)} "
                   f"(or play it as well: -d {name})")
        return named, name

    @staticmethod
    def _open(path, allow_outside):
        """Return (reader, sample rate) of a SigMF recording."""
        try:
            recording.names.metadata_file(path)
        except (ValueError, OSError) as error:
            refuse(str(error).removeprefix("path: "))
        return open_reader(path, None, None, None, None, allow_outside)

    def _check(self, backend):
        """Check the detectors and options before anything plays; return the playback."""
        refuse_without_blocks("play")
        from .playback import Playback

        playback = Playback(self._reader, self._rate, backend, self._iterations,
                            self.interruption)
        try:
            for detector in self._detectors.values():
                playback.receiver(detector)
        except (ValueError, ImportError) as error:
            refuse_receiver(error)
        return playback

    def _say(self, line):
        self._progress.clear()
        self._echo(line)

    def _warn(self, text):
        self._say(click.style("warning: ", fg="yellow") + recording.printable(text))

    def summary(self):
        """Play the recording, print and write the results; return the summary."""
        try:
            with self.interruption:
                return self._summary()
        except BaseException:
            self._outputs.discard()
            raise

    def _summary(self):
        reader = self._reader
        introduce(reader, self._rate, self._say, self._warn)
        for message in reader.checksum_errors():
            reader.notes.append(message)
            self._warn(message)
        known = len(self._truth)
        self._say(f"annotations describe {plural(known, 'transmitted frame')}" if known
                  else "no annotations describe the transmitted frames")
        tallies, rows, unreadable = [], [], None
        for name in self._detectors:
            try:
                tally, row = self._play(name)
            except OSError as error:
                if not tallies:
                    raise
                unreadable = error    # raised below: what earlier detectors decoded is reported
                break
            if row["samples"] or not tallies:
                tallies.append(tally)
                rows.append(row)
            if self.interruption.happened:
                break
        missing = [name for name in self._detectors
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
            self._say("\nNothing was decoded. To find out what the file contains, run\n"
                      f"  mimopack wifi {recording.printable(reader.path)}")
        failure = self._write(summary, tallies)
        if missing:
            why = "Incomplete" if unreadable else "Interrupted"
            self._say(click.style(f"\n{why}: these detectors did not play the whole recording: "
                                  f"{', '.join(missing)}.", fg="yellow"))
        elif self.interruption.happened:
            self._say(click.style("\nInterrupted during the speed measurement: all frames are "
                                  "counted.", fg="yellow"))
        if unreadable is not None:
            raise unreadable
        if failure is not None:
            refuse(str(failure))
        return summary

    def _play(self, name):
        """Play with one detector; return its tally and its row of the table."""
        shown, playback = name == self._show, self._playback
        lines = shown and not self._quiet
        self._say(f"\nFrames with the detector {name}:" if lines else f"Playing with {name}")
        tally, total = Tally(name, self._truth, self._rate), self._reader.num_samples
        start = time.perf_counter()
        with closing(playback.frames(
                self._detectors[name], keep_symbols=shown and self._gallery is not None,
                on_look=lambda searched: self._progress.update(
                    searched / total, f"{name}: {plural(len(tally.frames), 'frame')}"))) as frames:
            for frame in frames:
                tally.add(frame)
                if lines:
                    self._say(frame_line(frame, condition=True))
                if shown:
                    self._outputs.write(frame)
                    if self._gallery is not None:
                        self._gallery.write(frame)
        seconds = time.perf_counter() - start
        self._progress.clear()
        counts, samples = playback.counts, playback.samples
        if counts["failures"]:
            self._warn(f"{plural(counts['failures'], 'failure')} in the receiver; each lost the "
                       "samples that it was processing")
        tally.close(samples, complete=samples == total)
        timed = samples
        if seconds < _TIMED_SECONDS and tally.complete and not self.interruption.happened:
            timed, seconds = playback.time(self._detectors[name],
                                           samples * _TIMED_SECONDS / seconds)
        row = tally.summary()
        row |= {"samples": samples, "flowgraph_samples_per_s": timed / seconds,
                "real_time_factor": timed / seconds / self._rate, "receiver": counts}
        return tally, row

    def _write(self, summary, tallies):
        """Write all files, and print their paths; return an OutputError, or None."""
        written, failure = [], None
        try:
            if any(tally.detector == self._show for tally in tallies):
                self._outputs.close()
            else:
                self._outputs.discard()
                self._warn(f"nothing is listed, drawn or written to --pcap: the detector "
                           f"{self._show} did not play")
        except OutputError as error:
            failure = error
        written += self._outputs.written
        try:
            if self._output is not None:
                written += self._write_folder(summary, tallies)
        except OutputError as error:
            failure = failure or error
        if written:
            self._say("\nwritten: " + recording.printable(", ".join(map(str, written))))
        return failure

    def _write_folder(self, summary, tallies):
        """Write the summary and the pictures; return their paths."""
        with naming("--output", self._output):
            path = self._output / "summary.json"
            with replace_file(path, follow=False) as file:
                file.write(json_rows(summary) + "\n")
            if self._gallery is None or not any(tally.frames for tally in tallies):
                return [path]
            from .pictures import draw

            best = next(iter(self._gallery.best()), None)
            return [path, *draw(summary["detectors"], best, self._output)]


@click.command("play")
@click.argument("path", metavar="RECORDING", type=click.Path(path_type=Path))
@click.option("-d", "--detector", "detectors", multiple=True,
              type=detector_spec(FrameDetectors), metavar=SPEC,
              help=f"MIMO detector: {', '.join(registry.names())}; its parameters may follow, as "
                   "in kbest:k=8. May be given several times. "
                   f"Default: {', '.join(DEFAULT_DETECTORS)}; with --iterations: "
                   f"{', '.join(ITERATING_DETECTORS)}.")
@click.option("--show", type=detector_spec(FrameDetectors), metavar=SPEC,
              help="Detector whose frames are listed, drawn and written to --pcap, one of those "
                   "that play. Default: the last.")
@click.option("--allow-outside", is_flag=True, help=ALLOW_OUTSIDE)
@click.option("-q", "--quiet", is_flag=True, help="Print no line per frame.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False),
              default=DEFAULT_OUTPUT, show_default=True, metavar="FOLDER",
              help="Folder for summary.json and the pictures.")
@click.option("--pictures/--no-pictures", default=True, show_default=True,
              help="Draw what each detector decodes, and the constellation and channel of one "
                   "frame.")
@click.option("--pcap", type=click.Path(path_type=Path), metavar="FILE",
              help="Write MPDUs with radiotap headers for Wireshark; FILE may be a FIFO.")
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
              metavar="NAME", help=f"Where the detectors run: {BACKEND}")
@click.option("--iterations", type=click.IntRange(1, 1000), default=1, show_default=True,
              metavar="N", help=ITERATIONS)
@click.pass_context
def play_command(context, path, **options):
    """Compare MIMO detectors on the Wi-Fi frames of the SigMF recording RECORDING.

    Play the recording through a GNU Radio flowgraph once for each detector. List the frames of one
    detector, and print a table of frames found and decoded, packet error rate (PER) and speed. If
    annotations describe the transmitted frames, count errors against them.

    Ctrl-C ends the command with a table of the frames decoded so far.

    Exit status: 0 if a frame was decoded, 1 if none was, 2 if the recording or an option was
    refused, 130 after Ctrl-C.
    """
    if (DEFAULT_OUTPUT.is_symlink()
            and context.get_parameter_source("output") is ParameterSource.DEFAULT):
        refuse(f"--output: {DEFAULT_OUTPUT} is a symbolic link: name a folder")
    try:
        run = _Run(path, **options)
        summary = run.summary()
    except (OSError, RuntimeError) as error:
        refuse(str(error))
    if run.interruption.happened:
        context.exit(STATUS)
    context.exit(0 if any(row["frames_decoded"] for row in summary["detectors"]) else 1)
