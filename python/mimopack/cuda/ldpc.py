# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC decoder on a GPU, and the text of its program."""

from itertools import pairwise

import numpy as np

from . import source
from .decoding import DecoderProgram
from .device import cupy, current

# Number of threads per codeword for codes that are not quasi-cyclic.
THREADS = 256
# Within these limits a quasi-cyclic code gets its own unrolled program, with one thread per row of
# a matrix block. A matrix block has at most LARGEST_SIZE rows, because a CUDA block has no more
# threads. The matrix has at most LARGEST_BLOCKS nonzero blocks.
LARGEST_SIZE, LARGEST_BLOCKS = 1024, 400
# Most bytes of global memory for the messages of one launch.
MESSAGES_BYTES = 2**30
# Bytes of shared memory per block that CUDA reserves.
KEPT_SHARED = 1024


def is_unrolled(code):
    """Return whether a code is unrolled into its own program."""
    shifts = getattr(code, "shifts", None)
    return (shifts is not None and code.size <= LARGEST_SIZE
            and np.count_nonzero(shifts >= 0) <= LARGEST_BLOCKS)


def threads(code):
    """Return the number of threads per codeword."""
    return -(-code.size // 32) * 32 if is_unrolled(code) else THREADS


def text(code, factor, offset, min_star, early_stop, in_shared):
    """Return the text of the program.

    Args:
        code: a parity-check matrix.
        factor, offset, min_star: the rule, see codes/ldpc/kernel.h.
        early_stop: see ``LdpcDecoder``.
        in_shared: whether the LLRs of a codeword fit into shared memory.
    """
    rows, _ = code.checks()
    degrees = np.bincount(rows)
    circulants = ""
    if is_unrolled(code):
        row, column = np.nonzero(code.shifts >= 0)
        first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(code.shifts)))])
        circulants = f"""
#define MIMOPACK_CIRCULANTS
constexpr int size = {code.size}, block_rows = {len(code.shifts)}, edges = {len(row)};
__device__ constexpr int first[] = {source.numbers(first)};
__device__ constexpr int column[] = {source.numbers(column)};
__device__ constexpr int shift[] = {source.numbers(code.shifts[row, column])};"""
    return source.program_text("codes/ldpc/cuda.h", threads(code), f"""\
constexpr int num_bits = {code.num_bits}, ones = {len(rows)}, largest = {degrees.max()};
constexpr ldpc_rule rule{{ {source.number(factor)}, {source.number(offset)},
                         {source.number(min_star)} }};
constexpr bool early_stop = {source.number(early_stop)}, in_shared = {source.number(in_shared)};\
{circulants}""", "codes/ldpc/kernel.h")


def check_steps(code):
    """Sort the checks of a code into steps.

    Threads can process all checks of a step at the same time. A check's step comes after the steps
    of all earlier checks that share a bit with it.

    Returns:
        (first, columns, step_first), int32, with the checks in the order of their steps: the number
        of ones of the parity-check matrix before each check, the columns of the ones, and the
        number of checks before each step. Checks without ones are left out.
    """
    rows, columns = code.checks()
    bounds = np.flatnonzero(np.diff(rows, prepend=-1, append=rows[-1] + 1))
    free = np.zeros(code.num_bits, int)    # for each bit, the first step that may use it next
    step = np.empty(len(bounds) - 1, int)
    for check, (first, last) in enumerate(pairwise(bounds)):
        own = columns[first:last]
        step[check] = free[own].max()
        free[own] = step[check] + 1
    order = np.argsort(step, kind="stable")
    ones = np.concatenate([np.arange(bounds[check], bounds[check + 1]) for check in order])
    first, step_first = (np.concatenate([[0], np.cumsum(counts)])
                         for counts in (np.diff(bounds)[order], np.bincount(step)))
    return (first.astype(np.int32), columns[ones].astype(np.int32), step_first.astype(np.int32))


class LdpcProgram(DecoderProgram):
    """The GPU decoder for one code.

    Args:
        code, factor, offset, min_star, early_stop: see ``text``.
        device: index of the GPU.
    """

    def __init__(self, code, factor, offset, min_star, early_stop, device):
        num_ones = len(code.checks()[0])
        super().__init__(device, code.num_bits, num_ones, threads(code))
        size = 4 * code.num_bits
        in_shared = size <= self._room() - KEPT_SHARED
        self._compile(text(code, factor, offset, min_star, early_stop, in_shared), size * in_shared)
        self._more = (np.uint64(0),) * 3 + (np.int32(0),)
        if not is_unrolled(code):
            tables = check_steps(code)
            with current(self.device):
                self._more = (*map(cupy().asarray, tables), np.int32(len(tables[2]) - 1))
            self._needs_messages = True
            self._at_once = max(1, MESSAGES_BYTES // (4 * num_ones))
