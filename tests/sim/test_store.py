# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of results is continued if it is whole, refused by name if not, and never spoilt."""

import copy
import json
import os
import re
from pathlib import Path

import pytest
from gnuradio.mimopack import sim
from gnuradio.mimopack.files import locked
from gnuradio.mimopack.sim import simulation as simulation_module
from gnuradio.mimopack.sim.store import Store
from limits import small_files

ROOT = Path(__file__).parents[2]
LINK = sim.Link(2, 2, "qpsk", "wifi:648:1/2")
DETECTORS = ["mmse", "mmsepic:iterations=2"]
POINTS = [2.0, 4.0]
# What is put in place of each value. JSON has no NaN, but Python reads and writes it.
OTHERS = ("null", '"x"', '""', "[]", "{}", "[1, 2]", "true", "-1", "0.5", "1" + "0" * 30, "1e400",
          "NaN", "-Infinity")


def made(path):
    return sim.Simulation(LINK, DETECTORS, output=path, batch=16)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of results with two detectors and two SNRs; returns its text."""
    path = tmp_path_factory.mktemp("whole") / "out.json"
    simulation = made(path)
    with simulation.store.held():
        simulation.store.runs.append({"machine": {"processor": "x", "threads": 2}, "backend": "cpu",
                                      "seconds": 1.5})
        simulation.run(POINTS, 10, 48)
    return path.read_text()


@pytest.fixture(scope="module")
def parameters(whole):
    return json.loads(whole)["parameters"]


@pytest.fixture
def opened(tmp_path, parameters):
    """Open a file with some content as a run does; return (rows, refusal), one of them None."""
    path = tmp_path / "out.json"

    def attempt(content):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = path.read_bytes()
        try:
            store = Store(path, parameters, {"mmse": 1, DETECTORS[1]: 2})
            with store.held():
                found, refusal = store.rows, None
        except ValueError as error:
            found, refusal = None, str(error)
            assert refusal.startswith(f"output: {path} ") and refusal.isprintable()
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
        return found, refusal
    return attempt


def places(value, name=""):
    """Yield (name, keys) of each value inside a JSON value."""
    pairs = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    for key, inner in pairs:
        inside = f"{name}[{key}]" if isinstance(value, list) else f"{name}.{key}".lstrip(".")
        yield inside, (key,)
        for further, keys in places(inner, inside):
            yield further, (key, *keys)


def without(content, keys):
    content = copy.deepcopy(content)
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    del holder[keys[-1]]
    return json.dumps(content)


def replaced(content, keys, text):
    """Return the JSON text of a content with other text in one place."""
    content = copy.deepcopy(content)
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    if json.dumps(holder[keys[-1]]) == text:
        return None
    holder[keys[-1]] = "<here>"
    return json.dumps(content).replace('"<here>"', text)


def damages(content):
    """Yield (name of the place, text) with each value of a content deleted or replaced.

    Of the two rows of a detector, only the first is damaged inside.
    """
    for name, keys in places(content):
        if name.startswith(("results[1].", "results[3].")):
            continue
        yield name, without(content, keys)
        for other in OTHERS:
            text = replaced(content, keys, other)
            if text is not None:
                yield name, text


class TestDamage:
    def test_each_value_deleted_and_replaced(self, whole, opened):
        content = json.loads(whole)
        count = 0
        for name, text in damages(content):
            rows, refusal = opened(text)
            count += 1
            if name == "sha256" and '"sha256"' not in text:
                assert rows == content["results"]
            else:
                assert refusal, (name, text)
        assert count > 800

    def test_each_value_of_an_older_file(self, whole, opened):
        """Without a checksum, counts that are accepted are those that were written."""
        content = json.loads(whole)
        del content["sha256"]
        assert opened(json.dumps(content))[0] == content["results"]
        written = [row["counts"] for row in content["results"]]
        for name, text in damages(content):
            rows, refusal = opened(text)
            assert refusal or all(row["counts"] in written for row in rows), (name, text)
            assert refusal or ".counts" not in name, (name, text)

    @pytest.mark.parametrize("keys, text, message", [
        (("results", 3, "counts", "blocks"), None, "results[3].counts.blocks: missing"),
        (("results", 3, "counts"), None, "results[3].counts: missing"),
        (("results", 0, "counts", "blocks"), "0",
         "results[0].counts.blocks: got 0, allowed are 1 to"),
        (("results", 0, "counts", "blocks"), "7", "results[0].counts.frames: got "),
        (("results", 0, "frames"), "7", "results[0].frames: got 7, must be "),
        (("results", 1, "detector"), "[]", "results[1].detector: got [], must be printable text"),
        (("results", 1, "detector"), r'"m\u001b[2J"', "results[1].detector: got"),
        (("results", 3, "counts", "frame_errors"), "[1]",
         "results[3].counts.frame_errors: got 1 values, must be 2"),
        (("results", 2, "fer"), "[1, 2]", "results[2].fer[1]: got 2, allowed are 0 to 1"),
        (("results", 2, "complete"), "1", "results[2].complete: got 1, must be True or False"),
        (("results", 1, "at_db"), "2.0", "results[1]: a second row of mmse at 2 dB"),
        (("runs", 0, "seconds"), "NaN", "NaN is not a number of JSON"),
        (("runs",), None, "runs: missing"), (("results",), "{}", "results: got {}, must be a list"),
        (("extra",), "1", "extra: unknown"),
        (("sha256",), f'"{"0" * 64}"', "sha256: not that of the content"),
        (("data",), '"measured"', "data: got 'measured', allowed are simulated"),
        (("what",), '"other"', "holds no results of mimopack sim")])
    def test_the_place_is_named(self, whole, opened, keys, text, message):
        content = json.loads(whole)
        content.setdefault("extra", None)
        if keys != ("extra",):
            del content["extra"]
        damaged = without(content, keys) if text is None else replaced(content, keys, text)
        _, refusal = opened(damaged)
        assert f"out.json cannot be continued: {message}" in refusal
        assert refusal.endswith(". Restore it, or name another file")

    def test_cut_anywhere(self, whole, opened):
        end = len(whole.rstrip())
        for length in (*range(0, end, 61), *range(end - 40, end)):
            _, refusal = opened(whole[:length])
            assert refusal, length
        assert opened(whole[:end])[1] is None

    def test_flipped_bits(self, whole, opened):
        """A flipped bit is noticed, unless the JSON means the same."""
        for at in range(0, len(whole), 17):
            data = bytearray(whole.encode())
            data[at] ^= 1 << at % 8
            rows, refusal = opened(bytes(data))
            if refusal is None:
                assert json.loads(data) == json.loads(whole)

    @pytest.mark.parametrize("content", [
        b"", b"\0" * 100, b"[1]", b'"x"', b"1", b"\xff\xfe", b"[" * 100_000, b'{"what": ' * 2000,
        "\ufeff{}".encode(), b"1" * 5000])
    def test_other_content(self, opened, content):
        assert "cannot be continued" in opened(content)[1]

    def test_spaces_and_order_do_not_matter(self, whole, opened):
        content = json.loads(whole)
        assert opened(json.dumps(content, sort_keys=True))[0] == content["results"]

    def test_the_counts_of_a_refused_file_stay(self, whole, tmp_path):
        """The simulation refuses the file before it simulates anything."""
        path = tmp_path / "out.json"
        path.write_text(without(json.loads(whole), ("results", 0, "counts", "blocks")))
        before = path.read_bytes()
        with pytest.raises(ValueError, match=re.escape("results[0].counts.blocks: missing")):
            made(path)
        simulation = sim.Simulation(LINK, DETECTORS)
        simulation.store = Store(tmp_path / "new.json", simulation.store.parameters, {})
        os.rename(path, tmp_path / "new.json")    # damaged after the simulation was made
        with pytest.raises(ValueError, match=re.escape("results[0].counts.blocks: missing")):
            simulation.run(POINTS, 10, 48)
        assert (tmp_path / "new.json").read_bytes() == before


class TestContinuing:
    def test_no_frame_counts_twice(self, whole, tmp_path):
        """From any accepted file, more frames give what one run gives."""
        expected = sim.Simulation(LINK, DETECTORS).run(POINTS, 50, 160)
        older = json.loads(whole)
        del older["sha256"]
        for text in (whole, json.dumps(older), json.dumps({**older, "results": []})):
            path = tmp_path / "out.json"
            path.write_text(text)
            assert made(path).run(POINTS, 50, 160) == expected
            assert json.loads(path.read_text())["results"] == json.loads(json.dumps(expected))

    def test_an_older_file_gets_a_checksum(self, whole, tmp_path):
        older = json.loads(whole)
        checksum = older.pop("sha256")
        path = tmp_path / "out.json"
        path.write_text(json.dumps(older))
        made(path).run(POINTS, 10, 48)
        assert json.loads(path.read_text())["sha256"] == checksum

    @pytest.mark.parametrize("name", ["001-fig3-qam16", "001-fig3-qam64", "002-fig7",
                                      "iterative-h200", "iterative-conv-2core-epyc"])
    def test_recorded_results_are_accepted(self, name):
        path = ROOT / "bench" / "results" / f"{name}.json"
        content = json.loads(path.read_text())
        assert Store(path, content["parameters"], {}).rows == content["results"]

    def test_what_another_run_has_added_is_kept(self, tmp_path):
        path = tmp_path / "out.json"
        early = sim.Simulation(LINK, DETECTORS[:1], output=path)
        sim.Simulation(LINK, DETECTORS[1:], output=path).run([2], 10, 48)
        assert [row["detector"] for row in early.run([2], 10, 48)] == DETECTORS[::-1]

    def test_one_run_at_a_time(self, whole, tmp_path):
        path = tmp_path / "out.json"
        path.write_text(whole)
        simulation = made(path)
        with locked(path), pytest.raises(ValueError, match=f"{path} is in use by another run"):
            simulation.run(POINTS, 1000, 1000)
        assert path.read_text() == whole
        simulation.run([2], 10, 48)
        assert os.listdir(tmp_path) == ["out.json"]

    def test_only_regular_files(self, tmp_path):
        os.mkfifo(tmp_path / "fifo")
        for path, kind in ((tmp_path / "fifo", "a FIFO"), ("/dev/full", "a device")):
            with pytest.raises(ValueError, match=f"{path} is {kind}, must be a regular file"):
                made(path)

    @pytest.mark.parametrize("seconds", [0, 1000])
    def test_a_full_disk(self, whole, tmp_path, monkeypatch, seconds):
        """The results so far are in ``store.rows``, and the older file stays."""
        monkeypatch.setattr(simulation_module, "_SAVE_SECONDS", seconds)
        path = tmp_path / "out.json"
        path.write_text(whole)
        simulation = made(path)
        with small_files(1000), pytest.raises(OSError, match="File too large") as caught:
            simulation.run(POINTS, 50, 160)
        assert caught.value.filename == str(path)
        assert path.read_text() == whole and os.listdir(tmp_path) == ["out.json"]
        frames, before = (sum(row["frames"] for row in rows)
                          for rows in (simulation.store.rows, json.loads(whole)["results"]))
        # The first of many writes may come before the first result.
        assert frames > before or (seconds == 0 and frames == before)
        assert made(path).run(POINTS, 50, 160) == sim.Simulation(LINK, DETECTORS).run(
            POINTS, 50, 160)
