# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LDPC decoder on GPUs: its programs compile, and give the CPU decoder's results.

They run compiled by g++ without a GPU, and on a GPU.
"""

import ctypes

import numpy as np
import pytest
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.cuda import ldpc as cuda_ldpc
from gnuradio.mimopack.cuda import source
from ldpc_codes import HAMMING, SMALL, transmitted
from nvrtc import Program
from without_gpu import compiled, pointer

CODES = {"wifi": SMALL, "hamming": HAMMING, "nr": ldpc.nr(2, 3),
         # the ones of a wifi code, without its block structure
         "list": ldpc.ParityChecks(SMALL.num_checks, *SMALL.checks())}
LAUNCH = """
extern thread_local float shared[MIMOPACK_SHARED];
static struct {
    unsigned long long n;
    int iterations;
    const float* llr;
    float *posterior, *messages;
    bool* found;
    int* taken;
    unsigned long long* erased;
    const int *first, *columns, *step_first;
    int steps;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, int iterations, const float* llr,
                       float* posterior, float* messages, bool* found, int* taken,
                       unsigned long long* erased, const int* first, const int* columns,
                       const int* step_first, int steps)
{
    call = { n, iterations, llr, posterior, messages, found, taken, erased, first, columns,
             step_first, steps };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            decode(call.n, call.iterations, call.llr, call.posterior, call.messages, call.found,
                   call.taken, call.erased, call.first, call.columns, call.step_first, call.steps);
        });
}
"""


@pytest.mark.parametrize("code, in_shared", [(ldpc.wimax(2304, "1/2"), True),
                                             (CODES["list"], False)])
def test_compiles_with_messages_in_registers(code, in_shared):
    program = Program(cuda_ldpc.text(code, 0.8, 0.0, True, in_shared), "sm_75", source.OPTIONS)
    assert program.error is None
    if in_shared:
        assert program.stack["decode"] == program.spills["decode"] == 0


def test_steps_have_no_bit_in_common():
    first, columns, step_first = cuda_ldpc.check_steps(SMALL)
    rows, ones = SMALL.checks()
    assert len(step_first) - 1 <= len(SMALL.shifts)    # block rows are steps
    checks = {tuple(ones[rows == c]) for c in range(SMALL.num_checks)}
    assert checks == {tuple(columns[first[c]:first[c + 1]]) for c in range(SMALL.num_checks)}
    for step in range(len(step_first) - 1):
        own = columns[first[step_first[step]]:first[step_first[step + 1]]]
        assert len(own) == len(set(own))


@pytest.mark.parametrize("name, in_shared, offset, early_stop", [
    ("wifi", False, 0.5, False), ("nr", True, 0, True), ("list", False, 0, True)])
def test_without_a_gpu(name, in_shared, offset, early_stop, tmp_path):
    code = CODES[name]
    _, _, llr = transmitted(code, 7, 1.5)
    llr[2, 5] = np.inf
    llr[4] = 0
    rule = {"algorithm": "offset", "offset": offset} if offset else {}
    cpu = ldpc.LdpcDecoder(code, 3, early_stop=early_stop, keep_messages=True, backend="cpu",
                           **rule)
    text = cuda_ldpc.text(code, 1.0 if offset else 0.8, offset, early_stop, in_shared)
    launch = compiled(text + LAUNCH + "thread_local float shared[MIMOPACK_SHARED];",
                      tmp_path / "program.so", f"-DMIMOPACK_SHARED={code.num_bits}").launch
    messages = np.zeros((7, len(code.checks()[0])), np.float32)
    tables = ([None] * 3 if cuda_ldpc.is_unrolled(code) else cuda_ldpc.check_steps(code))
    for blocks in (7, 3):    # the second call continues
        posterior, found = np.full_like(llr, np.nan), np.full(7, 99, np.uint8)
        taken, erased = np.full(7, 99, np.int32), np.zeros(1, np.uint64)
        launch(blocks, ctypes.c_ulonglong(7), 3, *map(pointer, (
            llr, posterior, messages, found, taken, erased, *tables)),
            0 if tables[2] is None else len(tables[2]) - 1)
        expected = cpu.decode(llr)
        scale = np.max(np.abs(expected), axis=1, keepdims=True)
        assert np.all(np.abs(posterior - expected) <= 1e-5 * scale)
        np.testing.assert_array_equal(found, cpu.found)
        np.testing.assert_array_equal(taken, cpu.iterations_taken)
        assert erased[0] == cpu.erasures == 2


@pytest.mark.gpu
class TestOnAGpu:
    @pytest.fixture(autouse=True)
    def module(self):
        self.cupy = pytest.importorskip("cupy")

    @pytest.mark.parametrize("code, early_stop", [
        (ldpc.wimax(2304, "1/2"), True), (ldpc.wifi(1944, "5/6"), False), (ldpc.nr(1, 384), True),
        (HAMMING, True), (CODES["list"], False)])
    def test_same_as_the_cpu(self, code, early_stop):
        _, _, llr = transmitted(code, 300, 1.5)
        llr[7] = np.nan
        parameters = {"iterations": 8, "early_stop": early_stop, "keep_messages": True}
        cpu = ldpc.LdpcDecoder(code, backend="cpu", **parameters)
        there, from_host = (ldpc.LdpcDecoder(code, backend=backend, **parameters)
                            for backend in ("auto", "cuda"))
        for _ in range(2):
            expected = cpu.decode(llr)
            scale = np.max(np.abs(expected), axis=1, keepdims=True)
            posterior = there.decode(self.cupy.asarray(llr))
            assert isinstance(posterior, self.cupy.ndarray)
            posterior = posterior.get()
            assert np.mean(np.abs(posterior - expected) > 1e-3 * scale) < 1e-4
            assert np.mean(there.found.get() != cpu.found) < 1e-2
            assert np.mean(there.iterations_taken.get() != cpu.iterations_taken) < 1e-2
            assert there.erasures == cpu.erasures == 1
            np.testing.assert_array_equal(from_host.decode(llr), posterior)
            assert from_host.erasures == 1 and isinstance(from_host.found, np.ndarray)

    def test_messages_of_a_part_at_a_time(self, monkeypatch):
        _, _, llr = transmitted(CODES["list"], 50, 2)
        decoder = ldpc.LdpcDecoder(CODES["list"], backend="cuda")
        whole = decoder.decode(llr)
        monkeypatch.setattr(cuda_ldpc, "MESSAGES_BYTES", 4 * 7 * len(CODES["list"].checks()[0]))
        np.testing.assert_array_equal(decoder.decode(llr), whole)
        assert decoder.found.all()

    def test_works_on_the_current_stream(self):
        _, _, llr = transmitted(SMALL, 200, 2)
        decoder = ldpc.LdpcDecoder(SMALL)
        expected = decoder.decode(llr)
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            late = self.cupy.zeros_like(self.cupy.asarray(llr))
            late[...] = self.cupy.asarray(llr)
            posterior = decoder.decode(late)
        stream.synchronize()
        np.testing.assert_allclose(posterior.get(), expected, rtol=1e-3, atol=1e-3)
