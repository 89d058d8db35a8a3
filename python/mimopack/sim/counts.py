# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count errors, and compute error rates with confidence intervals."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

_Z = 1.959964    # 95 % of a normal distribution lie within this many standard deviations


def wilson(errors, n):
    """Return the 95 % confidence interval [low, high] of an error rate.

    Wilson's score interval for a number of errors in n independent trials (E. B. Wilson, J. Am.
    Stat. Assoc. 22, 1927).
    """
    if not n:
        return [0.0, 1.0]
    rate, spread = errors / n, _Z**2 / n
    centre = (rate + spread / 2) / (1 + spread)
    half = sqrt(rate * (1 - rate) * spread + spread**2 / 4) / (1 + spread)
    return [max(0.0, centre - half) if errors else 0.0,
            min(1.0, centre + half) if errors < n else 1.0]


@dataclass(frozen=True)
class Counts:
    """Errors in the n frames of a block.

    Attributes:
        bits: (passes, n) number of wrong information bits after each pass.
        detected: (n,) number of wrong transmitted bits in the detector's first decisions.
        found: (n,) whether the decoder found a codeword.
        passes: (n,) number of passes of detector and decoder.
        decoder_iterations: (n,) number of decoder iterations.
    """

    bits: Any
    detected: Any
    found: Any
    passes: Any
    decoder_iterations: Any

    def part(self, at):
        """Return the counts of some frames; ``at`` is a slice or an array of indices."""
        return Counts(self.bits[:, at], self.detected[at], self.found[at], self.passes[at],
                      self.decoder_iterations[at])

    def sums(self):
        """Return the sums over the frames, as a dictionary for ``Tally.join``.

        Bit errors have two sums: of the frames' errors, and of their squares.
        """
        wrong = self.bits > 0
        return {"frames": self.bits.shape[1],
                "undetected": np.count_nonzero(self.found & wrong[-1]),
                "passes": int(self.passes.sum()),
                "decoder_iterations": int(self.decoder_iterations.sum()),
                "frame_errors": np.count_nonzero(wrong, axis=1).tolist(),
                "bit_errors": [_sums(errors) for errors in self.bits],
                "detected_bit_errors": _sums(self.detected)}


class Tally:
    """Error counts of a detector at one SNR, summed over all blocks so far.

    Args:
        num_passes: number of passes of detector and decoder.
        kept: dictionary from :meth:`state` to continue from, or None.
    """

    _SUMS = ("frames", "undetected", "passes", "decoder_iterations")

    def __init__(self, num_passes, kept=None):
        kept = kept or {}
        self.blocks = kept.get("blocks", 0)
        self._sums = {name: kept.get(name, 0) for name in self._SUMS}
        self._bits = kept.get("bit_errors", [[0, 0]] * num_passes)
        self._frame_errors = kept.get("frame_errors", [0] * num_passes)
        self._detected = kept.get("detected_bit_errors", [0, 0])

    @property
    def frames(self):
        """Number of frames."""
        return self._sums["frames"]

    @property
    def frame_errors(self):
        """Number of wrong frames after the last pass."""
        return self._frame_errors[-1]

    def add(self, counts):
        """Add the ``Counts`` of the next block."""
        self.join(counts.sums())

    def join(self, sums):
        """Add the sums over the next block, as ``Counts.sums`` returns them."""
        self.blocks += 1
        for name in self._SUMS:
            self._sums[name] += sums[name]
        self._frame_errors = _added(self._frame_errors, sums["frame_errors"])
        self._bits = [_added(*pair) for pair in zip(self._bits, sums["bit_errors"], strict=True)]
        self._detected = _added(self._detected, sums["detected_bit_errors"])

    def state(self):
        """Return a dictionary for JSON from which a ``Tally`` can continue.

        For bit errors it holds the sum over frames and the sum of the squares, which gives the
        confidence interval.
        """
        return {"blocks": self.blocks, **self._sums, "frame_errors": self._frame_errors,
                "bit_errors": self._bits, "detected_bit_errors": self._detected}

    def rates(self, num_info, num_sent):
        """Return a dictionary of error rates, each with its 95 % confidence interval.

        Frame and bit error rates are lists with a value for each pass. Bit errors cluster in
        frames, so only frames are independent: the interval of a bit error rate is the normal
        interval of the mean over frames. If no bit is wrong, the upper end of this interval is the
        upper end of the interval of the frame error rate.

        Args:
            num_info: information bits per frame.
            num_sent: transmitted bits per frame.
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


def _added(sums, more):
    return [a + b for a, b in zip(sums, more, strict=True)]


def _sums(errors):
    """Return [sum, sum of squares]."""
    errors = errors.astype(np.int64)
    return [int(errors.sum()), int((errors**2).sum())]


def _bit_rate(sums, n, bits, at_most):
    """Return (rate, [low, high]) from the sum of bit errors and the sum of squares."""
    total, squares = sums
    if not total:
        return 0.0, [0.0, at_most]
    mean = total / n
    variance = max(squares / n - mean**2, 0.0) * n / max(n - 1, 1)
    half = _Z * sqrt(variance / n)
    return mean / bits, [max(0.0, mean - half) / bits, (mean + half) / bits]
