# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC decoder on a GPU: the text of its program, and its launch on arrays of the device."""

from itertools import pairwise

import numpy as np

from . import source
from .device import Count, check_device, cupy, kernel

# Threads that share a codeword of a code that is not quasi-cyclic.
THREADS = 256
# Quasi-cyclic codes up to this size of a block (threads that a block of them has at most), and this
# number of blocks (all of them are unrolled), have a thread for each row of a block.
LARGEST_SIZE, LARGEST_BLOCKS = 1024, 400
# What all messages of a launch may take, where they are in global memory.
MESSAGES_BYTES = 2**30
GRID = 2**31 - 1


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
#include "kernels/ldpc.h"
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
#include "cuda/ldpc.h"
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


class LdpcProgram:
    """The decoder of one code on one GPU, compiled at first use.

    Args:
        code, factor, offset, early_stop: as for ``text``.
        device: number of the GPU.
    """

    def __init__(self, code, factor, offset, early_stop, device):
        check_device(device)
        module = cupy()
        self.device = device
        self._num_ones = len(code.checks()[0])
        self._unrolled = is_unrolled(code)
        self._threads = threads(code)
        room = module.cuda.runtime.deviceGetAttribute(
            module.cuda.runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, device)
        size = 4 * code.num_bits
        self._shared = size if size <= room - 1024 else 0    # the rest is for what CUDA keeps there
        self._kernel = kernel(text(code, factor, offset, early_stop, self._shared > 0), "decode",
                              device)
        if self._shared > 48 * 1024:
            self._kernel.max_dynamic_shared_size_bytes = self._shared
        self._tables, self._steps = [np.uint64(0)] * 3, 0
        if not self._unrolled:
            tables = in_steps(code)
            self._tables, self._steps = list(map(self.to_device, tables)), len(tables[2]) - 1

    def messages(self, n):
        """Of n codewords, 0."""
        with self._current():
            return cupy().zeros((n, self._num_ones), np.float32)

    def to_device(self, array):
        """A copy there, of an array of the host."""
        with self._current():
            return cupy().asarray(array)

    def decode(self, llr, out, messages, iterations):
        """Works on the current stream, and does not wait.

        Args:
            llr: (n, num_bits) float32.
            out: the same; made if None.
            messages: ``messages(n)``, taken up and left; or None.
            iterations: at most.

        Returns:
            (out, found: (n,) bool, taken: (n,) int32, a ``Count`` of the codewords erased).
        """
        module = cupy()
        with self._current():
            stream = module.cuda.get_current_stream()
            n = len(llr)
            out = module.empty_like(llr) if out is None else out
            found, taken = module.empty(n, bool), module.empty(n, np.int32)
            erased = module.cuda.alloc(8)
            erased.memset_async(0, 8, stream)
            needs_messages = not self._unrolled and messages is None
            most = max(1, MESSAGES_BYTES // (4 * self._num_ones)) if needs_messages else GRID
            for first in range(0, n, most):
                part = slice(first, min(n, first + most))
                count = part.stop - part.start
                own = (self.messages(count) if needs_messages
                       else None if messages is None else messages[part])
                self._kernel(
                    (count,), (self._threads,),
                    (np.uint64(count), np.int32(iterations), llr[part], out[part],
                     np.uint64(0) if own is None else own, found[part], taken[part],
                     np.uint64(erased.ptr), *self._tables, np.int32(self._steps)),
                    shared_mem=self._shared)
        return out, found, taken, Count(erased, stream)

    def _current(self):
        return cupy().cuda.Device(self.device)
