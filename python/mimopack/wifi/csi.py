# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of channel state information (CSI): write and read channel matrices of received frames."""

import math
import os
import shutil
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from ..files import Replacement
from .frame import ReceivedFrame
from .mac import parse_header
from .steady_file import SteadyFile

# File name extensions that select HDF5.
HDF5_SUFFIXES = (".h5", ".hdf5")
LAYOUT = 1    # version of the file layout, stored in each file as "layout"
_BLOCK = 256    # frames per write

# Columns with one value per frame, and their types.
_SCALARS = {
    "start": np.int64, "time": np.float64, "frequency": np.float64, "format": "S6",
    "mcs": np.int32, "num_streams": np.int32, "bandwidth_mhz": np.float64, "length": np.int64,
    "snr_db": np.float64, "cfo_hz": np.float64, "source": "S17", "destination": "S17",
    "transmitter": "S17", "sequence_number": np.int32, "fcs_ok": np.bool_}
_ANTENNAS = ("level_dbfs", "noise")    # columns with one value per frame and antenna
_ARRAYS = (*_SCALARS, *_ANTENNAS, "csi", "csi_offset", "csi_shape", "carriers", "carriers_offset")
# Bytes of an array for one of its file: no more than zlib ever compresses.
_MOST_COMPRESSED = 1100


@dataclass(frozen=True)
class CsiRecord:
    """The channel state of a frame, and the fields that identify the frame.

    Attributes:
        start: first sample of the frame, counted from the start of the stream.
        time: seconds from the first sample of the stream to the first sample of the frame.
        frequency: centre frequency of the frame's channel in Hz; nan if unknown.
        format: "non-ht", "ht" or "vht"; "" if unknown. For an unknown format, mcs and length are
            -1, and num_streams and bandwidth_mhz are 0.
        mcs: modulation and coding scheme; for a non-HT frame the rate in Mbit/s at 20 MHz.
        num_streams: N_SS, number of spatial streams.
        bandwidth_mhz: bandwidth of the channel in MHz; 10 or 5 in the narrow channels of 802.11p.
        length: length of the PSDU in bytes.
        snr_db: SNR in dB, mean over antennas and subcarriers.
        cfo_hz: carrier frequency offset of the transmitter relative to the receiver, in Hz.
        level_dbfs: float64 (num_rx,), mean power of the preamble in dBFS. 0 dBFS is the power of a
            constant signal of magnitude 1.
        noise: float64 (num_rx,), noise power per antenna in one subcarrier, in the unit of
            ``|matrices|^2``.
        source, destination, transmitter: MAC addresses such as "02:00:00:00:00:01"; "" if the
            header lacks the address. In a control frame, destination is the receiver and source
            the transmitter. The addresses come from the first MPDU with a correct FCS.
        sequence_number: sequence number of the same MPDU, -1 if there is none.
        fcs_ok: whether the frame has MPDUs and all their FCSs are correct.
        carriers: int64 (n,), indices of the subcarriers, ascending. An index is the distance from
            the centre of the frame's channel in carrier spacings. The carrier spacing is 312.5 kHz,
            or half or a quarter of that in a 10 or 5 MHz channel.
        matrices: complex64 (n, num_rx, N_STS), H_k in Y_k = H_k X_k with E|X|^2 = 1 per space-time
            stream. Y is relative to full scale, so the mean power of antenna r is
            sum_k,i |H_k[r, i]|^2. See :class:`frame.ChannelState`.
    """

    start: int
    time: float
    frequency: float
    format: str
    mcs: int
    num_streams: int
    bandwidth_mhz: float
    length: int
    snr_db: float
    cfo_hz: float
    source: str
    destination: str
    transmitter: str
    sequence_number: int
    fcs_ok: bool
    level_dbfs: np.ndarray
    noise: np.ndarray
    carriers: np.ndarray
    matrices: np.ndarray

    @classmethod
    def from_frame(cls, frame):
        """Return the record of a :class:`frame.ReceivedFrame` that has a channel state."""
        f, state = frame.format, frame.channel
        mpdu = next((mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok), b"")
        header = parse_header(mpdu)
        source, destination, transmitter = _addresses(mpdu, header)
        number = header.sequence_number
        return cls(
            start=int(frame.start), time=float(frame.time),
            frequency=float("nan" if frame.frequency is None else frame.frequency),
            format="" if f is None else f.name, mcs=-1 if f is None else f.mcs,
            num_streams=0 if f is None else f.num_streams,
            bandwidth_mhz=0.0 if f is None else float(f.bandwidth_mhz * frame.sample_rate_scale),
            length=-1 if f is None else f.length, snr_db=float(frame.snr_db),
            cfo_hz=float(frame.cfo_hz), source=source, destination=destination,
            transmitter=transmitter, sequence_number=-1 if number is None else number,
            fcs_ok=frame.fcs_ok, level_dbfs=np.array(frame.level_dbfs, np.float64),
            noise=np.array(state.noise, np.float64), carriers=np.array(state.carriers, np.int64),
            matrices=np.array(state.matrices, np.complex64))


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
    writer keeps at most 256 frames in memory. It assembles an .npz file on closing, from temporary
    files in the same folder. Until then, the folder needs room for twice the size of the file.

    Both formats hold the same arrays. F is the number of frames:

        start, time, frequency, format, mcs, num_streams, bandwidth_mhz, length, snr_db, cfo_hz,
        source, destination, transmitter, sequence_number, fcs_ok: (F,), see :class:`CsiRecord`;
            text is stored as ASCII bytes.
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
        frames: number of frames written.
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
        with Replacement(self._path) as self._replacement:
            self._store = (_Hdf5 if _is_hdf5(self._path) else _Npz)(self._replacement.part)
        self._num_rx = None
        self.frames = self.skipped = 0

    def write(self, frame):
        """Write a frame if it has a channel state; return whether it has one.

        Args:
            frame: :class:`frame.ReceivedFrame`. All frames of a file must have the same number of
                antennas.

        Raises:
            ValueError: an argument is not as above, or the writer is closed.
            OSError: the file cannot be written.
        """
        if not isinstance(frame, ReceivedFrame):
            raise ValueError(f"frame: got {type(frame).__name__}, must be a ReceivedFrame")
        if self._store is None:
            raise ValueError(f"{self._path}: writing has ended")
        if frame.channel is None:
            self.skipped += 1
            return False
        record = CsiRecord.from_frame(frame)
        num_rx = record.matrices.shape[1]
        if len(record.level_dbfs) != num_rx or len(record.noise) != num_rx:
            raise ValueError(f"frame: got {len(record.level_dbfs)} levels and {len(record.noise)} "
                             f"noise powers, must be {num_rx}, one per row of the matrices")
        if self._num_rx not in (None, num_rx):
            raise ValueError(f"frame: got {num_rx} antennas, must be {self._num_rx} as in earlier "
                             "frames")
        self._num_rx = num_rx
        self._store.add(record)
        self.frames += 1
        return True

    def close(self):
        """Complete the file and give it its final name.

        Raises:
            OSError: the file cannot be written. The incomplete file is removed.
        """
        if self._store is None:
            return
        store, self._store = self._store, None
        with self._replacement:
            try:
                store.close()
                self._replacement.finish()
            except BaseException:
                store.discard()
                raise

    def discard(self):
        """Remove the data written so far. An older file of the final name stays."""
        if self._store is None:
            return
        store, self._store = self._store, None
        try:
            store.discard()
        finally:
            self._replacement.discard()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Columns:
    """Base of both file formats: collect records and write their columns in blocks.

    A subclass has ``_put(name, first, values)``. It writes rows of a column from row ``first`` on
    and overwrites any rows there.
    """

    def __init__(self):
        self._records = []
        self._rows = {}    # number of rows written, by column

    def add(self, record):
        self._records.append(record)
        if len(self._records) >= _BLOCK:
            self._write_block()

    def _finish(self):
        # A file without frames still needs its empty columns.
        if self._records or not self._rows:
            self._write_block()

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


class _Npz(_Columns):
    """A .npz file, put together on closing: until then each array is in a temporary file."""

    def __init__(self, part):
        super().__init__()
        # Open the file now, so that an unwritable path fails before any frame arrives.
        self._file = part.open("wb")
        self._folder = part.parent
        self._spools = {}    # {column: (file, empty array with the type and shape of a row)}

    def close(self):
        with self._file:
            self._finish()
            with zipfile.ZipFile(self._file, "w") as archive:
                with archive.open("layout.npy", "w") as member:
                    np.lib.format.write_array(member, np.array(LAYOUT))
                for name, (spool, like) in self._spools.items():
                    self._copy(archive, name, spool, like)

    def discard(self):
        self._file.close()
        for spool, _ in self._spools.values():
            spool.close()

    def _copy(self, archive, name, spool, like):
        """Move a column into the archive."""
        header = {"descr": np.lib.format.dtype_to_descr(like.dtype), "fortran_order": False,
                  "shape": (self._rows[name], *like.shape[1:])}
        with spool, archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header)
            spool.seek(0)
            shutil.copyfileobj(spool, member, 1 << 20)

    def _put(self, name, first, values):
        if name not in self._spools:
            # A temporary file has no name, so it vanishes however the program ends.
            self._spools[name] = tempfile.TemporaryFile(dir=self._folder), values[:0]
        spool, _ = self._spools[name]
        spool.seek(first * _row_bytes(values))
        spool.truncate()
        spool.write(values.tobytes())


class _Hdf5(_Columns):
    def __init__(self, part):
        super().__init__()
        self._disk = SteadyFile(part)
        self._file = _h5py().File(self._disk, "w")
        try:
            self._file["layout"] = LAYOUT
            self._disk.check()
        except BaseException:    # an open file would end the process at its end
            self.discard()
            raise

    def close(self):
        with self._file:
            self._finish()
        self._disk.close()

    def discard(self):
        self._file.close()
        with suppress(OSError):
            self._disk.close()

    def _put(self, name, first, values):
        if 0 in values.shape[1:]:
            self._file[name] = values    # a file without frames; no rows will follow
            self._disk.check()
            return
        if name not in self._file:
            self._file.create_dataset(
                name, (0, *values.shape[1:]), values.dtype, maxshape=(None, *values.shape[1:]),
                chunks=(max(1, 2**16 // _row_bytes(values)), *values.shape[1:]))
        dataset = self._file[name]
        dataset.resize(first + len(values), axis=0)
        dataset[first:] = values
        self._disk.check()


def _row_bytes(values):
    return values.itemsize * math.prod(values.shape[1:])


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

    Raises:
        ValueError: the file is not a complete file from :class:`CsiWriter`.
        ImportError: the file is HDF5 and h5py is missing.
        OSError: the file cannot be read.
    """
    try:
        arrays = _load_hdf5(path) if _is_hdf5(path) else _load_npz(path)
        _check(arrays)
        return _records(arrays)
    except (OSError, ImportError):
        raise
    except Exception as error:    # a damaged file raises almost anything, MemoryError too
        raise ValueError(f"path: {path} is not a complete file of channel state information: "
                         f"{' '.join(str(error).split()) or type(error).__name__}") from error


def _check(arrays):
    """Check types and shapes of the arrays of a file, and that they describe each other."""
    frames = len(arrays["csi_shape"])
    antennas = arrays["csi_shape"][:, 1]
    for name, dtype, shape in (
            *((name, dtype, (frames,)) for name, dtype in _SCALARS.items()),
            *((name, float, (frames, *antennas[:1]) if frames else None) for name in _ANTENNAS),
            ("csi_shape", int, (frames, 3)), ("csi_offset", int, (frames + 1,)),
            ("carriers_offset", int, (frames + 1,)), ("csi", complex, None),
            ("carriers", int, None)):
        array = arrays[name]
        if array.dtype.kind != np.dtype(dtype).kind or shape not in (None, array.shape):
            raise ValueError(f"{name}: got type {array.dtype} of shape {array.shape}, must be "
                             f"{np.dtype(dtype)}" + (f" of shape {shape}" if shape else ""))
    if (arrays["csi_shape"] < 0).any() or (antennas != antennas[:1]).any():
        raise ValueError("csi_shape: got sizes that are negative or differ in the number of "
                         "antennas")
    for name, sizes in (("csi", arrays["csi_shape"].prod(axis=1)),
                        ("carriers", arrays["csi_shape"][:, 0])):
        ends = np.concatenate([[0], np.cumsum(sizes)])
        fit = np.array_equal(arrays[f"{name}_offset"], ends)
        if not fit or arrays[name].shape != (int(ends[-1]),):
            raise ValueError(f"{name}: got {arrays[name].size} values, which do not fit csi_shape")


def _records(arrays):
    cells = {field.name: arrays[field.name] for field in fields(CsiRecord)
             if field.name in _SCALARS or field.name in _ANTENNAS}
    records = []
    for index, shape in enumerate(arrays["csi_shape"]):
        row = {name: values[index] for name, values in cells.items()}
        row = {name: value.decode("ascii") if isinstance(value, bytes)
               else value if name in _ANTENNAS else value.item() for name, value in row.items()}
        parts = {name: arrays[name][slice(*arrays[f"{name}_offset"][index:index + 2])]
                 for name in ("csi", "carriers")}
        records.append(CsiRecord(**row, carriers=parts["carriers"].astype(np.int64),
                                 matrices=parts["csi"].reshape(shape)))
    return records


def _load(read):
    """Return the arrays of a file, each from ``read(name)``."""
    layout = int(read("layout"))
    if layout != LAYOUT:
        raise ValueError(f"layout: got {layout}, allowed is {LAYOUT}")
    return {name: read(name) for name in _ARRAYS}


def _load_npz(path):
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return _load(lambda name: arrays[name])
        except OSError as error:    # places in a damaged archive may lie before its beginning
            raise ValueError(str(error)) from error


def _load_hdf5(path):
    most = max(1 << 20, _MOST_COMPRESSED * os.path.getsize(path))
    with _h5py().File(path, "r") as file:
        return _load(lambda name: _load_dataset(file, name, most))


def _load_dataset(file, name, most):
    """Return an array that an HDF5 file itself has, and that takes at most so many bytes."""
    h5py = _h5py()
    if isinstance(file.get(name, getlink=True), (h5py.ExternalLink, h5py.SoftLink)):
        raise ValueError(f"{name}: got a link, must be a dataset")
    dataset = file[name]
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{name}: the values are in another file")
    if dataset.nbytes > most:
        raise ValueError(f"{name}: got {dataset.nbytes} bytes, more than the file can have")
    return dataset[()]


def _is_hdf5(path):
    return Path(path).suffix.lower() in HDF5_SUFFIXES


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("HDF5 files need h5py: install python3-h5py with apt or h5py with "
                          "pip, or use a file name that ends in .npz") from error
    return h5py
