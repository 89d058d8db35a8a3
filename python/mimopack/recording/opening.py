# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a recording of either kind: SigMF or raw samples."""

from pathlib import Path

from . import names
from .raw import RawReader, datatype_of
from .reader import Reader


def open_recording(path, datatype=None, num_channels=None, sample_rate=None, frequency=None,
                   allow_outside=False):
    """Open a SigMF recording or a file of raw samples.

    A path with SigMF metadata (see ``Reader``) is a SigMF recording. Any other file holds raw
    samples, which the arguments must describe. The arguments from ``datatype`` to ``frequency``
    replace the values in the metadata, if they are not None.

    Args:
        path: path of the recording.
        datatype: name of the sample format, see ``get_datatype``.
        num_channels: number of channels; raw samples have one channel by default.
        sample_rate: samples per second.
        frequency: centre frequency in Hz.
        allow_outside: whether names and symbolic links of a SigMF recording may lead to files in
            other folders, see ``Reader``.

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
