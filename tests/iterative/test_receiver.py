# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The iterative receiver: the loop of detector and decoder."""

import re

import numpy as np
import pytest
from coded_vectors import (
    CODE,
    INTERLEAVER,
    MATRIX,
    POINTS,
    covariances,
    receiver,
    transmitted,
)
from elsewhere import Elsewhere
from gnuradio.mimopack import coding, detectors, iterative
from gnuradio.mimopack.coding import ldpc


@pytest.mark.quick
class TestLoop:
    @pytest.mark.parametrize("name, snr_db", [("mmsepic", 11.5), ("nway", 11),
                                              ("softsphere", 10), ("bitflip", 13)])
    def test_feedback_helps(self, name, snr_db):
        """Over 96 codewords; the first pass equals a receiver without feedback."""
        bits, _, y, h, noise_var = transmitted(96, snr_db)
        received = receiver(name).receive(y, h, noise_var, keep_history=True)
        wrong = np.mean(np.any(received.history != bits, axis=2), axis=1)
        assert wrong[0] > 0.2 and wrong[3] < 0.6 * wrong[0]
        once = receiver(name, iterations=1).receive(y, h, noise_var)
        np.testing.assert_array_equal(once.bits, received.history[0])
        np.testing.assert_array_equal(once.detected, received.detected)
        np.testing.assert_array_equal(received.bits, received.history[-1])

    def test_by_hand(self):
        """Run two passes step by step with the parts."""
        _, _, y, h, noise_var = transmitted(20, 10.5)
        detector = detectors.NWay(extrinsic=True)
        order = np.random.default_rng(3).permutation(648)
        shape = 20, 41 * 16
        llr, coded = detector.detect(y, h, noise_var).reshape(shape), np.empty((20, 648), "f")
        coded[:, order] = llr[:, :648]
        decoder = ldpc.LdpcDecoder(MATRIX, 10)
        extrinsic = decoder.decode(coded) - coded
        prior = np.full(shape, -100, np.float32)
        prior[:, :648] = np.float32(0.6) * extrinsic[:, order]
        llr = detector.detect(y, h, noise_var, prior.reshape(-1, 16)).reshape(shape)
        coded[:, order] = llr[:, :648]
        received = receiver("nway", 2, early_stop=False).receive(y, h, noise_var)
        np.testing.assert_allclose(received.posterior, decoder.decode(coded), rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(received.found, decoder.found)

    def test_perfect_feedback_leaves_single_layers(self):
        """If the decoder knows the codewords, the detector reaches single-layer errors at once.

        Its extrinsic LLRs have the errors of each layer without the others, at an SNR at which one
        bit of eight is wrong without feedback.
        """
        _, words, y, h, noise_var = transmitted(32, 9)

        class Knowing(coding.Decoder):
            num_bits, iterations_taken = 648, 1

            def decode(self, llr):
                self.found = np.zeros(len(llr), bool)
                self.given = llr
                return (llr + 1000 * (2 * words.astype(np.float32) - 1)).astype(np.float32)

        decoder = Knowing()
        received = receiver("mmsepic", 2, decoder=decoder, feedback_scale=1).receive(
            y, h, noise_var)
        before, after = (np.mean((llr > 0) != words)
                         for llr in (received.detected, decoder.given))
        alone = []
        x = POINTS.modulate(iterative.CodewordLayout(648, 16, INTERLEAVER).spread(words))
        for layer in range(4):
            detector = detectors.MLA(1, 4)
            others = np.delete(np.arange(4), layer)
            left = y - np.einsum("nij,nj->ni", h[:, :, others], x[:, others])
            alone.append(detector.detect(
                left.astype(np.complex64), np.ascontiguousarray(h[:, :, layer:layer + 1]),
                noise_var))
        # if the other bits of its symbol are known, a bit is right at least as often
        unknown = np.mean((np.concatenate(alone, axis=1) > 0)
                          != iterative.CodewordLayout(648, 16, INTERLEAVER).spread(words))
        assert before > 0.1 and after <= unknown < 0.5 * before

    @pytest.mark.parametrize("name, per_channel", [("mmsepic", 1), ("bitflip", 41)])
    def test_early_stop(self, name, per_channel):
        """Codewords leave at the pass in which they would be found; the others are unaffected."""
        snr_db = {"mmsepic": 12, "bitflip": 14}[name]
        bits, _, y, h, noise_var = transmitted(48, snr_db, per_channel=per_channel, seed=2)
        noise = np.full(len(y), noise_var, np.float32)
        early = receiver(name).receive(y, h, noise, keep_history=True)
        late = receiver(name, early_stop=False).receive(y, h, noise, keep_history=True)
        assert 1 <= early.iterations.min() < early.iterations.max() == 4
        assert np.all(late.iterations == 4)
        assert early.decoder_iterations.sum() < late.decoder_iterations.sum()
        for i in range(48):
            at = early.iterations[i] - 1
            np.testing.assert_array_equal(early.bits[i], late.history[at, i])
            for index in range(4):
                np.testing.assert_array_equal(early.history[index, i],
                                              late.history[min(index, at), i])
        both = early.found & late.found
        assert both.any()
        np.testing.assert_array_equal(early.bits[both], late.bits[both])

    def test_candidates_of_a_list_decoder_feed_bit_flipping(self):
        bits, _, y, h, noise_var = transmitted(256, 12.5)
        wrong = []
        for keep in (False, True):
            listed = coding.ListDecoder(CODE.decoder(backend="cpu"), 2, keep_candidates=keep)
            loop = iterative.IterativeReceiver(
                detectors.BitFlip(extrinsic=True, backend="cpu"), listed, INTERLEAVER, 3,
                feedback_scale=0.4)
            received = loop.receive(y, h, noise_var)
            wrong.append(np.any(received.bits != bits, axis=1).sum())
        assert wrong[1] < 0.8 * wrong[0]

    def test_kept_messages(self):
        """With two decoder iterations per pass, continuing from kept messages finds more codewords.

        The next batch is unaffected.
        """
        bits, _, y, h, noise_var = transmitted(48, 12)
        errors = []
        for keep in (False, True):
            loop = receiver(decoder=CODE.decoder(iterations=2, keep_messages=keep),
                            early_stop=False)
            received = loop.receive(y, h, noise_var)
            np.testing.assert_array_equal(loop.receive(y, h, noise_var).posterior,
                                          received.posterior)
            errors.append(np.count_nonzero(received.bits != bits))
        assert errors[1] < errors[0]

    @pytest.mark.parametrize("iterations, early_stop", [(1, True), (3, True), (3, False)])
    def test_last_decoder(self, iterations, early_stop):
        """The last decoder runs in the last pass, on the codewords that remain."""
        bits, _, y, h, noise_var = transmitted(96, 10.5)
        decoder = CODE.decoder(iterations=10)
        listed = coding.ListDecoder(decoder, 3)
        detector = detectors.NWay(extrinsic=True)
        alone, loop = (
            iterative.IterativeReceiver(detector, decoder, INTERLEAVER, iterations, early_stop,
                                        last_decoder=last)
            .receive(y, h, noise_var, keep_history=True) for last in (None, listed))
        assert np.all(loop.found >= alone.found) and loop.found.sum() > alone.found.sum()
        np.testing.assert_array_equal(loop.history[:-1], alone.history[:-1])
        np.testing.assert_array_equal(loop.bits[alone.found], alone.bits[alone.found])
        np.testing.assert_array_equal(loop.bits[loop.found], bits[loop.found])
        np.testing.assert_array_equal(loop.decoder_iterations > alone.decoder_iterations,
                                      ~alone.found)
        if iterations == 1:
            np.testing.assert_array_equal(loop.posterior, listed.decode(loop.detected))

    def test_what_cannot_be_detected_is_an_erasure(self):
        bits, _, y, h, noise_var = transmitted(4, 25)
        y = y.copy()
        y[3], y[41:82] = np.nan, np.inf
        received = receiver().receive(y, h, noise_var)
        assert received.erasures == 42
        np.testing.assert_array_equal(received.found, [True, False, True, True])
        assert np.all(np.isfinite(received.posterior)) and not received.posterior[1].any()
        np.testing.assert_array_equal(received.bits[[0, 2, 3]], bits[[0, 2, 3]])

    def test_llrs_that_are_known_already(self):
        """The first pass uses given LLRs: those of the same detector change nothing, others do."""
        _, _, y, h, noise_var = transmitted(16, 11.5)
        loop = receiver()
        first = detectors.MMSEPIC().detect(y, h, noise_var)
        plain = loop.receive(y, h, noise_var)
        given = loop.receive(y, h, noise_var, first=first)
        for name in ("posterior", "found", "iterations", "detected"):
            np.testing.assert_array_equal(getattr(given, name), getattr(plain, name))
        known = np.where(first > 0, np.float32(20), np.float32(-20))
        other = loop.receive(y, h, noise_var, first=known)
        np.testing.assert_array_equal(other.detected, loop.layout.gather(known))
        assert not np.array_equal(other.posterior, plain.posterior) and other.erasures == 0
        for strict, shape in (True, r"be \(656, 16\)"), (False, r"fit the shape \(656, 16\)"):
            with pytest.raises(ValueError, match=r"first: got shape \(3, 16\), must " + shape):
                loop.receive(y, h, noise_var, first=first[:3], strict=strict)

    @pytest.mark.parametrize("name", ["mmsepic", "nway", "bitflip"])
    @pytest.mark.parametrize("per_channel, is_common", [(1, True), (1, False), (41, False),
                                                        (82, True), (82, False)])
    def test_covariance(self, name, per_channel, is_common):
        """The result is that of vectors and matrices whitened in NumPy.

        Some codewords leave early. Rounding grows in those that are not found.
        """
        snr_db = 14 if per_channel == 1 and name != "bitflip" else 17
        _, _, y, h, noise_var = transmitted(20, snr_db, per_channel=per_channel)
        covariance = covariances(1 if is_common else len(h), noise_var)
        factors = np.linalg.cholesky(covariance.astype(complex))
        factors = np.repeat(factors, len(y) // len(factors), axis=0)
        white = [np.linalg.solve(factors, array).astype(np.complex64)
                 for array in (y[:, :, None], np.repeat(h, per_channel, axis=0))]
        loop = receiver(name, 3, decoder=CODE.decoder(iterations=3), feedback_scale=0.4)
        expected = loop.receive(white[0][:, :, 0], white[1], 1.0)
        received = loop.receive(y, h, noise_cov=covariance)
        np.testing.assert_allclose(received.detected, expected.detected, rtol=1e-4, atol=1e-2)
        np.testing.assert_array_equal(received.iterations, expected.iterations)
        np.testing.assert_array_equal(received.found, expected.found)
        both = expected.found
        np.testing.assert_allclose(received.posterior[both], expected.posterior[both], rtol=0.01,
                                   atol=0.1)
        assert both.sum() > 10 and expected.iterations.max() > 1

    @pytest.mark.parametrize("name, arguments, message", [
        ("mmse", {}, "detector: mmse takes no a-priori LLRs; use iterations=1, or"),
        ("sd", {}, "detector: sd has hard output without soft=True; use iterations=1, or"),
        ("nway", {"iterations": 0}, "iterations: got 0, allowed are 1 to 1000"),
        ("nway", {"feedback_scale": 0}, "feedback_scale: got 0"),
        ("nway", {"early_stop": 1}, "early_stop: got 1, must be True or False"),
        ("nway", {"llr_type": "int8"}, "detector: got nway with llr_type=int8, must be float32"),
        ("nway", {"interleaver": coding.RandomInterleaver(600)}, "interleaver: got 600"),
        ("nway", {"decoder": CODE.decoder(keep_messages=True)},
         "decoder: got keep_messages=True, which requires early_stop=False")])
    def test_refusals(self, name, arguments, message):
        if name == "sd":    # it has no extrinsic output
            with pytest.raises(ValueError, match=message):
                iterative.IterativeReceiver(detectors.SD(), CODE.decoder())
            return
        with pytest.raises(ValueError, match=message):
            receiver(name, **arguments)

    @pytest.mark.parametrize("shape, strict", [((40, 4), False), ((40, 4), True),
                                               ((2, 82, 4), False), ((4,), False)])
    def test_parts_of_codewords_are_refused(self, shape, strict):
        with pytest.raises(ValueError, match=rf"y: got shape {re.escape(str(shape))}, must be "
                                             r"\(n \* 41, nr\)"):
            receiver().receive(np.zeros(shape, "c8"), np.zeros((*shape[:-1], 4, 4), "c8"), 0.1,
                               strict=strict)


RESULTS = ("posterior", "bits", "found", "iterations", "decoder_iterations", "detected")


def assert_same(received, expected, shape, kind=np.ndarray):
    """Compare results, all arrays of a kind, with those of (n, ...)."""
    for name in RESULTS:
        found, wanted = getattr(received, name), getattr(expected, name)
        assert isinstance(found, kind), name
        found = getattr(found, "values", found)
        np.testing.assert_array_equal(found, wanted.reshape(*shape, *wanted.shape[1:]), name)
    assert (received.erasures, received.erased) == (expected.erasures, expected.erased)


@pytest.fixture(scope="module")
def batch():
    """Return y, h and noise_var of 12 codewords, and what is received."""
    _, _, y, h, noise_var = transmitted(12, 11.5)
    y[3] = np.nan
    return y, h, noise_var, receiver().receive(y, h, noise_var, keep_history=True)


class TestAnyArrays:
    @pytest.mark.parametrize("change", [
        lambda array: array.astype(np.complex128), np.asfortranarray,
        lambda array: np.repeat(array, 2, axis=-1)[..., ::2]])
    def test_layout_and_precision(self, batch, change):
        y, h, noise_var, expected = batch
        assert_same(receiver().receive(change(y), change(h), noise_var), expected, (12,))
        with pytest.raises(ValueError, match="y: got"):
            receiver().receive(change(y), h, noise_var, strict=True)

    @pytest.mark.quick
    def test_another_library(self, batch):
        y, h, noise_var, expected = batch
        received = receiver().receive(Elsewhere(y), Elsewhere(h), noise_var, keep_history=True)
        assert_same(received, expected, (12,), Elsewhere)
        np.testing.assert_array_equal(received.history.values, expected.history)

    @pytest.mark.quick
    def test_batch_shape(self, batch):
        y, h, noise_var, expected = batch
        shape = 3, 4, 41
        received = receiver().receive(y.reshape(*shape, 4), h.reshape(*shape, 4, 4),
                                      np.full((4, 1), noise_var), keep_history=True)
        assert_same(received, expected, (3, 4))
        assert received.history.shape == (4, 3, 4, 324)
        given = receiver().receive(
            y.reshape(*shape, 4), h.reshape(*shape, 4, 4), noise_var,
            first=detectors.MMSEPIC().detect(y, h, noise_var).astype(float).reshape(*shape, 4, 4))
        np.testing.assert_array_equal(given.posterior, received.posterior)

    @pytest.mark.parametrize("of_h, period", [((3, 1, 1), 164), ((3, 4, 1), 41), ((4, 1), 41),
                                              ((41,), 1), ((), 492)])
    def test_broadcast(self, batch, of_h, period):
        """Matrices stay shared among vectors that follow each other."""
        y, h, noise_var, _ = batch
        h = h[:np.prod(of_h, dtype=int)].reshape(*of_h, 4, 4)
        each = np.broadcast_to(h, (3, 4, 41, 4, 4)).reshape(-1, 4, 4)
        loop, seen = receiver(iterations=1), []
        loop._detect = lambda batch, *more: (
            seen.append(len(batch.y) // len(batch.h))
            or iterative.IterativeReceiver._detect(loop, batch, *more))
        received = loop.receive(y.reshape(3, 4, 41, 4), h, noise_var)
        assert_same(received, loop.receive(y, each, noise_var), (3, 4))
        assert seen == [period, 1]

    @pytest.mark.parametrize("of_cov", [(), (3, 1, 1), (3, 4, 41)])
    def test_covariance(self, batch, of_cov):
        y, h, noise_var, _ = batch
        covariance = covariances(np.prod(of_cov, dtype=int), noise_var)
        loop = receiver(iterations=2)
        received = loop.receive(y.reshape(3, 4, 41, 4), h.reshape(3, 4, 41, 4, 4),
                                noise_cov=covariance.reshape(*of_cov, 4, 4).astype(complex))
        each = np.repeat(covariance, len(y) // len(covariance), axis=0)
        assert_same(received, loop.receive(y, h, noise_cov=each), (3, 4))

    @pytest.mark.parametrize("changed, message", [
        ({"h": np.zeros((5, 4, 4), complex)}, "h: got shape (5, 4, 4) with y of shape (492, 4)"),
        ({"noise_var": None}, "noise_var: got none, must be given, or noise_cov"),
        ({"noise_cov": np.eye(4)}, "noise_var: got noise_cov too, give only one"),
        ({"noise_var": -1}, "noise_var: got -1.0, must be positive")])
    def test_errors(self, batch, changed, message):
        y, h, noise_var, _ = batch
        with pytest.raises(ValueError) as caught:
            receiver().receive(**{"y": y, "h": h, "noise_var": noise_var, **changed})
        assert message in str(caught.value)

    @pytest.mark.gpu
    @pytest.mark.parametrize("early_stop", [True, False])
    def test_cupy_arrays(self, batch, early_stop):
        import cupy

        y, h, noise_var, _ = batch
        loop = receiver(backend="cuda", early_stop=early_stop,
                        decoder=CODE.decoder(iterations=10, backend="cuda"))
        y, h = map(cupy.asarray, (y, h))
        expected = loop.receive(y, h, noise_var, keep_history=True)
        received = loop.receive(
            cupy.asfortranarray(y.astype(cupy.complex128).reshape(3, 4, 41, 4)),
            h.reshape(3, 4, 41, 4, 4), noise_var, keep_history=True)
        for name in RESULTS:
            found, wanted = getattr(received, name), getattr(expected, name)
            cupy.testing.assert_array_equal(found, wanted.reshape(3, 4, *wanted.shape[1:]))
        assert received.history.shape == (4, 3, 4, 324)
