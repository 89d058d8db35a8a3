# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each operation on a file fails once in turn: the error is told, and the files stay valid."""

import resource
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
import sigmf
from every_block import MESSAGES, play
from faults import FILES, MEMORY, THREADS, Folders, each_fault, injected, watch
from flowgraphs import until
from gnuradio import mimopack
from gnuradio.mimopack import recording
from gnuradio.mimopack.files import locked, replace_file
from gnuradio.mimopack.wifi.csi import CsiWriter, read_csi
from gnuradio.mimopack.wifi.frame import ChannelState
from gnuradio.mimopack.wifi.pcap import PcapWriter
from trial import NAMED
from wifi_frames import FRAMES

rng = np.random.default_rng(5)
SAMPLES = rng.uniform(-0.9, 0.9, (2, 800, 2)).astype(np.float32).view(np.complex64)[..., 0]
SAMPLES[0].real.sort()    # to find the place of a sample
COUNT = SAMPLES.shape[1]
OPERATIONS = FILES | MEMORY | THREADS


@pytest.fixture
def folders(tmp_path, monkeypatch):
    # The check against SigMF's schema would take most of the time.
    monkeypatch.setattr(sigmf.SigMFFile, "validate", lambda metadata: None)
    return Folders(tmp_path)


def attempt(function):
    """Return (result, error) of a call; one of them is None."""
    try:
        return function(), None
    except (OSError, MemoryError, RuntimeError) as error:
        return None, error


def is_told(error, capfd):
    """Return whether the injected error was raised, or logged since the last call."""
    return bool(NAMED.search("".join(capfd.readouterr()) + repr(error)))


def recorded(folder):
    """Return the number of samples of the recording in a folder, which were all sent."""
    path = next((path for name in ("made.sigmf-meta", "made.sigmf-collection")
                 if (path := folder / name).exists()), None)
    if path is None:
        return 0
    try:
        reader = recording.Reader(path, verify=True)
    except ValueError as error:
        assert "holds no samples" in str(error)
        return 0
    found = reader.read()
    assert reader.notes == []
    # Pieces may be missing, but not samples of one channel only.
    places = [np.searchsorted(SAMPLES[0].real, one.real) for one in found[:1]]
    assert np.array_equal(found, SAMPLES[:, places[0]]) and (np.diff(places[0]) > 0).all()
    return reader.num_samples


@pytest.mark.parametrize("layout, overload", [("interleaved", "wait"), ("collection", "drop")])
@pytest.mark.parametrize("operation", ["open", "write", "truncate", "seek", "close", "fsync",
                                       "rename", "arrays", "threads"])
def test_recording(operation, layout, overload, folders, capfd):
    def run(fault):
        folder = folders()
        with injected(OPERATIONS[operation], fault, folder):
            block, error = attempt(lambda: mimopack.sigmf_multichannel_sink(
                folder / "made", 2, layout=layout, overload=overload))
            if block is None:
                assert is_told(error, capfd) and not list(folder.iterdir())
                return
            play(block, [], tuple(SAMPLES[..., None]), {"frames": ()})
            _, error = attempt(block.close)
        kept, counts = recorded(folder), block.counts()
        if is_told(error, capfd):
            assert fault.happened
        else:    # such as a folder that cannot be synchronised
            assert kept == counts["samples"] == COUNT
        if operation in ("fsync", "rename"):    # samples that are on disk get metadata
            assert kept == COUNT
        if kept:    # otherwise there are no metadata
            assert kept == counts["samples"] - counts["dropped"] + block.recorder._dropped
        if overload == "drop":    # with "wait", the flowgraph ends at the error
            missing = COUNT - counts["samples"] - block.recorder._dropped
            assert bool(missing) <= counts["failures"] <= 1    # the log has told which samples

    each_fault(run)


@pytest.mark.parametrize("operation", ["open", "write", "fsync", "rename", "arrays", "threads"])
def test_ring(operation, folders, capfd):
    def run(fault):
        folder = folders()
        block = mimopack.sigmf_ring_sink(folder / "made", 2)

        def trigger():
            until(lambda: block.ring._next or block.counts()["failures"])
            attempt(block.trigger)

        with injected(OPERATIONS[operation], fault, folder):
            play(block, [], tuple(SAMPLES[..., None]), {"frames": ()}, halfway=trigger)
            block.trigger()    # after a failure the next trigger is taken
            block._wait()
        counts, said = block.counts(), is_told(None, capfd)
        # It does not matter if the folder cannot be synchronised.
        assert fault.happened or not said
        assert counts["written"] + counts["failed"] + counts["refused"] == 2
        assert counts["refused"] <= counts["failures"]    # no samples had arrived
        assert counts["failed"] + counts["failures"] == said
        for path in folder.glob("*.sigmf-meta"):
            found = recording.Reader(path, verify=True).read()
            first = np.searchsorted(SAMPLES[0].real, found[0, 0].real)
            assert np.array_equal(found, SAMPLES[:, first:first + found.shape[1]])

    each_fault(run)


def records(path):
    """Return the records of a capture file, which must end with a whole record."""
    content, at, found = path.read_bytes(), 24, []
    while at < len(content):
        length, = struct.unpack_from("<I", content, at + 8)
        assert at + 16 + length <= len(content)
        found.append(content[at + 16:at + 16 + length])
        at += 16 + length
    assert at == len(content)
    return found


class TestPcap:
    @pytest.mark.parametrize("operation", ["open", "write", "close"])
    def test_block(self, operation, folders, capfd):
        case = MESSAGES["wifi_pcap_sink"]()

        def run(fault):
            folder = folders()
            with injected(FILES[operation], fault, folder):
                block, error = attempt(lambda: case.make(folder))
                if block is not None:
                    play(block, [], (), {"in": [case.good["in"]] * 5})
                    _, error = attempt(block.close)
            assert is_told(error, capfd) == fault.happened
            if block is not None:
                assert block.records() + block.lost() + block.refused() == 5
                assert len(records(folder / "made.pcap")) == block.records()

        each_fault(run)

    def test_a_disk_that_takes_a_part_of_a_record(self, tmp_path):
        path = tmp_path / "made.pcap"
        writer = PcapWriter(path)
        writer.write(FRAMES[0])
        file, before = writer._file, path.stat().st_size

        class Full:
            def write(self, data):
                if file.tell() > before:
                    raise OSError(28, "No space left on device")
                return file.write(data[:10])

            def __getattr__(self, name):
                return getattr(file, name)

        writer._file = Full()
        with pytest.raises(OSError, match="No space left"):
            writer.write(FRAMES[0])
        assert writer.closed and len(records(path)) == writer.records > 0


def frame_with_channel():
    frame = FRAMES[0]
    frame.channel = ChannelState(np.arange(3), np.ones((3, len(frame.level_dbfs), 1), np.complex64),
                                 np.ones(len(frame.level_dbfs)))
    return frame


def write_channels(path, count, done=None):
    """Write frames to a file; ``done`` is a list that gets an element for each."""
    done = [] if done is None else done
    with CsiWriter(path) as writer:
        for _ in range(count):
            done.append(writer.write(frame_with_channel()))


@pytest.mark.parametrize("operation", ["open", "write", "seek", "truncate", "fsync", "rename",
                                       "read", "arrays"])
def test_channel_states(operation, folders, capfd):
    def run(fault):
        path, done = folders() / "made.npz", []
        write_channels(path, 2)
        with injected(OPERATIONS[operation], fault, path.parent):
            _, error = attempt(lambda: write_channels(path, 3, done))
        assert fault.happened == is_told(error, capfd) or len(read_csi(path)) == 3
        kept = len(read_csi(path))
        # A frame that has no memory is not written; closing then keeps those before it.
        assert kept == (3 if error is None else 2) or operation == "arrays" and kept == len(done)
        assert list(path.parent.iterdir()) == [path]

    each_fault(run)


@pytest.fixture
def closed_files():
    """Close what HDF5 still has open, which would end the process when Python is gone."""
    yield
    for file in h5py.h5f.get_obj_ids():
        file.close()


@pytest.mark.parametrize("owner, name", [
    (h5py.File, "__init__"), (h5py.File, "close"), (h5py.Group, "create_dataset"),
    (h5py.Group, "__setitem__"), (h5py.Group, "__getitem__"), (h5py.Dataset, "resize"),
    (h5py.Dataset, "__setitem__")], ids=lambda value: getattr(value, "__name__", value))
def test_channel_states_in_hdf5(owner, name, folders, capfd, closed_files):
    def run(fault):
        path = folders() / "made.h5"
        write_channels(path, 2)
        with pytest.MonkeyPatch.context() as patch:
            watch(patch, fault, owner, name, lambda *_: OSError(28, "injected: no space"))
            _, error = attempt(lambda: write_channels(path, 3))
        assert fault.happened == is_told(error, capfd)
        assert len(read_csi(path)) == (3 if error is None else 2)
        assert list(path.parent.iterdir()) == [path]

    each_fault(run)


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_channel_states_that_become_too_large(ending, folders):
    """The system refuses bytes from some position on, wherever it is."""
    path = folders() / f"made.{ending}"
    write_channels(path, 3)
    size, most = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    write_channels(path, 2)
    for limit in {*range(0, 6000, 300), *range(0, size, size // 20), size - 1}:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most[1]))
        try:
            with pytest.raises(OSError, match="File too large|errno = 27"):
                write_channels(path, 3)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, most)
        assert len(read_csi(path)) == 2 and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("operation", ["open", "write", "flush", "close", "fsync", "rename",
                                       "fstat", "unlink"])
def test_whole_files(operation, folders):
    """As ``mimopack sim`` writes its results: under a lock, with a new file in place of the old."""
    def rewrite(path):
        with locked(path), replace_file(path) as file:
            file.write("new")

    def run(fault):
        path = folders() / "made.json"
        path.write_text("old")
        with injected(FILES[operation], fault, path.parent):
            _, error = attempt(lambda: rewrite(path))
        assert error is None or "injected" in str(error) and path.name in str(error)
        assert error is not None or not fault.happened or path.read_text() == "new"
        assert path.read_text() in ("old", "new") and (error or path.read_text() == "new")
        if operation != "unlink":
            assert not list(path.parent.glob("*.part"))
        rewrite(path)    # the lock is free
        assert path.read_text() == "new"

    each_fault(run)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
@pytest.mark.parametrize("operation", ["open", "preadv", "fstat", "arrays"])
def test_playing(operation, layout, tmp_path, capfd):
    path = Path(recording.write(tmp_path / "played", SAMPLES, 20e6, layout=layout))

    def run(fault):
        with injected(OPERATIONS[operation], fault, tmp_path):
            block, error = attempt(lambda: mimopack.sigmf_multichannel_source(path))
            if block is None:
                assert NAMED.search(repr(error))
                return
            with fault.paused():
                block.set_max_noutput_items(300)
            played = play(block, [], (), {}).items
        count = len(played[0])
        assert is_told(None, capfd) == fault.happened == block.failures() == (count < COUNT)
        assert np.array_equal(np.array(played)[..., 0], SAMPLES[:, :count])

    each_fault(run)
