# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An iterative receiver on several threads."""

from functools import partial

import fake_cuda
import numpy as np
import pytest
import stand_in
from coded_vectors import CODE, INTERLEAVER, covariances, receiver, transmitted
from gnuradio.mimopack import coding, iterative


def placed(backend, **parameters):
    """Return a receiver with detector and decoder on one backend."""
    return receiver(backend=backend, decoder=CODE.decoder(iterations=10, backend=backend),
                    **parameters)


class TestSharing:
    @pytest.mark.parametrize("n, threads, used", [(50, 1, 1), (50, 3, 2), (50, 2, 2), (33, 4, 3),
                                                  (15, 4, 1), (0, 2, 1)])
    @pytest.mark.parametrize("per_channel", [1, 41, 82])
    def test_same_as_one_receiver(self, n, threads, used, per_channel):
        """82 vectors: two codewords share a matrix, even if they belong to different receivers."""
        n += n % 2 if per_channel == 82 else 0
        _, _, y, h, noise_var = transmitted(n, 10.5, per_channel=per_channel)
        noise = np.full(len(y), noise_var, np.float32)
        noise[5:] *= 1.1
        made = []

        def make():
            made.append(receiver())
            return made[-1]

        shared = iterative.SharedReceiver(make, threads=threads)
        y[:41] = np.nan if n else 0
        for power in (noise_var, noise):
            expected = receiver().receive(y, h, power, keep_history=True)
            found = shared.receive(y, h, power, keep_history=True)
            for name in ("bits", "found", "iterations", "history"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            assert found.erasures == expected.erasures == (41 if n else 0)
            assert found.erased == bool(n)
        assert len(made) == used and {each.threads for each in made} == {threads // used}

    @pytest.mark.parametrize("per_channel", [1, 82])
    def test_covariance(self, per_channel):
        """Each receiver gets the covariances of its codewords."""
        _, _, y, h, noise_var = transmitted(34, 11, per_channel=per_channel)
        shared = iterative.SharedReceiver(receiver, threads=2)
        for covariance in covariances(len(h), noise_var), covariances(1, noise_var):
            expected = receiver().receive(y, h, noise_cov=covariance)
            found = shared.receive(y, h, noise_cov=covariance)
            for name in ("bits", "found", "iterations"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        with pytest.raises(ValueError, match=r"noise_cov: got shape \(2, 4, 4\), must be"):
            shared.receive(y, h, noise_cov=np.zeros((2, 4, 4), np.complex64))

    def test_settings_reach_all(self):
        made = []
        shared = iterative.SharedReceiver(lambda: made.append(receiver()) or made[-1], threads=2)
        _, _, y, h, noise_var = transmitted(40, 25)
        shared.receive(y, h, noise_var)
        shared.iterations, shared.threads = 2, 3
        shared.receive(y, h, noise_var)
        assert [each.iterations for each in made] == [2, 2, 2] and shared.threads == 3
        with pytest.raises(ValueError, match="threads: got -1"):
            shared.threads = -1
        with pytest.raises(ValueError, match=r"y: got shape \(40, 4\), must be"):
            shared.receive(y[:40], h[:40], noise_var)

    def test_shares_of_what_does_not_go_together(self):
        _, _, y, h, noise_var = transmitted(32, 20)
        shared = iterative.SharedReceiver(receiver, threads=2)
        for matrices in (h[:1000], h[:0], np.concatenate([h, h]), None):
            with pytest.raises(ValueError, match=r"h: got \d+ matrices for 1312 vectors"):
                shared.receive(y, matrices, noise_var)
        with pytest.raises(ValueError, match=r"noise_var: got shape \(5,\), must be .*1312"):
            shared.receive(y, h, np.full(5, noise_var))
        with pytest.raises(ValueError, match="devices: got"):
            iterative.SharedReceiver(receiver, devices=[])

    def test_codewords_without_llrs_are_counted(self):
        """The decoder of the last pass counts them; it may be a list decoder."""
        _, _, y, h, noise_var = transmitted(40, 20)
        y[:82] = np.nan
        for passes, early_stop in ((1, True), (3, False)):
            decoder = CODE.decoder()
            made = partial(iterative.IterativeReceiver, receiver().detector, decoder, INTERLEAVER,
                           passes, early_stop, last_decoder=coding.ListDecoder(decoder, 2))
            found = iterative.SharedReceiver(made, threads=1).receive(y, h, noise_var)
            assert found.erased == 2 and found.erasures == 82

    @pytest.fixture
    def on_gpus(self, monkeypatch):
        """Return a function that makes a shared receiver, and lists of what it was given.

        The receiver has stand-ins for two GPUs, which fail in a chosen batch of a decoder. The
        lists hold the batches of decoders and the shapes of uploaded arrays.
        """
        def make_shared(backend, fails_at=0):
            batches = stand_in.install(monkeypatch, fails_at, gpus=2)
            sent = stand_in.receive_on_cpu(monkeypatch, iterative.sharing)

            def make(*device):
                return placed("cuda" if device else "cpu")

            return iterative.SharedReceiver(make, [0, 1], 1, backend), batches, sent

        return make_shared

    def test_each_gpu_has_its_share(self, on_gpus):
        """A noise_var that applies to all vectors stays on the host, in any form."""
        shared, batches, sent = on_gpus("cuda")
        _, _, y, h, noise_var = transmitted(7, 10.5)
        expected = placed("cpu").receive(y, h, noise_var)
        found = shared.receive(y, h, np.full(len(y), noise_var, np.float32))
        np.testing.assert_array_equal(found.bits, expected.bits)
        assert max(batches) == 4 and found.history is None
        each = covariances(len(h), noise_var)
        np.testing.assert_array_equal(shared.receive(y, h, noise_cov=each).bits,
                                      placed("cpu").receive(y, h, noise_cov=each).bits)
        assert sorted(map(len, sent[6:])) == [2, 2, 3, 3, 3, 3]
        del sent[6:]
        assert sorted(map(len, sent)) == [1, 1, 2, 2, 3, 3]
        sent.clear()
        alone = shared.receive(y[:41], h[:41], np.array(noise_var, np.float32))
        np.testing.assert_array_equal(alone.bits, found.bits[:1])
        assert sorted(map(len, sent)) == [2, 3]

    def test_auto_takes_the_faster_one(self, on_gpus, monkeypatch):
        fake_cuda.let_gpu_win(monkeypatch)
        shared, batches, _ = on_gpus("auto")
        _, _, y, h, noise_var = transmitted(24, 11)
        expected = placed("cpu").receive(y, h, noise_var)
        for last in ("cpu", "cuda"):
            received = shared.receive(y, h, noise_var)
            np.testing.assert_array_equal(received.bits, expected.bits)
            np.testing.assert_array_equal(received.iterations, expected.iterations)
            assert shared.last_backend == last
            assert "backend auto: cuda" in shared.prepare(20)
        assert batches.count(10) >= 2 and batches.count(12) == 2    # half for each GPU

    def test_gpus_that_fail(self, on_gpus, monkeypatch):
        """The CPU receives the current codewords and all later ones if the failure is reported."""
        _, _, y, h, noise_var = transmitted(10, 12)
        shared, batches, _ = on_gpus("cuda", fails_at=2)
        with pytest.raises(RuntimeError, match="off the bus"):
            shared.receive(y, h, noise_var)
        shared, batches, _ = on_gpus("cuda", fails_at=2)
        failures = []
        shared.on_gpu_failure = failures.append
        expected = placed("cpu").receive(y, h, noise_var)
        for _ in range(2):
            np.testing.assert_array_equal(shared.receive(y, h, noise_var).bits, expected.bits)
        assert len(failures) == 1 and shared.last_backend == "cpu"

    def test_bad_arguments_are_no_failure_of_a_gpu(self, on_gpus):
        _, _, y, h, noise_var = transmitted(4, 12)
        shared, batches, _ = on_gpus("cuda")
        shared.on_gpu_failure = pytest.fail
        for wrong in ((y.astype(complex), h, noise_var), (y, h[:3], noise_var), (y, h, -1.0)):
            with pytest.raises(ValueError, match=": got"):
                shared.receive(*wrong)
        shared.receive(y, h, noise_var)
        assert shared.last_backend == "cuda"

    def test_a_failure_waits_for_the_others(self):
        made, done = [], []

        def make():
            each = receiver()
            receive = each.receive
            made.append(each)

            def slow(*arguments, **named):
                if each is made[0]:
                    raise RuntimeError("injected")
                receive(*arguments, **named)
                done.append(each)

            each.receive = slow
            return each

        _, _, y, h, noise_var = transmitted(32, 10.5)
        with pytest.raises(RuntimeError, match="injected"):
            iterative.SharedReceiver(make, threads=2).receive(y, h, noise_var)
        assert done == [made[1]]
