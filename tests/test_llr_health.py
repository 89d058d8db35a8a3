# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calibrated LLRs pass the check; LLRs that are too large or too small are reported."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.llr_health import CALIBRATED, TOO_FEW, TOO_LARGE, TOO_SMALL, LlrHealth
from simulated import calibrated, problem


def figures_of(llr, bits, **options):
    health = LlrHealth(**options)
    health.add(llr, bits)
    return health.figures()


@pytest.mark.parametrize("mean", [0.5, 2.0, 6.0])
def test_calibrated_llrs_pass(mean):
    figures = figures_of(*calibrated(200_000, mean))
    assert figures.verdict == CALIBRATED
    assert abs(figures.scale - 1) < 4 * figures.scale_error and figures.scale_error < 0.05
    for part in figures.ranges:
        error = np.sqrt(part.expected * (1 - part.expected) / part.bits)
        assert abs(part.wrong - part.expected) < 5 * error + 1e-12, part
    assert figures.saturated < 1e-4 and figures.erased == 0 and figures.bits == 200_000


@pytest.mark.parametrize(("factor", "verdict"), [(2, TOO_LARGE), (4, TOO_LARGE), (0.5, TOO_SMALL),
                                                 (0.1, TOO_SMALL), (1.1, CALIBRATED)])
def test_scaled_llrs_are_told(factor, verdict):
    llr, bits = calibrated(200_000)
    figures = figures_of(factor * llr, bits)
    assert figures.verdict == verdict
    assert figures.scale == pytest.approx(1 / factor, rel=0.05)


def test_saturation():
    llr, bits = calibrated(200_000)
    clipped = np.clip(llr, -6, 6)
    for limit in (None, 6.0):
        figures = figures_of(clipped, bits, limit=limit)
        assert figures.limit == 6
        assert figures.saturated == np.mean(np.abs(llr) >= 6)
        # Clipping does not affect the scale of the other LLRs.
        assert figures.verdict == CALIBRATED and figures.scale == pytest.approx(1, abs=0.05)
        last = figures.ranges[-1]
        assert last.low == last.high == 6 and last.wrong < last.expected
    with pytest.raises(ValueError, match="limit: got -1"):
        LlrHealth(limit=-1)


def _assert_same(a, b):
    """Assert that two figures are equal, except for the rounding of sums."""
    assert a.text() == b.text() and a.bits == b.bits and a.wrong == b.wrong
    assert a.scale == pytest.approx(b.scale) and a.limit == b.limit
    assert [(part.low, part.bits, part.wrong) for part in a.ranges] == [
        (part.low, part.bits, part.wrong) for part in b.ranges]
    assert [part.expected for part in a.ranges] == pytest.approx(
        [part.expected for part in b.ranges])


@pytest.mark.parametrize("limit", [None, 3.0])
def test_merged_is_counted_together(limit):
    llr, bits = calibrated(20_000)
    llr = np.clip(llr, -5, 5)
    llr[::100] = 0
    whole, parts = LlrHealth(limit), [LlrHealth(limit) for _ in range(3)]
    whole.add(llr, bits)
    for health, *part in zip(parts, np.array_split(llr, 3), np.array_split(bits, 3), strict=True):
        health.add(*part)
    for health in parts[1:]:
        parts[0].merge(health)
    _assert_same(parts[0].figures(), whole.figures())


def test_erasures_invalid_llrs_and_few_bits():
    assert figures_of([], []).text() == "no LLRs yet"
    assert "100 % saturated at 3, 0 % erased" in figures_of([3, -3], [1, 0]).text()
    figures = figures_of([0, 0, np.nan, np.inf, 3.0, -2.0], [0, 1, 1, 1, 1, 1])
    assert (figures.bits, figures.erased, figures.invalid) == (4, 0.5, 2)
    assert figures.wrong == pytest.approx(2 / 4)
    assert figures.verdict == TOO_FEW and np.isnan(figures.scale)
    right = figures_of(np.full(10**5, 9.0), np.ones(10**5, np.uint8))
    assert right.verdict == TOO_FEW and right.saturated == 1 and right.wrong == 0
    with pytest.raises(ValueError, match="bits: got 2, must be as many as LLRs: 3"):
        figures_of([1, 2, 3], [1, 0])


def test_detectors_that_tell_the_truth_and_that_do_not():
    """LLRs of exact MAP and MMSE detection are calibrated with the right noise power.

    With a quarter of it, they are too large.
    """
    y, h, noise_var, bits = problem(20_000, 2, 2, "qam16", 12.0)
    for name in ("omap", "mmse"):
        detector = detectors.create(name, num_tx=2, num_rx=2, constellation="qam16", backend="cpu")
        assert figures_of(detector.detect(y, h, noise_var), bits).verdict == CALIBRATED
    wrong = figures_of(detectors.create("omap", num_tx=2, num_rx=2, constellation="qam16",
                                        backend="cpu").detect(y, h, noise_var / 4), bits)
    assert wrong.verdict == TOO_LARGE and wrong.scale == pytest.approx(0.25, rel=0.3)
