# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files of raw samples without metadata, and open a recording of either kind."""

from pathlib import Path

from ..checks import integer, positive
from . import names
from .dataset import Dataset, Recording
from .datatypes import ALIASES, DATATYPES, get_datatype
from .packing import MOST_CHANNELS
from .reader import Reader


class UnknownDatatype(ValueError):
    """Neither an argument nor the file name gives the sample format of a file of raw samples."""


class RawReader(Recording):
    """A file of raw samples. Several channels are interleaved sample by sample.

    Args:
        path: path of the file.
        datatype: name of the sample format, see ``get_datatype``; None takes it from the file name
            extension, such as ".cs16".
        num_channels: number of channels, 1..1024.
        sample_rate: samples per second; None if unknown.
        frequency: centre frequency in Hz; None if unknown.

    Attributes:
        See :class:`Recording`.

    Raises:
        FileNotFoundError: there is no such file.
        UnknownDatatype: datatype is None, and the extension names no sample format.
        ValueError: an argument is invalid, or the file holds no samples.
        OSError: the file cannot be opened.
    """

    def __init__(self, path, datatype=None, num_channels=1, sample_rate=None, frequency=None):
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"path: there is no file {path}")
        guess = datatype_of(path) if datatype is None else None
        if datatype is None and guess is None:
            raise UnknownDatatype(
                f"datatype: the name of {path} has no extension for a sample format; give one of "
                f"{', '.join(DATATYPES)}")
        integer("num_channels", num_channels, 1, MOST_CHANNELS)
        super().__init__(path, [Dataset(path, get_datatype(guess or datatype), num_channels)])
        if sample_rate is not None:
            self.sample_rate = positive("sample_rate", sample_rate)
        if frequency is not None:
            self.frequency = positive("frequency", frequency)


def datatype_of(path):
    """Return the SigMF name of the sample format for a file name extension; None if unknown."""
    ending = Path(path).suffix[1:].lower()
    return ALIASES.get(ending, ending if ending in DATATYPES else None)


def open_recording(path, datatype=None, num_channels=None, sample_rate=None, frequency=None,
                   allow_outside=False):
    """Open a SigMF recording or a file of raw samples.

    A path with SigMF metadata (see ``Reader``) is a SigMF recording. Any other file holds raw
    samples, which the arguments must describe; they have one channel by default.

    Args:
        path: path of the recording.
        datatype, num_channels, sample_rate, frequency: see :class:`RawReader`. They replace the
            values in SigMF metadata, if they are not None.
        allow_outside: see :class:`Reader`.

    Returns:
        :class:`Reader` or :class:`RawReader`.

    Raises:
        FileNotFoundError, OSError, ValueError, ImportError: as :class:`Reader` and
            :class:`RawReader`.
    """
    path = Path(path)
    replaced = {"datatype": datatype, "num_channels": num_channels, "sample_rate": sample_rate,
                "frequency": frequency}
    try:
        names.metadata_file(path)
    except (FileNotFoundError, ValueError):
        bare = path.is_file() and path.suffix not in (names.META, names.COLLECTION, ".sigmf")
        if not bare or datatype is None and datatype_of(path) is None and path.suffix == names.DATA:
            raise
        return RawReader(path, datatype, 1 if num_channels is None else num_channels, sample_rate,
                         frequency)
    return Reader(path, allow_outside=allow_outside, **replaced)
