# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi decoder on a GPU, and the text of its program."""

import numpy as np

from .convolutional import code_text
from .decoding import GRID, DecoderProgram
from .device import cupy, current, kernel

# Number of codewords per block; each has a warp.
WORDS = 4
# Number of trellis steps whose decisions are stored together, and memory of the code, as in
# lib/codes/viterbi/cuda.h. The decisions take at most DECISIONS_BYTES of global memory per launch.
WINDOW, MEMORY = 32, 6
DECISIONS_BYTES = 2**30
_ENCODERS = 256    # threads per block that encode


def text(num_info, num_bits, kept):
    """Return the text of the program.

    Args:
        num_info: number of information bits in a codeword.
        num_bits: number of bits sent per codeword.
        kept: which of the output bits A1 B1 A2 B2 ... of the encoder are sent; the pattern
            repeats.
    """
    return code_text("codes/viterbi/cuda.h", WORDS, num_info, num_bits, kept)


def decisions(num_info):
    """Return the number of 32-bit words that hold a codeword's decisions."""
    return -(-(num_info + MEMORY) // WINDOW) * WINDOW * 2


class ViterbiProgram(DecoderProgram):
    """The GPU decoder for one codeword length and rate; its output is information bits.

    Args:
        num_info, num_bits, kept: see ``text``.
        device: index of the GPU.
    """

    def __init__(self, num_info, num_bits, kept, device):
        words = decisions(num_info)
        super().__init__(device, num_bits, words, 32 * WORDS, WORDS)
        self._num_info = self._out_bytes = num_info
        program = text(num_info, num_bits, kept)
        self._compile(program, 0)
        self._encode = kernel(program, "encode", device)
        self._needs_messages = True
        self._at_once = max(1, DECISIONS_BYTES // (4 * words))

    def messages(self, n):
        """Allocate memory for the decisions of n codewords."""
        with current(self.device):
            return cupy().empty((n, self._num_messages), np.uint32)

    def _made(self, llr):
        return cupy().empty((len(llr), self._num_info), np.uint8)

    def encode(self, bits, found):
        """Encode decisions on the current stream, without waiting.

        Args:
            bits: (n, num_info) uint8, on the GPU.
            found: (n,) bool, on the GPU.

        Returns:
            (n, num_bits) float32 CuPy array: LLRs of +-1, or 0 for codewords that are not found.
        """
        module, n = cupy(), len(bits)
        with current(self.device):
            posterior = module.empty((n, self._num_bits), np.float32)
            if n:
                blocks = min(GRID, -(-posterior.size // _ENCODERS))
                self._encode((blocks,), (_ENCODERS,), (np.uint64(n), bits, found, posterior))
        return posterior
