# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench with one setting: table, JSON, options, and the search for suites.

The tests do not check times.
"""

import json

import pytest
from click.testing import CliRunner
from gnuradio.mimopack import _core
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench import suite as suites
from gnuradio.mimopack.apps.bench.data import Setting
from gnuradio.mimopack.apps.bench.single import make_cases
from gnuradio.mimopack.apps.bench.table import spelled
from limits import small_files


def run(*arguments):
    result = CliRunner().invoke(bench_command, [*map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.output


def test_table_and_json(tmp_path):
    output = tmp_path / "bench.json"
    code, text = run("--num-tx", 2, "--num-rx", 2, "--vectors", 64, "--seconds", 0.01, "--rounds",
                     3, "--detector", "zf", "--detector", "nway", "--output", output)
    assert code == 0
    written = json.loads(output.read_text())
    assert {row["detector"] for row in written["results"]} == {"zf", "nway"}
    assert {row["backend"] for row in written["results"]} == {"cpu", "reference"}
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert written["case"]["noise_var"] == pytest.approx(2 / 100)
    for row in written["results"]:
        assert row["vectors_per_s"] > 0 and 0 <= row["ber"] <= 0.5
        assert row["mbit_per_s"] == pytest.approx(row["vectors_per_s"] * 8 / 1e6)
        assert ("ratio_to_reference" in row) == (row["backend"] == "cpu")
        assert spelled(row["label"]) in text
    assert "simulated" in text


def test_what_cannot_be_timed_is_said():
    code, text = run("--num-tx", 8, "--num-rx", 8, "--vectors", 64, "--seconds", 0.05, "--rounds",
                     1, "--detector", "omap", "--detector", "zf", "--backend", "cpu")
    assert code == 0 and "left out: omap, cpu: omap: " in text
    code, text = run("--num-tx", 8, "--num-rx", 8, "--detector", "omap", "--backend", "cpu")
    assert code != 0 and "no detector is left" in text


def test_detectors_with_parameters(tmp_path):
    code, text = run("--num-tx", 2, "--num-rx", 2, "--vectors", 64, "--seconds", 0.05, "--rounds",
                     1, "--detector", "kbest:k=2", "--detector", "nway:num_passes=1", "--backend",
                     "cpu", "--output", tmp_path / "bench.json")
    assert code == 0, text
    rows = json.loads((tmp_path / "bench.json").read_text())["results"]
    assert [(row["detector"], row["parameters"]) for row in rows] == [
        ("kbest", {"k": 2}), ("nway", {"num_passes": 1})]


@pytest.mark.parametrize("arguments, message", [
    (["--detector", "kbest:q=2"], "kbest has no parameter 'q', allowed are k, llr_clip"),
    (["--detector", "best"], "got 'best', allowed are zf, mmse"),
    (["--suite", "cpu", "--num-tx", 2], "--num-tx: not for the suite cpu"),
    (["--suite", "cpu", "--detector", "zf"], "--detector: not for the suite cpu"),
    (["--antennas", 2, "--suites", "."], "--suites, --antennas: only with --suite"),
    (["--suite", "cpus"], "--suite cpus: allowed are cpu, threads, "),
    (["--isa", "mmx"], "--isa mmx: this machine has"),
    (["--rounds", 0], "--rounds")])
def test_options_that_do_not_fit_are_refused(arguments, message):
    code, text = run(*arguments)
    assert code == 2 and message in text


def test_a_full_disk_loses_no_table(tmp_path):
    path = tmp_path / "b.json"
    path.write_text("old")
    with small_files(100):
        code, text = run("--detector", "zf", "--backend", "cpu", "--vectors", 64, "--seconds", 0.01,
                         "--rounds", 1, "--output", path)
    assert code == 1 and "vectors/s" in text and "written" not in text
    assert text.splitlines()[-1] == f"Error: --output: [Errno 27] File too large: '{path}'"
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


class TestWhereSuitesAre:
    SUITES = """
from gnuradio.mimopack.apps.bench.suite import Suite
SUITES = {"mine": Suite("nothing", lambda options: {"results": [], "rounds": options.rounds},
                        lambda results: [f"{results['rounds']} rounds"], 1, 1.0, 3)}
"""

    def make(self, folder):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(self.SUITES)
        return folder

    def test_a_folder_that_is_named(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)    # restores sys.path after the test
        folder = self.make(tmp_path / "suites_of_mine")
        code, text = run("--suite", "mine", "--suites", folder, "--output", tmp_path / "out.json")
        assert code == 0 and "3 rounds" in text
        written = json.loads((tmp_path / "out.json").read_text())
        assert written["what"] == "nothing" and written["results"] == []

    def test_not_of_the_current_folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(suites, "ROOTS", (tmp_path / "installed",))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "bench/suites").mkdir(parents=True)
        (tmp_path / "bench/suites/__init__.py").write_text("raise SystemExit(7)")
        code, text = run("--suite", "cpu")
        assert code == 2 and "bench/suites with --suites" in text.replace("\n", " ")


def test_cases_name_every_instruction_set():
    isa = _core.compiled_isas()[-1]    # with all of them, the baseline
    made, refused = make_cases(["nway"], ["cpu"], Setting(2, 2), [isa], 1)
    assert not refused and {detector.isa for _, detector in made} == {isa}
    assert [case.parameters for case, _ in made] == [{"num_passes": 1}, {"num_passes": 2}]
