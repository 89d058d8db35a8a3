# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterations between detector and decoder for Wi-Fi frames."""

import numpy as np
import pytest
from gnuradio import mimopack
from gnuradio.mimopack import detectors, wifi
from gnuradio.mimopack.coding import ConvolutionalDecoder, ldpc
from gnuradio.mimopack.wifi import HE, HT, VHT, mac
from gnuradio.mimopack.wifi.iterations import Iterations
from gnuradio.mimopack.wifi.points import copies_combined, from_symbols, to_symbols
from wifi_air import air, data_mpdu, frames_in, multipath

FORMATS = {"ht 4x4": lambda n: HT(26, n, coding="ldpc"),
           "ht 2x2": lambda n: HT(11, n, coding="ldpc"),
           "vht 3x3": lambda n: VHT.of_length(3, n, 3, coding="ldpc"),
           "bcc 2x2": lambda n: HT(11, n),
           "bcc 4x4": lambda n: HT(28, n),
           "bcc 3x3": lambda n: VHT.of_length(3, n, 3),
           "2 encoders": lambda n: HT(28, n, bandwidth_mhz=40),
           "3 encoders": lambda n: VHT.of_length(8, n, 4, bandwidth_mhz=80),
           "he 2x2": lambda n: HE.of_length(3, n, 2, coding="ldpc"),
           "midambles": lambda n: HE.of_length(3, n, 2, midamble=10),
           "dcm qpsk": lambda n: HE.of_length(1, n, 2, dcm=True),
           "dcm 16-qam": lambda n: HE.of_length(4, n, 2, dcm=True),
           "stbc": lambda n: HT(11, n, stbc=1),
           "stbc, unequal": lambda n: HT(33, n, stbc=1, coding="ldpc")}


def simulate(name, snr_db, count=24, payload=400, seed=1):
    """Return samples and sent frames, each frame through its own channel."""
    frames = [(FORMATS[name], [data_mpdu(payload, number)]) for number in range(count)]
    f = FORMATS[name](payload)
    return air(frames, f.num_streams, snr_db=snr_db, cfo_hz=30e3, seed=seed, channel=multipath,
               sample_rate=f.bandwidth_mhz * 1e6)


class TestGain:
    @pytest.mark.parametrize("name, detector, snr_db, payload", [
        ("ht 4x4", "nway", 6.7, 400), ("vht 3x3", "mmsepic", 11.5, 400),
        ("bcc 2x2", "nway", 11, 400), ("3 encoders", "mmsepic", 31, 400),
        ("he 2x2", "nway", 10, 400), ("midambles", "nway", 12, 1500), ("dcm qpsk", "nway", 3, 1500),
        ("dcm 16-qam", "mmsepic", 11, 400), ("stbc", "nway", 10, 400),
        ("stbc, unequal", "nway", 7, 400)])
    def test_four_passes_save_frames(self, name, detector, snr_db, payload):
        """Frames decoded in one pass are kept, many others are saved, and no byte is wrong."""
        samples, sent = simulate(name, snr_db, 48, payload)
        rate = sent[0].format.bandwidth_mhz * 1e6
        once, often = (frames_in(samples, rate, detector=detector, passes=1, iterations=count)
                       for count in (1, 4))
        assert len(once) == len(often) == len(sent)
        lost = np.zeros(2, int)
        for first, last, one in zip(once, often, sent, strict=True):
            lost += [not first.fcs_ok, not last.fcs_ok]
            if first.fcs_ok:
                assert last.psdu == first.psdu
            if last.fcs_ok:
                assert [mpdu.data for mpdu in last.mpdus] == one.mpdus
        assert lost[0] >= 12 and lost[1] <= 0.7 * lost[0], lost

    def test_other_frames_are_not_touched(self):
        """Single streams get one pass, with a space-time block code too."""
        frames = [(lambda n: HT(1, n), [data_mpdu(300, 1)]),
                  (lambda n: HT(3, n, coding="ldpc"), [data_mpdu(300, 2)]),
                  (lambda n: HT(3, n, coding="ldpc", stbc=1), [data_mpdu(300, 3)])]
        samples, _ = air(frames * 6, 3, snr_db=1, channel=multipath, seed=2)
        once, often = (frames_in(samples, detector="mmsepic", iterations=count) for count in (1, 4))
        assert any(not frame.fcs_ok for frame in once) and any(frame.fcs_ok for frame in once)
        assert [frame.psdu for frame in often] == [frame.psdu for frame in once]

    @pytest.mark.parametrize("coding", ["bcc", "ldpc"])
    def test_incomplete_frames_go_on_and_keep_what_they_have(self, coding, monkeypatch):
        calls = []
        decode = Iterations.decode
        monkeypatch.setattr(Iterations, "decode", lambda self, y, *rest: (
            calls.append(len(y)), decode(self, y, *rest))[1])
        broken = bytearray(data_mpdu(200, 1))
        broken[-1] ^= 1
        both = lambda n: VHT.of_length(3, n, 2, coding=coding)    # noqa: E731
        samples, _ = air([(both, [bytes(broken), data_mpdu(200, 2)]), (both, [bytes(broken)]),
                          (both, [data_mpdu(200, 2)])], 2, snr_db=40)
        first, second, third = frames_in(samples, detector="mmsepic", iterations=3, passes=1)
        assert [mpdu.fcs_ok for mpdu in first.mpdus] == [False, True]
        assert [mpdu.fcs_ok for mpdu in second.mpdus] == [False]
        assert third.complete
        assert calls == [1, 1]    # not the third


def ldpc_by_hand(f):
    """Return a function from a frame's coded LLRs to (a-posteriori LLRs, decided bits)."""
    matching = f.ldpc_matching
    decoder = ldpc.LdpcDecoder(matching.code, iterations=wifi.data_field.LDPC_ITERATIONS)

    def decode(coded):
        posterior = matching.match(decoder.decode(matching.recover(coded)))
        return posterior, posterior[matching.information] > 0

    return decode


def convolutional_by_hand(f):
    """Return the same function for the convolutional code, one encoder at a time."""
    encoders, info = f.num_encoders, f.tail_position // f.num_encoders
    decoder = ConvolutionalDecoder(info, f.code_rate)
    sent = decoder.num_bits - info

    def decode(coded):
        posterior, bits = coded.reshape(f.num_symbols, encoders, -1).copy(), np.zeros(
            f.num_scrambled, bool)
        for index in range(encoders):
            word = np.concatenate([np.zeros(info, np.float32), posterior[:, index].ravel()[:sent]])
            found, = decoder.decode(word[None])
            whole = posterior[:, index].ravel()
            whole[:sent] = found[info:]
            posterior[:, index] = whole.reshape(f.num_symbols, -1)
            bits[index:f.tail_position:encoders] = found[:info] > 0
        return posterior.ravel(), bits

    return decode


class TestByHand:
    @pytest.mark.parametrize("name, snr_db", [
        ("ht 4x4", 8), ("ht 2x2", 11), ("vht 3x3", 11), ("bcc 2x2", 10), ("bcc 4x4", 13),
        ("bcc 3x3", 11), ("2 encoders", 13), ("3 encoders", 27)])
    def test_two_passes(self, name, snr_db, monkeypatch):
        """In the order of 802.11, symbol by symbol: the same bits, also for lost frames."""
        seen = []
        decode = Iterations.decode

        def keep(self, *arguments):
            found = decode(self, *arguments)
            field = self._decoder._field
            seen.append((field, *[np.array(one) for one in arguments[:3]], found))
            return found

        monkeypatch.setattr(Iterations, "decode", keep)
        samples, sent = simulate(name, snr_db, 8)
        frames_in(samples, sent[0].format.bandwidth_mhz * 1e6, detector="mmsepic", iterations=2,
                passes=1, threads=1)
        assert sum(len(found) for *_, found in seen) >= 2
        for batch in seen:
            self.check(*batch)

    @staticmethod
    def check(field, y, h, noise_var, found):
        f = field.frame_format
        n, carriers, symbols, rows = y.shape
        detector = detectors.MMSEPIC(f.num_streams, rows, f.constellation, extrinsic=True)
        decode = (ldpc_by_hand if f.coding == "ldpc" else convolutional_by_hand)(f)

        def detect(i, prior=None):
            """Return a frame's LLRs in code order.

            Vectors have LLRs (carriers, symbols, bits); field.order indexes a symbol's bits.
            """
            llr = detector.detect(y[i].reshape(-1, rows), h[i], noise_var[i], prior)
            sent = llr.reshape(carriers, symbols, -1).swapaxes(0, 1).reshape(symbols, -1)
            return np.ascontiguousarray(sent[:, field.order]).ravel()

        # The padding after the tail of the convolutional code is not decoded.
        end = f.num_scrambled if f.coding == "ldpc" else f.tail_position
        for i in range(n):
            coded = detect(i)
            posterior, _ = decode(coded)
            fed = np.empty((symbols, coded.size // symbols), np.float32)
            fed[:, field.order] = np.clip(np.float32(0.6) * (posterior - coded), -100,
                                          100).reshape(symbols, -1)
            prior = np.ascontiguousarray(fed.reshape(symbols, carriers, -1).swapaxes(0, 1))
            _, bits = decode(detect(i, prior.reshape(carriers * symbols, -1)))
            np.testing.assert_array_equal(found[i].scrambled[:end], bits[:end])

    @pytest.mark.parametrize("name", ["ht 4x4", "bcc 4x4", "2 encoders"])
    def test_erasures_are_no_traceback(self, name):
        samples, sent = simulate(name, 30, 3, payload=1500)
        rate = sent[0].format.bandwidth_mhz * 1e6
        begin = sent[1].start + 1000
        samples[:, begin:begin + 400] = np.nan
        frames = frames_in(samples, rate, detector="mmsepic", iterations=3)
        good = [frame.fcs_ok for frame in frames if abs(frame.start - sent[1].start) > 100]
        assert good == [True, True]


class TestBlock:

    @pytest.mark.parametrize("block", [mimopack.wifi_receiver, mimopack.wifi_decoder])
    @pytest.mark.parametrize("arguments, message", [
        ({"detector": "mmse"}, "detector: got 'mmse', which takes no a-priori LLRs; .*nway"),
        ({"detector": "sd"}, "detector: got 'sd'"),
        ({"iterations": 0}, "iterations: got 0, allowed are 1 to"),
        ({"iterations": 2.0}, "iterations: got 2.0, must be an integer"),
        ({"detector": "best"}, "detector: got 'best', allowed are .*nway")])
    def test_refusals(self, block, arguments, message):
        with pytest.raises(ValueError, match=message):
            block(**{"num_rx": 2, "iterations": 2, **arguments})


@pytest.mark.quick
@pytest.mark.parametrize("f", [
    HE(1, 12, 2), HE(0, 12, 2, dcm=True), HE(1, 12, 2, dcm=True, coding="ldpc"),
    HE(1, 3, 2, dcm=True, bandwidth_mhz=160, coding="ldpc"), HT(11, 900, stbc=1),
    HT(33, 900, stbc=1)], ids=lambda f: f.describe())
def test_llrs_return_to_their_place(f):
    """The order of a detector and that of the data field; copies of a point have equal LLRs."""
    symbols, bits = f.num_symbols, f.num_points * sum(f.stream_bits)
    llr = np.random.default_rng(1).standard_normal((2, symbols, bits)).astype(np.float32)
    back = to_symbols(copies_combined(from_symbols(llr, f), f), f)
    np.testing.assert_allclose(back, 2 * llr if f.dcm else llr)


@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
def test_single_mpdus_and_ampdus_of_one_length_in_turns(coding):
    """Iterations parse each frame's PSDU by its own HT-SIG, whatever came before."""
    single, aggregated = [data_mpdu(300, 1)], [data_mpdu(140, 2), data_mpdu(100, 3)]
    psdu = len(mac.aggregate(aggregated))
    single = [data_mpdu(300 + psdu - len(single[0]), 1)]
    frames = [(lambda n: HT(11, n, coding=coding), single),
              (lambda n: HT(11, n, coding=coding, aggregated=True), aggregated)] * 15
    samples, sent = air(frames, 2, snr_db=11, seed=3, channel=multipath)
    assert len({frame.format.length for frame in sent}) == 1
    once, several = frames_in(samples, passes=1), frames_in(samples, passes=1, iterations=4)
    for kind in (0, 1):
        good = [sum(any(mpdu.fcs_ok for mpdu in frame.mpdus) for frame in frames
                    if frame.format and frame.format.aggregated == bool(kind))
                for frames in (once, several)]
        assert good[1] > good[0]
