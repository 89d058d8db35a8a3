# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interleavers, the layout of codewords in vectors, and the loop of detector and decoder."""

import gc
import sys
from contextlib import nullcontext
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from gnuradio.mimopack import channel, coding, constellation, detectors, iterative
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.cuda import transfer

NAME = "wifi:648:1/2"
CODE = coding.get(NAME)
MATRIX = ldpc.get(NAME)
INTERLEAVER = coding.RandomInterleaver(648, 3)
POINTS = constellation.get("qam16")


def transmitted(n, snr_db, num_tx=4, seed=0, per_channel=1, interleaver=INTERLEAVER):
    """(bits, words, y, h, noise_var) of n codewords over i.i.d. Rayleigh; simulated."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, CODE.num_info), np.uint8)
    words = CODE.encode(bits)
    layout = iterative.CodewordLayout(648, 4 * num_tx, interleaver)
    x = POINTS.modulate(layout.spread(words))
    noise_var = num_tx * 10 ** (-snr_db / 10)
    h = channel.flat_rayleigh(-(-len(x) // per_channel), num_tx, num_tx, rng)
    y = np.einsum("nij,nj->ni", np.repeat(h, per_channel, axis=0)[:len(x)], x)
    return bits, words, (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64), h, \
        noise_var


def receiver(name="mmsepic", iterations=4, num_tx=4, decoder=None, interleaver=INTERLEAVER,
             early_stop=True, feedback_scale=0.6, **parameters):
    detector = detectors.create(name, num_tx=num_tx, num_rx=num_tx, **parameters,
                                extrinsic=detectors.REGISTRY[name].SUPPORTS_PRIOR)
    return iterative.IterativeReceiver(detector, decoder or CODE.decoder(iterations=10),
                                       interleaver, iterations, early_stop, feedback_scale)


class TestInterleaver:
    @pytest.mark.parametrize("interleaver", [
        coding.RandomInterleaver(648, 5), coding.Interleaver([2, 0, 1])], ids=["random", "given"])
    def test_restore_is_the_inverse(self, interleaver):
        values = np.random.default_rng(1).normal(size=(3, 2 * interleaver.size))
        permuted = interleaver.permute(values)
        assert not np.array_equal(permuted, values)
        np.testing.assert_array_equal(interleaver.restore(permuted), values)
        first = interleaver.permute(np.ascontiguousarray(values[:, :interleaver.size]))
        np.testing.assert_array_equal(first, permuted[:, :interleaver.size])

    def test_direction(self):
        np.testing.assert_array_equal(
            coding.Interleaver([2, 0, 1]).permute(np.array([10, 11, 12])), [12, 10, 11])

    @pytest.mark.parametrize("order", [[0, 0, 1], [1, 2, 3], [0.0, 1.0], [], [[0, 1]]])
    def test_no_permutation(self, order):
        with pytest.raises(ValueError, match="order: got type .* must be a permutation"):
            coding.Interleaver(order)

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="values: got 7 in the last axis, must be a multiple"):
            coding.Interleaver([1, 0]).permute(np.zeros(7))
        with pytest.raises(ValueError, match="size: got 0, allowed are 1 to"):
            coding.RandomInterleaver(0)


class TestLayout:
    @pytest.mark.parametrize("bits_per_vector", [1, 8, 24, 1000])
    def test_gather_is_the_inverse_of_spread(self, bits_per_vector):
        layout = iterative.CodewordLayout(648, bits_per_vector, INTERLEAVER)
        assert layout.vectors * bits_per_vector == 648 + layout.padding
        assert 0 <= layout.padding < bits_per_vector
        llr = np.random.default_rng(2).normal(size=(5, 648)).astype(np.float32)
        spread = layout.spread(llr, fill=-7)
        assert spread.shape == (5 * layout.vectors, bits_per_vector)
        assert np.count_nonzero(spread == -7) == 5 * layout.padding
        np.testing.assert_array_equal(layout.gather(spread), llr)

    def test_each_codeword_begins_a_vector(self):
        layout = iterative.CodewordLayout(6, 4)
        np.testing.assert_array_equal(
            layout.spread(np.arange(1, 13).reshape(2, 6)),
            [[1, 2, 3, 4], [5, 6, 0, 0], [7, 8, 9, 10], [11, 12, 0, 0]])

    @pytest.mark.parametrize("arguments, message", [
        ((648, 16, coding.RandomInterleaver(500)),
         "interleaver: got one of 500 bits, its size must divide the 648"),
        ((648, 0), "bits_per_vector: got 0")])
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            iterative.CodewordLayout(*arguments)


class TestLoop:
    @pytest.mark.parametrize("name, snr_db", [("mmsepic", 11.5), ("ep", 10), ("nway", 11),
                                              ("softsphere", 10), ("mla", 10), ("kbest", 11),
                                              ("bitflip", 13)])
    def test_feedback_helps(self, name, snr_db):
        """Over 96 codewords; the first pass is that of a receiver without feedback."""
        bits, _, y, h, noise_var = transmitted(96, snr_db)
        received = receiver(name).receive(y, h, noise_var, keep_history=True)
        wrong = np.mean(np.any(received.history != bits, axis=2), axis=1)
        assert wrong[0] > 0.2 and wrong[3] < 0.6 * wrong[0]
        once = receiver(name, iterations=1).receive(y, h, noise_var)
        np.testing.assert_array_equal(once.bits, received.history[0])
        np.testing.assert_array_equal(once.detected, received.detected)
        np.testing.assert_array_equal(received.bits, received.history[-1])

    def test_many_passes_stay_right(self):
        """The LLRs of max-log decoders, that are far too sure, may not grow from pass to pass."""
        code = coding.get("turbo:512")
        decoder = code.decoder(iterations=8, early_stop=False, backend="cpu")
        interleaver = coding.RandomInterleaver(code.num_bits, 1)
        detector = detectors.BitFlip(extrinsic=True, backend="cpu")
        receiver = iterative.IterativeReceiver(detector, decoder, interleaver, 8, False, 1.0)
        rng = np.random.default_rng(1)
        bits = rng.integers(0, 2, (16, 512), np.uint8)
        x = detector.constellation.modulate(receiver.layout.spread(code.encode(bits)))
        h, noise_var = channel.flat_rayleigh(len(x), 4, 4, rng), 4 / 10**1.5
        y = np.einsum("nij,nj->ni", h, x) + channel.awgn((len(x), 4), noise_var, rng)
        history = receiver.receive(y.astype(np.complex64), h, noise_var, keep_history=True).history
        assert np.all(history[1:] == bits)

    def test_by_hand(self):
        """Two passes, spelled out with the parts."""
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
        """A decoder that knows the codewords: the detector's extrinsic LLRs, of each layer without
        the others, have their errors at once at an SNR where without feedback one bit of eight is
        wrong."""
        _, words, y, h, noise_var = transmitted(32, 9)

        class Knowing:
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
            one = detectors.MLA(1, 4)
            others = np.delete(np.arange(4), layer)
            left = y - np.einsum("nij,nj->ni", h[:, :, others], x[:, others])
            alone.append(one.detect(left.astype(np.complex64),
                                    np.ascontiguousarray(h[:, :, layer:layer + 1]), noise_var))
        # a bit whose companions in its symbol are known has at least as many right
        unknown = np.mean((np.concatenate(alone, axis=1) > 0)
                          != iterative.CodewordLayout(648, 16, INTERLEAVER).spread(words))
        assert before > 0.1 and after <= unknown < 0.5 * before

    @pytest.mark.parametrize("name", ["mmsepic", "bitflip"])
    @pytest.mark.parametrize("per_channel", [1, 4, 41])
    def test_early_stop(self, name, per_channel):
        """Codewords that leave are those that would have been found at that pass; those that stay
        do not notice."""
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

    def test_bit_flipping_takes_the_decisions_of_zfsic_and_of_the_decoder(self):
        _, words, y, h, noise_var = transmitted(8, 12)
        seen = []

        class Watched(detectors.BitFlip):
            name = "bitflip"

            def detect(self, y, h, noise_var, prior=None, out=None, hard=None):
                seen.append(hard)
                return super().detect(y, h, noise_var, prior, out, hard)

        watched = Watched(extrinsic=True)
        loop = iterative.IterativeReceiver(watched, ldpc.LdpcDecoder(MATRIX), INTERLEAVER, 3, False)
        first = iterative.IterativeReceiver(detectors.BitFlip(extrinsic=True),
                                            ldpc.LdpcDecoder(MATRIX), INTERLEAVER, 1)
        loop.receive(y, h, noise_var)
        assert seen[0] is None and [len(hard) for hard in seen[1:]] == [2, 3]
        zfsic = detectors.ZFSIC().detect(y, h, noise_var) > 0
        decided = loop.layout.spread(first.receive(y, h, noise_var).bits)
        np.testing.assert_array_equal(seen[2][0], zfsic)
        np.testing.assert_array_equal(seen[2][:2], seen[1])
        np.testing.assert_array_equal(seen[1][1], decided)

    def test_kept_messages(self):
        """Two decoder iterations a pass: going on from the messages finds more. The next batch
        does not see them."""
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

    @pytest.mark.parametrize("iterations", [1, 3])
    @pytest.mark.parametrize("early_stop", [True, False])
    def test_last_decoder(self, iterations, early_stop):
        """Its turn is the last pass, for those that are left then."""
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

    def test_last_decoder_of_another_code(self):
        with pytest.raises(ValueError, match="last_decoder: got one of 576 bits, must be of 648"):
            iterative.IterativeReceiver(detectors.MMSE(), CODE.decoder(), iterations=1,
                                        last_decoder=coding.get("wimax:576:1/2").decoder())

    def test_all_leave(self):
        bits, words, y, h, noise_var = transmitted(5, 30)
        received = receiver().receive(y, h, noise_var, keep_history=True)
        assert received.found.all() and np.all(received.iterations == 1)
        np.testing.assert_array_equal(received.bits, bits)
        np.testing.assert_array_equal(received.posterior > 0, words)
        assert received.history.shape == (4, 5, 324) and received.erasures == 0
        np.testing.assert_array_equal(received.history, [bits] * 4)

    def test_what_cannot_be_detected_is_an_erasure(self):
        bits, _, y, h, noise_var = transmitted(4, 25)
        y = y.copy()
        y[3], y[41:82] = np.nan, np.inf
        received = receiver().receive(y, h, noise_var)
        assert received.erasures == 42
        np.testing.assert_array_equal(received.found, [True, False, True, True])
        assert np.all(np.isfinite(received.posterior)) and not received.posterior[1].any()
        np.testing.assert_array_equal(received.bits[[0, 2, 3]], bits[[0, 2, 3]])

    @pytest.mark.parametrize("early_stop", [True, False])
    def test_llrs_that_are_known_already(self, early_stop):
        """The first pass takes them: those of the same detector change nothing, others do."""
        _, _, y, h, noise_var = transmitted(16, 11.5)
        loop = receiver(early_stop=early_stop)
        first = detectors.MMSEPIC().detect(y, h, noise_var)
        plain = loop.receive(y, h, noise_var)
        given = loop.receive(y, h, noise_var, first=first)
        for name in ("posterior", "found", "iterations", "detected"):
            np.testing.assert_array_equal(getattr(given, name), getattr(plain, name))
        known = np.where(first > 0, np.float32(20), np.float32(-20))
        other = loop.receive(y, h, noise_var, first=known)
        np.testing.assert_array_equal(other.detected, loop.layout.gather(known))
        assert not np.array_equal(other.posterior, plain.posterior) and other.erasures == 0
        with pytest.raises(ValueError, match=r"first: got shape \(3, 16\), must be \(656, 16\)"):
            loop.receive(y, h, noise_var, first=first[:3])

    def test_no_codewords(self):
        received = receiver().receive(np.zeros((0, 4), np.complex64),
                                      np.zeros((0, 4, 4), np.complex64), 0.1, keep_history=True)
        assert received.bits.shape == (0, 324) and received.history.shape == (4, 0, 324)

    @pytest.mark.parametrize("name, arguments, message", [
        ("mmse", {}, "detector: mmse takes no a-priori LLRs; allowed are iterations=1, or"),
        ("sd", {}, "detector: sd decides hard; allowed are iterations=1, or"),
        ("nway", {"iterations": 0}, "iterations: got 0, allowed are 1 to 1000"),
        ("nway", {"feedback_scale": 0}, "feedback_scale: got 0"),
        ("nway", {"early_stop": 1}, "early_stop: got 1, must be True or False"),
        ("nway", {"llr_type": "int8"}, "detector: got nway with llr_type=int8, must be float32"),
        ("nway", {"interleaver": coding.RandomInterleaver(600)}, "interleaver: got one of 600"),
        ("nway", {"decoder": CODE.decoder(keep_messages=True)},
         "decoder: got keep_messages=True, allowed with early_stop=False")])
    def test_refusals(self, name, arguments, message):
        if name == "sd":    # it has no extrinsic output to ask for
            with pytest.raises(ValueError, match=message):
                iterative.IterativeReceiver(detectors.SD(), CODE.decoder())
            return
        with pytest.raises(ValueError, match=message):
            receiver(name, **arguments)

    def test_a_posteriori_output_is_refused(self):
        with pytest.raises(ValueError, match="got nway with extrinsic=False, must be extrinsic"):
            iterative.IterativeReceiver(detectors.NWay(), CODE.decoder())

    def test_one_pass_of_any_detector(self):
        bits, _, y, h, noise_var = transmitted(6, 25)
        for name in ("mmse", "zfsic"):
            received = receiver(name, iterations=1).receive(y, h, noise_var)
            np.testing.assert_array_equal(received.bits, bits)

    def test_parts_of_codewords_are_refused(self):
        with pytest.raises(ValueError, match=r"y: got shape \(40, 4\), must be \(n \* 41, nr\)"):
            receiver().receive(np.zeros((40, 4), np.complex64), np.zeros((40, 4, 4), "c8"), 0.1)


class TestSharing:
    @pytest.mark.parametrize("n, threads, used", [(50, 1, 1), (50, 3, 2), (50, 2, 2), (33, 4, 3),
                                                  (15, 4, 1), (0, 2, 1)])
    @pytest.mark.parametrize("per_channel", [1, 41, 82])
    def test_same_as_one_receiver(self, n, threads, used, per_channel):
        """82 vectors: two codewords have a matrix together, also of different receivers."""
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
        """By the decoder of the last pass, which may be a list's."""
        _, _, y, h, noise_var = transmitted(40, 20)
        y[:82] = np.nan
        for passes, early_stop in ((1, True), (3, False)):
            decoder = CODE.decoder()
            made = partial(iterative.IterativeReceiver, receiver().detector, decoder, INTERLEAVER,
                           passes, early_stop, last_decoder=coding.ListDecoder(decoder, 2))
            found = iterative.SharedReceiver(made, threads=1).receive(y, h, noise_var)
            assert found.erased == 2 and found.erasures == 82

    def test_each_gpu_has_its_share(self, monkeypatch):
        """Stand-ins: the CPU's receivers, which say that they are of GPUs. A number for all
        vectors stays here, in whatever form."""
        log, uploaded = [], []

        class Device:
            def __init__(self, number):
                log.append(number)

            def __enter__(self):
                pass

            def __exit__(self, *_):
                pass

        fake = SimpleNamespace(asnumpy=np.asarray, cuda=SimpleNamespace(Device=Device))
        monkeypatch.setattr(iterative.sharing, "cupy", lambda: fake)
        monkeypatch.setattr(iterative.sharing, "Upload",
                            lambda: lambda array, threads: uploaded.append(array.ndim) or array)

        def make(device):
            made = receiver()
            made.detector.backend, made.detector.device = "cuda", device
            made.detector.detect = detectors.create("mmsepic", extrinsic=True).detect
            return made

        shared = iterative.SharedReceiver(make, [0, 3])
        _, _, y, h, noise_var = transmitted(7, 10.5)
        found = shared.receive(y, h, np.full(len(y), noise_var, np.float32))
        np.testing.assert_array_equal(found.bits, receiver().receive(y, h, noise_var).bits)
        assert sorted(log) == [0, 3] and found.history is None
        assert sorted(uploaded) == [1, 1, 2, 2, 3, 3]
        log.clear()
        shared.receive(y[:41], h[:41], noise_var)
        assert log == [0]
        np.testing.assert_array_equal(
            shared.receive(y[:41], h[:41], np.array(noise_var, np.float32)).bits, found.bits[:1])
        assert sorted(uploaded[6:]) == [2, 2, 3, 3]

    def test_a_failure_waits_for_the_others(self):
        made, done = [], []

        def make():
            each = receiver()
            receive = each.receive
            made.append(each)

            def slow(*arguments):
                if each is made[0]:
                    raise RuntimeError("injected")
                receive(*arguments)
                done.append(each)

            each.receive = slow
            return each

        _, _, y, h, noise_var = transmitted(32, 10.5)
        with pytest.raises(RuntimeError, match="injected"):
            iterative.SharedReceiver(make, threads=2).receive(y, h, noise_var)
        assert done == [made[1]]


class OnDevice(np.ndarray):
    """Stands for CuPy's array: takes part in nothing with an array of the host."""

    __module__ = "cupy"
    device = SimpleNamespace(id=0)
    copies = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **keywords):
        arrays = [*inputs, *out]
        assert all(type(a) is OnDevice for a in arrays if isinstance(a, np.ndarray) and a.ndim)
        plain = [a.view(np.ndarray) if isinstance(a, OnDevice) else a for a in inputs]
        if out:
            keywords["out"] = tuple(a.view(np.ndarray) for a in out)
        result = getattr(ufunc, method)(*plain, **keywords)
        return out[0] if out else _on_device(result)

    def __getitem__(self, key):
        self._check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._check(key)
        self._check(value)
        super().__setitem__(key, value)

    @staticmethod
    def _check(value):
        for part in value if isinstance(value, tuple) else (value,):
            assert type(part) is not np.ndarray


def _on_device(value):
    return value.view(OnDevice) if isinstance(value, np.ndarray) else value


def _fake_cupy():
    module = ModuleType("cupy")

    def wrap(name):
        def call(*arguments, **keywords):
            if name == "asarray":
                OnDevice.copies += 1
            else:
                for argument in arguments:
                    OnDevice._check(argument)
            return _on_device(getattr(np, name)(*arguments, **keywords))
        return call

    for name in ("abs", "arange", "asarray", "ascontiguousarray", "clip", "concatenate", "copyto",
                 "empty", "flatnonzero", "full", "stack", "take", "where", "zeros"):
        setattr(module, name, wrap(name))
    return module


def _host(values):
    return values.view(np.ndarray) if isinstance(values, OnDevice) else values


class DeviceBitFlip(detectors.BitFlip):
    """The CPU's, in CuPy's place."""

    name = "bitflip"

    def detect(self, y, h, noise_var, prior=None, out=None, hard=None):
        assert {type(a) for a in (y, h, prior, hard) if a is not None} == {OnDevice}
        arguments = [_host(a) for a in (y, h, noise_var, prior, out, hard)]
        return _on_device(super().detect(*arguments))


class DeviceDecoder(ldpc.LdpcDecoder):
    def decode(self, llr, out=None):
        assert type(llr) is OnDevice and llr.flags.c_contiguous
        posterior = _on_device(super().decode(_host(llr)))
        self.found, self.iterations_taken = map(_on_device, (self.found, self.iterations_taken))
        return posterior


@pytest.mark.parametrize("list_bits", [0, 2])
@pytest.mark.parametrize("early_stop", [True, False])
def test_arrays_of_a_gpu_stay_there(monkeypatch, early_stop, list_bits):
    """Same results, no array of the host among them, and what is constant goes there once: two
    orders of the interleaver, the bits sent, those of information; and where those sent once or
    twice have their LLRs."""
    monkeypatch.setitem(sys.modules, "cupy", _fake_cupy())
    sent = np.append(np.arange(8, 640), [3, 600])    # punctured, and repeated
    code, there = (coding.Code(ldpc.LdpcEncoder(MATRIX), partial(kind, MATRIX),
                               coding.Selection(324, 648, sent))
                   for kind in (ldpc.LdpcDecoder, DeviceDecoder))
    interleaver = coding.RandomInterleaver(len(sent), 1)
    rng = np.random.default_rng(4)
    words = code.encode(rng.integers(0, 2, (12, 324), np.uint8))
    x = POINTS.modulate(iterative.CodewordLayout(634, 16, interleaver).spread(words))
    h = channel.flat_rayleigh(len(x), 4, 4, rng)
    y = (np.einsum("nij,nj->ni", h, x) + channel.awgn(x.shape, 0.22, rng)).astype(np.complex64)
    noise_var = np.full(len(y), 0.22, np.float32)

    def make(detector, decoder):
        return iterative.IterativeReceiver(detector(extrinsic=True), decoder, interleaver, 3,
                                           early_stop, 0.5, coding.ListDecoder(decoder, list_bits))

    expected = make(detectors.BitFlip, code.decoder()).receive(y, h, noise_var, True)
    there = make(DeviceBitFlip, there.decoder())
    zfsic = there._first.detect
    monkeypatch.setattr(there._first, "detect",
                        lambda *arguments: _on_device(zfsic(*map(_host, arguments))))
    OnDevice.copies = 0
    for _ in range(2):
        received = there.receive(*map(_on_device, (y, h, noise_var)), True)
    assert OnDevice.copies == 8 and 0 < expected.found.sum() < 12
    for name in ("posterior", "bits", "found", "iterations", "decoder_iterations", "detected",
                 "history"):
        value = getattr(received, name)
        assert type(value) is OnDevice
        np.testing.assert_array_equal(_host(value), getattr(expected, name))


class TestWhatIsRecorded:
    def test_batches(self):
        """Each codeword, of 41 vectors, has matrices of its own, for as many vectors each."""
        graphs = iterative.graphs.Graphs(receiver().layout, 1)
        assert all(graphs.takes(n, matrices) for n, matrices in (
            (1, 1), (1, 41), (512, 512), (512, 512 * 41)))
        assert not any(graphs.takes(n, matrices) for n, matrices in (
            (0, 0), (2, 1), (513, 513), (2, 3), (2, 4)))

    def test_what_cannot_be_recorded_is_called(self, monkeypatch):
        def failing(*_):
            raise RuntimeError("injected")

        stream = SimpleNamespace(synchronize=lambda: None)
        fake = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
        monkeypatch.setattr(iterative.graphs, "cupy", lambda: fake)
        monkeypatch.setattr(iterative.graphs, "_Recording", failing)
        calls = []
        graphs = iterative.graphs.Graphs(receiver().layout, 1)
        device = nullcontext()
        device.id = 0
        y = SimpleNamespace(shape=(41, 4), device=device)
        batch = SimpleNamespace(y=y, h=np.zeros((41, 4, 4)))
        with pytest.warns(RuntimeWarning, match="no CUDA graphs.*injected"):
            graphs.receive(lambda *call: calls.append(call), batch, 1, (True,))
        assert calls == [(batch, True)] and not graphs.takes(1, 41)

    def test_graphs_is_a_flag(self):
        with pytest.raises(ValueError, match="graphs: got 2"):
            iterative.IterativeReceiver(detectors.EP(extrinsic=True), CODE.decoder(), graphs=2)


@pytest.mark.gpu
class TestGraphs:
    """What is recorded gives what calls do."""

    @pytest.fixture(autouse=True)
    def module(self):
        self.xp = pytest.importorskip("cupy")

    def make(self, name="mmsepic", decoder=None, **options):
        detector = detectors.create(name, backend="cuda", extrinsic=True)
        decoder = decoder or CODE.decoder(iterations=10, backend="cuda")
        return [iterative.IterativeReceiver(detector, decoder, INTERLEAVER, 3, False,
                                            graphs=graphs, **options) for graphs in (False, True)]

    def compare(self, made, y, h, noise_var, **options):
        there = [self.xp.asarray(value) if np.ndim(value) else value
                 for value in (y, h, noise_var)]
        expected, played = (each.receive(*there, **options) for each in made)
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
        assert len(made[1]._graphs._recorded) == 3    # of 8, 1 and 16 codewords

    def test_what_is_useless(self):
        made = self.make()
        _, _, y, h, noise_var = transmitted(3, 10.5)
        vectors = made[0].layout.vectors
        y[1], h[vectors:2 * vectors] = np.nan, 0
        noise_var = np.full(len(y), noise_var, np.float32)
        noise_var[-1] = -1
        found = self.compare(made, y, h, noise_var)
        assert found.erasures == vectors + 2 and found.erased == 1
        with pytest.raises(ValueError, match="noise_var: got -1"):
            made[1].receive(self.xp.asarray(y), self.xp.asarray(h), -1.0)

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
        made = self.make(decoder=decoder)
        _, _, y, h, noise_var = transmitted(3, 9)
        first = self.compare(made, y, h, noise_var)
        decoder.iterations = 2
        assert self.compare(made, y, h, noise_var).decoder_iterations.max() <= 6
        for each in made:
            each.feedback_scale = 0.1
        changed = self.compare(made, y, h, noise_var)
        assert not np.array_equal(changed.posterior.get(), first.posterior.get())
        for each in made:
            each.early_stop = True
        self.compare(made, y, h, noise_var)

    def test_what_outlives_a_recording(self, monkeypatch):
        """Memory of what detector, decoder and interleaver keep."""
        monkeypatch.setattr(iterative.graphs, "KEPT", 1)
        code, interleaver = coding.Code(ldpc.LdpcEncoder(MATRIX), partial(
            ldpc.LdpcDecoder, MATRIX)), coding.RandomInterleaver(648, 3)
        detector = detectors.create("mmsepic", backend="cuda", extrinsic=True)
        _, _, y, h, noise_var = transmitted(9, 10.5)
        expected = self.make()[0].receive(self.xp.asarray(y), self.xp.asarray(h), noise_var)
        played = iterative.IterativeReceiver(
            detector, code.decoder(iterations=10, backend="cuda"), interleaver, 3, False)
        for _ in range(3):
            for n in (9, 1, 5):
                rows = slice(n * played.layout.vectors)
                for _ in range(2):
                    found = played.receive(*map(self.xp.asarray, (y[rows], h[rows])), noise_var)
                    np.testing.assert_array_equal(found.bits.get(), expected.bits[:n].get())
                gc.collect()
                self.xp.full(2**22, 7)    # where memory was given back

    def test_one_matrix_for_all(self):
        made = self.make()
        _, _, y, h, noise_var = transmitted(2, 15, per_channel=82)
        self.compare(made, y, h, noise_var)
        assert not made[1]._graphs._recorded

    def test_arrays_of_the_host(self, monkeypatch):
        """Sent in pieces, as SharedReceiver does."""
        monkeypatch.setattr(transfer, "UPLOAD_BYTES", 10_000)
        _, _, y, h, noise_var = transmitted(9, 10.5)
        expected = self.make()[1].receive(self.xp.asarray(y), self.xp.asarray(h), noise_var)
        shared = iterative.SharedReceiver(lambda device: self.make()[1], [0])
        for noise in (noise_var, np.full(len(y), noise_var, np.float32)):
            found = shared.receive(y, h, noise, keep_history=True)
            np.testing.assert_array_equal(found.bits, expected.bits.get())
            np.testing.assert_array_equal(found.found, expected.found.get())
        assert not len(shared.receive(y[:0], h[:0], noise_var).bits)
