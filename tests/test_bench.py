# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack bench on one setting: table and JSON, options, the measuring core. Times are not
judged."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import detectors
from gnuradio.mimopack.apps.bench import bench_command
from gnuradio.mimopack.apps.bench import suite as suites
from gnuradio.mimopack.apps.bench.data import Setting, Store, simulate
from gnuradio.mimopack.apps.bench.measuring import Run, error_rate, take_turns
from gnuradio.mimopack.apps.bench.single import make_cases
from gnuradio.mimopack.apps.bench.table import Table, bit_error_rate, markdown, number, text
from gnuradio.mimopack.constellation import get


def run(*arguments):
    result = CliRunner().invoke(bench_command, [*map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.output


def test_table_and_json(tmp_path):
    output = tmp_path / "bench.json"
    code, text = run("--num-tx", 2, "--num-rx", 2, "--vectors", 500, "--seconds", 0.1, "--rounds",
                     3, "--output", output)
    assert code == 0
    written = json.loads(output.read_text())
    assert {row["detector"] for row in written["results"]} == set(detectors.REGISTRY)
    assert {row["backend"] for row in written["results"]} == {"cpu", "reference"}
    assert {"processor", "commit", "command", "numpy", "isa"} <= written["machine"].keys()
    assert written["case"]["noise_var"] == pytest.approx(2 / 100)
    for row in written["results"]:
        assert row["vectors_per_s"] > 0 and 0 <= row["ber"] <= 0.5
        assert row["mbit_per_s"] == pytest.approx(row["vectors_per_s"] * 8 / 1e6)
        assert ("ratio_to_reference" in row) == (row["backend"] == "cpu")
        assert row["label"] in text
    assert "simulated" in text


def test_what_cannot_be_timed_is_said():
    code, text = run("--num-tx", 8, "--num-rx", 8, "--vectors", 64, "--seconds", 0.05, "--rounds",
                     1, "--detector", "omap", "--detector", "zf", "--backend", "cpu")
    assert code == 0 and "left out: omap, cpu: omap: 16^8" in text
    code, text = run("--num-tx", 8, "--num-rx", 8, "--detector", "omap", "--backend", "cpu")
    assert code != 0 and "no detector is left" in text


@pytest.mark.parametrize("arguments, message", [
    (["--suite", "cpu", "--num-tx", 2], "--num-tx: not for the suite cpu"),
    (["--suite", "cpu", "--detector", "zf"], "--detector: not for the suite cpu"),
    (["--antennas", 2, "--suites", "."], "--suites, --antennas: not for this; name a --suite"),
    (["--suite", "cpus"], "--suite cpus: allowed are cpu, threads, "),
    (["--isa", "mmx"], "--isa mmx: this machine has"),
    (["--rounds", 0], "--rounds")])
def test_options_that_do_not_fit_are_refused(arguments, message):
    code, text = run(*arguments)
    assert code == 2 and message in text


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
        monkeypatch.syspath_prepend(tmp_path)    # and so restored
        folder = self.make(tmp_path / "suites_of_mine")
        code, text = run("--suite", "mine", "--suites", folder, "--output", tmp_path / "out.json")
        assert code == 0 and "3 rounds" in text
        written = json.loads((tmp_path / "out.json").read_text())
        assert written["what"] == "nothing" and written["results"] == []

    def test_below_the_current_folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(suites, "CHECKOUT", tmp_path / "installed")
        monkeypatch.chdir(tmp_path)
        code, text = run("--suite", "cpu")
        assert code == 2 and "--suite cpu: " in text and "root of a checkout" in text.replace(
            "\n", " ")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(suites, "PLACE", suites.PLACE.with_name("suites_here"))
        self.make(tmp_path / "bench" / "suites_here")
        assert run("--suite", "mine")[0] == 0


def test_columns_are_aligned_and_documents_have_the_same_cells():
    parts = [Table(["case", "Mbit/s"], [["`mmse`", "1045"], ["zf", "-"]]), "Missing: ep."]
    assert text(parts) == "case  Mbit/s\nmmse    1045\nzf         -\n\nMissing: ep."
    assert markdown(parts) == ("| case | Mbit/s |\n| --- | --- |\n| `mmse` | 1045 |\n| zf | - |"
                               "\n\nMissing: ep.")


def test_cells():
    assert [number(value) for value in (None, 0.01234, 12.34, 123.4, 12345.6)] == [
        "-", "0.0123", "12.3", "123", "12346"]
    row = {"ber": 0.0, "vectors_compared": 5000, "bits_compared": 80_000}
    assert bit_error_rate(row) == "< 4e-05" and bit_error_rate(row | {"ber": 0.0123}) == "1.2e-02"
    assert bit_error_rate(row | {"vectors_compared": 100}) == "-"


def test_simulated_data_follow_the_model():
    points = get("qam16")
    y, h, bits = simulate(14 * 200, 3, 4, points, 0.05, 14)
    x = points.modulate(bits)
    noise = y - np.einsum("nij,nj->ni", np.repeat(h, 14, axis=0), x)
    assert h.shape == (200, 4, 3) and y.dtype == h.dtype == np.complex64
    assert np.mean(np.abs(noise) ** 2) == pytest.approx(0.05, rel=0.05)
    assert np.mean(np.abs(h) ** 2) == pytest.approx(1, rel=0.1)
    setting = Setting(num_tx=3, num_rx=4, per_channel=14)
    data = Store(100).get(setting)
    assert setting.noise_var == pytest.approx(0.03) and data.vectors == 98
    assert data.y.shape == (98, 4) and data.h.shape == (7, 4, 3) and data.llr.shape == (98, 12)


def test_cases_name_every_instruction_set():
    made, refused = make_cases(["nway"], ["cpu"], Setting(2, 2), ["baseline"], 1)
    assert not refused and {detector.isa for _, detector in made} == {"baseline"}
    assert [case.parameters for case, _ in made] == [{"num_passes": 1}, {"num_passes": 2}]


class _Clock(Run):
    """Takes 1 ms for each unit, a step more each round; notes who came when."""

    least, most, step = 4, 64, 4

    def __init__(self, name, order):
        self.name, self.order = name, order

    def time(self, n):
        self.order.append(self.name)
        return 1e-3 * n


def test_runs_take_turns():
    order = []
    runs = [_Clock("a", order), _Clock("b", order)]
    take_turns(runs, 0.05, 5)
    assert order[-10:] == ["a", "b"] * 5
    assert runs[0].units == 8 and runs[0].calls == 1 and runs[0].rate == pytest.approx(1000)
    take_turns(runs, 0.64, 2)
    assert runs[0].units == 64 and runs[0].calls == 5


def test_error_rate_counts_vectors_not_bits():
    errors = np.array([0, 0, 0, 4] * 100)
    rate = error_rate(errors, 16)
    assert rate["ber"] == pytest.approx(1 / 16) and rate["bits_compared"] == 6400
    assert rate["ber_95"] == pytest.approx(1.96 * np.std(errors, ddof=1) / 20 / 16)
