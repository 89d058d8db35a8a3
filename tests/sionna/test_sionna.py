# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors in Sionna, and arrays of PyTorch and JAX; ``scripts/test.sh --sionna`` runs this file.

It needs an environment of its own, because Sionna and PyTorch need NumPy 2.
"""

import copy
import pickle

import numpy as np
import pytest
import torch
from gnuradio.mimopack import detectors
from gnuradio.mimopack import sionna as fast
from sionna.phy import mimo
from sionna.phy.mapping import Constellation, QAMSource
from sionna.phy.mimo import StreamManagement
from sionna.phy.ofdm import OFDMDetector, OFDMDetectorWithPrior, ResourceGrid

N, ANTENNAS, STREAMS = 500, 4, 4


def link(bits, antennas=ANTENNAS, streams=STREAMS, seed=1):
    """Return y, h, s and the sent bits, for i.i.d. channels and coloured noise."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.complex64, generator=generator)

    points = Constellation("qam", bits)()
    sent = torch.randint(0, 2, (N, streams, bits), generator=generator)
    labels = (sent * 2 ** torch.arange(bits - 1, -1, -1)).sum(-1)
    h, a = normal(N, antennas, streams), normal(N, antennas, 2 * antennas)
    s = 0.05 * (a @ a.mH) / (2 * antennas) + 0.01 * torch.eye(antennas)
    noise = torch.linalg.cholesky(s) @ normal(N, antennas, 1)
    return (h @ points[labels][..., None] + noise)[..., 0], h, s, sent


def assert_same(found, expected, share=1.0):
    """Compare LLRs; at least the share of them must agree within the rounding of float32."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    scale = expected.abs().amax((-1, -2), keepdim=True)
    agree = (found - expected).abs() <= 2e-4 * scale + 1e-3
    assert agree.float().mean() >= share, agree.float().mean()


def both(name, *arguments, **named):
    """Return Sionna's detector of a name, and ours."""
    return (getattr(mimo, name)(*arguments, **named), getattr(fast, name)(*arguments, **named))


QAM16 = {"constellation_type": "qam", "num_bits_per_symbol": 4}
QPSK = {"constellation_type": "qam", "num_bits_per_symbol": 2}
SAME = [("LinearDetector", ("lmmse", "bit", "maxlog"), QAM16),
        ("LinearDetector", ("zf", "bit", "maxlog"), QAM16),
        ("MaximumLikelihoodDetector", ("bit", "maxlog", STREAMS), QPSK),
        ("MaximumLikelihoodDetector", ("bit", "app", STREAMS), QPSK),
        ("EPDetector", ("bit", 4), {"l": 1}), ("EPDetector", ("bit", 6), {"l": 1})]


@pytest.mark.parametrize("name, arguments, named", SAME)
def test_the_same_algorithm(name, arguments, named):
    bits = named.get("num_bits_per_symbol", arguments[-1])
    y, h, s, _ = link(bits)
    theirs, ours = both(name, *arguments, **named)
    # ZF has no noise that bounds the rounding of nearly singular matrices.
    assert_same(ours(y, h, s), theirs(y, h, s), share=0.99 if arguments[0] == "zf" else 1)


@pytest.mark.parametrize("name, arguments, named", [
    ("MMSEPICDetector", ("bit",), QAM16),
    ("MaximumLikelihoodDetector", ("bit", "app", STREAMS), QPSK)])
def test_prior(name, arguments, named):
    bits = named["num_bits_per_symbol"]
    y, h, s, _ = link(bits)
    prior = 2 * torch.randn(N, STREAMS, bits, generator=torch.Generator().manual_seed(2))
    theirs, ours = both(name, *arguments, **named)
    assert_same(ours(y, h, s, prior), theirs(y, h, s, prior))


def test_ep_after_many_iterations():
    """Rounding grows, and decides now and then whether a Gaussian has a positive variance."""
    y, h, s, sent = link(4)
    theirs, ours = (detector(y, h, s) for detector in both("EPDetector", "bit", 4))
    assert (ours - theirs).abs().median() < 1e-3 * theirs.abs().median()
    errors = [((llr > 0) != sent).sum() for llr in (theirs, ours)]
    assert abs(errors[0] - errors[1]) <= 0.02 * errors[0] + 3


def test_k_best_with_all_paths():
    """Sionna limits LLRs to +-20."""
    y, h, s, _ = link(2)
    theirs, ours = both("KBestDetector", "bit", STREAMS, 256, **QPSK)
    assert_same(ours(y, h, s).clamp(-20, 20), theirs(y, h, s))


def test_decisions():
    y, h, s, sent = link(4)
    llr = fast.Detector("nway", **QAM16)(y, h, s)
    hard = fast.Detector("nway", hard_out=True, **QAM16)(y, h, s)
    assert torch.equal(hard, (llr > 0).float())
    labels = fast.Detector("nway", "symbol", hard_out=True, **QAM16)(y, h, s)
    assert torch.equal(labels, (hard * torch.tensor([8, 4, 2, 1])).sum(-1).to(torch.int32))
    assert (hard != sent).float().mean() < 0.05


@pytest.mark.parametrize("detector", ["nway", "ep", "kbest:k=16"])
def test_ofdm_detector(detector):
    """Sionna's OFDM detector gives the LLRs of the vectors of its grid."""
    grid = ResourceGrid(num_ofdm_symbols=14, fft_size=24, subcarrier_spacing=30e3, num_tx=2,
                        num_streams_per_tx=2, pilot_pattern="kronecker",
                        pilot_ofdm_symbol_indices=[2, 11])
    streams = StreamManagement(np.ones([1, 2]), 2)
    generator = torch.Generator().manual_seed(3)
    h = torch.randn(3, 1, 4, 2, 2, 14, 24, dtype=torch.complex64, generator=generator)
    x = QAMSource(4)([3, 2, 2, 14, 24])
    noise = torch.randn(3, 1, 4, 14, 24, dtype=torch.complex64, generator=generator)
    y = torch.einsum("braxsof,bxsof->braof", h, x) + 0.1 * noise
    ours = fast.Detector(detector, **QAM16)
    llr = OFDMDetector(ours, "bit", grid, streams)(
        y, h, torch.tensor(0.0), torch.tensor(0.01))
    exact = OFDMDetector(mimo.LinearDetector("lmmse", "bit", "maxlog", **QAM16), "bit", grid,
                         streams)(y, h, torch.tensor(0.0), torch.tensor(0.01))
    assert llr.shape == exact.shape
    assert ((llr > 0) == (exact > 0)).float().mean() > 0.9
    with_prior = OFDMDetectorWithPrior(ours, "bit", grid, streams, **QAM16)
    torch.testing.assert_close(with_prior(y, h, torch.zeros_like(llr), torch.tensor(0.0),
                                          torch.tensor(0.01)), llr, rtol=1e-3, atol=1e-2)


def test_compiled():
    y, h, s, _ = link(4)
    detector = fast.KBestDetector("bit", STREAMS, 16, **QAM16)
    compiled = torch.compile(lambda *arrays: 2 * detector(*arrays), fullgraph=True)
    assert torch.equal(compiled(y, h, s), 2 * detector(y, h, s))


def test_copies():
    """A copy lives on after the original, and a pickled one is the same detector."""
    y, h, s, _ = link(4)
    detector = fast.Detector("nway", **QAM16)
    expected = detector(y, h, s)
    copies = copy.deepcopy(detector), pickle.loads(pickle.dumps(detector))
    del detector
    for each in copies:
        assert torch.equal(each(y, h, s), expected)


def test_gradients_end():
    y, h, s, _ = link(4)
    llr = fast.Detector("nway", **QAM16)(y.requires_grad_(), h, s)
    assert not llr.requires_grad


def test_double_precision():
    y, h, s, _ = link(4)
    llr = fast.LinearDetector("lmmse", "bit", "maxlog", precision="double", **QAM16)(y, h, s)
    assert llr.dtype == torch.float64


def test_detector_objects():
    """An object of ours is made again from its arguments; its llr_type does not matter."""
    y, h, s, _ = link(4)
    given = detectors.NWay(STREAMS, ANTENNAS, "qam16", num_passes=2, llr_type="int8")
    assert torch.equal(fast.Detector(given, **QAM16)(y, h, s),
                       fast.Detector("nway:num_passes=2", **QAM16)(y, h, s))
    with pytest.raises(ValueError, match="num_tx = 4, but the link has 3"):
        fast.Detector(given, num_streams=3, **QAM16)


@pytest.mark.parametrize("wrong, message", [
    ({"output": "symbol"}, "output: got 'symbol' for soft output"),
    ({"output": "bits"}, "output: got 'bits', allowed are bit, symbol"),
    ({"detector": "nothing"}, "nothing"),
    ({"detector": "kbest:k=0"}, "k: got 0"),
    ({"detector": "sfsd:levels=5", "num_streams": 4}, "levels: got 5"),
    ({"detector": detectors.NWay(4, 4, "qpsk")}, "has the constellation qpsk.* has qam16"),
    ({"num_streams": 0}, "num_streams: got 0"),
    ({"num_bits_per_symbol": 0}, "num_bits_per_symbol: got 0"),
    ({"num_bits_per_symbol": None}, "num_bits_per_symbol: got None"),
    ({"detector": "mmse", "extrinsic": True}, "extrinsic: mmse takes no")])
def test_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        fast.Detector(**{"detector": "nway", **QAM16, **wrong})


def test_parameters_of_more_streams():
    """Parameters for many streams are right if num_streams is not known."""
    assert fast.Detector("sfsd:levels=7", **QPSK)


def test_number_of_streams():
    y, h, s, _ = link(4)
    detector = fast.KBestDetector("bit", 3, 16, **QAM16)
    with pytest.raises(ValueError, match="h: got 4 streams, must be num_streams = 3"):
        detector(y, h, s)


@pytest.mark.parametrize("name, shape, message", [
    ("y", (10, 5), r"y: got shape \(10, 5\) with h of shape \(10, 4, 2\), must be \(..., 4\)"),
    ("y", (7, 4), "y, h, s: got shapes .* leading dimensions must fit together"),
    ("h", (4,), r"h: got shape \(4,\), must be \(..., M, S\)"),
    ("s", (), r"s: got shape \(\) with h .* must be \(..., 4, 4\)"),
    ("s", (10, 4), r"s: got shape \(10, 4\) with h")])
def test_shapes_that_do_not_fit(name, shape, message):
    right = {"y": (10, 4), "h": (10, 4, 2), "s": (10, 4, 4)}
    given = {key: torch.ones(size, dtype=torch.complex64)
             for key, size in (right | {name: shape}).items()}
    with pytest.raises(ValueError, match=message):
        fast.Detector("nway", **QAM16)(**given)


@pytest.mark.parametrize("bits", [0, 3])
def test_bits_of_ep(bits):
    with pytest.raises(ValueError, match="num_bits_per_symbol"):
        fast.EPDetector("bit", bits)


@pytest.mark.parametrize("of_h, of_s", [((), ()), ((1, 1), (1, 1)), ((5, 1), (1,)), ((5, 100), ())])
def test_broadcast(of_h, of_s):
    """One matrix may belong to many vectors, in each of h and s."""
    y, h, s, _ = link(4)
    y = y.reshape(100, 5, ANTENNAS).transpose(0, 1)
    h, s = (matrices[:max(1, np.prod(shape, dtype=int))].reshape(*shape, *matrices.shape[1:])
            for matrices, shape in ((h, of_h), (s, of_s)))
    detector = fast.LinearDetector("lmmse", "bit", "maxlog", **QAM16)
    assert_same(detector(y, h, s), detector(
        y, h.expand(5, 100, -1, -1).contiguous(), s.expand(5, 100, -1, -1).contiguous()))


def test_tensors():
    """Strided, conjugated and double-precision tensors that require gradients."""
    y, h, _, _ = link(4)
    expected = detectors.NWay().detect(y.numpy(), h.numpy(), 0.1)
    y = y.to(torch.complex128).requires_grad_()
    lazy = h.conj().mT.contiguous().mH
    llr = detectors.NWay().detect(y, lazy, torch.tensor(0.1))
    assert isinstance(llr, torch.Tensor) and not llr.requires_grad
    np.testing.assert_allclose(llr.numpy(), expected, rtol=1e-4, atol=1e-3)
    out = torch.empty(N, 16)
    assert detectors.NWay().detect(y, h, 0.1, out=out) is out
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_tensors_of_a_subclass():
    class Tensor(torch.Tensor):
        pass

    Tensor.__module__ = "elsewhere"
    y, h, _, _ = link(4)
    llr = detectors.NWay().detect(y.as_subclass(Tensor), h.as_subclass(Tensor), 0.1)
    assert torch.equal(llr, detectors.NWay().detect(y, h, 0.1))


def test_jax_arrays():
    import jax

    y, h, _, _ = link(4)
    llr = detectors.NWay().detect(jax.numpy.asarray(y.numpy()), jax.numpy.asarray(h.numpy()), 0.1)
    assert isinstance(llr, jax.Array)
    np.testing.assert_array_equal(np.asarray(llr),
                                  detectors.NWay().detect(y.numpy(), h.numpy(), 0.1))
