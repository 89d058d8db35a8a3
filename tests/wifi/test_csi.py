# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of channel state information: written records are read back, in both file formats."""

import math
import sys
from dataclasses import fields, replace

import h5py
import numpy as np
import pytest
from gnuradio.mimopack.wifi.csi import CsiRecord, CsiWriter, read_csi
from gnuradio.mimopack.wifi.formats import HE, HT, VHT, NonHT
from gnuradio.mimopack.wifi.frame import ChannelState
from limits import small_files
from wifi_frames import mpdu_bytes, received

BOTH = pytest.mark.parametrize("name", ["frames.npz", "frames.h5"])


def with_channel(fmt, mpdus=None, antennas=2, seed=0, **fields):
    """Return a frame of this format with random channel matrices."""
    rng = np.random.default_rng(seed)
    carriers = np.array([26, -3, 5]) if fmt is None else fmt.plan.data
    carriers = np.sort(np.asarray(carriers, np.int64))
    shape = len(carriers), antennas, 1 if fmt is None else fmt.num_space_time_streams
    matrices = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)
    state = ChannelState(carriers, matrices, rng.uniform(0, 1e-3, antennas))
    return replace(received(fmt, mpdus, antennas), channel=state, **fields)


FRAMES = [
    with_channel(NonHT(54, 68), seed=1),
    with_channel(HT(12, 200, bandwidth_mhz=40, aggregated=True),
                 [mpdu_bytes(1, fcs_ok=False), mpdu_bytes(2)], seed=2, start=40_000_000),
    with_channel(VHT(5, 20, num_streams=2, stbc=2, bandwidth_mhz=80), [], seed=3),
    with_channel(NonHT(6, 68), [mpdu_bytes(4, fcs_ok=False)], seed=4, sample_rate=10e6,
                 frequency=None),
    with_channel(None, [], seed=5, snr_db=math.nan)]


def same(record, other):
    """Return whether two records agree in all fields (nan equals nan) and in types."""
    for field in fields(CsiRecord):
        one, two = getattr(record, field.name), getattr(other, field.name)
        assert type(one) is type(two), field.name
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype and one.shape == two.shape, field.name
        np.testing.assert_array_equal(one, two, err_msg=field.name)


def written(path, frames):
    with CsiWriter(path) as writer:
        for frame in frames:
            assert writer.write(frame)
    assert writer.frames == len(frames)
    return path


@BOTH
def test_what_is_written_comes_back(tmp_path, name):
    records = read_csi(written(tmp_path / name, FRAMES))
    assert len(records) == len(FRAMES)
    for frame, record in zip(FRAMES, records, strict=True):
        same(record, CsiRecord.from_frame(frame))
        np.testing.assert_array_equal(record.matrices, frame.channel.matrices)
        np.testing.assert_array_equal(record.carriers, frame.channel.carriers)
        np.testing.assert_array_equal(record.noise, frame.channel.noise)
    legacy, ht, vht, narrow, unknown = records
    assert (legacy.format, legacy.mcs, legacy.length, legacy.fcs_ok) == ("non-ht", 54, 68, True)
    assert (legacy.sequence_number, legacy.frequency, legacy.cfo_hz) == (0, 5180e6, -1234.5)
    assert legacy.level_dbfs.tolist() == [-20.0, -23.0]
    assert (ht.num_streams, ht.bandwidth_mhz, ht.time, ht.start) == (2, 40.0, 2.0, 40_000_000)
    # The first MPDU has a wrong FCS, so the second one identifies the frame.
    assert (ht.sequence_number, ht.fcs_ok, ht.source) == (2, False, "02:00:00:00:00:02")
    assert (vht.matrices.shape[1:], vht.num_streams) == ((2, 4), 2)
    assert (narrow.bandwidth_mhz, narrow.sequence_number, narrow.source) == (10.0, -1, "")
    assert math.isnan(narrow.frequency) and math.isnan(unknown.snr_db)
    assert (unknown.format, unknown.mcs, unknown.num_streams, unknown.length) == ("", -1, 0, -1)


@BOTH
def test_each_user_of_a_frame_has_a_record(tmp_path, name):
    shared = {"num_symbols": 10, "name": "he-mu", "num_sig_b": 3}
    users = [with_channel(HE(1, ru=(106, 1), sta_id=7, **shared)),
             with_channel(HE(9, ru=(52, 4), sta_id=2000, coding="ldpc", **shared),
                          [mpdu_bytes(4)])]
    with CsiWriter(tmp_path / name) as writer:
        assert writer.write(replace(users[0], users=tuple(users)))
        assert writer.write(with_channel(NonHT(54, 68)))
    assert writer.frames == 3
    one, other, plain = read_csi(tmp_path / name)
    assert (one.ru, one.sta_id, one.mcs) == ("106 index 1", 7, 1)
    assert (other.ru, other.sta_id, other.sequence_number) == ("52 index 4", 2000, 4)
    np.testing.assert_array_equal(other.carriers, users[1].format.plan.data)
    np.testing.assert_array_equal(other.matrices, users[1].channel.matrices)
    assert (plain.ru, plain.sta_id) == ("", -1)


@pytest.mark.parametrize("name", ["plain.npz", "frames.csi", "frames"])
def test_arrays_of_an_npz_file(tmp_path, name):
    path = written(tmp_path / name, FRAMES)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    with np.load(path, allow_pickle=False) as arrays:
        check_arrays(arrays)


@pytest.mark.parametrize("name", ["frames.h5", "frames.HDF5"])
def test_arrays_of_an_hdf5_file(tmp_path, name):
    path = written(tmp_path / name, FRAMES)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    with h5py.File(path, "r") as file:
        check_arrays({name: dataset[()] for name, dataset in file.items()})


def check_arrays(arrays):
    """Check the documented layout."""
    count = len(FRAMES)
    assert set(arrays) == {*(field.name for field in fields(CsiRecord)), "layout", "csi",
                           "csi_offset", "csi_shape", "carriers_offset"} - {"matrices"}
    assert arrays["layout"] == 1
    for name in ("start", "time", "mcs", "fcs_ok", "source", "sequence_number"):
        assert arrays[name].shape == (count,), name
    assert arrays["level_dbfs"].shape == arrays["noise"].shape == (count, 2)
    assert arrays["csi"].dtype == np.complex64 and arrays["carriers"].dtype == np.int32
    assert arrays["csi_offset"].shape == arrays["carriers_offset"].shape == (count + 1,)
    assert arrays["csi_offset"][0] == 0 and arrays["csi_offset"][-1] == len(arrays["csi"])
    for f, frame in enumerate(FRAMES):
        begin, end = arrays["csi_offset"][f:f + 2]
        np.testing.assert_array_equal(
            arrays["csi"][begin:end].reshape(arrays["csi_shape"][f]), frame.channel.matrices)
        begin, end = arrays["carriers_offset"][f:f + 2]
        np.testing.assert_array_equal(arrays["carriers"][begin:end], frame.channel.carriers)


@BOTH
def test_a_file_of_an_older_version_lacks_columns(tmp_path, name):
    path = written(tmp_path / name, FRAMES)
    if name.endswith(".h5"):
        with h5py.File(path, "a") as file:
            del file["ru"], file["sta_id"]
    else:
        with np.load(path) as arrays:
            np.savez(path, **{key: arrays[key] for key in arrays if key not in ("ru", "sta_id")})
    records = read_csi(path)
    assert [(one.start, one.ru, one.sta_id) for one in records] == [
        (frame.start, "", -1) for frame in FRAMES]


@BOTH
def test_no_frames(tmp_path, name):
    assert read_csi(written(tmp_path / name, [])) == []


@BOTH
def test_the_name_is_given_at_the_end(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    with CsiWriter(path) as writer:
        writer.write(FRAMES[0])
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.glob(f"{name}.*.part"))) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    writer.close()
    assert len(read_csi(path)) == 1


A, B, C, D = (f"0200000000{i:02x}" for i in range(1, 5))
ADDRESS = {key: ":".join(key[i:i + 2] for i in range(0, 12, 2)) for key in (A, B, C, D)} | {"": ""}


@pytest.mark.parametrize("mpdu, source, destination, transmitter, sequence", [
    (mpdu_bytes(5, addresses=(A, B, C)), B, A, B, 5),
    (mpdu_bytes(6, control=b"\x88\x01", addresses=(A, B, C)), B, C, B, 6),
    (mpdu_bytes(7, control=b"\x88\x02", addresses=(A, B, C)), C, A, B, 7),
    (mpdu_bytes(4095, control=b"\x88\x03", addresses=(A, B, C, D)), D, C, B, 4095),
    (mpdu_bytes(9, control=b"\x80\x00", addresses=(A, B, C)), B, A, B, 9)])
def test_addresses(tmp_path, mpdu, source, destination, transmitter, sequence):
    frame = with_channel(NonHT(6, len(mpdu)), [mpdu])
    record, = read_csi(written(tmp_path / "frames.npz", [frame]))
    assert (record.source, record.destination, record.transmitter, record.sequence_number) \
        == (ADDRESS[source], ADDRESS[destination], ADDRESS[transmitter], sequence)


@BOTH
def test_writer_refuses_frames(tmp_path, name):
    with CsiWriter(tmp_path / name) as writer:
        writer.write(FRAMES[0])
        for frame, message in (
                (None, "frame: got NoneType, must be a ReceivedFrame"),
                (with_channel(NonHT(6, 44), antennas=3), "frame: got 3 antennas, must be 2 as"),
                (replace(FRAMES[0], level_dbfs=(1.0,)), "frame: got 1 levels and 2 noise powers")):
            with pytest.raises(ValueError, match=message):
                writer.write(frame)
        writer.write(FRAMES[1])
    assert len(read_csi(tmp_path / name)) == 2


def test_without_h5py(tmp_path, monkeypatch):
    path = written(tmp_path / "frames.h5", FRAMES)
    monkeypatch.setitem(sys.modules, "h5py", None)
    for call in (CsiWriter, read_csi):
        with pytest.raises(ImportError, match="python3-h5py.*pip"):
            call(path)
    # The earlier file is still there.
    assert path.exists() and len(list(tmp_path.iterdir())) == 1
    assert len(read_csi(written(tmp_path / "frames.npz", FRAMES))) == len(FRAMES)


def cut(path):
    path.write_bytes(path.read_bytes()[:200])


def empty(path):
    path.write_bytes(b"")


@BOTH
@pytest.mark.parametrize("spoil", [cut, empty])
def test_a_damaged_file_is_refused(tmp_path, name, spoil):
    path = written(tmp_path / name, FRAMES)
    spoil(path)
    with pytest.raises((ValueError, OSError)):
        read_csi(path)


@BOTH
def test_a_full_disk_leaves_nothing(tmp_path, name):
    writer = CsiWriter(tmp_path / name)
    writer.write(FRAMES[0])
    with small_files(100), pytest.raises(OSError, match="File too large"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=f"{name}: writing has ended"):
        writer.write(FRAMES[0])
