# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi``: its options, and a run over a recording or a radio."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import click

from ... import detectors as registry
from ... import recording
from ...checks import MOST_THREADS
from ...detectors.parameters import BACKENDS
from ...files import replace_file
from ...wifi.auto_detector import AUTO, LADDER, check_name
from ...wifi.frame_detectors import FrameDetectors
from ...wifi.he_trigger import read_trigger, trigger_of
from ...wifi.receiver import DEFAULT_DETECTOR
from ...wifi.synchroniser import MAX_RX
from ...wifi.whitening import WHITENINGS
from ..clusters import scheduler_options
from ..interrupt import STATUS, interruptible
from ..options import (
    ADDRESS,
    ALLOW_OUTSIDE,
    BACKEND,
    DATATYPE,
    GAINS,
    ITERATIONS,
    NAMES,
    NUMBER,
    SPEC,
    FiniteRange,
    HeadedCommand,
    Parsed,
    detector_spec,
    heading,
)
from ..progress import Progress
from .outputs import OutputError, Outputs, make_folder, naming
from .reading import RATES, open_reader, refuse, refuse_receiver, refuse_without_blocks
from .recorded import RecordedFrames
from .watch import Watch
from .words import frame_line

_RADIO_OPTIONS = ("gain", "bandwidth", "antenna_names", "clock_source", "time_source", "correction",
                  "duration", "record", "keep")


def _check_detector(text):
    """Raise ValueError for a text that is no detector with parameters, nor "auto"."""
    check_name(text)
    if text != AUTO:
        FrameDetectors(text)


_input = heading("Input")
_radio = heading("Radio (only with --radio)")


def _read_trigger(path):
    """Return the dictionary of --he-trigger; raise ValueError for what is no such file."""
    values = read_trigger(path)
    trigger_of(values)
    return values


_decoding = heading("Detection and decoding")
_output = heading("Output files")
_display = heading("Display")


@click.command("wifi", cls=HeadedCommand)
@click.argument("paths", metavar="[RECORDING]...", nargs=-1)
@_input("--radio", metavar="DEVICE",
        help="Receive from a radio in place of a RECORDING: driver=NAME[,ARGUMENTS] in the syntax "
             "of SoapySDR, or driver=uhd[,ARGUMENTS] for UHD.")
@_input("--frequency", type=NUMBER,
        help="Centre frequency, such as 5180e6 or 5.18G. A radio is tuned to it; with a RECORDING "
             "it only appears in reports.")
@_input("--rate", type=NUMBER,
        help=f"Sample rate: {RATES}, such as 20e6 or 20M. A RECORDING of another rate above 20 "
             "MS/s is resampled. Default: from the metadata; 20 MS/s with --radio.")
@_input("--channels", "--antennas", "channels", type=click.IntRange(1, MAX_RX), metavar="N",
        help="Number of receive antennas; both names mean the same. A file of raw samples has one "
             "sample of each antenna in turn. Default: from the metadata, or 1.")
@_input("--format", "datatype", type=DATATYPE,
        help=f"Sample format: {', '.join(recording.DATATYPES)}, or a short form such as ci16. "
             "Default: from the metadata, or from the ending of the file's name: "
             f".{', .'.join(sorted({'ci8', 'cu8', *recording.ALIASES}))}. With --radio: the format "
             "of --record, ci16_le by default.")
@_input("--swap-iq", is_flag=True,
        help="Exchange I and Q of a RECORDING, whose spectrum is mirrored.")
@_input("--align", is_flag=True,
        help="Correct constant delays and carrier offsets between the antennas of a RECORDING, as "
             "measured from frames that each antenna finds by itself.")
@_input("--allow-outside", is_flag=True, help=ALLOW_OUTSIDE)
@_radio("--gain", metavar="DB", type=GAINS,
        help="Gain in dB, one for all antennas or one for each, separated by commas, or auto. "
             "Default: the device's setting.")
@_radio("--bandwidth", type=NUMBER,
        help="Bandwidth of the analogue filters, such as 20e6 or 20M. Default: the device's "
             "setting.")
@_radio("--antenna-names", metavar="NAMES", type=NAMES,
        help="Antenna ports of the device, such as RX2; one for all antennas or one for each, "
             "separated by commas.")
@_radio("--clock-source", metavar="NAME",
        help="Reference clock, such as internal, external or gpsdo.")
@_radio("--time-source", metavar="NAME",
        help="Time source. Unless the source is internal, the device's clock is set at a pulse of "
             "its PPS signal, and several devices start together.")
@_radio("--correction/--no-correction", default=None,
        help="Let the device correct DC offset and IQ imbalance if it can. Default: yes.")
@_radio("--duration", type=FiniteRange(0, min_open=True), metavar="SECONDS",
        help="End after this many seconds of samples.")
@_radio("--record", type=click.Path(path_type=Path), metavar="FILE",
        help="Also write the samples to SigMF, with an annotation for each frame.")
@_radio("--keep", type=FiniteRange(0, min_open=True), metavar="SECONDS",
        help="With --record: keep only the last seconds, in memory, and write them to FILE-001, "
             "FILE-002 and so on at the signal SIGUSR1 or the Enter key.")
@_decoding("-d", "--detector", type=detector_spec(_check_detector),
           default=DEFAULT_DETECTOR, show_default=True, metavar=SPEC,
           help=f"MIMO detector: {', '.join(registry.names())}; its parameters may follow, as in "
                f"kbest:k=8. Or {AUTO}: the strongest of {', '.join(LADDER)} that keeps up with "
                f"--radio, {LADDER[0]} for a RECORDING ({DEFAULT_DETECTOR} if {LADDER[0]} would "
                "take too long).")
@_decoding("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
           metavar="NAME", help=f"Where the detector runs: {BACKEND}")
@_decoding("--whitening", type=click.Choice(WHITENINGS), default="antennas", show_default=True,
           metavar="NAME",
           help="antennas divides each antenna by its own noise; covariance also removes noise "
                "that antennas have in common, such as interference.")
@_decoding("--passes", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N",
           help="Maximum number of times a frame is decoded. Decoded bits train the next pass.")
@_decoding("--iterations", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N",
           help=ITERATIONS)
@_decoding("--he-trigger", type=Parsed("file", _read_trigger), metavar="FILE",
           help="What the Trigger frame has asked of HE TB frames, a JSON object: docs/wifi.md.")
@_decoding("--threads", type=click.IntRange(0, MOST_THREADS), metavar="N",
           help="Number of threads that decode frames; 0 uses all cores. Default: 0; with "
                "--scheduler 1.")
@scheduler_options
@_output("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE",
         help="Write the frames as a list of JSON objects.")
@_output("--csi", "csi_path", type=click.Path(path_type=Path), metavar="FILE",
         help="Write channel matrices: HDF5 if the name ends in .h5 or .hdf5, "
              "a NumPy file if it ends in .npz.")
@_output("--pcap", "pcap_path", type=click.Path(path_type=Path), metavar="FILE",
         help="Write MPDUs for Wireshark, with radiotap headers; FILE may be a FIFO.")
@_output("--full-scale-dbm", type=FiniteRange(-1000, 1000), default=0.0, metavar="DBM",
         help="Power at the antenna, in dBm, of samples of magnitude 1, for the signal levels in "
              "--pcap. Without it, the levels are in dBFS.")
@_output("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
         help="Write summary.json and pictures to this folder.")
@_output("--pictures/--no-pictures", default=True, show_default=True,
         help="With --output: draw constellations and channels of the best frames, and SNR and "
              "EVM over time.")
@_display("-q", "--quiet", is_flag=True, help="Print no line per frame.")
@_display("--view", is_flag=True,
          help="Show live statistics of the frames on the terminal in place of lines.")
@_display("--metrics", type=ADDRESS, metavar="[HOST:]PORT",
          help="Serve the same statistics to Prometheus on this port. HOST is 127.0.0.1 by "
               "default, which other machines cannot reach.")
@click.pass_context
def wifi_command(context, paths, json_path, csi_path, pcap_path, full_scale_dbm, output, pictures,
                 quiet, view, metrics, radio, scheduler, **options):
    """Decode the Wi-Fi frames of RECORDING or of a radio: 802.11a/g/p, n, ac, ax and be.

    RECORDING is a SigMF recording (its metadata file, its data file, or a collection), or a file of
    raw samples. For raw samples, give --rate, --format and --channels. For SigMF, these options and
    --frequency replace the metadata.

    With --scheduler, there may be several: a Dask cluster decodes them, and writes NAME.json,
    NAME.pcap and summary.json to the folder of --output.

    A radio needs --radio and --frequency. Without --rate and --antennas, it receives 20 MS/s from
    one antenna.

    The command prints a line for each frame as it comes, and a table at the end. The table has the
    frames of each format, the share of correct frame check sequences (FCS), and the reasons why
    frames were lost.

    \b
    Examples:
      mimopack wifi capture.sigmf-meta --json frames.json
      mimopack wifi capture.cs16 --rate 20e6 --channels 2 --frequency 5.18G
      mimopack wifi --radio driver=uhd --frequency 5.18G --antennas 2 --gain 40
      mimopack wifi captures/*.sigmf-meta --scheduler local -o decoded
    Frames in Wireshark as they are decoded:
      mkfifo live.pcap; wireshark -k -i live.pcap &
      mimopack wifi capture.sigmf-meta --pcap live.pcap

    The list of --json has an object for each frame whose signal field was found, decoded or not.
    Its keys are start (first sample of the preamble), format (such as non-ht, vht or he-su),
    mcs (for non-ht the rate in Mbit/s), num_streams, stbc, bandwidth_mhz, short_gi, coding (bcc or
    ldpc), length (bytes), cfo_hz, snr_db, psdu (hex), mpdus (hex with the FCS, fcs_ok), complete
    (whether all MPDUs were found and are correct), problem (why the frame was not decoded, or
    empty), and more, which docs/wifi.md lists. With --radio, rx_time is the time of the frame:
    whole seconds since 1970, and a fraction.

    Ctrl-C ends the command; all files hold what was decoded so far.

    Exit status: 0 if at least one MPDU had a correct FCS, 1 if none had, 2 if the recording or an
    option was refused, if the radio sent no sample for 5 seconds, or if samples of --duration were
    not processed for as long, 130 after Ctrl-C.
    """
    try:
        with interruptible():
            cluster = scheduler.address is not None
            if options["threads"] is None:
                options["threads"] = int(cluster)
            if cluster:
                for name, given in (("radio", radio), ("json", json_path), ("csi", csi_path),
                                    ("pcap", pcap_path), ("view", view), ("metrics", metrics)):
                    if given:
                        raise click.UsageError(f"--{name}: not with --scheduler")
                status = _on_cluster(scheduler, paths, output, full_scale_dbm, options)
            else:
                watch = Watch(view, metrics)
                gallery = _gallery() if output is not None and pictures else None
                source = _source(paths, radio, options, keep_symbols=gallery is not None)
                status = _Report(source, watch, gallery, output, quiet).run(
                    {"--json": json_path, "--csi": csi_path, "--pcap": pcap_path},
                    full_scale_dbm, options["detector"])
    except KeyboardInterrupt:
        Progress().clear()
        click.echo("\nIncomplete: interrupted.", err=True)
        status = STATUS
    context.exit(status)


def _on_cluster(scheduler, paths, folder, full_scale_dbm, options):
    """Decode recordings on a cluster; return the exit status."""
    from .folder import decode_all

    _refuse_radio_options(options)
    if not paths or folder is None:
        raise click.UsageError("--scheduler needs a RECORDING, and --output FOLDER")
    reading = {name: options.pop(name)
               for name in ("rate", "datatype", "channels", "frequency", "allow_outside")}
    try:
        if options["detector"] != AUTO:
            FrameDetectors(options["detector"], options["iterations"])
    except ValueError as error:
        refuse_receiver(error)
    try:
        with scheduler.client() as client:
            return decode_all(client, paths, folder, reading, options, full_scale_dbm, Progress())
    except (ValueError, ImportError, OSError) as error:
        refuse(str(error))


def _refuse_radio_options(options):
    """Remove the options of a radio from ``options``; refuse those that are given."""
    for name in _RADIO_OPTIONS:
        if options.pop(name) is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} is an option of --radio")


def _source(paths, radio, options, keep_symbols):
    """Return the ``FrameSource`` of a recording or a radio."""
    if bool(paths) == (radio is not None):
        raise click.UsageError("give a RECORDING, or a radio with --radio DEVICE --frequency HZ"
                               + (", not both" if paths else ""))
    if len(paths) > 1:
        raise click.UsageError(
            f"got a second RECORDING, {paths[1]}: several need --scheduler, such as "
            "--scheduler local. If each file holds an antenna of one recording, put them "
            "into one file first (docs/recordings.md, One file for each antenna)")
    options = options | {"keep_symbols": keep_symbols}
    reading = {name: options.pop(name)
               for name in ("rate", "datatype", "channels", "frequency", "allow_outside")}
    try:
        return (_recorded(Path(paths[0]), reading, options) if radio is None
                else _received(radio, reading, options))
    except (ValueError, ImportError) as error:
        refuse_receiver(error)
    except RuntimeError as error:    # GNU Radio has not made the flowgraph
        refuse(str(error))


def _recorded(path, reading, options):
    _refuse_radio_options(options)
    reader, sample_rate = open_reader(path, **reading, resample=True)
    return RecordedFrames(reader, sample_rate, **options)


def _received(device, reading, options):
    refuse_without_blocks("--radio")
    from .live import RadioFrames
    from .radio import RadioSettings, open_radio

    settings = {name: options.pop(name) for name in _RADIO_OPTIONS}
    for name, given in (("allow-outside", reading["allow_outside"]),
                        ("swap-iq", options.pop("swap_iq")), ("align", options.pop("align"))):
        if given:
            raise click.UsageError(f"--{name} is an option of a RECORDING")
    if reading["frequency"] is None:
        raise click.UsageError("--radio needs --frequency, such as 5.18G")
    for name, given in (("keep", settings["keep"]), ("format", reading["datatype"])):
        if given is not None and settings["record"] is None:
            raise click.UsageError(f"--{name}: with --radio, this option needs --record")
    recorded = {name: settings.pop(name) for name in ("record", "keep")}
    seconds = settings.pop("duration")
    correction = settings.pop("correction")
    radio = open_radio(RadioSettings(
        device, reading["frequency"], reading["rate"] or 20e6, reading["channels"] or 1,
        correction=correction is not False, **settings))
    return RadioFrames(radio, seconds, datatype=reading["datatype"] or "ci16_le", **recorded,
                       **options)


def _gallery():
    from .pictures import Gallery

    return Gallery()


class _Flushing(Progress):
    """Progress line that comes after all lines printed before."""

    def __init__(self, flush):
        super().__init__()
        self._flush = flush

    def update(self, share, text):
        self._flush()
        super().update(share, text)


class _Report:
    """Receive the frames of a source, and report them.

    Args:
        source: ``FrameSource``.
        watch: ``Watch``.
        gallery: ``pictures.Gallery`` for the folder, or None.
        folder: folder for summary.json and the pictures, or None.
        quiet: whether to print no line per frame.
    """

    def __init__(self, source, watch, gallery, folder, quiet):
        self._source, self._watch, self._gallery = source, watch, gallery
        self._folder, self._quiet = folder, quiet
        self._outputs = Outputs()
        self._progress = _Flushing(lambda: self._to_stdout(sys.stdout.flush))
        self._stdout_closed, self._colours = False, sys.stdout.isatty()

    def run(self, paths, full_scale_dbm, detector):
        """Report all frames; return the exit status.

        Args:
            paths, full_scale_dbm: as for ``Outputs.open``.
            detector: name of the detector.
        """
        source, outputs = self._source, self._outputs
        self._writes_files = self._folder is not None or any(paths.values())
        try:
            source.introduce(self._say, self._warn)
            if self._folder is not None:
                make_folder(self._folder)
            outputs.open(paths, source.own_files, source.start_time, self._warn, full_scale_dbm)
        except BaseException as error:
            outputs.discard()
            source.discard()
            if isinstance(error, (OutputError, ValueError)):
                refuse(str(error))
            raise
        failure, interrupted = None, False
        try:
            self._receive(detector)
        except KeyboardInterrupt:
            interrupted = True
        except click.ClickException:    # the radio does not have a setting
            outputs.discard()
            raise
        except BrokenPipeError:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            failure = error    # keep the frames decoded so far
        self._progress.clear()
        try:
            outputs.close()
        except OutputError as error:
            failure = failure or error
        except KeyboardInterrupt:    # another Ctrl-C, while a file blocks
            outputs.discard()
            raise
        written = [*outputs.written, *source.written]
        for line in source.summary.table() + source.remarks(self._progress):
            self._say(line)
        try:
            written += self._write_folder()
        except OutputError as error:
            failure = failure or error
        for words, files in (("written", written), ("not complete", outputs.left)):
            if files:
                self._say(f"\n{words}: " + recording.printable(", ".join(map(str, files))))
        if not source.complete:
            self._say(click.style(f"\n{source.ending(failure)}", fg="yellow"))
        if failure is not None:
            refuse(str(failure))
        if interrupted:
            return STATUS
        return 0 if source.summary.total.mpdus_ok else 1

    def _receive(self, detector):
        """Hand each frame to everything that takes frames."""
        takers = [self._outputs.write, self._watch.write]
        if self._gallery is not None:
            takers.append(self._gallery.write)
        with self._watch.over(self._source, detector, self._say):
            if not self._quiet and self._watch.view is None:
                takers.append(self._print)
            progress = self._watch.view or self._progress
            with closing(self._source.frames(progress)) as frames:
                for frame, time in frames:
                    for take in takers:
                        take(frame, time)

    def _write_folder(self):
        """Write summary.json and the pictures; return their paths."""
        if self._folder is None:
            return []
        path = self._folder / "summary.json"
        with naming("--output", self._folder):
            with replace_file(path, follow=False) as file:
                file.write(json.dumps(self._source.as_json(), indent=1) + "\n")
            return [path, *(self._gallery.draw(self._folder) if self._gallery else ())]

    def _print(self, frame, time):
        """Print a frame's line. It reaches a pipe or file with the next progress or message."""
        self._progress.clear()
        line = frame_line(frame, self._colours)
        self._to_stdout(lambda: sys.stdout.write(line + "\n"))

    def _say(self, line):
        if self._watch.view is not None:
            self._watch.view.note(line)
            return
        self._progress.clear()
        self._to_stdout(lambda: click.echo(line))

    def _to_stdout(self, write):
        if self._stdout_closed:
            return
        try:
            write()
        except BrokenPipeError:    # such as after "| head": the files are still written
            self._stdout_closed = True
            if not self._writes_files:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _warn(self, text):
        self._say(click.style("warning: ", fg="yellow") + recording.printable(text))
