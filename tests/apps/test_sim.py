# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack sim: table and files, continued runs, refused options."""

import json
import os
import re

import pytest
from click.testing import CliRunner
from gnuradio.mimopack import files
from gnuradio.mimopack.apps.cli import main
from gnuradio.mimopack.apps.sim import sim_command
from limits import small_files

LDPC = "wifi:648:1/2"


class TestCommand:
    def run(self, *arguments, code=0):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

    @pytest.mark.quick
    def test_table_files_and_going_on(self, tmp_path):
        output, plot = tmp_path / "out.json", tmp_path / "out.png"
        arguments = ("-d", "mmse", "-d", "mmsepic:iterations=2", "--num-tx", 2, "--num-rx", 2,
                     "--code", LDPC, "--ebn0", "4:10:3", "--errors", 10, "--output", output)
        text = self.run(*arguments, "--max-frames", 16)
        assert "simulated: 2x2 qam16, code wifi:648:1/2" in text and "dB of Eb/N0" in text
        assert "simulating" in text
        text = self.run(*arguments, "--max-frames", 64, "--plot", plot, "--quiet")
        assert "simulating" not in text
        assert plot.read_bytes().startswith(b"\x89PNG")
        kept = json.loads(output.read_text())
        assert len(kept["runs"]) == 2 and kept["parameters"]["snr_kind"] == "ebn0"
        assert {"processor", "commit", "command"} <= kept["runs"][1]["machine"].keys()
        for row in kept["results"]:
            assert f"{row['detector']:<20} {row['at_db']:>7g} {row['frames']:>8}" in text
        assert "not complete" in self.run(*arguments, "--max-frames", 10**6, "--errors", 10**6,
                                          "--seconds", 1e-6)

    def test_interferer(self):
        text = self.run("-d", "mmse", "-d", "mmse:covariance=none", "--num-rx", 6, "--snr", 12,
                        "--interferer", 10, "--max-frames", 32, "--quiet")
        assert "channel rayleigh, interferer 10 dB; dB of SNR" in text
        known, unknown = (float(re.search(rf"(?m)^{name} .* (\S+)$", text)[1])
                          for name in ("mmse", "mmse:covariance=none"))
        assert 0 < 2 * known < unknown

    def test_without_options_it_says_what_it_runs(self):
        text = self.run("--errors", 5, "--quiet")
        assert "by default: -d mmse -d nway --snr 8:24:4 (mimopack sim --help" in text
        points = re.findall(r"(?m)^(mmse|nway) +(\d+) ", text)
        assert points == [(name, str(at)) for name in ("mmse", "nway") for at in range(8, 25, 4)]
        text = self.run("--errors", 5, "--quiet", "-d", "zf")
        assert "by default: --snr 8:24:4 (" in text and "mmse" not in text
        text = self.run("--errors", 5, "--quiet", "--ebn0", 3)
        assert "by default: -d mmse -d nway (" in text
        assert "by default" not in self.run("--errors", 5, "-d", "zf", "--snr", 3)

    @pytest.mark.parametrize("arguments, message", [
        (("-d", "mmse", "--snr", "1", "--ebn0", "1"), "give either --snr or --ebn0"),
        (("-d", "mmse", "--snr", "1:2"), "'1:2' is neither FIRST:LAST:STEP nor numbers"),
        (("-d", "mmse", "--snr", "1:2:0"), "'1:2:0' is not FIRST:LAST:STEP with STEP > 0, LAST"),
        (("-d", "mmse", "--snr", "10:8:1"), "'10:8:1' is not FIRST:LAST:STEP with STEP > 0, LAST"),
        (("-d", "mmse", "--snr", "1", "--code", "x"), "code: got 'x'"),
        (("-d", "mmse", "--snr", "1", "--iterations", 2), "without a code, must be 1")])
    def test_refusals(self, arguments, message):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code != 0 and message in result.output


class TestOutput:
    """The file of results is whole or refused, and the table is printed whatever happens to it."""

    ARGUMENTS = ("sim", "-d", "mmse", "--num-tx", "2", "--num-rx", "2", "--constellation", "qpsk",
                 "--snr", "2", "--errors", "5", "-q")

    def run(self, *arguments):
        result = CliRunner().invoke(main, [*self.ARGUMENTS, *map(str, arguments)])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    def refused(self, *arguments):
        """Run, and return the only line of the refusal."""
        result = self.run(*arguments)
        assert result.exit_code == 2 and "detector" not in result.output
        return result.output.splitlines()[-1]

    def test_a_second_run_is_refused(self, tmp_path):
        path = tmp_path / "out.json"
        with files.locked(path):
            assert self.refused("-o", path) == (
                f"Error: {path} is in use by another run: wait until it ends, or name another file")
        assert self.run("-o", path).exit_code == 0
        assert os.listdir(tmp_path) == ["out.json"]

    @pytest.mark.parametrize("option", ["-o", "--plot"])
    def test_only_regular_files(self, tmp_path, option):
        os.mkfifo(tmp_path / "fifo")
        for path in (tmp_path / "fifo", "/dev/full"):
            assert f"{path} is a FIFO, a device or a socket, must be a" in self.refused(option,
                                                                                        path)
        said = self.refused(option, tmp_path / "no" / "out.json")
        assert f"there is no folder {tmp_path / 'no'}" in said

    def test_a_full_disk_loses_no_table(self, tmp_path):
        path = tmp_path / "out.json"
        assert self.run("-o", path).exit_code == 0
        before = path.read_bytes()
        with small_files(1000):
            result = self.run("-o", path, "--errors", 20)
        assert result.exit_code == 1
        table = self.run("--errors", 20).output.splitlines()
        assert result.output.splitlines()[:len(table)] == table
        assert result.output.splitlines()[-1] == (
            f"Error: [Errno 27] File too large: '{path}'")
        assert "written" not in result.output and path.read_bytes() == before
        assert os.listdir(tmp_path) == ["out.json"]

    def test_the_format_of_curves_is_checked_first(self, tmp_path):
        said = self.refused("--plot", tmp_path / "out.doc")
        assert "out.doc: pictures cannot be written as doc, allowed are eps, " in said
        for name, start in (("out", b"\x89PNG"), ("out.PDF", b"%PDF"), ("out.svg", b"<?xml")):
            assert self.run("--plot", tmp_path / name).exit_code == 0
            assert (tmp_path / name).read_bytes().startswith(start)
