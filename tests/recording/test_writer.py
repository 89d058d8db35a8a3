# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failure at any place leaves on disk: a valid recording, or nothing."""

import errno
import os
import resource
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import recording
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
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()],
                         ids=["full", "ctrl-c"])
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


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_full_disk_keeps_nearly_all_that_it_can_hold(tmp_path, layout):
    """The files of a Collection share a disk that fills up within one large block."""
    room = 100_000
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
def test_a_disk_that_is_full_from_the_start_keeps_no_files(tmp_path, layout):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    _Disk(writer, 5)
    with pytest.raises(OSError, match="space"), writer:
        writer.write(SAMPLES)
    assert list(tmp_path.iterdir()) == []
    recording.write(tmp_path / "r", SAMPLES, 1e6, layout=layout)
    writer.save()
    _assert_valid(tmp_path, LENGTH)    # the other recording stays


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_an_unchanged_recording_is_not_saved_again(tmp_path, layout):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES)
    writer.annotate(5, 10)
    writer.save()
    before = {path: path.stat() for path in tmp_path.iterdir()}
    writer.save()
    writer.close()
    writer.save()
    assert before == {path: path.stat() for path in tmp_path.iterdir()}


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
