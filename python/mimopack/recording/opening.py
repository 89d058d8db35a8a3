# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open whatever kind of recording a path means."""

from pathlib import Path

from . import files
from .raw import RawReader, datatype_of
from .reader import Reader


def open_recording(path, datatype=None, num_channels=None, sample_rate=None, frequency=None):
    """Open a SigMF recording or a file of raw samples.

    A path with metadata, see ``Reader``, is SigMF. Any other file holds raw samples, and what is
    known of them must be given.

    Args:
        path: of the recording.
        datatype, num_channels, sample_rate, frequency: replace what metadata says where they are
            not None; num_channels of raw samples is 1 by default.

    Returns:
        :class:`Reader` or :class:`RawReader`.

    Raises:
        FileNotFoundError, ValueError, ImportError: as these two.
    """
    path = Path(path)
    replaced = {"datatype": datatype, "num_channels": num_channels, "sample_rate": sample_rate,
                "frequency": frequency}
    try:
        files.metadata_file(path)
    except (FileNotFoundError, ValueError):
        bare = path.is_file() and path.suffix not in (files.META, files.COLLECTION, ".sigmf")
        if not bare or datatype is None and datatype_of(path) is None and path.suffix == files.DATA:
            raise
        return RawReader(path, datatype, 1 if num_channels is None else num_channels, sample_rate,
                         frequency)
    return Reader(path, **replaced)
