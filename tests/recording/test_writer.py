# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failure at any place leaves on disk: a valid recording, or nothing."""

import errno
import os
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording import writer as module
from recordings import exact_samples

CHANNELS, LENGTH = 3, 40_000
SAMPLES = exact_samples(CHANNELS, LENGTH, "ci16_le")


class _Handle:
    """A file on a disk."""

    def __init__(self, handle, disk):
        self._handle, self._disk = handle, disk
        self.truncate, self.seek, self.fileno = handle.truncate, handle.seek, handle.fileno
        self.close = handle.close

    @property
    def closed(self):
        return self._handle.closed

    def write(self, data):
        return self._disk.write(self._handle, data)


class _Disk:
    """Stand-in for a disk with room for some bytes in all files together."""

    def __init__(self, writer, room):
        self._writer, self._room = writer, room
        writer._handles = [_Handle(one, self) for one in writer._handles]

    @property
    def left(self):
        return self._room - sum(path.stat().st_size for path in self._writer._base.parent.iterdir())

    def write(self, handle, data):
        if self.left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return handle.write(data[:self.left])


class _Failing:
    """Stand-in for a disk whose write number ``fatal`` takes a part of the data and fails."""

    def __init__(self, writer, fatal, error):
        self._left, self._error = fatal, error
        writer._handles = [_Handle(one, self) for one in writer._handles]

    def write(self, handle, data):
        self._left -= 1
        if self._left >= 0:
            return handle.write(data)
        if self._left == -1:
            handle.write(data[:len(data) // 2 + 1])
            raise self._error
        return handle.write(data)


def _assert_valid(folder, least=1):
    """Check that a folder holds a valid recording of the first samples; return their number."""
    (path,) = [one for one in folder.iterdir() if one.name in ("r.sigmf-meta",
                                                               "r.sigmf-collection")]
    reader = recording.Reader(path, verify=True)
    assert reader.notes == [] and reader.num_samples >= least
    assert np.array_equal(reader.read(), SAMPLES[:, :reader.num_samples])
    assert not list(folder.glob("*.part"))
    return reader.num_samples


@pytest.mark.parametrize("layout", recording.LAYOUTS)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), OSError(errno.EIO, "broken"),
                                   KeyboardInterrupt()], ids=["full", "broken", "ctrl-c"])
def test_a_failure_of_any_write_leaves_a_valid_recording(tmp_path, layout, error):
    number, finished = 0, False
    while not finished:
        folder = tmp_path / str(number)
        folder.mkdir()
        writer = recording.Writer(folder / "r", CHANNELS, 1e6, "ci16_le", layout)
        writer.write(SAMPLES[:, :100])
        _Failing(writer, number, error)
        try:
            with writer:
                for start in range(100, LENGTH, 10_000):
                    writer.write(SAMPLES[:, start:start + 10_000])
            finished = True
        except type(error) as caught:
            assert caught is error
        kept = _assert_valid(folder, 100)
        assert kept == writer.num_samples and (not finished or kept == LENGTH)
        number += 1
    assert number > 4 * (CHANNELS if layout == "collection" else 1)


def _broken_once(monkeypatch, name, number, lasts=False):
    """Let call ``number`` of a function of ``os`` fail, and with ``lasts`` all later ones."""
    real, calls = getattr(os, name), []

    def call(*arguments):
        calls.append(name)
        if len(calls) == number or lasts and len(calls) > number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*arguments)

    monkeypatch.setattr(os, name, call)
    return calls


@pytest.mark.parametrize("layout, number", [
    ("interleaved", 1), *(("collection", number) for number in range(1, CHANNELS + 2))])
def test_metadata_are_written_again_after_a_disk_error(tmp_path, layout, number, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    calls = _broken_once(monkeypatch, "replace", number)
    writer.close()
    assert len(calls) > number and _assert_valid(tmp_path, LENGTH) == LENGTH


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_samples_without_metadata_are_named(tmp_path, layout, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    _broken_once(monkeypatch, "replace", 1, lasts=True)
    datasets = sorted(path.name for path in tmp_path.iterdir())
    names = ", ".join(datasets)
    with pytest.raises(OSError, match=f"; without metadata stay {names}: "):
        writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == datasets


@pytest.mark.parametrize("layout, number", [
    ("interleaved", 1), *(("collection", number) for number in range(1, CHANNELS + 1))])
def test_a_dataset_that_cannot_be_synchronised_has_metadata(tmp_path, layout, number, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    _broken_once(monkeypatch, "fsync", number)
    with pytest.raises(OSError, match="Input/output error"):
        writer.close()
    assert _assert_valid(tmp_path, LENGTH) == LENGTH


def _interrupt_at(line):
    """Raise KeyboardInterrupt at a line event, counted from 0, in writer.py."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            count += 1
            if count > line:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_ctrl_c_at_any_line_of_a_write_leaves_a_valid_recording(tmp_path, layout):
    line, finished, before = 0, False, sys.gettrace()
    while not finished:
        folder = tmp_path / str(line)
        folder.mkdir()
        writer = recording.Writer(folder / "r", CHANNELS, 1e6, "ci16_le", layout)
        writer.write(SAMPLES[:, :100])
        try:
            try:
                _interrupt_at(line)
                writer.write(SAMPLES[:, 100:300])
                finished = True
            finally:
                sys.settrace(before)
        except KeyboardInterrupt:
            pass
        writer.close()
        assert _assert_valid(folder, 100) in ((300,) if finished else (100, 300))
        line += 1
    assert line > 20


@pytest.mark.parametrize("layout", recording.LAYOUTS)
@pytest.mark.parametrize("room", [20_000, 100_000, 199_999])
def test_a_full_disk_keeps_nearly_all_that_it_can_hold(tmp_path, layout, room):
    """The files of a Collection share a disk that fills up within one large block."""
    samples = exact_samples(8, 200_000, "ci16_le")
    writer = recording.Writer(tmp_path / "r", 8, 1e6, "ci16_le", layout)
    block = writer.packing.empty(200_000)
    writer.packing.pack(list(samples), block)
    _Disk(writer, room * 32 + 1)
    with pytest.raises(OSError, match="space"), writer:
        writer.write_block(block, 0, 200_000)
    reader = recording.Reader(writer.path, verify=True)
    assert reader.notes == []
    assert room - 16_384 <= reader.num_samples <= room
    assert np.array_equal(reader.read(), samples[:, :reader.num_samples])


@pytest.mark.parametrize("layout", recording.LAYOUTS)
@pytest.mark.parametrize("room", [0, 5])
def test_a_disk_that_is_full_from_the_start_keeps_no_files(tmp_path, layout, room):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    _Disk(writer, room)
    with pytest.raises(OSError, match="space"), writer:
        writer.write(SAMPLES)
    assert list(tmp_path.iterdir()) == []
    recording.write(tmp_path / "r", SAMPLES, 1e6, layout=layout)
    writer.save()
    _assert_valid(tmp_path, LENGTH)    # the other recording stays


def _refuse_metadata(monkeypatch, times=None):
    """Let the first writes of metadata find a full disk, or all; return a list of the refusals."""
    dump, refused = module._dump_to, []

    def full(*arguments):
        if times is None or len(refused) < times:
            refused.append(arguments)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        dump(*arguments)

    monkeypatch.setattr(module, "_dump_to", full)
    return refused


def _datasets(folder):
    """Return the samples of the datasets in a folder, which holds nothing else."""
    paths = sorted(folder.iterdir())
    assert {path.suffix for path in paths} == {".sigmf-data"}
    stored = [np.fromfile(path, "<i2").reshape(-1, 2 * CHANNELS // len(paths)) for path in paths]
    return np.hstack(stored)


STORED = np.round(SAMPLES.T.copy().view(np.float32) * 32768).astype(np.int16)
FILES = {"interleaved": 2, "collection": 4}    # as many as may take a block more than their bytes


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_disk_that_never_takes_the_metadata_keeps_the_samples(tmp_path, layout, monkeypatch):
    """As if other programs took all bytes that the recording gives up."""
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    refused = _refuse_metadata(monkeypatch)
    names = ", ".join(sorted(path.name for path in tmp_path.iterdir()))
    for _ in range(3):    # later attempts delete no further samples
        with pytest.raises(OSError, match=f"space.*; without metadata stay {names}: .*/r"):
            writer.save()
    with pytest.raises(OSError, match="without metadata stay"):
        writer.close()
    assert len(refused) == 6
    kept = _datasets(tmp_path)
    # Three times what the metadata need after the second attempt, with checksums in the first.
    room = (2 * 4096 + 200) * FILES[layout] + writer._metadata_bytes()
    assert len(kept) == writer.num_samples >= LENGTH - 3 * room // 12 - 2
    assert np.array_equal(kept, STORED[:len(kept)])


def _counts(found, **changes):
    """Return the result of fstatvfs for a disk of 40 inodes, with other numbers."""
    found = list(found)
    for name, value in {"files": 40, **changes}.items():
        found[["bsize", "frsize", "blocks", "bfree", "bavail", "files", "ffree",
               "favail"].index(name)] = value
    return os.statvfs_result(found)


def test_a_disk_that_makes_inodes_from_free_blocks_gets_metadata(tmp_path, monkeypatch):
    real = os.fstatvfs
    monkeypatch.setattr(os, "fstatvfs", lambda file: _counts(real(file), favail=0, bavail=0))
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le")
    writer.write(SAMPLES)
    _refuse_metadata(monkeypatch, 1)
    writer.save()
    assert _assert_valid(tmp_path) < LENGTH


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_large_metadata_get_room(tmp_path, layout, monkeypatch):
    """A capture segment for each of many gaps, on a disk that the samples have filled."""
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    for start in range(0, LENGTH, 100):
        writer.add_capture(datetime=f"2026-01-01T00:00:00.{start:06d}Z")
        writer.write(SAMPLES[:, start:start + 100])
    full, needed = LENGTH * 4 * CHANNELS, 2 * 4096 * FILES[layout] + writer._metadata_bytes()
    dump = module._dump_to

    def limited(metadata, handle, annotations):
        dump(metadata, handle, annotations)
        handle.flush()
        if sum(path.stat().st_size for path in tmp_path.iterdir()) > full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "_dump_to", limited)
    with pytest.raises(OSError, match="No space left on device: "):    # samples were given up
        writer.close()
    assert LENGTH > _assert_valid(tmp_path) >= LENGTH - needed // 12 - 2


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_ctrl_c_after_a_save_leaves_what_was_saved(tmp_path, layout):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES[:, :1000])
    writer.save()
    handles = list(writer._handles)
    _Failing(writer, 0, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        writer.write(SAMPLES[:, 1000:])
    writer._handles = handles
    writer.close()
    assert _assert_valid(tmp_path) == 1000
    sizes = {path.stat().st_size for path in tmp_path.glob("*.sigmf-data")}
    assert len(sizes) == 1 and sum(sizes) in (4000 * CHANNELS, 4000)


@pytest.mark.parametrize("number", range(1, CHANNELS + 2))
def test_no_metadata_are_replaced_before_all_are_on_disk(tmp_path, number, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", "collection")
    writer.write(SAMPLES)
    writer.save()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    writer.annotate(5, 10)
    real, calls = module.Replacement.sync, []

    def sync(part):
        calls.append(part)
        if (len(calls) - 1) % 4 >= number - 1:    # also in the second attempt
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(part)

    monkeypatch.setattr(module.Replacement, "sync", sync)
    with pytest.raises(OSError, match="the metadata stay as they were"):
        writer.save()
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


def test_metadata_behind_a_failed_flush_count(tmp_path, monkeypatch):
    """A later save that finds a full disk gives up no sample that they describe."""
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le")
    writer.write(SAMPLES)
    with monkeypatch.context() as patch:
        _broken_once(patch, "fsync", 1)
        with pytest.raises(OSError, match="rror"):
            writer.save()
    assert _assert_valid(tmp_path, LENGTH) == LENGTH
    writer.annotate(5, 10)
    _refuse_metadata(monkeypatch)
    with pytest.raises(OSError, match="the metadata stay as they were, for 40000 samples"):
        writer.save()
    assert _assert_valid(tmp_path, LENGTH) == LENGTH


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_disk_without_inodes_keeps_all_samples(tmp_path, layout, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES[:, :LENGTH - 5])
    real, real_open = os.fstatvfs, os.open

    def count(file):
        return _counts(real(file), favail=0)

    def create(path, flags, *mode, **options):
        if str(path).endswith(".part"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_open(path, flags, *mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstatvfs", count)
        patch.setattr(os, "open", create)
        with pytest.raises(OSError, match="without metadata stay"):
            writer.save()
        assert np.array_equal(_datasets(tmp_path), STORED[:LENGTH - 5])
    # Somebody has deleted files: the recording continues.
    writer.write(SAMPLES[:, LENGTH - 5:])
    writer.close()
    assert _assert_valid(tmp_path, LENGTH) == LENGTH


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_short_recording_makes_room_for_its_metadata(tmp_path, layout, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES[:, :2600])
    _refuse_metadata(monkeypatch, 2)
    writer.save()
    assert writer.error.errno == errno.ENOSPC
    with pytest.raises(OSError, match="space"):
        writer.write(SAMPLES[:, 2600:2700])    # would not follow the samples before
    with pytest.raises(OSError, match="space"):
        writer.close()
    assert _assert_valid(tmp_path) == 2600 // 4    # a half is given up each time


def test_samples_that_take_one_block_stay(tmp_path, monkeypatch):
    """Without some of them, the file would take as much room."""
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le")
    writer.write(SAMPLES[:, :100])
    _refuse_metadata(monkeypatch)
    with pytest.raises(OSError, match="without metadata stay"):
        writer.close()
    assert np.array_equal(_datasets(tmp_path), STORED[:100])


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_an_unchanged_recording_is_not_saved_again(tmp_path, layout, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    writer.annotate(5, 10)
    writer.save()
    before = {path: path.stat() for path in tmp_path.iterdir()}
    refused = _refuse_metadata(monkeypatch)
    writer.save()
    writer.close()
    writer.save()
    assert not refused and before == {path: path.stat() for path in tmp_path.iterdir()}


@pytest.mark.parametrize("change", [
    lambda writer: writer.annotate(7, 3), lambda writer: writer.annotate_later([(7, "{}")]),
    lambda writer: writer.captures[0].update({"core:frequency": 5e9}),
    lambda writer: setattr(writer, "sample_rate", 2e6)])
def test_a_changed_recording_is_saved_again(tmp_path, change):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le")
    writer.write(SAMPLES)
    writer.save()
    before = writer.path.stat().st_ino
    change(writer)
    writer.save()
    assert writer.path.stat().st_ino != before    # the old file was there until the end
    _assert_valid(tmp_path, LENGTH)
    writer.path.unlink()
    writer.save()
    _assert_valid(tmp_path, LENGTH)


@pytest.mark.parametrize("layout, refused_at", [
    ("interleaved", 1), *(("collection", number) for number in range(1, CHANNELS + 2))])
def test_a_failed_rewrite_leaves_the_metadata_as_they_were(tmp_path, layout, refused_at,
                                                           monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    writer.save()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    writer.annotate(5, 10)
    real, opened = os.open, []

    def create(path, flags, *mode, **options):
        if str(path).endswith(".part"):
            opened.append(path)
            if len(opened) % 4 == refused_at % 4 or layout == "interleaved":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", create)
    with pytest.raises(OSError, match="space.*the metadata stay as they were, for 40000 samples"):
        writer.close()
    assert opened and before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert _assert_valid(tmp_path, LENGTH) == LENGTH


@pytest.mark.parametrize("layout, names", [
    ("interleaved", ["r.sigmf-data", "r.sigmf-meta"]),
    ("collection", ["r.sigmf-collection", "r-0.sigmf-meta", "r-2.sigmf-data"])])
@pytest.mark.parametrize("exists", [False, True])
def test_links_are_never_followed(tmp_path, layout, names, exists):
    (tmp_path / "here").mkdir()
    target = tmp_path / "elsewhere"
    for name in names:
        if exists:
            target.write_text("precious")
        link = tmp_path / "here" / name
        link.symlink_to(target)
        with pytest.raises(FileExistsError, match=f"path: .*/{name} is a symbolic link"):
            recording.write(tmp_path / "here/r", SAMPLES, 1e6, layout=layout)
        assert list((tmp_path / "here").iterdir()) == [link] and target.exists() == exists
        recording.write(tmp_path / "here/r", SAMPLES, 1e6, layout=layout, overwrite=True,
                        datatype="ci16_le")
        _assert_valid(tmp_path / "here", LENGTH)
        assert not link.is_symlink() and target.exists() == exists
        assert not exists or target.read_text() == "precious"
        for path in (tmp_path / "here").iterdir():
            path.unlink()


def test_a_link_that_appears_later_is_not_followed(tmp_path):
    (tmp_path / "here").mkdir()
    with recording.Writer(tmp_path / "here/r", CHANNELS, 1e6, "ci16_le") as writer:
        writer.write(SAMPLES)
        writer.path.symlink_to(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    _assert_valid(tmp_path / "here", LENGTH)


def test_a_file_that_another_program_makes_meanwhile_stays(tmp_path, monkeypatch):
    other = tmp_path / "r-1.sigmf-data"
    monkeypatch.setattr(os.path, "lexists", lambda name: False)
    other.write_text("other")
    with pytest.raises(FileExistsError):
        recording.Writer(tmp_path / "r", CHANNELS, 1e6, layout="collection")
    assert list(tmp_path.iterdir()) == [other] and other.read_text() == "other"


def test_a_recording_whose_files_cannot_all_be_made_leaves_none(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = os.open(os.devnull, os.O_RDONLY)    # the lowest free number
    os.close(first)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (first + 3, hard))
        with pytest.raises(OSError, match="Too many open files"):
            recording.Writer(tmp_path / "r", 50, 1e6, layout="collection")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_samples_are_on_disk_before_their_metadata(tmp_path, layout, monkeypatch):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    synced, fsync = [], os.fsync

    def record(file):
        name = Path(os.readlink(f"/proc/self/fd/{file}")).name
        if name.endswith(".sigmf-data"):
            assert not writer.path.exists()
            synced.append(name)
        fsync(file)

    monkeypatch.setattr(os, "fsync", record)
    writer.close()
    assert synced == sorted(path.name for path in tmp_path.glob("*.sigmf-data"))
    _assert_valid(tmp_path, LENGTH)
