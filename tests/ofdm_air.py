# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the OFDM tests share: channels by hand, a receiver of arrays, frames in noise."""

import numpy as np
from gnuradio.mimopack import detectors, ofdm


def random_channel(rng, num_rx, num_tx, num_taps=1, spread=2.0):
    """Rayleigh taps (num_taps, num_rx, num_tx), exponential profile, mean power 1 per pair."""
    profile = np.exp(-np.arange(num_taps) / spread)
    shape = (num_taps, num_rx, num_tx)
    taps = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)
    return taps * np.sqrt(profile / profile.sum())[:, None, None]


def through(taps, samples):
    """Convolve (num_tx, n) with taps (num_taps, num_rx, num_tx): (num_rx, n + num_taps - 1)."""
    out = np.zeros((taps.shape[1], samples.shape[1] + len(taps) - 1), np.complex128)
    for delay, tap in enumerate(taps):
        out[:, delay:delay + samples.shape[1]] += tap @ samples
    return out


def noise(rng, shape, snr_db):
    """Complex Gaussian noise for a signal of power 1."""
    scale = 10 ** (-snr_db / 20) / np.sqrt(2)
    return scale * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def offset(samples, cfo):
    return samples * np.exp(2j * np.pi * cfo / ofdm.SAMPLE_RATE * np.arange(samples.shape[1]))


def place(length, *pieces):
    """Silence of a length with (position, samples) added into it."""
    out = np.zeros((pieces[0][1].shape[0], length), np.complex128)
    for position, samples in pieces:
        out[:, position:position + samples.shape[1]] += samples
    return out


def synchronise(parameters, samples, num_rx=None):
    """All frames of a finished stream."""
    sync = ofdm.FrameSync(parameters, num_rx or len(samples))
    return sync.process(np.asarray(samples, np.complex64)) + sync.finish()


def detect(frame, symbols_per_channel=1, name="mmse"):
    """(estimate, LLRs) of a frame."""
    p, num_rx = frame.parameters, frame.symbols.shape[0]
    estimate = ofdm.ChannelEstimator(p, num_rx, symbols_per_channel).estimate(
        ofdm.to_subcarriers(frame.symbols))
    detector = detectors.create(name, num_tx=p.num_tx, num_rx=num_rx,
                                constellation=p.constellation)
    llr = detector.detect(estimate.y.reshape(-1, num_rx), estimate.h, estimate.noise_var)
    return estimate, llr.reshape(len(estimate.y), -1)
