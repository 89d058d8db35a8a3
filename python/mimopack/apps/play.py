# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack play``: a recording through the receiver, one detector after another."""

import json
import os
import time
from pathlib import Path

import click
import numpy as np

from .. import detectors as registry
from .. import ofdm, recording
from ..detectors.parameters import BACKENDS
from . import pictures as drawing
from .machine import describe
from .tally import Tally, Truth

DEFAULT_DETECTORS = ("zf", "mmse", "nway", "mla")
# With iterations: they take a-priori LLRs.
ITERATING_DETECTORS = ("mmsepic", "nway", "mla")
# The speed of a flowgraph is taken over about so long, a short recording played again and again.
_TIMED_SECONDS = 2.0
_DETECTOR_SECONDS = 0.3


def read_parameters(reader, overrides):
    """``ofdm.Parameters`` from a recording's metadata and what overrides it.

    Raises:
        ValueError: the metadata lacks something that is not given either, or a value is refused.
    """
    known = recording.read_format(reader.global_info)
    known |= {name: value for name, value in overrides.items() if value is not None}
    missing = [name for name in ("num_tx", "constellation", "code_rate", "payload_length")
               if name not in known]
    if missing:
        raise ValueError(f"{', '.join(missing)}: {reader.path.name} does not say (no field "
                         f"mimopack:{missing[0]}): give it")
    if f"wlan_{known['constellation']}" in ofdm.CONSTELLATIONS:
        raise ValueError(f"constellation: got {known['constellation']!r}, whose bits are labelled "
                         "otherwise than this waveform's: "
                         f"wlan_{known['constellation']} is meant")
    return ofdm.Parameters(**known)


def detector_rate(name, parameters, num_rx, frames, backend="auto"):
    """Vectors per second of a detector by itself on a recording's vectors, all cores."""
    detector = registry.create(name, num_tx=parameters.num_tx, num_rx=num_rx,
                               constellation=parameters.constellation, backend=backend)
    y = np.concatenate([frame.y for frame in frames])
    h = np.concatenate([frame.h for frame in frames])
    noise_var = np.concatenate([np.full(len(frame.y), frame.information["noise_var"], np.float32)
                                for frame in frames])
    out = detector.detect(y, h, noise_var)
    rates, end = [], time.perf_counter() + _DETECTOR_SECONDS
    while not rates or time.perf_counter() < end:
        start = time.perf_counter()
        detector.detect(y, h, noise_var, out=out)
        rates.append(len(y) / (time.perf_counter() - start))
    return float(np.median(rates))


def format_packet(line, sample_rate):
    """A packet's line on the terminal."""
    crc = click.style("ok", fg="green") if line.crc_ok else click.style("failed", fg="red")
    return (f"packet {line.number:4d}  sample {line.start:9d}  "
            f"{1e3 * line.start / sample_rate:9.3f} ms  SNR {line.snr_db:5.1f} dB  "
            f"condition {line.condition_db:5.1f} dB  offset {line.cfo / 1e3:+7.2f} kHz  CRC {crc}")


def play(path, detectors=(), output=Path("demo-output"), show=None, quiet=False, pictures=True,
         backend="auto", iterations=1, echo=click.echo, **overrides):
    """Play a recording through a GNU Radio flowgraph once for each detector, and report.

    Prints a line per packet (for one detector) and a table, writes ``summary.json`` and pictures
    into output.

    Args:
        path: of the recording, see ``recording.Reader``.
        detectors: names, keys of ``detectors.REGISTRY``; none stands for DEFAULT_DETECTORS, or
            ITERATING_DETECTORS where iterations > 1.
        output: folder for the summary and the pictures; None writes nothing.
        show: the one of detectors whose packets get a line each; default the first.
        quiet: no line per packet.
        pictures: draw them.
        backend: of the detectors.
        iterations: passes of detector and decoder at most, see ``ofdm_receiver``.
        echo: prints a line.
        overrides: num_tx, constellation, code_rate, payload_length instead of the metadata's.

    Returns:
        The summary, a dictionary (see docs/recordings.md).

    Raises:
        ValueError, FileNotFoundError: the recording cannot be read, its format is not known, or
            a receiver cannot be had as asked for.
        OSError: output cannot be written to; said before anything is played.
    """
    from .playback import Playback

    reader = recording.Reader(path)
    parameters = read_parameters(reader, overrides)
    names = list(dict.fromkeys(detectors)) or list(
        ITERATING_DETECTORS if iterations > 1 else DEFAULT_DETECTORS)
    show = names[0] if show is None else show
    for name in [*names, show]:
        if name not in registry.REGISTRY:
            raise ValueError(f"detector: got {name!r}, allowed are "
                             f"{', '.join(registry.REGISTRY)}")
    if show not in names:
        raise ValueError(f"show: got {show!r}, which is not played; allowed are "
                         f"{', '.join(names)} (or play it as well: -d {show})")
    playback = Playback(reader, parameters, backend, iterations)
    for name in names:
        playback.receiver(name)    # what it refuses is said before anything is played
    if output is not None:
        _prepare(Path(output))
    truth = Truth(recording.read_frames(reader.annotations), ofdm.Transmitter(parameters))
    sample_rate = reader.sample_rate or ofdm.SAMPLE_RATE
    _introduce(reader, parameters, sample_rate, truth, echo)
    tallies, rows = [], []
    for name in names:
        lines = name == show and not quiet
        echo(f"\nPackets with the detector {name}:" if lines else f"Playing with {name}")
        tally = Tally(name, truth, on_line=(
            lambda line: echo(format_packet(line, sample_rate))) if lines else None)
        start = time.perf_counter()
        statistics = playback.decode(name, tally.add_packet, tally.add_frame)
        samples, seconds = reader.num_samples, time.perf_counter() - start
        if statistics["packets"] > len(tally.lines):
            echo(f"note: {statistics['packets'] - len(tally.lines)} packets came after the "
                 "flowgraph had ended and are not counted")
        if seconds < _TIMED_SECONDS:
            samples, seconds = playback.time(name, samples * _TIMED_SECONDS / seconds)
        row = tally.summary()
        row["vectors_per_s"] = (detector_rate(name, parameters, reader.num_channels, tally.kept,
                                              backend) if tally.kept else None)
        row["flowgraph_samples_per_s"] = samples / seconds
        row["real_time_factor"] = samples / seconds / ofdm.SAMPLE_RATE
        row["receiver"] = statistics
        tallies.append(tally)
        rows.append(row)
    summary = {
        "recording": str(reader.path), "description": reader.global_info.get("core:description"),
        "notes": reader.notes, "sample_rate": sample_rate, "samples": reader.num_samples,
        "format": {name: getattr(parameters, name) for name in recording.FORMAT_FIELDS},
        "num_rx": reader.num_channels, "iterations": iterations, "machine": describe(),
        "detectors": rows,
        "packets": {tally.detector: [vars(line) for line in tally.lines] for tally in tallies}}
    for line in table(summary, tallies) + hints(summary):
        echo(line)
    if output is not None:
        _write(summary, tallies, parameters, Path(output), pictures, echo)
    return summary


def _introduce(reader, parameters, sample_rate, truth, echo):
    echo(f"{reader.path}: {reader.num_channels} antennas, {reader.num_samples} samples at "
         f"{sample_rate / 1e6:g} MS/s ({1e3 * reader.num_samples / sample_rate:.1f} ms)")
    if reader.global_info.get("core:description"):
        echo(reader.global_info["core:description"])
    for note in reader.notes:
        echo(f"note: {note}")
    if sample_rate != ofdm.SAMPLE_RATE:
        echo(f"note: the waveform is meant for {ofdm.SAMPLE_RATE / 1e6:g} MS/s; offsets in Hz are "
             "those at that rate")
    echo(f"{parameters.num_tx} layers of {parameters.constellation}, code rate "
         f"{parameters.code_rate}, {parameters.payload_length} bytes a packet; "
         + (f"{len(truth.frames)} packets known from annotations" if truth
            else "no annotations say what was sent"))


def table(summary, tallies):
    """The lines of the table at the end."""
    rows = summary["detectors"]
    lines = ["", f"{'detector':<9} {'found':>6} {'decoded':>8} {'PER':>7} {'BER before':>11} "
                 f"{'BER after':>10} {'vectors/s':>10} {'real time':>10}"]
    for row in rows:
        lines.append(
            f"{row['detector']:<9} {row['packets_found']:>6} {row['packets_decoded']:>8} "
            f"{_show(row['packet_error_rate'], '.3f'):>7} "
            f"{_show(row['bit_error_rate_before_decoding'], '.2e'):>11} "
            f"{_show(row['bit_error_rate_after_decoding'], '.2e'):>10} "
            f"{_show(row['vectors_per_s'], '.3g'):>10} {row['real_time_factor']:>9.3f}x")
    first = rows[0]
    of = (f"the {first['packets_sent']} packets sent" if first["packets_sent"] is not None
          else "the packets found")
    lines.append(f"PER: of {of}. BER before decoding: hard decisions against "
                 f"{first['bit_error_rate_against']}.")
    lines.append("vectors/s: the detector alone, on these vectors. real time: samples/s of the "
                 f"whole flowgraph over {ofdm.SAMPLE_RATE / 1e6:g} MS/s.")
    if summary["iterations"] > 1:
        lines.append(f"Up to {summary['iterations']} passes of detector and decoder, on the mean "
                     + ", ".join(f"{_show(row['passes'], '.2f')} ({row['detector']})"
                                 for row in rows) + ".")
    cut = first["receiver"]["frames_truncated"]
    if cut:
        lines.append(f"{cut} more frames broke off before their end.")
    levels = first["decoded_by_snr"] or []
    if 1 < len(levels) <= 8:
        lines += ["", "decoded  " + "".join(f"{level['snr_db']:>8g} dB" for level in levels)]
        lines += [f"{row['detector']:<9}" + "".join(
            f"{level['decoded']:>6}/{level['sent']:<4}" for level in row["decoded_by_snr"])
            for row in rows]
    return lines + _compare_with_mmse(tallies)


def hints(summary):
    """Lines that say what to check where no detector decoded anything; else none."""
    rows = summary["detectors"]
    if any(row["packets_decoded"] for row in rows):
        return []
    found = max(row["packets_found"] for row in rows)
    cut = max(row["receiver"]["frames_truncated"] for row in rows)
    told = summary["format"]
    if found:
        return ["", f"Found {found}, decoded 0. Do constellation ({told['constellation']}), code "
                    f"rate ({told['code_rate']}), payload length ({told['payload_length']} bytes) "
                    f"and layers ({told['num_tx']}) fit? Is the SNR enough?"]
    if cut:
        return ["", f"Found only {cut} frames that broke off: do payload length "
                    f"({told['payload_length']} bytes), constellation ({told['constellation']}), "
                    f"code rate ({told['code_rate']}) and layers ({told['num_tx']}) fit? Were "
                    "samples lost?"]
    return ["", f"Found 0. Do the sample rate ({summary['sample_rate'] / 1e6:g} MS/s, the "
                f"waveform's is {ofdm.SAMPLE_RATE / 1e6:g}), the number of antennas "
                f"({summary['num_rx']}), layers ({told['num_tx']}) and the datatype fit? Does "
                "the recording hold frames of this waveform (docs/ofdm.md)?"]


def _compare_with_mmse(tallies):
    decoded = {tally.detector: tally.decoded_starts for tally in tallies}
    if "mmse" not in decoded:
        return []
    others = [name for name in decoded if name not in ("zf", "mmse")]
    return [""] * bool(others) + [
        f"{name} decoded {len(decoded[name] - decoded['mmse'])} packets that mmse lost, and lost "
        f"{len(decoded['mmse'] - decoded[name])} that mmse decoded" for name in others]


def _show(value, form):
    return "-" if value is None else format(value, form)


def _prepare(output):
    output.mkdir(parents=True, exist_ok=True)
    if not os.access(output, os.W_OK | os.X_OK):
        raise PermissionError(f"output: got {output}, where nothing can be written")


def _write(summary, tallies, parameters, output, pictures, echo):
    written = [output / "summary.json"]
    written[0].write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    if pictures and any(tally.kept for tally in tallies):
        written += drawing.draw(tallies, parameters, output)
    echo("\nwritten: " + ", ".join(map(str, written)))


@click.command("play")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("-d", "--detector", "detectors", multiple=True,
              type=click.Choice(list(registry.REGISTRY)),
              help=f"May be given several times; default {', '.join(DEFAULT_DETECTORS)}, with "
                   f"--iterations {', '.join(ITERATING_DETECTORS)}.")
@click.option("--show", type=click.Choice(list(registry.REGISTRY)),
              help="Detector whose packets are listed; default the first.")
@click.option("-q", "--quiet", is_flag=True, help="No line per packet.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False),
              default=Path("demo-output"), show_default=True,
              help="Folder for summary.json and pictures.")
@click.option("--pictures/--no-pictures", default=True, show_default=True)
@click.option("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True)
@click.option("--iterations", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="Passes of detector and decoder at most; more than 1 with LDPC codes.")
@click.option("--num-tx", type=int, help="Layers; default by the metadata.")
@click.option("--constellation", metavar=f"[{'|'.join(ofdm.CONSTELLATIONS)}]",
              help="Default by the metadata.")
@click.option("--code-rate", help="1/2, 2/3, 3/4, 5/6, or ldpc:1/2 ...; default by the metadata.")
@click.option("--payload-length", type=int, help="Bytes a packet; default by the metadata.")
def play_command(path, **options):
    """Play the SigMF recording PATH through the MIMO-OFDM receiver.

    Lists the packets, compares detectors in a table, and draws what was received. The frame
    format comes from the metadata (fields mimopack:...), or from the options. The exit status is
    1 where no packet was decoded.
    """
    try:
        summary = play(path, **options)
    except (ValueError, OSError, ImportError) as error:
        raise click.ClickException(str(error)) from error
    if not any(row["packets_decoded"] for row in summary["detectors"]):
        click.get_current_context().exit(1)
