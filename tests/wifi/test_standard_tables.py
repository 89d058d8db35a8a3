# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables and examples of IEEE 802.11-2020 clauses 9, 17, 19 and 21."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from gnuradio.mimopack.coding import scramble
from gnuradio.mimopack.wifi import HT, VHT, Transmitter, Unsupported, carriers, mac, training
from gnuradio.mimopack.wifi import signal_fields as fields
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.interleaving import bit_order, order_of

pytestmark = pytest.mark.quick

# Durations in microseconds at 20 MHz: Tables 17-5, 19-6 and 21-5.
T_STF, T_LTF, T_SIG, T_HT_SIG, T_HT_STF, T_HT_LTF = 8, 8, 4, 8, 4, 4
T_SYMBOL, T_SHORT_SYMBOL = 4, 3.6
# (17-25): the pilot polarity sequence.
POLARITY = """
    1 1 1 1 -1 -1 -1 1 -1 -1 -1 -1 1 1 -1 1 -1 -1 1 1 -1 1 1 -1 1 1 1 1 1 1 -1 1 1 1 -1 1 1 -1 -1 1
    1 1 -1 1 -1 -1 -1 1 -1 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 1 1 -1 -1 1 -1 1 -1 1 1 -1 -1 -1 1 1 -1
    -1 -1 -1 1 -1 -1 1 -1 1 1 1 1 -1 1 -1 1 -1 1 -1 -1 -1 -1 -1 1 -1 1 1 -1 1 -1 1 1 1 -1 -1 1 -1 -1
    -1 1 1 1 -1 -1 -1 -1 -1 -1 -1"""
# §19.3.9.4.6 and §21.3.8.3.5: k = -28 ... 28, -58 ... 58, -122 ... 122, -250 ... 250.
LONG_TRAINING = {
    20: "++++--++-+-++++++--++-+-++++0+--++-+-+-----++--+-+-++++--",
    40: "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++" "---+000-++-"
        "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++",
    80: "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++" "---++-+-++-"
        "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++" "+-+-000+--+"
        "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++" "---++-+-++-"
        "++--++-+-++++++--++-+-+++++" "+--++-+-+-----++--+-+-++++"}
LONG_TRAINING[160] = LONG_TRAINING[80] + 11 * "0" + LONG_TRAINING[80]
# Tables 19-19 and 19-20, one row per space-time stream.
HT_PILOTS = {20: {1: ["+++-"], 2: ["++--", "+--+"], 3: ["++--", "+-+-", "-++-"],
                  4: ["+++-", "++-+", "+-++", "-+++"]},
             40: {1: ["+++--+"], 2: ["++----", "+++-++"], 3: ["++----", "+++-++", "+-+--+"],
                  4: ["++----", "+++-++", "+-+--+", "-+++-+"]}}
# §21.3.10.10.
VHT_PILOTS = {20: "+++-", 40: "+++--+", 80: "+++--+++", 160: "+++--++++++--+++"}
PILOT_CARRIERS = {20: [-21, -7, 7, 21], 40: [-53, -25, -11, 11, 25, 53],
                  80: [-103, -75, -39, -11, 11, 39, 75, 103],
                  160: [-231, -203, -167, -139, -117, -89, -53, -25,
                        25, 53, 89, 117, 139, 167, 203, 231]}
# (19-27).
P = np.array([[1, -1, 1, 1], [1, 1, -1, 1], [1, 1, 1, -1], [-1, 1, 1, 1]])


def signs(text):
    return np.array([{"+": 1, "-": -1, "0": 0}[c] for c in text])


def bits(text):
    return np.array(list(text.replace(" ", "")), np.uint8)


def remainder_crc(message):
    """Return the inverted remainder by x^8 + x^2 + x + 1, with all ones in the register first."""
    value = int("".join(map(str, message)), 2) << 8
    value ^= 0xFF << len(message)
    for shift in range(len(message) - 1, -1, -1):
        if value >> (shift + 8) & 1:
            value ^= 0b100000111 << shift
    return bits(f"{~value & 0xFF:08b}")


def spectra(frame, start, count, guard=16, rate=20):
    """Return carriers (num_tx, count, fft) of symbols; the first guard interval is at start."""
    scale = rate // 20
    at = (start + guard + (64 + guard) * np.arange(count))[:, None] * scale + np.arange(64 * scale)
    return np.fft.fft(frame[:, at])


def shifted(samples_at_20, k):
    """Return the phase of carrier k after a cyclic advance."""
    return np.exp(2j * np.pi * k * samples_at_20 / 64)


class TestCarriersAndTraining:
    @pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
    def test_long_training(self, bandwidth):
        sequence = signs(LONG_TRAINING[bandwidth])
        edge = len(sequence) // 2
        assert len(sequence) == {20: 57, 40: 117, 80: 245, 160: 501}[bandwidth]
        k = np.flatnonzero(sequence) - edge
        np.testing.assert_array_equal(carriers.high_throughput(bandwidth).used, k)
        np.testing.assert_array_equal(training.long_training(bandwidth), sequence[k + edge])
        assert list(carriers.high_throughput(bandwidth).pilots) == PILOT_CARRIERS[bandwidth]

    def test_rotation(self):
        """gamma: upper half of 40 MHz by 90 degrees, upper three quarters of 80 MHz by 180."""
        k = np.arange(-128, 128)
        np.testing.assert_array_equal(carriers.rotation(20, k), np.ones(256))
        np.testing.assert_array_equal(carriers.rotation(40, k[64:-64]), [1] * 64 + [1j] * 64)
        np.testing.assert_array_equal(carriers.rotation(80, k), [1] * 64 + [-1] * 192)
        np.testing.assert_array_equal(carriers.rotation(160, np.arange(-256, 256)),
                                      2 * ([1] * 64 + [-1] * 192))

    def test_polarity(self):
        expected = np.array(POLARITY.split(), float)
        assert expected.size == 127
        np.testing.assert_array_equal(training.polarity(0, 127), expected)
        np.testing.assert_array_equal(training.polarity(120, 20), np.tile(expected, 2)[120:140])

    @pytest.mark.parametrize("bandwidth", [20, 40])
    @pytest.mark.parametrize("streams", [1, 2, 3, 4])
    def test_ht_pilots(self, bandwidth, streams):
        base = np.array([signs(row) for row in HT_PILOTS[bandwidth][streams]])
        found = training.ht_pilots(bandwidth, streams, 3, 7)
        polarity = np.array(POLARITY.split(), float)
        for n in range(7):
            np.testing.assert_array_equal(found[n].T, polarity[n + 3] * np.roll(base, -n, axis=1))

    @pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
    def test_vht_pilots(self, bandwidth):
        f = VHT(0, 9, 2, bandwidth)
        found = f.pilots(9)
        polarity = np.array(POLARITY.split(), float)
        for n in range(9):
            expected = signs(VHT_PILOTS[bandwidth])
            for part in np.split(expected, max(1, bandwidth // 80)):    # each 80 MHz turns its own
                part[:] = polarity[n + 4] * np.roll(part, -n)
            np.testing.assert_array_equal(found[n], np.stack([expected, expected], axis=1))

    def test_cyclic_shifts(self):
        """Tables 19-9 and 21-10 (antennas), 19-10 and 21-11 (streams), in ns."""
        antennas = {1: [0], 2: [0, -200], 3: [0, -100, -200], 4: [0, -50, -100, -150],
                    5: [0, -175, -25, -50, -75], 6: [0, -200, -25, -150, -175, -125],
                    7: [0, -200, -150, -25, -175, -75, -50],
                    8: [0, -175, -150, -125, -25, -100, -50, -200]}
        eight = [0, -400, -200, -600, -350, -650, -100, -750]
        streams = {count: eight[:count] for count in range(1, 9)}
        assert {n: [-50 * a for a in row]
                for n, row in training.LEGACY_ADVANCE.items()} == antennas
        assert {n: [-50 * a for a in row] for n, row in training.STREAM_ADVANCE.items()} == streams

class TestSignalFields:
    def test_ht_sig_example(self):
        """§19.3.9.4.4: MCS 15 at 40 MHz, 100 octets: CRC 1 0 1 0 1 0 0 0."""
        head = bits("1111000 1 0010011000000000 1 1 1 0 00 0 0 00")
        np.testing.assert_array_equal(fields.crc8(head), bits("10101000"))
        f = HT(15, 100, 40)
        np.testing.assert_array_equal(fields.ht_sig(f),
                                      np.concatenate([head, bits("10101000 000000")]))
        assert fields.parse_ht_sig(fields.ht_sig(f)) == f

    def test_vht_sig_b_example(self):
        """§21.3.10.3: 100 octets at 80 MHz: CRC 0 0 0 1 1 1 0 0."""
        sig_b = bits("100110000000000000000 11")
        np.testing.assert_array_equal(fields.crc8(sig_b), bits("00011100"))
        np.testing.assert_array_equal(fields.vht_sig_b(VHT.of_length(3, 100, 2, 80)), sig_b)

    def test_crc_is_a_remainder(self):
        rng = np.random.default_rng(1)
        for size in (16, 20, 21, 23, 34):
            message = rng.integers(0, 2, size, np.uint8)
            np.testing.assert_array_equal(fields.crc8(message), remainder_crc(message))

    @pytest.mark.parametrize("f, first, second", [
        # Table 19-11: MCS, width, length | smoothing, not sounding, 1, A-MPDU, STBC, LDPC, SGI, ESS
        (HT(0, 1), "0000000 0 1000000000000000", "1 1 1 0 00 0 0 00"),
        (HT(31, 0x1234, 40, short_gi=True, aggregated=True, smoothing=False),
         "1111100 1 0010110001001000", "0 1 1 1 00 0 1 00"),
        (HT(8, 65535, coding="ldpc", stbc=2, sounding=True),
         "0001000 0 1111111111111111", "1 0 1 0 01 1 0 00"),
        (HT(32, 256, 40), "0000010 1 0000000010000000", "1 1 1 0 00 0 0 00")])
    def test_ht_sig_layout(self, f, first, second):
        head = bits(first + second)
        expected = np.concatenate([head, remainder_crc(head), np.zeros(6, np.uint8)])
        np.testing.assert_array_equal(fields.ht_sig(f), expected)
        assert fields.parse_ht_sig(expected) == f

    @pytest.mark.parametrize("f, first, second", [
        # Table 21-12: width, 1, STBC, group, N_STS, partial AID, TXOP PS, 1
        # | SGI, N_SYM mod 10 = 9, LDPC, extra symbol, MCS, beamformed, 1
        (VHT(0, 12), "00 1 0 000000 000 000000000 0 1", "0 0 0 0 0000 0 1"),
        (VHT(9, 19, 3, 80, short_gi=True, group_id=63, partial_aid=275, beamformed=True),
         "01 1 0 111111 010 110010001 0 1", "1 1 0 0 1001 1 1"),
        (VHT(4, 18, 1, 40, short_gi=True, stbc=1), "10 1 1 000000 100 000000000 0 1",
         "1 0 0 0 0010 0 1"),
        (VHT(7, 9, 4, 20, coding="ldpc", extra_symbol=True), "00 1 0 000000 110 000000000 0 1",
         "0 0 1 1 1110 0 1"),
        (VHT(8, 5, 2, 160), "11 1 0 000000 100 000000000 0 1", "0 0 0 0 0001 0 1")])
    def test_vht_sig_a_layout(self, f, first, second):
        head = bits(first + second)
        expected = np.concatenate([head, remainder_crc(head), np.zeros(6, np.uint8)])
        np.testing.assert_array_equal(fields.vht_sig_a(f), expected)
        assert fields.parse_vht_sig_a(expected, fields.LSig(6, f.legacy_length)) == f

    @pytest.mark.parametrize("bandwidth, length, ndp", [
        (20, 17, "00000111010001000010"), (40, 19, "101001011010001000011"),
        (80, 21, "01010011001011111110010"), (160, 21, "01010011001011111110010")])
    def test_vht_sig_b_layout(self, bandwidth, length, ndp):
        """Tables 21-14 and 21-15."""
        f = VHT.of_length(5, 4321, 1, bandwidth)
        words = f"{ceil(4321 / 4):0{length}b}"[::-1]
        np.testing.assert_array_equal(fields.vht_sig_b(f), bits(words + "1" * (len(ndp) - length)))
        np.testing.assert_array_equal(fields.vht_sig_b(VHT(5, 0, 1, bandwidth)), bits(ndp))

    @pytest.mark.parametrize("bandwidth, copies, coded_bits", [(20, 1, 52), (40, 2, 108),
                                                               (80, 4, 234), (160, 4, 234)])
    def test_vht_sig_b_coding(self, bandwidth, copies, coded_bits):
        """§21.3.8.3.6: bits and tail once, twice, or four times and a 0, by one encoder.

        At 160 MHz, all that comes twice, and coded bits go in turn to the lower and upper half.
        """
        f = VHT.of_length(0, 1000, 1, bandwidth)
        message = np.tile(np.append(fields.vht_sig_b(f), np.zeros(6, int)), copies)
        message = np.append(message, np.zeros(coded_bits // 2 - message.size, int))
        assert message.size - coded_bits // 2 == 0
        padded = np.append(np.zeros(6, int), message)
        taps = [[0, 2, 3, 5, 6], [0, 1, 2, 3, 6]]    # g0 = 133, g1 = 171
        coded = np.array([[padded[6 + i - np.array(tap)].sum() % 2 for tap in taps]
                          for i in range(message.size)]).ravel()
        sent = fields.encode_sig_b(f)
        order = bit_order(coded_bits, 1, 1)
        if bandwidth == 160:
            coded = np.tile(coded, 2)
            np.testing.assert_array_equal(sent[:234][order], coded[0::2])
            np.testing.assert_array_equal(sent[234:][order], coded[1::2])
        else:
            np.testing.assert_array_equal(sent[order], coded)

    def test_service_field(self):
        """§21.3.10.3: bits 8 to 15 are the CRC of VHT-SIG-B, c7 first."""
        f = VHT.of_length(3, 100, 2, 80, coding="ldpc")
        sent = DataField(f).encode(bytes(f.length), 93)
        first = sent[0][order_of(f)][:16]    # LDPC codewords begin with the information bits
        np.testing.assert_array_equal(scramble(first, 93), bits("00000000 00011100"))

    @pytest.mark.parametrize("f", [
        HT(7, 1500), HT(7, 1500, short_gi=True), HT(0, 33, 40), HT(15, 3000, 40, short_gi=True),
        HT(24, 999), HT(8, 100, stbc=1), HT(3, 77, coding="ldpc", short_gi=True),
        VHT.of_length(8, 3000), VHT.of_length(9, 3000, 2, 80, short_gi=True),
        VHT.of_length(4, 555, 3, 40), VHT(0, 0, 4, 80), VHT.of_length(9, 9000, 4, 160),
        VHT.of_length(2, 1000, 4, short_gi=True)])
    def test_legacy_length(self, f):
        """§21.3.8.2.4: LENGTH from the duration, in steps of 4 us after the L-SIG."""
        interval = T_SHORT_SYMBOL if f.short_gi else T_SYMBOL
        payload = T_SYMBOL * ceil(round(interval * f.num_symbols, 6) / T_SYMBOL)
        streams = f.num_ltf * T_HT_LTF + (T_SIG if f.name == "vht" else 0)
        time = T_STF + T_LTF + T_SIG + T_HT_SIG + T_HT_STF + streams + payload
        assert f.legacy_length == ceil((time - 20) / 4) * 3 - 3
        # The end of the frame, as computed by a station that only knows non-HT.
        assert fields.LSig(6, f.legacy_length).duration == 20 * (time - 20)

class TestRates:
    def test_ht(self):
        """Tables 19-27 to 19-34: Mbit/s at 20 and 40 MHz of one stream; two encoders beyond 300."""
        rates = {20: [6.5, 13, 19.5, 26, 39, 52, 58.5, 65],
                 40: [13.5, 27, 40.5, 54, 81, 108, 121.5, 135]}
        two = {(40, mcs) for mcs in (21, 22, 23, 28, 29, 30, 31)}
        for width, row in rates.items():
            for mcs in range(32):
                f = HT(mcs, 100, width)
                assert f.rate_mbps == pytest.approx(row[mcs % 8] * (mcs // 8 + 1))
                assert f.num_encoders == (2 if (width, mcs) in two else 1)
                assert HT(mcs, 100, width, short_gi=True).num_encoders == f.num_encoders
                assert HT(mcs, 100, width, coding="ldpc").num_encoders == 1

    def test_unequal_modulation(self):
        """Tables 19-38 to 19-41: data bits per symbol at 20 MHz of MCS 33 to 76."""
        bits = [156, 208, 260, 234, 312, 390,
                208, 260, 260, 312, 364, 364, 416, 312, 390, 390, 468, 546, 546, 624,
                260, 312, 364, 312, 364, 416, 468, 416, 468, 520, 520, 572,
                390, 468, 546, 468, 546, 624, 702, 624, 702, 780, 780, 858]
        formats = [HT(mcs, 100) for mcs in range(33, 77)]
        assert [f.data_bits_per_symbol for f in formats] == bits
        assert [f.num_streams for f in formats] == 6 * [2] + 14 * [3] + 24 * [4]
        assert HT(43, 100).constellation == "wlan_qam64,wlan_qam16,wlan_qam16"
        # Table 19-18
        with_code = (*range(33, 39), 39, 41, 43, 46, 48, 50)
        for refused in ({"mcs": 77}, {"mcs": 33, "stbc": 2}, *({"mcs": mcs, "stbc": 1}
                        for mcs in range(33, 77) if mcs not in with_code)):
            with pytest.raises(Unsupported):
                HT(length=100, **refused)
        assert {HT(mcs, 100, stbc=1).num_space_time_streams for mcs in with_code} == {3, 4}

    def test_duplicate(self):
        """Table 19-35: MCS 32."""
        f = HT(32, 100, 40)
        assert (f.rate_mbps, f.data_bits_per_symbol, f.coded_bits_per_symbol) == (6, 24, 48)
        assert (f.num_encoders, f.num_streams, f.constellation, f.code_rate) == (1, 1, "wlan_bpsk",
                                                                                "1/2")
        assert HT(32, 100, 40, short_gi=True).rate_mbps == pytest.approx(6.67, abs=0.01)
        with pytest.raises(Unsupported):
            HT(32, 100, 20)

    # Tables 21-30 to 21-57: (bandwidth, streams): N_ES of MCS 0 to 9; "x" is excluded.
    VHT_ENCODERS = {(20, 1): "111111111x", (20, 2): "111111111x", (20, 3): "1111111111",
                    (20, 4): "111111111x", (40, 1): "1111111111", (40, 2): "1111111111",
                    (40, 3): "1111111111", (40, 4): "1111111122", (80, 1): "1111111111",
                    (80, 2): "1111111222", (80, 3): "111112x223", (80, 4): "1111222333",
                    (160, 1): "1111111222", (160, 2): "1111222333", (160, 3): "111223344x",
                    (160, 4): "1122344666"}

    @pytest.mark.parametrize("bandwidth, streams", VHT_ENCODERS)
    @pytest.mark.parametrize("coding", ["bcc", "ldpc"])
    def test_vht_encoders(self, bandwidth, streams, coding):
        for mcs, expected in enumerate(self.VHT_ENCODERS[bandwidth, streams]):
            if expected == "x":
                with pytest.raises(Unsupported, match="excluded by the standard"):
                    VHT(mcs, 1, streams, bandwidth, coding=coding)
                continue
            f = VHT(mcs, 1, streams, bandwidth, coding=coding)
            assert f.num_encoders == (int(expected) if coding == "bcc" else 1)

    def test_vht_rates(self):
        """Rates in data sheets, Mbit/s with the short guard interval."""
        for mcs, streams, bandwidth, rate in [(8, 1, 20, 86.7), (9, 1, 40, 200), (9, 1, 80, 433.3),
                                              (9, 2, 80, 866.7), (9, 3, 80, 1300),
                                              (9, 4, 80, 1733.3), (9, 3, 20, 288.9),
                                              (9, 1, 160, 866.7), (9, 4, 160, 3466.7)]:
            f = VHT(mcs, 1, streams, bandwidth, short_gi=True)
            assert f.rate_mbps == pytest.approx(rate, abs=0.05)

class TestSpreading:
    @pytest.mark.parametrize("num_carriers, columns, rotation, distance", [
        (52, 13, 11, 4), (108, 18, 29, 6), (234, 26, 58, 9)])
    @pytest.mark.parametrize("num_bits", [1, 2, 4, 6, 8])
    def test_interleaver(self, num_carriers, columns, rotation, distance, num_bits):
        """Tables 19-17, 21-17 and 21-19; the steps follow §19.3.11.8.3 and §21.3.10.9.2."""
        for streams in (1, 2, 3, 4):
            block = num_carriers * num_bits
            s = max(1, num_bits // 2)
            rows = block // columns
            interleaved = bit_order(num_carriers, streams, num_bits)
            toned = bit_order(num_carriers, streams, num_bits, spread="tones")
            for position in range(0, block * streams, 7):
                stream = position // s % streams
                k = position // (s * streams) * s + position % s
                i = rows * (k % columns) + k // columns
                j = s * (i // s) + (i + block - columns * i // block) % s
                turns = (2 * stream) % 3 + 3 * (stream // 3)
                r = (j - turns * rotation * num_bits) % block if streams > 1 else j
                assert interleaved[position] == ((r // num_bits * streams + stream) * num_bits
                                                 + r % num_bits)
                point = k // num_bits
                tone = (distance * (point % (num_carriers // distance))
                        + point * distance // num_carriers)
                assert toned[position] == (tone * streams + stream) * num_bits + k % num_bits

    @pytest.mark.parametrize("f", [HT(23, 400, 40), HT(28, 400, 40), VHT(9, 2, 4, 80),
                                   VHT(7, 2, 2, 80), VHT(9, 2, 3, 80)])
    def test_stream_parser(self, f):
        """§19.3.11.7.2, §21.3.10.6: s bits of each encoder in turn to each stream in turn."""
        s, n, encoders = f.bits_per_carrier // 2, f.num_streams, f.num_encoders
        assert encoders > 1
        share = f.coded_bits_per_symbol // encoders
        taken = [0] * encoders
        streams = [[] for _ in range(n)]
        encoder = 0
        while len(streams[-1]) < f.coded_bits_per_symbol // n:
            for stream in streams:
                stream += range(encoder * share + taken[encoder],
                                encoder * share + taken[encoder] + s)
                taken[encoder] += s
            encoder = (encoder + 1) % encoders
        one = bit_order(f.plan.num_data, 1, f.bits_per_carrier, spread="none")
        assert np.array_equal(one, np.arange(one.size))
        found = bit_order(f.plan.num_data, n, f.bits_per_carrier, encoders, spread="none")
        for i, stream in enumerate(streams):
            k = np.arange(len(stream))
            place = (k // f.bits_per_carrier * n + i) * f.bits_per_carrier + k % f.bits_per_carrier
            np.testing.assert_array_equal(found[stream], place)

    @pytest.mark.parametrize("f", [VHT(0, 2, 2, 160), VHT(7, 2, 1, 160), VHT(9, 2, 2, 160),
                                   VHT(8, 2, 3, 160), VHT(7, 2, 4, 160)])
    @pytest.mark.parametrize("coding, spread", [("bcc", "interleaver"), ("ldpc", "tones")])
    def test_segment_parser(self, f, coding, spread):
        """(21-90): s N_ES bits of each stream in turn to the halves, each spread as in 80 MHz."""
        f = replace(f, coding=coding)
        s, encoders = max(1, f.bits_per_carrier // 2), f.num_encoders
        parsed = np.argsort(bit_order(468, f.num_streams, f.bits_per_carrier, encoders,
                                      spread="none")).reshape(468, f.num_streams, -1)
        sent = np.argsort(order_of(f)).reshape(468, f.num_streams, -1)
        assert f.segments == 2
        together = s * encoders
        for stream in range(f.num_streams):
            x = parsed[:, stream].ravel()    # coded bits of the stream parser's output
            for half in (0, 1):
                k = np.arange(x.size // 2)
                y = x[2 * together * (k // together) + half * together + k % together]
                # The interleaver of a stream among several turns by its number.
                alone = bit_order(234, f.num_streams, f.bits_per_carrier, spread=spread)
                where = alone.reshape(-1, f.num_streams, s)[:, stream].ravel()
                carrier, bit = where // (f.num_streams * f.bits_per_carrier), (
                    where % f.bits_per_carrier)
                np.testing.assert_array_equal(sent[234 * half + carrier, stream, bit], y)

    @pytest.mark.parametrize("f", [HT(34, 400), HT(57, 400, 40), HT(74, 400, 40)])
    def test_stream_parser_with_unequal_modulation(self, f):
        """§19.3.11.8.2, with s of each stream. Without interleaver, bits stay in order."""
        encoders, share = f.num_encoders, f.coded_bits_per_symbol // f.num_encoders
        streams, taken, encoder = [[] for _ in f.stream_bits], [0] * encoders, 0
        while sum(taken) < f.coded_bits_per_symbol:
            for stream, bits in zip(streams, f.stream_bits, strict=True):
                first = encoder * share + taken[encoder]
                stream += range(first, first + bits // 2)
                taken[encoder] += bits // 2
            encoder = (encoder + 1) % encoders
        found = bit_order(f.plan.num_data, f.num_streams, f.stream_bits, encoders, spread="none")
        sent = np.argsort(found).reshape(f.plan.num_data, -1)    # a row for each subcarrier
        for part, stream in zip(np.split(sent, np.cumsum(f.stream_bits)[:-1], axis=1), streams,
                                strict=True):
            np.testing.assert_array_equal(part.ravel(), stream)

    def test_duplicate(self):
        """MCS 32: the interleaver and pilots of 17.3.5, in both halves, the upper half rotated."""
        f = HT(32, 20, 40)
        psdu = bytes(range(20))
        frame = Transmitter(1, 40e6, windowing=0).frame(f, psdu)
        sent = spectra(frame, f.data_start, f.num_symbols, rate=40)[0]
        np.testing.assert_array_equal(order_of(f), bit_order(48, 1, 1))
        coded = DataField(f).encode(psdu)
        half = np.zeros((f.num_symbols, 53))
        data = [k for k in range(-26, 27) if k not in (-21, -7, 0, 7, 21)]
        half[:, np.array(data) + 26] = 2.0 * coded - 1
        polarity = np.array(POLARITY.split(), float)[3:3 + f.num_symbols]
        half[:, np.array([-21, -7, 7, 21]) + 26] = polarity[:, None] * [1, 1, 1, -1]
        sent /= np.abs(sent[0, 6])
        np.testing.assert_allclose(sent[:, np.arange(-58, -5)], half, atol=1e-4)
        np.testing.assert_allclose(sent[:, np.arange(6, 59)], 1j * half, atol=1e-4)
        np.testing.assert_allclose(sent[:, np.arange(-5, 6)], 0, atol=1e-4)


class TestGreenfield:
    @pytest.mark.parametrize("mcs", [0, 8, 16, 24])
    @pytest.mark.parametrize("bandwidth", [20, 40])
    def test_preamble(self, mcs, bandwidth):
        """Figure 19-1: HT-GF-STF, HT-LTF1 of 8 us, HT-SIG, further HT-LTFs, data."""
        f = HT(mcs, 60, bandwidth, greenfield=True)
        n, scale = f.num_streams, bandwidth // 20
        frame = Transmitter(n, bandwidth * 1e6, windowing=0).frame(f, bytes(range(60)), 93)
        duration = T_STF + T_LTF + T_HT_SIG + T_HT_LTF * (f.num_ltf - 1) + T_SYMBOL * f.num_symbols
        assert frame.shape[1] == bandwidth * duration
        # The guard interval of HT-LTF1 is twice as long, and the symbol is sent twice.
        first = frame[:, 160 * scale:320 * scale]
        np.testing.assert_allclose(first[:, :32 * scale], first[:, 64 * scale:96 * scale],
                                   atol=1e-6)
        np.testing.assert_allclose(first[:, 32 * scale:96 * scale], first[:, 96 * scale:],
                                   atol=1e-6)
        k = f.plan.used
        sequence = signs(LONG_TRAINING[bandwidth])[k + len(LONG_TRAINING[bandwidth]) // 2]
        turn = carriers.rotation(bandwidth, k)
        training_fields = np.concatenate([
            np.fft.fft(first[:, None, 32 * scale:96 * scale]),
            spectra(frame, 480, f.num_ltf - 1, rate=bandwidth)], axis=1)[:, :, k]
        ns = [0, 400, 200, 600][:n]
        short = np.fft.fft(frame[:, :64 * scale])
        strong = np.flatnonzero(training.short_training(bandwidth)) - 32 * scale
        signal = spectra(frame, 320, 2, rate=bandwidth)
        legacy = carriers.legacy(bandwidth)
        coded = np.tile(2.0 * fields.encode_signal(fields.ht_sig(f)) - 1, scale)
        for stream, shift in enumerate(ns):
            own = training_fields[stream] / (shifted(shift / 50, k) * turn * sequence)
            own /= np.abs(own).mean()
            np.testing.assert_allclose(own, np.repeat(P[stream, :f.num_ltf, None], k.size, 1),
                                       atol=1e-4)
            # HT-GF-STF and HT-SIG pass through the same channel as HT-LTF1.
            own = short[stream, strong] / (shifted(shift / 50, strong)
                                           * carriers.rotation(bandwidth, strong))
            own /= np.abs(own).mean()
            sequence_short = training.short_training(bandwidth)[strong + 32 * scale]
            np.testing.assert_allclose(own, P[stream, 0] * sequence_short, atol=1e-4)
            own = signal[stream][:, legacy.used] / (shifted(shift / 50, legacy.used)
                                                    * carriers.rotation(bandwidth, legacy.used))
            own = P[stream, 0] * own / np.abs(own).mean()
            np.testing.assert_allclose(own[:, legacy.data_index], 1j * coded, atol=1e-4)
            np.testing.assert_allclose(own[:, legacy.pilot_index],
                                       np.tile([1, 1, 1, -1], (2, scale)), atol=1e-4)

    def test_polarity(self):
        """(19-58): z is 2 after a greenfield preamble, 3 after a mixed one."""
        polarity = np.array(POLARITY.split(), float)
        for greenfield, z in ((True, 2), (False, 3)):
            f = HT(0, 400, greenfield=greenfield)
            expected = [polarity[n + z] * np.roll(signs("+++-"), -n)
                        for n in range(f.num_symbols)]
            np.testing.assert_array_equal(f.pilots(f.num_symbols)[:, :, 0], expected)


class TestDelimiter:
    @pytest.mark.parametrize("length, eof, expected", [
        # Padding of a VHT A-MPDU, and the same for HT.
        (0, True, "0100794e"), (0, False, "0000144e")])
    def test_examples(self, length, eof, expected):
        assert mac.delimiter(length, eof).hex() == expected

    @pytest.mark.parametrize("length", [1, 100, 4095, 4096, 5000, 8192, 11454, 16383])
    @pytest.mark.parametrize("eof", [False, True])
    def test_layout(self, length, eof):
        """§9.7.1: EOF, 0, two high and twelve low bits of the length, CRC, signature."""
        low, high = f"{length & 4095:012b}"[::-1], f"{length >> 12:02b}"[::-1]
        head = bits(f"{int(eof)}0{high}{low}")
        word = np.concatenate([head, remainder_crc(head), bits(f"{0x4E:08b}")[::-1]])
        assert mac.delimiter(length, eof) == np.packbits(word, bitorder="little").tobytes()

    def test_signature(self):
        """The signature is the letter N."""
        assert mac.delimiter(64)[3:] == b"N"
