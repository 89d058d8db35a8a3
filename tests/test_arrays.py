# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory is used again when no array in it is left, and never before."""

import numpy as np
import pytest
from gnuradio.mimopack.arrays import LARGE, TOO_LARGE, ReusedMemory


def test_memory_is_used_again_when_no_array_is_left():
    memory, shape = ReusedMemory(), (4, LARGE // 16)
    first = memory.empty(shape, np.float32)
    address, part = first.ctypes.data, first[1:, ::2].T
    first[...] = 1
    del first
    second = memory.empty(shape, np.float32)
    second[...] = 2
    assert second.ctypes.data != address and np.all(part == 1)
    del part
    third = memory.empty((2, LARGE // 2), np.uint8)
    assert third.ctypes.data == address and third.flags.writeable
    larger = memory.empty((4, LARGE), np.float32)
    larger[...] = 3
    assert np.all(second == 2) and np.all(larger == 3)


@pytest.mark.parametrize("size", [3, LARGE - 1, TOO_LARGE])
def test_other_arrays_have_their_own_memory(size):
    assert ReusedMemory().empty((size,), np.uint8).flags.owndata
