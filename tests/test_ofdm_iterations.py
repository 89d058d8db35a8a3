# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames with an LDPC code, detected and decoded several times: arrays and blocks."""

import numpy as np
import ofdm_air as air
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors, ofdm
from gnuradio.mimopack.coding import ldpc
from test_ofdm_blocks import Messages, Pieces, capture, failing, frame_tag, receive, run

# name: (num_tx, constellation, rate, payload), what is done to the codewords, their number
FORMATS = {
    "punctured": (4, "wlan_qam16", "1/2", 500), "repeated": (2, "wlan_qam16", "2/3", 116),
    "shortened": (2, "wlan_qam64", "3/4", 300), "one": (1, "wlan_qpsk", "1/2", 60)}


def parameters(name):
    num_tx, constellation, rate, payload = FORMATS[name]
    return ofdm.Parameters(num_tx, constellation, f"ldpc:{rate}", payload)


def make(p, num_rx, name="mmsepic", iterations=4, period=1, **options):
    detector = detectors.create(name, num_tx=p.num_tx, num_rx=num_rx,
                                constellation=p.constellation, extrinsic=True, **options)
    return ofdm.PacketReceiver(p, detector, iterations, period)


def estimated(p, num_rx, snr_db, count, period=1, seed=0):
    """(payload, estimate) of frames over channels of their own; simulated, without offsets."""
    rng = np.random.default_rng(seed)
    transmitter = ofdm.Transmitter(p)
    estimator = ofdm.ChannelEstimator(p, num_rx, period)
    for _ in range(count):
        payload = rng.bytes(p.payload_length)
        taps = air.random_channel(rng, num_rx, p.num_tx, 6)
        samples = air.through(taps, transmitter.frame(payload))[:, :p.frame_samples]
        samples = samples + air.noise(rng, samples.shape, snr_db)
        data = samples[:, p.preamble_samples:].reshape(num_rx, -1, 80)[..., 12:76]
        first, others = samples[:, 160:320], samples[:, 320:p.preamble_samples]
        training = [first[:, 28:92], first[:, 92:156],
                    *(others[:, at + 12:at + 76] for at in range(0, others.shape[1], 80))]
        symbols = np.concatenate([np.stack(training, axis=1), data], axis=1)
        yield payload, estimator.estimate(ofdm.to_subcarriers(symbols))


class TestFrameDecoder:
    def test_formats_are_what_their_names_say(self):
        found = {name: parameters(name).ldpc_matching for name in FORMATS}
        assert found["punctured"].num_punctured and found["punctured"].num_codewords == 5
        assert found["repeated"].num_repeated and found["shortened"].num_shortened
        assert found["one"].num_codewords == 1

    @pytest.mark.parametrize("name", FORMATS)
    def test_posteriors_of_sent_bits(self, name):
        m = parameters(name).ldpc_matching
        decoder = ldpc.WifiFrameDecoder(m, ldpc.LdpcDecoder(m.code))
        rng = np.random.default_rng(1)
        bits = rng.integers(0, 2, (3, len(m.information)), np.uint8)
        encoder = ldpc.LdpcEncoder(m.code)
        sent = np.stack([m.encode(own, encoder) for own in bits])
        llr = (8.0 * sent - 4).astype(np.float32)
        llr[:, rng.permutation(m.num_coded)[:m.num_coded // 20]] *= -0.1
        llr[2] = -4    # the codeword of zeros: holds, and is another one
        llr[1, :m.num_coded // m.num_codewords] = rng.normal(size=m.num_coded // m.num_codewords)
        posterior = decoder.decode(llr)
        np.testing.assert_array_equal(decoder.found, [True, False, True])
        np.testing.assert_array_equal(posterior[0] > 0, sent[0])
        np.testing.assert_array_equal(posterior[:, m.information] > 0, decoder.bits)
        np.testing.assert_array_equal(decoder.bits[0], bits[0])
        assert not np.any(posterior[2] > 0) and decoder.iterations_taken[1] == 20

    def test_each_copy_of_a_repeated_bit_knows_of_the_others(self):
        m = parameters("repeated").ldpc_matching
        decoder = ldpc.WifiFrameDecoder(m, ldpc.LdpcDecoder(m.code, early_stop=False))
        places = m.match(np.arange(m.num_codewords * m.code.num_bits))
        _, first, count = np.unique(places, return_index=True, return_counts=True)
        assert np.sum(count - 1) == m.num_repeated
        llr = np.full((1, m.num_coded), -1, np.float32)
        llr[0, first[count == 2]] = -7
        extrinsic = (decoder.decode(llr) - llr)[0]
        for place in places[first[count == 2]]:
            own, copy = np.flatnonzero(places == place)
            assert extrinsic[copy] == pytest.approx(extrinsic[own] - 6, abs=1e-4)
            assert extrinsic[copy] < -7

    def test_no_frames_and_wrong_arrays(self):
        m = parameters("one").ldpc_matching
        decoder = ldpc.WifiFrameDecoder(m, ldpc.LdpcDecoder(m.code))
        assert decoder.decode(np.zeros((0, m.num_coded), np.float32)).shape == (0, m.num_coded)
        assert decoder.found.shape == (0,)
        with pytest.raises(ValueError, match="llr: got shape .* must be "):
            decoder.decode(np.zeros((1, 5), np.float32))


class TestReceiver:
    @pytest.mark.parametrize("name, snr_db", [("punctured", 14), ("repeated", 12),
                                              ("shortened", 24), ("one", 4)])
    @pytest.mark.parametrize("every", [False, True])
    def test_one_pass_is_the_decoders(self, name, snr_db, every):
        """Bit by bit, packets that are lost too; with one symbol to a channel and all of them."""
        p = parameters(name)
        period = p.num_symbols if every else 1
        once, decoder = make(p, p.num_tx, "nway", 1, period), ofdm.PacketDecoder(p)
        detector = detectors.NWay(p.num_tx, p.num_tx, p.constellation)
        good = 0
        for payload, e in estimated(p, p.num_tx, snr_db, 12, period):
            llr = detector.detect(e.y.reshape(-1, p.num_tx), e.h, e.noise_var)
            packet = decoder.decode(llr.reshape(len(e.y), -1), period)
            assert once.receive(e.y, e.h, e.noise_var) == packet
            assert once.receive(e.y, e.h, e.noise_var, llr.reshape(len(e.y), -1)) == packet
            assert packet.iterations == 1 and packet.crc_ok == (packet.payload == payload)
            assert packet.crc_ok or not packet.checks_hold
            good += packet.crc_ok
        assert 0 < good < 12

    @pytest.mark.parametrize("period", [1, 2, 5])
    @pytest.mark.parametrize("name, snr_db", [("mmsepic", 13.5), ("nway", 13.5)])
    def test_four_passes_save_packets(self, name, snr_db, period):
        """Over 24 channels; what one pass decodes goes no further."""
        p = parameters("punctured")
        once, often = make(p, 4, name, 1, period), make(p, 4, name, 4, period)
        lost = np.zeros(2, int)
        for payload, e in estimated(p, 4, snr_db, 24, period, seed=3):
            first, last = (r.receive(e.y, e.h, e.noise_var) for r in (once, often))
            lost += [not first.crc_ok, not last.crc_ok]
            if first.crc_ok:
                assert last == first
            else:
                assert last.iterations == 4 or (last.crc_ok and 1 < last.iterations)
            if last.crc_ok:
                assert last.payload == payload and last.coded_bit_errors > 0
        assert lost[0] >= 10 and lost[1] <= 0.6 * lost[0]

    def test_a_packet_is_kept_whose_parity_bits_are_wrong(self):
        """The CRC fits, so no other pass can lose it."""
        p = parameters("punctured")
        (payload, e), = estimated(p, 4, 30, 1)
        code = ofdm.data_code.data_code(p)
        symbols = ofdm.coded_bits(p, payload).reshape(p.num_symbols, -1)
        llr = 8.0 * symbols[:, code.order].ravel() - 4
        parity = np.setdiff1d(np.arange(llr.size), p.ldpc_matching.information)
        llr[parity[::3]] *= -20
        llr[p.ldpc_matching.information] *= 1000
        sent = np.empty_like(symbols, float)
        sent[:, code.order] = llr.reshape(symbols.shape)
        packet = make(p, 4).receive(e.y, e.h, e.noise_var, sent.reshape(p.num_items, -1))
        assert (packet.crc_ok, packet.checks_hold, packet.iterations) == (True, False, 1)

    @pytest.mark.parametrize("name, snr_db", [("punctured", 12), ("repeated", 16),
                                              ("shortened", 22), ("one", 3)])
    @pytest.mark.parametrize("every", [False, True])
    def test_two_passes_by_hand(self, name, snr_db, every):
        """In the order of 802.11, symbol by symbol: the same packets, lost ones too."""
        p = parameters(name)
        period = p.num_symbols if every else 1
        m, code = p.ldpc_matching, ofdm.data_code.data_code(p)
        twice = make(p, p.num_tx, "mmsepic", 2, period)
        detector = detectors.MMSEPIC(p.num_tx, p.num_tx, p.constellation, extrinsic=True)
        decoder, packets = ldpc.LdpcDecoder(m.code), ofdm.PacketDecoder(p)
        again = 0
        for _, e in estimated(p, p.num_tx, snr_db, 8, period, seed=5):
            y, prior = e.y.reshape(-1, p.num_tx), None
            for _ in range(2):
                llr = detector.detect(y, e.h, e.noise_var, prior).reshape(len(e.y), -1)
                symbols = ofdm.ungroup_items(llr, period).reshape(p.num_symbols, -1)
                coded = np.ascontiguousarray(symbols[:, code.order]).ravel()
                packet = packets.decode(llr, period)
                if packet.crc_ok:
                    break
                posterior = m.match(decoder.decode(m.recover(coded)))
                fed = np.clip(np.float32(0.6) * (posterior - coded), -100, 100)
                sent = np.empty_like(symbols)
                sent[:, code.order] = fed.reshape(sent.shape)
                prior = ofdm.group_items(sent.reshape(p.num_items, -1), period).reshape(
                    p.num_items, -1)
                again += 1
            received = twice.receive(e.y, e.h, e.noise_var)
            assert received.payload == packet.payload
            assert received.checks_hold == packet.checks_hold
        assert again

    def test_what_cannot_be_detected_is_an_erasure(self):
        p = parameters("punctured")
        receiver = make(p, 4)
        (payload, e), = estimated(p, 4, 30, 1)
        y = e.y.copy()
        y[5:12, 1] = np.nan
        packet = receiver.receive(y, e.h, e.noise_var)
        assert packet.crc_ok and packet.payload == payload
        llr = np.full((p.num_items, 16), np.nan)
        packet = receiver.receive(e.y, e.h, e.noise_var, llr)    # at the second pass it sees y
        assert packet.payload == payload and packet.iterations == 2
        packet = receiver.receive(np.full_like(y, np.nan), e.h, e.noise_var)
        assert (packet.crc_ok, packet.checks_hold, packet.iterations) == (False, False, 4)

    @pytest.mark.parametrize("arguments, message", [
        ({"p": ofdm.Parameters()}, "code_rate: got '1/2', whose decoder has no soft output, which "
         "iterations need; allowed are ldpc:1/2, .*ldpc:5/6"),
        ({"name": "mmse"}, "detector: mmse takes no a-priori LLRs; allowed are iterations=1, or"),
        ({"iterations": 0}, "iterations: got 0, allowed are 1 to"),
        ({"period": 3}, "symbols_per_channel: got 3, must divide the frame's 10 symbols"),
        ({"num_tx": 2}, "detector: got one of 2 layers of wlan_qam16, must be one of 4 layers"),
        ({"constellation": "qam16"}, "got one of 4 layers of qam16, must be .* of wlan_qam16")])
    def test_refusals(self, arguments, message):
        own = {"p": parameters("punctured"), "name": "nway", "iterations": 4, "period": 1,
               "num_tx": 4, "constellation": "wlan_qam16", **arguments}
        detector = detectors.create(own["name"], num_tx=own["num_tx"], num_rx=4,
                                    constellation=own["constellation"],
                                    extrinsic=own["name"] == "nway")
        with pytest.raises(ValueError, match=message):
            ofdm.PacketReceiver(own["p"], detector, own["iterations"], own["period"])

    def test_shapes_are_checked(self):
        p = parameters("punctured")
        receiver = make(p, 4, period=2)
        (_, e), = estimated(p, 4, 30, 1, 2)
        with pytest.raises(ValueError, match=r"y: got shape \(520, 4\), must be \(260, 8\)"):
            receiver.receive(e.y.reshape(-1, 4), e.h, e.noise_var)
        with pytest.raises(ValueError, match=r"llr: got shape \(260, 16\), must be \(260, 32\)"):
            receiver.receive(e.y, e.h, e.noise_var, np.zeros((260, 16)))
        with pytest.raises(ValueError, match="h: got 519 matrices for 520 vectors"):
            receiver.receive(e.y, e.h.repeat(2, axis=0)[:519], e.noise_var)


FORMAT = {"num_tx": 4, "constellation": "wlan_qam16", "code_rate": "ldpc:1/2",
          "payload_length": 500}


@pytest.fixture(scope="module")
def air_frames():
    """Payloads and samples of frames of which one pass loses some; simulated."""
    rng, p = np.random.default_rng(6), ofdm.Parameters(**FORMAT)
    payloads, pieces, at = [], [], 100
    for _ in range(16):
        payloads.append(rng.bytes(500))
        received = air.through(air.random_channel(rng, 4, 4, 6),
                               ofdm.Transmitter(p).frame(payloads[-1]))
        pieces.append((at, received[:, :p.frame_samples]))
        at += p.frame_samples + 100
    samples = air.offset(air.place(at - 100, *pieces), 30e3)
    return payloads, samples + air.noise(rng, samples.shape, 14)


class TestBlocks:
    @pytest.mark.parametrize("options", [
        {"detector": "mmsepic"}, {"detector": "nway", "symbols_per_channel": 5},
        {"detector": "mmsepic", "detector_options": {"llr_type": "int8", "llr_scale": 4.0}}])
    def test_iterations_save_packets(self, air_frames, options):
        payloads, samples = air_frames
        once, first, _ = receive(samples, 1, **options, **FORMAT)
        often, last, _ = receive(samples, 1, iterations=4, **options, **FORMAT)
        lost = [number for number, (info, _) in enumerate(first) if not info["crc_ok"]]
        saved = [number for number in lost if last[number][0]["crc_ok"]]
        assert len(first) == len(last) == 16 and len(saved) >= 3
        for sent, (before, _), (after, payload) in zip(payloads, first, last, strict=True):
            assert before["iterations"] == 1 and after["crc_ok"] == (payload == sent)
            assert after["iterations"] == 4 or after["crc_ok"]
            if before["crc_ok"]:
                assert after == before
        counts = often.statistics()
        assert once.statistics()["crc_failures"] == len(lost)
        assert counts == {**once.statistics(), "crc_failures": len(lost) - len(saved)}

    def test_outputs_are_those_of_the_first_pass(self, air_frames):
        _, samples = air_frames
        seen = []
        for iterations in (1, 3):
            top = gr.top_block()
            receiver = mimopack.ofdm_receiver(num_rx=4, detector="mmsepic", iterations=iterations,
                                              **FORMAT)
            source = Pieces(samples, 0)
            sinks = [blocks.vector_sink_f(16), blocks.vector_sink_c(4), blocks.vector_sink_c(16)]
            for port in range(4):
                top.connect((source, port), (receiver, port))
            for port, sink in enumerate(sinks):
                top.connect((receiver, port), sink)
            run(top)
            seen.append([sink.data() for sink in sinks])
        assert seen[0] == seen[1] and len(seen[0][0]) == 16 * 520 * 16

    def test_bad_and_broken_frames(self, air_frames):
        payloads, samples = air_frames
        samples = samples[:, :-900].copy()    # the last one breaks off
        length = 100 + ofdm.Parameters(**FORMAT).frame_samples
        samples[2, 3 * length + 100 + 700:3 * length + 100 + 1000] = np.nan
        receiver, packets, _ = receive(samples, detector="mmsepic", iterations=3, **FORMAT)
        counts = receiver.statistics()
        assert [info["frame"] for info, _ in packets] == list(range(15))
        assert (packets[3][0]["crc_ok"], packets[3][0]["iterations"]) == (False, 3)
        assert (counts["packets"], counts["frames_truncated"], counts["failures"]) == (15, 1, 0)
        assert all(payload == payloads[info["frame"]] for info, payload in packets
                   if info["crc_ok"])

    def test_an_exception_costs_one_frame(self, air_frames):
        _, samples = air_frames

        def break_detector(receiver):
            inner = receiver.decoder._receiver
            inner.receive = failing(inner.receive, {1, 3})
        receiver, packets, _ = receive(samples, detector="mmsepic", iterations=2,
                                       prepare=break_detector, **FORMAT)
        counts = receiver.statistics()
        assert [info["frame"] for info, _ in packets] == [0, 2, *range(4, 16)]
        assert (counts["failures"], counts["items_outside"]) == (2, 2 * 520)

    def test_noise_variance_of_the_tag(self):
        """It is needed from the second pass on; where it is missing the frame is counted."""
        p = parameters("punctured")
        (payload, e), = estimated(p, 4, 30, 1)
        sent = 2.0 * ofdm.coded_bits(p, payload) - 1
        llr = np.concatenate([sent, 0 * sent, 0 * sent, sent]).astype(np.float32)
        infos = [{}, {}, {"noise_var": e.noise_var}, {"noise_var": e.noise_var}]
        tags = [frame_tag(520 * i, frame=i, items=520, **info) for i, info in enumerate(infos)]
        top = gr.top_block()
        tested = mimopack.packet_receiver(detector="mmsepic", **FORMAT)
        packets = Messages()
        top.connect(blocks.vector_source_f(llr.ravel(), False, 16, tags), (tested, 0))
        top.connect(blocks.vector_source_c(np.tile(e.y, (4, 1)).ravel(), False, 4), (tested, 1))
        top.connect(blocks.vector_source_c(np.tile(e.h.reshape(-1, 16), (4, 1)).ravel(), False, 16),
                    (tested, 2))
        top.msg_connect(tested, "packets", packets, "in")
        run(top)
        assert [(info["frame"], info["iterations"]) for info, _ in packets.pdus()] == [
            (0, 1), (2, 2), (3, 1)]
        assert all(own == payload for _, own in packets.pdus())
        assert (tested.failures(), tested.items_outside(), tested.packets()) == (1, 520, 3)

    def test_packets_of_other_receivers(self):
        """One pass is said of them too; checks only where the code has some."""
        p = ofdm.Parameters(2, "wlan_qpsk", "1/2", 60)
        _, _, samples = capture(np.random.default_rng(1), p, 2, [100])
        _, ((info, _),), _ = receive(samples, num_tx=2, constellation="wlan_qpsk",
                                     payload_length=60, detector="mmse")
        assert info["iterations"] == 1 and "checks_hold" not in info

    @pytest.mark.parametrize("arguments, message", [
        ({"code_rate": "3/4"}, "code_rate: got '3/4', whose decoder has no soft output"),
        ({"detector": "mmse"}, "detector: mmse takes no a-priori LLRs"),
        ({"detector": "sd"}, "detector: sd decides hard"),
        ({"iterations": 0}, "iterations: got 0, allowed are 1 to"),
        ({"iterations": 2.0}, "iterations: got 2.0, must be an integer"),
        ({"feedback_scale": 0}, "feedback_scale: got 0"),
        ({"symbols_per_channel": 3}, "symbols_per_channel: got 3"),
        ({"detector": "best"}, "detector: got 'best', allowed are .*nway"),
        ({"detector_options": {"num_tx": 2}}, "detector_options: got 'num_tx', allowed are")])
    @pytest.mark.parametrize("block", [mimopack.ofdm_receiver, mimopack.packet_receiver])
    def test_refusals(self, block, arguments, message):
        with pytest.raises(ValueError, match=message):
            block(**{**FORMAT, "iterations": 2, **arguments})

    def test_one_pass_needs_neither(self):
        assert isinstance(mimopack.ofdm_receiver(detector="mmse").decoder, mimopack.packet_decoder)


def test_detector_options_are_those_of_both_detectors():
    """The second one's LLRs are floats whatever the port's."""
    tested = mimopack.packet_receiver(
        detector="nway", detector_options={"num_passes": 2, "llr_type": "int8"}, **FORMAT)
    assert tested._detector.num_passes == 2 and tested._detector.llr_dtype == np.float32
    assert tested.input_signature().sizeof_stream_item(0) == 16
