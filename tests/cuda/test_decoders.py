# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decoders on GPUs: their programs compile, and decode as the CPU and the reference do.

They run compiled by g++ without a GPU, and on a GPU.
"""

import convolutional_code
import ldpc_codes
import numpy as np
import pytest
import turbo_code
from gnuradio.mimopack import coding, reference
from gnuradio.mimopack.coding import ldpc, turbo
from gnuradio.mimopack.coding.convolutional import GENERATORS, PUNCTURING
from gnuradio.mimopack.coding.convolutional_decoder import MARGIN
from gnuradio.mimopack.coding.turbo.interleaver import qpp_coefficients
from gnuradio.mimopack.cuda import convolutional, source, viterbi
from gnuradio.mimopack.cuda import ldpc as cuda_ldpc
from gnuradio.mimopack.cuda import turbo as cuda_turbo
from ldpc_codes import HAMMING, SMALL
from nvrtc import Program
from without_gpu import compiled, run

CODES = {"wifi": SMALL, "hamming": HAMMING, "nr": ldpc.nr(2, 3),
         # the ones of a wifi code, without its block structure
         "list": ldpc.ParityChecks(SMALL.num_checks, *SMALL.checks())}


def convolutional_program(size, rate, margin=MARGIN):
    num_bits = coding.ConvolutionalEncoder(size, rate).num_bits
    return convolutional.text(size, num_bits, PUNCTURING[rate], margin)


def viterbi_program(size, rate):
    return viterbi.text(size, coding.ViterbiDecoder(size, rate).num_bits, PUNCTURING[rate])


def turbo_program(size, early_stop):
    return cuda_turbo.text(size, qpp_coefficients(size), 0.75, early_stop)


def llrs_for_viterbi(size, rate, n, deviation=None):
    """Return the LLRs of the bits sent."""
    return np.ascontiguousarray(
        convolutional_code.transmitted(size, rate, n, deviation)[2][:, size:])


@pytest.mark.parametrize("text, architecture, kernels", [
    (convolutional_program(1000, "3/4"), "sm_75", {"decode", "shared_size"}),
    (viterbi_program(1000, "3/4"), "sm_75", {"decode", "encode"}),
    (cuda_ldpc.text(ldpc.wimax(2304, "1/2"), 0.8, 0.0, False, True, True), "sm_75", {"decode"}),
    (turbo_program(6144, True), "sm_90", {"decode", "shared_size"})],
    ids=["convolutional", "viterbi", "ldpc", "turbo"])
def test_compiles_without_spills(text, architecture, kernels):
    program = Program(text, architecture, source.OPTIONS)
    assert program.error is None and set(program.registers) == kernels
    assert program.spills["decode"] == 0
    assert "size = 6144" in text or program.stack["decode"] == 0


def test_a_code_without_blocks_compiles():
    text = cuda_ldpc.text(CODES["list"], 0.8, 0.0, False, True, False)
    assert Program(text, "sm_75", source.OPTIONS).error is None


def test_steps_have_no_bit_in_common():
    first, columns, step_first = cuda_ldpc.check_steps(SMALL)
    rows, ones = SMALL.checks()
    assert len(step_first) - 1 <= len(SMALL.shifts)    # block rows are steps
    checks = {tuple(ones[rows == c]) for c in range(SMALL.num_checks)}
    assert checks == {tuple(columns[first[c]:first[c + 1]]) for c in range(SMALL.num_checks)}
    for step in range(len(step_first) - 1):
        own = columns[first[step_first[step]]:first[step_first[step + 1]]]
        assert len(own) == len(set(own))


def test_windows_of_every_size():
    for size in turbo.TURBO_SIZES:
        windows = cuda_turbo.windows(size)
        assert size % windows == 0 and (windows == 1 or size // windows >= cuda_turbo.LEAST_WINDOW)
        assert windows * cuda_turbo.words(size) <= cuda_turbo.threads(size) <= cuda_turbo.THREADS


class Words:
    """The arrays of n codewords that a program fills."""

    def __init__(self, llr):
        n = len(llr)
        self.posterior, self.found = np.full_like(llr, np.nan), np.full(n, 99, np.uint8)
        self.taken, self.erased = np.full(n, 99, np.int32), np.zeros(1, np.uint64)

    def equal(self, cpu):
        np.testing.assert_array_equal(self.found, cpu.found)
        np.testing.assert_array_equal(self.taken, cpu.iterations_taken)


# Fewer steps than a window of 32, and one step more than two windows.
SIZES = pytest.mark.parametrize("size, rate", [(3, "1/2"), (59, "3/4")])


@SIZES
def test_viterbi_without_a_gpu(size, rate, tmp_path):
    """The program finds the codewords of the reference."""
    n = 6
    sent = llrs_for_viterbi(size, rate, n, 0.9)
    expected, _ = reference.viterbi(sent, PUNCTURING[rate], GENERATORS)
    sent[1, 5], sent[3] = np.nan, 0
    usable = np.isin(np.arange(n), (1, 3), invert=True)
    program = compiled(viterbi_program(size, rate), tmp_path, kernels=("decode", "encode"))
    words = coding.ConvolutionalEncoder(size, rate).encode(
        np.ascontiguousarray(expected[:, :size], np.uint8))[:, size:]
    for blocks in (2, 1):
        own, bits = Words(sent), np.full((n, size), 99, np.uint8)
        decided = np.full((n, viterbi.decisions(size)), 99, np.uint32)
        run(program.launch_decode, blocks, np.uint64(n), np.int32(1), sent, bits, decided,
            own.found, own.taken, own.erased)
        run(program.launch_encode, blocks, np.uint64(n), bits, own.found, own.posterior)
        np.testing.assert_array_equal(bits[usable], expected[usable, :size])
        assert not bits[~usable].any() and own.erased[0] == 2
        np.testing.assert_array_equal(own.found, usable)
        np.testing.assert_array_equal(own.taken, usable)
        np.testing.assert_array_equal(own.posterior, usable[:, None] * (2.0 * words - 1))


@SIZES
def test_convolutional_without_a_gpu(size, rate, tmp_path):
    """The program gives the CPU's results, also with fewer blocks than codewords."""
    n = 5
    _, _, llr = convolutional_code.transmitted(size, rate, n, 0.5, prior=1.0)
    llr[1, 5], llr[3] = np.nan, 0
    llr[2, 4] = 1e20
    cpu = coding.ConvolutionalDecoder(size, rate, backend="cpu")
    expected = cpu.decode(llr)
    program = compiled(
        convolutional_program(size, rate) + "thread_local mimopack::device::convolutional_shared "
        "shared[MIMOPACK_THREADS / 32];", tmp_path)
    for blocks in (3, 1):
        own = Words(llr)
        begins = np.full((n, convolutional.begins(size)), np.nan, np.float32)
        run(program.launch_decode, blocks, np.uint64(n), np.int32(1), llr, own.posterior, begins,
            own.found, own.taken, own.erased)
        np.testing.assert_array_equal(own.posterior, expected)
        own.equal(cpu)
        assert own.erased[0] == cpu.erasures == 2


@pytest.mark.parametrize("name, in_shared, algorithm, early_stop", [
    ("wifi", False, "offset", False), ("nr", True, "normalized", True),
    ("list", False, "normalized", True), ("nr", True, "min-star", True)])
def test_ldpc_without_a_gpu(name, in_shared, algorithm, early_stop, tmp_path):
    code = CODES[name]
    _, _, llr = ldpc_codes.transmitted(code, 7, 1.5)
    llr[2, 5] = np.inf
    llr[4] = 0
    rule = {"normalized": (0.8, 0.0, False), "offset": (1.0, 0.5, False),
            "min-star": (1.0, 0.5, True)}[algorithm]
    cpu = ldpc.LdpcDecoder(code, 3, algorithm, early_stop=early_stop, keep_messages=True,
                           backend="cpu")
    text = cuda_ldpc.text(code, *rule, early_stop, in_shared)
    program = compiled(text + f"thread_local float shared[{code.num_bits}];", tmp_path)
    messages = np.zeros((7, len(code.checks()[0])), np.float32)
    tables = [None] * 3 if cuda_ldpc.is_unrolled(code) else cuda_ldpc.check_steps(code)
    steps = np.int32(0 if tables[2] is None else len(tables[2]) - 1)
    for blocks in (7, 3):    # the second call continues
        own, expected = Words(llr), cpu.decode(llr)
        run(program.launch_decode, blocks, np.uint64(7), np.int32(3), llr, own.posterior, messages,
            own.found, own.taken, own.erased, *tables, steps)
        scale = np.max(np.abs(expected), axis=1, keepdims=True)
        assert np.all(np.abs(own.posterior - expected) <= 1e-5 * scale)
        own.equal(cpu)
        assert own.erased[0] == cpu.erasures == 2


# One window, with several codewords per block, as on the CPU; windows whose length is not a
# multiple of a group's.
@pytest.mark.parametrize("size, n, early_stop", [(40, 37, True), (376, 5, False)])
def test_turbo_without_a_gpu(size, n, early_stop, tmp_path):
    _, _, llr = turbo_code.transmitted(size, n, 1.5)
    llr[1, 5] = np.inf
    cpu = turbo.TurboDecoder(size, 3, early_stop=early_stop, keep_messages=True, backend="cpu")
    program = compiled(turbo_program(size, early_stop) + "thread_local "
                       "mimopack::device::turbo_shared shared[mimopack::device::words];", tmp_path)
    messages = np.zeros((n, size), np.float32)
    for blocks in (-(-n // cuda_turbo.words(size)), 1):    # the second call continues
        own, expected = Words(llr), cpu.decode(llr)
        run(program.launch_decode, blocks, np.uint64(n), np.int32(3), llr, own.posterior, messages,
            own.found, own.taken, own.erased)
        scale = np.max(np.abs(expected), axis=1, keepdims=True)
        if size == 40:
            assert np.all(np.abs(own.posterior - expected) <= 1e-3 * scale)
            own.equal(cpu)
        else:
            both = own.found.astype(bool) & cpu.found
            np.testing.assert_array_equal(own.posterior[both] > 0, expected[both] > 0)
            assert np.mean(np.abs(own.posterior - expected) > 0.05 * scale) < 0.1
            assert abs(np.mean(own.taken) - np.mean(cpu.iterations_taken)) < 0.5
        assert own.erased[0] == cpu.erasures == 1 and not own.posterior[1].any()


# decoder: (a function of the backend that makes it, LLRs)
DECODERS = {
    "convolutional": (lambda **backend: coding.ConvolutionalDecoder(512, "2/3", **backend),
                      lambda: convolutional_code.transmitted(512, "2/3", 300)[2]),
    "viterbi": (lambda **backend: coding.ViterbiDecoder(512, "2/3", **backend),
                lambda: llrs_for_viterbi(512, "2/3", 300)),
    "turbo": (lambda **backend: turbo.TurboDecoder(512, 4, keep_messages=True, **backend),
              lambda: turbo_code.transmitted(512, 300, 1.5)[2]),
    "ldpc": (lambda **backend: ldpc.LdpcDecoder(CODES["list"], keep_messages=True, **backend),
             lambda: ldpc_codes.transmitted(CODES["list"], 300, 1.5)[2])}


@pytest.mark.gpu
class TestOnAGpu:
    @pytest.fixture(autouse=True)
    def module(self):
        self.cupy = pytest.importorskip("cupy")

    @pytest.mark.parametrize("name", DECODERS)
    def test_arrays_of_the_device(self, name):
        make, llrs = DECODERS[name]
        llr = llrs()
        llr[7], llr[11] = np.nan, 0
        there, from_host = make(backend="auto"), make(backend="cuda")
        for _ in range(2):    # the second call continues
            posterior = there.decode(self.cupy.asarray(llr))
            assert isinstance(posterior, self.cupy.ndarray)
            np.testing.assert_array_equal(posterior.get(), from_host.decode(llr))
            for results in ("found", "iterations_taken"):
                np.testing.assert_array_equal(getattr(there, results).get(),
                                              getattr(from_host, results))
            assert there.erasures == from_host.erasures == 2

    @pytest.mark.parametrize("name", DECODERS)
    def test_launches_in_parts(self, name):
        """A launch has as many codewords as the memory for messages allows."""
        make, llrs = DECODERS[name]
        decoder, llr = make(backend="cuda"), llrs()
        whole = decoder.decode(llr)
        other = make(backend="cuda")
        other.decode(llr[:1])
        other.reset()
        other._gpu._at_once = 7
        np.testing.assert_array_equal(other.decode(llr), whole)

    of_sizes = pytest.mark.parametrize("size, n, rate", [
        (3, 1, "1/2"), (59, 333, "2/3"), (1000, 500, "3/4"), (20_000, 9, "5/6")])

    @of_sizes
    def test_convolutional_equals_the_cpu(self, size, n, rate):
        _, _, llr = convolutional_code.transmitted(size, rate, n, prior=1.0)
        llr[n // 2, 1] = np.inf
        decoders = [coding.ConvolutionalDecoder(size, rate, backend=backend)
                    for backend in ("cpu", "cuda")]
        on_cpu, on_gpu = (decoder.decode(llr) for decoder in decoders)
        np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5, atol=1e-2)
        np.testing.assert_array_equal(*(decoder.iterations_taken for decoder in decoders))
        assert np.mean(decoders[0].found != decoders[1].found) < 0.01
        assert decoders[0].erasures == decoders[1].erasures == 1

    @of_sizes
    def test_viterbi_finds_the_reference_codewords(self, size, n, rate):
        sent = llrs_for_viterbi(size, rate, n)
        decoder = coding.ViterbiDecoder(size, rate, backend="cuda")
        posterior = decoder.decode(sent)
        expected, best = reference.viterbi(sent, PUNCTURING[rate], GENERATORS)
        np.testing.assert_allclose(np.sum(sent * (posterior > 0), axis=1, dtype=float), best,
                                   rtol=1e-5, atol=1e-2)
        assert np.mean(decoder.bits != expected[:, :size]) < 1e-4
        assert decoder.found.all() and np.all(np.abs(posterior) == 1)

    @pytest.mark.parametrize("code, early_stop", [
        (ldpc.wimax(2304, "1/2"), True), (ldpc.wifi(1944, "5/6"), False), (ldpc.nr(1, 384), True),
        (HAMMING, True), (CODES["list"], False)])
    def test_ldpc_equals_the_cpu(self, code, early_stop):
        _, _, llr = ldpc_codes.transmitted(code, 300, 1.5)
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

    @pytest.mark.parametrize("size, ebn0_db", [(40, 1.5), (376, 1.0), (6144, 0.6)])
    def test_turbo_is_as_good_as_the_cpu(self, size, ebn0_db):
        """With noise that loses about half of the codewords, the GPU loses as many as the CPU."""
        bits, _, llr = turbo_code.transmitted(size, 400, ebn0_db)
        lost = []
        for backend in ("cpu", "cuda"):
            decoder = turbo.TurboDecoder(size, backend=backend)
            posterior = decoder.decode(llr)
            lost.append(np.mean(np.any((posterior[:, :size] > 0) != bits, axis=1)))
            assert np.all(np.isfinite(posterior)) and decoder.erasures == 0
        assert 0.02 < lost[0] < 0.98 and abs(lost[1] - lost[0]) < 0.08

    def test_works_on_the_current_stream(self):
        _, _, llr = ldpc_codes.transmitted(SMALL, 200, 2)
        decoder = ldpc.LdpcDecoder(SMALL)
        expected = decoder.decode(llr)
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            late = self.cupy.zeros_like(self.cupy.asarray(llr))
            late[...] = self.cupy.asarray(llr)
            posterior = decoder.decode(late)
        stream.synchronize()
        np.testing.assert_allclose(posterior.get(), expected, rtol=1e-3, atol=1e-3)
