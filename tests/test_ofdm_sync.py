# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame synchroniser: offset, timing, chunks, gaps, false alarms."""

import numpy as np
import ofdm_air as air
import pytest
from gnuradio.mimopack import ofdm
from gnuradio.mimopack.ofdm.acquisition import PreambleAcquirer

QPSK = ofdm.Parameters(num_tx=2, constellation="wlan_qpsk", payload_length=100)
QAM = ofdm.Parameters(num_tx=4, payload_length=400)


def a_frame(rng, parameters, num_rx, taps=None):
    """(payload, received samples) of a frame through a channel."""
    payload = rng.bytes(parameters.payload_length)
    if taps is None:
        taps = air.random_channel(rng, num_rx, parameters.num_tx, num_taps=4)
    return payload, air.through(taps, ofdm.Transmitter(parameters).frame(payload))


def decoded(frame):
    packet = ofdm.PacketDecoder(frame.parameters).decode(air.detect(frame, name="mla")[1])
    return packet.payload if packet.crc_ok else None


@pytest.mark.parametrize("cfo", [-400e3, -100e3, 0.0, 37e3, 160e3])
def test_carrier_offset(cfo):
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(15):
        _, received = a_frame(rng, QPSK, 2)
        samples = air.offset(air.place(2500, (700, received)), cfo)
        frames = air.synchronise(QPSK, samples + air.noise(rng, samples.shape, 20))
        assert len(frames) == 1
        errors.append(frames[0].cfo - cfo)
    # 144 products at 64 samples' distance, 20 dB: 400 Hz for antennas of unit power.
    assert np.sqrt(np.mean(np.square(errors))) < 800
    assert np.max(np.abs(errors)) < 2500


@pytest.mark.parametrize("num_taps", [1, 4, 12])
@pytest.mark.parametrize("num_tx", [1, 2, 4])
def test_timing_avoids_interference_between_symbols(num_tx, num_taps):
    rng = np.random.default_rng([2, num_tx, num_taps])
    p = ofdm.Parameters(num_tx=num_tx, constellation="wlan_qam16", payload_length=100 * num_tx)
    transmitter = ofdm.Transmitter(p)
    for _ in range(10):
        taps = air.random_channel(rng, num_tx + 1, num_tx, num_taps, spread=4.0)
        payload, received = a_frame(rng, p, num_tx + 1, taps)
        (frame,) = air.synchronise(p, air.place(3000, (555, received)))
        # The first strong path may be weak for once: then the start is a path later.
        assert -2 <= frame.start - 555 <= num_taps
        estimate, _ = air.detect(frame)
        error = estimate.y - np.einsum("nri,ni->nr", estimate.h, transmitter.layers(payload))
        # Without noise only interference would be left; a window a few samples off shows -25 dB.
        assert np.mean(np.abs(error) ** 2) < 1e-5 * np.mean(np.abs(estimate.y) ** 2)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0, 3e4, 1e7])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(3)
    payload, received = a_frame(rng, QAM, 4)
    samples = air.place(2500, (800, received))
    samples = scale * (samples + air.noise(rng, samples.shape, 30))
    (frame,) = air.synchronise(QAM, samples)
    assert decoded(frame) == payload


def stream_of_frames(rng, parameters, num_rx, gaps, snr_db=25, cfo=40e3):
    pieces, payloads, starts, position = [], [], [], 0
    for gap in gaps:
        position += gap
        payload, received = a_frame(rng, parameters, num_rx)
        pieces.append((position, received))
        payloads.append(payload)
        starts.append(position)
        position += parameters.frame_samples
    samples = air.offset(air.place(position + 3, *pieces), cfo)
    return payloads, starts, samples + air.noise(rng, samples.shape, snr_db)


def test_frames_anywhere_and_back_to_back():
    rng = np.random.default_rng(4)
    gaps = [0, 0, 0, 1, 17, 100, 1000, 0, 5000, 3, 0, 0]
    payloads, starts, samples = stream_of_frames(rng, QPSK, 3, gaps)
    frames = air.synchronise(QPSK, samples)
    assert [f.number for f in frames] == list(range(len(gaps)))
    assert np.abs(np.array([f.start for f in frames]) - starts).max() <= 3
    assert [decoded(f) for f in frames] == payloads


@pytest.mark.parametrize("chunk", [1, 7, 64, 79, 1000, 4096, "random"])
def test_chunks_do_not_matter(chunk):
    rng = np.random.default_rng(5)
    _, _, samples = stream_of_frames(rng, QAM, 4, [130, 0, 333, 90])
    # The third frame begins inside the second, and the fourth ends with the stream.
    samples = np.concatenate([samples[:, :1800], samples[:, 2830:-500]], axis=1)
    whole = air.synchronise(QAM, samples)
    assert [f.truncated for f in whole] == [False, True, False, True]
    sync, parts, position = ofdm.FrameSync(QAM, 4), [], 0
    while position < samples.shape[1]:
        length = int(rng.integers(0, 3000)) if chunk == "random" else chunk
        parts += sync.process(samples[:, position:position + length].astype(np.complex64))
        position += length
    # What is complete needs no finish().
    assert len(parts) == 3
    parts += sync.finish()
    assert (sync.frames_found, sync.frames_truncated) == (2, 2)
    assert sync.samples_seen == samples.shape[1]
    for one, other in zip(whole, parts, strict=True):
        assert (one.number, one.start, one.cfo, one.truncated, one.num_samples) == (
            other.number, other.start, other.cfo, other.truncated, other.num_samples)
        assert np.array_equal(one.symbols, other.symbols)


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_preamble_is_found_once_wherever_a_chunk_ends(seed):
    parameters = ofdm.Parameters(1, "wlan_qpsk", "1/2", 100)
    _, _, samples = stream_of_frames(np.random.default_rng(seed), parameters, 2, [500, 0])
    for cut in range(800, 900):    # a preamble of one layer ends here
        sync = ofdm.FrameSync(parameters, 2)
        frames = [*sync.process(samples[:, :cut]), *sync.process(samples[:, cut:])]
        assert [frame.truncated for frame in frames] == [False, False]


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
def test_a_frame_that_ends_with_the_stream_is_complete(num_tx):
    rng = np.random.default_rng(6)
    for length in (1, 300):
        # The shortest frame there is: one data symbol, no sample behind it.
        p = ofdm.Parameters(num_tx, "wlan_qam64", "5/6", length)
        assert p.num_symbols == 1 or length > 1
        for lead in range(0, 40, 3):
            payload, received = a_frame(rng, p, num_tx, air.random_channel(rng, num_tx, num_tx))
            samples = air.place(lead + p.frame_samples, (lead, received))
            sync = ofdm.FrameSync(p, num_tx)
            (frame,) = sync.process(samples)
            assert decoded(frame) == payload
            assert sync.finish() == []


def test_a_frame_cut_by_the_end_is_reported():
    rng = np.random.default_rng(7)
    _, received = a_frame(rng, QAM, 4)
    samples = air.place(1000 + received.shape[1], (1000, received))
    samples += air.noise(rng, samples.shape, 25)
    for missing in (40, 200, 300):
        sync = ofdm.FrameSync(QAM, 4)
        assert sync.process(samples[:, :1000 + QAM.frame_samples - missing]) == []
        (frame,) = sync.finish()
        assert frame.truncated and abs(frame.start - 1000) <= 3
        assert frame.num_samples == 1000 + QAM.frame_samples - missing - frame.start
        assert frame.symbols.shape == (4, 0, 64)
        assert (sync.frames_found, sync.frames_truncated) == (0, 1)
        # The stream may go on with another one.
        again = sync.process(samples) + sync.finish()
        assert [f.truncated for f in again] == [False]


@pytest.mark.parametrize("kept", [260, 330, 450, 540, 620, 800, 940, 1190])
def test_a_gap_costs_one_packet(kept):
    rng = np.random.default_rng([8, kept])
    payloads, starts, samples = stream_of_frames(rng, QAM, 4, [500, 400, 300])
    # The stream jumps from within the first frame to shortly before the second.
    jump = starts[1] - 25
    samples = np.concatenate([samples[:, :starts[0] + kept], samples[:, jump:]], axis=1)
    frames = air.synchronise(QAM, samples)
    good = [decoded(f) for f in frames if not f.truncated]
    assert payloads[1] in good and payloads[2] in good
    broken = [f for f in frames if f.truncated]
    if kept < 320:
        # Without its long training field nothing says that this was a frame.
        assert len(frames) == 2
        return
    assert len(frames) == 3
    if kept <= 540:
        # The second preamble lies inside the first frame's span and breaks it off there. Later
        # ones are complete only behind it: then the first frame goes out, to fail its CRC.
        assert len(broken) == 1 and abs(broken[0].num_samples - (kept + 25)) <= 3


def test_a_gap_into_the_middle_of_another_packet():
    rng = np.random.default_rng(9)
    payloads, starts, samples = stream_of_frames(rng, QAM, 4, [500, 0, 0, 200])
    samples = np.concatenate([samples[:, :starts[0] + 700], samples[:, starts[1] + 650:]], axis=1)
    frames = air.synchronise(QAM, samples)
    good = [decoded(f) for f in frames if not f.truncated]
    assert good[-2:] == payloads[2:]
    assert payloads[0] not in good and payloads[1] not in good


@pytest.mark.parametrize("num_rx", [1, 2, 4])
def test_noise_raises_no_alarm(num_rx):
    rng = np.random.default_rng([10, num_rx])
    sync = ofdm.FrameSync(ofdm.Parameters(num_tx=1), num_rx)
    frames = []
    for _ in range(8):
        frames += sync.process(air.noise(rng, (num_rx, 500_000), 0))
    assert frames + sync.finish() == []
    assert sync.samples_seen == 4_000_000


def test_other_signals_raise_no_alarm():
    rng = np.random.default_rng(11)
    n = np.arange(200_000)
    tone = np.exp(2j * np.pi * 0.0123 * n) * np.ones((2, 1))
    pulses = np.repeat(rng.integers(0, 2, 2000), 100) * tone
    single = ofdm.Parameters(num_tx=2, payload_length=60000)
    data = ofdm.Transmitter(single).frame(rng.bytes(60000))[:, single.preamble_samples:]
    for samples in (tone, pulses, np.ones((2, 50_000)), np.zeros((2, 50_000)), data,
                    tone + air.noise(rng, tone.shape, 10)):
        assert air.synchronise(QPSK, samples) == []


def test_a_frame_beside_a_tone_and_after_bad_samples():
    rng = np.random.default_rng(12)
    payload, received = a_frame(rng, QPSK, 3)
    samples = air.place(4000, (2000, received))
    samples[:, :1990] += np.exp(2j * np.pi * 0.1 * np.arange(1990))
    samples[1, 100:140] = np.nan
    samples[0, 3900] = np.inf
    (frame,) = air.synchronise(QPSK, samples + air.noise(rng, samples.shape, 30))
    assert decoded(frame) == payload


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, 3e38])
def test_a_bad_sample_in_a_preamble_costs_at_most_its_frame(value):
    rng = np.random.default_rng(14)
    p = ofdm.Parameters(num_tx=4, payload_length=50)
    payloads, starts, samples = stream_of_frames(rng, p, 4, [100, 60], snr_db=35)
    samples = samples.astype(np.complex64)
    with np.errstate(over="ignore", invalid="ignore"):
        for position in range(starts[0] - 20, starts[0] + p.preamble_samples + 100, 8):
            bad = samples.copy()
            bad[position // 8 % 4, position] = value
            frames = air.synchronise(p, bad)
            assert decoded(frames[-1]) == payloads[1]
            # The first frame, if it was found, may have become useless, but it can be estimated.
            assert not any(f.truncated for f in frames)
            estimate = ofdm.ChannelEstimator(p, 4).estimate(
                ofdm.to_subcarriers(frames[0].symbols))
            assert estimate.y.shape == (p.num_items, 4)


@pytest.mark.parametrize("frequency", [0.0, 1e6, 3.1e6])
@pytest.mark.parametrize("level_db", [-25, -20, -15])
def test_frames_beside_direct_current_or_a_tone(level_db, frequency):
    rng = np.random.default_rng(15)
    p = ofdm.Parameters(num_tx=4, payload_length=50)
    _, starts, samples = stream_of_frames(rng, p, 4, [600] * 12)
    tone = air.offset(np.full((1, samples.shape[1]), 10 ** (level_db / 20)), frequency)
    frames = air.synchronise(p, samples + tone)
    assert [f.truncated for f in frames] == [False] * 12
    assert np.abs(np.array([f.start for f in frames]) - starts).max() <= 3
    # The tone itself moves the offset found by up to its share of the correlation.
    assert np.abs(np.array([f.cfo for f in frames]) - 40e3).max() < 4e3


@pytest.mark.parametrize("num_rx", [1, 4])
@pytest.mark.parametrize("frequency", [0.0, 1e6])
def test_direct_current_and_tones_are_seldom_looked_at(frequency, num_rx, monkeypatch):
    rng = np.random.default_rng(16)
    calls = []
    acquire = PreambleAcquirer.acquire
    monkeypatch.setattr(PreambleAcquirer, "acquire",
                        lambda *arguments: calls.append(1) or acquire(*arguments))
    noise = air.noise(rng, (num_rx, 100_000), 0)
    for level_db in (-6, -3, 0, 3, 6, 10, 40):
        tone = air.offset(np.full((1, 100_000), 10 ** (level_db / 20)), frequency)
        assert air.synchronise(ofdm.Parameters(num_tx=1), noise + tone) == []
    # Were every window above the threshold looked at, it would be more than 5000 times.
    assert len(calls) < 200


def test_low_snr():
    rng = np.random.default_rng(13)
    found = 0
    for _ in range(40):
        _, received = a_frame(rng, QPSK, 4)
        samples = air.offset(air.place(3000, (800, received)), 50e3)
        frames = air.synchronise(QPSK, samples + air.noise(rng, samples.shape, 3))
        found += len(frames) == 1 and abs(frames[0].start - 800) < 10
    assert found >= 38
