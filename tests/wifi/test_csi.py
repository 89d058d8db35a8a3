# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of channel state information: written records are read back, in both file formats."""

import math
import sys
import tracemalloc
import zipfile
from dataclasses import fields, replace

import h5py
import numpy as np
import pytest
from gnuradio.mimopack.wifi import csi
from gnuradio.mimopack.wifi.csi import CsiRecord, CsiWriter, read_csi
from gnuradio.mimopack.wifi.formats import HT, VHT, NonHT
from gnuradio.mimopack.wifi.frame import ChannelState
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
def test_memory_does_not_grow_with_the_frames(tmp_path, monkeypatch, name):
    """Neither while frames are written nor on closing."""
    monkeypatch.setattr(csi, "_BLOCK", 4)
    frame = with_channel(VHT(5, 20, num_streams=4, bandwidth_mhz=80), antennas=4)

    def most(count):
        tracemalloc.start()
        try:
            written(tmp_path / name, [frame] * count)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most(8)    # imports, and caches of libraries
    assert most(320) < most(160) + 20 * frame.channel.matrices.nbytes


@BOTH
def test_discarding(tmp_path, name):
    (tmp_path / name).write_bytes(b"old")
    writer = CsiWriter(tmp_path / name)
    writer.write(FRAMES[0])
    writer.discard()
    writer.discard()
    writer.close()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"old"
    with pytest.raises(ValueError, match=f"{name}: writing has ended"):
        writer.write(FRAMES[0])


@BOTH
def test_no_frames(tmp_path, name):
    assert read_csi(written(tmp_path / name, [])) == []


@BOTH
def test_frames_without_channel_are_counted(tmp_path, name):
    with CsiWriter(tmp_path / name) as writer:
        assert writer.write(received(NonHT(6, 44))) is False
        assert writer.write(FRAMES[0]) is True
    assert (writer.frames, writer.skipped) == (1, 1)
    assert len(read_csi(tmp_path / name)) == 1


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


@BOTH
def test_an_error_in_the_program_loses_no_frames(tmp_path, name):
    with pytest.raises(KeyboardInterrupt), CsiWriter(tmp_path / name) as writer:
        writer.write(FRAMES[0])
        raise KeyboardInterrupt
    assert len(read_csi(tmp_path / name)) == 1


@BOTH
def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path, name, monkeypatch):
    writer = CsiWriter(tmp_path / name)
    writer.write(FRAMES[0])

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(csi, "_columns", fail)
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=f"{name}: writing has ended"):
        writer.write(FRAMES[0])


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


def test_addresses_of_control_frames(tmp_path):
    from gnuradio.mimopack.wifi.mac import fcs
    heads = [bytes.fromhex("d4000000" + A), bytes.fromhex("b4000000" + A + B)]    # ACK, RTS
    frames = [with_channel(NonHT(6, 14), [head + fcs(head)]) for head in heads]
    ack, rts = read_csi(written(tmp_path / "frames.npz", frames))
    assert (ack.destination, ack.source, ack.transmitter) == (ADDRESS[A], "", "")
    assert (rts.destination, rts.source, rts.transmitter) == (ADDRESS[A], ADDRESS[B], ADDRESS[B])
    assert ack.fcs_ok and rts.fcs_ok and ack.sequence_number == rts.sequence_number == -1


@pytest.mark.parametrize("path, error, message", [
    (3, ValueError, "path: got 3, must be the path"), ("", ValueError, "path: got '', must be"),
    ("/", ValueError, "path: got '/', must be"), ("/tmp", ValueError, "path: got the folder /tmp"),
    ("/nowhere/frames.npz", FileNotFoundError, "nowhere"),
    ("/nowhere/frames.h5", FileNotFoundError, "nowhere")])
def test_writer_refuses(path, error, message):
    with pytest.raises(error, match=message):
        CsiWriter(path)


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


def one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def pickled(path):
    with path.open("wb") as file:
        np.save(file, np.array([{}], object), allow_pickle=True)


def other_arrays(path):
    with path.open("wb") as file:
        np.savez(file, csi=np.zeros(3))


def changed(name, value):
    """Return a function that replaces an array of the file."""
    def change(path):
        with np.load(path) as file:
            arrays = {**file, name: value}
        with path.open("wb") as file:
            np.savez(file, **arrays)
    change.__name__ = name
    return change


def torn(path):
    """Take a brace out of the header of an array."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(b"}", b" ", 1))


def shifted(path):
    """Take bytes out of the middle: the archive then begins before the file."""
    content = path.read_bytes()
    path.write_bytes(content[:40] + content[300:])


@pytest.mark.parametrize("spoil", [
    cut, empty, one_array, pickled, other_arrays, torn, shifted, changed("layout", 2),
    changed("csi", np.ones(3)), changed("mcs", np.ones(5)), changed("source", np.zeros(5)),
    changed("noise", np.ones((5, 3))), changed("csi_shape", np.full((5, 3), -1)),
    changed("csi_offset", np.zeros(2, int)), changed("time", np.zeros(1)),
    changed("csi_shape", np.full((5, 3), 7))], ids=lambda spoil: spoil.__name__)
def test_reader_refuses(tmp_path, spoil):
    path = written(tmp_path / "frames.npz", FRAMES)
    spoil(path)
    with pytest.raises(ValueError, match="frames.npz is not a complete file of channel state"):
        read_csi(path)


def test_reader_of_missing_and_spoilt_hdf5(tmp_path):
    for name in ("missing.npz", "missing.h5"):
        with pytest.raises(FileNotFoundError, match="missing"):
            read_csi(tmp_path / name)
    cut(written(tmp_path / "frames.h5", FRAMES))
    with pytest.raises(OSError):
        read_csi(tmp_path / "frames.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["layout"] = 1
    with pytest.raises(ValueError, match="other.h5 is not a complete file"):
        read_csi(tmp_path / "other.h5")


def in_another_file(file, other):
    values = file["csi"][()]
    other.with_suffix(".bin").write_bytes(values.tobytes())
    del file["csi"]
    file.create_dataset("csi", values.shape, values.dtype,
                        external=[(other.with_suffix(".bin"), 0, values.nbytes)])


def in_a_view(file, other):
    shape = file["csi"].shape
    layout = h5py.VirtualLayout(shape, np.complex64)
    layout[:] = h5py.VirtualSource(other, "csi", shape)
    del file["csi"]
    file.create_virtual_dataset("csi", layout)


def linked(link):
    def change(file, other):
        file.move("csi", "kept")
        file["csi"] = link(other)
    return change


def never_written(file, other):
    del file["csi"]
    file.create_dataset("csi", (2**40,), np.complex64, chunks=(1024,))


@pytest.mark.parametrize("change, message", [
    (in_another_file, "csi: the values are in another file"),
    (in_a_view, "csi: the values are in another file"),
    (linked(lambda other: h5py.ExternalLink(other, "/csi")), "csi: got a link, must be a dataset"),
    (linked(lambda other: h5py.SoftLink("/kept")), "csi: got a link, must be a dataset"),
    (never_written, "csi: got 8796093022208 bytes, more than the file can have")])
def test_hdf5_files_have_their_own_values(tmp_path, change, message):
    path = written(tmp_path / "frames.h5", FRAMES)
    other = written(tmp_path / "other.h5", FRAMES)
    with h5py.File(path, "a") as file:
        change(file, other)
    with pytest.raises(ValueError, match=f"frames.h5 is not a complete file of .*{message}"):
        read_csi(path)


@BOTH
def test_other_arrays_of_a_file_are_not_read(tmp_path, name):
    path = written(tmp_path / name, FRAMES)
    if name.endswith("h5"):
        with h5py.File(path, "a") as file:
            file.create_dataset("more", (2**40,), np.float32, chunks=(1024,))
            file["link"] = h5py.ExternalLink("missing.h5", "/csi")
    else:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("more.npy", b"damaged")
    assert len(read_csi(path)) == len(FRAMES)
