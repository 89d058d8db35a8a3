# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a recording for the Wi-Fi receiver, and describe it."""

import click

from ... import recording
from ...checks import positive
from ...text import rate_in_words, rates_in_words
from ...wifi.synchroniser import MAX_RX, SAMPLE_RATES
from .words import duration, plural

RATES = rates_in_words(SAMPLE_RATES)
_TOLERANCE = 1e-4    # relative error of a sample rate that a radio's clock could not give exactly
_LOW_FREQUENCY = 100e6    # Hz, below all channels: a lower value was probably given in MHz
_REFUSED = 2    # exit status of click after an error


class Refusal(click.ClickException):
    """A command cannot do what the user asked for."""

    exit_code = _REFUSED


def refuse(message):
    """Raise :class:`Refusal`; control characters are escaped."""
    raise Refusal(recording.printable(message))


def refuse_without_blocks(asked):
    """Raise :class:`Refusal` if GNU Radio's blocks, which the asked option needs, are missing."""
    try:
        from ... import blocks  # noqa: F401
    except ImportError as error:
        refuse(f"{asked}: {error}")


def refuse_receiver(error):
    """Raise :class:`Refusal` for an error of the receiver, with the name of the option."""
    words = str(error)
    if isinstance(error, ImportError) or words.startswith("device: "):
        words = ("backend: " + words.removeprefix("device: ")).replace("backend 'cuda'", "cuda")
    refuse(f"--{words}")


def nearest_rate(given):
    """Return the rate of the receiver for samples of another rate: (rate, whether it is equal).

    Rates above 20 MS/s can be resampled to the returned rate, the next lower one.

    Raises:
        ValueError: the rate is not of the receiver, and resampling is of no use or is not enough.
    """
    nominal = min(SAMPLE_RATES, key=lambda rate: abs(rate - given))
    if abs(nominal / given - 1) <= _TOLERANCE:
        return nominal, True
    if given > 20e6:
        return max(rate for rate in SAMPLE_RATES if rate < given), False
    words = f"{rate_in_words(given)}, the receiver supports {RATES}"
    if given < 1e5:
        raise ValueError(f"{words}, such as 20e6 or 20M")
    if given < min(SAMPLE_RATES):
        raise ValueError(f"{words}. No channel fits into these samples, so no resampling helps. If "
                         "the file has another rate, give --rate")
    raise ValueError(f"{words}. A channel of 20 MHz needs 20 MS/s or more; for the narrower ones "
                     "of 802.11p, resample to 5 or 10 MS/s first (docs/recordings.md, Other sample "
                     "rates)")


def open_reader(path, rate, datatype, channels, frequency, allow_outside=False, resample=False):
    """Open a recording; return (reader, sample rate).

    With ``resample``, the rate may be lower than the reader's: see :func:`nearest_rate`.

    Raises:
        Refusal: the recording cannot be read, or the receiver does not support its format.
    """
    try:
        reader = recording.open_recording(path, datatype, channels, rate, frequency,
                                          allow_outside)
    except recording.UnknownDatatype:
        refuse(f"{path} has no metadata, and its name does not say its sample format: give "
               f"--format, one of {', '.join(recording.DATATYPES)}, and --rate and --channels")
    except (ValueError, OSError, ImportError) as error:
        refuse(str(error).removeprefix("path: "))
    if isinstance(reader, recording.Reader):
        try:
            recording.read_frames(reader.annotations)
        except ValueError as error:
            refuse(f"{reader.path}: {error}")
        if frequency is None:
            _check_frequency(reader)
    if reader.num_channels > MAX_RX:
        refuse(f"{reader.path} has {reader.num_channels} channels, the receiver supports at most "
               f"{MAX_RX}")
    given = reader.sample_rate
    if given is None:
        refuse(f"the sample rate of {reader.path} is unknown: give --rate, {RATES}"
               + ", or another one above 20 MS/s" * resample)
    source = "--rate: got " if rate else f"{reader.path} has "
    try:
        nominal, equal = nearest_rate(given)
    except ValueError as error:
        refuse(f"{source}{error}")
    if not equal and not resample:
        refuse(f"{source}{rate_in_words(given)}, this command supports {RATES}: resample the "
               "recording first (docs/recordings.md, Other sample rates)")
    if not equal:
        reader.notes.append(f"{rate_in_words(given)} are resampled to {nominal / 1e6:g} MS/s, and "
                            "samples are counted at that rate")
    elif nominal != given:
        reader.notes.append(f"{given:.12g} samples/s are treated as {nominal / 1e6:g} MS/s")
    return reader, nominal


def _check_frequency(reader):
    """Refuse a frequency in the metadata that the receiver would refuse."""
    for index, capture in enumerate(reader.captures):
        if "core:frequency" in capture:    # the first one applies
            place = f"{reader.streams[0].meta}: captures[{index}].core:frequency"
            try:
                positive(place, capture["core:frequency"])
            except ValueError as error:
                refuse(f"{error}; --frequency of mimopack wifi replaces it")
            return


def own_files(reader):
    """Return the paths of a recording's files."""
    if isinstance(reader, recording.Reader):
        return [reader.path, *(path for stream in reader.streams
                               for path in (stream.meta, stream.dataset.path))]
    return [reader.path]


def introduce(reader, sample_rate, echo, warn):
    """Print a description of a recording."""
    bare = isinstance(reader, recording.RawReader)
    kind = "raw samples without metadata" if bare else "SigMF"
    low = 0 < (reader.frequency or 0) < _LOW_FREQUENCY
    where = ("frequency unknown" if reader.frequency is None
             else f"{reader.frequency:g} Hz" if low
             else f"{reader.frequency / 1e6:g} MHz")
    echo(f"{recording.printable(reader.path)}: {kind}, "
         f"{plural(reader.num_channels, 'channel')} of {reader.datatype}, "
         f"{sample_rate / 1e6:g} MS/s, {where}, {reader.num_samples} samples "
         f"({duration(reader.num_samples, sample_rate)})")
    if low:
        warn("no Wi-Fi channel is below 100 MHz: is the frequency in Hz, such as 5180e6 or 5.18G?")
    if reader.description:
        echo(reader.description)
    for note in reader.notes:
        echo(f"note: {recording.printable(note)}")
