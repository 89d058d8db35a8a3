# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the channel matrices of simulated frames, with channels given by name."""

from functools import partial

import numpy as np

from ..channel import awgn, exponential_correlation, flat_rayleigh, power_delay_profile
from ..checks import integer, number
from ..specs import parse
from ..wifi.carriers import FFT_20, high_throughput

ALLOWED = ("rayleigh (options rho_tx=, rho_rx=), block (rho_tx=, rho_rx=, length=VECTORS), "
           "tdl_a, tdl_b, tdl_c (delay_spread_ns=), awgn")


def make_channel(text):
    """Make the function that draws the matrices of a channel.

    The channels are:

    - rayleigh: i.i.d. Rayleigh fading, with a new matrix for each vector.
    - block: block fading, with a new matrix for each frame, or, with the option ``length``, for
      each group of ``length`` vectors within a frame.
    - tdl_a, tdl_b, tdl_c: 3GPP TR 38.901 (``channel.power_delay_profile``), static during a frame,
      with the rms delay spread ``delay_spread_ns`` (default 100). The vectors lie on the 52 data
      subcarriers of a 20 MHz OFDM symbol, in ascending frequency, one symbol after another.
    - awgn: columns of a Fourier matrix, so that layers do not interfere.

    rho_tx and rho_rx set the exponential correlation between neighbouring antennas.

    Args:
        text: name with options, such as "tdl_c:delay_spread_ns=80".

    Returns:
        A function of (number of frames, vectors per frame, num_rx, num_tx, rng) that returns
        (frames * vectors / T, num_rx, num_tx) complex64 matrices. Each matrix applies to T
        consecutive vectors. The mean power of each entry is 1.

    Raises:
        ValueError: the channel or one of its options does not exist or is out of range.
    """
    try:
        name, positional, keywords = parse(text)
        maker = {"rayleigh": _rayleigh, "block": _block, "awgn": _awgn,
                 **{tdl: partial(_tdl, tdl) for tdl in ("tdl_a", "tdl_b", "tdl_c")}}[name]
        if positional:
            raise ValueError(f"{positional[0]!r} is not key=value")
        return maker(**keywords)
    except KeyError:
        raise ValueError(f"channel: got {text!r}, allowed are {ALLOWED}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"channel: got {text!r} ({error}), allowed are {ALLOWED}") from None


def _rayleigh(rho_tx=0.0, rho_rx=0.0):
    for name, rho in (("rho_tx", rho_tx), ("rho_rx", rho_rx)):
        exponential_correlation(2, number(name, rho))

    def draw(frames, vectors, num_rx, num_tx, rng):
        n = frames * vectors
        if rho_tx or rho_rx:
            return flat_rayleigh(n, num_rx, num_tx, rng, rho_tx, rho_rx)
        return awgn((n, num_rx, num_tx), 1.0, rng)    # also CN(0, 1), and faster

    return draw


def _block(length=None, rho_tx=0.0, rho_rx=0.0):
    length = length if length is None else integer("length", length, 1, 10**6)
    matrices = _rayleigh(rho_tx, rho_rx)

    def draw(frames, vectors, num_rx, num_tx, rng):
        period = vectors if length is None else min(length, vectors)
        h = matrices(frames, -(-vectors // period), num_rx, num_tx, rng)
        if vectors % period == 0:
            return h
        h = h.reshape(frames, -1, num_rx, num_tx).repeat(period, axis=1)[:, :vectors]
        return np.ascontiguousarray(h).reshape(-1, num_rx, num_tx)

    return draw


def _tdl(profile, delay_spread_ns=100.0):
    paths = power_delay_profile(profile, number("delay_spread_ns", delay_spread_ns) * 1e-9)
    frequency = np.array(high_throughput(20).data) * 20e6 / FFT_20
    response = (np.exp(-2j * np.pi * frequency[:, None] * paths.delays)
                * np.sqrt(paths.powers)).astype(np.complex64)

    def draw(frames, vectors, num_rx, num_tx, rng):
        gains = awgn((frames, len(paths.delays), num_rx * num_tx), 1.0, rng)
        h = response @ gains
        return h[:, np.arange(vectors) % len(response)].reshape(-1, num_rx, num_tx)

    return draw


def _awgn():
    def draw(frames, vectors, num_rx, num_tx, rng):
        row, column = np.arange(num_rx)[:, None], np.arange(num_tx)
        h = np.exp(2j * np.pi * row * column / num_rx).astype(np.complex64)
        return np.broadcast_to(h, (frames, num_rx, num_tx)).copy()

    return draw
