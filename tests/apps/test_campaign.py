# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimopack sim campaign and mimopack sim status."""

import json
from functools import partial

import pytest
from commands import output_of
from gnuradio.mimopack.files import in_use, locked

TEXT = """
title = "A figure"
plot = "figure.png"

[defaults]
num_tx = 2
num_rx = 2
detectors = ["mmse"]
errors = 5
max_frames = 64

[[simulation]]
name = "coded"
code = "wifi:648:1/2"
snr = "9,10"

[[simulation]]
name = "plain"
snr = 8
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "figure.toml").write_text(TEXT)
    return tmp_path / "figure.toml"


run = partial(output_of, "sim")


def test_a_figure_is_one_command(path):
    assert run("status", path).splitlines() == [
        "coded: 0 points complete, 0 begun, 2 not begun",
        "plain: 0 points complete, 0 begun, 1 not begun"]
    text = run("campaign", path, "-q")
    assert text.splitlines()[-1] == f"written: {path.parent / 'figure.png'}"
    assert (path.parent / "figure.png").read_bytes().startswith(b"\x89PNG")
    results = path.parent / "figure" / "coded.json"
    content = json.loads(results.read_text())
    assert len(content["results"]) == 2 and content["runs"][0]["seconds"] > 0
    text = run("status", path)
    assert text.startswith("coded: 2 points complete, 0 begun, 0 not begun\n  detector")
    for row in content["results"]:
        assert f"  mmse {row['at_db']:>7g} {row['frames']:>8}" in text
    assert run("status", results).startswith(f"{results}: 2 points complete, 0 begun\n")


def test_a_run_in_progress_is_shown_and_not_disturbed(path):
    run("campaign", path, "-q")
    results = path.parent / "figure" / "coded.json"
    assert not in_use(results)
    with locked(results):
        assert in_use(results)
        assert ", in use by a run" in run("status", results).splitlines()[0]
        assert f"{results} is in use by another run" in run("campaign", path, code=2)
    assert "in use" not in run("status", path)


def test_refusals(path):
    said = run("--threads", 2, "campaign", path, code=2)
    assert "Error: --threads: must follow campaign" in said
    path.write_text("x = 1")
    for command in ("campaign", "status"):
        assert f"Error: campaign: {path}: x: unknown" in run(command, path, code=2)
    other = path.parent / "other.json"
    for content, message in (("{}", "holds no results of mimopack sim"), ("[", "Expecting")):
        other.write_text(content)
        assert f"Error: {other}: {message}" in run("status", other, code=2)
    assert "does not exist" in run("status", path.parent / "none.json", code=2)
