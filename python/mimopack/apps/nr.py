# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack nr``: decode the transport blocks of recorded 5G NR slots."""

import json
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import click
import numpy as np

from .. import detectors as registry
from .. import nr, recording
from ..checks import MOST_THREADS, integer, integers, positive, shown
from ..detectors.parameters import BACKENDS
from ..files import replace_file
from ..nr.config import check_spelling
from ..nr.decoding import LEAST_SNR
from ..nr.ofdm import SMALLEST_FFT
from ..nr.receiver import AUTO, receiver_for
from ..text import printable
from .options import (
    ALLOW_OUTSIDE,
    BACKEND,
    DATATYPE,
    NUMBER,
    SPEC,
    HeadedCommand,
    OutputFile,
    detector_spec,
    heading,
)

_input = heading("Input")
_decoding = heading("Detection and decoding")
_output = heading("Output")
_LEAST_SNR_DB = 10 * np.log10(LEAST_SNR)    # of a block whose layers show no power
_HEARD = ("No transport block was decoded, but the DMRS were found. Check in the file of --config: "
          "n_rnti, n_id (of the users), mcs, rv and lbrm.")
_NOT_HEARD = (
    "No transport block was decoded. Check in the file of --config: n_rnti, n_id, mcs, dmrs; "
    "n_cell_id, n_size_grid, subcarrier_spacing_khz and carrier_frequency_hz of carrier; "
    "prb_start, num_prb, symbol_allocation and num_layers of pusch or pdsch. Check also the number "
    "of antennas, and the sample rate.")
_TOLERANCE = 1e-4    # relative error of a sample rate that a radio's clock could not give exactly


class _Refusal(click.ClickException):
    exit_code = 2


def _check_detector(text):
    """Raise ValueError for a text that is no detector with parameters, nor "auto"."""
    if text != AUTO:
        registry.find(text.partition(":")[0], also=(AUTO,))
        registry.look_up(text)


@click.command("nr", cls=HeadedCommand)
@click.argument("path", metavar="RECORDING", type=click.Path(path_type=Path))
@_input("--config", "config_path", required=True, metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="What was sent, a JSON object: docs/nr.md.")
@_input("--slot", type=click.IntRange(0), metavar="N",
        help="Number of the first slot in its frame: 0 to 9 at 15 kHz, 0 to 19 at 30 kHz, and so "
             "on. Default: slot_numbers of FILE. Without either, it is found in samples, and 0 in "
             "an array. Without --start, DMRS of samples that clearly show another number win.")
@_input("--start", type=click.IntRange(0), metavar="SAMPLE",
        help="The sample at which the first slot begins. Default: it is found.")
@_input("--rate", type=NUMBER,
        help="Sample rate, such as 30.72e6 or 30.72M. Default: from the metadata, or "
             "time_domain.sample_rate_hz of FILE.")
@_input("--channels", "--antennas", "channels", type=click.IntRange(1, 256), metavar="N",
        help="Number of receive antennas in raw samples, which have one sample of each antenna in "
             "turn. Default: time_domain.num_antennas of FILE, or 1.")
@_input("--format", "datatype", type=DATATYPE,
        help="Sample format. Default: from the metadata, or from the ending of the file's name.")
@_input("--allow-outside", is_flag=True, help=ALLOW_OUTSIDE)
@_decoding("-d", "--detector", type=detector_spec(_check_detector), default=AUTO,
           show_default=True, metavar=SPEC,
           help=f"MIMO detector: {', '.join(registry.names())}; its parameters may follow, as in "
                f"kbest:k=8. Or {AUTO}: the one with the fewest block errors.")
@_decoding("--backend", type=click.Choice(BACKENDS), default="auto", show_default=True,
           metavar="NAME", help=f"Where detector and decoder run: {BACKEND}")
@_decoding("--iterations", type=click.IntRange(1, 100), default=nr.ITERATIONS, show_default=True,
           metavar="N",
           help="Maximum number of passes of detection and decoding. Decoded bits improve the "
                "channel estimate and the detection of the next pass, in slots that the first "
                "does not decode.")
@_decoding("--threads", type=click.IntRange(0, MOST_THREADS), default=0, metavar="N",
           help="Number of CPU threads; 0 uses all cores, and is the default.")
@_output("--json", "json_path", type=OutputFile(), metavar="FILE",
         help="Write the transport blocks as a list of JSON objects.")
@_output("-q", "--quiet", is_flag=True, help="Print no line per transport block.")
@click.pass_context
def nr_command(context, path, config_path, slot, start, rate, channels, datatype, allow_outside,
               json_path, quiet, **options):
    """Decode the shared channel in slots of RECORDING: the uplink's (PUSCH), or a downlink's.

    RECORDING is a SigMF recording, a file of raw samples with the antennas interleaved, or a NumPy
    file NAME.npz with the array grid (slots, antennas, symbols, subcarriers). Samples are those of
    consecutive slots.

    FILE describes what was sent: carrier, allocation, DMRS, modulation and code rate, users. The
    users are detected together. With "pdsch" in place of "pusch", it is a downlink slot.

    The command prints a line for each transport block, and a table of the users at the end, with
    the mean SNR of decoded blocks.

    \b
    Examples:
      mimopack nr slots.npz --config slots.json --json blocks.json
      mimopack nr capture.sigmf-meta --config cell.json --slot 4 --detector kbest:k=32

    The list of --json has an object for each slot and user, with the keys slot, user, crc_ok, tb
    (the transport block in hex, first bit first, filled up with zeros to whole bytes), snr_db and
    detector. A PDSCH on more than four layers has two codewords, each with an object of its own,
    which also has the key codeword.

    Exit status: 0 if at least one transport block was decoded, 1 if none was, 2 if the recording,
    FILE or an option was refused.
    """
    try:
        settings = json.loads(config_path.read_text(encoding="utf-8"))
        users = nr.load_users(settings)
    except (OSError, ValueError, TypeError) as error:
        raise _Refusal(f"--config: {config_path}: {error}") from None
    try:
        blocks = _decode(path, settings, users, slot, start, rate, channels, datatype,
                         allow_outside, options)
    except (OSError, ValueError, ImportError) as error:
        raise _Refusal(printable(str(error).removeprefix("path: "))) from None
    two = any(block.codeword for block in blocks)
    if not quiet:
        for block in blocks:
            snr = f"{block.snr_db:.1f} dB" if block.snr_db > _LEAST_SNR_DB else "-"
            click.echo(f"slot {block.slot:4d}  user {block.user}  "
                       + f"codeword {block.codeword}  " * two
                       + f"{'CRC ok' if block.crc_ok else 'lost  '}  {len(block.bits)} bits  "
                         f"SNR {snr}")
    _table(blocks)
    decoded = {block.user for block in blocks if block.crc_ok}
    lost = {block.user for block in blocks} - decoded
    if not decoded:
        click.echo(_HEARD if np.median([block.snr_db for block in blocks]) > 0 else _NOT_HEARD,
                   err=True)
    elif lost:
        click.echo(f"No transport block of user {', '.join(map(str, sorted(lost)))} was decoded. "
                   "Check n_rnti, n_id, mcs, dmrs_ports and num_layers of this user, or try "
                   "another --detector.", err=True)
    if json_path is not None:
        with replace_file(json_path) as file:
            json.dump([_as_json(block, two) for block in blocks], file, indent=0, allow_nan=False)
            file.write("\n")
    context.exit(not decoded)


def _decode(path, settings, users, slot, start, rate, channels, datatype, allow_outside, options):
    """Decode a recording; return its :class:`nr.TransportBlock` objects."""
    numbers = settings.get("slot_numbers")
    if numbers is not None:
        numbers = integers("slot_numbers", numbers, 1, 0, 2**31 - 1).tolist()
    if path.suffix in (".npz", ".npy"):
        grid = _read_grid(path)
        if slot is not None or numbers is None:
            numbers = (slot or 0) + np.arange(len(grid))
        if len(numbers) != len(grid):
            raise ValueError(f"slot_numbers: got {len(numbers)}, must be {len(grid)}, one for each "
                             f"slot of {path}")
        return _receiver(users, grid.shape[1], options).process(grid, numbers)
    domain, carrier = _time_domain(settings), users[0].carrier
    antennas = channels or domain.get("num_antennas")
    reader = recording.open_recording(
        path, datatype, antennas, rate or domain.get("sample_rate_hz"), None, allow_outside)
    declared = getattr(reader, "global_info", {}).get("core:num_channels", antennas)
    if antennas not in (None, declared):
        raise ValueError(f"{path}: got {antennas} from --channels or time_domain.num_antennas, but "
                         f"its metadata say {declared} channels")
    step = SMALLEST_FFT * 1e3 * carrier.subcarrier_spacing_khz
    if reader.sample_rate is None:
        raise ValueError(f"{path}: the sample rate is unknown: give --rate, or "
                         "time_domain.sample_rate_hz in the file of --config")
    count = round(reader.sample_rate / step)
    if abs(count * step / reader.sample_rate - 1) > _TOLERANCE:
        raise ValueError(f"{path}: got {reader.sample_rate:g} samples per second, must be a "
                         f"multiple of {step:g}, which is {SMALLEST_FFT} times the subcarrier "
                         "spacing (TS 38.211 §5.3.1): resample first (docs/recordings.md, Other "
                         "sample rates)")
    least = -(-carrier.num_subcarriers // SMALLEST_FFT)
    if count < least:
        raise ValueError(f"{path}: got {reader.sample_rate:g} samples per second, must be "
                         f"{least * step:g} or more for {carrier.num_subcarriers} subcarriers")
    last = carrier.slots_per_frame - 1
    if slot is None and numbers:
        slot = integer("slot_numbers", numbers[0], 0, last)
    elif slot is not None:
        integer("--slot", slot, 0, last)
    return _decode_samples(reader, users, slot, start, count * SMALLEST_FFT, options)


def _decode_samples(reader, users, slot, start, fft_size, options):
    """Decode samples; if nothing decodes, try other phases of the carrier (TS 38.211 §5.4)."""
    samples, given, attempts = reader.read(), users[0].carrier.carrier_frequency_hz, []
    for frequency in dict.fromkeys((given, reader.frequency, None)):
        carrier = replace(users[0].carrier, carrier_frequency_hz=frequency)
        receiver = _receiver([replace(user, carrier=carrier) for user in users],
                             reader.num_channels, options)
        attempts.append(receiver.process_samples(samples, slot, start, fft_size))
        if any(block.crc_ok for block in attempts[-1]):
            if frequency != given:
                click.echo("note: no block is decoded with the carrier_frequency_hz "
                           f"{json.dumps(given)}, but with {json.dumps(frequency)}: set this value "
                           "in carrier, in the file of --config")
            return attempts[-1]
    return attempts[0]


def _read_grid(path):
    """Return the array of received grids in a NumPy file."""
    if path.suffix == ".npy":
        raise ValueError(f"{path}: must be NAME.npz, as numpy.savez(NAME, grid=...) writes it")
    try:
        with np.load(path) as file:
            grid = file["grid"] if "grid" in file else None
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path}: {error}") from error
    if grid is None:
        raise ValueError(f"{path}: got no array grid, must have one (slots, antennas, symbols, "
                         "subcarriers)")
    if grid.ndim != 4:
        raise ValueError(f"{path}: got grid of shape {grid.shape}, must be (slots, antennas, "
                         "symbols, subcarriers)")
    return grid


def _time_domain(settings):
    """Return what a configuration says of samples."""
    domain = settings.get("time_domain") or {}
    if not isinstance(domain, dict):
        raise ValueError(f"time_domain: got {shown(domain)}, must be a JSON object")
    check_spelling("time_domain.", domain, ("sample_rate_hz", "num_antennas"))
    if domain.get("sample_rate_hz") is not None:
        positive("time_domain.sample_rate_hz", domain["sample_rate_hz"])
    if domain.get("num_antennas") is not None:
        integer("time_domain.num_antennas", domain["num_antennas"], 1, 256)
    return domain


def _receiver(users, antennas, options):
    """Make the receiver; an error names the antennas as users of the command know them."""
    try:
        return receiver_for(users, antennas, **options)
    except ValueError as error:
        layers = sum(user.num_layers for user in users)
        if str(error).startswith("num_rx: ") and antennas < layers:
            raise ValueError(f"antennas: got {antennas}, must be {layers} or more with this "
                             f"detector, one for each layer") from None
        raise


def _table(blocks):
    """Print how many transport blocks of each user were decoded, and their mean SNR."""
    click.echo("user  decoded  sent  mean SNR / dB")
    for user in sorted({block.user for block in blocks}):
        own = [block for block in blocks if block.user == user]
        powers = [block.snr_db for block in own if block.crc_ok]
        mean = f"{np.mean(powers):13.1f}" if powers else f"{'-':>13}"
        click.echo(f"{user:4d}  {len(powers):7d}  {len(own):4d}  {mean}")


def _as_json(block, with_codeword):
    return {"slot": block.slot, "user": block.user, "crc_ok": block.crc_ok,
            "tb": block.data.hex(), "snr_db": round(block.snr_db, 2), "detector": block.detector,
            **({"codeword": block.codeword} if with_codeword else {})}
