# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames of the transmitter through channels into the decoder that is read with the standard."""

from itertools import product

import numpy as np
import pytest
from gnuradio.mimopack.reference.wifi_he import Frame
from gnuradio.mimopack.wifi import (
    HE,
    HEMU,
    Transmitter,
    he_signal_b,
    mac,
    training,
)
from gnuradio.mimopack.wifi.formats.he import TRAINING
from wifi_air import data_mpdu, frames_in, two_taps

SU = TRAINING["he-su"]


def sent(f, num_tx, seed, rng, **settings):
    """Return (samples, PSDUs) of a frame with random bytes."""
    psdus = [rng.integers(0, 256, user.length, np.uint8).tobytes() for user in f.users]
    sender = Transmitter(num_tx, f.bandwidth_mhz * 1e6, **settings)
    return sender.frame(f, psdus[0] if isinstance(f, HE) else psdus, seed), psdus


def loop(f, num_tx=None, **settings):
    """Check that a frame is decoded, and return what the decoder found."""
    rng = np.random.default_rng(f.first_pilot if isinstance(f, HE) else len(f.users))
    num_tx = num_tx or f.num_space_time_streams
    samples, psdus = sent(f, num_tx, 77, rng, **settings)
    scale = f.bandwidth_mhz // 20
    # The last symbol fades out for 50 ns.
    assert samples.shape == (num_tx, (f.num_samples + 1) * scale - 1)
    if f.name != "he-er-su":    # whose training fields have twice the power
        assert np.mean(np.abs(samples)**2) * num_tx == pytest.approx(1, abs=0.12)
    found = Frame(two_taps(samples, max(2, num_tx), rng), bandwidth_mhz=f.bandwidth_mhz)
    assert found.format == f.name
    if isinstance(f, HE):
        assert found.psdus == psdus
    else:    # HE-SIG-B sorts users by their place in the content channels
        decoded = {user["sta_id"]: psdu
                   for user, psdu in zip(found.fields["users"], found.psdus, strict=True)}
        assert decoded == {user.sta_id: psdu for user, psdu in zip(f.users, psdus, strict=True)}
    return found


# A combination for each MCS and number of streams; all HE-LTFs, guard intervals and codes in turn.
CASES = [(mcs, streams, *SU[(mcs + streams) % len(SU)],
          "ldpc" if mcs > 9 or (mcs + streams) % 2 else "bcc")
         for mcs, streams in product(range(12), range(1, 5))]


@pytest.mark.parametrize("mcs, streams, ltf, gi_us, coding", CASES)
def test_he_su(mcs, streams, ltf, gi_us, coding):
    f = HE.of_length(mcs, 60 * (mcs + 1) * streams + 7 * streams, streams, ltf=ltf, gi_us=gi_us,
                     coding=coding, nominal_padding_us=8 * (mcs % 3))
    found = loop(f)
    user, = found.fields["users"]
    assert (user["mcs"], user["num_streams"], user["coding"]) == (mcs, streams, coding)
    assert (found.fields["ltf"], found.fields["gi_us"]) == (ltf, gi_us)
    assert found.symbols == f.num_symbols


@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
@pytest.mark.parametrize("padding", range(1, 5))
@pytest.mark.parametrize("stbc", [0, 1])
def test_every_padding_factor(coding, padding, stbc):
    """Lengths until the frame ends in each quarter of a symbol, with and without LDPC's extra one.
    """
    seen = set()
    for apep in range(60, 400, 9):
        f = HE.of_length(2, apep, coding=coding, stbc=stbc, ltf=4, gi_us=3.2,
                         nominal_padding_us=16)
        if f.pre_fec_padding == padding and f.extra_symbol not in seen:
            seen.add(f.extra_symbol)
            loop(f)
    assert seen == ({False} if coding == "bcc" else {False, True})


@pytest.mark.parametrize("mcs", [0, 1, 3, 4])
@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
def test_dual_carrier_modulation(mcs, streams, coding):
    found = loop(HE.of_length(mcs, 150, streams, dcm=True, coding=coding))
    assert found.fields["users"][0]["dcm"]


@pytest.mark.parametrize("ltf, gi_us", SU)
@pytest.mark.parametrize("mcs, coding", [(0, "bcc"), (7, "ldpc"), (11, "ldpc")])
def test_space_time_block_codes(ltf, gi_us, mcs, coding):
    if (ltf, gi_us) == (4, 0.8):
        assert loop(HE.of_length(mcs, 300, ltf=ltf, gi_us=gi_us, coding=coding)).fields["stbc"] == 0
    found = loop(HE.of_length(mcs, 300, stbc=1, ltf=2, gi_us=gi_us if ltf == 2 else 0.8,
                              coding=coding))
    assert found.fields["stbc"] == 1


@pytest.mark.parametrize("every", [10, 20])
@pytest.mark.parametrize("symbols", [10, 11, 12, 21, 22, 41])
@pytest.mark.parametrize("streams", [1, 2])
def test_midambles(every, symbols, streams):
    f = HE(0, symbols, streams, midamble=every, beam_change=bool(symbols % 2))
    found = loop(f)
    assert (found.fields["midamble"], found.num_midambles) == (every, f.num_midambles)
    assert found.fields["beam_change"] == f.beam_change


@pytest.mark.parametrize("ltf, gi_us", SU)
@pytest.mark.parametrize("mcs, ru, stbc, dcm", [
    (0, (242, 1), 0, False), (1, (242, 1), 1, False), (2, (242, 1), 0, False),
    (1, (242, 1), 0, True), (0, (106, 2), 0, False), (0, (106, 2), 0, True),
    (0, (106, 2), 1, False)])
def test_he_er_su(ltf, gi_us, mcs, ru, stbc, dcm):
    if (ltf, gi_us) == (4, 0.8) and (stbc or dcm):
        with pytest.raises(ValueError, match="4x HE-LTF"):
            HE(mcs, 4, stbc=stbc, dcm=dcm, ltf=ltf, gi_us=gi_us, name="he-er-su", ru=ru)
        return
    for coding in ("bcc", "ldpc"):
        found = loop(HE.of_length(mcs, 80, stbc=stbc, dcm=dcm, ltf=ltf, gi_us=gi_us,
                                  name="he-er-su", ru=ru, coding=coding))
        assert found.fields["users"][0]["ru"] == ru


@pytest.mark.parametrize("beam_change", [False, True])
def test_spatial_mapping(beam_change):
    rng = np.random.default_rng(5)
    mapping = np.linalg.qr(rng.standard_normal((4, 2, 2)) @ [1, 1j])[0]
    f = HE.of_length(5, 300, 2, beam_change=beam_change)
    loop(f, 4, mapping=mapping)
    samples, _ = sent(f, 4, 77, rng, mapping=mapping)
    # Without beam change, all of the frame lies in the plane of the two streams.
    rest = np.eye(4) - mapping @ mapping.conj().T
    outside = np.mean(np.abs(rest @ samples[:, :f.short_training_start])**2)
    assert (outside > 0.01) == beam_change
    assert np.mean(np.abs(rest @ samples[:, f.short_training_start:])**2) < 1e-9
    loop(f, 2, mapping=np.broadcast_to(np.eye(2), (242, 2, 2)))


# RUs of 20 MHz: each kind of allocation of Table 27-26.
ALLOCATIONS = [
    [(26, i) for i in range(1, 10)], [(52, 1), (52, 2), (26, 5), (52, 3), (52, 4)],
    [(52, 1), (52, 2), (52, 3), (52, 4)], [(106, 1), (26, 5), (106, 2)], [(106, 1), (106, 2)],
    [(106, 1), (52, 3), (52, 4)], [(26, 1), (26, 2), (52, 2), (26, 5), (106, 2)],
    [(106, 1), (26, 5), (26, 6), (26, 7), (52, 4)], [(52, 1), (26, 9)], [(26, 5)], [(242, 1)]]


@pytest.mark.parametrize("rus", ALLOCATIONS, ids=lambda rus: "-".join(str(size) for size, _ in rus))
@pytest.mark.parametrize("ltf, gi_us", TRAINING["he-mu"])
def test_he_mu_by_ofdma(rus, ltf, gi_us):
    for sig_b_mcs, sig_b_dcm in ((0, False), (0, True), (2, False), (4, True), (5, False)):
        users = [{"sta_id": 1 + i, "ru": ru, "mcs": (3 * i + sig_b_mcs) % 10,
                  "coding": ("bcc", "ldpc")[i % 2], "num_streams": 1 + i % 2}
                 for i, ru in enumerate(rus)]
        users[0] |= {"mcs": 1, "dcm": True}
        f = HEMU.of_lengths(users, [30 + 5 * i for i in range(len(users))], sig_b_mcs, sig_b_dcm,
                            ltf=ltf, gi_us=gi_us, bss_color=sig_b_mcs, compressed=False)
        found = loop(f, 2)
        assert [(user["sta_id"], user["ru"], user["mcs"], user["num_streams"], user["coding"],
                 user["dcm"]) for user in found.fields["users"]] == [
            (user.sta_id, user.ru, user.mcs, user.num_streams, user.coding, user.dcm)
            for user in f.users]


@pytest.mark.parametrize("streams", [(1, 1), (2, 1), (1, 1, 1), (2, 2), (3, 1), (2, 1, 1),
                                     (1, 1, 1, 1), (2, 2, 1, 1), (4, 3, 1), (1,) * 8])
@pytest.mark.parametrize("ru", [(242, 1), (106, 2)])
def test_he_mu_by_mu_mimo(streams, ru):
    users = [{"sta_id": 9 + i, "ru": ru, "mcs": 2 + i, "num_streams": count,
              "coding": ("ldpc", "bcc")[i % 2]} for i, count in enumerate(streams)]
    if ru[0] == 106:
        users.insert(0, {"sta_id": 3, "ru": (106, 1), "mcs": 5})
    f = HEMU.of_lengths(users, [100] * len(users), ltf=4, gi_us=3.2,
                        midamble=10 if sum(streams) <= 4 else 0)
    assert f.compressed == (ru[0] == 242)
    found = loop(f, sum(streams))
    assert [user["num_streams"] for user in found.fields["users"]] == [
        user.num_streams for user in f.users]


def test_he_mu_with_stbc():
    users = [{"sta_id": 1, "ru": (106, 1), "mcs": 3}, {"sta_id": 2, "ru": (106, 2), "mcs": 9}]
    assert loop(HEMU.of_lengths(users, [70, 300], stbc=1)).fields["stbc"] == 1


@pytest.mark.parametrize("ltf, gi_us", TRAINING["he-tb"])
@pytest.mark.parametrize("parts", [
    [((242, 1), 0, 2)], [((26, 1), 0, 1), ((52, 2), 0, 2), ((106, 2), 0, 1)],
    [((106, 1), 0, 1), ((106, 1), 1, 1), ((26, 5), 0, 1)],
    [((242, 1), 0, 2), ((242, 1), 2, 1), ((242, 1), 3, 1)]])
@pytest.mark.parametrize("masked_ltf", [False, True])
def test_he_tb(parts, ltf, gi_us, masked_ltf):
    """Several stations, each with two antennas, answer a Trigger frame at once."""
    rng = np.random.default_rng(3)
    total = max(first + count for _, first, count in parts)
    common = {"gi_us": gi_us, "ltf": ltf, "stbc": 0, "midamble": 0, "pre_fec_padding": 3,
              "ltf_count": training.NUM_LTF[total], "extra_symbol": False,
              "masked_ltf": masked_ltf}
    formats = [HE(i + 1, 6, count, ru=ru, first_stream=first, name="he-tb",
                  coding=("ldpc", "bcc")[i % 2], packet_extension_us=8, **common)
               for i, (ru, first, count) in enumerate(parts)]
    frames = [sent(f, 2, 20 + i, rng) for i, f in enumerate(formats)]
    received = sum(two_taps(samples, 4, rng) for samples, _ in frames)
    trigger = [{"ru": f.ru, "mcs": f.mcs, "coding": f.coding, "dcm": f.dcm,
                "num_streams": f.num_streams, "first_stream": f.first_stream} for f in formats]
    found = Frame(received, trigger, common | {"pe_disambiguity": formats[0].pe_disambiguity})
    assert found.format == "he-tb"
    assert found.psdus == [psdu for _, (psdu,) in frames]


def test_seeds_of_users():
    users = [{"sta_id": 1, "ru": (106, 1), "mcs": 3}, {"sta_id": 2, "ru": (106, 2), "mcs": 3}]
    f = HEMU.of_lengths(users, [70, 70])
    sender = Transmitter()
    psdus = [bytes(length) for length in (user.length for user in f.users)]
    same, other = (sender.frame(f, psdus, seeds) for seeds in ([5, 5], [5, 6]))
    assert np.array_equal(sender.frame(f, psdus, 5), same)
    assert Frame(other).psdus == psdus and not np.array_equal(same, other)
    with pytest.raises(ValueError, match="psdu: got 3 bytes"):
        sender.frame(f, [b"abc", psdus[1]])


def test_layouts_of_allocations():
    """Table 27-26: every code's RUs lie in the channel and do not overlap."""
    for code in range(256):
        layout = he_signal_b.allocation(code)
        if layout and code not in (200, 208) and max(size for size, _ in layout) <= 242:
            places = [place + i for size, place in layout
                      for i in range({26: 1, 52: 2, 106: 4, 242: 9}[size])]
            assert len(set(places)) == len(places) and max(places) < 9
    assert he_signal_b.allocation(15) == {
        (52, 0): 1, (52, 2): 1, (26, 4): 1, (52, 5): 1, (52, 7): 1}
    assert he_signal_b.allocation(0b10_011_101) == {(106, 0): 4, (26, 4): 1, (106, 5): 6}
    assert he_signal_b.allocation(255) is None


@pytest.mark.parametrize("bandwidth", [40, 80, 160])
@pytest.mark.parametrize("ltf, gi_us", SU)
@pytest.mark.parametrize("mcs, streams, dcm", [
    (0, 1, False), (11, 2, False), (4, 1, True), (7, 4, False)])
def test_wide_he_su(bandwidth, ltf, gi_us, mcs, streams, dcm):
    if dcm and (ltf, gi_us) == (4, 0.8):
        return
    loop(HE.of_length(mcs, 900, streams, bandwidth_mhz=bandwidth, coding="ldpc", dcm=dcm, ltf=ltf,
                      gi_us=gi_us, nominal_padding_us=16))


@pytest.mark.parametrize("bandwidth, rus", [
    (40, [(484, 1), (484, 1)]), (40, [(242, 1), (106, 3), (52, 7), (26, 18)]),
    (80, [(996, 1), (996, 1), (996, 1)]), (80, [(484, 1), (26, 19), (242, 3), (52, 13), (106, 8)]),
    (160, [(996, 2), (484, 1), (26, 19), (242, 3), (26, 37)]),
    (160, [(996, 1), (26, 56), (26, 74)]),
    (160, [(1992, 1), (1992, 1)])])
def test_wide_he_mu(bandwidth, rus):
    users = [{"sta_id": 50 + i, "ru": ru, "mcs": 3 + i, "coding": "ldpc"}
             for i, ru in enumerate(rus)]
    f = HEMU.of_lengths(users, [200] * len(users), 1, bandwidth_mhz=bandwidth)
    found = loop(f, 3)
    assert sorted((user["sta_id"], user["ru"], user["mcs"]) for user in found.fields["users"]) == [
        (user.sta_id, user.ru, user.mcs) for user in f.users]


@pytest.mark.parametrize("bandwidth, rus", [
    (40, [(242, 1), (106, 4)]), (80, [(484, 2), (26, 19), (106, 1)]),
    (160, [(996, 1), (242, 5), (52, 29)]), (160, [(1992, 1)])])
@pytest.mark.parametrize("ltf, gi_us", TRAINING["he-tb"])
def test_wide_he_tb(bandwidth, rus, ltf, gi_us):
    rng = np.random.default_rng(4)
    common = {"gi_us": gi_us, "ltf": ltf, "stbc": 0, "midamble": 0, "pre_fec_padding": 2,
              "ltf_count": 1, "extra_symbol": False, "masked_ltf": False}
    formats = [HE(i + 2, 4, bandwidth_mhz=bandwidth, ru=ru, name="he-tb", coding="ldpc", **common)
               for i, ru in enumerate(rus)]
    frames = [sent(f, 1, 20 + i, rng) for i, f in enumerate(formats)]
    trigger = [{"ru": f.ru, "mcs": f.mcs, "coding": f.coding, "dcm": f.dcm, "num_streams": 1,
                "first_stream": 0} for f in formats]
    found = Frame(sum(two_taps(samples, 2, rng) for samples, _ in frames), trigger,
                  common | {"pe_disambiguity": formats[0].pe_disambiguity},
                  bandwidth_mhz=bandwidth)
    assert found.occupied == sorted(set().union(
        *(he_signal_b.subchannels_of(bandwidth, f.ru) for f in formats)))
    assert found.psdus == [psdu for _, (psdu,) in frames]


def receive(f, samples, psdu, sample_rate=20e6):
    """Check that the receiver decodes a frame, and return its report."""
    rng = np.random.default_rng(6)
    received = np.pad(two_taps(samples, max(2, len(samples)), rng), [(0, 0), (700, 700)])
    noise = rng.standard_normal((*received.shape, 2)) @ [1, 1j]
    frame, = frames_in(0.1 * received + 1e-4 * noise, sample_rate)
    assert (frame.problem, frame.format.name, frame.psdu) == ("", f.name, psdu)
    return frame


@pytest.mark.parametrize("nominal", [0, 8, 16])
@pytest.mark.parametrize("ltf, gi_us", SU)
@pytest.mark.parametrize("name", ["he-su", "he-er-su"])
def test_the_receiver_counts_the_symbols_before_packet_extensions(nominal, ltf, gi_us, name):
    rng = np.random.default_rng(nominal)
    seen, told = set(), set()
    for apep in range(40, 400, 11):
        f = HE.of_length(1, apep, ltf=ltf, gi_us=gi_us, nominal_padding_us=nominal, name=name)
        if f.pre_fec_padding in seen and f.pe_disambiguity in told:
            continue
        seen.add(f.pre_fec_padding)
        told.add(f.pe_disambiguity)
        samples, (psdu,) = sent(f, 1, 9, rng)
        assert receive(f, samples, psdu).format.num_symbols == f.num_symbols
    assert seen == {1, 2, 3, 4}


@pytest.mark.parametrize("beam_change", [False, True])
@pytest.mark.parametrize("streams", [1, 2, 3])
def test_the_receiver_takes_mapped_frames(streams, beam_change):
    """With a random matrix for each subcarrier, no L-LTF would be found without beam change."""
    rng = np.random.default_rng(streams)
    matrices = np.linalg.qr(rng.standard_normal((242, 4, streams, 2)) @ [1, 1j])[0]
    for mapping, beamformed in ((matrices[0], False), (matrices, True))[:1 + beam_change]:
        f = HE.of_length(6, 500, streams, ltf=4, gi_us=3.2, beamformed=beamformed,
                         beam_change=beam_change)
        samples, (psdu,) = sent(f, 4, 9, rng, mapping=mapping)
        receive(f, samples, psdu)


@pytest.mark.parametrize("megahertz, centre", [(40, -32), (40, 32), (80, 96), (80, -32)])
def test_the_receiver_finds_frames_in_a_wider_band(megahertz, centre):
    f = HE.of_length(9, 900, 2, gi_us=1.6)
    psdu = mac.aggregate([data_mpdu(850)], f.length)
    samples = Transmitter(2, megahertz * 1e6, centre).frame(f, psdu)
    frame = receive(f, samples, psdu, megahertz * 1e6)
    assert frame.centre_hz == centre * 312.5e3
