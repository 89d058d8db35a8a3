# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each Wi-Fi format through the whole loop: transmitter, simulated channel, receiver."""

from collections import Counter

import numpy as np
import pytest
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Receiver, Transmitter, Unsupported, mac
from wifi_air import air, data_mpdu, flat_channel, frames_in

RATES = (6, 9, 12, 18, 24, 36, 48, 54)
ONE = [data_mpdu(170)]
THREE = [data_mpdu(70, 1), data_mpdu(43, 2), data_mpdu(170, 3)]


def two_paths(num_rx, num_tx, rng):
    """Return a well-conditioned matrix; frequency selectivity has its own tests."""
    matrix = rng.standard_normal((num_rx, num_tx)) + 1j * rng.standard_normal((num_rx, num_tx))
    return np.linalg.qr(matrix)[0]


def ht_formats():
    """Yield the HT formats of the standard: all MCS, and for some of them all options."""
    for mcs in [*range(32), 32]:
        streams = 1 if mcs == 32 else mcs // 8 + 1
        for options in range(16):
            ldpc, short, greenfield, wide = (bool(options >> i & 1) for i in range(4))
            # Test all options for a few MCS of each number of streams, and every fifth for the
            # others.
            if mcs % 8 not in (3, 7) and (mcs + options) % 5 and mcs != 32:
                continue
            stbc = (mcs + options) % 3 if streams < 4 else 0
            fields = {"bandwidth_mhz": 40 if wide else 20, "coding": "ldpc" if ldpc else "bcc",
                      "short_gi": short, "greenfield": greenfield,
                      "stbc": min(stbc, streams, 4 - streams),
                      "aggregated": bool((mcs + options) % 2)}
            try:
                HT(mcs, 100, **fields)
            except Unsupported:
                continue
            yield mcs, fields


def vht_formats():
    """Yield the VHT formats of the standard: each MCS, bandwidth and number of streams."""
    for streams in (1, 2, 3, 4):
        for bandwidth in (20, 40, 80, 160):
            for mcs in range(10):
                for ldpc in (False, True):
                    fields = {"num_streams": streams, "bandwidth_mhz": bandwidth,
                              "coding": "ldpc" if ldpc else "bcc",
                              "short_gi": bool((mcs + streams) % 2),
                              "stbc": streams if streams < 3 and (mcs + ldpc) % 2 else 0}
                    try:
                        VHT.of_length(mcs, 100, **fields)
                    except Unsupported:
                        continue
                    yield mcs, fields


def receive(frames, num_rx, sample_rate=20e6, snr_db=42.0, **options):
    """Return (received frames, sent frames)."""
    samples, sent = air(frames, num_rx, snr_db=snr_db, sample_rate=sample_rate, cfo_hz=61e3,
                        channel=two_paths, **options)
    receiver = Receiver(num_rx, sample_rate)
    received = receiver.process(samples) + receiver.finish()
    assert receiver.counts["frames"] == len(received)
    return received, sent


def check(received, sent):
    """Check that all fields of the reports match the sent frames."""
    assert len(received) == len(sent)
    for got, want in zip(received, sent, strict=True):
        f, asked = got.format, want.format
        assert got.problem == ""
        assert [mpdu.data for mpdu in got.mpdus] == want.mpdus
        assert got.fcs_ok
        assert got.psdu == want.psdu
        assert abs(got.start - want.start) <= 8 * got.sample_rate / 20e6
        assert (f.name, f.mcs, f.num_streams, f.stbc, f.bandwidth_mhz, f.short_gi, f.coding,
                f.length, f.num_symbols, f.greenfield) == (
            asked.name, asked.mcs, asked.num_streams, asked.stbc, asked.bandwidth_mhz,
            asked.short_gi, asked.coding, asked.length, asked.num_symbols, asked.greenfield)
        assert got.num_samples == asked.num_samples * got.sample_rate / 20e6
        assert got.cfo_hz == pytest.approx(61e3, abs=600)
        assert len(got.evm_db) == f.num_streams
        assert max(got.evm_db) < -24


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, streams", [(20, 1), (20, 4), (40, 2), (80, 3), (160, 2)])
def test_a_frame_of_each_format(bandwidth, streams):
    """Modulations, codes and spatial streams; all MCS follow below."""
    frames = [(lambda n: NonHT(24, n, bandwidth), ONE),
              (lambda n: VHT.of_length(8, n, streams, bandwidth, coding="ldpc"), THREE),
              (lambda n: VHT.of_length(3, n, streams, bandwidth), THREE)]
    if bandwidth < 80:
        frames += [(lambda n: HT(8 * streams - 4, n, bandwidth, coding="ldpc", short_gi=True),
                    ONE), (lambda n: HT(8 * streams - 6, n, bandwidth, greenfield=True), ONE)]
    check(*receive(frames, 4, bandwidth * 1e6))


@pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
def test_non_ht(bandwidth):
    frames = [(lambda n, rate=rate: NonHT(rate, n, bandwidth), ONE) for rate in RATES]
    check(*receive(frames, 1, bandwidth * 1e6))


@pytest.mark.parametrize("sample_rate", [5e6, 10e6])
def test_narrow_channels(sample_rate):
    frames = [(lambda n, rate=rate: NonHT(rate, n), ONE) for rate in RATES]
    samples, sent = air(frames, 1, sample_rate=sample_rate, cfo_hz=20e3)
    received = frames_in(samples, sample_rate)
    assert [frame.psdu for frame in received] == [frame.psdu for frame in sent]
    entry = received[0].as_json()
    assert (entry["bandwidth_mhz"], entry["mcs"]) == (sample_rate / 1e6, 6 * sample_rate / 20e6)
    assert entry["cfo_hz"] == pytest.approx(20e3, abs=300)


@pytest.mark.parametrize("streams", [1, 2, 3, 4])
def test_ht(streams):
    groups = {}
    for mcs, fields in ht_formats():
        if (1 if mcs == 32 else mcs // 8 + 1) == streams:
            groups.setdefault(fields["bandwidth_mhz"], []).append((mcs, fields))
    assert set(groups) == {20, 40}
    assert sum(map(len, groups.values())) > 40
    for bandwidth, formats in groups.items():
        frames = [(lambda n, mcs=mcs, fields=fields: HT(mcs, n, **fields),
                   THREE if fields["aggregated"] else ONE) for mcs, fields in formats]
        check(*receive(frames, min(8, streams + 2), bandwidth * 1e6))


@pytest.mark.parametrize("streams", [1, 2, 3, 4])
@pytest.mark.parametrize("bandwidth", [20, 40, 80, 160])
def test_vht(streams, bandwidth):
    formats = [(mcs, fields) for mcs, fields in vht_formats()
               if (fields["num_streams"], fields["bandwidth_mhz"]) == (streams, bandwidth)]
    assert len(formats) >= 18
    frames = [(lambda n, mcs=mcs, fields=fields: VHT.of_length(mcs, n, **fields), THREE)
              for mcs, fields in formats]
    received, sent = receive(frames, 4, bandwidth * 1e6)
    check(received, sent)
    for got, want in zip(received, sent, strict=True):
        # The VHT-SIG-B has the length of the A-MPDU in words of four bytes.
        assert got.format.apep_length == -(-want.format.apep_length // 4) * 4


def test_more_streams_than_antennas_are_reported():
    frames = [(lambda n: HT(11, n), ONE), (lambda n: HT(3, n), ONE),
              (lambda n: VHT.of_length(2, n, 3), ONE)]
    samples, sent = air(frames, 1)
    receiver = Receiver(1)
    received = receiver.process(samples) + receiver.finish()
    assert [frame.problem for frame in received] == [
        "1 channel, but the frame has 2 streams", "", "1 channel, but the frame has 3 streams"]
    assert [frame.format.num_streams for frame in received] == [2, 1, 3]
    assert received[1].fcs_ok
    assert receiver.counts["1 channel, but the frame has 2 streams"] == 1


def test_null_data_packet():
    """A VHT NDP and an HT frame without data give a channel, but no bytes."""
    for f in (VHT(0, 0, num_streams=3, bandwidth_mhz=40), HT(16, 0, bandwidth_mhz=40)):
        samples = Transmitter(3, 40e6).frame(f)
        rng = np.random.default_rng(5)
        channel = two_paths(3, 3, rng)
        stream = np.pad(channel @ samples, ((0, 0), (300, 300)))
        stream = stream + 1e-3 * rng.standard_normal(stream.shape)
        received = frames_in(stream, 40e6)
        assert len(received) == 1
        assert (received[0].psdu, received[0].mpdus, received[0].problem) == (b"", (), "")
        matrices = received[0].channel.matrices
        assert matrices.shape == (114, 3, 3)
        expected = np.abs(channel) / np.sqrt(3 * 114)
        np.testing.assert_allclose(np.abs(matrices), np.broadcast_to(expected, matrices.shape),
                                   atol=0.03 * expected.max())


def test_known_channel_comes_back():
    """CSI equals the channel: scale, antenna order, delay, no cyclic shifts or phase rotations."""
    rng = np.random.default_rng(11)
    taps = rng.standard_normal((3, 2, 3)) + 1j * rng.standard_normal((3, 2, 3))
    for bandwidth, f in ((20, HT(8, 200)), (40, HT(8, 200, 40)),
                         (80, VHT.of_length(1, 300, 2, 80)), (40, HT(8, 200, 40, greenfield=True))):
        scale = bandwidth // 20
        psdu = (mac.aggregate(ONE, f.length) if f.name == "vht"
                else rng.integers(0, 256, f.length, np.uint8).tobytes())
        sent = Transmitter(2, bandwidth * 1e6).frame(f, psdu)
        stream = np.zeros((3, sent.shape[1] + 1000), complex)
        for r in range(3):
            for t in range(2):
                one = np.convolve(sent[t], taps[r, t])
                stream[r, 400:400 + one.size] += one
        stream += 1e-3 * rng.standard_normal(stream.shape)
        found, = frames_in(stream, bandwidth * 1e6)
        k = found.channel.carriers
        used = {20: 56, 40: 114, 80: 242}[bandwidth]
        assert k.size == used
        exact = np.einsum("rtd,kd->krt", taps,
                          np.exp(-2j * np.pi / (64 * scale) * np.outer(k, np.arange(3))))
        exact /= np.sqrt(2 * used)
        got = found.channel.matrices
        # The FFT window begins some whole samples early: one common delay.
        turns = np.exp(-2j * np.pi / (64 * scale) * np.outer(np.arange(16 * scale), k))
        early = np.argmax(np.abs(np.einsum("krt,krt,dk->d", got, exact.conj(), turns.conj())))
        aligned = got * turns[early].conj()[:, None, None]
        error = np.mean(np.abs(aligned - exact)**2) / np.mean(np.abs(exact)**2)
        assert 10 * np.log10(error) < -35
        # The mean power of an antenna is the sum over subcarriers and streams.
        power = np.mean(np.abs(stream[:, 1200:400 + sent.shape[1]])**2, axis=1)
        np.testing.assert_allclose(np.sum(np.abs(got)**2, axis=(0, 2)), power, rtol=0.15)


def test_cuts_do_not_matter():
    frames = [(lambda n: NonHT(24, n), ONE), (lambda n: HT(9, n), ONE),
              (lambda n: VHT.of_length(4, n, 2), THREE)] * 3
    samples, _ = air(frames, 2, gap=45)
    expected = frames_in(samples)
    assert sum(frame.fcs_ok for frame in expected) == 9
    rng = np.random.default_rng(4)
    for _ in range(5):
        receiver, got, at = Receiver(2), [], 0
        while at < samples.shape[1]:
            size = int(rng.integers(1, 3000))
            got += receiver.process(samples[:, at:at + size])
            at += size
        got += receiver.finish()
        assert [frame.as_json() for frame in got] == [frame.as_json() for frame in expected]


def test_restart_counts_on():
    frames = [(lambda n: NonHT(24, n), ONE)]
    samples, sent = air(frames, 1)
    receiver = Receiver(1)
    receiver.process(samples[:, :900])
    receiver.restart(1_000_003)
    found, = receiver.process(samples) + receiver.finish()
    assert abs(found.start - 1_000_003 - sent[0].start) <= 2


def test_counts():
    frames = [(lambda n: NonHT(24, n), ONE), (lambda n: HT(1, n, aggregated=True), THREE)]
    samples, _ = air(frames, 1)
    receiver = Receiver(1)
    receiver.process(samples)
    receiver.finish()
    assert receiver.counts == Counter(
        samples=samples.shape[1], preambles=2, frames=2, decoded=2, mpdus=4, mpdus_ok=4)


@pytest.mark.parametrize("length, name", [
    (300, "802.11be (EHT) frame whose U-SIG"), (301, "802.11ax (HE) frame whose HE-SIG-A"),
    (302, "802.11ax (HE) frame whose HE-SIG-A")])
@pytest.mark.parametrize("snr_db", [5, 30])
def test_frames_of_later_standards_are_named(length, name, snr_db):
    """Their L-SIG comes twice, and BPSK follows (IEEE P802.11be 36.3.12: RL-SIG and U-SIG)."""
    sent = Transmitter(1).frame(NonHT(6, length), bytes(length))
    sent = np.concatenate([sent[:, :400], sent[:, 320:]], axis=1)
    rng = np.random.default_rng(1)
    stream = np.pad(sent, ((0, 0), (500, 700)))
    stream = stream + 10**(-snr_db / 20) * rng.normal(0, 0.5**0.5, (*stream.shape, 2)).view(
        complex)[..., 0]
    frame, = frames_in(stream)
    assert (frame.format, frame.problem) == (None, f"{name} was not read")
    assert frame.num_samples == 400 + 80 * -(-(length + 3) // 3)


@pytest.mark.parametrize("mcs, fields, detector", [
    (33, {"stbc": 1}, "mmse"), (38, {"stbc": 1, "coding": "ldpc"}, "mla"),
    (36, {"stbc": 1, "bandwidth_mhz": 40, "short_gi": True}, "kbest"),
    (43, {"stbc": 1, "coding": "ldpc"}, "nway"), (48, {"stbc": 1, "greenfield": True}, "nway"),
    (33, {}, "mmse"), (38, {"coding": "ldpc"}, "mla"), (39, {"greenfield": True}, "kbest"),
    (44, {"bandwidth_mhz": 40, "short_gi": True}, "nway"), (61, {}, "ep:iterations=2"),
    (74, {"bandwidth_mhz": 40}, "softsphere"), (76, {"coding": "ldpc"}, "nway:iterations=2")])
def test_unequal_modulation(mcs, fields, detector):
    """Each stream has its own constellation: with two, three and four streams."""
    streams = HT(mcs, 100).num_streams
    antennas = streams + fields.get("stbc", 0)
    samples, sent = air([(lambda n: HT(mcs, n, **fields), ONE)], antennas, snr_db=34.0,
                        sample_rate=40e6 if fields.get("bandwidth_mhz") == 40 else 20e6,
                        cfo_hz=61e3, channel=two_paths)
    frame, = frames_in(samples, 40e6 if fields.get("bandwidth_mhz") == 40 else 20e6,
                       detector=detector)
    assert frame.problem == "" and frame.complete and frame.psdu == sent[0].psdu
    assert frame.format.constellation == HT(mcs, 100).constellation
    assert len(frame.evm_db) == streams and max(frame.evm_db) < -20


def test_half_of_160_mhz_is_named():
    """VHT-SIG-A has one code for 160 and 80+80 MHz."""
    samples, _ = air([(lambda n: VHT.of_length(3, n, bandwidth_mhz=160), ONE)], sample_rate=160e6)
    # Move the lower half to the middle, and take every second sample.
    n = samples.shape[1]
    spectrum = np.fft.fft(samples * np.exp(0.5j * np.pi * np.arange(n)))
    spectrum[:, np.abs(np.fft.fftfreq(n)) > 0.25] = 0
    receiver = Receiver(1, 80e6)
    half = np.fft.ifft(spectrum)[:, ::2].astype(np.complex64)
    frame, = receiver.process(half) + receiver.finish()
    assert (frame.format, frame.problem) == (
        None, "the samples hold only 80 MHz of a 160 or 80+80 MHz frame")
    assert frame.as_json()["bandwidth_mhz"] == 160


def test_a_sounding_frame_of_160_mhz():
    f = VHT(0, 0, 2, 160)
    sent = Transmitter(2, 160e6).frame(f)
    rng = np.random.default_rng(2)
    channel = flat_channel(3, 2, rng)
    samples = np.pad(channel @ sent, ((0, 0), (3000, 3000)))
    samples = samples + 1e-3 * (rng.standard_normal((*samples.shape, 2)) @ [1, 1j])
    frame, = frames_in(samples, 160e6)
    assert (frame.problem, frame.format.num_symbols, frame.format.bandwidth_mhz) == ("", 0, 160)
    matrices = frame.channel.matrices    # flat but for the delay of the windows
    assert matrices.shape == (484, 3, 2)
    level = np.abs(matrices) / np.abs(channel)
    assert level.std() < 0.02 * level.mean()
