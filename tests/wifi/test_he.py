# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames: tables of IEEE 802.11ax-2021 clause 27."""

import numpy as np
import pytest
from gnuradio.mimopack.wifi import HE, Unsupported, he_tables
from gnuradio.mimopack.wifi import signal_fields as fields
from gnuradio.mimopack.wifi.he_tables import RU
from gnuradio.mimopack.wifi.interleaving import order_of

pytestmark = pytest.mark.quick

# Table 27-6: number of RUs of each size.
NUM_RUS = {20: (9, 4, 2, 1), 40: (18, 8, 4, 2, 1), 80: (37, 16, 8, 4, 2, 1),
           160: (74, 32, 16, 8, 4, 2, 1)}
# Tables 27-64 and following: Mbit/s of MCS 0 to 11 with one stream and a guard interval of 0.8 us.
RATES = {
    26: (0.9, 1.8, 2.6, 3.5, 5.3, 7.1, 7.9, 8.8, 10.6, 11.8, 13.2, 14.7),
    52: (1.8, 3.5, 5.3, 7.1, 10.6, 14.1, 15.9, 17.6, 21.2, 23.5, 26.5, 29.4),
    106: (3.8, 7.5, 11.3, 15, 22.5, 30, 33.8, 37.5, 45, 50, 56.3, 62.5),
    242: (8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86, 103.2, 114.7, 129, 143.4),
    484: (17.2, 34.4, 51.6, 68.8, 103.2, 137.6, 154.9, 172.1, 206.5, 229.4, 258.1, 286.8),
    996: (36, 72.1, 108.1, 144.1, 216.2, 288.2, 324.3, 360.3, 432.4, 480.4, 540.4, 600.5),
    1992: (72.1, 144.1, 216.2, 288.2, 432.4, 576.5, 648.5, 720.6, 864.7, 960.7, 1080.9, 1201),
}


@pytest.mark.parametrize("bandwidth", NUM_RUS)
def test_resource_units(bandwidth):
    for size, count in zip(he_tables.RU_SIZES, NUM_RUS[bandwidth], strict=False):
        plans = [he_tables.plan(bandwidth, RU(size, i + 1)) for i in range(count)]
        used = np.concatenate([plan.used for plan in plans])
        assert he_tables.num_rus(bandwidth, size) == count
        assert used.size == count * size == np.unique(used).size
        np.testing.assert_array_equal(np.sort(used), np.sort(-used))
        starts = [plan.used[0] for plan in plans]
        assert starts == sorted(starts)
        pilots = {26: 2, 52: 4, 106: 4, 242: 8, 484: 16, 996: 16, 1992: 32}[size]
        assert {len(plan.pilots) for plan in plans} == {pilots}


def test_pilots_of_20_mhz():
    """Tables 27-39 to 27-41."""
    plan = he_tables.plan
    assert [plan(20, RU(26, i)).pilots for i in range(1, 10)] == [
        (-116, -102), (-90, -76), (-62, -48), (-36, -22), (-10, 10), (22, 36), (48, 62), (76, 90),
        (102, 116)]
    assert plan(20, RU(106, 1)).pilots == (-116, -90, -48, -22)
    assert plan(20, RU(242, 1)).pilots == (-116, -90, -48, -22, 22, 48, 90, 116)


@pytest.mark.parametrize("size", RATES)
def test_rates(size):
    bandwidth = {484: 40, 996: 80, 1992: 160}.get(size, 20)
    for mcs, rate in enumerate(RATES[size]):
        f = HE(mcs, 9, bandwidth_mhz=bandwidth, name="he-mu", coding="ldpc", ru=(size, 1))
        assert f.rate_mbps == pytest.approx(rate, abs=0.07)


@pytest.mark.parametrize("bandwidth, ltf, crest_db", [
    (20, 1, 4), (20, 2, 5), (20, 4, 5), (40, 1, 4.4), (40, 2, 5.9), (40, 4, 5.3), (80, 1, 5),
    (80, 2, 6.1), (80, 4, 6.4), (160, 1, 5.1), (160, 2, 6.5), (160, 4, 7)])
def test_long_training(bandwidth, ltf, crest_db):
    """The sequences are built from few pieces, such that the power stays low at all times."""
    sequence = he_tables.long_training(bandwidth, ltf)
    middle = sequence.size // 2
    used = he_tables.plan(bandwidth, RU(he_tables.WHOLE[bandwidth], 1)).used
    np.testing.assert_array_equal(np.flatnonzero(sequence) - middle, used[used % (4 // ltf) == 0])
    power = np.abs(np.fft.ifft(sequence, 16384))**2
    assert power.max() < 10**(crest_db / 10) * power.mean()
    pieces = set()
    for index in range(he_tables.num_rus(bandwidth, 26)):
        piece = sequence[he_tables.plan(bandwidth, RU(26, index + 1)).used + middle]
        piece = piece[piece != 0]
        pieces.add(tuple(piece * piece[0]))
    assert ltf == 1 or len(pieces) <= 10


@pytest.mark.parametrize("count", [1, 2, 4, 6, 8])
def test_matrix_p_is_orthogonal(count):
    p = he_tables.ltf_mapping(count)
    np.testing.assert_allclose(p @ p.conj().T, count * np.eye(count), atol=1e-12)


@pytest.mark.parametrize("size, dcm, coding", [
    (size, dcm, coding) for size in he_tables.RU_SIZES for dcm in (False, True)
    for coding in ("bcc", "ldpc") if size <= 242 or coding == "ldpc"])
def test_order_of_bits_is_a_permutation(size, dcm, coding):
    for mcs, streams in ((1, 1), (3, 2)):
        f = HE(mcs, 3, streams, bandwidth_mhz=160, ltf=4, gi_us=3.2, name="he-mu", ru=(size, 1),
               coding=coding, dcm=dcm)
        order = order_of(f)
        assert order.size == f.coded_bits_per_symbol
        np.testing.assert_array_equal(np.sort(order), np.arange(order.size))


def bits(text):
    return np.array(list(text.replace(" ", "")), np.uint8)


@pytest.mark.parametrize("f, first, second", [
    # Table 27-18: format, beam change, uplink, MCS, DCM, colour, 1, spatial reuse, bandwidth,
    # GI + LTF, N_STS | TXOP, LDPC, extra, STBC, beamformed, padding, PE disambiguity, 1, Doppler
    (HE(0, 5), "1 1 0 0000 0 000000 1 0000 00 10 000", "1111111 0 1 0 0 00 0 1 0"),
    (HE(11, 7, 2, 80, 3.2, 4, "ldpc", bss_color=37, uplink=True, txop=5, spatial_reuse=9,
        pre_fec_padding=3, extra_symbol=True, beamformed=True, beam_change=False),
     "1 0 1 1101 0 101001 1 1001 01 11 100", "1010000 1 1 0 1 11 0 1 0"),
    (HE(1, 24, gi_us=0.8, ltf=4, midamble=20), "1 1 0 1000 1 000000 1 0000 00 11 001",
     "1111111 0 1 1 0 00 0 1 1"),
    (HE(0, 5, name="he-er-su", ru=(106, 2)), "1 1 0 0000 0 000000 1 0000 10 10 000",
     "1111111 0 1 0 0 00 0 1 0")])
def test_he_sig_a_layout(f, first, second):
    head = bits(first + second)
    assert head.size == 42
    sent = fields.he_sig_a(f)
    np.testing.assert_array_equal(sent[:42], head)
    np.testing.assert_array_equal(sent[42:], [*fields.crc8(head)[:4], 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
@pytest.mark.parametrize("stbc", [0, 1])
def test_length_of_he_su_frames(coding, stbc):
    """The PSDU holds the A-MPDU, and no quarter of a symbol is wasted."""
    for mcs in (0, 4, 9):
        for apep in range(1, 400, 7):
            f = HE.of_length(mcs, apep, coding=coding, stbc=stbc, ltf=4, gi_us=3.2)
            assert f.length >= apep
            assert 8 * (f.length - apep) <= f.symbols_per_code_block * f.data_bits_per_symbol
            assert not f.contradiction
            if coding == "ldpc":
                assert f.ldpc_matching.num_coded == (
                    (f.num_symbols - 1 - stbc) * f.coded_bits_per_symbol
                    + (1 + stbc) * f.last_coded_bits)


@pytest.mark.parametrize("arguments", [
    {"mcs": 12}, {"mcs": 2, "dcm": True}, {"mcs": 0, "num_streams": 5},
    {"mcs": 0, "stbc": 1, "num_streams": 2}, {"mcs": 10}, {"mcs": 0, "bandwidth_mhz": 40},
    {"mcs": 3, "name": "he-er-su"}])
def test_combinations_that_the_standard_excludes(arguments):
    with pytest.raises(Unsupported):
        HE(num_symbols=4, **arguments)
