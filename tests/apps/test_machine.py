# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results name the machine and the commit. No program of the working folder runs for that."""

import os
import subprocess
import sys

import pytest
from gnuradio.mimopack import _commit
from gnuradio.mimopack.apps.machine import describe
from source_tree import ROOT

RECORDING = ROOT / "examples/recordings/wifi_4x4_ht"

MIMOPACK = "from gnuradio.mimopack.apps.cli import main\nif __name__ == '__main__':\n    main()\n"
DESCRIBE = "from gnuradio.mimopack.apps.machine import describe\nprint(describe())\n"


def test_tells_the_commit_of_the_package():
    assert describe()["commit"] == _commit.COMMIT


def test_command_names_no_folders(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/opt/bench/wifi.py", "--case", "80 MHz=2", "--output",
                                      "/home/someone/wifi.json", "a/b.json"])
    assert describe()["command"] == "wifi.py --case '80 MHz=2' --output wifi.json a/b.json"


class TestCommit:
    """cmake/commit.cmake, which the build runs."""

    def written(self, source, output, **environment):
        subprocess.run(["cmake", f"-DSOURCE={source}", f"-DOUTPUT={output}", "-P",
                        ROOT / "cmake/commit.cmake"], check=True, cwd=output.parent,
                       env={**os.environ, "MIMOPACK_COMMIT": "", **environment})
        names = {}
        exec(output.read_text(), names)
        return names["COMMIT"]

    def test_of_a_checkout(self, tmp_path):
        source = tmp_path / "source"
        git = ["git", "-C", source, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "init", "-q", source], check=True)
        (source / "file").write_text("1")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
        subprocess.run([*git, "tag", "v1"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True,
                              text=True).stdout[:12]
        output = tmp_path / "_commit.py"
        assert self.written(source, output, MIMOPACK_COMMIT="other") == head
        unchanged = output.stat().st_mtime_ns
        self.written(source, output)
        assert output.stat().st_mtime_ns == unchanged
        (source / "file").write_text("2")
        assert self.written(source, output) == f"{head}-dirty"

    @pytest.mark.parametrize("named, commit", [
        ("", None), ("0123456789ab", "0123456789ab"), ('"; import os #', None)])
    def test_of_sources_without_git(self, tmp_path, named, commit):
        assert self.written(tmp_path, tmp_path / "_commit.py", MIMOPACK_COMMIT=named) == commit
