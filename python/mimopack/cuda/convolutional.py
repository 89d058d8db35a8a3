# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decoder of the convolutional code on a GPU, and the text of its program."""

from . import source
from .decoding import DecoderProgram

# Number of codewords per block; each has a warp.
WORDS = 2
# Trellis steps per window, number of states and memory of the code, as in
# lib/codes/convolutional/cuda.h. The path metrics at the beginning of each window take at
# most BEGINS_BYTES of global memory per launch.
WINDOW, STATES, MEMORY = 32, 64, 6
BEGINS_BYTES = 2**30


def code_text(header, words, num_info, num_bits, kept, more=""):
    """Return the program of a decoder for the punctured code.

    Args:
        header: the header in lib that contains the kernels.
        words: number of codewords per block; each has a warp.
        num_info, num_bits: number of information bits and of all bits in a codeword.
        kept: which of the output bits A1 B1 A2 B2 ... of the encoder are sent; the pattern
            repeats.
        more: further constants, which the headers expect in the namespace ``program``.
    """
    mask = sum(int(sent) << place for place, sent in enumerate(kept))
    return source.program_text(header, 32 * words, f"""\
constexpr int num_info = {num_info}, num_bits = {num_bits};
constexpr int period = {len(kept) // 2};
constexpr unsigned kept = {mask};
{more}""")


def text(num_info, num_bits, kept, margin):
    """Return the text of the program.

    Its kernel ``shared_size`` returns the bytes of shared memory that a block needs.

    Args:
        num_info: number of information bits, which begin a codeword.
        num_bits: number of bits in a codeword: the information bits and the bits sent.
        kept: which of the output bits A1 B1 A2 B2 ... of the encoder are sent; the pattern
            repeats.
        margin: see ``ConvolutionalDecoder``.
    """
    margin = f"constexpr float margin = {source.number(float(margin))};"
    return code_text("codes/convolutional/cuda.h", WORDS, num_info, num_bits, kept, margin)


def begins(num_info):
    """Return the number of path metrics that a codeword has at the beginnings of its windows."""
    return -(-(num_info + MEMORY) // WINDOW) * STATES


class ConvolutionalProgram(DecoderProgram):
    """The GPU decoder for one codeword length and rate.

    Args:
        num_info, num_bits, kept, margin: see ``text``.
        device: index of the GPU.
    """

    def __init__(self, num_info, num_bits, kept, margin, device):
        super().__init__(device, num_bits, begins(num_info), 32 * WORDS, WORDS)
        self._compile(text(num_info, num_bits, kept, margin))
        self._needs_messages = True
        self._at_once = max(1, BEGINS_BYTES // (4 * begins(num_info)))
