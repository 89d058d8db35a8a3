# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turbo decoder on a GPU: the text of its program."""

import numpy as np

from . import source
from .decoding import DecoderProgram
from .device import cupy, kernel

# Steps of a thread's window at least, as path metrics at its ends come from the iteration before;
# threads of a block at most.
LEAST_WINDOW = 48
THREADS = 256
# Steps through the neighbouring windows before a window's own; and at first, when nothing is known
# of the metrics there.
TRAIN, WARM = 24, 48


def windows(size):
    """Windows of a codeword: as many of one length as there may be."""
    return max(count for count in range(1, THREADS + 1)
               if size % count == 0 and (size // count >= LEAST_WINDOW or count == 1))


def words(size):
    """Codewords of a block: a warp of windows, at least."""
    return max(1, 32 // windows(size))


def text(size, coefficients, scale, early_stop):
    """The program, which says with ``shared_size`` what a block needs of shared memory.

    Args:
        size: K.
        coefficients: f1, f2 of its interleaver.
        scale, early_stop: as ``TurboDecoder``'s extrinsic_scale and early_stop.
    """
    return f"""// {source.headers()}
#include "common/config.h"
#define MIMOPACK_THREADS {threads(size)}
namespace mimopack {{
namespace {source.NAMESPACE} {{
namespace asked {{
constexpr int size = {size}, windows = {windows(size)}, words = {words(size)};
constexpr unsigned f1 = {coefficients[0]}, f2 = {coefficients[1]};
constexpr int train = {TRAIN}, warm = {WARM};
constexpr float scale = {source.number(scale)};
constexpr bool early_stop = {source.number(early_stop)};
}}
}}
}}
#include "codes/turbo/cuda.h"
"""


def threads(size):
    """Of a block."""
    return -(-windows(size) * words(size) // 32) * 32


class TurboProgram(DecoderProgram):
    """The decoder for one size.

    Args:
        size, coefficients, scale, early_stop: as for ``text``.
        device: number of the GPU.
    """

    def __init__(self, size, coefficients, scale, early_stop, device):
        super().__init__(device, 3 * size + 12, size, threads(size), words(size))
        program = text(size, coefficients, scale, early_stop)
        with self._current():
            shared = cupy().empty(1, np.uint32)
            kernel(program, "shared_size", device)((1,), (1,), (shared,))
        self._compile(program, int(shared[0]))
