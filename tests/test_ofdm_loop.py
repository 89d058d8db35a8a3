# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Array loop: transmitter, channel, synchroniser, estimator, detector, decoder."""

import numpy as np
import ofdm_air as air
import pytest
from gnuradio.mimopack import ofdm
from gnuradio.mimopack.channel import MIMOChannel


def loop(rng, parameters, num_rx, snr_db=None, cfo=0.0, taps=None, gap=300):
    """One frame through a channel: (payload, transmitter, frame as received)."""
    transmitter = ofdm.Transmitter(parameters)
    payload = rng.bytes(parameters.payload_length)
    if taps is None:
        taps = air.random_channel(rng, num_rx, parameters.num_tx)
    received = air.through(taps, transmitter.frame(payload))
    samples = air.offset(air.place(received.shape[1] + 2 * gap, (gap, received)), cfo)
    if snr_db is not None:
        samples = samples + air.noise(rng, samples.shape, snr_db)
    frames = air.synchronise(parameters, samples)
    assert [f.truncated for f in frames] == [False]
    assert abs(frames[0].start - gap) <= 2
    return payload, transmitter, frames[0]


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
@pytest.mark.parametrize("constellation", ofdm.CONSTELLATIONS)
@pytest.mark.parametrize("code_rate", ["1/2", "3/4"])
def test_noiseless_loop_is_exact(num_tx, constellation, code_rate):
    check_noiseless_loop(num_tx, constellation, code_rate)


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
@pytest.mark.parametrize("code_rate", ["2/3", "5/6"])
def test_noiseless_loop_with_the_other_rates(num_tx, code_rate):
    check_noiseless_loop(num_tx, "wlan_qam64", code_rate)


def check_noiseless_loop(num_tx, constellation, code_rate):
    rng = np.random.default_rng([num_tx, len(constellation), int(code_rate[-3])])
    for num_rx in range(num_tx, 7):
        p = ofdm.Parameters(num_tx, constellation, code_rate, int(rng.integers(1, 200)),
                            int(rng.integers(1, 128)))
        payload, transmitter, frame = loop(rng, p, num_rx)
        assert abs(frame.cfo) < 1
        estimate, llr = air.detect(frame)
        assert estimate.y.shape == (p.num_items, num_rx)
        assert estimate.h.shape == (p.num_items, num_rx, num_tx)
        assert np.array_equal(llr > 0, transmitter.coded_bits(payload) == 1)
        packet = ofdm.PacketDecoder(p).decode(llr)
        assert packet.crc_ok and packet.payload == payload
        assert packet.scrambler_seed == p.scrambler_seed
        assert packet.coded_bit_errors == 0


def test_estimate_is_the_channel():
    rng = np.random.default_rng(1)
    p = ofdm.Parameters(num_tx=4, constellation="wlan_qpsk", payload_length=400)
    taps = air.random_channel(rng, 5, 4, num_taps=6)
    payload, transmitter, frame = loop(rng, p, 5, snr_db=30, cfo=20e3, taps=taps)
    estimate, _ = air.detect(frame)
    x = transmitter.layers(payload)
    error = estimate.y - np.einsum("nri,ni->nr", estimate.h, x)
    # y = H x + n: what is left is noise and the error of H, which one frame's symbols share.
    assert 0.65 < np.mean(np.abs(error) ** 2) / estimate.noise_var < 1.35
    # In power: 64 times the sample power spread over 56 carriers, 5 antennas.
    true = np.mean(np.sum(np.abs(np.fft.fft(taps, 64, axis=0)) ** 2, axis=2)) * 64 / 56 / 4 * 64
    assert np.mean(np.sum(np.abs(estimate.h) ** 2, axis=2)) == pytest.approx(true, rel=0.1)
    assert estimate.noise_var_raw == pytest.approx(64e-3, rel=0.25)
    assert estimate.snr_db == pytest.approx(10 * np.log10(true / 64e-3), abs=1)


@pytest.mark.parametrize(("num_tx", "excess"), [(1, 1 / 2), (2, 3 / 4), (3, 21 / 32), (4, 7 / 8)])
def test_estimation_error_is_that_of_least_squares(num_tx, excess):
    # Of N training fields with N layers each layer's error is noise / N^2 per field, half of it
    # for the first, which came twice: over all layers (N - 1/2) / N of the noise.
    rng = np.random.default_rng([10, num_tx])
    p = ofdm.Parameters(num_tx=num_tx, constellation="wlan_qpsk", payload_length=100 * num_tx)
    ratios = []
    for _ in range(20):
        payload, transmitter, frame = loop(rng, p, 6, snr_db=25)
        estimate, _ = air.detect(frame)
        # In the first data symbol the pilots' phase errs least against the training.
        y, h = estimate.y[:52], estimate.h[:52]
        error = y - np.einsum("nri,ni->nr", h, transmitter.layers(payload)[:52])
        ratios.append(np.mean(np.abs(error) ** 2) / (64 * 10**-2.5))
        assert estimate.noise_var == pytest.approx((1 + excess) * estimate.noise_var_raw)
    assert np.mean(ratios) == pytest.approx(1 + excess, rel=0.07)


@pytest.mark.parametrize("num_tx", [1, 2, 4])
@pytest.mark.parametrize("snr_db", [3, 10])
def test_snr_is_unbiased(snr_db, num_tx):
    rng = np.random.default_rng([11, num_tx, snr_db])
    p = ofdm.Parameters(num_tx=num_tx, constellation="wlan_qpsk", payload_length=20)
    estimator, transmitter = ofdm.ChannelEstimator(p, 4), ofdm.Transmitter(p)
    found, true = [], []
    for _ in range(200):
        taps = air.random_channel(rng, 4, num_tx)
        samples = air.through(taps, transmitter.frame(rng.bytes(20)))
        samples = samples + air.noise(rng, samples.shape, snr_db)
        symbols = samples[:, 192 + np.arange(64) + 64 * np.arange(2)[:, None]]
        rest = samples[:, 320:].reshape(4, -1, 80)[:, :, 16:]
        estimate = estimator.estimate(
            ofdm.to_subcarriers(np.concatenate([symbols, rest], axis=1)))
        found.append(10 ** (estimate.snr_db / 10))
        power = np.mean(np.sum(np.abs(taps[0]) ** 2, axis=1)) / num_tx
        true.append(power * 10 ** (snr_db / 10) * 64 / 56)
    # With the error of H left in it would be 0.7 dB and more at 3 dB and four layers.
    assert 10 * np.log10(np.mean(found) / np.mean(true)) == pytest.approx(0, abs=0.15)


def test_noise_variance_is_unbiased():
    rng = np.random.default_rng(2)
    p = ofdm.Parameters(num_tx=2, constellation="wlan_bpsk", payload_length=20)
    frames = [loop(rng, p, 2, snr_db=15, taps=0.7 * np.eye(2)[None])[2] for _ in range(60)]
    found = [air.detect(frame)[0].noise_var_raw for frame in frames]
    # 112 samples each: 10 % standard deviation, so 1.3 % for the mean of 60.
    assert np.mean(found) == pytest.approx(64 * 10**-1.5, rel=0.05)


def test_condition_number():
    p = ofdm.Parameters(num_tx=2, constellation="wlan_bpsk", payload_length=20)
    rng = np.random.default_rng(3)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)))[0]
    taps = (rotation[:, :2] * [1, 0.1])[None]
    frame = loop(rng, p, 3, taps=taps)[2]
    assert air.detect(frame)[0].condition_db == pytest.approx(20, abs=0.1)


@pytest.mark.parametrize("symbols_per_channel", [2, 5, 10])
def test_symbols_that_share_a_channel(symbols_per_channel):
    rng = np.random.default_rng(4)
    p = ofdm.Parameters(payload_length=500)
    payload, transmitter, frame = loop(rng, p, 4, snr_db=25)
    plain, llr = air.detect(frame, name="mla")
    grouped, grouped_llr = air.detect(frame, symbols_per_channel, name="mla")
    assert grouped.y.shape == (p.num_items // symbols_per_channel, symbols_per_channel * 4)
    assert grouped.h.shape == (p.num_items // symbols_per_channel, 4, 4)
    assert np.array_equal(ofdm.ungroup_items(grouped.y, symbols_per_channel), plain.y)
    scale = np.abs(llr).max()
    assert np.allclose(ofdm.ungroup_items(grouped_llr, symbols_per_channel), llr,
                       atol=1e-4 * scale)
    truth = transmitter.coded_bits(payload, symbols_per_channel)
    assert np.mean((grouped_llr > 0) != truth) < 0.1
    packet = ofdm.PacketDecoder(p).decode(grouped_llr, symbols_per_channel)
    assert packet.payload == payload


def test_symbols_per_channel_must_divide():
    with pytest.raises(ValueError, match="symbols_per_channel: got 3"):
        ofdm.ChannelEstimator(ofdm.Parameters(payload_length=500), 4, symbols_per_channel=3)


def test_pilots_follow_phase_and_sampling_clock():
    rng = np.random.default_rng(5)
    p = ofdm.Parameters(num_tx=2, constellation="wlan_qam64", code_rate="3/4", payload_length=1500)
    payload, transmitter, frame = loop(rng, p, 3, snr_db=35)
    symbols = ofdm.to_subcarriers(frame.symbols).astype(np.complex128)
    data = symbols[:, p.num_training_symbols:]
    n, k = np.arange(p.num_symbols), np.arange(-32, 32)
    walk = np.cumsum(rng.normal(0, 0.2, p.num_symbols))
    slope = 2e-3      # 80 us samples drift by 2e-3 * 64 / (2 pi): about 250 ppm
    # The fields' middles are at samples 256 and 368, that of the first data symbol at 448.
    data *= np.exp(1j * (walk[:, None] + slope * np.outer(n + (448 - 312) / 80, k)))
    symbols[:, p.num_training_symbols:] = data
    estimate = ofdm.ChannelEstimator(p, 3).estimate(symbols)
    assert estimate.slope == pytest.approx(slope, rel=0.05)
    assert np.std(np.angle(np.exp(1j * (estimate.phase - walk)))) < 0.05
    error = estimate.y - np.einsum("nri,ni->nr", estimate.h, transmitter.layers(payload))
    assert np.mean(np.abs(error) ** 2) < 2 * estimate.noise_var


@pytest.mark.parametrize("sampling_offset", [40, -40])
@pytest.mark.parametrize("frame_format", [
    {"num_tx": 1, "constellation": "wlan_bpsk", "payload_length": 1500},
    {"num_tx": 4, "constellation": "wlan_qpsk", "payload_length": 16000}])
def test_sampling_clock_of_long_frames(frame_format, sampling_offset):
    p = ofdm.Parameters(**frame_format)
    transmitter = ofdm.Transmitter(p)
    for seed in range(3):
        payload = np.random.default_rng(seed).bytes(p.payload_length)
        samples = np.pad(transmitter.frame(payload), [(0, 0), (600, 600)])
        air_channel = MIMOChannel(
            p.num_tx, p.num_tx + 1, snr_db=35, sampling_offset=sampling_offset,
            cfo=sampling_offset * 5.2e3, profile="tdl_a", delay_spread=50e-9, seed=seed)
        (frame,) = air.synchronise(p, air_channel.process(samples))
        estimate, llr = air.detect(frame, name="mla" if p.num_tx == 1 else "nway")
        assert estimate.slope * 64 / (2 * np.pi * 80) == pytest.approx(
            sampling_offset * 1e-6, abs=1e-6)
        assert ofdm.PacketDecoder(p).decode(llr).payload == payload


@pytest.mark.parametrize("detector", ["mmse", "nway"])
def test_multipath_offset_and_noise(detector):
    rng = np.random.default_rng(6)
    p = ofdm.Parameters(num_tx=4, constellation="wlan_qam16", payload_length=300)
    good = 0
    for _ in range(12):
        taps = air.random_channel(rng, 4, 4, num_taps=8)
        payload, transmitter, frame = loop(rng, p, 4, snr_db=30, taps=taps,
                                           cfo=rng.uniform(-100e3, 100e3))
        _, llr = air.detect(frame, name=detector)
        packet = ofdm.PacketDecoder(p).decode(llr)
        good += packet.crc_ok
        if packet.crc_ok:
            assert packet.payload == payload
            wrong = (llr > 0) != (transmitter.coded_bits(payload) == 1)
            # The decoder's count is of the bits before the padding.
            assert 0 <= np.count_nonzero(wrong) - packet.coded_bit_errors <= (
                p.num_items * 16 - p.num_coded_bits)
    assert good >= 11


def test_a_damaged_packet_fails_its_crc():
    p = ofdm.Parameters(num_tx=1, constellation="wlan_bpsk", payload_length=50)
    sent = ofdm.Transmitter(p).coded_bits(bytes(range(50)))
    llr = 2.0 * sent - 1
    assert ofdm.PacketDecoder(p).decode(llr).crc_ok
    llr[100:400] *= -1
    packet = ofdm.PacketDecoder(p).decode(llr)
    assert not packet.crc_ok and len(packet.payload) == 50
    erased = ofdm.PacketDecoder(p).decode(np.full_like(llr, np.nan))
    assert not erased.crc_ok


def test_shapes_are_checked():
    p = ofdm.Parameters()
    with pytest.raises(ValueError, match=r"samples: got shape \(3, 10\), must be \(4, n\)"):
        ofdm.FrameSync(p, 4).process(np.zeros((3, 10)))
    with pytest.raises(ValueError, match=r"symbols: got shape \(4, 5, 64\)"):
        ofdm.ChannelEstimator(p, 4).estimate(np.zeros((4, 5, 64)))
    with pytest.raises(ValueError, match=r"llr: got shape \(520, 8\), must be \(520, 16\)"):
        ofdm.PacketDecoder(p).decode(np.zeros((520, 8)))
    with pytest.raises(ValueError, match="num_rx: got 0"):
        ofdm.FrameSync(p, 0)
    with pytest.raises(ValueError, match="num_rx: got 0"):
        ofdm.ChannelEstimator(p, 0)
    with pytest.raises(ValueError, match="threshold: got 1.5"):
        ofdm.FrameSync(p, 4, threshold=1.5)
