# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders that run on CPU or GPU: backend "auto", and GPU failures; the GPU is a stand-in."""

import json

import numpy as np
import pytest
import stand_in
from gnuradio.mimopack import coding, crossover

NAMES = ["wifi:648:1/2", "turbo:104", "conv:100:3/4", "conv:100:3/4:algorithm=viterbi"]


def received(code, n=100, sigma=0.7):
    """Return simulated LLRs of codewords over AWGN with BPSK; the first codeword is erased."""
    rng = np.random.default_rng(1)
    words = code.encode(rng.integers(0, 2, (n, code.num_info), np.uint8))
    y = 2.0 * words - 1 + rng.normal(0, sigma, words.shape)
    llr = (2 * y / sigma**2).astype(np.float32)
    llr[0] = 0
    return llr


@pytest.fixture
def measured(monkeypatch):
    """The GPU wins from 40 codewords on; returns a list of the measured problem sizes."""
    sizes = []

    def measure(problem):
        for function in problem(20):
            function()
        sizes.append(problem(2**20))
        return [(16, 1.0, 2.0), (64, 4.0, 2.0)]

    monkeypatch.setattr(crossover, "measure", measure)
    return sizes


@pytest.mark.parametrize("name", NAMES)
def test_auto_takes_the_faster_one(monkeypatch, measured, name):
    batches = stand_in.install(monkeypatch)
    code = coding.get(name)
    decoder, expected = code.decoder(), code.decoder(backend="cpu")
    llr = received(code)
    decoder.prepare(100)
    assert measured == [None]    # a problem too large for memory gives None
    assert batches == [20] and decoder.last_backend is None
    for n, backend in ((100, "cuda"), (30, "cpu"), (33, "cuda"), (0, "cpu")):
        np.testing.assert_array_equal(decoder.decode(llr[:n]), expected.decode(llr[:n]))
        for member in ("bits", "found", "iterations_taken", "erasures"):
            np.testing.assert_array_equal(getattr(decoder, member), getattr(expected, member))
        assert decoder.last_backend == backend and decoder.erasures == bool(n)
    assert batches == [20, 100, 33]
    file, = crossover.folder().iterdir()
    configuration = json.loads(file.read_text())["configuration"]
    assert configuration["iterations"] == decoder.iterations
    decoder.iterations += 1
    decoder.prepare(100)
    assert len(measured) == 2


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_measured_in_earnest(name):
    pytest.importorskip("cupy")
    code = coding.get(name)
    decoder, expected = code.decoder(), code.decoder(backend="cpu")
    llr = received(code, 5000, 0.5)
    decoder.prepare(5000)
    file, = crossover.folder().iterdir()
    gpu_from = json.loads(file.read_text())["gpu_from"]
    bits = decoder.decide(llr)
    assert decoder.last_backend == ("cuda" if gpu_from and gpu_from <= 5000 else "cpu")
    assert np.mean(bits != expected.decide(llr)) < 1e-3 and decoder.erasures == 1


def test_a_slow_batch_is_followed_by_a_measurement(monkeypatch, measured):
    stand_in.install(monkeypatch)
    code = coding.get("wifi:648:1/2")
    decoder, llr = code.decoder(iterations=1000, early_stop=False), received(code, sigma=2)
    for backend in ("cpu", "cuda"):
        decoder.decode(llr)
        assert decoder.last_backend == backend
    assert len(measured) == 1


@pytest.mark.parametrize("name, options", [
    ("turbo:104", {"precision": "int16"}), ("conv:100:1/2", {"precision": "int16"}),
    ("wifi:648:1/2", {"keep_messages": True}), ("wifi:648:1/2", {"backend": "cpu"}),
    ("turbo:104", {"backend": "reference"}), ("wifi:648:1/2", {"device": 1})])
def test_the_cpu_alone(monkeypatch, measured, name, options):
    """The GPU has another precision, messages would move, or the user did not ask for a GPU."""
    batches = stand_in.install(monkeypatch)
    code = coding.get(name)
    decoder = code.decoder(**options)
    decoder.prepare(100)
    for _ in range(2):
        decoder.decode(received(code, 50))
    assert batches == measured == []
    assert decoder.last_backend == ("reference" if "reference" in options.values() else "cpu")


@pytest.mark.parametrize("name", NAMES)
class TestFailure:
    def test_auto_warns_and_goes_on(self, monkeypatch, measured, name):
        batches = stand_in.install(monkeypatch, fails_at=3)
        code = coding.get(name)
        decoder, llr = code.decoder(), received(code)
        decoder.prepare(100)
        decoder.decode(llr)
        with pytest.warns(RuntimeWarning, match="going on with the CPU.*off the bus") as caught:
            posterior = decoder.decode(llr)
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(posterior, code.decoder(backend="cpu").decode(llr))
        decoder.decode(llr)
        assert batches == [20, 100, 100] and decoder.last_backend == "cpu"

    def test_cuda_raises(self, monkeypatch, name):
        batches = stand_in.install(monkeypatch, fails_at=1)
        code = coding.get(name)
        decoder, llr = code.decoder(backend="cuda"), received(code)
        with pytest.raises(RuntimeError, match="off the bus"):
            decoder.decode(llr)
        decoder.decode(llr)
        assert batches == [100, 100] and decoder.last_backend == "cuda"

    def test_cuda_with_somebody_who_is_told(self, monkeypatch, name):
        """Failures are reported once, also through decoders around the decoder."""
        batches, told = stand_in.install(monkeypatch, fails_at=2), []
        code = coding.get(name)
        decoder, llr = coding.ListDecoder(code.decoder(backend="cuda"), 0), received(code)
        decoder.on_gpu_failure = told.append
        expected = code.decoder(backend="cpu").decode(llr)
        for _ in range(3):
            np.testing.assert_array_equal(decoder.decode(llr), expected)
        assert batches == [100, 100] and len(told) == 1 and decoder.last_backend == "cpu"


def test_output_over_the_input_is_decoded_again(monkeypatch):
    """The CPU must not read what a failed GPU has written."""
    stand_in.install(monkeypatch, fails_at=1)
    matrix = coding.ldpc.get("wifi:648:1/2")
    llr = received(coding.get("wifi:648:1/2"))
    expected = coding.ldpc.LdpcDecoder(matrix, backend="cpu").decode(llr)
    decoder = coding.ldpc.LdpcDecoder(matrix, backend="cuda")
    decoder.on_gpu_failure = lambda error: None
    np.testing.assert_array_equal(decoder.decode(llr, out=llr), expected)
