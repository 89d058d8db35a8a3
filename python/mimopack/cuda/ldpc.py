# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC decoder on a GPU: the text of its program, and its launch on arrays of the device."""

from itertools import pairwise

import numpy as np

from . import source
from .decoding import DecoderProgram
from .device import cupy

# Threads that share a codeword of a code that is not quasi-cyclic.
THREADS = 256
# Quasi-cyclic codes up to this size of a block (threads that a block of them has at most), and this
# number of blocks (all of them are unrolled), have a thread for each row of a block.
LARGEST_SIZE, LARGEST_BLOCKS = 1024, 400
# What all messages of a launch may take, where they are in global memory.
MESSAGES_BYTES = 2**30
# Shared memory of a block that CUDA keeps for itself.
KEPT_SHARED = 1024


def is_unrolled(code):
    """Whether a code gets a program of its own."""
    shifts = getattr(code, "shifts", None)
    return (shifts is not None and code.size <= LARGEST_SIZE
            and np.count_nonzero(shifts >= 0) <= LARGEST_BLOCKS)


def threads(code):
    """Of a codeword."""
    return -(-code.size // 32) * 32 if is_unrolled(code) else THREADS


def text(code, factor, offset, early_stop, in_shared):
    """The program.

    Args:
        code: a parity-check matrix.
        factor, offset, early_stop: as for ``LdpcDecoder``.
        in_shared: whether a codeword's LLRs have room in shared memory.
    """
    rows, _ = code.checks()
    degrees = np.bincount(rows)
    circulants = ""
    if is_unrolled(code):
        row, column = np.nonzero(code.shifts >= 0)
        first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(code.shifts)))])
        circulants = f"""\
#define MIMOPACK_CIRCULANTS
namespace asked {{
constexpr int size = {code.size}, block_rows = {len(code.shifts)}, edges = {len(row)};
__device__ constexpr int first[] = {source.numbers(first)};
__device__ constexpr int column[] = {source.numbers(column)};
__device__ constexpr int shift[] = {source.numbers(code.shifts[row, column])};
}}
"""
    return f"""// {source.headers()}
#include "codes/ldpc/kernel.h"
#define MIMOPACK_THREADS {threads(code)}
namespace mimopack {{
namespace {source.NAMESPACE} {{
namespace asked {{
constexpr int num_bits = {code.num_bits}, ones = {len(rows)}, largest = {degrees.max()};
constexpr ldpc_rule rule{{ {source.number(factor)}, {source.number(offset)} }};
constexpr bool early_stop = {source.number(early_stop)}, in_shared = {source.number(in_shared)};
}}
{circulants}}}
}}
#include "codes/ldpc/cuda.h"
"""


def in_steps(code):
    """A code's ones for threads that take checks at the same time: a check's step comes after those
    of all checks before it that have a bit in common with it.

    Returns:
        (first, columns, step_first): int32; ones before each check, their columns, checks before
        each step. Checks without ones are left out.
    """
    rows, columns = code.checks()
    bounds = np.flatnonzero(np.diff(rows, prepend=-1, append=rows[-1] + 1))
    free = np.zeros(code.num_bits, int)    # the first step after those that have this bit
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
    """The decoder of one code.

    Args:
        code, factor, offset, early_stop: as for ``text``.
        device: number of the GPU.
    """

    def __init__(self, code, factor, offset, early_stop, device):
        num_ones = len(code.checks()[0])
        super().__init__(device, code.num_bits, num_ones, threads(code))
        size = 4 * code.num_bits
        in_shared = size <= self._room() - KEPT_SHARED
        self._compile(text(code, factor, offset, early_stop, in_shared), size * in_shared)
        self._more = (np.uint64(0),) * 3 + (np.int32(0),)
        if not is_unrolled(code):
            tables = in_steps(code)
            with self._current():
                self._more = (*map(cupy().asarray, tables), np.int32(len(tables[2]) - 1))
            self._needs_messages = True
            self._at_once = max(1, MESSAGES_BYTES // (4 * num_ones))
