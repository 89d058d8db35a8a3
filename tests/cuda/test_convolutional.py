# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The convolutional code's decoders on GPUs.

Their programs compile, and decode as the CPU and the reference do. They run compiled by g++ without
a GPU, and on a GPU.
"""

import ctypes

import numpy as np
import pytest
from convolutional_code import transmitted
from gnuradio.mimopack import coding, reference
from gnuradio.mimopack.coding.convolutional import GENERATORS, PUNCTURING
from gnuradio.mimopack.coding.convolutional_decoder import MARGIN
from gnuradio.mimopack.cuda import convolutional, source, viterbi
from nvrtc import Program
from without_gpu import compiled, pointer

LAUNCH = """
thread_local mimopack::device::convolutional_shared shared[MIMOPACK_THREADS / 32];
static struct {
    unsigned long long n;
    const float* llr;
    float *posterior, *begins;
    bool* found;
    int* taken;
    unsigned long long* erased;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, const float* llr, float* posterior,
                       float* begins, bool* found, int* taken, unsigned long long* erased)
{
    call = { n, llr, posterior, begins, found, taken, erased };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            decode(call.n, 1, call.llr, call.posterior, call.begins, call.found, call.taken,
                   call.erased);
        });
}
"""

VITERBI_LAUNCH = """
static struct {
    unsigned long long n;
    const float* llr;
    unsigned char* bits;
    unsigned* decided;
    bool* found;
    int* taken;
    unsigned long long* erased;
    float* posterior;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, const float* llr, unsigned char* bits,
                       unsigned* decided, bool* found, int* taken, unsigned long long* erased,
                       float* posterior)
{
    call = { n, llr, bits, decided, found, taken, erased, posterior };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            decode(call.n, 1, call.llr, call.bits, call.decided, call.found, call.taken,
                   call.erased);
        });
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS,
                   [] { encode(call.n, call.bits, call.found, call.posterior); });
}
"""

on_gpu = pytest.mark.parametrize("size, n, rate", [
    (3, 1, "1/2"), (59, 333, "2/3"), (1000, 500, "3/4"), (20_000, 9, "5/6")])


def program(size, rate, margin=MARGIN):
    num_bits = coding.ConvolutionalEncoder(size, rate).num_bits
    return convolutional.text(size, num_bits, PUNCTURING[rate], margin)


def viterbi_program(size, rate):
    return viterbi.text(size, coding.ViterbiDecoder(size, rate).num_bits, PUNCTURING[rate])


def test_compiles_without_spills():
    for text, kernels in ((program(1000, "3/4"), {"decode", "shared_size"}),
                          (viterbi_program(1000, "3/4"), {"decode", "encode"})):
        made = Program(text, "sm_75", source.OPTIONS)
        assert made.error is None and set(made.registers) == kernels
        assert made.stack["decode"] == made.spills["decode"] == 0


def sent_of(llr, size):
    """Return the LLRs of the bits sent."""
    return np.ascontiguousarray(llr[:, size:])


# Fewer steps than a window of 32, and one step more than two windows.
SIZES = pytest.mark.parametrize("size, rate", [(3, "1/2"), (59, "3/4")])


@SIZES
def test_viterbi_without_a_gpu(size, rate, tmp_path):
    """The program finds the codewords of the reference."""
    n = 6
    sent = sent_of(transmitted(size, rate, n, 0.9)[2], size)
    expected, _ = reference.viterbi(sent, PUNCTURING[rate], GENERATORS)
    sent[1, 5], sent[3] = np.nan, 0
    usable = np.isin(np.arange(n), (1, 3), invert=True)
    launch = compiled(viterbi_program(size, rate) + VITERBI_LAUNCH, tmp_path / "program.so").launch
    words = coding.ConvolutionalEncoder(size, rate).encode(
        np.ascontiguousarray(expected[:, :size], np.uint8))[:, size:]
    for blocks in (2, 1):
        bits, found = np.full((n, size), 99, np.uint8), np.full(n, 99, np.uint8)
        taken, erased = np.full(n, 99, np.int32), np.zeros(1, np.uint64)
        decided = np.full((n, viterbi.decisions(size)), 99, np.uint32)
        posterior = np.full_like(sent, np.nan)
        launch(blocks, ctypes.c_ulonglong(n), *map(pointer, (
            sent, bits, decided, found, taken, erased, posterior)))
        np.testing.assert_array_equal(bits[usable], expected[usable, :size])
        assert not bits[~usable].any() and erased[0] == 2
        np.testing.assert_array_equal(found, usable)
        np.testing.assert_array_equal(taken, usable)
        np.testing.assert_array_equal(posterior, usable[:, None] * (2.0 * words - 1))


@SIZES
def test_without_a_gpu(size, rate, tmp_path):
    """The program gives the CPU's results, also with fewer blocks than codewords."""
    n = 5
    _, _, llr = transmitted(size, rate, n, 0.5, prior=1.0)
    llr[1, 5], llr[3] = np.nan, 0
    llr[2, 4] = 1e20
    cpu = coding.ConvolutionalDecoder(size, rate, backend="cpu")
    expected = cpu.decode(llr)
    launch = compiled(program(size, rate) + LAUNCH, tmp_path / "program.so").launch
    for blocks in (3, 1):
        posterior, found = np.full_like(llr, np.nan), np.full(n, 99, np.uint8)
        taken, erased = np.full(n, 99, np.int32), np.zeros(1, np.uint64)
        begins = np.full((n, convolutional.begins(size)), np.nan, np.float32)
        launch(blocks, ctypes.c_ulonglong(n), *map(pointer, (
            llr, posterior, begins, found, taken, erased)))
        np.testing.assert_array_equal(posterior, expected)
        np.testing.assert_array_equal(found, cpu.found)
        np.testing.assert_array_equal(taken, cpu.iterations_taken)
        assert erased[0] == cpu.erasures == 2


@pytest.mark.gpu
class TestOnAGpu:
    @pytest.fixture(autouse=True)
    def module(self):
        self.cupy = pytest.importorskip("cupy")

    @on_gpu
    def test_same_as_the_cpu(self, size, n, rate):
        _, _, llr = transmitted(size, rate, n, prior=1.0)
        llr[n // 2, 1] = np.inf
        decoders = [coding.ConvolutionalDecoder(size, rate, backend=backend)
                    for backend in ("cpu", "cuda")]
        on_cpu, on_gpu = (decoder.decode(llr) for decoder in decoders)
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5, atol=1e-2)
        np.testing.assert_array_equal(*(decoder.iterations_taken for decoder in decoders))
        assert np.mean(decoders[0].found != decoders[1].found) < 0.01
        assert decoders[0].erasures == decoders[1].erasures == 1

    def test_arrays_of_the_device(self):
        _, _, llr = transmitted(512, "2/3", 300)
        llr[7] = np.nan
        there, from_host = (coding.ConvolutionalDecoder(512, "2/3", backend=backend)
                            for backend in ("auto", "cuda"))
        llr_there = self.cupy.asarray(llr)
        posterior = there.decode(llr_there)
        assert isinstance(posterior, self.cupy.ndarray)
        np.testing.assert_array_equal(posterior.get(), from_host.decode(llr))
        np.testing.assert_array_equal(there.found.get(), from_host.found)
        assert there.erasures == from_host.erasures == 1

    def test_launches_in_parts(self):
        """A launch has as many codewords as the memory for metrics allows."""
        _, _, llr = transmitted(300, "3/4", 50)
        decoder = coding.ConvolutionalDecoder(300, "3/4", backend="cuda")
        whole = decoder.decode(llr)
        decoder._gpu._at_once = 7
        np.testing.assert_array_equal(decoder.decode(llr), whole)


@pytest.mark.gpu
class TestViterbiOnAGpu:
    @pytest.fixture(autouse=True)
    def module(self):
        self.cupy = pytest.importorskip("cupy")

    @on_gpu
    def test_the_reference_codewords(self, size, n, rate):
        bits, _, llr = transmitted(size, rate, n)
        sent = sent_of(llr, size)
        decoder = coding.ViterbiDecoder(size, rate, backend="cuda")
        posterior = decoder.decode(sent)
        expected, best = reference.viterbi(sent, PUNCTURING[rate], GENERATORS)
        np.testing.assert_allclose(np.sum(sent * (posterior > 0), axis=1, dtype=float), best,
                                   rtol=1e-5, atol=1e-2)
        assert np.mean(decoder.bits != expected[:, :size]) < 1e-4
        assert decoder.found.all() and np.all(np.abs(posterior) == 1)

    def test_arrays_of_the_device(self):
        sent = sent_of(transmitted(512, "2/3", 300)[2], 512)
        sent[7], sent[11] = np.nan, 0
        there, from_host = (coding.ViterbiDecoder(512, "2/3", backend=backend)
                            for backend in ("auto", "cuda"))
        posterior = there.decode(self.cupy.asarray(sent))
        assert isinstance(posterior, self.cupy.ndarray)
        np.testing.assert_array_equal(posterior.get(), from_host.decode(sent))
        for name in ("bits", "found", "iterations_taken"):
            np.testing.assert_array_equal(getattr(there, name).get(), getattr(from_host, name))
        assert there.erasures == from_host.erasures == 2
        np.testing.assert_array_equal(there.decide(self.cupy.asarray(sent)).get(), there.bits.get())

    def test_launches_in_parts(self):
        sent = sent_of(transmitted(40, "1/2", 200)[2], 40)
        decoder = coding.ViterbiDecoder(40, backend="cuda")
        whole = decoder.decode(sent)
        decoder._gpu._at_once = 7
        np.testing.assert_array_equal(decoder.decode(sent), whole)
