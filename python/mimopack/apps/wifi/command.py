# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi``: options, and the run over a recording."""

import json
import math
import os
import sys
from pathlib import Path

import click

from ... import detectors as registry
from ... import recording, wifi
from ...detectors.parameters import BACKENDS
from ...wifi.receiver import DEFAULT_DETECTOR
from ...wifi.synchroniser import MAX_RX
from ...wifi.whitening import WHITENINGS
from ..interrupt import STATUS, Interrupt
from ..progress import Progress
from .hints import Levels, search
from .opening import RATES, introduce, open_reader, own_files, refuse, refuse_receiver
from .outputs import (
    CsiFile,
    JsonFile,
    OutputError,
    Outputs,
    PcapFile,
    is_fifo,
    make_folder,
    naming,
)
from .summary import Summary
from .words import duration, frame_line, plural

_PIECE = 1 << 20    # samples of each antenna that the receiver gets at a time
# What to do where all frames have a reason with these words.
_ADVICE = {
    "but the frame has": "The frames have more streams than the recording has channels: are there "
                         "recordings of more antennas (--channels)?",
    "cannot detect": f"Another detector (--detector) takes these frames, such as "
                     f"{DEFAULT_DETECTOR}.",
    "failed: ": "The program failed on each of these frames: the error above says where."}


class _Number(click.ParamType):
    """A positive number, such as 20e6 or 20M."""

    name = "HZ"
    _FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9}

    def convert(self, value, param, context):
        """Return the number as a float."""
        text = str(value)
        factor = self._FACTORS.get(text[-1:], 1.0)
        try:
            number = float(text if factor == 1.0 else text[:-1]) * factor
        except ValueError:
            number = math.nan
        if not 0 < number < 1e15:
            self.fail(f"got {value!r}, must be a positive number of Hz, such as 20e6 or 20M",
                      param, context)
        return number


class _Format(click.ParamType):
    """A datatype of ``recording``, or what other programs call it."""

    name = "NAME"

    def convert(self, value, param, context):
        """Return the datatype's name."""
        try:
            return recording.get_datatype(value).name
        except ValueError:
            self.fail(f"got {value!r}, allowed are {', '.join(recording.DATATYPES)} (and short: "
                      "cf32, ci16, cs16 ...)", param, context)


def open_outputs(outputs, reader, json_path, csi_path, pcap_path, full_scale_dbm, folder, warn,
                 interrupt):
    """Open all files before anything is decoded, and add them to ``Outputs``.

    Raises:
        Refusal: one cannot be written, or two are the same.
    """
    given = {name: path for name, path in (("--json", json_path), ("--csi", csi_path),
                                           ("--pcap", pcap_path)) if path is not None}
    taken = {os.path.realpath(path): "the recording" for path in own_files(reader)}
    for name, path in given.items():
        other = taken.setdefault(os.path.realpath(path), name)
        if other != name:
            refuse(f"{name}: {path} is the recording too" if other == "the recording"
                   else f"{name}: {other} writes to {path} already")
    try:
        if folder is not None:
            make_folder(folder)
        for name, path in given.items():
            if is_fifo(path):
                warn(f"{path} waits for a reader"
                     + f", such as wireshark -k -i {path}" * (name == "--pcap"))
            with interrupt.allowed(), naming(name, path):
                outputs.add(name, JsonFile(path) if name == "--json" else
                            CsiFile(path) if name == "--csi" else
                            PcapFile(path, reader.start_time, warn, full_scale_dbm))
    except OutputError as error:
        outputs.discard()
        refuse(str(error))
    except KeyboardInterrupt:
        outputs.discard()
        raise


class Run:
    """A recording through the receiver.

    Args:
        reader: ``recording.Reader`` or ``recording.RawReader``.
        sample_rate: that the receiver takes.
        on_frame: called with each frame.
        gallery: ``pictures.Gallery`` or None.
        options: further arguments of the receiver.

    Attributes:
        summary, levels, counts: what was found so far.
        complete: whether all samples were searched.

    Raises:
        ValueError, ImportError: as ``wifi.Receiver``.
    """

    def __init__(self, reader, sample_rate, on_frame, gallery=None, **options):
        self._reader, self._on_frame, self._gallery = reader, on_frame, gallery
        self.sample_rate = sample_rate
        self._receiver = wifi.Receiver(
            reader.num_channels, sample_rate, reader.frequency,
            keep_symbols=gallery is not None, **options)
        self.summary = Summary()
        self.levels = Levels(reader.num_channels, reader.largest)
        self.complete = False

    @property
    def counts(self):
        """The receiver's counts."""
        return self._receiver.counts

    @property
    def samples(self):
        """Samples of each channel that were searched."""
        return self.levels.samples

    def decode(self, interrupt, progress):
        """Decode the recording.

        Raises:
            KeyboardInterrupt: Ctrl-C; what was counted and written before stays.
        """
        pieces = self._reader.pieces(_PIECE)
        while True:
            self._show(progress)
            with interrupt.allowed():
                piece = next(pieces, None)
                frames = (self._receiver.finish() if piece is None
                          else self._receiver.process(piece))
            if piece is not None:
                self.levels.add(piece)
            if frames:
                progress.clear()
            for frame in frames:
                self.summary.add(frame)
                if self._gallery is not None:
                    self._gallery.add(frame)
                self._on_frame(frame)
            if piece is None:
                break
        self.complete = True

    def _show(self, progress):
        total = self._reader.num_samples
        progress.update(self.samples / total,
                        f"{duration(self.samples, self.sample_rate)} of "
                        f"{duration(total, self.sample_rate)}, "
                        f"{plural(self.summary.total.frames, 'frame')}, "
                        f"{self.summary.total.mpdus_ok} MPDUs with a good FCS")

    def as_json(self):
        """Return a dictionary for summary.json."""
        reader = self._reader
        return {
            "recording": str(reader.path), "description": reader.description,
            "notes": reader.notes, "complete": self.complete,
            "channels": reader.num_channels, "datatype": reader.datatype,
            "sample_rate": self.sample_rate, "frequency": reader.frequency,
            "samples": reader.num_samples, "samples_searched": self.samples,
            "preambles": self.counts["preambles"], **self.levels.as_json(),
            **self.summary.as_json()}


def hints(run, reader, interrupt, progress):
    """Return lines that say what to check where no MPDU was good."""
    total = run.summary.total
    channels = plural(reader.num_channels, "channel")
    lines = ["", f"Searched {run.samples} samples of {channels} at {run.sample_rate / 1e6:g} MS/s "
                 f"for non-HT, HT and VHT frames; found "
                 f"{plural(run.counts['preambles'], 'preamble')} and "
                 f"{plural(total.frames, 'frame')}, no MPDU with a good frame check sequence."]
    lines += run.levels.remarks()
    if run.levels.silent:
        return lines
    for words, advice in _ADVICE.items():
        if total.frames and total.frames == sum(count for reason, (count, _)
                                                in run.summary.losses.items() if words in reason):
            return [*lines, advice]
    with interrupt.allowed():
        fits, said = search(reader, run.sample_rate, run.levels, lambda share: progress.update(
            share, "looking for another reading of the file"))
    progress.clear()
    if not total.frames and not fits:
        lines.append("No Wi-Fi frames found under any reading tried.")
    lines += said
    if total.frames and not fits:
        lines.append(f"Is the SNR (mean {total.snr_sum / total.frames:.1f} dB) enough? Were "
                     "samples lost while recording?")
    elif not fits:
        lines.append("Are the sample rate (--rate), the format (--format) and the channels "
                     "(--channels) those that were recorded? Is the recording of OFDM Wi-Fi at "
                     "the centre of one of its channels?")
    return lines


@click.command("wifi")
@click.argument("path", metavar="RECORDING", type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the frames as a list of JSON objects.")
@click.option("--csi", "csi_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write channel matrices: HDF5 where the name ends in .h5 or .hdf5, "
                   "NumPy's file where in .npz.")
@click.option("--pcap", "pcap_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Write MPDUs for Wireshark, with radiotap headers; FILE may be a FIFO.")
@click.option("--full-scale-dbm", type=float, default=0.0, metavar="DBM",
              help="Power at the antenna that gives samples of magnitude 1, for the signal levels "
                   "in --pcap. Without it they are in dBFS.")
@click.option("-d", "--detector", type=click.Choice(list(registry.REGISTRY)),
              default=DEFAULT_DETECTOR, show_default=True,
              metavar="NAME", help=f"MIMO detector: {', '.join(registry.REGISTRY)}.")
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
              help="Where the detector runs.")
@click.option("--whitening", type=click.Choice(WHITENINGS), default="antennas", show_default=True,
              help="Divide each antenna by its own noise, or also remove what noise antennas have "
                   "in common, as an interferer's.")
@click.option("--passes", type=click.IntRange(1, 100), default=3, show_default=True,
              help="How often a frame is decoded at most; what was decoded trains the next pass.")
@click.option("--iterations", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="Turns of detector and decoder at most, for frames of several streams with an "
                   "LDPC code.")
@click.option("--threads", type=click.IntRange(0, 1024), default=1, show_default=True,
              help="Threads that decode frames at the same time; 0 takes all cores. More than 1 "
                   "pays where detection is most of the work, as with four streams of 64-QAM.")
@click.option("--rate", type=_Number(), help=f"Sample rate: {RATES} MS/s, as 20e6 or 20M.")
@click.option("--format", "datatype", type=_Format(),
              help=f"Sample format: {', '.join(recording.DATATYPES)}; also short, as ci16. "
                   "Default: by the metadata, or by the ending of the file's name: "
                   f".{', .'.join(sorted({'ci8', 'cu8', *recording.ALIASES}))}.")
@click.option("--channels", type=click.IntRange(1, MAX_RX),
              help="Antennas, interleaved sample by sample. Default: by the metadata, or 1.")
@click.option("--frequency", type=_Number(),
              help="Centre frequency, for the reports, as 5180e6 or 5.18G.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Write summary.json and pictures there.")
@click.option("--pictures/--no-pictures", default=True, show_default=True,
              help="With --output: draw constellations and channels of the best frames, and SNR "
                   "and EVM over time.")
@click.option("-q", "--quiet", is_flag=True, help="No line per frame.")
@click.pass_context
def wifi_command(context, path, json_path, csi_path, pcap_path, full_scale_dbm, rate, datatype,
                 channels, frequency, output, pictures, quiet, **receiver):
    """Decode the Wi-Fi frames of RECORDING: 802.11a/g/p, n and ac, 1 to 4 streams.

    RECORDING is SigMF (the metadata or the data file, or a collection), or a file of raw samples,
    described by --rate, --format and --channels. Options override metadata.

    Prints a line for each frame as it comes, and a table at the end: frames of each format, the
    share of good frame check sequences (FCS), and why frames were lost.

    \b
    Examples:
      mimopack wifi capture.sigmf-meta --json frames.json
      mimopack wifi capture.cs16 --rate 20e6 --channels 2 --frequency 5.18G
      mkfifo live.pcap; wireshark -k -i live.pcap & mimopack wifi capture --pcap live.pcap

    The JSON list has for each frame that was announced: start (first sample of the preamble),
    format (non-ht, ht or vht), mcs (of non-ht the rate in Mbit/s), num_streams, stbc,
    bandwidth_mhz, short_gi, coding (bcc or ldpc), length (bytes), cfo_hz, snr_db, psdu (hex),
    mpdus (hex with the FCS, fcs_ok), complete (whether these are all MPDUs, and good), problem
    (why it was not decoded, else empty), and more measurements.

    Ctrl-C ends the command; all files hold what was decoded so far.

    Exit status: 0 where at least one MPDU had a good FCS, 1 where none had, 2 where the recording
    or an option was refused, 130 after Ctrl-C.
    """
    with Interrupt() as interrupt:
        try:
            status = _run(interrupt, path, (json_path, csi_path, pcap_path), full_scale_dbm,
                          (rate, datatype, channels, frequency), output, pictures, quiet, receiver)
        except KeyboardInterrupt:
            Progress().clear()
            click.echo("\nIncomplete: interrupted.", err=True)
            status = STATUS
    context.exit(status)


def _run(interrupt, path, paths, full_scale_dbm, overrides, folder, pictures, quiet, receiver):
    """Decode and report; returns the exit status."""
    progress = Progress()

    outputs = Outputs()
    stdout_closed = False

    def say(line):
        nonlocal stdout_closed
        if stdout_closed:
            return
        progress.clear()
        try:
            click.echo(line)
        except BrokenPipeError:    # such as of "| head": files are written nevertheless
            stdout_closed = True
            if not any(paths) and folder is None:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def warn(text):
        say(click.style("warning: ", fg="yellow") + recording.printable(text))

    with interrupt.allowed():
        reader, sample_rate = open_reader(path, *overrides)
    gallery = None
    if folder is not None and pictures:
        from .pictures import Gallery

        gallery = Gallery()

    def on_frame(frame):
        outputs.write(frame)
        if not quiet:
            say(frame_line(frame))

    try:
        run = Run(reader, sample_rate, on_frame, gallery, **receiver)
    except (ValueError, ImportError) as error:
        refuse_receiver(error)
    introduce(reader, sample_rate, say, warn)
    open_outputs(outputs, reader, *paths, full_scale_dbm, folder, warn, interrupt)
    failure = None
    try:
        if isinstance(reader, recording.Reader):
            with interrupt.allowed():
                progress.update(0, "comparing checksums")
                for message in reader.checksum_errors():
                    reader.notes.append(message)
                    warn(message)
        run.decode(interrupt, progress)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        raise
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        failure = error    # what was decoded before is kept
    progress.clear()
    try:
        outputs.close()
    except OutputError as error:
        failure = failure or error
    except KeyboardInterrupt:    # a later one, as a file takes nothing
        outputs.discard()
        raise
    for line in run.summary.table():
        say(line)
    written = outputs.written
    if run.summary.total.mpdus_ok and run.summary.losses:
        for line in run.levels.remarks()[1:]:
            say(f"note: {line}")
    if failure is None and run.complete and not run.summary.total.mpdus_ok:
        try:
            for line in hints(run, reader, interrupt, progress):
                say(recording.printable(line))
        except KeyboardInterrupt:
            pass
    if folder is not None:
        try:
            with naming("--output", folder):
                for one in _write_folder(run, gallery, folder):
                    written.append(one)
        except OutputError as error:
            failure = failure or error
    if written:
        say("\nwritten: " + recording.printable(", ".join(map(str, written))))
    if outputs.left:
        say("\nnot complete: " + recording.printable(", ".join(map(str, outputs.left))))
    if not run.complete:
        share = 100 * run.samples / reader.num_samples
        say(click.style(
            f"\nIncomplete: broken off within the first {run.samples} of {reader.num_samples} "
            "samples." if failure else
            f"\nIncomplete: interrupted after {run.samples} of {reader.num_samples} samples "
            f"({share:.0f} %).", fg="yellow"))
    if failure is not None:
        refuse(str(failure))
    if interrupt.happened:
        return STATUS
    return 0 if run.summary.total.mpdus_ok else 1


def _write_folder(run, gallery, folder):
    """Write summary.json and the pictures; yields their paths."""
    path = folder / "summary.json"
    path.write_text(json.dumps(run.as_json(), indent=1) + "\n", encoding="utf-8")
    yield path
    if gallery is not None:
        yield from gallery.draw(folder)
