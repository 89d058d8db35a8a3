# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of raw samples, without metadata."""

from pathlib import Path

from ..checks import integer, positive
from .dataset import Dataset, Recording
from .datatypes import ALIASES, DATATYPES, get_datatype


class RawReader(Recording):
    """A file of raw samples, channels interleaved sample by sample.

    Args:
        path: of the file.
        datatype: see ``get_datatype``; None takes the ending of the file's name, as ".cs16".
        num_channels: antennas.
        sample_rate, frequency: Hz; None where not known.

    Attributes:
        As of :class:`Recording`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an argument is not as above, the ending of the name says no format, or there
            are no samples.
    """

    def __init__(self, path, datatype=None, num_channels=1, sample_rate=None, frequency=None):
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"path: there is no file {path}")
        guess = datatype_of(path) if datatype is None else None
        if datatype is None and guess is None:
            raise ValueError(f"datatype: the name of {path} does not say it, allowed are "
                             f"{', '.join(DATATYPES)}")
        integer("num_channels", num_channels, 1, 1 << 10)
        super().__init__(path, [Dataset(path, get_datatype(datatype or guess), num_channels)])
        if sample_rate is not None:
            self.sample_rate = positive("sample_rate", sample_rate)
        if frequency is not None:
            self.frequency = positive("frequency", frequency)


def datatype_of(path):
    """The datatype that a file name's ending says, or None."""
    ending = Path(path).suffix[1:].lower()
    return ALIASES.get(ending, ending if ending in DATATYPES else None)
