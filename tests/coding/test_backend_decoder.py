# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders that run on CPU or GPU: backend "auto", and GPU failures; the GPU is a stand-in."""

import fake_cuda
import numpy as np
import pytest
import stand_in
from gnuradio.mimopack import coding

NAMES = ["wifi:648:1/2", "turbo:104", "conv:100:3/4", "conv:100:3/4:algorithm=viterbi"]


def received(code, n=100, sigma=0.7):
    """Return simulated LLRs of codewords over AWGN with BPSK; the first codeword is erased."""
    rng = np.random.default_rng(1)
    words = code.encode(rng.integers(0, 2, (n, code.num_info), np.uint8))
    y = 2.0 * words - 1 + rng.normal(0, sigma, words.shape)
    llr = (2 * y / sigma**2).astype(np.float32)
    llr[0] = 0
    return llr


@pytest.mark.parametrize("name", NAMES)
def test_auto_takes_the_faster_one(name, monkeypatch):
    fake_cuda.let_gpu_win(monkeypatch)
    batches = stand_in.install(monkeypatch)
    code = coding.get(name)
    decoder, expected = code.decoder(), code.decoder(backend="cpu")
    llr = received(code)
    for last in ("cpu", "cuda"):
        np.testing.assert_array_equal(decoder.decode(llr), expected.decode(llr))
        for member in ("bits", "found", "iterations_taken", "erasures"):
            np.testing.assert_array_equal(getattr(decoder, member), getattr(expected, member))
        assert decoder.last_backend == last and decoder.erasures == 1
        assert "backend auto: cuda" in decoder.prepare(20)
    assert 20 in batches and 100 in batches


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_measured_in_earnest(name):
    pytest.importorskip("cupy")
    code = coding.get(name)
    decoder, expected = code.decoder(), code.decoder(backend="cpu")
    llr = received(code, 5000, 0.5)
    choice = decoder.prepare(5000)
    bits = decoder.decide(llr)
    assert f"backend auto: {decoder.last_backend};" in choice
    assert np.mean(bits != expected.decide(llr)) < 1e-3 and decoder.erasures == 1


@pytest.mark.parametrize("name, options", [
    ("turbo:104", {"precision": "int16"}), ("conv:100:1/2", {"precision": "int16"}),
    ("wifi:648:1/2", {"keep_messages": True}), ("wifi:648:1/2", {"backend": "cpu"}),
    ("turbo:104", {"backend": "reference"})])
def test_the_cpu_alone(monkeypatch, name, options):
    """The GPU has another precision, messages would move, or the user did not ask for a GPU."""
    batches = stand_in.install(monkeypatch)
    code = coding.get(name)
    decoder = code.decoder(**options)
    assert decoder.prepare(100) is None
    decoder.decode(received(code, 50))
    assert batches == []
    assert decoder.last_backend == ("reference" if "reference" in options.values() else "cpu")


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_is_reported_once(monkeypatch, name):
    """Also through decoders around the decoder; the CPU decodes the same batch."""
    batches, reports = stand_in.install(monkeypatch, fails_at=2), []
    code = coding.get(name)
    decoder, llr = coding.ListDecoder(code.decoder(backend="cuda"), 0), received(code)
    expected = code.decoder(backend="cpu").decode(llr)
    decoder.on_gpu_failure = reports.append
    for _ in range(3):
        np.testing.assert_array_equal(decoder.decode(llr), expected)
    assert batches == [100, 100] and len(reports) == 1 and decoder.last_backend == "cpu"
