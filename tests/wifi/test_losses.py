# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames that arrive in part or not at all: their reports, and the parts that are kept."""

from dataclasses import replace

import numpy as np
import pytest
from commands import invoke
from gnuradio.mimopack import detectors, recording
from gnuradio.mimopack.wifi import (
    EHT,
    HE,
    HT,
    VHT,
    Receiver,
    Transmitter,
    mac,
    signal_fields,
)
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.demodulator import Demodulator
from gnuradio.mimopack.wifi.formats.base import SERVICE
from wifi_air import air, data_mpdu, multipath, through

MPDUS = [data_mpdu(70, 1), data_mpdu(43, 2), data_mpdu(170, 3)]


def stream(format_, psdu, num_rx, snr_db=40, seed=1, channel=None):
    """Return samples of num_rx antennas with a frame that has these bytes.

    ``channel`` is a function of ``wifi_air``; None takes an orthogonal matrix.
    """
    rng = np.random.default_rng(seed)
    sent = Transmitter(format_.num_space_time_streams).frame(format_, psdu)
    if channel:
        taps = channel(num_rx, len(sent), rng)
    else:
        taps = np.linalg.qr(rng.standard_normal((num_rx, num_rx)))[0][None, :, :len(sent)]
    samples = np.pad(through(taps, sent), ((0, 0), (400, 400)))
    noise = rng.standard_normal((2, *samples.shape)) * 10**(-snr_db / 20)
    return (0.1 * (samples + noise[0] + 1j * noise[1])).astype(np.complex64)


def receive(samples, **options):
    receiver = Receiver(len(samples), **options)
    return receiver.process(samples) + receiver.finish(), receiver.counts


def good(frame):
    return {mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok}


def broken(psdu, at):
    """Return the bytes with an error in one bit of the byte at ``at``."""
    psdu = bytearray(psdu)
    psdu[at] ^= 4
    return bytes(psdu)


class TestComplete:
    @pytest.mark.parametrize("length", [None, 383, 500])
    def test_a_lost_delimiter_is_missed(self, length):
        psdu = mac.aggregate(MPDUS, length)
        found, complete = mac.split(psdu, True)
        assert [mpdu.data for mpdu in found] == MPDUS and complete
        for mpdu in found:
            left, complete = mac.split(broken(psdu, mpdu.offset - 3), True)
            assert [one.data for one in left] == [one for one in MPDUS if one != mpdu.data]
            assert not complete

    def test_padding_may_be_wrong(self):
        """No MPDU follows the first EOF delimiter, or a single MPDU with the EOF bit.

        A part too short for an MPDU is no loss either.
        """
        psdu = mac.aggregate(MPDUS, 800)
        end = len(psdu) - 4 * ((800 - len(mac.aggregate(MPDUS))) // 4)
        for wrong in (psdu[:end + 4] + bytes(800 - end - 4), broken(psdu, end + 1),
                      psdu[:end] + bytes(16) + psdu[end + 16:]):
            assert wrong != psdu and mac.split(wrong, True)[1]
        single = mac.aggregate(MPDUS[:1], 800)
        assert mac.split(single[:140] + bytes(800 - 140), True)[1]
        # Delimiters of length 0 between MPDUs give a slow receiver time.
        assert mac.split(mac.aggregate(MPDUS[:1] + [b""] * 9 + MPDUS[1:]), True)[1]

    @pytest.mark.parametrize("filler", [0xC7, 0xA5])
    def test_an_mpdu_with_the_eof_bit_may_have_followers(self, filler):
        """As in HE frames of other implementations, which end with bytes that are no delimiter."""
        first = mac.delimiter(len(MPDUS[0]), eof=True) + MPDUS[0] + bytes(-len(MPDUS[0]) % 4)
        psdu = first + mac.aggregate(MPDUS[1:2]) + bytes([filler]) * 77
        found, _ = mac.split(psdu, True)
        assert [mpdu.data for mpdu in found] == MPDUS[:2]

    @pytest.mark.parametrize("format_of", [
        lambda n: HT(9, n, aggregated=True), lambda n: VHT.of_length(4, n, 2)])
    def test_the_frame_tells(self, format_of, tmp_path):
        psdu = mac.aggregate(MPDUS)
        f = format_of(len(psdu))
        psdu = mac.aggregate(MPDUS, f.length if f.name == "vht" else None)
        whole, part = (receive(stream(f, one, 2))[0][0] for one in (psdu, broken(psdu, 1)))
        assert (whole.fcs_ok, whole.complete) == (True, True)
        assert (part.fcs_ok, part.complete) == (True, False)
        assert good(part) == set(MPDUS[1:]) and part.as_json()["complete"] is False
        samples = np.concatenate([stream(f, one, 2) for one in (psdu, broken(psdu, 1))], axis=1)
        path = recording.write(tmp_path / "r", samples, 20e6)
        result = invoke("wifi", path)
        assert result.exit_code == 0, result.output
        assert "FCS 3/3 ok  Data" in result.output
        assert "FCS 2/2 ok, others missing  Data" in result.output
        assert "1  MPDUs missing in the A-MPDU" in result.output


class TestUnion:
    @pytest.mark.parametrize("coding", ["bcc", "ldpc"])
    @pytest.mark.parametrize("lost", ["body", "body and seed", "nothing"])
    def test_of_two_attempts(self, coding, lost):
        """MPDUs of either attempt come out, in their positions, and so do bits to train with."""
        psdu = mac.aggregate(MPDUS)
        f = HT(3, len(psdu), coding=coding, aggregated=True)
        field = DataField(f)
        right = field.decode(40 * np.float32(field.encode(psdu)[None]) - 20)[0]
        assert right.complete
        first, second, third = right.mpdus
        attempts = []
        for mpdus in ([first], [second, third] if lost != "nothing" else []):
            bits = right.scrambled.copy()
            for mpdu in mpdus:
                bits[SERVICE + 8 * mpdu.offset + 40] ^= 1
            attempts.append(bits)
        if lost == "body and seed":
            attempts[1][:7] ^= 1
        before, after = field.payloads(np.stack(attempts), [False, True])
        assert (before.good, before.complete) == ({second.offset, third.offset}, False)
        union = field.merged(before, after)
        assert (union.psdu, union.mpdus, union.complete) == (psdu, right.mpdus, True)
        assert union.scrambler_seed == right.scrambler_seed
        np.testing.assert_array_equal(union.scrambled, right.scrambled)

    @pytest.mark.parametrize("mcs, coding, snr_db", [
        (15, "bcc", 24), (27, "bcc", 12), (27, "ldpc", 11.5)])
    def test_further_passes_win_mpdus_and_lose_none(self, mcs, coding, snr_db):
        mpdus = [data_mpdu(120, number) for number in range(8)]
        count = mcs // 8 + 1
        samples, sent = air([(lambda n: HT(mcs, n, aggregated=True, coding=coding), mpdus)] * 48,
                            count, snr_db=snr_db, channel=multipath, cfo_hz=30e3, seed=3)
        once, often = (receive(samples, passes=passes)[0] for passes in (1, 3))
        assert len(once) == len(often) == len(sent)
        assert all(good(first) <= good(last) <= set(mpdus)
                   for first, last in zip(once, often, strict=True))
        # This holds also if the first pass already found some.
        assert any(0 < len(good(first)) < len(good(last))
                   for first, last in zip(once, often, strict=True))
        for frame in often:
            for mpdu in frame.mpdus:
                assert frame.psdu[mpdu.offset:mpdu.offset + len(mpdu.data)] == mpdu.data

    @pytest.mark.parametrize("f", [
        HT(7, 200), HE.of_length(9, 300, ltf=4, gi_us=3.2), EHT.of_length(13, 300, coding="ldpc")],
        ids=str)
    def test_right_bytes_without_an_mpdu_stay_at_high_snr(self, f):
        """Such frames get further passes, which must not see interferers where there are none."""
        right = 0
        for seed in range(20):
            psdu = np.random.default_rng(seed).bytes(f.length)
            samples = stream(f, psdu, 1, snr_db=70, seed=seed, channel=multipath)
            (once,), _ = receive(samples, passes=1)
            (often,), _ = receive(samples)
            assert once.psdu != psdu or often.psdu == psdu
            right += often.psdu == psdu
        assert right >= 16

    def test_a_pass_that_goes_wrong_takes_nothing_away(self, monkeypatch):
        """Nor does it change the report of the frame."""
        psdu = broken(mac.aggregate(MPDUS), 150)
        samples = stream(HT(9, len(psdu), aggregated=True), psdu, 2)
        (once,), _ = receive(samples, passes=1)
        refine = Demodulator.refine

        def spoil(self, before, sent):
            refined = refine(self, before, sent)
            noise = np.random.default_rng(1).standard_normal(refined.y.shape)
            return replace(refined, y=noise.astype(np.complex64), channel=2 * refined.channel,
                           phase_step=refined.phase_step + 1)

        monkeypatch.setattr(Demodulator, "refine", spoil)
        (often,), _ = receive(samples, passes=3)
        assert good(often) == good(once) == {MPDUS[0], MPDUS[2]}
        assert (often.cfo_hz, often.evm_db) == (once.cfo_hz, once.evm_db)
        np.testing.assert_array_equal(often.channel.matrices, once.channel.matrices)


def test_a_lost_frame_reports_what_the_first_pass_measured():
    samples, _ = air([(lambda n: HT(15, n), [data_mpdu(500)])] * 8, 2, snr_db=12, cfo_hz=40e3,
                     channel=multipath)
    once, often = (receive(samples, passes=passes)[0] for passes in (1, 3))
    lost = [pair for pair in zip(once, often, strict=True) if not pair[1].fcs_ok]
    assert len(lost) >= 4
    for first, last in lost:
        assert (last.cfo_hz, last.sampling_offset_ppm, last.evm_db) == (
            first.cfo_hz, first.sampling_offset_ppm, first.evm_db)
        np.testing.assert_array_equal(last.channel.matrices, first.channel.matrices)


class TestDetectorsLimits:
    LARGE = (lambda n: VHT.of_length(8, n, 4), [data_mpdu(60, 1)])
    SMALL = (lambda n: VHT.of_length(1, n, 2), [data_mpdu(60, 2)])
    PROBLEM = ("omap cannot detect 4 streams of 256-QAM: 4.29e+09 candidates per vector "
               "exceed the limit of 1.68e+07 for backend 'cpu'")

    def test_are_told_and_other_frames_decode(self, caplog):
        samples, _ = air([self.LARGE, self.SMALL] * 3, 4)
        frames, counts = receive(samples, detector="omap", backend="cpu")
        assert [frame.problem for frame in frames] == [self.PROBLEM, ""] * 3
        assert [frame.complete for frame in frames] == [False, True] * 3
        assert counts[self.PROBLEM] == 3 and counts["frames"] == 6
        assert not caplog.records
        assert frames[0].channel.matrices.shape[1:] == (4, 4)

    def test_the_command_says_what_to_do(self, tmp_path):
        samples, _ = air([self.LARGE], 4)
        path = recording.write(tmp_path / "r", samples, 20e6)
        result = invoke("wifi", path, "-d", "omap", "--backend", "cpu")
        assert result.exit_code == 1
        assert self.PROBLEM in result.output and "Another detector (--detector)" in result.output


class TestExtraSymbol:
    """The bit of the VHT-SIG-A, if the number of symbols allows only one value."""

    @pytest.mark.parametrize("mcs, length, streams, stbc, extra", [
        (0, 113, 1, 0, False), (3, 337, 2, 0, False), (1, 225, 1, 1, False), (0, 50, 1, 0, True),
        (3, 78, 2, 0, True), (1, 50, 1, 1, True)])
    def test_a_wrong_bit_does_not_count(self, mcs, length, streams, stbc, extra, caplog):
        f = VHT.of_length(mcs, length, streams, coding="ldpc", stbc=stbc)
        assert f.extra_symbol == extra
        wrong = replace(f, extra_symbol=not extra)
        assert (wrong.length, wrong.contradiction) == (f.length, "")
        psdu = mac.aggregate([data_mpdu(f.length - 4 - 28)], f.length)
        (frame,), _ = receive(stream(wrong, psdu, 2))
        assert frame.complete and frame.psdu == psdu and not caplog.records
        assert frame.format.extra_symbol != extra    # the wrong value was sent

    def test_an_impossible_number_of_symbols_is_named(self, monkeypatch, caplog):
        sig_a = signal_fields.vht_sig_a
        monkeypatch.setattr(signal_fields, "vht_sig_a",
                            lambda f: sig_a(replace(f, coding="ldpc")))
        f = VHT(0, 13)
        frames, counts = receive(stream(f, mac.aggregate([data_mpdu(4)], f.length), 1))
        problem = "VHT-SIG-A and L-SIG disagree: no LDPC frame has this number of symbols"
        assert [(frame.problem, frame.format.num_symbols) for frame in frames] == [(problem, 13)]
        assert counts[problem] == 1 and not caplog.records


class TestForged:
    """Signal fields that no honest transmitter sends."""

    def forge(self, monkeypatch, format_, **fields):
        """Return the samples of a frame whose HT-SIG or VHT-SIG-A has other fields."""
        for name in ("ht_sig", "vht_sig_a"):
            make = getattr(signal_fields, name)
            monkeypatch.setattr(signal_fields, name,
                                lambda f, make=make: make(replace(f, **fields)))
        psdu = bytes(format_.length)
        samples = stream(format_, psdu, 2)
        monkeypatch.undo()
        return samples

    def test_a_length_beyond_the_l_sig_keeps_nobody_waiting(self, monkeypatch):
        samples = self.forge(monkeypatch, HT(0, 300), length=65535)
        later = stream(HT(9, 100), data_mpdu(72), 2)
        frames, counts = receive(np.concatenate([samples, later], axis=1))
        assert [frame.problem for frame in frames] == [
            "HT-SIG and L-SIG disagree about the length", ""]
        assert frames[1].fcs_ok
        assert frames[0].num_samples == pytest.approx(HT(0, 300).num_samples, abs=80)
        told = frames[0].as_json()
        assert (told["format"], told["mcs"], told["length"]) == ("ht", 0, 65535)

    def test_what_is_not_supported_is_told(self, monkeypatch):
        frames, _ = receive(self.unsupported(monkeypatch))
        told = frames[0].as_json()
        assert told["problem"] == "5 space-time streams"
        assert (told["format"], told["mcs"], told["num_streams"], told["bandwidth_mhz"],
                told["coding"]) == ("vht", 3, 5, 20, "bcc")
        assert not frames[0].psdu

    def unsupported(self, monkeypatch):
        def vht_sig_a(f):
            bits = real(f)[:34]
            bits[10:13] = 0, 0, 1    # 4: five streams
            return np.concatenate([bits, signal_fields.crc8(bits), np.zeros(6, np.uint8)])

        real = signal_fields.vht_sig_a
        monkeypatch.setattr(signal_fields, "vht_sig_a", vht_sig_a)
        format_ = VHT.of_length(3, 100)
        samples = stream(format_, bytes(format_.length), 2)
        monkeypatch.undo()
        return samples

    @pytest.mark.parametrize("wrong", [False, True])
    def test_sig_b_counts_with_its_crc_only(self, monkeypatch, wrong):
        format_ = VHT.of_length(3, 103)
        psdu = mac.aggregate([data_mpdu(60)], format_.length)
        if wrong:
            encode = signal_fields.encode_sig_b
            monkeypatch.setattr(signal_fields, "encode_sig_b", lambda f: 1 - encode(f))
        samples = stream(format_, psdu, 2)
        monkeypatch.undo()
        (frame,), _ = receive(samples)
        assert frame.complete
        assert frame.format.apep_length == (None if wrong else 104)

    @pytest.mark.parametrize("intact", [False, True])
    def test_of_what_is_inside_an_unreadable_frame_only_good_mpdus_count(self, monkeypatch, intact):
        """An L-SIG keeps the receiver busy, but lost samples must not cost more than that."""
        make = signal_fields.ht_sig
        monkeypatch.setattr(signal_fields, "ht_sig", lambda f: make(f) ^ (np.arange(48) == 40))
        samples = stream(HT(0, 500), bytes(500), 2)
        monkeypatch.undo()
        mpdu = data_mpdu(72)
        inner = stream(HT(9, 100), mpdu if intact else broken(mpdu, 50), 2)
        samples[:, 2000:2000 + inner.shape[1]] = inner    # the outer frame falls silent
        frames, _ = receive(samples)
        assert [frame.problem for frame in frames] == ["HT-SIG CRC", ""][:1 + intact]
        assert [frame.fcs_ok for frame in frames] == [False, True][:1 + intact]


def test_a_later_pass_that_raises_costs_nothing(monkeypatch, caplog):
    psdu = broken(mac.aggregate(MPDUS), 150)
    samples = stream(HT(9, len(psdu), aggregated=True), psdu, 2)

    def refine(*arguments):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(Demodulator, "refine", refine)
    (frame,), counts = receive(samples)
    assert good(frame) == {MPDUS[0], MPDUS[2]} and not frame.problem
    assert len(caplog.records) == 1 and not counts["failures"]


def test_exceptions_are_failures():
    class Broken(detectors.MMSE):
        def detect(self, *arguments):
            raise RuntimeError("broken")

    samples = stream(HT(9, 100), data_mpdu(72), 2)
    (frame,), counts = receive(samples, detector=lambda *size: Broken(*size))
    assert frame.problem == "failed: RuntimeError" and counts["failures"] == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_samples_that_are_no_numbers_leave_finite_offsets(value):
    psdu = mac.aggregate(MPDUS)
    form = HT(7, len(psdu), aggregated=True)
    samples = stream(form, psdu, 1)
    samples[:, 400 + form.data_start + 40] = value
    with np.errstate(all="ignore"):
        (frame,), counts = receive(samples, detector="mmse")
    assert frame.problem == "" and not counts["failures"]
    assert np.isfinite(frame.cfo_hz) and np.isfinite(frame.sampling_offset_ppm)
