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
        return (f"{self.bits} LLRs: {self.verdict}{scale}, {100 * self.saturated:.2g} % saturated "
                f"at {self.limit:.4g}, {100 * self.erased:.2g} % erased, "
                f"{100 * self.wrong:.2g} % wrong")


class LlrHealth:
    """Compare LLRs with decoded bits.

    An LLR x = ln P(1)/P(0) decides for bit 1 if x > 0, and predicts that this decision is wrong
    with probability e^-|x| / (1 + e^-|x|). Calibrated LLRs are wrong as often as they predict. The
    decoded bits serve as the truth, so give only codewords in which the decoder corrected all
    errors.

    ``LlrFigures.scale`` is the maximum-likelihood factor a under which decisions are wrong with
    probability e^-a|x| / (1 + e^-a|x|). This is logistic regression with one weight; for neural
    networks it is called temperature scaling (C. Guo et al., On calibration of modern neural
    networks, ICML 2017). The estimate leaves out saturated LLRs, because clipping has reduced their
    magnitude.

    Args:
        limit: magnitude from which an LLR counts as saturated. None takes the largest magnitude so
            far. If the LLRs are clipped, many have this magnitude; otherwise only one has it.

    Raises:
        ValueError: limit is not positive.
    """

    def __init__(self, limit=None):
        self._given = None if limit is None else positive("limit", limit)
        self._bits, self._wrong = np.zeros((2, _CELLS), np.int64)
        self._sums = np.zeros(_CELLS)    # of magnitudes
        self._erased = self._invalid = 0
        self._limit, self._at_limit = self._given or 0.0, np.zeros(2, np.int64)    # bits, wrong

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
        finite = np.isfinite(llr)
        if not finite.all():
            self._invalid += int(llr.size - np.count_nonzero(finite))
            llr, bits = llr[finite], bits[finite]
        ones = (bits & 1).astype(bool)
        magnitude, zero, wrong = np.abs(llr), llr == 0, (llr > 0) != ones
        self._erased += int(np.count_nonzero(zero))
        magnitude, wrong = magnitude[~zero], wrong[~zero]
        if self._given is None and magnitude.size:
            self._raise_limit(float(magnitude.max()))
        saturated = magnitude >= self._limit
        self._at_limit += (np.count_nonzero(saturated), np.count_nonzero(saturated & wrong))
        self._count(magnitude[~saturated], wrong[~saturated])

    def _count(self, magnitude, wrong, weight=1):
        cells = np.minimum(magnitude / _WIDTH, _CELLS - 1).astype(np.intp)
        self._bits += weight * np.bincount(cells, minlength=_CELLS)
        self._wrong += weight * np.bincount(cells[wrong], minlength=_CELLS)
        self._sums += weight * np.bincount(cells, magnitude, minlength=_CELLS)

    def _raise_limit(self, limit):
        """Raise the limit; LLRs at the old limit are then no longer saturated."""
        if limit > self._limit:
            for wrong, count in zip((False, True), self._split(), strict=True):
                if count:
                    self._count(np.array([self._limit]), np.array([wrong]), count)
            self._limit, self._at_limit = limit, np.zeros(2, np.int64)

    def _split(self):
        """Return the numbers of right and wrong LLRs at the limit."""
        return int(self._at_limit[0] - self._at_limit[1]), int(self._at_limit[1])

    def merge(self, other):
        """Add the counts of another object with the same ``limit``.

        The call may raise the internal limit of ``other``, but does not change its figures.
        """
        limit = max(self._limit, other._limit)
        self._raise_limit(limit)
        other._raise_limit(limit)
        self._at_limit += other._at_limit
        self._bits += other._bits
        self._wrong += other._wrong
        self._sums += other._sums
        self._erased += other._erased
        self._invalid += other._invalid

    def figures(self):
        """Return :class:`LlrFigures` of all LLRs so far."""
        total = int(self._bits.sum() + self._at_limit[0]) + self._erased
        wrong = self._wrong.sum() + self._at_limit[1] + self._erased / 2
        scale, error = self._fitted()
        return LlrFigures(
            bits=total, wrong=_share(wrong, total),
            erased=_share(self._erased, total), saturated=_share(self._at_limit[0], total),
            limit=self._limit, invalid=self._invalid, scale=scale, scale_error=error,
            verdict=_verdict(scale, error), ranges=tuple(self._ranges()))

    def _ranges(self):
        edges = [min(_CELLS, int(edge / _WIDTH)) if np.isfinite(edge) else _CELLS
                 for edge in _EDGES]
        expected = self._bits / (1 + np.exp(self._means()))
        for index, (begin, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            bits = int(self._bits[begin:end].sum())
            if bits:
                yield Range(_EDGES[index], _EDGES[index + 1], bits,
                            float(self._wrong[begin:end].sum() / bits),
                            float(expected[begin:end].sum() / bits))
        bits, wrong = self._at_limit.tolist()
        if bits > 1:
            yield Range(self._limit, self._limit, bits, wrong / bits,
                        float(np.exp(-np.logaddexp(0, self._limit))))

    def _means(self):
        """Return the mean magnitude in each cell."""
        return self._sums / np.maximum(self._bits, 1)

    def _fitted(self):
        """Fit the scale by Newton's method.

        Returns:
            (scale, standard error); both nan if too few decisions are wrong.
        """
        bits, wrong, x = self._bits, self._wrong, self._means()
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
