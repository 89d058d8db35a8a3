# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack sim: table and files, continued runs, refused options."""

import json

import pytest
from click.testing import CliRunner
from gnuradio.mimopack.apps.sim import sim_command

LDPC = "wifi:648:1/2"


class TestCommand:
    def run(self, *arguments, code=0):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code == code, result.output
        return result.output

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

    @pytest.mark.parametrize("arguments, message", [
        (("-d", "mmse"), "give either --snr or --ebn0"),
        (("-d", "mmse", "--snr", "1", "--ebn0", "1"), "give either --snr or --ebn0"),
        (("-d", "mmse", "--snr", "1:2"), "'1:2' is neither FIRST:LAST:STEP nor numbers"),
        (("-d", "mmse", "--snr", "1:2:0"), "is neither FIRST:LAST:STEP"),
        (("-d", "mmse", "--snr", "10:8:1"), "is neither FIRST:LAST:STEP"),
        (("--snr", "1"), "Missing option"),
        (("-d", "mmse", "--snr", "1", "--code", "x"), "code: got 'x'"),
        (("-d", "mmse", "--snr", "1", "--iterations", 2), "without a code, must be 1")])
    def test_refusals(self, arguments, message):
        result = CliRunner().invoke(sim_command, [*map(str, arguments)])
        assert result.exit_code != 0 and message in result.output
