# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users that share a resource unit: transmitter, simulated channel, receiver."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors, wifi
from gnuradio.mimopack.wifi import HE, HEMU, carriers, he_users, mac
from gnuradio.mimopack.wifi.he_tables import ltf_mapping
from gnuradio.mimopack.wifi.he_trigger import triggers_in
from wifi_air import data_mpdu, faded, frame_in, frames_in, multipath, through
from wifi_frames import trigger_frame


def user(sta_id, mcs, num_streams=1, ru=(242, 1), **own):
    return {"sta_id": sta_id, "ru": ru, "mcs": mcs, "num_streams": num_streams, **own}


def sent_to(users, mapping=None, size=60, num_tx=None, **fields):
    """Return (samples of the antennas, format, MPDUs of each user) of an HE MU frame."""
    mpdus = [[data_mpdu(30 + 25 * i, i), data_mpdu(size, 20 + i)] for i in range(len(users))]
    f, psdus = wifi.pack_users(lambda lengths: HEMU.of_lengths(users, lengths, **fields), mpdus)
    transmitter = wifi.Transmitter(num_tx or f.num_space_time_streams, 1e6 * f.bandwidth_mhz,
                                   mapping=mapping)
    return transmitter.frame(f, psdus), f, mpdus


def check(frame, f, mpdus):
    assert frame.problem == ""
    assert [[mpdu.data for mpdu in one.mpdus] for one in frame.users] == mpdus
    for one, asked in zip(frame.users, f.users, strict=True):
        for name in ("sta_id", "ru", "mcs", "num_streams", "coding", "length", "first_stream",
                     "num_symbols"):
            assert getattr(one.format, name) == getattr(asked, name), name
        assert one.complete and len(one.evm_db) == asked.num_streams
        assert one.channel.matrices.shape[2] == asked.num_streams


@pytest.mark.quick
@pytest.mark.parametrize("detector", ["mmse", "nway", "kbest", "mla"])
@pytest.mark.parametrize("fields", [{}, {"ltf": 4, "gi_us": 3.2, "sig_b_mcs": 3}], ids=str)
def test_two_users_with_constellations_of_their_own(detector, fields):
    sent, f, mpdus = sent_to([user(5, 5), user(6, 1, coding="ldpc")], **fields)
    assert f.compressed
    frame = frame_in(faded(sent, 2), detector=detector)
    check(frame, f, mpdus)
    assert frame.detector.startswith(detector)
    facts = frame.as_json()
    assert (facts["format"], facts["psdu"]) == ("he-mu", "")
    assert [(one["sta_id"], one["mcs"], one["num_streams"], one["coding"])
            for one in facts["users"]] == [(5, 5, 1, "bcc"), (6, 1, 1, "ldpc")]


@pytest.mark.quick
@pytest.mark.parametrize("streams, num_rx", [
    ((2, 2), 4), ((1, 1, 1), 3), ((2, 1), 4), ((4, 1), 5), ((2, 2, 2), 6), ((3, 2, 1, 1), 7),
    ((4, 4), 8), ((1,) * 8, 8)], ids=str)
def test_counts_of_streams_and_training_fields(streams, num_rx):
    """1, 2, 4, 6 and 8 HE-LTFs; BPSK beside QAM."""
    users = [user(10 + i, (4, 0, 2, 3)[i % 4], count, coding="ldpc" if i % 2 else "bcc")
             for i, count in enumerate(streams)]
    sent, f, mpdus = sent_to(users, ltf=2, gi_us=1.6)
    assert f.first.num_ltf == {4: 4, 3: 4, 5: 6, 6: 6, 7: 8, 8: 8}[sum(streams)]
    check(frame_in(faded(sent, num_rx)), f, mpdus)


@pytest.mark.quick
@pytest.mark.parametrize("rus", [
    [(106, 1), (106, 1), (26, 5), (106, 2)], [(106, 1), (106, 2), (106, 2), (106, 2)],
    [(52, 1), (52, 2), (106, 2), (106, 2)], [(242, 1), (242, 1)]], ids=str)
def test_resource_units_by_allocation(rus):
    """Some RUs have several users, others one."""
    users = [user(20 + i, 2 + i, ru=ru) for i, ru in enumerate(rus)]
    sent, f, mpdus = sent_to(users, compressed=False, ltf=4, gi_us=0.8)
    check(frame_in(faded(sent, 3)), f, mpdus)


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, compressed, parts, num_rx", [
    (40, True, [((484, 1), (1, 1))], 3), (40, False, [((484, 1), (1, 1))], 3),
    (80, True, [((996, 1), (1,) * 8)], 8), (80, False, [((996, 1), (2, 1, 1))], 4),
    (160, True, [((1992, 1), (2, 1, 1))], 4),
    (40, False, [((242, 1), (1, 1)), ((106, 3), (2, 1)), ((106, 4), (1,))], 3),
    (80, False, [((484, 1), (2, 1)), ((26, 19), (1,)), ((242, 3), (1, 1)), ((106, 7), (1,)),
                 ((106, 8), (1, 1))], 4),
    (160, False, [((996, 1), (2, 1, 1)), ((484, 3), (1, 1)), ((26, 56), (1,)), ((242, 7), (1,)),
                  ((106, 15), (1, 1))], 4)], ids=str)
def test_wide_resource_units(bandwidth, compressed, parts, num_rx):
    """Joint users in RUs of 242 to 2x996 tones, also beside other RUs with and without them."""
    owners = [(ru, count) for ru, streams in parts for count in streams]
    users = [user(30 + i, (5, 2, 0, 4)[i % 4], count, ru, coding="ldpc")
             for i, (ru, count) in enumerate(owners)]
    sent, f, mpdus = sent_to(users, bandwidth_mhz=bandwidth, compressed=compressed)
    frame = frame_in(faded(sent, num_rx), 1e6 * bandwidth)
    assert frame.problem == ""
    assert {(one.format.sta_id, one.format.ru, one.format.mcs, one.format.num_streams):
            [mpdu.data for mpdu in one.mpdus] for one in frame.users} == {
        (one.sta_id, one.ru, one.mcs, one.num_streams): own
        for one, own in zip(f.users, mpdus, strict=True)}


@pytest.mark.parametrize("every", [10, 20])
@pytest.mark.parametrize("num_rx", [2, 4])
def test_midambles(every, num_rx):
    """The second half of the frame comes through another channel."""
    users = [user(1, 1, ru=(106, 1), coding="ldpc"), user(2, 0, ru=(106, 1)),
             user(3, 1, ru=(106, 2))]
    sent, f, mpdus = sent_to(users, size=200, midamble=every)
    assert f.num_symbols > 2 * every
    at = f.data_start + every * f.first.symbol
    samples = np.concatenate([faded(sent[:, :at], num_rx, seed=2)[:, :400 + at],
                              faded(sent, num_rx, seed=3)[:, 400 + at:]], axis=1)
    frame = frame_in(samples, keep_symbols=True)
    check(frame, f, mpdus)
    for one in frame.users:
        assert one.symbols.shape == (f.num_symbols, 102, 1)
        assert one.evm_db[0] < -20


def test_streams_of_users_mapped_to_the_same_antennas():
    """Each subcarrier has a precoder of its own."""
    rng = np.random.default_rng(4)
    delays = rng.uniform(0, 4, (3, 3))
    k = np.r_[-122:-1, 2:123]
    random = np.exp(-2j * np.pi / 256 * delays * k[:, None, None]) * rng.standard_normal((3, 3))
    mapping = np.linalg.qr(random)[0]
    sent, f, mpdus = sent_to([user(1, 4, 2), user(2, 3)], mapping, num_tx=3, ltf=4, gi_us=0.8)
    check(frame_in(faded(sent, 3)), f, mpdus)


def test_users_with_more_streams_than_antennas_are_named():
    """The user of the other RU is decoded."""
    users = [user(1, 1, ru=(106, 1)), user(2, 1, ru=(106, 1)), user(3, 1, ru=(106, 2))]
    sent, _, mpdus = sent_to(users)
    frame = frame_in(faded(sent, 1))
    problem = "1 channel, but the frame has 2 streams"
    assert [one.problem for one in frame.users] == [problem, problem, ""]
    assert [mpdu.data for mpdu in frame.users[2].mpdus] == mpdus[2]
    assert [one.format.sta_id for one in frame.users] == [1, 2, 3]


def test_a_detector_that_refuses_the_constellations_is_named():
    sent, _, _ = sent_to([user(1, 9, 4), user(2, 8, 4)])
    frame = frame_in(faded(sent, 8), detector="mla")
    assert len(frame.users) == 2
    assert all("mla cannot detect 8 streams of 256-QAM" in one.problem for one in frame.users)


@pytest.mark.parametrize("midamble", [0, 10])
def test_second_pass_helps(midamble):
    """A tone on one subcarrier spoils the first pass."""
    good = []
    sent, f, _ = sent_to([user(1, 5), user(2, 3, coding="ldpc")], size=700, midamble=midamble)
    assert bool(f.first.num_midambles) == bool(midamble)
    samples = [faded(sent, 2, 25.0, seed) for seed in range(8)]
    for one in samples:
        one += 0.06 * np.exp(2j * np.pi * 41.3 / 256 * np.arange(one.shape[1]))
    for passes in (1, 3):
        good.append(sum(part.complete for one in samples
                        for part in frame_in(one, passes=passes).users))
    assert good[0] < good[1]


@pytest.mark.parametrize("midamble", [0, 10])
@pytest.mark.parametrize("streams, snr_db, detector", [(1, 17.0, "nway"), (2, 15.0, "mmsepic")])
def test_iterations_help(streams, snr_db, detector, midamble):
    """The decoded bits of one user help to detect both users; no byte is wrong."""
    sent, f, mpdus = sent_to([user(1, 4, streams), user(2, 3, streams, coding="ldpc")],
                             size=300 + 600 * streams, midamble=midamble)
    assert bool(f.first.num_midambles) == bool(midamble)
    good = {1: 0, 4: 0}
    for seed in range(16):
        samples = faded(sent, 2 * streams, snr_db, seed)
        for iterations in good:
            frame = frame_in(samples, detector=detector, passes=1, iterations=iterations)
            for one, want in zip(frame.users, mpdus, strict=True):
                good[iterations] += one.complete
                assert not one.complete or [mpdu.data for mpdu in one.mpdus] == want
    assert good[1] + 4 <= good[4], good


def test_near_maximum_likelihood_beats_mmse():
    sent, _, _ = sent_to([user(1, 5), user(2, 3)], size=300)
    samples = [faded(sent, 2, 24.0, seed, num_taps=4) for seed in range(16)]
    good = {detector: sum(part.complete for one in samples
                          for part in frame_in(one, detector=detector).users)
            for detector in ("mmse", "nway")}
    assert good["mmse"] < good["nway"]


def test_points_of_each_user():
    sent, f, _ = sent_to([user(1, 5), user(2, 1)])
    frame = frame_in(faded(sent, 3), keep_symbols=True)
    for one in frame.users:
        assert one.symbols.shape == (f.num_symbols, 234, 1)
        assert one.evm_db[0] < -25


def test_callable_detector():
    def make(num_tx, num_rx, constellation):
        return detectors.KBest(num_tx=num_tx, num_rx=num_rx, constellation=constellation, k=16)

    sent, f, mpdus = sent_to([user(1, 3), user(2, 1)])
    check(frame_in(faded(sent, 2), detector=make), f, mpdus)


@pytest.mark.quick
@pytest.mark.parametrize("count", [1, 2, 4, 6, 8])
def test_mapping_of_training_fields_is_orthogonal(count):
    matrix = ltf_mapping(count)
    np.testing.assert_allclose(matrix @ matrix.conj().T, count * np.eye(count), atol=1e-12)
    np.testing.assert_allclose(np.abs(matrix), 1)


@pytest.mark.quick
def test_any_content_of_he_sig_b_is_bounded(monkeypatch):
    """Whatever an HE-SIG-B with good CRCs says, users have at most eight streams in an RU."""
    sent, f, _ = sent_to([user(i, 1, ru=(106, 1 + i // 2)) for i in range(4)], sig_b_mcs=5)
    samples = faded(sent, 1)
    rng = np.random.default_rng(3)
    reasons = set()

    class Hostile(he_users.BlockReader):
        def block(self, size):
            return rng.integers(0, 2, size, np.uint8)

    monkeypatch.setattr(he_users, "BlockReader", Hostile)
    for _ in range(300):
        frame = frame_in(samples)
        assert len(frame.parts) <= 17
        streams = {}
        for one in frame.users:
            unit = one.format.ru
            streams[unit] = streams.get(unit, 0) + one.format.num_streams
        assert all(count <= 8 for count in streams.values())
        reasons.add(frame.problem)
    assert "HE-SIG-B with a reserved allocation of resource units" in reasons
    assert any("spatial configuration" in reason for reason in reasons)


def answers(streams, num_rx, ru, masked=False, ltf=4, gi_us=3.2, absent=None, **fields):
    """Return (samples, stations, MPDUs, a format) of stations that answer a Trigger frame at once.

    Each station has a channel of its own. ``absent`` is the number of one that does not answer.
    """
    probe = {"name": "he-tb", "ltf": ltf, "gi_us": gi_us, "uplink": True, "ru": ru,
             "ru_streams": sum(streams), "masked_ltf": masked} | fields
    longest = HE.of_length(1, 300, **probe)
    sent, stations, mpdus = 0, [], []
    for i, count in enumerate(streams):
        mcs, mpdu = (4, 1, 3, 0)[i % 4], data_mpdu(60 + 20 * i, i)
        f = HE(mcs, longest.num_symbols, count, pre_fec_padding=longest.pre_fec_padding,
               extra_symbol=longest.extra_symbol, first_stream=sum(streams[:i]), sta_id=5 + i,
               **probe)
        if i != absent:
            one = wifi.Transmitter(count, 1e6 * f.bandwidth_mhz).frame(
                f, mac.aggregate([mpdu], f.length))
            rng = np.random.default_rng(i)
            sent = sent + through(multipath(num_rx, count, rng, 3, 0.7), one)
        stations.append((f, count))
        mpdus.append(mpdu)
    return sent, stations, mpdus, longest


def noisy(samples, level=0.003):
    rng = np.random.default_rng(9)
    noise = rng.standard_normal((2, *samples.shape))
    return (samples + level * (noise[0] + 1j * noise[1])).astype(np.complex64)


@pytest.mark.quick
@pytest.mark.parametrize("streams, num_rx, masked, training", [
    ((1, 1), 2, False, (4, 3.2)), ((2, 1), 3, False, (2, 1.6)), ((1, 1), 2, True, (2, 1.6)),
    ((2, 2), 4, True, (1, 1.6)), ((1, 1, 1), 4, False, (1, 1.6)), ((2, 2, 2), 6, False, (4, 3.2)),
    ((4, 4), 8, False, (4, 3.2))], ids=str)
@pytest.mark.parametrize("by_hand", [False, True])
def test_stations_that_share_a_resource_unit(streams, num_rx, masked, training, by_hand):
    sent, stations, mpdus, longest = answers(streams, num_rx, (242, 1), masked, *training)
    quiet = np.zeros((num_rx, 400))
    if by_hand:
        given = {"ul_length": longest.legacy_length, "ru": "242", "gi_us": training[1],
                 "ltf": training[0], "pre_fec_padding": longest.pre_fec_padding,
                 "pe": int(longest.pe_disambiguity), "coding": "BCC", "masked_ltf": int(masked),
                 "users": [{"mcs": f.mcs, "nss": count, "sta_id": f.sta_id}
                           for f, count in stations]}
        samples = np.concatenate([quiet, sent, quiet], axis=1)
        got = frame_in(noisy(samples), he_trigger=given)
    else:
        trigger = trigger_frame(
            [(f.sta_id, 61, f.mcs, 0, f.first_stream, count) for f, count in stations],
            longest.legacy_length, {1: 0, 2: 1, 4: 2}[training[0]],
            (1, 2, 4, 6, 8).index(longest.num_ltf), longest.pre_fec_padding,
            pe=longest.pe_disambiguity, masked=masked)
        asked = wifi.NonHT(24, len(trigger))
        asking = wifi.Transmitter(1).frame(asked, trigger)[:, :asked.num_samples]
        samples = np.concatenate([quiet, np.tile(asking, (num_rx, 1)), np.zeros((num_rx, 320)),
                                  sent, quiet], axis=1)
        _, got = frames_in(noisy(samples))
    assert got.problem == ""
    assert [[mpdu.data for mpdu in one.mpdus] for one in got.users] == [[one] for one in mpdus]
    assert [(one.format.name, one.format.sta_id, one.format.first_stream) for one in got.users] == [
        ("he-tb", f.sta_id, f.first_stream) for f, _ in stations]


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, ru, number", [
    (40, (484, 1), 65), (80, (484, 2), 66), (80, (996, 1), 67), (160, (996, 2), 128 + 67),
    (160, (1992, 1), 128 + 68)])
def test_stations_that_share_a_wide_resource_unit(bandwidth, ru, number):
    """The receiver reads the Trigger frame, too."""
    sent, stations, mpdus, longest = answers((1, 2), 3, ru, bandwidth_mhz=bandwidth, coding="ldpc")
    trigger = trigger_frame(
        [(f.sta_id, number, f.mcs, 1, f.first_stream, count) for f, count in stations],
        longest.legacy_length, 2, 2, longest.pre_fec_padding, longest.extra_symbol,
        longest.pe_disambiguity, width=carriers.BANDWIDTHS.index(bandwidth))
    rate = 1e6 * bandwidth
    asking = wifi.Transmitter(1, rate).frame(wifi.NonHT(24, len(trigger), bandwidth), trigger)
    quiet = np.zeros((3, 16 * bandwidth))
    samples = np.concatenate([quiet, np.tile(asking, (3, 1)), quiet, sent, quiet], axis=1)
    _, got = frames_in(noisy(samples), rate)
    assert got.problem == ""
    assert [(one.format.sta_id, one.format.ru, [mpdu.data for mpdu in one.mpdus])
            for one in got.users] == [
        (f.sta_id, ru, [mpdu]) for (f, _), mpdu in zip(stations, mpdus, strict=True)]


def test_a_station_that_does_not_answer_leaves_the_others():
    sent, stations, mpdus, longest = answers((1, 1), 2, (106, 2), absent=1)
    given = {"ul_length": longest.legacy_length, "ru": "106 index 2", "gi_us": 3.2, "ltf": 4,
             "pre_fec_padding": longest.pre_fec_padding, "pe": int(longest.pe_disambiguity),
             "coding": "bcc", "users": [{"mcs": f.mcs} for f, _ in stations]}
    got = frame_in(noisy(np.pad(sent, ((0, 0), (400, 400)))), he_trigger=given)
    assert [[mpdu.data for mpdu in one.mpdus if mpdu.fcs_ok] for one in got.users] == [
        [mpdus[0]], []]


def test_stations_with_more_streams_than_antennas_are_named():
    sent, stations, _, longest = answers((1, 1), 1, (242, 1))
    given = {"ul_length": longest.legacy_length, "ru": "242", "gi_us": 3.2, "ltf": 4,
             "pre_fec_padding": longest.pre_fec_padding, "coding": "bcc",
             "pe": int(longest.pe_disambiguity), "users": [{"mcs": f.mcs} for f, _ in stations]}
    got = frame_in(noisy(np.pad(sent, ((0, 0), (400, 400)))), he_trigger=given)
    assert [one.problem for one in got.users] == ["1 channel, but the frame has 2 streams"] * 2


@pytest.mark.quick
def test_any_content_of_a_trigger_frame_is_bounded():
    """At most one format for each RU of 20 MHz, with at most eight streams."""
    rng = np.random.default_rng(1)
    whole = trigger_frame([(i + 1, 61, 1, 0, 0, 1) for i in range(40)], 82, fields=4)
    most = 0
    for _ in range(500):
        body = np.frombuffer(whole, np.uint8).copy()
        body[24:-4] = rng.integers(0, 256, body.size - 28)
        body[24 + 2 * (rng.random() < 0.5)::6] &= 0x7F
        found = triggers_in(body.tobytes())
        most = max(most, len(found))
        assert len({one.format.ru for one in found}) == len(found) <= 16
        assert all(one.format.num_space_time_streams <= 8 for one in found)
    assert most > 0
