# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames with an LDPC code, detected and decoded several times."""

import numpy as np
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors, wifi
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.wifi import HT, VHT, Receiver, mac
from gnuradio.mimopack.wifi.iterations import LdpcIterations
from wifi_air import air, data_mpdu, multipath

FORMATS = {"ht 4x4": lambda n: HT(26, n, coding="ldpc"),
           "ht 2x2": lambda n: HT(11, n, coding="ldpc"),
           "vht 3x3": lambda n: VHT.of_length(3, n, 3, coding="ldpc")}
STREAMS = {"ht 4x4": 4, "ht 2x2": 2, "vht 3x3": 3}


def simulate(name, snr_db, count=24, payload=400, seed=1):
    """Samples and sent frames, each through a channel of its own."""
    frames = [(FORMATS[name], [data_mpdu(payload, number)]) for number in range(count)]
    return air(frames, STREAMS[name], snr_db=snr_db, cfo_hz=30e3, seed=seed, channel=multipath)


def receive(samples, **options):
    receiver = Receiver(len(samples), **options)
    return receiver.process(samples) + receiver.finish()


class TestGain:
    @pytest.mark.parametrize("name, detector, snr_db", [
        ("ht 4x4", "mmsepic", 8.5), ("ht 4x4", "nway", 6.7), ("ht 2x2", "mmsepic", 11.5),
        ("vht 3x3", "mmsepic", 11.5)])
    def test_four_passes_save_frames(self, name, detector, snr_db):
        """What one pass decodes stays, of what it loses a good part is saved, no byte is wrong."""
        samples, sent = simulate(name, snr_db, 48)
        once, often = (receive(samples, detector=detector, passes=1, iterations=count)
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
        """Convolutional codes, single streams and space-time block codes have one pass."""
        frames = [(lambda n: HT(9, n), [data_mpdu(300, 1)]),
                  (lambda n: HT(3, n, coding="ldpc"), [data_mpdu(300, 2)]),
                  (lambda n: HT(8, n, coding="ldpc", stbc=1), [data_mpdu(300, 3)])]
        samples, _ = air(frames * 6, 3, snr_db=4, channel=multipath, seed=2)
        once, often = (receive(samples, detector="mmsepic", iterations=count) for count in (1, 4))
        assert any(not frame.fcs_ok for frame in once) and any(frame.fcs_ok for frame in once)
        assert [frame.psdu for frame in often] == [frame.psdu for frame in once]

    def test_incomplete_frames_go_on_and_keep_what_they_have(self, monkeypatch):
        calls = []
        decode = LdpcIterations.decode
        monkeypatch.setattr(LdpcIterations, "decode", lambda self, y, *rest: (
            calls.append(len(y)), decode(self, y, *rest))[1])
        broken = bytearray(data_mpdu(200, 1))
        broken[-1] ^= 1
        both = lambda n: VHT.of_length(3, n, 2, coding="ldpc")    # noqa: E731
        samples, _ = air([(both, [bytes(broken), data_mpdu(200, 2)]), (both, [bytes(broken)]),
                          (both, [data_mpdu(200, 2)])], 2, snr_db=40)
        first, second, third = receive(samples, detector="mmsepic", iterations=3, passes=1)
        assert [mpdu.fcs_ok for mpdu in first.mpdus] == [False, True]
        assert [mpdu.fcs_ok for mpdu in second.mpdus] == [False]
        assert third.complete
        assert calls == [1, 1]    # not the third


class TestByHand:
    @pytest.mark.parametrize("name, snr_db", [("ht 4x4", 8), ("ht 2x2", 11), ("vht 3x3", 11)])
    def test_two_passes(self, name, snr_db, monkeypatch):
        """In the order of 802.11, symbol by symbol: the same bits, of frames that are lost too."""
        seen = []
        decode = LdpcIterations.decode

        def keep(self, *arguments):
            found = decode(self, *arguments)
            field = self._decoder._field
            seen.append((field, *[np.array(one) for one in arguments[:4]], found))
            return found

        monkeypatch.setattr(LdpcIterations, "decode", keep)
        samples, _ = simulate(name, snr_db, 8)
        receive(samples, detector="mmsepic", iterations=2, passes=1, threads=1)
        (field, y, h, noise_var, llr, found), = seen
        f = field.frame_format
        n, carriers, symbols, rows = y.shape
        detector = detectors.MMSEPIC(f.num_streams, rows, f.constellation, extrinsic=True)
        decoder = ldpc.LdpcDecoder(f.ldpc_matching.code, iterations=wifi.data_field.LDPC_ITERATIONS)
        matching = f.ldpc_matching
        for i in range(n):
            # llr is (carriers, symbols, bits of a vector); field.order takes a symbol's bits.
            sent = llr[i].swapaxes(0, 1).reshape(symbols, -1)
            coded = np.ascontiguousarray(sent[:, field.order]).ravel()
            posterior = matching.match(decoder.decode(matching.recover(coded)))
            fed = np.empty_like(sent)
            fed[:, field.order] = np.clip(np.float32(0.6) * (posterior - coded), -100,
                                          100).reshape(symbols, -1)
            prior = np.ascontiguousarray(fed.reshape(symbols, carriers, -1).swapaxes(0, 1))
            again = detector.detect(y[i].reshape(-1, rows), h[i], noise_var[i],
                                    prior.reshape(carriers * symbols, -1))
            sent = again.reshape(carriers, symbols, -1).swapaxes(0, 1).reshape(symbols, -1)
            coded = np.ascontiguousarray(sent[:, field.order]).ravel()
            bits = matching.match(decoder.decode(matching.recover(coded))) > 0
            np.testing.assert_array_equal(found[i].scrambled, bits[matching.information])
        assert n >= 2

    def test_erasures_are_no_traceback(self):
        samples, sent = simulate("ht 4x4", 25, 3)
        begin = sent[1].start + 1000
        samples[:, begin:begin + 400] = np.nan
        frames = receive(samples, detector="mmsepic", iterations=3)
        good = [frame.fcs_ok for frame in frames if abs(frame.start - sent[1].start) > 100]
        assert good == [True, True]


class TestBlock:
    def test_iterations_save_frames(self):
        samples, sent = simulate("ht 4x4", 8.5)
        decoded = []
        for iterations in (1, 4):
            top = gr.top_block()
            receiver = mimopack.wifi_receiver(4, detector="mmsepic", passes=1,
                                              iterations=iterations)
            for port, one in enumerate(samples):
                top.connect(blocks.vector_source_c(one), (receiver, port))
            top.run()
            counts = receiver.counts()
            assert counts["failures"] == 0 and counts["frames"] == len(sent)
            decoded.append(counts["decoded"])
        assert decoded[1] >= decoded[0] + 2

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


def test_mpdus_of_an_ampdu():
    """Iterations save MPDUs, also of frames that have some, and lose none."""
    mpdus = [data_mpdu(200, number) for number in range(3)]
    frames = [(FORMATS["vht 3x3"], mpdus)] * 16
    samples, _ = air(frames, 3, snr_db=11.5, channel=multipath, seed=5)
    good = [[{mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok}
             for frame in receive(samples, detector="mmsepic", passes=1, iterations=count)]
            for count in (1, 4)]
    pairs = list(zip(*good, strict=True))
    assert all(before <= after <= set(mpdus) for before, after in pairs)
    assert any(before < after for before, after in pairs if before)
    assert any(before < after for before, after in pairs if not before)


def test_single_mpdus_and_ampdus_of_one_length_in_turns():
    """Iterations take each frame's PSDU apart as its own HT-SIG says, whatever came before."""
    single, aggregated = [data_mpdu(300, 1)], [data_mpdu(140, 2), data_mpdu(100, 3)]
    psdu = len(mac.aggregate(aggregated))
    single = [data_mpdu(300 + psdu - len(single[0]), 1)]
    frames = [(lambda n: HT(11, n, coding="ldpc"), single),
              (lambda n: HT(11, n, coding="ldpc", aggregated=True), aggregated)] * 15
    samples, sent = air(frames, 2, snr_db=11, seed=3, channel=multipath)
    assert len({frame.format.length for frame in sent}) == 1
    once, several = receive(samples, passes=1), receive(samples, passes=1, iterations=4)
    for kind in (0, 1):
        good = [sum(any(mpdu.fcs_ok for mpdu in frame.mpdus) for frame in frames
                    if frame.format and frame.format.aggregated == bool(kind))
                for frames in (once, several)]
        assert good[1] > good[0]
