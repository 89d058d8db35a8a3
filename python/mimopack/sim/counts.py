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
        """Return the sums over the frames, as a dictionary for ``Tally.add``.

        Bit errors have two sums: of the frames' errors, and of their squares.
        """
        wrong = self.bits > 0
        return {"blocks": 1, "frames": self.bits.shape[1],
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
        kept: ``state`` of another ``Tally`` to continue from, or None.

    Attributes:
        state: dictionary for JSON from which a ``Tally`` can continue. For bit errors it holds the
            sum over frames and the sum of the squares, which gives the confidence interval.
    """

    def __init__(self, num_passes, kept=None):
        self.state = kept or {
            "blocks": 0, "frames": 0, "undetected": 0, "passes": 0, "decoder_iterations": 0,
            "frame_errors": [0] * num_passes, "bit_errors": [[0, 0]] * num_passes,
            "detected_bit_errors": [0, 0]}

    @property
    def blocks(self):
        """Number of blocks."""
        return self.state["blocks"]

    @property
    def frames(self):
        """Number of frames."""
        return self.state["frames"]

    @property
    def frame_errors(self):
        """Number of wrong frames after the last pass."""
        return self.state["frame_errors"][-1]

    def add(self, sums):
        """Add the sums over the next block, as ``Counts.sums`` returns them."""
        self.state = _added(self.state, sums)

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
        state, n = self.state, self.frames
        bits = [_bit_rate(sums, n, num_info) for sums in state["bit_errors"]]
        before = _bit_rate(state["detected_bit_errors"], n, num_sent)
        return {"fer": [errors / n for errors in state["frame_errors"]],
                "fer_95": [wilson(errors, n) for errors in state["frame_errors"]],
                "ber": [rate for rate, _ in bits], "ber_95": [interval for _, interval in bits],
                "ber_before_decoding": before[0], "ber_before_decoding_95": before[1],
                "mean_passes": state["passes"] / n,
                "mean_decoder_iterations": state["decoder_iterations"] / n}


def _added(value, more):
    """Add numbers, and those of equal places in lists and dictionaries."""
    if isinstance(value, dict):
        return {name: _added(part, more[name]) for name, part in value.items()}
    if isinstance(value, list):
        return [_added(*pair) for pair in zip(value, more, strict=True)]
    return value + more


def _sums(errors):
    """Return [sum, sum of squares]."""
    errors = errors.astype(np.int64)
    return [int(errors.sum()), int((errors**2).sum())]


def _bit_rate(sums, n, bits):
    """Return (rate, [low, high]) from the sum of bit errors and the sum of squares."""
    total, squares = sums
    if not total:
        return 0.0, [0.0, wilson(0, n)[1]]
    mean = total / n
    variance = max(squares / n - mean**2, 0.0) * n / max(n - 1, 1)
    half = _Z * sqrt(variance / n)
    return mean / bits, [max(0.0, mean - half) / bits, (mean + half) / bits]
