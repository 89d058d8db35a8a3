# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi receiver finds all frames in impaired streams, and none in streams without frames."""

import numpy as np
import pytest
from gnuradio.mimopack.channel import MIMOChannel
from gnuradio.mimopack.wifi import EHT, HE, HT, VHT, NonHT, Receiver, Transmitter, mac
from gnuradio.mimopack.wifi.frame import TRUNCATED
from gnuradio.mimopack.wifi.synchroniser import Synchroniser
from wifi_air import air, data_mpdu, flat_channel, frames_in, multipath, through

RATE = 20e6
ROBUST = [(lambda n: NonHT(6, n), [data_mpdu(90, 1)]),
          (lambda n: NonHT(24, n), [data_mpdu(150, 2)]),
          (lambda n: HT(9, n), [data_mpdu(200, 3)])]
MIXED = [*ROBUST, (lambda n: VHT.of_length(4, n, 2), [data_mpdu(300, 4), data_mpdu(70, 5)])]


def mpdus(frame):
    return [mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok]


def check(frames, sent, tolerance=8):
    """Check that exactly the sent frames are found, at their positions."""
    assert [mpdus(frame) for frame in frames] == [one.mpdus for one in sent]
    assert all(abs(frame.start - one.start) <= tolerance
               for frame, one in zip(frames, sent, strict=True))


def rotate(samples, frequency):
    """Return samples with a carrier offset in Hz."""
    return samples * np.exp(2j * np.pi * frequency / RATE * np.arange(samples.shape[-1]))


def noise(rng, num_rx, n, power=1.0):
    real = rng.standard_normal((num_rx, n, 2))
    return (real * np.sqrt(power / 2)).view(complex)[..., 0]


class TestImpairments:
    @pytest.mark.parametrize("level_db, frequency", [(-15, 0.0), (-25, 1.03e6), (-15, -4.7e6)])
    def test_direct_current_or_a_tone_beside_frames(self, level_db, frequency):
        samples, sent = air(ROBUST * 3, 2, snr_db=30, cfo_hz=40e3, seed=2)
        tone = rotate(np.full((1, samples.shape[1]), 0.1 * 10 ** (level_db / 20)), frequency)
        check(frames_in(samples + tone), sent)

    @pytest.mark.parametrize("scale", [1e-9, 1e-6, 3e4, 1e7])
    def test_scale_does_not_matter(self, scale):
        samples, sent = air(MIXED, 2, snr_db=30, level=1.0)
        frames = frames_in(samples * scale)
        check(frames, sent)
        for frame, one in zip(frames, frames_in(samples), strict=True):
            assert frame.start == one.start
            assert frame.snr_db == pytest.approx(one.snr_db, abs=0.05)
            assert np.subtract(frame.level_dbfs, one.level_dbfs) == pytest.approx(
                20 * np.log10(scale), abs=0.05)

    def test_antennas_of_different_gain_and_noise(self):
        """Each antenna has its own SNR; one with only noise, or nothing, does no harm."""
        samples, sent = air(MIXED, 5, snr_db=60, cfo_hz=20e3, seed=6)
        rng = np.random.default_rng(6)
        gain = np.array([1.0, 0.01, 30.0, 0.0, 0.0])[:, None]
        floor = np.array([1e-3, 3e-5, 6e-2, 1e-2, 0.0])[:, None]
        frames = frames_in(gain * samples + floor * noise(rng, 5, samples.shape[1]))
        check(frames, sent)
        for frame in frames:
            power = np.mean(np.abs(samples[:3, frame.start:frame.start + frame.num_samples])**2, 1)
            expected = 10 * np.log10(power * gain[:3, 0]**2 / floor[:3, 0]**2)
            assert np.array(frame.antenna_snr_db[:3]) == pytest.approx(expected, abs=3.5)
            assert frame.antenna_snr_db[3] < 0

    @pytest.mark.parametrize("num_taps", [1, 4, 10])
    def test_timing_avoids_interference_between_symbols(self, num_taps):
        """Echoes within the guard interval cause no interference except from the filter's tails."""
        rng = np.random.default_rng([8, num_taps])
        transmitter = Transmitter(2)
        for _ in range(6):
            found, sent = transmitter.mpdu(lambda n: HT(11, n), [data_mpdu(300)])
            received = through(multipath(4, 2, rng, num_taps, spread=4.0), sent)
            stream = np.pad(received, ((0, 0), (500, 700)))
            frame, = frames_in(stream + noise(rng, 4, stream.shape[1], 1e-8))
            # The first strong path may happen to be weak; the start is then one path later.
            assert -8 <= frame.start - 500 <= num_taps and frame.fcs_ok
            assert max(frame.evm_db) < -38


class TestOffsets:
    @pytest.mark.parametrize("ppm", [-40, 40])
    @pytest.mark.parametrize("name", ["non-ht", "ht", "vht"])
    def test_long_frames(self, name, ppm):
        """Both clocks are off by as much as two devices' may be, at 5.8 GHz, for 5.4 ms.

        A transmitter with a fast oscillator has both offsets positive.
        """
        rng = np.random.default_rng(9)
        f = {"non-ht": NonHT(6, 4095), "ht": HT(8, 8700), "vht": VHT.of_length(1, 17000, 2)}[name]
        assert 5.2e-3 < f.num_samples / RATE < 5.5e-3
        psdu = rng.bytes(f.length - 4)
        psdu = psdu + mac.fcs(psdu) if not f.aggregated else mac.aggregate(
            [data_mpdu(1000, number) for number in range(16)], f.length)
        sent = np.pad(Transmitter(f.num_streams).frame(f, psdu), ((0, 0), (600, 900)))
        link = MIMOChannel(f.num_streams, 3, "tdl_a", 50e-9, RATE, snr_db=28, cfo=ppm * 5.8e3,
                           sampling_offset=ppm, seed=9)
        frame, = frames_in(link.process(sent))
        assert frame.psdu == psdu
        assert frame.cfo_hz == pytest.approx(ppm * 5.8e3, abs=300)
        assert frame.sampling_offset_ppm == pytest.approx(ppm, abs=0.5)

    @pytest.mark.parametrize("cfo", [-232e3, -100e3, 3e3, 155e3, 232e3])
    def test_carrier_offset(self, cfo):
        samples, sent = air(MIXED * 2, 2, snr_db=25, cfo_hz=cfo, seed=10)
        frames = frames_in(samples)
        check(frames, sent)
        assert np.abs([frame.cfo_hz - cfo for frame in frames]).max() < 1e3

    @pytest.mark.parametrize("rate", [5e6, 10e6])
    @pytest.mark.parametrize("cfo", [-236e3, -160e3, 232e3])
    def test_carrier_offset_of_narrow_channels(self, rate, cfo):
        """Three subcarriers at 5 MS/s, which exceeds the range of the short training field."""
        samples, sent = air(ROBUST, 2, snr_db=25, cfo_hz=cfo, sample_rate=rate, seed=10)
        frames = frames_in(samples, rate)
        check(frames, sent)
        assert np.abs([frame.cfo_hz - cfo for frame in frames]).max() < 1e3

    @pytest.mark.parametrize("f, rate, limit", [
        (HE.of_length(3, 300, 4, coding="ldpc"), RATE, 900),
        (HE.of_length(1, 100, name="he-er-su"), RATE, 500),
        (HE.of_length(3, 300, coding="ldpc", bandwidth_mhz=80), 4 * RATE, 500),
        (HE.of_length(3, 300), 4 * RATE, 500), (EHT.of_length(3, 300), RATE, 900)], ids=str)
    def test_signal_fields_of_he_tell_the_carrier_offset(self, f, rate, limit):
        """The L-LTF alone tells it with an error of 1.4 to 3.5 kHz rms at 6 dB."""
        rng, errors = np.random.default_rng(3), []
        centre = round((f.bandwidth_mhz - rate / 1e6) * 8 / 5)
        sent = Transmitter(f.num_streams, rate, centre).frame(f, rng.bytes(f.length))
        for _ in range(30):
            samples = np.pad(flat_channel(*[f.num_streams] * 2, rng) @ sent, ((0, 0), (600, 600)))
            samples = samples * np.exp(2j * np.pi * 40e3 / rate * np.arange(samples.shape[1]))
            noise = rng.standard_normal((2, *samples.shape)) * np.sqrt(10**-0.6 / 2)
            synchroniser = Synchroniser(f.num_streams, rate)
            found = synchroniser.process((samples + noise[0] + 1j * noise[1]).astype(np.complex64))
            errors += [one.cfo * rate - 40e3 for one in found + synchroniser.finish()
                       if one.format or one.several]
        assert len(errors) >= 29
        assert np.sqrt(np.mean(np.square(errors))) < limit

    def test_low_snr(self):
        # The power of 1 is spread over four antennas: the SNR is 2 dB at each.
        samples, sent = air(ROBUST[:1] * 40, 4, snr_db=8, cfo_hz=-60e3, seed=11)
        delivered = [mpdus(frame) for frame in frames_in(samples)]
        assert sum(one == sent[0].mpdus for one in delivered) >= 38


class TestNeighbours:
    @pytest.mark.parametrize("gap", [40, 41, 320])
    def test_back_to_back(self, gap):
        """2 us is the shortest gap of the standard (RIFS); 16 us is a short interframe space."""
        samples, sent = air(MIXED * 5, 2, snr_db=30, gap=gap, seed=12)
        check(frames_in(samples), sent)

    def test_at_the_very_ends_of_the_stream(self):
        samples, sent = air(ROBUST, 2, snr_db=30, gap=30, seed=13)
        stream = samples[:, sent[0].start:sent[-1].start + sent[-1].format.num_samples]
        assert [mpdus(frame) for frame in frames_in(stream)] == [one.mpdus for one in sent]

    @pytest.mark.parametrize("power_db, delay", [(-20, 250), (15, 900), (15, 1700)])
    def test_overlapping_frames(self, power_db, delay):
        """The stronger of two frames is decoded, and so are the next ones; no byte is wrong."""
        first, one = air([(lambda n: NonHT(6, n), [data_mpdu(150, 1)])], 1, snr_db=60, seed=14)
        second, other = air([(lambda n: NonHT(6, n), [data_mpdu(150, 2)])], 1, snr_db=60, seed=15)
        third, last = air(ROBUST[:1], 1, snr_db=60, seed=16)
        gain = 10 ** (power_db / 20)
        stream = np.zeros((1, first.shape[1] + delay + third.shape[1]), complex)
        stream[:, :first.shape[1]] += first
        stream[:, delay:delay + second.shape[1]] += gain * second
        stream[:, -third.shape[1]:] += third
        frames = frames_in(stream + noise(np.random.default_rng(1), 1, stream.shape[1], 1e-6))
        delivered = [mpdu for frame in frames for mpdu in mpdus(frame)]
        stronger = other if power_db > 0 else one
        assert delivered == [stronger[0].mpdus[0], last[0].mpdus[0]]

class TestCuts:
    @pytest.mark.parametrize("missing", [60, 500, 1100])
    def test_cut_by_the_end(self, missing):
        samples, sent = air(MIXED, 2, snr_db=30, seed=20)
        end = sent[-1].start + sent[-1].format.num_samples - missing
        frames = frames_in(samples[:, :end])
        check(frames[:-1], sent[:-1])
        assert abs(frames[-1].start - sent[-1].start) <= 8
        assert (frames[-1].problem, frames[-1].format.num_streams) == (TRUNCATED, 2)

    @pytest.mark.parametrize("kept", [395, 450, 500])
    @pytest.mark.parametrize("frame", [MIXED[0], *MIXED[2:]], ids=["non-HT", "HT", "VHT"])
    def test_an_l_sig_of_6_mbit_alone_does_not_tell_the_format(self, kept, frame):
        samples, sent = air([frame], 2, snr_db=30, seed=20)
        only, = frames_in(samples[:, :sent[0].start + kept])
        assert (only.format, only.problem) == (None, TRUNCATED)

    @pytest.mark.parametrize("kept", [60, 250, 420, 700, 1000])
    def test_samples_lost_within_a_frame(self, kept):
        """The stream jumps from inside a frame to shortly before the next one; only one is lost."""
        samples, sent = air(MIXED * 2, 2, snr_db=30, seed=21)
        jump = sent[4].start - 45
        samples = np.concatenate([samples[:, :sent[3].start + kept], samples[:, jump:]], axis=1)
        delivered = [mpdus(frame) for frame in frames_in(samples)]
        assert [one for one in delivered if one] == [
            one.mpdus for index, one in enumerate(sent) if index != 3]

    @pytest.mark.parametrize("left", [30, 250, 800])
    def test_begins_within_a_frame(self, left):
        samples, sent = air(ROBUST, 2, snr_db=30, seed=22)
        begin = sent[0].start + sent[0].format.num_samples - left
        delivered = [mpdus(frame) for frame in frames_in(samples[:, begin:])]
        assert [one for one in delivered if one] == [one.mpdus for one in sent[1:]]


class TestBrokenSamples:
    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, 3e38])
    def test_one_costs_at_most_its_frame(self, value):
        samples, sent = air([*ROBUST[2:] * 2, *ROBUST[:1]], 2, snr_db=35, gap=60, seed=23)
        with np.errstate(over="ignore", invalid="ignore"):
            for position in range(sent[1].start - 20, sent[1].start + 900, 23):
                bad = samples.copy()
                bad[position % 2, position] = value
                delivered = [mpdus(frame) for frame in frames_in(bad)]
                assert delivered[0] == sent[0].mpdus and delivered[-1] == sent[2].mpdus
                assert all(one in ([], sent[1].mpdus) for one in delivered[1:-1])

def periodic(name, rng, n):
    """Return a signal of power 1 that is not Wi-Fi."""
    k = np.arange(n)
    tone = np.exp(2j * np.pi * rng.uniform(-0.5, 0.5) * k)
    if name == "tone":
        return tone
    if name == "two tones":
        return (tone + np.exp(2j * np.pi * rng.uniform(-0.5, 0.5) * k)) / np.sqrt(2)
    if name == "chirp":
        return np.exp(2j * np.pi * 1e-6 * k * k / 2)
    if name == "pulses":
        return tone * (k % 1600 < 200) * np.sqrt(8)
    if name == "constant":
        return np.ones(n)
    # Random periods, with lengths other than the short training field's 16 samples, and with 16.
    period = {"period 16": 16, "period 20": 20, "period 64": 64, "period 80": 80}[name]
    return np.resize(rng.standard_normal((period, 2)).view(complex)[:, 0] / np.sqrt(2), n)


class TestSilence:
    @pytest.mark.parametrize("num_rx", [1, 2, 4])
    def test_noise_raises_no_frame(self, num_rx):
        rng = np.random.default_rng([30, num_rx])
        receiver = Receiver(num_rx)
        for _ in range(6):
            assert receiver.process(noise(rng, num_rx, 500_000).astype(np.complex64)) == []
        assert receiver.finish() == [] and receiver.counts["samples"] == 3_000_000

    @pytest.mark.parametrize("name", ["tone", "two tones", "chirp", "pulses", "constant",
                                      "period 16", "period 20", "period 64", "period 80"])
    @pytest.mark.parametrize("snr_db", [5, 20, 60])
    def test_other_signals_raise_no_frame(self, name, snr_db):
        rng = np.random.default_rng([31, snr_db])
        for phase in (1, np.exp(2j)):
            signal = periodic(name, rng, 300_000) * np.array([[1], [phase]])
            assert frames_in(signal + noise(rng, 2, 300_000, 10 ** (-snr_db / 10))) == []

@pytest.mark.parametrize("arguments, message", [
    ({"threshold": 1.5}, "threshold: got 1.5"), ({"num_rx": 0}, "num_rx: got 0"),
    ({"sample_rate": 25e6}, "sample_rate: got 25 MS/s, allowed are 5, 10, 20, 40, 80 or 160 MS/s$"),
    ({"sample_rate": 20},
     "got 20 samples/s, allowed are 5, 10, 20, 40, 80 or 160 MS/s, such as 20e6")])
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        Receiver(**{"num_rx": 1, **arguments})


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"samples: got shape \(3, 10\), must be \(4, n\)"):
        Receiver(4).process(np.zeros((3, 10)))
