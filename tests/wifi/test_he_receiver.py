# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames through the whole loop: transmitter, simulated channel, receiver."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors, recording, wifi
from gnuradio.mimopack.wifi import HE, HEMU, Receiver, carriers, mac, signal_fields
from gnuradio.mimopack.wifi.he_signal_b import allocation, ru_of
from gnuradio.mimopack.wifi.he_tables import RU
from gnuradio.mimopack.wifi.he_trigger import triggers_in
from gnuradio.mimopack.wifi.headers import announced
from gnuradio.mimopack.wifi.interleaving import dual_carriers_of
from gnuradio.mimopack.wifi.pdu import frame_to_pdus
from gnuradio.mimopack.wifi.points import copies_combined
from wifi_air import air, data_mpdu, flat_channel, frames_in, multipath, through
from wifi_frames import trigger_frame

CAPTURES = os.environ.get("MIMOPACK_CAPTURES")
MPDUS = [data_mpdu(170, 1), data_mpdu(43, 2)]
TRAINING = ((1, 0.8), (2, 0.8), (2, 1.6), (4, 3.2), (4, 0.8))


def he(mcs, **fields):
    return lambda n: HE.of_length(mcs, n, **fields)


def received(frames, num_rx=1, snr_db=45.0, detector="nway", sample_rate=20e6, **options):
    """Return (received frames, sent frames)."""
    samples, sent = air(frames, num_rx, snr_db=snr_db, cfo_hz=61e3, sample_rate=sample_rate,
                        **options)
    return frames_in(samples, sample_rate, detector=detector), sent


def check(found, sent):
    assert len(found) == len(sent)
    for got, want in zip(found, sent, strict=True):
        f, asked = got.format, want.format
        assert got.problem == ""
        assert got.psdu[:len(want.psdu)] == want.psdu and len(got.psdu) == asked.length
        assert [mpdu.data for mpdu in got.mpdus] == want.mpdus
        assert abs(got.start - want.start) <= 8 * got.sample_rate / 20e6
        for name in ("name", "mcs", "num_streams", "stbc", "gi_us", "ltf", "coding", "dcm", "ru",
                     "midamble", "num_symbols", "pre_fec_padding", "bss_color", "uplink", "txop",
                     "spatial_reuse", "length"):
            assert getattr(f, name) == getattr(asked, name), name
        scale = got.sample_rate / 20e6
        assert abs(got.num_samples - scale * asked.num_samples) < 80 * scale    # L-SIG: 4 us
        assert got.cfo_hz == pytest.approx(61e3, abs=600)


def he_su_formats():
    """Yield each MCS, code, HE-LTF size and guard interval, and all options for some."""
    for mcs in range(12):
        for i, (ltf, gi_us) in enumerate(TRAINING):
            for coding in ("bcc", "ldpc")[mcs > 9:]:
                fields = {"ltf": ltf, "gi_us": gi_us, "coding": coding}
                # The signal field cannot tell DCM and STBC with the last pair.
                if mcs in (0, 1, 3, 4) and i % 2:
                    fields["dcm"] = True
                elif (mcs + i) % 3 == 0 and i < 4:
                    fields["stbc"] = 1
                if (mcs + i) % 4 == 1:
                    fields["midamble"] = 10 if i % 2 else 20
                yield he(mcs, bss_color=mcs + 1, uplink=bool(i % 2), txop=mcs,
                         spatial_reuse=i, **fields)


@pytest.mark.quick
@pytest.mark.parametrize("part", range(4))
def test_he_su(part):
    """In multipath with delays of up to six samples."""
    frames = [(one, MPDUS) for one in list(he_su_formats())[part::4]]
    check(*received(frames, 2, channel=lambda *shape: multipath(*shape, num_taps=4, spread=0.7)))


@pytest.mark.quick
@pytest.mark.parametrize("streams", [2, 3, 4])
def test_several_streams(streams):
    frames = [(he(mcs, num_streams=streams, ltf=ltf, gi_us=gi_us, coding=coding, **options), MPDUS)
              for mcs in range(12) for coding in ("bcc", "ldpc")[mcs > 9:]
              for (ltf, gi_us), options in [
                  (TRAINING[mcs % 5], {"dcm": True} if streams == 2 and mcs in (0, 1, 3) else
                   {"midamble": 10} if mcs % 4 == 2 else {})]]
    check(*received(frames, 4))


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, sample_rate", [
    (40, 40e6), (40, 80e6), (80, 80e6), (20, 160e6), (40, 160e6), (80, 160e6), (160, 160e6)])
def test_wide_he_su(bandwidth, sample_rate):
    """All HE-LTFs, codes of wide RUs, DCM, STBC and midambles, also in a part of the band."""
    frames = [(he(mcs, bandwidth_mhz=bandwidth, coding="ldpc", ltf=ltf, gi_us=gi_us, **options),
               MPDUS)
              for (ltf, gi_us), mcs, options in zip(
                  TRAINING * 2, (0, 4, 11, 9, 5, 3, 7, 1, 8, 10),
                  ({}, {"dcm": True}, {"num_streams": 2}, {"stbc": 1}, {"num_streams": 2},
                   {"dcm": True, "num_streams": 2}, {"num_streams": 3}, {"midamble": 10}, {}, {}),
                  strict=True)]
    check(*received(frames, 4, channel=lambda *shape: multipath(*shape, num_taps=4, spread=0.7),
                    sample_rate=sample_rate))


@pytest.mark.quick
@pytest.mark.parametrize("older", [
    lambda n: wifi.NonHT(24, n, 160), lambda n: wifi.VHT.of_length(7, n, 2, 80),
    lambda n: wifi.HT(9, n, 40)])
def test_older_frames_in_160_mhz(older):
    """Duplicates fill the band; the others lie in its lowest channel."""
    found, sent = received([(older, MPDUS[:1])] * 2, 2, sample_rate=160e6)
    assert [(got.problem, [mpdu.data for mpdu in got.mpdus]) for got in found] == [
        ("", one.mpdus) for one in sent]
    width = older(100).bandwidth_mhz
    assert {got.centre_hz for got in found} == {(width - 160) / 2 * 1e6}


def test_streams_through_several_paths():
    frames = [(he(5, num_streams=2, ltf=ltf, gi_us=gi_us, coding=coding), MPDUS)
              for ltf, gi_us in TRAINING for coding in ("bcc", "ldpc")] * 2
    found, sent = received(frames, 4, snr_db=38.0, channel=multipath)
    check(found, sent)


def test_iterations():
    frames = [(he(4, num_streams=3, coding=coding, ltf=4, gi_us=3.2), [data_mpdu(400)])
              for coding in ("bcc", "ldpc") for _ in range(12)]
    samples, _ = air(frames, 3, snr_db=16.0, channel=multipath)
    good = []
    for iterations in (1, 4):
        found = frames_in(samples, passes=1, iterations=iterations)
        good.append(sum(frame.complete for frame in found))
    assert good[0] < good[1]


@pytest.mark.quick
def test_he_er_su():
    frames = [(he(mcs, name="he-er-su", ltf=ltf, gi_us=gi_us, coding=coding, ru=ru, **options),
               MPDUS)
              for mcs, ru in ((0, (242, 1)), (1, (242, 1)), (2, (242, 1)), (0, (106, 2)))
              for (ltf, gi_us), coding, options in zip(
                  TRAINING, ("bcc", "ldpc", "bcc", "ldpc", "bcc"),
                  ({}, {"dcm": mcs < 2}, {"midamble": 10}, {"stbc": 1}, {}), strict=True)]
    check(*received(frames, 1))


@pytest.mark.parametrize("length", range(20, 140, 7))
def test_lengths(length):
    """Any pre-FEC padding factor, with and without an extra segment."""
    frames = [(he(mcs, coding=coding, stbc=stbc), [data_mpdu(length)])
              for mcs in (0, 4, 9) for coding in ("bcc", "ldpc") for stbc in (0, 1)]
    check(*received(frames, 2))


def test_midambles_follow_a_channel_that_changes():
    """The second half of the frame comes through another channel."""
    f = he(4, midamble=10, ltf=2, gi_us=0.8, coding="ldpc")
    samples, (one,) = air([(f, [data_mpdu(1100)])], 1, snr_db=40.0)
    assert one.format.num_symbols > 11
    middle = one.start + one.format.data_start + 10 * one.format.symbol
    samples[:, middle:] *= np.exp(2j)
    samples[:, middle:] += 0.4 * np.roll(samples, 3, axis=1)[:, middle:]
    receiver = Receiver(1)
    got, = receiver.process(samples) + receiver.finish()
    assert [mpdu.fcs_ok for mpdu in got.mpdus] == [True]
    plain, (one,) = air([(he(4, ltf=2, gi_us=0.8, coding="ldpc"), [data_mpdu(1100)])], 1,
                        snr_db=40.0)
    plain[:, middle:] *= np.exp(2j)
    plain[:, middle:] += 0.4 * np.roll(plain, 3, axis=1)[:, middle:]
    lost, = receiver.process(plain) + receiver.finish()
    assert not lost.fcs_ok


@pytest.mark.parametrize("mcs, size, fields", [
    (7, 600, {}), (5, 1800, {"midamble": 10}), (5, 1800, {"midamble": 10, "stbc": 1}),
    (5, 3200, {"midamble": 10, "num_streams": 2})], ids=str)
def test_second_pass_helps(mcs, size, fields):
    """A tone on one subcarrier spoils the first pass."""
    frames = [(he(mcs, coding=coding, **fields), [data_mpdu(size)])
              for coding in ("bcc", "ldpc")] * 6
    samples, sent = air(frames, 2, snr_db=27.0, channel=multipath, seed=3)
    assert bool(sent[0].format.num_midambles) == ("midamble" in fields)
    n = np.arange(samples.shape[1])
    samples += 0.02 * np.exp(2j * np.pi * 41.3 / 256 * n).astype(np.complex64)
    good = []
    for passes in (1, 3):
        good.append(sum(frame.complete for frame in frames_in(samples, passes=passes)))
    assert good[0] < good[1]


def test_custom_detectors_take_each_vector():
    """A detector in Python decodes what detectors in C++ decode, midambles too."""
    def make(num_tx, num_rx, constellation):
        return detectors.MMSE(num_tx=num_tx, num_rx=num_rx, constellation=constellation,
                              backend="reference")

    frames = [(he(1), MPDUS), (he(3, dcm=True, coding="ldpc"), MPDUS), (he(2, stbc=1), MPDUS),
              (he(0, midamble=10), MPDUS)]
    found, sent = received(frames, 1, detector=make)
    check(found, sent)


def test_open_chain():
    frames = [(he(5), MPDUS), (he(1, dcm=True), MPDUS), (he(0, midamble=10), MPDUS)]
    samples, sent = air(frames, 2, snr_db=40.0)
    estimator, decoder = wifi.ChannelEstimator(2), wifi.LlrDecoder()
    vectors = estimator.process(samples) + estimator.finish()
    assert "midambles" in vectors[2].frame.problem
    for one, want in zip(vectors[:2], sent, strict=False):
        f = one.frame.format
        detector = detectors.MMSE(num_tx=1, num_rx=2, constellation=f.constellation)
        frame = decoder.decode(one, detector.detect(one.y, one.h, one.noise_var))
        assert [mpdu.data for mpdu in frame.mpdus] == want.mpdus


def test_report():
    f = he(2, name="he-er-su", bss_color=33, uplink=True, txop=4, spatial_reuse=7, gi_us=1.6)
    (got,), _ = received([(f, MPDUS)])
    facts = got.as_json()
    assert {name: facts[name] for name in (
        "format", "mcs", "gi_us", "ltf", "ru", "dcm", "midamble", "doppler", "bss_color", "uplink",
        "txop", "spatial_reuse", "short_gi", "aggregated")} == {
        "format": "he-er-su", "mcs": 2, "gi_us": 1.6, "ltf": 2, "ru": "242", "dcm": False,
        "midamble": 0, "doppler": False, "bss_color": 33, "uplink": True, "txop": 4,
        "spatial_reuse": 7, "short_gi": None, "aggregated": True}


@pytest.mark.parametrize("bits, problem", [
    ({}, ""), ({3: 1, 4: 1, 5: 1, 6: 1}, "HE MCS 15 (reserved)"),
    ({19: 1, 33: 1}, "the samples hold only 20 MHz of a 40 MHz frame"),
    ({25: 1}, "5 spatial streams"),
    ({0: 0}, "HE TB frame, and no Trigger frame is known that asked for it")])
def test_signal_field_of_others(bits, problem):
    """What the receiver does not decode is named."""
    f = HE.of_length(0, 100)
    head = signal_fields.he_sig_a(f)[:42]
    for at, value in bits.items():
        head[at] = value
    field = np.concatenate([head, signal_fields.crc8(head)[:4], [0, 0]])
    kinds = sum(_core.wifi.signal_kinds[name] for name in ("l_sig", "repeated", "he_signal"))
    l_sig = signal_fields.LSig(6, f.legacy_length).bits()
    found = announced(kinds, np.concatenate([l_sig, field]).astype(np.uint8).tobytes(), 20)
    assert found.problem == problem
    if not problem:
        assert found.format.num_symbols == f.num_symbols
    wrong = announced(kinds, np.concatenate([l_sig, field ^ 1]).astype(np.uint8).tobytes(), 20)
    assert wrong.problem == "HE-SIG-A CRC"


@pytest.mark.parametrize("mcs", [0, 1, 3, 4])
@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
@pytest.mark.parametrize("streams", [1, 2])
def test_copies_of_dual_carrier_modulation(mcs, coding, streams):
    """Combined LLRs are the max-log LLRs of both received points together."""
    f = HE.of_length(mcs, 60, streams, dcm=True, coding=coding)
    layer = constellation.get(f.stream_constellations[0])
    labels = np.arange(len(layer.points))
    bits = labels[:, None] >> np.arange(layer.bits_per_symbol)[::-1] & 1
    place, sign = dual_carriers_of(f)
    place, sign = place[:layer.bits_per_symbol], sign[:, :layer.bits_per_symbol]
    again = np.empty((f.num_points, *bits.shape), int)
    again[..., place] = bits ^ (sign[:, None] < 0)
    again = again @ (1 << np.arange(layer.bits_per_symbol)[::-1])
    rng = np.random.default_rng(mcs)
    shape = f.num_points, f.num_symbols, streams, 2
    received = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))[..., None]
    weight = rng.uniform(0.1, 10, shape)[..., None]
    sent = np.stack([np.broadcast_to(layer.points, again.shape), layer.points[again]], axis=1)
    distance = weight * np.abs(received - sent[:, None, None])**2

    def llrs(metric, bits):
        return np.stack([metric[..., bit == 0].min(axis=-1) - metric[..., bit == 1].min(axis=-1)
                         for bit in bits.T], axis=-1)

    # The metrics of a copy, in the order of its own labels.
    second = np.take_along_axis(distance[..., 1, :], np.argsort(again)[:, None, None], axis=-1)
    copies = np.concatenate([llrs(distance[..., 0, :], bits), llrs(second, bits)])
    found = copies_combined(copies.reshape(1, 2 * f.num_points, f.num_symbols, -1), f)
    expected = llrs(distance.sum(axis=-2), bits).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


USERS = {
    (26, 52, 106): [(26, 1), (26, 2), (52, 2), (26, 5), (106, 2)],
    (52,): [(52, 1), (52, 2), (52, 3), (52, 4)],
    (106, 106): [(106, 1), (106, 2)],
    (242,): [(242, 1)]}


def users_in_air(rus, streams=1, sig_b_mcs=0, sig_b_dcm=False, num_rx=2, snr_db=40.0,
                 sample_rate=20e6, **fields):
    """Return (samples, format, MPDUs of each user) of an HE MU frame."""
    rng = np.random.default_rng(len(rus))
    own = [{"sta_id": 100 + i, "ru": ru, "mcs": (2 * i + 1) % 9, "num_streams": streams,
            "coding": "ldpc" if i % 2 or ru[0] > 242 else "bcc", "dcm": i == 1 and streams == 1}
           for i, ru in enumerate(rus)]
    for user in own:
        user["mcs"] = 1 if user["dcm"] else user["mcs"]
    mpdus = [[data_mpdu(30 + 25 * (i % 9), i), data_mpdu(60, 40 + i)] for i in range(len(rus))]
    f, psdus = wifi.pack_users(
        lambda lengths: HEMU.of_lengths(own, lengths, sig_b_mcs, sig_b_dcm, **fields), mpdus)
    sent = wifi.Transmitter(streams, sample_rate).frame(f, psdus)
    received = through(multipath(num_rx, streams, rng, 3, 0.7), sent)
    samples = np.pad(received, ((0, 0), (400, 400)))
    samples = samples + 10**(-snr_db / 20) / np.sqrt(2) * (
        rng.standard_normal(samples.shape) + 1j * rng.standard_normal(samples.shape))
    return samples.astype(np.complex64), f, mpdus


@pytest.mark.quick
@pytest.mark.parametrize("rus", USERS.values(), ids=str)
@pytest.mark.parametrize("sig_b_mcs, sig_b_dcm, fields", [
    (0, False, {"ltf": 4, "gi_us": 3.2}), (1, True, {"ltf": 2, "gi_us": 0.8}),
    (2, False, {"ltf": 4, "gi_us": 0.8}), (4, True, {"ltf": 2, "gi_us": 1.6}),
    (0, True, {"ltf": 2, "gi_us": 0.8}), (3, True, {"ltf": 2, "gi_us": 1.6, "midamble": 20}),
    (5, False, {"ltf": 4, "gi_us": 3.2, "midamble": 10})])
def test_he_mu(rus, sig_b_mcs, sig_b_dcm, fields):
    samples, f, mpdus = users_in_air(rus, 1, sig_b_mcs, sig_b_dcm, **fields)
    receiver = Receiver(2)
    got, = receiver.process(samples) + receiver.finish()
    assert (got.problem, got.format.name) == ("", "he-mu")
    assert [user.format.sta_id for user in got.users] == [user.sta_id for user in f.users]
    for user, asked, want in zip(got.users, f.users, mpdus, strict=True):
        assert [mpdu.data for mpdu in user.mpdus] == want
        assert (user.format.ru, user.format.mcs, user.format.dcm, user.format.coding,
                user.format.length) == (asked.ru, asked.mcs, asked.dcm, asked.coding, asked.length)
    assert [mpdu.data for mpdu in got.mpdus] == sum(mpdus, [])
    facts = got.as_json()
    assert (facts["psdu"] == "") == (len(rus) > 1)
    assert [(user["sta_id"], user["ru"]) for user in facts["users"]] == [
        (user.sta_id, user.ru_name) for user in f.users]
    assert receiver.counts["frames"] == 1
    assert receiver.counts["mpdus_ok"] == 2 * len(rus)
    for info, _ in frame_to_pdus(got):
        assert (info["sig_b_mcs"], info["sig_b_dcm"], info["sig_b_compressed"]) == (
            sig_b_mcs, sig_b_dcm, f.compressed)
        units = () if f.compressed else allocation(int(info["ru_allocation"]))
        assert {ru_of(*unit) for unit in units} == {user.ru for user in f.users}.difference(
            [RU(242, 1)] * f.compressed)


WIDE_USERS = {
    "40": [(26, 1), (52, 2), (106, 2), (242, 2)], "40 whole": [(484, 1)],
    "40 of 26": [(26, i) for i in range(1, 19)],
    "80": [(484, 1), (26, 19), (52, 9), (26, 24), (106, 6), (242, 4)],
    "80 of 26": [(26, i) for i in range(1, 38)],
    "80 whole": [(996, 1)], "80 halves": [(484, 1), (484, 2)],
    "160": [(996, 2), (484, 1), (26, 19), (242, 3), (106, 7)], "160 whole": [(1992, 1)],
    "160 of 26": [(26, i) for i in range(1, 75)]}


@pytest.mark.quick
@pytest.mark.parametrize("case", WIDE_USERS)
@pytest.mark.parametrize("sig_b_mcs, sig_b_dcm, compressed, fields", [
    (0, True, False, {"ltf": 4, "gi_us": 3.2}), (3, False, None, {"ltf": 2, "gi_us": 0.8})])
def test_wide_he_mu(case, sig_b_mcs, sig_b_dcm, compressed, fields):
    """Both content channels, the RU in the centre, and more than 16 HE-SIG-B symbols."""
    bandwidth = int(case.split()[0])
    samples, f, mpdus = users_in_air(
        WIDE_USERS[case], 1, sig_b_mcs, sig_b_dcm, sample_rate=bandwidth * 1e6,
        bandwidth_mhz=bandwidth, compressed=None if "160 whole" in case else compressed, **fields)
    got, = frames_in(samples, bandwidth * 1e6)
    assert got.problem == ""
    assert {(user.format.sta_id, user.format.ru, user.format.mcs): [one.data for one in user.mpdus]
            for user in got.users} == {
        (user.sta_id, user.ru, user.mcs): own for user, own in zip(f.users, mpdus, strict=True)}
    assert got.users[0].format.num_sig_b == f.first.num_sig_b


@pytest.mark.quick
@pytest.mark.parametrize("secondary", [False, True])
@pytest.mark.parametrize("bandwidth, punctured, rus", [
    (80, 0, [(242, 2), (484, 2)]), (80, 1, [(52, 1), (106, 2), (242, 3), (26, 34)]),
    (80, 2, [(484, 1), (242, 4)]), (80, 3, [(242, 1), (242, 2), (242, 3)]),
    (160, 0, [(242, 2), (484, 2), (996, 2)]), (160, 3, [(484, 1), (106, 5), (996, 2)]),
    (160, 5, [(996, 1), (52, 17), (484, 4)]), (160, 7, [(484, 1), (484, 2), (484, 3), (242, 7)])])
def test_punctured_he_mu(bandwidth, punctured, rus, secondary, monkeypatch):
    """Nothing is sent in a 20 MHz subchannel. Two bandwidth fields tell of one that is empty."""
    monkeypatch.setattr(signal_fields, "_PUNCTURED", {80: 5 - secondary, 160: 7 - secondary})
    rate = 1e6 * bandwidth
    samples, f, mpdus = users_in_air(rus, 1, 1, sample_rate=rate, bandwidth_mhz=bandwidth,
                                     punctured=punctured, ltf=4, gi_us=3.2)
    parts = bandwidth // 20
    spectrum = np.fft.fftshift(np.fft.fft(samples[:, 400:], 256 * parts), axes=1)
    spectrum = spectrum.reshape(len(samples), parts, 256)[:, :, 12:-12]
    power = np.mean(np.abs(spectrum)**2, axis=(0, 2))
    assert power[punctured] < 0.01 * np.median(power)
    got, = frames_in(samples, rate)
    assert got.centre_hz == 0
    assert {user.format.ru: [one.data for one in user.mpdus] for user in got.users} == dict(
        zip(rus, mpdus, strict=True))


@pytest.mark.parametrize("streams", [2, 3, 4])
def test_he_mu_of_several_streams(streams):
    samples, f, mpdus = users_in_air([(106, 1), (106, 2)], streams, num_rx=streams + 1,
                                     snr_db=45.0, ltf=4, gi_us=3.2)
    got, = frames_in(samples, threads=2)
    assert [[mpdu.data for mpdu in user.mpdus] for user in got.users] == mpdus
    assert [user.format.num_streams for user in got.users] == [streams, streams]


@pytest.mark.parametrize("bandwidth, rus", [(20, [(106, 1), (106, 2)]), (80, [(484, 1), (484, 2)])])
def test_he_mu_with_space_time_block_codes(bandwidth, rus):
    users = [{"sta_id": i, "ru": ru, "mcs": 4 + 5 * i, "coding": "ldpc"}
             for i, ru in enumerate(rus)]
    mpdus = [[data_mpdu(90, i)] for i in range(len(rus))]
    f, psdus = wifi.pack_users(lambda lengths: HEMU.of_lengths(
        users, lengths, stbc=1, bandwidth_mhz=bandwidth), mpdus)
    sent = wifi.Transmitter(2, 1e6 * bandwidth).frame(f, psdus)
    rng = np.random.default_rng(1)
    samples = np.pad(flat_channel(1, 2, rng) @ sent, ((0, 0), (2000, 2000)))
    samples = samples + 0.003 * (rng.standard_normal((*samples.shape, 2)) @ [1, 1j])
    got, = frames_in(samples, 1e6 * bandwidth)
    assert [[mpdu.data for mpdu in user.mpdus] for user in got.users] == mpdus
    assert [user.format.stbc for user in got.users] == [1, 1]


@pytest.mark.parametrize("sta_id, received", [
    (0, True), (2007, True), (2008, True), (2045, True), (2046, False), (2047, True)])
def test_stations_with_reserved_numbers(sta_id, received):
    """All numbers of 11 bits are received, but 2046 says that a resource unit has no user."""
    users = [{"sta_id": sta_id, "ru": (106, 1), "mcs": 3}, {"sta_id": 7, "ru": (106, 2), "mcs": 4}]
    mpdus = [[data_mpdu(60, i)] for i in range(2)]
    f, psdus = wifi.pack_users(lambda lengths: HEMU.of_lengths(users, lengths), mpdus)
    samples = np.pad(wifi.Transmitter().frame(f, psdus), ((0, 0), (400, 400)))
    samples = samples + 0.003 * (np.random.default_rng(1).standard_normal((*samples.shape, 2))
                                 @ [1, 1j])
    got, = frames_in(samples)
    assert got.problem == ""
    assert [(user.format.sta_id, [mpdu.data for mpdu in user.mpdus]) for user in got.users] == [
        (sta_id, mpdus[0]), (7, mpdus[1])][not received:]


def test_a_wrong_block_of_he_sig_b_loses_its_users_only():
    """The first two of four users stand in one block."""
    samples, f, mpdus = users_in_air([(52, 1), (52, 2), (52, 3), (52, 4)], ltf=4, gi_us=3.2)
    start = 400 + 640 + 80 * 1    # the second symbol of the HE-SIG-B
    samples[:, start:start + 70] = 0
    got, = frames_in(samples)
    assert 0 < len(got.users) < 4
    assert all(user.fcs_ok for user in got.users)


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, ru", [
    (20, (26, 5)), (20, (52, 3)), (20, (106, 1)), (20, (242, 1)), (40, (26, 12)), (40, (484, 1)),
    (80, (26, 19)), (80, (106, 5)), (80, (242, 2)), (80, (484, 2)), (80, (996, 1)),
    (160, (26, 56)), (160, (242, 6)), (160, (996, 2)), (160, (1992, 1))])
@pytest.mark.parametrize("fields", [
    {"mcs": 5, "ltf": 4, "gi_us": 3.2}, {"mcs": 3, "ltf": 2, "gi_us": 1.6, "coding": "ldpc"},
    {"mcs": 0, "ltf": 1, "gi_us": 1.6, "stbc": 1},
    {"mcs": 4, "ltf": 2, "gi_us": 1.6, "dcm": True, "midamble": 10}])
def test_he_tb(bandwidth, ru, fields):
    """The preamble fills only the 20 MHz subchannels of the RU."""
    if ru[0] > 242:
        fields = fields | {"coding": "ldpc"}
    f = HE.of_length(apep_length=90, name="he-tb", ru=ru, uplink=True, bandwidth_mhz=bandwidth,
                     **fields)
    mpdu = data_mpdu(50)
    psdu = mac.aggregate([mpdu], f.length)
    streams = f.num_space_time_streams
    sent = wifi.Transmitter(streams, bandwidth * 1e6).frame(f, psdu)
    rng = np.random.default_rng(3)
    samples = np.pad(flat_channel(2, streams, rng) @ sent, ((0, 0), (400, 400)))
    samples = (samples + 0.005 * (rng.standard_normal(samples.shape)
                                  + 1j * rng.standard_normal(samples.shape))).astype(np.complex64)
    trigger = fields | {"coding": f.coding, "ru": f"{ru[0]} index {ru[1]}",
                        "bandwidth_mhz": bandwidth, "ul_length": f.legacy_length,
                        "pe": int(f.pe_disambiguity),
                        "pre_fec_padding": f.pre_fec_padding, "ldpc_extra": int(f.extra_symbol)}
    for given, problem in ((None, True), (trigger, False),
                           (trigger | {"ul_length": f.legacy_length + 3}, True)):
        got, = frames_in(samples, bandwidth * 1e6, he_trigger=given)
        assert bool(got.problem) == problem
        assert got.as_json()["format"] == "he-tb"
        assert [one.data for one in got.mpdus] == [mpdu] * (not problem)


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, asked", [
    (80, [(3, 66, 4, 1, (484, 2)), (4, 18, 1, 1, (26, 19)), (5, 53, 3, 0, (106, 1))]),
    (80, [(3, 67, 1, 1, (996, 1))]),
    # The primary 80 MHz are the lower ones, and the upper ones.
    (160, [(3, 67, 4, 1, (996, 1)), (4, 128 + 18, 1, 1, (26, 56)), (5, 128 + 64, 3, 0, (242, 8))]),
    (160, [(3, 67, 4, 1, (996, 2)), (4, 128 + 18, 1, 1, (26, 19)), (5, 128 + 64, 3, 0, (242, 4))]),
    (160, [(3, 128 + 68, 1, 1, (1992, 1))])])
def test_stations_answer_a_trigger_frame_in_wide_channels(bandwidth, asked):
    """Stations in halves, in the centre of 80 MHz, and in 20 MHz."""
    rate = 1e6 * bandwidth
    probe = {"name": "he-tb", "ltf": 4, "gi_us": 3.2, "uplink": True, "bandwidth_mhz": bandwidth}
    longest = HE.of_length(1, 60, coding="ldpc", ru=(26, 19), **probe)
    mpdus, sent = [data_mpdu(15, aid) for aid, *_ in asked], 0
    for (aid, _, mcs, ldpc, ru), mpdu in zip(asked, mpdus, strict=True):
        f = HE(mcs, longest.num_symbols, coding="ldpc" if ldpc else "bcc", ru=ru, sta_id=aid,
               pre_fec_padding=longest.pre_fec_padding, extra_symbol=longest.extra_symbol, **probe)
        sent = sent + wifi.Transmitter(1, rate).frame(f, mac.aggregate([mpdu], f.length))
    trigger = trigger_frame([one[:4] for one in asked], longest.legacy_length,
                            width=carriers.BANDWIDTHS.index(bandwidth),
                            padding=longest.pre_fec_padding, extra=longest.extra_symbol,
                            pe=longest.pe_disambiguity)
    f = wifi.NonHT(24, len(trigger), bandwidth)
    asking = wifi.Transmitter(1, rate).frame(f, trigger)
    samples = np.concatenate([np.zeros((1, 3200)), asking, np.zeros((1, 16 * bandwidth)), sent,
                              np.zeros((1, 3200))], axis=1)
    rng = np.random.default_rng(2)
    samples = samples + 0.005 * (rng.standard_normal((*samples.shape, 2)) @ [1, 1j])
    first, got = frames_in(samples, rate)
    assert [mpdu.data for mpdu in first.mpdus] == [trigger]
    assert {(user.format.sta_id, user.format.ru): [mpdu.data for mpdu in user.mpdus]
            for user in got.users} == {
        (aid, ru): [mpdu] for (aid, *_, ru), mpdu in zip(asked, mpdus, strict=True)}


@pytest.mark.parametrize("gap_us, answered", [(16, True), (60, False)])
def test_stations_answer_a_trigger_frame(gap_us, answered):
    """The receiver reads the Trigger frame, and decodes the answers of two of three stations."""
    probe = {"name": "he-tb", "ltf": 4, "gi_us": 3.2, "uplink": True}
    asked = [(5, 53, 4, 0, (106, 1)), (9, 54, 1, 1, (106, 2)), (11, 4, 3, 0, (26, 5))]
    mpdus = [data_mpdu(150, 1), data_mpdu(40, 2)]
    longest = HE.of_length(1, 90, coding="ldpc", ru=(106, 2), **probe)
    sent = 0
    for (aid, _, mcs, ldpc, ru), mpdu in zip(asked, mpdus, strict=False):
        f = HE(mcs, longest.num_symbols, coding="ldpc" if ldpc else "bcc", ru=ru,
               pre_fec_padding=longest.pre_fec_padding, extra_symbol=longest.extra_symbol,
               sta_id=aid, **probe)
        sent = sent + wifi.Transmitter(1).frame(f, mac.aggregate([mpdu], f.length))
    trigger = trigger_frame([one[:4] for one in asked], longest.legacy_length,
                            padding=longest.pre_fec_padding, extra=longest.extra_symbol,
                            pe=longest.pe_disambiguity)
    asking = wifi.Transmitter(1).frame(wifi.NonHT(24, len(trigger)), trigger)
    asking = asking[:, :wifi.NonHT(24, len(trigger)).num_samples]
    samples = np.concatenate([np.zeros((1, 400)), asking, np.zeros((1, 20 * gap_us)), sent,
                              np.zeros((1, 400))], axis=1)
    rng = np.random.default_rng(2)
    samples = samples + 0.005 * (rng.standard_normal(samples.shape)
                                 + 1j * rng.standard_normal(samples.shape))
    first, got = frames_in(samples)
    assert [mpdu.data for mpdu in first.mpdus] == [trigger]
    if not answered:
        assert "no Trigger frame is known" in got.problem
        return
    assert got.problem == "" and got.complete
    assert [(user.format.sta_id, user.format.ru) for user in got.users] == [
        (5, (106, 1)), (9, (106, 2))]
    assert [mpdu.data for mpdu in got.mpdus] == mpdus


@pytest.mark.parametrize("size", range(0, 60, 7))
def test_damaged_trigger_frames(size):
    """Any bytes may have a good check sequence."""
    whole = trigger_frame([(5, 53, 4, 0), (6, 53, 4, 0), (7, 61, 15, 0), (8, 127, 1, 0)], 82)
    assert len(triggers_in(whole[:size])) <= 1    # a part may ask one station only
    assert triggers_in(whole) == []
    assert len(triggers_in(trigger_frame([(5, 53, 4, 0)], 82))) == 1


@pytest.mark.parametrize("change, said", [
    ({"ru": "27"}, "ru: got 27"), ({"ru": "x"}, "ru: got 'x'"), ({"mcs": None}, "mcs: got None"),
    ({"ul_length": 81}, "ul_length: got 81"), ({"coding": "turbo"}, "coding: got 'turbo'"),
    ({"ltf": 3}, "ltf: got 3"), ({"users": 3}, "users: must be a list"),
    ({"users": [{"nss": 5}, {}]}, "nss: got 5"), ({"users": 9 * [{}]}, "ru_streams: got 9"),
    (None, "he_trigger: gi_us is missing")])
def test_triggers_that_are_refused(change, said):
    trigger = {"ul_length": 82, "ru": "52 index 1", "mcs": 1, "coding": "BCC", "gi_us": 3.2,
               "ltf": 4}
    if change is None:
        del trigger["gi_us"]
    with pytest.raises(ValueError, match=said):
        Receiver(1, he_trigger=trigger | (change or {}))


@pytest.mark.skipif(CAPTURES is None, reason="MIMOPACK_CAPTURES, a folder of recordings with known "
                    "frames, is not set")
def test_frames_of_others():
    """All HE and EHT frames of two other implementations."""
    right, total = Counter(), Counter()
    for path in sorted(Path(CAPTURES).rglob("*.he-truth.json")):
        facts = json.loads(path.read_text())["frames"]
        reader = recording.Reader(path.with_name(path.name.replace(".he-truth.json",
                                                                   ".sigmf-meta")))
        trigger = facts[0].get("trigger")
        found = frames_in(reader.read(), reader.sample_rate, frequency=reader.frequency,
                          he_trigger=trigger and facts[0] | trigger | {"users": None})
        for one in facts:
            near = [frame for frame in found if abs(frame.start - one["start"]) < 120]
            kind = one["format"].split("_MU (SU)")[0]
            total[kind] += 1
            wanted = [user["psdu_hex"] for user in one.get("user_list", ())] or [one["psdu"]]
            psdus = [part.psdu.hex() for got in near for part in (got, *got.users)]
            right[kind] += {psdu.lower() for psdu in wanted} <= set(psdus)
    for kind in ("HE_SU", "HE_ER_SU", "HE_MU", "HE_TB", "EHT"):
        assert 0 < total[kind] == right[kind], kind
