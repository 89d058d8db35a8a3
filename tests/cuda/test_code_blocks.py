# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU kernels before and after a decoder of code blocks compute what the host does.

They run compiled by g++, without a GPU.
"""

import numpy as np
import pytest
from gnuradio.mimopack import coding
from gnuradio.mimopack.coding.selection import CERTAIN, Recovery
from gnuradio.mimopack.cuda import source
from nvrtc import Program
from without_gpu import compiled, run

RNG = np.random.default_rng


def test_compiles_without_spills():
    program = Program(source.code_blocks(), "sm_75", source.OPTIONS)
    assert program.error is None and set(program.registers) == {"recover", "join"}
    assert not any(program.spills.values())


@pytest.fixture(scope="module")
def code_blocks(tmp_path_factory):
    return compiled(source.code_blocks(), tmp_path_factory.mktemp("code_blocks"),
                    kernels=("recover", "join"))


def test_recovery(code_blocks):
    """Repeated, inverted and known bits; one of two code blocks is an erasure."""
    rng, size = RNG(1), 40
    sent = [rng.permutation(30)[np.arange(50) % 25], rng.permutation(30)[:20]]
    inverted = rng.integers(0, 2, 70)
    recovery = Recovery(sent, size, (30, 36), inverted, given=rng.permutation(90)[:70], width=90)
    llr = rng.normal(size=(3, 90)).astype(np.float32)
    sources = recovery._coded.values
    llr[1, sources[0, 1][sources[0, 1] >= 0] // 2] = 0
    out = np.full((3, 2, size), np.nan, np.float32)
    run(code_blocks.launch_recover, 6, llr, np.uint64(90), sources,
        *map(np.int32, (*sources.shape, 30, 36)), CERTAIN, out)
    np.testing.assert_array_equal(out, recovery(llr))
    assert not out[1, 1].any() and (out[[0, 2]][..., 30:36] == CERTAIN).all()


@pytest.mark.parametrize("size, graph", [(500, 2), (8448 * 2, 1)])
def test_joined(code_blocks, size, graph):
    """Wrong bits in a code block, in the CRC, and a block of zeros that was not found."""
    rng, segmentation = RNG(2), coding.NrSegmentation(size, graph)
    bits = rng.integers(0, 2, (5, size), np.uint8)
    bits[4] = 0
    blocks, count = np.stack(segmentation.segment(bits), axis=1), segmentation.num_blocks
    blocks[1, 0, 3] ^= 1
    blocks[2, -1, -1] ^= 1
    length = blocks.shape[2]
    llr = np.full((5 * count, length + 7), 1, np.float32)
    llr[:, :length] = (2.0 * blocks.reshape(-1, length) - 1) * rng.exponential(
        size=(len(llr), length))
    found = np.zeros(len(llr), bool)
    own = [crc and crc.shares(number) for crc, number in (
        (segmentation._block_crc, length), (segmentation._crc, size + segmentation._crc.length))]
    joined, remainders = np.full((5, size), 9, np.uint8), np.zeros(5, np.uint32)
    flags = np.full((5, count), 9, np.uint8)
    run(code_blocks.launch_join, len(llr), llr, np.int32(llr.shape[1]), found, *map(np.int32, (
        count, length, 24 * (count > 1), size)), *own, joined, remainders, flags)
    expected, crc_ok, block_crc_ok = segmentation.join(blocks)
    np.testing.assert_array_equal(joined, expected)
    whole, each = segmentation.checks(remainders, flags)
    real = np.arange(5) < 4
    np.testing.assert_array_equal(whole, crc_ok & real)
    np.testing.assert_array_equal(each, block_crc_ok & real[:, None])
    assert whole.tolist() == [True, False, count > 1, True, False]
