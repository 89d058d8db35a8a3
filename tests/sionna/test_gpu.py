# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch tensors on a GPU, in detect() and in Sionna."""

import pytest
import torch
from gnuradio.mimopack import detectors
from gnuradio.mimopack import sionna as fast
from sionna.phy import mimo

pytestmark = pytest.mark.gpu

N, ANTENNAS, STREAMS = 3000, 4, 4
QAM16 = {"constellation_type": "qam", "num_bits_per_symbol": 4}
ON_GPU = {"device": "cuda:0", **QAM16}


def vectors(n=N, antennas=ANTENNAS):
    """Return y, h and s on the host, for coloured noise."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.complex64, generator=generator)

    h, a = normal(n, antennas, STREAMS), normal(n, antennas, 2 * antennas)
    s = 0.02 * (a @ a.mH) / (2 * antennas) + 0.01 * torch.eye(antennas)
    points = (2 * torch.randint(0, 4, (2, n, STREAMS, 1), generator=generator) - 3) / 10**0.5
    noise = torch.linalg.cholesky(s) @ normal(n, antennas, 1)
    return (h @ torch.complex(*points) + noise)[..., 0], h, s


def assert_same(found, expected, share=0.995):
    """Compare LLRs of a GPU and a CPU, whose rounding differs: searches may take other paths."""
    found = found.cpu()
    assert found.shape == expected.shape
    agree = (found - expected).abs() <= 1e-3 * expected.abs().amax() + 1e-3
    assert agree.float().mean() >= share, agree.float().mean()


@pytest.mark.parametrize("name, antennas, constellation", [
    ("mmse", 4, "qam16"), ("nway", 4, "qam16"), ("kbest", 4, "qam16"), ("ep", 4, "qam16"),
    ("mla", 4, "qpsk"), ("mmse", 16, "qam16"), ("nway", 16, "qam16")])
def test_same_as_on_the_cpu(name, antennas, constellation):
    y, h, s = vectors(antennas=antennas)
    detector = detectors.REGISTRY[name](STREAMS, antennas, constellation)
    llr = detector.detect(y.cuda(), h.cuda(), noise_cov=s.cuda())
    assert isinstance(llr, torch.Tensor) and llr.device == torch.device("cuda:0")
    assert detector.last_backend == "cuda" and detector.erasures == 0
    assert_same(llr, detector.detect(y, h, noise_cov=s))


@pytest.mark.parametrize("noise", [
    {"noise_var": 0.05}, {"noise_var": torch.full((N,), 0.05)},
    {"noise_cov": 0.05 * torch.eye(ANTENNAS, dtype=torch.complex64)}])
def test_forms_of_noise(noise):
    y, h, _ = vectors()
    on_gpu = {name: value.cuda() if isinstance(value, torch.Tensor) else value
              for name, value in noise.items()}
    assert_same(detectors.MMSE().detect(y.cuda(), h.cuda(), **on_gpu),
                detectors.MMSE().detect(y, h, 0.05))


def test_layouts():
    """Strided, conjugated, broadcast and double-precision tensors; out; split_layers."""
    y, h, s = vectors()
    detector = detectors.MMSE()
    expected = detector.detect(y, h, noise_cov=s)
    y, h, s = y.cuda(), h.cuda(), s.cuda()
    lazy = h.conj().mT.contiguous().mH
    assert_same(detector.detect(y.to(torch.complex128), lazy, noise_cov=s), expected)
    halves = y.reshape(2, -1, ANTENNAS), h.reshape(2, -1, ANTENNAS, STREAMS), s.reshape(
        2, -1, ANTENNAS, ANTENNAS)
    llr = detector.detect(*halves[:2], noise_cov=halves[2], split_layers=True)
    assert llr.shape == (2, N // 2, STREAMS, 4)
    assert_same(llr.reshape(N, -1), expected)
    out = torch.empty(N, 16, device="cuda")
    assert detector.detect(y, h, noise_cov=s, out=out) is out
    assert_same(out, expected)
    assert_same(detector.detect(y, h[:1].expand(N, -1, -1), 0.1),
                detector.detect(y.cpu(), h[0].cpu(), 0.1))


def test_current_stream_without_waiting():
    """The work follows what the current stream of PyTorch already does, and returns before it."""
    y, h, s = (tensor.cuda() for tensor in vectors())
    detector = detectors.MMSE()
    expected = detector.detect(y, h, noise_cov=s)
    late = torch.zeros_like(y)
    torch.cuda.synchronize()
    stream, done = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10**9)    # about half a second
        late.copy_(y)
        llr = detector.detect(late, h, noise_cov=s)
        done.record()
        assert not done.query()
        doubled = 2 * llr
    stream.synchronize()
    assert torch.equal(doubled, 2 * expected)


@pytest.mark.parametrize("make", [
    lambda module, device: module.LinearDetector("lmmse", "bit", "maxlog", device=device, **QAM16),
    lambda module, device: module.EPDetector("bit", 4, l=1, device=device)])
def test_class_of_sionna(make):
    y, h, s = vectors()
    expected = make(fast, "cpu")(y, h, s)
    for module in (fast, mimo):
        llr = make(module, "cuda:0")(y.cuda(), h.cuda(), s.cuda())
        assert llr.is_cuda
        assert_same(llr, expected)


def test_prior_and_decisions():
    y, h, s = vectors()
    prior = 2 * torch.randn(N, STREAMS, 4, generator=torch.Generator().manual_seed(2))
    on_gpu, on_cpu = (fast.MMSEPICDetector("bit", device=device, **QAM16)
                      for device in ("cuda:0", "cpu"))
    assert_same(on_gpu(*(tensor.cuda() for tensor in (y, h, s, prior))), on_cpu(y, h, s, prior))
    labels = fast.Detector("nway", "symbol", hard_out=True, **ON_GPU)(y.cuda(), h.cuda(), s.cuda())
    assert labels.is_cuda and labels.dtype == torch.int32 and labels.shape == (N, STREAMS)


@pytest.mark.parametrize("name, antennas", [("mmse", 4), ("kbest:k=64", 4), ("ep", 16)])
def test_cuda_graph(name, antennas):
    """A graph replays the detector on new data in the same memory, whatever else uses memory."""
    detector = fast.Detector(name, **ON_GPU)
    first, second = ([tensor.cuda() for tensor in vectors(n, antennas)] for n in (N, N + 1))
    second = [tensor[1:] for tensor in second]
    expected = detector(*second)
    inputs = [tensor.clone() for tensor in first]
    detector(*inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        llr = detector(*inputs)
    for tensor, new in zip(inputs, second, strict=True):
        tensor.copy_(new)
    detectors.NWay().detect(*(tensor.cuda() for tensor in vectors()[:2]), 0.1)
    graph.replay()
    assert torch.equal(llr, expected)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled(mode):
    y, h, s = (tensor.cuda() for tensor in vectors())
    detector = fast.KBestDetector("bit", STREAMS, 16, **ON_GPU)
    compiled = torch.compile(lambda *tensors: 2 * detector(*tensors), mode=mode, fullgraph=True)
    for turn in range(4):    # the first ones compile and record
        assert torch.equal(compiled(y + turn, h, s), 2 * detector(y + turn, h, s))
