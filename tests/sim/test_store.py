# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of results is continued if it is whole, refused by name if not, and never spoilt."""

import json
import os
import re

import pytest
from gnuradio.mimopack import sim
from gnuradio.mimopack.files import locked
from gnuradio.mimopack.sim import simulation as simulation_module
from limits import small_files

LINK = sim.Link(2, 2, "qpsk", "wifi:648:1/2")
DETECTORS = ["mmse", "mmsepic:iterations=2"]
POINTS = [2.0, 4.0]


def made(path, detectors=DETECTORS):
    return sim.Simulation(LINK, detectors, output=path, batch=16)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The text of a file of results with two detectors and two SNRs."""
    path = tmp_path_factory.mktemp("whole") / "out.json"
    made(path).run(POINTS, 10, 48)
    return path.read_text()


def test_a_damaged_file_is_refused_and_stays(whole, tmp_path):
    path = tmp_path / "out.json"
    for content, message in (
            (whole.replace('"blocks"', '"block"'), "the checksum sha256 is not that of the"),
            (whole[:200], "Expecting"), ("[1]", "holds no results of mimopack sim"),
            ('"\x1b[2J"', "Invalid control character")):
        path.write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"output: {path}: {message}")) as caught:
            made(path)
        assert str(caught.value).endswith(". Restore it, or name another file")
        assert str(caught.value).isprintable() and path.read_text() == content
    path.unlink()
    simulation = made(path)
    path.write_text("[1]")    # damaged after the simulation was made
    with pytest.raises(ValueError, match="holds no results"):
        simulation.run(POINTS, 10, 48)


def test_no_frame_counts_twice(whole, tmp_path):
    """From a file, with or without a checksum, more frames give what one run gives."""
    expected = sim.Simulation(LINK, DETECTORS).run(POINTS, 50, 160)
    older = json.loads(whole)
    del older["sha256"]
    path = tmp_path / "out.json"
    for text in (whole, json.dumps(older)):
        path.write_text(text)
        assert made(path).run(POINTS, 50, 160) == expected
        assert json.loads(path.read_text())["results"] == json.loads(json.dumps(expected))


def test_what_another_run_has_added_is_kept(tmp_path):
    path = tmp_path / "out.json"
    early = made(path, DETECTORS[:1])
    made(path, DETECTORS[1:]).run([2], 10, 48)
    assert [row["detector"] for row in early.run([2], 10, 48)] == DETECTORS[::-1]


def test_one_run_at_a_time(whole, tmp_path):
    path = tmp_path / "out.json"
    path.write_text(whole)
    simulation = made(path)
    with locked(path), pytest.raises(ValueError, match=f"{path} is in use by another run"):
        simulation.run(POINTS, 1000, 1000)
    assert path.read_text() == whole
    simulation.run([2], 10, 48)
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_full_disk(whole, tmp_path, monkeypatch):
    """The results so far are in ``store.rows``, and the older file stays."""
    monkeypatch.setattr(simulation_module, "_SAVE_SECONDS", 1000)
    path = tmp_path / "out.json"
    path.write_text(whole)
    simulation = made(path)
    with small_files(1000), pytest.raises(OSError, match="File too large") as caught:
        simulation.run(POINTS, 50, 160)
    assert caught.value.filename == str(path)
    assert path.read_text() == whole and os.listdir(tmp_path) == ["out.json"]
    frames, before = (sum(row["frames"] for row in rows)
                      for rows in (simulation.store.rows, json.loads(whole)["results"]))
    assert frames > before
