# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turbo decoder on a GPU, and the text of its program."""

from . import source
from .decoding import DecoderProgram

# Smallest number of steps in a thread's window: the path metrics at its ends come from the previous
# iteration, so short windows cost accuracy. Largest number of threads per block.
LEAST_WINDOW = 48
THREADS = 256
# Number of steps that a thread takes through the neighbouring windows before its own: TRAIN, or
# WARM in the first iteration, when the metrics there are unknown.
TRAIN, WARM = 24, 48


def windows(size):
    """Return the number of windows per codeword.

    It is the largest number of windows of equal length with at least LEAST_WINDOW steps.
    """
    return max(count for count in range(1, THREADS + 1)
               if size % count == 0 and (size // count >= LEAST_WINDOW or count == 1))


def words(size):
    """Return the number of codewords per block, whose windows together fill about a warp."""
    return max(1, 32 // windows(size))


def text(size, coefficients, scale, early_stop):
    """Return the text of the program.

    Its kernel ``shared_size`` returns the bytes of shared memory that a block needs.

    Args:
        size: K, number of information bits.
        coefficients: f1 and f2 of the interleaver.
        scale, early_stop: see extrinsic_scale and early_stop of ``TurboDecoder``.
    """
    return source.program_text("codes/turbo/cuda.h", threads(size), f"""\
constexpr int size = {size}, windows = {windows(size)}, words = {words(size)};
constexpr unsigned f1 = {coefficients[0]}, f2 = {coefficients[1]};
constexpr int train = {TRAIN}, warm = {WARM};
constexpr float scale = {source.number(scale)};
constexpr bool early_stop = {source.number(early_stop)};""")


def threads(size):
    """Return the number of threads per block."""
    return -(-windows(size) * words(size) // 32) * 32


class TurboProgram(DecoderProgram):
    """The GPU decoder for one size.

    Args:
        size, coefficients, scale, early_stop: see ``text``.
        device: index of the GPU.
    """

    def __init__(self, size, coefficients, scale, early_stop, device):
        super().__init__(device, 3 * size + 12, size, threads(size), words(size))
        self._compile(text(size, coefficients, scale, early_stop))
