# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All decoders of codewords, with a stand-in for the GPU."""

import fake_cuda
import numpy as np
import pytest
import stand_in
from gnuradio.mimopack import coding

NAMES = ["wifi:648:1/2", "turbo:104", "conv:100:3/4", "conv:100:3/4:algorithm=viterbi"]
INT16 = ["turbo:104:precision=int16", "conv:100:3/4:precision=int16"]


def received(code, n=100, sigma=0.7):
    """Return simulated LLRs of codewords over AWGN with BPSK; the first codeword is erased."""
    rng = np.random.default_rng(1)
    words = code.encode(rng.integers(0, 2, (n, code.num_info), np.uint8))
    y = 2.0 * words - 1 + rng.normal(0, sigma, words.shape)
    llr = (2 * y / sigma**2).astype(np.float32)
    llr[0] = 0
    return llr


@pytest.mark.quick
@pytest.mark.parametrize("name, backend", [
    *((name, "cpu") for name in (*NAMES, *INT16)), *((name, "reference") for name in NAMES[:3])])
def test_what_cannot_be_decoded_is_erased(name, backend):
    code = coding.get(name)
    llr, lost, usable = received(code, 6, 0.3), [0, 1, 3], [2, 4, 5]
    decoder = code.decoder(backend=backend)
    expected = decoder.decode(llr)
    llr[1, 5], llr[3, -7] = np.nan, np.inf
    posterior = decoder.decode(llr)
    assert decoder.erasures == 3 and not posterior[lost].any() and not decoder.bits[lost].any()
    np.testing.assert_array_equal(decoder.found, np.isin(np.arange(6), usable))
    assert not decoder.iterations_taken[lost].any()
    np.testing.assert_array_equal(posterior[usable], expected[usable])
    for none in (llr[lost], llr[:0]):
        assert not decoder.decode(none).any() and decoder.erasures == len(none)
        assert not decoder.found.any() and not decoder.iterations_taken.any()


@pytest.mark.parametrize("name", [*NAMES, *INT16])
def test_any_batch_and_threads_give_the_same(name):
    code = coding.get(name)
    llr, decoder = received(code, 100, 0.8), code.decoder(threads=1)
    expected = decoder.decode(llr), decoder.found, decoder.iterations_taken
    for threads, order in ((2, np.arange(100)), (0, np.random.default_rng(1).permutation(100)),
                           (1, np.arange(7, 40)), (1, np.array([99]))):
        decoder.threads = threads
        results = decoder.decode(llr[order]), decoder.found, decoder.iterations_taken
        for values, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(values, wanted[order])


@pytest.mark.quick
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", NAMES[:2])
def test_kept_messages_go_on(name, backend):
    code = coding.get(name)
    llr, settings = received(code, 5, 0.9), {"early_stop": False, "backend": backend}
    expected = code.decoder(iterations=6, **settings).decode(llr)
    parts = code.decoder(iterations=2, keep_messages=True, **settings)
    for _ in range(3):
        posterior = parts.decode(llr)
    np.testing.assert_allclose(posterior, expected, rtol=1e-3, atol=1e-3)
    parts.reset()
    anew = code.decoder(iterations=2, **settings)
    np.testing.assert_array_equal(parts.decode(llr), anew.decode(llr))
    np.testing.assert_array_equal(parts.decode(llr[:3]), anew.decode(llr[:3]))


@pytest.mark.quick
@pytest.mark.parametrize("name, exact", [
    ("wifi:648:1/2", "sum-product"), ("turbo:104", "log-map"), ("conv:100:3/4", "log-map")])
def test_algorithms_are_checked(name, exact):
    code = coding.get(name)
    with pytest.raises(ValueError, match=f"algorithm: got 'bp', allowed are .*, {exact}"):
        code.decoder(algorithm="bp")
    with pytest.raises(ValueError, match=f"got '{exact}' with backend 'auto', allowed are .*, or"):
        code.decoder(algorithm=exact)


@pytest.mark.quick
@pytest.mark.parametrize("name", NAMES)
def test_bad_arguments(name):
    code = coding.get(name)
    for options, message in (
            ({"iterations": 0}, "iterations: got 0, allowed are 1 to"),
            ({"backend": "fpga"}, "backend: got 'fpga', allowed are auto, cpu, cuda"),
            ({"threads": -1}, "threads: got -1, allowed are 0 to"),
            ({"isa": "mmx"}, "isa: got 'mmx', allowed are auto, avx512")):
        with pytest.raises(ValueError, match=message):
            code.decoder(**options)
    llr = received(code, 4)
    for bad, strict, message in (
            (llr[:, :9].copy(), True, r"llr: got shape \(4, 9\), must be \(n, "),
            (llr.astype(float), True, "llr: got type float64, must be float32"),
            (llr[::2], True, "llr: got a strided array"),
            (llr.tolist(), True, "llr: got list, must be a NumPy array"),
            (llr[:, :9].copy(), False, r"llr: got shape \(4, 9\), must be \(n, "),
            (llr[:, :9], False, r"llr: got shape \(4, 9\), must be \(\.\.\., "),
            (llr.astype(np.int8), False, "llr: got type int8, must be floating-point"),
            ("text", False, "llr: got str, must be an array")):
        for call in code.decoder().decode, code.decoder().decide:
            with pytest.raises(ValueError, match=message):
                call(bad, strict=strict)


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
