# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""VHT frames for several users: transmitter, simulated channel, receiver."""

import numpy as np
import pytest
from gnuradio.mimopack import wifi
from gnuradio.mimopack.wifi import VHT, VHTMU, signal_fields, vht_users
from gnuradio.mimopack.wifi.signal_fields import LSig
from wifi_air import data_mpdu, faded, frame_in


def sent_to(users, mapping=None, size=60, num_tx=None, bandwidth_mhz=20, **fields):
    """Return (samples of the antennas, format, MPDUs of each user) of a VHT frame."""
    mpdus = [[data_mpdu(30 + 25 * i, i), data_mpdu(size, 20 + i)] for i in range(len(users))]
    f, psdus = wifi.pack_users(
        lambda lengths: VHTMU.of_lengths(users, lengths, bandwidth_mhz=bandwidth_mhz, **fields),
        mpdus)
    transmitter = wifi.Transmitter(num_tx or f.num_streams, 1e6 * bandwidth_mhz, mapping=mapping)
    return transmitter.frame(f, psdus), f, mpdus


def check(frame, f, mpdus):
    assert frame.problem == ""
    assert [[mpdu.data for mpdu in one.mpdus] for one in frame.users] == mpdus
    assert [one.format for one in frame.users] == list(f.users)
    for one in frame.users:
        assert one.complete and len(one.evm_db) == one.format.num_streams
        assert one.channel.matrices.shape[2] == one.format.num_streams


@pytest.mark.quick
@pytest.mark.parametrize("detector", ["mmse", "nway", "kbest", "mla"])
@pytest.mark.parametrize("short_gi", [False, True])
def test_two_users_with_constellations_of_their_own(detector, short_gi):
    sent, f, mpdus = sent_to([{"mcs": 5}, {"mcs": 1, "coding": "ldpc", "user_position": 2}],
                             short_gi=short_gi, group_id=9)
    frame = frame_in(faded(sent, 2), detector=detector)
    check(frame, f, mpdus)
    assert frame.detector.startswith(detector)
    facts = frame.as_json()
    assert (facts["format"], facts["psdu"], facts["group_id"]) == ("vht-mu", "", 9)
    assert [(one["user_position"], one["mcs"], one["num_streams"], one["coding"])
            for one in facts["users"]] == [(0, 5, 1, "bcc"), (2, 1, 1, "ldpc")]


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
@pytest.mark.parametrize("streams, num_rx", [((2, 2), 4), ((1, 1), 3)], ids=str)
def test_bandwidths(bandwidth, coding, streams, num_rx):
    users = [{"mcs": mcs, "num_streams": count, "coding": coding}
             for mcs, count in zip((3, 4), streams, strict=True)]
    sent, f, mpdus = sent_to(users, bandwidth_mhz=bandwidth, size=900)
    check(frame_in(faded(sent, num_rx), 1e6 * bandwidth), f, mpdus)


@pytest.mark.quick
@pytest.mark.parametrize("streams, num_rx", [
    ((1, 1, 1, 1), 4), ((2, 1), 4), ((4, 1), 5), ((3, 2, 1), 6), ((3, 2, 1, 1), 7), ((4, 4), 8),
    ((2, 2, 2, 2), 8), ((2,), 2)], ids=str)
def test_counts_of_streams_and_training_fields(streams, num_rx):
    """2, 4, 6 and 8 VHT-LTFs; BPSK beside QAM; a group of which only one user receives."""
    users = [{"mcs": (4, 0, 2, 3)[i], "num_streams": count, "coding": "ldpc" if i % 2 else "bcc"}
             for i, count in enumerate(streams)]
    sent, f, mpdus = sent_to(users)
    assert f.num_ltf == {2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}[sum(streams)]
    check(frame_in(faded(sent, num_rx)), f, mpdus)


@pytest.mark.quick
@pytest.mark.parametrize("positions", [(0, 1), (0, 3), (1, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("group_id", [1, 62])
def test_positions_in_the_group(positions, group_id):
    users = [{"mcs": 3, "user_position": positions[0], "coding": "ldpc"},
             {"mcs": 2, "user_position": positions[1]}]
    sent, f, mpdus = sent_to(users, group_id=group_id)
    frame = frame_in(faded(sent, 2))
    check(frame, f, mpdus)
    assert tuple(one.format.user_position for one in frame.users) == positions


@pytest.mark.quick
def test_extra_symbol_of_one_user_lengthens_the_frame_of_all():
    users = [{"mcs": 4, "coding": "ldpc"}, {"mcs": 2}, {"mcs": 3, "coding": "ldpc"}]
    seen = set()
    for size in range(100, 1000, 60):
        sent, f, mpdus = sent_to(users, size=size)
        asks = tuple(one.coding == "ldpc" and one.ldpc_matching.extended for one in f.users)
        assert asks == (f.extra_symbol, False, f.extra_symbol)
        # PSDUs with the convolutional code also fill the extra symbol (21-63).
        assert f.users[1].length == (f.num_symbols * f.users[1].data_bits_per_symbol - 22) // 8
        if f.extra_symbol not in seen:
            seen.add(f.extra_symbol)
            check(frame_in(faded(sent, 3)), f, mpdus)
    assert seen == {False, True}


def test_streams_of_users_mapped_to_the_same_antennas():
    """Each subcarrier has a precoder of its own."""
    rng = np.random.default_rng(4)
    k = np.r_[-28:0, 1:29]
    random = np.exp(-2j * np.pi / 64 * rng.uniform(0, 4, (3, 3)) * k[:, None, None])
    mapping = np.linalg.qr(random * rng.standard_normal((3, 3)))[0]
    sent, f, mpdus = sent_to([{"mcs": 4, "num_streams": 2}, {"mcs": 3}], mapping, num_tx=3)
    check(frame_in(faded(sent, 3)), f, mpdus)


@pytest.mark.quick
def test_users_with_more_streams_than_antennas_are_named():
    sent, _, _ = sent_to([{"mcs": 1}, {"mcs": 1, "num_streams": 2}], group_id=17)
    frame = frame_in(faded(sent, 2))
    assert frame.problem == "2 channels, but the frame has 3 streams"
    facts = frame.as_json()
    assert (facts["format"], facts["group_id"], facts["bandwidth_mhz"]) == ("vht-mu", 17, 20)
    assert facts["users"] == []


def test_second_pass_helps():
    """A tone on one subcarrier spoils the first pass."""
    sent, _, _ = sent_to([{"mcs": 5}, {"mcs": 3, "coding": "ldpc"}], size=500)
    samples = [faded(sent, 2, snr_db=25.0, seed=seed) for seed in range(8)]
    for one in samples:
        one += 0.06 * np.exp(2j * np.pi * 10.3 / 64 * np.arange(one.shape[1]))
    good = [sum(part.complete for one in samples for part in frame_in(one, passes=passes).users)
            for passes in (1, 3)]
    assert good[0] < good[1]


def test_iterations_help():
    """The decoded bits of one user help to detect both users."""
    sent, _, _ = sent_to([{"mcs": 5}, {"mcs": 3, "coding": "ldpc"}], size=300)
    samples = [faded(sent, 2, snr_db=17.0, seed=seed) for seed in range(16)]
    good = {iterations: sum(part.complete for one in samples for part in frame_in(
        one, detector="nway", passes=1, iterations=iterations).users) for iterations in (1, 4)}
    assert good[1] + 4 <= good[4], good


def test_near_maximum_likelihood_beats_mmse():
    sent, _, _ = sent_to([{"mcs": 5}, {"mcs": 3}], size=300)
    samples = [faded(sent, 2, snr_db=24.0, seed=seed, num_taps=4) for seed in range(16)]
    good = {detector: sum(part.complete for one in samples
                          for part in frame_in(one, detector=detector).users)
            for detector in ("mmse", "nway")}
    assert good["mmse"] < good["nway"]


@pytest.mark.quick
def test_any_content_of_vht_sig_b_is_bounded(monkeypatch):
    """Whatever the VHT-SIG-B fields say, a frame has one report with its users, or names why."""
    sent, f, _ = sent_to([{"mcs": 1}, {"mcs": 2}, {"mcs": 0}])
    samples = faded(sent, 3)
    rng = np.random.default_rng(3)
    monkeypatch.setattr(vht_users, "_joint_bits",
                        lambda vectors, field: rng.integers(0, 2, (3, 20), np.uint8)
                        & rng.integers(0, 2, (3, 1), np.uint8))
    reasons = set()
    for _ in range(200):
        frame = frame_in(samples)
        assert len(frame.users) in (0, 3)
        assert frame.num_samples == f.num_samples
        reasons.add(frame.problem)
    assert "VHT-SIG-B and L-SIG disagree about the length" in reasons
    assert any("reserved" in reason for reason in reasons)
    assert len(reasons) < 10


@pytest.mark.quick
def test_any_content_of_vht_sig_a_is_bounded():
    """Streams, groups and lengths with a good CRC make a format, or a reason."""
    rng = np.random.default_rng(5)
    reasons = set()
    for _ in range(2000):
        bits = rng.integers(0, 2, 48, np.uint8)
        bits[34:42] = signal_fields.crc8(bits[:34])
        if not signal_fields.is_for_several_users(bits):
            continue
        try:
            l_sig = LSig(6, int(rng.integers(1, 4096)))
            users = signal_fields.parse_vht_sig_a_of_users(bits, l_sig)
        except (signal_fields.SignalError, wifi.Unsupported) as error:
            reasons.add(str(error))
        else:
            assert 1 <= len(users) <= 4 and sum(user.num_streams for user in users) <= 8
            VHTMU.of(users)
    assert "a user with 5 space-time streams (reserved)" in reasons


@pytest.mark.quick
def test_bits_of_the_signal_fields():
    """Tables 21-12 and 21-14, written out by hand."""
    users = [{"mcs": 7, "num_streams": 2, "user_position": 1}, {"mcs": 9, "user_position": 3,
                                                                "coding": "ldpc"}]
    f = VHTMU.of_lengths(users, [4000, 400], bandwidth_mhz=80, group_id=6)
    sig_a = "".join(map(str, signal_fields.vht_sig_a(f)))
    assert sig_a[:24] == "01" "1" "0" "011000" "000" "010" "000" "100" "0" "1"
    assert sig_a[24:34] == "00" "1" + str(int(f.extra_symbol)) + "011" "1" "1" "1"
    first, second = ("".join(map(str, signal_fields.vht_sig_b(user))) for user in f.users)
    assert first == "0001011111000000000" "1110"    # 1000 words
    assert second == "0010011000000000000" "1001"    # 100 words
    for bandwidth, length in ((20, 16), (40, 17)):
        f = VHTMU.of_lengths(users[:1], [40], bandwidth_mhz=bandwidth)
        assert "".join(map(str, signal_fields.vht_sig_b(f.users[0]))) == (
            "0101".ljust(length, "0") + "1110")


@pytest.mark.quick
@pytest.mark.parametrize("users, fields, message", [
    ([{"mcs": 1}], {"group_id": 63}, "group_id: got 63"),
    ([{"mcs": 1}] * 5, {}, "users: got 5, must be 1 to 4"),
    ([{"mcs": 1, "num_streams": 3}] * 3, {}, "9 space-time streams"),
    ([{"mcs": 1, "user_position": 1}, {"mcs": 1, "user_position": 1}], {}, "must ascend"),
    ([{"mcs": 1}], {"stbc": 1}, "STBC"), ([{"mcs": 9}], {}, "excluded by the standard"),
    ([{"mcs": 1, "ru": 2}], {}, "users: got key 'ru'")], ids=str)
def test_formats_that_are_refused(users, fields, message):
    with pytest.raises(ValueError, match=message):
        VHTMU.of_lengths(users, [40] * len(users), **fields)


def test_each_user_needs_a_psdu_of_its_length():
    _, f, _ = sent_to([{"mcs": 1}, {"mcs": 2}])
    with pytest.raises(ValueError, match="psdu: got 1 bytes"):
        wifi.Transmitter(2).frame(f, [b"x", b"y"])
    assert not isinstance(f.users[0], VHTMU) and isinstance(f.users[0], VHT)
