# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of channel state information (CSI): write and read channel matrices of received frames."""

import errno
import math
import os
import shutil
import tempfile
import zipfile
from contextlib import closing
from dataclasses import make_dataclass
from pathlib import Path

import numpy as np

from ..files import Replacement
from .fields import fields_of, format_values
from .frame import ReceivedFrame
from .mac import parse_header

# File name extensions that select HDF5.
HDF5_SUFFIXES = (".h5", ".hdf5")
LAYOUT = 1    # version of the file layout, stored in each file as "layout"
_BLOCK = 256    # frames per write
_ROWS = 1 << 16    # rows per write of an HDF5 file

# Columns with one value per frame, and their types.
_SCALARS = {field.name: np.dtype(field.column[0]) for field in fields_of("csi")}
_ANTENNAS = ("level_dbfs", "noise")    # columns with one value per frame and antenna
_ARRAYS = (*_SCALARS, *_ANTENNAS, "csi", "csi_offset", "csi_shape", "carriers", "carriers_offset")


class _Record:
    """The channel state of a frame, and the facts that identify the frame.

    Attributes:
        start, time, frequency, format, mcs, num_streams, bandwidth_mhz, ru, sta_id, length, snr_db,
        cfo_hz, fcs_ok: as in the JSON of ``mimopack wifi``, see ``wifi.fields.FIELDS``. An unknown
            frequency is nan. For an unknown format, format is "", mcs and length are -1, and
            num_streams and bandwidth_mhz are 0. The mcs of a non-HT frame is its rate at 20 MHz.
            Only HE and EHT frames have a ru, which is "" for others. An unknown sta_id is -1.
        level_dbfs: float64 (num_rx,), mean power of the preamble in dBFS. 0 dBFS is the power of a
            constant signal of magnitude 1.
        noise: float64 (num_rx,), noise power per antenna in one subcarrier, in the unit of
            ``|matrices|^2``.
        source, destination, transmitter: MAC addresses such as "02:00:00:00:00:01"; "" if the
            header lacks the address. In a control frame, destination is the receiver and source
            the transmitter. The addresses come from the first MPDU with a correct FCS.
        sequence_number: sequence number of the same MPDU, -1 if there is none.
        carriers: int64 (n,), indices of the subcarriers, ascending. An index is the distance from
            the centre of the frame's channel in carrier spacings. The carrier spacing is 312.5 kHz,
            or half or a quarter of that in a 10 or 5 MHz channel; in HE and EHT frames it is
            78.125 kHz.
        matrices: complex64 (n, num_rx, N_STS), H_k in Y_k = H_k X_k with E|X|^2 = 1 per space-time
            stream. Y is relative to full scale, so the mean power of antenna r is
            sum_k,i |H_k[r, i]|^2. See :class:`frame.ChannelState`.
    """

    @classmethod
    def from_frame(cls, frame):
        """Return the record of a :class:`frame.ReceivedFrame` that has a channel state."""
        f, state = frame.format, frame.channel
        mpdu = next((mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok), b"")
        header = parse_header(mpdu)
        values = {field.name: getattr(frame, field.name) for field in fields_of("csi", "frame")}
        values |= zip(("source", "destination", "transmitter"), _addresses(mpdu, header),
                      strict=True)
        values["sequence_number"] = header.sequence_number
        if f is not None:
            values |= format_values(f, frame.sample_rate_scale, fields_of("csi", "format"))
        return cls(**{field.name: field.kind(field.column[1] if values.get(field.name) is None
                                             else values[field.name])
                      for field in fields_of("csi")},
                   level_dbfs=np.array(frame.level_dbfs, np.float64),
                   noise=np.array(state.noise, np.float64),
                   carriers=np.array(state.carriers, np.int64),
                   matrices=np.array(state.matrices, np.complex64))


CsiRecord = make_dataclass(
    "CsiRecord", [*((field.name, field.kind) for field in fields_of("csi")),
                  *((name, np.ndarray) for name in (*_ANTENNAS, "carriers", "matrices"))],
    bases=(_Record,), frozen=True,
    namespace={"__doc__": _Record.__doc__, "__module__": __name__})


def _addresses(mpdu, header):
    """Return (source, destination, transmitter) of an MPDU with this header (§9.3.2.1, Table 9-30).

    The header of an A-MSDU holds the BSSID in place of any address beyond the access point.
    """
    addresses = [*header.addresses, "", "", "", ""][:4]
    to_ds, from_ds = (mpdu[1] & 1, mpdu[1] & 2) if len(mpdu) > 1 and header.type == 2 else (0, 0)
    destination = addresses[2 if to_ds else 0]
    source = addresses[(3 if to_ds else 2) if from_ds else 1]
    return source, destination, addresses[1]


class CsiWriter:
    """Write the channel matrices of frames into a file, see :func:`read_csi` to read the file.

    A name that ends in .h5 or .hdf5 selects HDF5; any other name selects NumPy's .npz format. The
    writer keeps at most 256 frames in memory. It assembles the file on closing, from temporary
    files in the same folder. Until then, the folder needs room for twice the size of the file.

    Both formats hold the same arrays. F is the number of frames:

        start, time, frequency, format, mcs, num_streams, bandwidth_mhz, ru, sta_id, length, snr_db,
        cfo_hz, source, destination, transmitter, sequence_number, fcs_ok: (F,), see
            :class:`CsiRecord`; text is stored as ASCII bytes.
        level_dbfs, noise: (F, num_rx).
        csi: complex64, the concatenated matrices of all frames, each (n, num_rx, N_STS) in C order
            with n subcarriers.
        csi_offset: (F + 1,): the matrices of frame f are csi[csi_offset[f]:csi_offset[f + 1]].
        csi_shape: (F, 3): n, num_rx and N_STS of each frame.
        carriers: int32, the concatenated subcarrier indices of all frames.
        carriers_offset: (F + 1,): the subcarriers of frame f are
            carriers[carriers_offset[f]:carriers_offset[f + 1]].
        layout: 1, the version of this layout.

    The data first goes into a temporary file in the same folder, NAME.RANDOM.part. Closing gives
    the file its final name and replaces an older file of that name. A ``with`` block that ends with
    an exception keeps the frames written so far.

    Args:
        path: path of the file.

    Attributes:
        frames: number of frames written; each user of a frame counts as one.
        skipped: number of frames without a channel state, which are not written.

    Raises:
        ValueError: the path does not name a file, or names a FIFO or a device.
        ImportError: the path selects HDF5 and h5py is missing.
        OSError: the file cannot be created.
    """

    def __init__(self, path):
        if not isinstance(path, (str, os.PathLike)) or not Path(path).name:
            raise ValueError(f"path: got {path!r}, must be the path of a file")
        self._path = Path(path)
        if self._path.is_dir():
            raise ValueError(f"path: got the folder {path}, must be the path of a file")
        if _is_hdf5(self._path):
            _h5py()    # or ImportError
        self._replacement = Replacement(self._path)
        self._spool = _Spool(self._replacement.part.parent)
        self._num_rx = None
        self.frames = self.skipped = 0

    def write(self, frame):
        """Write a frame if it has a channel state; return whether it has one.

        A frame of several users has a record for each user, with the carriers of the user.

        Args:
            frame: :class:`frame.ReceivedFrame`. All frames of a file must have the same number of
                antennas.

        Raises:
            ValueError: an argument is not as above, or the writer is closed.
            OSError: the file cannot be written.
        """
        if not isinstance(frame, ReceivedFrame):
            raise ValueError(f"frame: got {type(frame).__name__}, must be a ReceivedFrame")
        if self._spool is None:
            raise ValueError(f"{self._path}: writing has ended")
        parts = [part for part in frame.parts if part.channel is not None]
        self.skipped += not parts
        for part in parts:
            self._add(CsiRecord.from_frame(part))
        return bool(parts)

    def _add(self, record):
        num_rx = record.matrices.shape[1]
        if len(record.level_dbfs) != num_rx or len(record.noise) != num_rx:
            raise ValueError(f"frame: got {len(record.level_dbfs)} levels and {len(record.noise)} "
                             f"noise powers, must be {num_rx}, one per row of the matrices")
        if self._num_rx not in (None, num_rx):
            raise ValueError(f"frame: got {num_rx} antennas, must be {self._num_rx} as in earlier "
                             "frames")
        self._num_rx = num_rx
        self._spool.add(record)
        self.frames += 1
        return True

    def close(self):
        """Complete the file and give it its final name.

        Raises:
            OSError: the file cannot be written. The incomplete file is removed.
        """
        if self._spool is None:
            return
        spool, self._spool = self._spool, None
        with self._replacement as replacement, closing(spool):
            (_write_hdf5 if _is_hdf5(self._path) else _write_npz)(replacement.part,
                                                                  spool.columns())
            replacement.finish()

    def discard(self):
        """Remove the data written so far. An older file of the final name stays."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
            self._replacement.discard()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Spool:
    """The columns of a file until it is closed: each in a temporary file in the same folder.

    So the disk is full while ordinary files are written, and not while HDF5 writes: its library
    would end the process.
    """

    def __init__(self, folder):
        self._folder, self._records = folder, []
        self._columns = {}    # {name: (file, empty array with the type and shape of a row)}
        self._rows = {}    # number of rows written, by column

    def add(self, record):
        self._records.append(record)
        if len(self._records) >= _BLOCK:
            self._write_block()

    def columns(self):
        """Return [(name, file, shape, dtype)] of all columns; each file is at its beginning."""
        if self._records or not self._rows:    # a file without frames has empty columns
            self._write_block()
        for file, _ in self._columns.values():
            file.seek(0)
        return [(name, file, (self._rows[name], *like.shape[1:]), like.dtype)
                for name, (file, like) in self._columns.items()]

    def close(self):
        for file, _ in self._columns.values():
            file.close()

    def _write_block(self):
        columns, rows = _columns(self._records), self._rows
        for name, sizes in (("csi", columns["csi_shape"].prod(axis=1)),
                            ("carriers", columns["csi_shape"][:, 0])):
            ends = rows.get(name, 0) + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            columns[f"{name}_offset"] = ends[1:] if rows else ends
        for name, values in columns.items():
            self._put(name, rows.get(name, 0), values)
        # Only a complete block counts. After an exception, the block is written again.
        self._rows = {name: rows.get(name, 0) + len(values) for name, values in columns.items()}
        self._records = []

    def _put(self, name, first, values):
        if name not in self._columns:
            # A temporary file has no name, so it vanishes however the program ends.
            self._columns[name] = tempfile.TemporaryFile(dir=self._folder), values[:0]
        file, _ = self._columns[name]
        file.seek(first * values.itemsize * math.prod(values.shape[1:]))
        file.truncate()
        file.write(values.tobytes())


def _write_npz(path, columns):
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("layout.npy", "w") as member:
            np.lib.format.write_array(member, np.array(LAYOUT))
        for name, file, shape, dtype in columns:
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False,
                      "shape": shape}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                shutil.copyfileobj(file, member, 1 << 20)


def _write_hdf5(path, columns):
    size = (1 << 16) + sum(math.prod(shape) * dtype.itemsize for _, _, shape, dtype in columns)
    if shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with _h5py().File(path, "w") as target:
        target["layout"] = LAYOUT
        for name, file, shape, dtype in columns:
            dataset = target.create_dataset(name, shape, dtype)
            row = max(1, math.prod(shape[1:]))
            for first in range(0, shape[0], _ROWS):
                last = min(first + _ROWS, shape[0])
                data = file.read((last - first) * row * dtype.itemsize)
                dataset[first:last] = np.frombuffer(data, dtype).reshape(-1, *shape[1:])


def _columns(records):
    """Return the arrays of a file for these records, without the offsets."""
    columns = {name: np.array([getattr(record, name) for record in records], dtype)
               for name, dtype in _SCALARS.items()}
    for name in _ANTENNAS:
        columns[name] = np.array([getattr(record, name) for record in records],
                                 np.float64).reshape(len(records), -1 if records else 0)
    shapes = [record.matrices.shape for record in records]
    columns["csi_shape"] = np.array(shapes, np.int64).reshape(-1, 3)
    columns["csi"] = np.concatenate(
        [record.matrices.ravel() for record in records] or [np.zeros(0, np.complex64)])
    columns["carriers"] = np.concatenate(
        [record.carriers for record in records] or [np.zeros(0)]).astype(np.int32)
    return columns


def read_csi(path):
    """Read a file from :class:`CsiWriter` and return a list of :class:`CsiRecord`.

    A column that a file of an older version lacks has the value of an unknown fact.

    Raises:
        ValueError: the file is not a complete file from :class:`CsiWriter`.
        ImportError: the file is HDF5 and h5py is missing.
        OSError: the file cannot be read.
    """
    try:
        arrays = _load_hdf5(path) if _is_hdf5(path) else _load_npz(path)
        return _records(arrays)
    except (OSError, ImportError):
        raise
    except Exception as error:    # a damaged file raises almost anything, MemoryError too
        raise ValueError(f"path: {path} is not a complete file of channel state information: "
                         f"{' '.join(str(error).split()) or type(error).__name__}") from error


def _records(arrays):
    records = []
    for index, shape in enumerate(arrays["csi_shape"]):
        row = {}
        for field in fields_of("csi"):
            value = arrays[field.name][index].item()
            row[field.name] = field.kind(value.decode("ascii") if field.kind is str else value)
        row |= {name: arrays[name][index] for name in _ANTENNAS}
        csi, carriers = (arrays[name][slice(*arrays[f"{name}_offset"][index:index + 2])]
                         for name in ("csi", "carriers"))
        if carriers.shape != shape[:1] or {row[name].shape for name in _ANTENNAS} != {(shape[1],)}:
            raise ValueError("csi_shape: the other arrays do not fit it")
        records.append(CsiRecord(**row, carriers=carriers.astype(np.int64),
                                 matrices=csi.reshape(shape).astype(np.complex64)))
    return records


def _load(file):
    """Return the arrays of an open file. A file of an older version lacks the newest columns."""
    layout = int(np.asarray(file["layout"]))
    if layout != LAYOUT:
        raise ValueError(f"layout: got {layout}, allowed is {LAYOUT}")
    arrays = {name: np.asarray(file[name]) for name in _ARRAYS
              if name in file or name not in _SCALARS}
    unknown = {field.name: field.column[1] for field in fields_of("csi")}
    return arrays | {name: np.full(len(arrays["csi_shape"]), unknown[name], dtype)
                     for name, dtype in _SCALARS.items() if name not in arrays}


def _load_npz(path):
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return _load(arrays)
        except OSError as error:    # places in a damaged archive may lie before its beginning
            raise ValueError(str(error)) from error


def _load_hdf5(path):
    with _h5py().File(path, "r") as file:
        return _load(file)


def _is_hdf5(path):
    return Path(path).suffix.lower() in HDF5_SUFFIXES


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("HDF5 files need h5py: install python3-h5py with apt or h5py with "
                          "pip, or use a file name that ends in .npz") from error
    return h5py
