# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign file is several simulations, each with the results that it has alone."""

import sys

import pytest
from documents import blocks
from gnuradio.mimopack import sim
from gnuradio.mimopack.sim.campaign import Campaign, snr_values
from source_tree import ROOT

TEXT = """
title = "Two links"
results = "here"
plot = "figure.png"

[defaults]
num_tx = 2
num_rx = 2
constellation = "qpsk"
detectors = ["mmse", "nway:num_passes=2"]
snr = "2:4:2"
errors = 10
max_frames = 64

[[simulation]]
name = "coded"
code = "wifi:648:1/2"
iterations = 1

[[simulation]]
name = "plain"
detectors = ["zf"]
ebn0 = [1, "90:100:5"]
max_frames = 32
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "two.toml").write_text(TEXT)
    return tmp_path / "two.toml"


def test_each_part_has_the_results_that_it_has_alone(path):
    campaign = Campaign(path)
    assert (campaign.title, campaign.plot) == ("Two links", path.parent / "figure.png")
    simulations = campaign.simulations(threads=2)
    campaign.run(simulations, seconds=1e-9)
    assert not any(one.complete for one in simulations.values())
    simulations = campaign.simulations()
    campaign.run(simulations)
    assert all(one.complete for one in simulations.values())
    link = {"num_tx": 2, "num_rx": 2, "constellation": "qpsk"}
    assert simulations["coded"].store.rows == sim.Simulation(
        sim.Link(**link, code="wifi:648:1/2"), ["mmse", "nway:num_passes=2"]).run([2, 4], 10, 64)
    plain = sim.Simulation(sim.Link(**link, snr_kind="ebn0"), ["zf"]).run([1, 90, 95, 100], 10, 32)
    assert simulations["plain"].store.rows == plain
    assert [row["at_db"] for row in plain][-1] == 90    # the others are skipped
    assert sorted(one.name for one in (path.parent / "here").iterdir()) == [
        "coded.json", "plain.json"]
    for part in campaign.parts:
        assert part.state(simulations[part.name].store.rows) == (4, 0, 0)
    assert campaign.parts[1].state(plain[:1]) == (1, 0, 3)
    fewer = {**plain[0], "frames": 16, "counts": {**plain[0]["counts"], "frame_errors": [9]}}
    assert campaign.parts[1].state([fewer]) == (0, 1, 3)


@pytest.mark.parametrize("old, new, message", [
    ("[[simulation]]", "[[simulations]]", "simulations: unknown, allowed are title, results"),
    ("iterations = 1", "iteration = 1", r"simulation\[0\].iteration: unknown, allowed are name"),
    ('name = "plain"', 'name = "coded"', r"simulation\[1\].name: coded is taken already"),
    ('snr = "2:4:2"', "", r"simulation\[0\]: give either snr or ebn0"),
    ('"2:4:2"', '"2:4"', r"simulation\[0\].snr: '2:4' is neither FIRST:LAST:STEP nor numbers"),
    ("[defaults]", "[[defaults]]", "defaults: must be a table"),
    ("errors = 10", 'errors = "10"', r"simulation\[0\].errors: got '10', must be an integer"),
    ('"here"', r'"\u001b[2J"', r"results: got '\\x1b\[2J', must be printable text"),
    ('"qpsk"', "[1, -1]", r"simulation\[0\].constellation: got \[1, -1\], must be printable text")])
def test_refusals(path, old, new, message):
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=f"campaign: {path}: {message}"):
        Campaign(path)


def test_a_detector_that_is_named_twice_counts_once(path):
    path.write_text(TEXT.replace('["zf"]', '["zf", "zf"]'))
    part = Campaign(path).parts[1]
    assert part.simulation["detectors"] == ["zf"] and part.state([]) == (0, 0, 4)


@pytest.mark.parametrize("old, new, message", [
    ("max_frames = 32", "feedback_scale = nan", "plain: feedback_scale: got nan"),
    ("iterations = 1", "channel = 5", r"coded: channel: got 5 \(must be text\)")])
def test_simulations_are_refused_by_name(path, old, new, message):
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        Campaign(path).simulations()


def test_a_missing_package_is_told_with_the_name(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    path.write_text(TEXT + 'backend = "cuda"')
    with pytest.raises(ImportError, match="plain: backend 'cuda' needs CuPy"):
        Campaign(path).simulations()


def test_the_campaigns_of_documents_and_examples(tmp_path):
    text, = (block.code for block in blocks(ROOT / "docs" / "campaigns.md")
             if block.language == "toml")
    (tmp_path / "figure.toml").write_text(text)
    campaign = Campaign(tmp_path / "figure.toml")
    assert [part.output.name for part in campaign.parts] == ["half.json", "two thirds.json"]
    example = Campaign(ROOT / "examples" / "cluster" / "figure.toml")
    assert [len(part.run["snrs"]) for part in example.parts] == [11, 11]


def test_snr_values():
    assert snr_values(3) == [3] and snr_values("1:2:0.5") == [1, 1.5, 2]
    assert snr_values([1, "2,3", "4:5:1"]) == [1, 2, 3, 4, 5]
    for value in (None, "x", "1:2", "1:2:x", {}):
        with pytest.raises(ValueError, match="is neither FIRST:LAST:STEP nor numbers"):
            snr_values(value)
    for value in ("1:0:1", "1:2:0", "1:2:nan", "inf:inf:1", "0:1:1e-9", "0:1e308:1e-308"):
        wrong = f"{value}' is not FIRST:LAST:STEP with STEP > 0, LAST"
        with pytest.raises(ValueError, match=wrong):
            snr_values(value)
