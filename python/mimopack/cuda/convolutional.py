# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The convolutional code's decoder on a GPU: the text of its program."""

import numpy as np

from . import source
from .decoding import DecoderProgram
from .device import cupy, kernel

# Codewords of a block, each of which has a warp.
WORDS = 2
# Steps of a window, states: lib/cuda/convolutional.h. Metrics at the windows' beginnings are in
# global memory, of so many bytes for a launch at most.
WINDOW, STATES, MEMORY = 32, 64, 6
BEGINS_BYTES = 2**30


def code_text(header, words, num_info, num_bits, kept, more=""):
    """The program of a decoder of the punctured code.

    Args:
        header: of lib/cuda, with the kernels.
        words: codewords of a block, each of which has a warp.
        num_info, num_bits: information bits of a codeword, and all that it has.
        kept: which of A1 B1 A2 B2 ... are sent, repeated as needed.
        more: further constants of namespace asked.
    """
    mask = sum(int(sent) << place for place, sent in enumerate(kept))
    return f"""// {source.headers()}
#include "common/config.h"
#define MIMOPACK_THREADS {32 * words}
namespace mimopack {{
namespace {source.NAMESPACE} {{
namespace asked {{
constexpr int num_info = {num_info}, num_bits = {num_bits};
constexpr int period = {len(kept) // 2};
constexpr unsigned kept = {mask};
{more}}}
}}
}}
#include "{header}"
"""


def text(num_info, num_bits, kept, margin):
    """The program, which says with ``shared_size`` what a block needs of shared memory.

    Args:
        num_info: information bits of a codeword, which it begins with.
        num_bits: of a codeword: they, and the bits sent.
        kept: which of A1 B1 A2 B2 ... are sent, repeated as needed.
        margin: as ``ConvolutionalDecoder``'s.
    """
    margin = f"constexpr float margin = {source.number(float(margin))};\n"
    return code_text("codes/convolutional/cuda.h", WORDS, num_info, num_bits, kept, margin)


def begins(num_info):
    """Numbers of a codeword's metrics at the windows' beginnings."""
    return -(-(num_info + MEMORY) // WINDOW) * STATES


class ConvolutionalProgram(DecoderProgram):
    """The decoder for one length and rate.

    Args:
        num_info, num_bits, kept, margin: as for ``text``.
        device: number of the GPU.
    """

    def __init__(self, num_info, num_bits, kept, margin, device):
        super().__init__(device, num_bits, begins(num_info), 32 * WORDS, WORDS)
        program = text(num_info, num_bits, kept, margin)
        with self._current():
            shared = cupy().empty(1, np.uint32)
            kernel(program, "shared_size", device)((1,), (1,), (shared,))
        self._compile(program, int(shared[0]))
        self._needs_messages = True
        self._at_once = max(1, BEGINS_BYTES // (4 * begins(num_info)))
