# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bit flipping and successive interference cancellation: candidate lists and parameters."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import assert_close, problem, random_prior


@pytest.mark.quick
class TestBitFlip:
    POINTS = ["qpsk", "qam16", "wlan_qam64"]

    def hard(self, bits, *shares, seed=1):
        """Return hard solutions: for each share, the sent bits with that share of them wrong."""
        rng = np.random.default_rng(seed)
        return np.stack([bits ^ (rng.random(bits.shape) < share) for share in shares]).astype(
            np.uint8)

    @pytest.mark.parametrize("backend", ["cpu", "reference"])
    def test_none_is_zf_sic(self, backend):
        y, h, noise_var, _ = problem(40, 4, 4, "qam16", 18)
        first = detectors.hard_decisions(detectors.ZFSIC(backend=backend).detect(y, h, noise_var))
        det = detectors.BitFlip(backend=backend)
        assert_close(det.detect(y, h, noise_var, hard=first[None]), det.detect(y, h, noise_var))

    @pytest.mark.parametrize("points", POINTS)
    def test_hard_solutions_equal_reference(self, points):
        y, h, noise_var, bits = problem(35, 3, 4, points, 15)
        hard = self.hard(bits, 0.0, 0.1, 0.4)
        size = {"num_tx": 3, "num_rx": 4, "constellation": points}
        for prior in (None, random_prior(bits, 3)):
            expected = detectors.BitFlip(backend="reference", **size).detect(
                y, h, noise_var, prior, hard=hard)
            llr = detectors.BitFlip(**size).detect(y, h, noise_var, prior, hard=hard)
            assert_close(llr, expected)

    def test_block_fading_batches_and_threads(self):
        y, h, noise_var, bits = problem(14 * 9, 4, 4, "qam16", 15, per_channel=14)
        hard = self.hard(bits, 0.1, 0.2)
        whole = detectors.BitFlip(threads=1).detect(y, h, noise_var, hard=hard)
        many = detectors.BitFlip(threads=3).detect(y, np.repeat(h, 14, axis=0), noise_var,
                                                   hard=hard)
        assert_close(many, whole, 1e-5)
        part = detectors.BitFlip().detect(y[28:70], h[2:5], noise_var,
                                          hard=np.ascontiguousarray(hard[:, 28:70]))
        assert_close(part, whole[28:70], 1e-5)

    def test_lists_grow(self):
        """A list from more solutions contains all candidates of the shorter list, in any order."""
        y, h, noise_var, bits = problem(300, 4, 4, "qam16", 16)
        det = detectors.BitFlip()
        hard = self.hard(bits, 0.3, 0.1, 0.0)
        exact = detectors.MLA().detect(y, h, noise_var)
        agree = []
        for k in (1, 2, 3):
            llr = det.detect(y, h, noise_var, hard=np.ascontiguousarray(hard[:k]))
            agree.append(np.mean((llr > 0) == (exact > 0)))
        assert agree[0] < agree[1] < agree[2]
        assert_close(det.detect(y, h, noise_var, hard=np.ascontiguousarray(hard[::-1])), llr, 1e-5)
        assert_close(det.detect(y, h, noise_var, hard=np.concatenate([hard, hard])), llr, 1e-5)

    def test_decoder_feedback_lowers_the_error_rate(self):
        y, h, noise_var, bits = problem(3000, 4, 4, "qam16", 18)
        det = detectors.BitFlip()
        first = detectors.hard_decisions(detectors.ZFSIC().detect(y, h, noise_var))
        alone = np.sum((det.detect(y, h, noise_var) > 0) != bits)
        fed = np.sum((det.detect(y, h, noise_var, hard=np.stack([first, bits])) > 0) != bits)
        assert alone - fed > 3 * np.sqrt(4 * (alone + fed))

    @pytest.mark.parametrize("with_prior", [False, True])
    def test_complete_list_is_max_log(self, with_prior):
        y, h, noise_var, bits = problem(50, 2, 2, "qam16", 12)
        prior = random_prior(bits, 3) if with_prior else None
        every = (np.arange(256)[:, None] >> np.arange(7, -1, -1) & 1).astype(np.uint8)
        hard = np.repeat(every[:, None], len(y), axis=1)
        size = {"num_tx": 2, "num_rx": 2}
        assert_close(detectors.BitFlip(**size).detect(y, h, noise_var, prior, hard=hard),
                     detectors.MLA(**size).detect(y, h, noise_var, prior))

    def test_empty_batch(self):
        llr = detectors.BitFlip().detect(np.empty((0, 4), np.complex64),
                                         np.empty((0, 4, 4), np.complex64), 0.1,
                                         hard=np.empty((2, 0, 16), np.uint8))
        assert llr.shape == (0, 16)

    @pytest.mark.parametrize("backend", ["cpu", "reference"])
    @pytest.mark.parametrize("hard, message", [
        (np.zeros((2, 11, 16), np.uint8),
         "hard: got shape (2, 11, 16), must be (iterations, 12, 16)"),
        (np.zeros((12, 16), np.uint8), "hard: got shape (12, 16), must be (iterations, 12, 16)"),
        (np.zeros((1, 12, 16), bool), "hard: got type bool, must be uint8"),
        (np.zeros((0, 12, 16), np.uint8), "hard: got 0 hard solutions, must be at least 1"),
        (np.full((1, 12, 16), 2, np.uint8), "hard: got 2, allowed are 0 and 1"),
        ([[0]], "hard: got type int64, must be uint8")])
    def test_bad_hard_solutions(self, hard, message, backend):
        y, h, noise_var, _ = problem(12, 4, 4, "qam16", 20)
        with pytest.raises(ValueError) as caught:
            detectors.BitFlip(backend=backend).detect(y, h, noise_var, hard=hard)
        assert message in str(caught.value)

    def test_bad_vectors_with_hard_solutions(self):
        y, _, noise_var, bits = problem(12, 4, 4, "qam16", 20)
        with pytest.raises(ValueError, match=r"h: got shape \(12, 4\)"):
            detectors.BitFlip().detect(y.astype(complex), y, noise_var, hard=bits[None])
