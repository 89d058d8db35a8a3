# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames in simulated air: a stream of several antennas with frames at known samples."""

from dataclasses import dataclass

import numpy as np
from gnuradio.mimopack import recording
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Receiver, Transmitter, mac


@dataclass(frozen=True)
class Sent:
    """A frame in the stream: first sample, format, PSDU and MPDUs with their FCS."""

    start: int
    format: object
    psdu: bytes
    mpdus: list


def data_mpdu(payload_bytes, number=0):
    """A data frame from 02:...:01 to 02:...:02 with its FCS; number is its sequence number."""
    rng = np.random.default_rng(1000 + number)
    header = (bytes([0x08, 0, 0, 0]) + bytes.fromhex("020000000002") + bytes.fromhex("020000000001")
              + bytes.fromhex("0200000000ff") + (number << 4).to_bytes(2, "little"))
    body = header + rng.integers(0, 256, payload_bytes, np.uint8).tobytes()
    return body + mac.fcs(body)


def flat_channel(num_rx, num_tx, rng):
    """A well-conditioned matrix (num_rx, num_tx) of gain 1 per stream."""
    matrix = rng.standard_normal((num_rx, num_tx)) + 1j * rng.standard_normal((num_rx, num_tx))
    return np.linalg.qr(matrix)[0] if num_rx >= num_tx else matrix / np.sqrt(2 * num_tx)


def multipath(num_rx, num_tx, rng, num_taps=6, spread=2.0):
    """Rayleigh taps (num_taps, num_rx, num_tx) with an exponential profile, gain 1 per stream."""
    profile = np.exp(-np.arange(num_taps) / spread)
    shape = (num_taps, num_rx, num_tx)
    taps = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)
    return taps * np.sqrt(profile / profile.sum())[:, None, None]


def through(taps, samples):
    """Convolve (num_tx, n) with taps (num_taps, num_rx, num_tx): (num_rx, n + num_taps - 1)."""
    out = np.zeros((taps.shape[1], samples.shape[1] + len(taps) - 1), complex)
    for delay, tap in enumerate(taps):
        out[:, delay:delay + samples.shape[1]] += tap @ samples
    return out


def two_taps(samples, num_rx, rng):
    """Send samples (num_tx, n) through a channel of two taps, whose second is weaker."""
    taps = rng.standard_normal((2, num_rx, len(samples), 2)) @ [1, 1j]
    received = taps[0] @ samples
    received[:, 1:] += 0.3 * taps[1] @ samples[:, :-1]
    return received


def faded(sent, num_rx, snr_db=45.0, seed=0, num_taps=3):
    """Return the received samples of a frame (num_tx, n) after multipath, with noise around it."""
    rng = np.random.default_rng(seed)
    samples = through(multipath(num_rx, len(sent), rng, num_taps, 0.7), sent)
    samples = np.pad(samples, ((0, 0), (400, 400)))
    noise = rng.standard_normal((2, *samples.shape))
    samples = samples + 10**(-snr_db / 20) / np.sqrt(2) * (noise[0] + 1j * noise[1])
    return samples.astype(np.complex64)


def frames_in(samples, sample_rate=20e6, **options):
    """Return all frames that a receiver with these options finds in a finished stream."""
    receiver = Receiver(len(samples), sample_rate, **options)
    return receiver.process(np.asarray(samples, np.complex64)) + receiver.finish()


def frame_in(samples, sample_rate=20e6, **options):
    """Return the only frame in a finished stream."""
    frame, = frames_in(samples, sample_rate, **options)
    return frame


def air(frames, num_rx=1, snr_db=35.0, cfo_hz=0.0, gap=400, level=0.1, sample_rate=20e6, seed=1,
        channel=flat_channel):
    """Put frames one after another into a noisy stream.

    Args:
        frames: list of (function from PSDU bytes to a format, list of MPDUs).
        num_rx: receive antennas.
        snr_db: of a transmitted power of 1 over the noise of an antenna.
        cfo_hz: carrier offset.
        gap: samples of noise before each frame and at the end.
        level: amplitude of the transmitted power 1.
        sample_rate: 5e6 to 80e6; narrower frames lie in its lowest channel.
        channel: function (num_rx, num_tx, rng) that makes the matrix of a frame, or its taps
            (num_taps, num_rx, num_tx).

    Returns:
        (samples complex64 (num_rx, n), list of :class:`Sent`).
    """
    rng = np.random.default_rng(seed)
    megahertz = max(20, int(sample_rate / 1e6))
    parts, sent, at = [], [], gap
    for frame_format_of, mpdus in frames:
        probe = frame_format_of(4)
        streams = probe.num_space_time_streams
        centre = -(megahertz - probe.bandwidth_mhz) // 20 * 32
        transmitter = Transmitter(streams, megahertz * 1e6, centre)
        found, samples = transmitter.mpdu(frame_format_of, mpdus)
        psdu = mac.aggregate(mpdus, None if found.name == "ht" else found.length) if (
            found.aggregated) else mpdus[0]
        sent.append(Sent(at, found, psdu, mpdus))
        taps = np.asarray(channel(num_rx, streams, rng))
        received = through(taps if taps.ndim == 3 else taps[None], samples)
        parts += [np.zeros((num_rx, gap)), received]
        at += received.shape[1] + gap
    stream = np.concatenate([*parts, np.zeros((num_rx, gap))], axis=1)
    n = stream.shape[1]
    stream = stream * np.exp(2j * np.pi * cfo_hz / sample_rate * np.arange(n))
    noise = rng.standard_normal((num_rx, n)) + 1j * rng.standard_normal((num_rx, n))
    stream += noise * 10**(-snr_db / 20) / np.sqrt(2)
    return (level * stream).astype(np.complex64), sent


# Frames of each format that two antennas can receive.
MPDUS = [data_mpdu(100, number) for number in range(4)]
FRAMES = [(lambda n: NonHT(24, n), MPDUS[:1]), (lambda n: HT(9, n), MPDUS[1:2]),
          (lambda n: HT(4, n, aggregated=True), MPDUS[:3]),
          (lambda n: VHT.of_length(4, n, 2, short_gi=True), MPDUS[:2]),
          (lambda n: NonHT(6, n), MPDUS[3:])]


def record(path, frames=None, num_rx=2, sample_rate=20e6, options=None, **of_air):
    """Simulate a SigMF recording; returns its path and the frames that were sent."""
    samples, sent = air(FRAMES if frames is None else frames, num_rx, sample_rate=sample_rate,
                        **of_air)
    return recording.write(path, samples, sample_rate, **(options or {})), sent
