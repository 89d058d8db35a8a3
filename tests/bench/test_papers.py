# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""bench/papers.py: what it reads from curves, and which settings of the papers it reports."""

import json
from pathlib import Path

import papers
import pytest

BENCH = Path(__file__).parents[2] / "bench"


def test_an_snr_is_read_between_points():
    curve = [(10.0, 1.0), (11.0, 1e-1), (12.0, 1e-3), (13.0, 2e-2), (14.0, 1e-5)]
    assert papers.needed(curve, 1e-2) == pytest.approx(11.5)    # where it falls first
    assert papers.needed(curve, 1e-6) is None
    assert papers.needed([(1.0, 0.1), (2.0, 0.0)], 1e-2) < 2


def test_a_detector_may_be_named_without_parameters():
    rows = [{"detector": name, "at_db": snr} for name, snr in (
        ("nway:num_passes=4", 2), ("nway:num_passes=4,llr_clip=8", 1), ("kbest:k=64", 3))]
    found = [papers.curve({"results": rows}, name, lambda row: 0.5)
             for name in ("nway:num_passes=4", "kbest", "trellis")]
    assert found == [[(2, 0.5)], [(3, 0.5)], []]


def test_settings_that_were_not_measured_say_so():
    results = json.loads((BENCH / "results" / "gpu-psd-h200.json").read_text())
    [table] = papers.speeds_004(results)
    missing = {tuple(row[:2]) for row in table.rows if "not measured" in row}
    assert missing == {("2x2", "QPSK"), ("2x2", "16-QAM"), ("2x2", "64-QAM"), ("4x4", "64-QAM")}
