# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worked examples of IEEE 802.11-2020 annex I, step by step."""

import numpy as np
import pytest
import wifi_annex_i as annex
from gnuradio.mimopack import constellation
from gnuradio.mimopack.coding import ConvolutionalCode, ldpc, scramble, seed_from_service
from gnuradio.mimopack.coding.scrambler import scrambler_sequence
from gnuradio.mimopack.wifi import HT, NonHT, Transmitter, carriers, mac, training
from gnuradio.mimopack.wifi import signal_fields as fields
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.headers import HeaderReader, announced
from gnuradio.mimopack.wifi.interleaving import bit_order
from wifi_air import frames_in

pytestmark = pytest.mark.quick

FORMAT = NonHT(36, 100)
# The annex sums carriers over 64. The transmitter sends unit power on 52 carriers of magnitude 1.
ANNEX_SCALE = np.sqrt(52) / 64
ROUNDING = 5.1e-4    # the tables have three decimals


def assert_rounded(found, table):
    """Check that each sample equals the table's to three decimals."""
    error = found - table
    assert np.abs(error.real).max() < ROUNDING
    assert np.abs(error.imag).max() < ROUNDING


def signs(text):
    return np.array([{"+": 1, "-": -1, "0": 0}[c] for c in text])


@pytest.fixture(scope="module")
def frame():
    """Return the samples of the frame in the units of the annex, complex128 (881,)."""
    sent = Transmitter(1, windowing=100e-9).frame(FORMAT, annex.PSDU, annex.SCRAMBLER_SEED)
    return sent[0].astype(complex) * ANNEX_SCALE


def symbol_carriers(frame, start):
    """Return carriers -26 ... 26 of the symbol whose guard interval begins at start."""
    spectrum = np.fft.fft(frame[start + 16:start + 80])
    return spectrum[np.arange(-26, 27)]


class TestFrame:
    """I.1, the example with the convolutional code."""

    def test_frame_check_sequence(self):
        assert mac.fcs(annex.PSDU[:-4]) == annex.FRAME_CHECK
        assert annex.PSDU[-4:] == annex.FRAME_CHECK

    def test_format(self):
        assert FORMAT.num_symbols == 6
        assert (FORMAT.coded_bits_per_symbol, FORMAT.data_bits_per_symbol) == (192, 144)
        assert FORMAT.num_scrambled == 864
        assert FORMAT.num_samples == 880

    def test_signal_field(self):
        """Tables I-7, I-8 and I-9, in both directions."""
        found = fields.LSig(36, 100).bits()
        np.testing.assert_array_equal(found, annex.SIGNAL)
        np.testing.assert_array_equal(ConvolutionalCode("1/2").encode(annex.SIGNAL),
                                      annex.SIGNAL_CODED)
        np.testing.assert_array_equal(fields.encode_signal(annex.SIGNAL)[0],
                                      annex.SIGNAL_INTERLEAVED)
        symbols = np.zeros((1, 3, 52), np.complex64)
        symbols[..., carriers.legacy().data_index] = 2.0 * annex.SIGNAL_INTERLEAVED - 1
        symbols[..., carriers.legacy().pilot_index] = training.legacy_pilots(0, 3)
        read, = HeaderReader(1).core.read_symbols(symbols, np.full(1, 520.0))
        assert announced(*read, 20).format == NonHT(36, 100)

    def test_data_before_scrambling(self):
        """Table I-13: 16 bits of SERVICE, then octets with the least significant bit first."""
        octets = np.unpackbits(np.frombuffer(annex.PSDU, np.uint8), bitorder="little")
        np.testing.assert_array_equal(octets[:128], annex.DATA_FIRST[16:])
        assert not annex.DATA_FIRST[:16].any()

    def test_scrambling(self):
        """Tables I-14 and I-15."""
        np.testing.assert_array_equal(scrambler_sequence(annex.SCRAMBLER_SEED, 127),
                                      annex.SCRAMBLING)
        plain = np.zeros(864, np.uint8)
        plain[16:816] = np.unpackbits(np.frombuffer(annex.PSDU, np.uint8), bitorder="little")
        scrambled = scramble(plain, annex.SCRAMBLER_SEED)
        scrambled[816:822] = 0
        np.testing.assert_array_equal(scrambled, annex.DATA_SCRAMBLED)
        assert seed_from_service(annex.DATA_SCRAMBLED) == annex.SCRAMBLER_SEED

    def test_coding(self):
        """Table I-16."""
        code = ConvolutionalCode("3/4")
        np.testing.assert_array_equal(code.encode(annex.DATA_SCRAMBLED), annex.DATA_CODED)

    def test_interleaving(self):
        """Table I-19."""
        order = bit_order(48, 1, 4)
        sent = np.empty(192, np.uint8)
        sent[order] = annex.DATA_CODED[:192]
        np.testing.assert_array_equal(sent, annex.FIRST_INTERLEAVED)

    def test_data_field(self):
        """From the PSDU to Table I-16, and back from these bits with 17 errors."""
        field = DataField(FORMAT)
        sent = field.encode(annex.PSDU, annex.SCRAMBLER_SEED)
        np.testing.assert_array_equal(sent[0], annex.FIRST_INTERLEAVED)
        np.testing.assert_array_equal(sent[:, bit_order(48, 1, 4)].ravel(), annex.DATA_CODED)
        llr = 2 * sent.astype(np.float32) - 1
        llr.reshape(-1)[5::70] *= -1
        payload, = field.decode(llr[None])
        assert payload.psdu == annex.PSDU
        assert payload.scrambler_seed == annex.SCRAMBLER_SEED

    def test_points(self):
        """Table I-20: the 16-QAM points of Table I-19."""
        points = constellation.get("wlan_qam16").modulate(annex.FIRST_INTERLEAVED)
        plan = carriers.legacy()
        table = annex.FIRST_CARRIERS[np.array(plan.data) + 26]
        assert_rounded(points, table)
        pilots = annex.FIRST_CARRIERS[np.array(plan.pilots) + 26]
        np.testing.assert_array_equal(pilots, training.legacy_pilots(1, 1)[0])

    def test_training_sequences(self):
        """Tables I-2 and I-5."""
        short = np.zeros(64, complex)
        short[32 + np.arange(-24, 25, 4)] = np.array(annex.SHORT_SIGNS) * (1 + 1j) / np.sqrt(2)
        np.testing.assert_allclose(training.short_training(20), short)
        used = carriers.legacy().used
        np.testing.assert_array_equal(training.legacy_long_training(),
                                      signs(annex.LONG_SIGNS)[used + 26])

    def test_carriers(self, frame):
        """Tables I-11 and I-20 in the transmitted samples."""
        np.testing.assert_allclose(symbol_carriers(frame, 320), signs(annex.SIGNAL_CARRIERS),
                                   atol=1e-5)
        assert_rounded(symbol_carriers(frame, 400), annex.FIRST_CARRIERS)

    @pytest.mark.parametrize("table, start", [
        (annex.SHORT_PERIOD, 16), (annex.LONG_PERIOD, 192), (annex.LONG_PERIOD, 256),
        *((symbol, 336 + 80 * i) for i, symbol in enumerate(annex.SYMBOLS))])
    def test_fields(self, frame, table, start):
        """Tables I-3, I-6, I-12 and the symbols of Tables I-25 to I-30."""
        assert_rounded(frame[start:start + len(table)], table)

    def test_packet(self, frame):
        """Tables I-22 to I-30: all samples, with the transitions of the annex."""
        assert_rounded(frame, annex.packet())

    def test_received(self):
        """The rounded samples of the tables decode."""
        silence = np.zeros(400, complex)
        samples = np.concatenate([silence, annex.packet(), silence])
        noise = np.random.default_rng(1).normal(size=(samples.size, 2)) @ [1e-4, 1e-4j]
        found = frames_in((samples + noise)[None])
        assert [(r.format, r.psdu, r.scrambler_seed) for r in found] == [
            (FORMAT, annex.PSDU, annex.SCRAMBLER_SEED)]
        assert found[0].fcs_ok
        assert abs(found[0].start - 400) <= 2


class TestLdpcExample:
    """I.2: the same PSDU with LDPC, 16-QAM 3/4 at 20 MHz.

    No public copy of its parity bits was found, so they are compared with the checks of the code.
    """

    FORMAT = HT(4, 100, coding="ldpc")

    def test_format(self):
        """One codeword of 1944 bits, 642 information bits shortened, 54 parity bits punctured."""
        matching = self.FORMAT.ldpc_matching
        assert (self.FORMAT.num_symbols, matching.num_coded) == (6, 1248)
        assert (matching.code.num_bits, matching.num_codewords) == (1944, 1)
        assert (matching.num_shortened, matching.num_punctured, matching.num_repeated) == (642, 54,
                                                                                          0)

    def test_second_example(self):
        """I.3: 140 octets, 322 bits shortened and 42 repeated."""
        f = HT(4, 140, coding="ldpc")
        matching = f.ldpc_matching
        assert (f.num_symbols, matching.num_coded) == (8, 1664)
        assert (matching.num_shortened, matching.num_punctured, matching.num_repeated) == (322, 0,
                                                                                          42)

    def test_sent_bits(self):
        """The information bits are those of Table I-15; the parity bits satisfy the checks."""
        field = DataField(self.FORMAT)
        sent = field.encode(annex.PSDU, annex.SCRAMBLER_SEED)
        coded = sent.ravel()    # one stream without interleaver: bits in code order
        np.testing.assert_array_equal(coded[:816], annex.DATA_SCRAMBLED[:816])
        code = ldpc.wifi(1944, "3/4")
        word = np.concatenate([coded[:816], np.zeros(642, np.uint8), coded[816:]])
        rows, columns = code.checks()
        known = columns < word.size
        parity = np.bincount(rows[known], word[columns[known]], code.num_checks).astype(int) % 2
        complete = np.setdiff1d(np.arange(code.num_checks), rows[~known])
        assert complete.size == 378    # each of the 54 punctured bits is in two checks
        assert not parity[complete].any()
        payload, = field.decode((2 * sent.astype(np.float32) - 1)[None])
        assert payload.psdu == annex.PSDU
        assert payload.checks_hold
