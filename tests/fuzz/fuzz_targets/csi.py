# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of channel state information, in NumPy's format."""

import io
import zipfile
from pathlib import Path

import numpy as np
from gnuradio.mimopack.wifi import csi

from . import contract, mutations

MAX_LEN = 16384
_FOLDER = contract.folder()
_FILE = Path(_FOLDER.name, "channels.npz")


def check(data):
    """A file is refused by name, or its records have arrays that fit each other."""
    _FILE.write_bytes(data)
    try:
        records = csi.read_csi(_FILE)
    except (ValueError, OSError) as error:
        contract.check_error(error, _FILE.name)
        return
    for record in records:
        assert record.matrices.ndim == 3 and len(record.matrices) == len(record.carriers)
        assert record.matrices.dtype == np.complex64 and record.carriers.dtype == np.int64
        antennas = record.matrices.shape[1]
        assert record.level_dbfs.shape == record.noise.shape == (antennas,)
        for name in ("start", "mcs", "num_streams", "length", "sequence_number"):
            assert isinstance(getattr(record, name), int), name
        for name in ("format", "source", "destination", "transmitter"):
            assert isinstance(getattr(record, name), str), name


def seeds():
    """Return files of three frames, and of none."""
    rng = np.random.default_rng(1)
    frames, carriers, antennas = 3, 4, 2
    scalars = {name: np.zeros(frames, dtype) for name, dtype in csi._SCALARS.items()}
    scalars |= {"format": np.array([b"ht", b"vht", b"non-ht"]), "mcs": np.array([7, 9, 54], "i4"),
                "source": np.full(frames, b"02:00:00:00:00:01")}
    full = scalars | {
        "layout": np.array(csi.LAYOUT), "level_dbfs": np.full((frames, antennas), -30.0),
        "noise": np.full((frames, antennas), 1e-3),
        "csi": rng.standard_normal((frames * carriers * antennas, 2)).astype("f4").view("c8")[:, 0],
        "csi_offset": np.arange(frames + 1) * carriers * antennas,
        "csi_shape": np.tile([carriers, antennas, 1], (frames, 1)),
        "carriers": np.tile(np.arange(carriers), frames).astype("i4"),
        "carriers_offset": np.arange(frames + 1) * carriers}
    empty = {name: values[:0] if values.ndim else values for name, values in full.items()}
    empty |= {"csi_offset": np.zeros(1, int), "carriers_offset": np.zeros(1, int)}
    return [_zipped({f"{name}.npy": _npy(values) for name, values in one.items()})
            for one in (full, empty)]


def mutate(data, rng):
    """Change the bytes of a file within the archive, so that its checksum stays right."""
    if rng.randrange(4):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
        except Exception:
            members = {}
        if members:
            names = sorted(members)
            name, kind = rng.choice(names), rng.randrange(8)
            if kind == 0:
                del members[name]
            elif kind == 1:
                members[name] = members[rng.choice(names)]
            else:
                members[name] = mutations.of_bytes(members[name], rng)
            return _zipped(members)
    return mutations.of_bytes(data, rng)


def _npy(values):
    # NumPy reads a header of version 3 three times as fast as one of version 1, which np.savez()
    # writes: it first looks for the integers of Python 2 there.
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(values), version=(3, 0))
    return file.getvalue()


def _zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()
