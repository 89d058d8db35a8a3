# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders and the iterative receiver with PyTorch's tensors and JAX's arrays.

``scripts/test.sh --sionna`` runs this file.
"""

import jax
import numpy as np
import pytest
import torch
from gnuradio.mimopack import channel, coding, constellation, detectors, iterative
from sionna.phy.fec.ldpc import LDPC5GEncoder

CODE = coding.get("wifi:648:1/2")
LAYOUT = iterative.CodewordLayout(648, 16)
N = 12
ATTRIBUTES = ("bits", "found", "iterations_taken")


@pytest.fixture(scope="module")
def batch():
    """Return (y, h, noise_var, bits) of codewords, (3, 4, vectors, ...)."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (N, CODE.num_info), np.uint8)
    x = constellation.get("qam16").modulate(LAYOUT.spread(CODE.encode(bits)))
    h = channel.flat_rayleigh(len(x), 4, 4, rng)
    noise_var = 4 * 10**-1.2
    y = np.einsum("nij,nj->ni", h, x) + channel.awgn(x.shape, noise_var, rng)
    shape = 3, 4, LAYOUT.vectors
    return (y.astype(np.complex64).reshape(*shape, 4), h.reshape(*shape, 4, 4), noise_var,
            bits.reshape(3, 4, -1))


KINDS = pytest.mark.parametrize("make, kind", [(torch.from_numpy, torch.Tensor),
                                               (jax.numpy.asarray, jax.Array)])


@KINDS
@pytest.mark.parametrize("name", ["wifi:648:1/2", "turbo_matched:100:280",
                                  "conv:100:1/2:algorithm=viterbi"])
def test_decoders(make, kind, name):
    code, rng = coding.get(name), np.random.default_rng(2)
    words = code.encode(rng.integers(0, 2, (N, code.num_info), np.uint8)).astype(np.float32)
    llr = (8 * words - 4 + rng.normal(0, 2, words.shape)).astype(np.float32)
    llr[5] = 0
    llr = llr.reshape(3, 4, -1)
    decoder = code.decoder()
    expected = {"posterior": decoder.decode(llr),
                **{each: getattr(decoder, each) for each in ATTRIBUTES}}
    assert expected["found"].sum() == N - 1 and not expected["found"][1, 1]
    posterior = decoder.decode(make(llr))
    found = {"posterior": posterior, **{each: getattr(decoder, each) for each in ATTRIBUTES}}
    for each, wanted in expected.items():
        assert isinstance(found[each], kind), each
        np.testing.assert_array_equal(np.asarray(found[each]), wanted, each)
    assert isinstance(decoder.decide(make(llr)), kind)
    np.testing.assert_array_equal(np.asarray(decoder.decisions(posterior)), expected["bits"])


@pytest.mark.parametrize("info, coded, depth", [(1000, 2000, None), (1000, 2000, 4),
                                                (300, 1500, 2), (6000, 8000, None)])
def test_sionna_s_ldpc_code(info, coded, depth):
    """Sionna's codewords are those of the code of the same sizes, and decoded as tensors."""
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(0, 2, (3, 2, info), generator=generator).float()
    words = LDPC5GEncoder(info, coded, num_bits_per_symbol=depth)(bits)
    code = coding.get(f"nr_matched:{info}:{coded}:{depth or 1}")
    np.testing.assert_array_equal(code.encode(bits.reshape(-1, info).numpy().astype(np.uint8)),
                                  words.reshape(-1, coded).numpy())
    llr = 8 * words - 4 + 2 * torch.randn(words.shape, generator=generator)
    assert torch.equal(code.decoder().decide(llr).float(), bits)


def test_lazy_and_double_precision_tensors():
    llr = torch.randn(648, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    decoder = CODE.decoder()
    expected = decoder.decode(llr.T.float().numpy().copy())
    posterior = decoder.decode(llr.mT.requires_grad_())
    assert posterior.dtype == torch.float32 and not posterior.requires_grad
    np.testing.assert_array_equal(posterior.numpy(), expected)
    listed = coding.ListDecoder(CODE.decoder(iterations=2), 2, keep_candidates=True)
    listed.decode(llr.T)
    assert listed.candidates.shape == (4, 5, 648) and listed.candidates.dtype == torch.uint8


@KINDS
@pytest.mark.parametrize("has_covariance", [True, False])
def test_iterative_receiver(make, kind, has_covariance, batch):
    y, h, noise_var, bits = batch
    noise = {"noise_cov": noise_var * np.eye(4)} if has_covariance else {"noise_var": noise_var}
    receiver = iterative.IterativeReceiver(detectors.MMSEPIC(extrinsic=True), CODE.decoder())
    expected = receiver.receive(y, h, keep_history=True, **noise)
    received = receiver.receive(make(y), make(h), keep_history=True, **noise)
    for name in ("posterior", "bits", "found", "iterations", "decoder_iterations", "detected",
                 "history"):
        found = getattr(received, name)
        assert isinstance(found, kind), name
        np.testing.assert_array_equal(np.asarray(found), getattr(expected, name), name)
    right = (np.asarray(received.bits) == bits).all(-1)
    assert right.shape == (3, 4) and right.mean() > 0.5
