# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check LLRs against decoded bits: saturation, error rate and calibration."""

from dataclasses import dataclass

import numpy as np

from .checks import positive

# Width and number of the histogram cells of magnitudes; the last cell takes all larger ones.
_WIDTH, _CELLS = 1 / 16, 512
# Edges of ``LlrFigures.ranges``, multiples of the cell width.
_EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, np.inf)
_LEAST_WRONG = 30    # wrong decisions needed to estimate the scale
_TOLERANCE = 1.25    # factor by which the scale of calibrated LLRs may differ from 1

CALIBRATED, TOO_LARGE, TOO_SMALL, TOO_FEW = ("calibrated", "too large", "too small",
                                             "too few wrong decisions to tell")


@dataclass(frozen=True)
class Range:
    """Bits whose LLR has a magnitude x with ``low`` <= x < ``high``.

    Attributes:
        low, high: as above.
        bits: number of bits.
        wrong: share of the bits that decoding flipped.
        expected: share that the LLRs predict, the mean of e^-x / (1 + e^-x).
    """

    low: float
    high: float
    bits: int
    wrong: float
    expected: float


@dataclass(frozen=True)
class LlrFigures:
    """Quality of LLRs.

    Attributes:
        bits: number of bits compared.
        wrong: share of LLRs whose sign differs from the decoded bit; LLRs of 0 count half.
        erased: share of LLRs that are 0.
        saturated: share of LLRs at ``limit``.
        limit: the limit given to :class:`LlrHealth`; if it was None, the largest magnitude so far.
        invalid: number of LLRs that were NaN or infinite; all other figures ignore them.
        scale: factor that calibrates the LLRs: 1 if they are calibrated, 0.5 if they are twice as
            large as they should be, nan with fewer than 30 wrong decisions.
        scale_error: standard error of ``scale``, if bits are independent.
        verdict: "calibrated" if scale is 0.8 to 1.25 or does not differ significantly from 1; else
            "too large" or "too small", which refer to the LLRs, not to scale; or "too few wrong
            decisions to tell".
        ranges: tuple of :class:`Range`, without empty ones. Saturated LLRs have a separate last
            range whose ``low`` and ``high`` are the limit.
    """

    bits: int
    wrong: float
    erased: float
    saturated: float
    limit: float
    invalid: int
    scale: float
    scale_error: float
    verdict: str
    ranges: tuple

    def text(self):
        """Return the figures as one line of text."""
        if not self.bits:
            return "no LLRs yet"
        scale = "" if np.isnan(self.scale) else f" (scale {self.scale:.2f})"
        return (f"{self.bits} LLRs: {self.verdict}{scale}, {100 * self.saturated:.3g} % saturated "
                f"at {self.limit:.4g}, {100 * self.erased:.3g} % erased, "
                f"{100 * self.wrong:.3g} % wrong")


class LlrHealth:
    """Compare LLRs with decoded bits.

    An LLR x = ln P(1)/P(0) decides for bit 1 if x > 0, and predicts that this decision is wrong
    with probability e^-|x| / (1 + e^-|x|). Calibrated LLRs are wrong as often as they predict. The
    decoded bits serve as the truth, so give only codewords in which the decoder corrected all
    errors.

    ``LlrFigures.scale`` is the maximum-likelihood factor a under which decisions are wrong with
    probability e^-a|x| / (1 + e^-a|x|): logistic regression with one weight, also known as
    temperature scaling (C. Guo et al., ICML 2017). It leaves out saturated LLRs, whose magnitude
    clipping has reduced.

    Args:
        limit: magnitude from which an LLR counts as saturated. None takes the largest magnitude so
            far. If the LLRs are clipped, many have this magnitude; otherwise only one has it.

    Raises:
        ValueError: limit is not positive.
    """

    def __init__(self, limit=None):
        self._given = None if limit is None else positive("limit", limit)
        self._counts = np.zeros((3, _CELLS))    # bits, wrong ones, and sum of magnitudes
        self._limit, self._at_limit = self._given or 0.0, np.zeros(2)    # bits, wrong ones
        self._erased = self._invalid = 0

    def add(self, llr, bits):
        """Add LLRs and their decoded bits.

        Args:
            llr: float array of ln P(1)/P(0).
            bits: integer array with the same number of elements; only the lowest bit of each
                counts.

        Raises:
            ValueError: the shapes differ.
        """
        llr, bits = np.asarray(llr, np.float64).ravel(), np.asarray(bits).astype(np.uint8).ravel()
        if llr.shape != bits.shape:
            raise ValueError(f"bits: got {bits.size}, must be as many as LLRs: {llr.size}")
        finite, zero = np.isfinite(llr), llr == 0
        self._invalid += int(np.count_nonzero(~finite))
        self._erased += int(np.count_nonzero(zero))
        used = finite & ~zero
        llr, ones = llr[used], bits[used] & 1 == 1
        magnitude, wrong = np.minimum(np.abs(llr), self._given or np.inf), (llr > 0) != ones
        cells = np.minimum(magnitude / _WIDTH, _CELLS - 1).astype(np.intp)
        self._counts += [np.bincount(cells, weights, _CELLS)
                         for weights in (None, wrong, magnitude)]
        limit = self._given or magnitude.max(initial=0.0)
        saturated = magnitude >= limit
        self._saturate(limit, (np.count_nonzero(saturated), np.count_nonzero(saturated & wrong)))

    def merge(self, other):
        """Add the counts of another object with the same ``limit``."""
        self._counts += other._counts
        self._erased += other._erased
        self._invalid += other._invalid
        self._saturate(other._limit, other._at_limit)

    def _saturate(self, limit, counts):
        """Count LLRs at a limit, the largest magnitude of some LLRs or the given one."""
        if limit > self._limit:
            self._limit, self._at_limit = float(limit), np.zeros(2)
        if limit == self._limit:
            self._at_limit += counts

    def figures(self):
        """Return :class:`LlrFigures` of all LLRs so far."""
        total = int(self._counts[0].sum()) + self._erased
        wrong = self._counts[1].sum() + self._erased / 2
        # The scale and the ranges leave out saturated LLRs.
        counts, (bits, _) = self._counts.copy(), self._at_limit
        counts[:, min(int(self._limit / _WIDTH), _CELLS - 1)] -= (*self._at_limit,
                                                                  bits * self._limit)
        bits, wrong_bits, sums = counts
        means = sums / np.maximum(bits, 1)
        scale, error = _fitted(bits, wrong_bits, means)
        return LlrFigures(
            bits=total, wrong=_share(wrong, total),
            erased=_share(self._erased, total), saturated=_share(self._at_limit[0], total),
            limit=self._limit, invalid=self._invalid, scale=scale, scale_error=error,
            verdict=_verdict(scale, error), ranges=tuple(self._ranges(bits, wrong_bits, means)))

    def _ranges(self, bits, wrong, means):
        expected = bits / (1 + np.exp(means))
        for low, high in zip(_EDGES[:-1], _EDGES[1:], strict=True):
            cells = slice(int(low / _WIDTH), int(min(high / _WIDTH, _CELLS)))
            count = bits[cells].sum()
            if count:
                yield Range(low, high, int(count), float(wrong[cells].sum() / count),
                            float(expected[cells].sum() / count))
        count, wrong = self._at_limit
        if count > 1:
            yield Range(self._limit, self._limit, int(count), float(wrong / count),
                        float(np.exp(-np.logaddexp(0, self._limit))))


def _fitted(bits, wrong, x):
    """Fit the scale to cells of bits with the mean magnitudes x, by Newton's method.

    Returns:
        (scale, standard error); both nan if too few decisions are wrong.
    """
    if wrong.sum() < _LEAST_WRONG or wrong.sum() == bits.sum():
        return np.nan, np.nan
    scale = 1.0
    for _ in range(100):
        p = 1 / (1 + np.exp(np.clip(scale * x, -500, 500)))
        gradient = np.sum(x * (bits * p - wrong))    # of the log-likelihood
        curvature = np.sum(bits * x**2 * p * (1 - p))
        # Limit the step: far away the curvature vanishes and the iteration diverges.
        step = np.clip(gradient / curvature, -0.5 * abs(scale) - 0.1, 0.5 * abs(scale) + 0.1)
        scale += step
        if abs(step) < 1e-9:
            break
    return float(scale), float(1 / np.sqrt(curvature))


def _share(count, total):
    return float(count / total) if total else 0.0


def _verdict(scale, error):
    if np.isnan(scale):
        return TOO_FEW
    if scale < 1 / _TOLERANCE and scale + 3 * error < 1:
        return TOO_LARGE
    if scale > _TOLERANCE and scale - 3 * error > 1:
        return TOO_SMALL
    return CALIBRATED
