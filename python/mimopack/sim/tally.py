# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counted errors, and how sure the rates are."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

_Z = 1.959964    # 95 % of a normal distribution lie within so many standard deviations


def wilson(errors, n):
    """95 % confidence interval of a rate: [low, high] after E. B. Wilson, J. Am. Stat. Assoc. 22,
    1927, for errors among n independent trials."""
    if not n:
        return [0.0, 1.0]
    rate, spread = errors / n, _Z**2 / n
    centre = (rate + spread / 2) / (1 + spread)
    half = sqrt(rate * (1 - rate) * spread + spread**2 / 4) / (1 + spread)
    return [max(0.0, centre - half) if errors else 0.0,
            min(1.0, centre + half) if errors < n else 1.0]


@dataclass(frozen=True)
class Counts:
    """Errors in the frames of a block.

    Attributes:
        bits: (passes, n) wrong information bits after each pass.
        detected: (n,) wrong bits, of those sent, in the detector's first decisions.
        found: (n,) whether the decoder says that there is a codeword.
        passes, decoder_iterations: (n,).
    """

    bits: Any
    detected: Any
    found: Any
    passes: Any
    decoder_iterations: Any

    def part(self, at):
        """The counts of some of the frames."""
        return Counts(self.bits[:, at], self.detected[at], self.found[at], self.passes[at],
                      self.decoder_iterations[at])


class Tally:
    """What a detector has reached at one SNR: sums over all blocks so far."""

    _SUMS = ("frames", "undetected", "passes", "decoder_iterations")

    def __init__(self, num_passes, kept=None):
        """kept: what ``state`` gave."""
        kept = kept or {}
        self.blocks = kept.get("blocks", 0)
        self._sums = {name: kept.get(name, 0) for name in self._SUMS}
        self._bits = kept.get("bit_errors", [[0, 0]] * num_passes)
        self._frame_errors = kept.get("frame_errors", [0] * num_passes)
        self._detected = kept.get("detected_bit_errors", [0, 0])

    @property
    def frames(self):
        return self._sums["frames"]

    @property
    def frame_errors(self):
        """After the last pass."""
        return self._frame_errors[-1]

    def add(self, counts):
        """The next block's ``Counts``."""
        self.blocks += 1
        wrong = counts.bits > 0
        for name, more in zip(self._SUMS, (
                counts.bits.shape[1], np.count_nonzero(counts.found & wrong[-1]),
                counts.passes.sum(), counts.decoder_iterations.sum()), strict=True):
            self._sums[name] += int(more)
        self._bits = [_added(*pair) for pair in zip(self._bits, counts.bits, strict=True)]
        self._frame_errors = [n + int(more) for n, more in zip(
            self._frame_errors, np.count_nonzero(wrong, axis=1), strict=True)]
        self._detected = _added(self._detected, counts.detected)

    def state(self):
        """A dictionary for JSON, from which a tally goes on. Of bit errors it has the sum and,
        for their interval, the sum of each frame's square."""
        return {"blocks": self.blocks, **self._sums, "frame_errors": self._frame_errors,
                "bit_errors": self._bits, "detected_bit_errors": self._detected}

    def rates(self, num_info, num_sent):
        """A dictionary of rates, each with its 95 % interval; those of frames and bits as lists,
        after each pass.

        Errors of bits come many to a frame, so that frames are what is independent: their
        interval is the normal one of the frames' means. Where no frame is wrong its upper end is
        that of the frame error rate.
        """
        n = self.frames
        intervals = [wilson(errors, n) for errors in self._frame_errors]
        bits = [_bit_rate(sums, n, num_info, wilson(0, n)[1]) for sums in self._bits]
        before = _bit_rate(self._detected, n, num_sent, wilson(0, n)[1])
        return {"fer": [errors / n for errors in self._frame_errors], "fer_95": intervals,
                "ber": [rate for rate, _ in bits], "ber_95": [interval for _, interval in bits],
                "ber_before_decoding": before[0], "ber_before_decoding_95": before[1],
                "mean_passes": self._sums["passes"] / n,
                "mean_decoder_iterations": self._sums["decoder_iterations"] / n}


def _added(sums, errors):
    errors = errors.astype(np.int64)
    return [sums[0] + int(errors.sum()), sums[1] + int((errors**2).sum())]


def _bit_rate(sums, n, bits, at_most):
    """(rate, [low, high])"""
    total, squares = sums
    if not total:
        return 0.0, [0.0, at_most]
    mean = total / n
    variance = max(squares / n - mean**2, 0.0) * n / max(n - 1, 1)
    half = _Z * sqrt(variance / n)
    return mean / bits, [max(0.0, mean - half) / bits, (mean + half) / bits]
