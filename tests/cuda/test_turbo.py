# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turbo decoder on GPUs: its programs compile, and decode as the CPU does.

They run compiled by g++ without a GPU, and on a GPU.
"""

import ctypes

import numpy as np
import pytest
from gnuradio.mimopack.coding import turbo
from gnuradio.mimopack.coding.turbo.interleaver import qpp_coefficients
from gnuradio.mimopack.cuda import source
from gnuradio.mimopack.cuda import turbo as cuda_turbo
from nvrtc import Program
from turbo_code import transmitted
from without_gpu import compiled, pointer

LAUNCH = """
thread_local mimopack::device::turbo_shared shared[mimopack::device::words];
static struct {
    unsigned long long n;
    int iterations;
    const float* llr;
    float *posterior, *messages;
    bool* found;
    int* taken;
    unsigned long long* erased;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, int iterations, const float* llr,
                       float* posterior, float* messages, bool* found, int* taken,
                       unsigned long long* erased)
{
    call = { n, iterations, llr, posterior, messages, found, taken, erased };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            decode(call.n, call.iterations, call.llr, call.posterior, call.messages, call.found,
                   call.taken, call.erased);
        });
}
"""


def program(size, early_stop):
    return cuda_turbo.text(size, qpp_coefficients(size), 0.75, early_stop)


def test_compiles_without_spills():
    compiled = Program(program(6144, True), "sm_90", source.OPTIONS)
    assert compiled.error is None and compiled.spills["decode"] == 0


def test_windows_of_every_size():
    for size in turbo.TURBO_SIZES:
        windows = cuda_turbo.windows(size)
        assert size % windows == 0 and (windows == 1 or size // windows >= cuda_turbo.LEAST_WINDOW)
        assert windows * cuda_turbo.words(size) <= cuda_turbo.threads(size) <= cuda_turbo.THREADS


# One window, with several codewords per block, as on the CPU; windows whose length is not a
# multiple of a group's.
@pytest.mark.parametrize("size, n, early_stop", [(40, 37, True), (376, 5, False)])
def test_without_a_gpu(size, n, early_stop, tmp_path):
    _, _, llr = transmitted(size, n, 1.5)
    llr[1, 5] = np.inf
    cpu = turbo.TurboDecoder(size, 3, early_stop=early_stop, keep_messages=True, backend="cpu")
    launch = compiled(program(size, early_stop) + LAUNCH, tmp_path / "program.so").launch
    messages = np.zeros((n, size), np.float32)
    for blocks in (-(-n // cuda_turbo.words(size)), 1):    # the second call continues
        posterior, found = np.full_like(llr, np.nan), np.full(n, 99, np.uint8)
        taken, erased = np.full(n, 99, np.int32), np.zeros(1, np.uint64)
        launch(blocks, ctypes.c_ulonglong(n), 3, *map(pointer, (
            llr, posterior, messages, found, taken, erased)))
        expected = cpu.decode(llr)
        scale = np.max(np.abs(expected), axis=1, keepdims=True)
        if size == 40:
            assert np.all(np.abs(posterior - expected) <= 1e-3 * scale)
            np.testing.assert_array_equal(found, cpu.found)
            np.testing.assert_array_equal(taken, cpu.iterations_taken)
        else:
            both = found.astype(bool) & cpu.found
            np.testing.assert_array_equal(posterior[both] > 0, expected[both] > 0)
            assert np.mean(np.abs(posterior - expected) > 0.05 * scale) < 0.1
            assert abs(np.mean(taken) - np.mean(cpu.iterations_taken)) < 0.5
        assert erased[0] == cpu.erasures == 1 and not posterior[1].any()


@pytest.mark.gpu
class TestOnAGpu:
    @pytest.fixture(autouse=True)
    def module(self):
        self.cupy = pytest.importorskip("cupy")

    @pytest.mark.parametrize("size, ebn0_db", [(40, 1.5), (376, 1.0), (6144, 0.6)])
    def test_as_good_as_the_cpu(self, size, ebn0_db):
        """With noise that loses about half of the codewords, the GPU loses as many as the CPU."""
        bits, _, llr = transmitted(size, 400, ebn0_db)
        lost = []
        for backend in ("cpu", "cuda"):
            decoder = turbo.TurboDecoder(size, backend=backend)
            posterior = decoder.decode(llr)
            lost.append(np.mean(np.any((posterior[:, :size] > 0) != bits, axis=1)))
            assert np.all(np.isfinite(posterior)) and decoder.erasures == 0
        assert 0.02 < lost[0] < 0.98 and abs(lost[1] - lost[0]) < 0.08

    def test_arrays_of_the_device(self):
        _, _, llr = transmitted(512, 300, 1.5)
        llr[7] = np.nan
        there, from_host = (turbo.TurboDecoder(512, 4, keep_messages=True, backend=backend)
                            for backend in ("auto", "cuda"))
        for _ in range(2):
            llr_there = self.cupy.asarray(llr)
            posterior = there.decode(llr_there)
            assert isinstance(posterior, self.cupy.ndarray)
            np.testing.assert_array_equal(posterior.get(), from_host.decode(llr))
            np.testing.assert_array_equal(there.found.get(), from_host.found)
            assert there.erasures == from_host.erasures == 1
        there.reset(), from_host.reset()
        np.testing.assert_array_equal(there.decode(llr_there).get(), from_host.decode(llr))
