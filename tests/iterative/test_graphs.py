# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CUDA graphs of an iterative receiver's passes."""


import numpy as np
import pytest
from coded_vectors import CODE, INTERLEAVER, covariances, transmitted
from gnuradio.mimopack import coding, detectors, iterative


@pytest.mark.gpu
class TestGraphs:
    """A replayed recording gives the same results as calls."""

    @pytest.fixture(autouse=True)
    def module(self):
        self.xp = pytest.importorskip("cupy")

    def make(self, name="mmsepic", decoder=None, **options):
        detector = detectors.create(name, backend="cuda", extrinsic=True)
        decoder = decoder or CODE.decoder(iterations=10, backend="cuda")
        return [iterative.IterativeReceiver(detector, decoder, INTERLEAVER, 3, False,
                                            graphs=graphs, **options) for graphs in (False, True)]

    def compare(self, made, y, h, noise_var, noise_cov=None, **options):
        *there, noise_cov = (self.xp.asarray(value) if np.ndim(value) else value
                             for value in (y, h, noise_var, noise_cov))
        expected, played = (each.receive(*there, noise_cov=noise_cov, **options) for each in made)
        for name in ("posterior", "bits", "found", "iterations", "decoder_iterations", "detected",
                     "history"):
            if getattr(expected, name) is None:
                assert getattr(played, name) is None
            else:
                np.testing.assert_array_equal(getattr(expected, name).get(),
                                              getattr(played, name).get(), err_msg=name)
        assert (played.erasures, played.erased) == (expected.erasures, expected.erased)
        return played

    @pytest.mark.parametrize("name", ["mmsepic", "nway"])
    @pytest.mark.parametrize("per_channel", [1, 41])
    def test_batches_of_any_size(self, name, per_channel):
        made = self.make(name)
        _, _, y, h, noise_var = transmitted(9, 10.5, per_channel=per_channel)
        vectors = made[0].layout.vectors
        first = None
        for n in (5, 8, 1, 5, 9, 7, 5, 8, 1):
            rows = n * vectors
            found = self.compare(made, y[-rows:], h[-(rows // per_channel):], noise_var)
            if first is None:
                first, kept = found, found.posterior.get()
        np.testing.assert_array_equal(first.posterior.get(), kept)
        assert len(made[1]._graphs._recorded._kept) == 3    # for 8, 1 and 16 codewords

    def test_what_is_useless(self):
        made = self.make()
        _, _, y, h, noise_var = transmitted(3, 10.5)
        vectors = made[0].layout.vectors
        y[1], h[vectors:2 * vectors] = np.nan, np.nan
        noise_var = np.full(len(y), noise_var, np.float32)
        noise_var[-1] = -1
        found = self.compare(made, y, h, noise_var)
        assert found.erasures == vectors + 2 and found.erased == 1
        with pytest.raises(ValueError, match="noise_var: got -1"):
            made[1].receive(self.xp.asarray(y), self.xp.asarray(h), -1.0)

    @pytest.mark.parametrize("per_channel", [1, 41])
    def test_covariance(self, per_channel):
        """It is recorded apart from variances, and a common one as one for each matrix."""
        made = self.make()
        _, _, y, h, noise_var = transmitted(5, 11, per_channel=per_channel)
        each = covariances(len(h), noise_var)
        each[-1] *= -1
        assert self.compare(made, y, h, None, each).erasures == per_channel
        self.compare(made, y, h, noise_var)
        expected = self.compare(made, y, h, None, each[:1].repeat(len(h), axis=0))
        found = made[1].receive(*map(self.xp.asarray, (y, h)), noise_cov=self.xp.asarray(each[:1]))
        np.testing.assert_array_equal(found.posterior.get(), expected.posterior.get())
        assert found.erasures == expected.erasures == 0
        assert len(made[1]._graphs._recorded._kept) == 2

    def test_history_and_passes(self):
        made = self.make("nway", coding.get("turbo_matched:208:648").decoder(backend="cuda"))
        _, _, y, h, noise_var = transmitted(4, 10.5)
        self.compare(made, y, h, noise_var, keep_history=True)
        for each in made:
            each.iterations = 2
        assert self.compare(made, y, h, noise_var, keep_history=True).history.shape[0] == 2
        self.compare(made, y, h, noise_var)

    def test_settings_count(self):
        decoder = CODE.decoder(iterations=10, backend="cuda")
        made = self.make("nway", decoder)
        _, _, y, h, noise_var = transmitted(3, 9)
        first = self.compare(made, y, h, noise_var)
        decoder.iterations = 2
        assert self.compare(made, y, h, noise_var).decoder_iterations.max() <= 6
        for each in made:
            each.feedback_scale = 0.1
        changed = self.compare(made, y, h, noise_var)
        assert not np.array_equal(changed.posterior.get(), first.posterior.get())
        for each in made:
            each.detector.num_passes = 2
        self.compare(made, y, h, noise_var)
        for each in made:
            each.early_stop = True
        self.compare(made, y, h, noise_var)

    def test_arrays_of_the_host(self):
        _, _, y, h, noise_var = transmitted(9, 10.5)
        expected = self.make()[1].receive(self.xp.asarray(y), self.xp.asarray(h), noise_var)
        shared = iterative.SharedReceiver(lambda device: self.make()[1], [0])
        for noise in (noise_var, np.full(len(y), noise_var, np.float32)):
            found = shared.receive(y, h, noise, keep_history=True)
            np.testing.assert_array_equal(found.bits, expected.bits.get())
            np.testing.assert_array_equal(found.found, expected.found.get())
        assert not len(shared.receive(y[:0], h[:0], noise_var).bits)
