# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are whole or absent, links and devices are left alone, and one run at a time has a file."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from gnuradio.mimopack import files
from gnuradio.mimopack.files import Replacement, locked, regular, replace_file
from limits import small_files


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def special(tmp_path):
    """Paths of things that are no regular files, by kind."""
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        yield {"a FIFO": tmp_path / "fifo", "a socket": tmp_path / "socket",
               "a device": Path("/dev/full")}


class TestReplaceFile:
    def test_the_name_comes_with_the_end(self, tmp_path):
        path = tmp_path / "a.json"
        path.write_text("old")
        with replace_file(path) as file:
            file.write("neü")
            file.flush()
            assert path.read_text() == "old"
            assert len(names(tmp_path)) == 2
        assert path.read_bytes() == "neü".encode()
        assert names(tmp_path) == ["a.json"]

    @pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
    def test_an_exception_changes_nothing(self, tmp_path, error):
        (tmp_path / "a").write_text("old")
        with pytest.raises(error), replace_file(tmp_path / "a") as file:
            file.write("new")
            raise error
        assert (tmp_path / "a").read_text() == "old"
        assert names(tmp_path) == ["a"]

    def test_a_full_disk_is_named_and_changes_nothing(self, tmp_path):
        path = tmp_path / "a"
        path.write_text("old")
        with small_files(100), pytest.raises(OSError, match="File too large") as caught, \
                replace_file(path) as file:
            file.write("x" * 1000)
        assert caught.value.filename == str(path)
        assert path.read_text() == "old" and names(tmp_path) == ["a"]

    def test_a_link_means_its_file(self, tmp_path):
        (tmp_path / "folder").mkdir()
        link = tmp_path / "link"
        link.symlink_to("folder/a")
        for text in ("one", "two"):
            with replace_file(link) as file:
                file.write(text)
            assert (tmp_path / "folder" / "a").read_text() == text
        assert link.is_symlink() and names(tmp_path / "folder") == ["a"]

    def test_only_regular_files(self, tmp_path, special):
        for path in special.values():
            with pytest.raises(ValueError, match=f"{path} is a FIFO, a .*, must be a regular"), \
                    replace_file(path):
                pass
            with pytest.raises(ValueError, match=f"{path} is a FIFO, a .*, must be a regular file"):
                regular(path)
        with pytest.raises(IsADirectoryError, match=str(tmp_path)):
            regular(tmp_path)
        assert regular(tmp_path / "new") == tmp_path / "new"


class TestReplacement:
    def test_streams_are_written_directly(self, special):
        for path in (special["a FIFO"], special["a device"]):
            replacement = Replacement(path, streams=True)
            assert replacement.part == path and replacement.leave() is None
            replacement.finish()
            replacement.discard()
            assert path.exists()

    def test_an_incomplete_file_is_left(self, tmp_path):
        victim = tmp_path / "victim"
        victim.write_text("precious")
        (tmp_path / "a.part").symlink_to(victim)
        replacement = Replacement(tmp_path / "a")
        replacement.part.write_text("half")
        assert replacement.leave() == tmp_path / "a.part"
        assert not (tmp_path / "a.part").is_symlink() and victim.read_text() == "precious"
        assert (tmp_path / "a.part").read_text() == "half"
        assert names(tmp_path) == ["a.part", "victim"]

_HOLD = """if True:
    import sys
    from gnuradio.mimopack.files import locked
    with locked(sys.argv[1]):
        print("locked", flush=True)
        sys.stdin.read()
"""


class TestLock:
    def test_one_at_a_time(self, tmp_path):
        path = tmp_path / "a"
        (tmp_path / "link").symlink_to(path)
        with locked(path):
            for same in (path, tmp_path / "link", tmp_path / "." / "a"):
                with pytest.raises(ValueError, match=f"{same} is in use by another run"), \
                        locked(same):
                    pass
            with locked(tmp_path / "b"):
                pass
        with locked(path):
            pass
        assert names(tmp_path) == ["link"]

    def test_the_lock_goes_with_the_process(self, tmp_path):
        path = tmp_path / "a"
        with subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as child:
            try:
                assert child.stdout.readline() == "locked\n"
                with pytest.raises(ValueError, match="in use by another run"), locked(path):
                    pass
                assert files.in_use(path)
            finally:
                child.send_signal(signal.SIGKILL)
            child.wait(60)
        assert not files.in_use(path)
        assert names(tmp_path) == [".a.lock"]
        with locked(path):
            pass
        assert names(tmp_path) == []
