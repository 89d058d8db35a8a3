# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Order of coded bits: stream parser with interleaver or LDPC tone mapper, as one permutation."""

from functools import lru_cache

import numpy as np

# Tables 17-2, 19-17, 21-17, and 27-34 and 27-35 of 802.11ax-2021, by number of points in a symbol:
# interleaver columns, N_ROT and D_TM. With DCM, an RU of HE has half as many points as subcarriers,
# and so has HE-SIG-B (26).
_COLUMNS = {12: 4, 24: 8, 26: 13, 48: 16, 51: 17, 52: 13, 102: 17, 108: 18, 117: 13, 234: 26}
_ROTATION = {12: 2, 24: 2, 48: 11, 51: 11, 52: 11, 102: 29, 108: 29, 117: 29, 234: 58}
_TONE_DISTANCE = {12: 1, 24: 1, 48: 3, 51: 3, 52: 4, 102: 6, 108: 6, 117: 9, 234: 9, 468: 12,
                  490: 14, 980: 20}


def _interleaved(num_carriers, stream, num_streams, bits):
    """Return where bit k of a stream's symbol is sent: §17.3.5.7, §19.3.11.8.3, §21.3.10.8."""
    coded = num_carriers * bits
    columns = _COLUMNS[num_carriers]
    rows = coded // columns
    s = max(1, bits // 2)
    k = np.arange(coded)
    i = rows * (k % columns) + k // columns
    j = s * (i // s) + (i + coded - columns * i // coded) % s
    if num_streams == 1:
        return j
    shift = (stream * 2) % 3 + 3 * (stream // 3)
    return (j - shift * _ROTATION[num_carriers] * bits) % coded


def _tone_mapped(num_carriers, bits):
    """Return where bit k is sent with LDPC in VHT and HE, which spread whole points.

    See §21.3.10.9.2, and §27.3.12.10 of 802.11ax-2021.
    """
    k = np.arange(num_carriers * bits)
    carrier, distance = k // bits, _TONE_DISTANCE[num_carriers]
    spread = distance * (carrier % (num_carriers // distance)) + carrier * distance // num_carriers
    return spread * bits + k % bits


@lru_cache
def bit_order(num_carriers, num_streams, bits, num_encoders=1, spread="interleaver", segments=1):
    """Return where each coded bit of an OFDM symbol is sent.

    Source: IEEE 802.11-2020 §19.3.11.8.2 and §21.3.10.6. The stream parser gives each stream in
    turn s = N_BPSCS / 2 bits (at least 1) of an encoder, then as many of the next encoder.

    Args:
        num_carriers: number of data subcarriers, or of points of a stream with DCM: a key of
            _COLUMNS, or of _TONE_DISTANCE times ``segments``.
        num_streams: number of spatial streams, 1..4.
        bits: coded bits per subcarrier of each stream, a tuple; a number if all have the same.
        num_encoders: N_ES, number of convolutional encoders. With share = N_CBPS / N_ES,
            coded bit j of the symbol is bit ``j % share`` of encoder ``j // share``.
        spread: "interleaver" (convolutional code), "tones" (LDPC in VHT and HE) or "none" (LDPC in
            HT).
        segments: 2 if a segment parser gives s * N_ES bits of each stream in turn to the lower and
            to the upper half of the symbol (§21.3.10.7), else 1.

    Returns:
        int64 (coded bits,), read-only. Coded bit j is sent as bit ``order[j]``, with subcarriers
        ascending, then streams, then the most significant bit first. ``sent[order] = coded``
        interleaves, and ``coded = sent[order]`` deinterleaves.
    """
    bits = np.array(bits if isinstance(bits, tuple) else (bits,) * num_streams)
    s = np.maximum(1, bits // 2)
    share = num_carriers * bits.sum() // num_encoders
    encoder, q = np.divmod(np.arange(share * num_encoders), share)
    turn, place = np.divmod(q, s.sum())
    stream = np.repeat(np.arange(num_streams), s)[place]
    first = np.cumsum(s) - s
    k = (turn * num_encoders + encoder) * s[stream] + place - first[stream]
    where = k.copy()
    size = num_carriers // segments
    for i, own in enumerate(bits if spread != "none" else ()):
        to = (_interleaved(size, i, num_streams, own) if spread == "interleaver"
              else _tone_mapped(size, own))
        mine = stream == i
        together = s[i] * num_encoders
        group, rest = np.divmod(k[mine], together)
        segment = group % segments
        where[mine] = to[group // segments * together + rest] + segment * size * own
    carrier, bit = np.divmod(where, bits[stream])
    order = carrier * bits.sum() + (np.cumsum(bits) - bits)[stream] + bit
    order.setflags(write=False)
    return order


def order_of(frame_format):
    """Return :func:`bit_order` for the data symbols of a format."""
    f = frame_format
    return bit_order(f.num_points, f.num_streams, f.stream_bits, f.num_encoders, _spread(f),
                     f.segments)


def _spread(f):
    if f.coding == "bcc":
        return "interleaver"
    return "none" if f.name == "ht" else "tones"


@lru_cache
def dual_carriers(num_points, bits, spread="interleaver", segments=1):
    """Return how dual carrier modulation sends points again (IEEE 802.11ax-2021 §27.3.12.9).

    Each half of the subcarriers has all points of a stream: a BPSK point comes again with
    alternating signs, a QPSK point conjugate, and a 16-QAM point with the two bits of each axis
    exchanged.

    Args:
        num_points: number of points in a symbol.
        bits: coded bits per point, 1, 2 or 4.
        spread, segments: as for :func:`bit_order`.

    Returns:
        (place, sign): int64 (bits,), and float32 (num_points, bits), +-1. Bit b of a point is bit
        ``place[b]`` of its copy, inverted where ``sign[c, b]`` is -1. Points ascend in frequency.
    """
    place, sign = np.arange(bits), np.ones((num_points, bits), np.float32)
    if bits == 1:
        # Signs alternate before the tone mapper.
        size = num_points // segments
        k = np.arange(size)
        where = _tone_mapped(size, 1) if spread == "tones" else k
        one = np.empty(size)
        one[where] = 1 - 2 * ((k + size) % 2)
        sign[:, 0] = np.tile(one, segments)
    elif bits == 2:
        sign[:, 1] = -1
    else:
        place = np.array([1, 0, 3, 2])
    sign.setflags(write=False)
    return place, sign


def dual_carriers_of(frame_format):
    """Return :func:`dual_carriers` of all streams of a format, which have equal constellations."""
    f = frame_format
    place, sign = dual_carriers(f.num_points, f.bits_per_carrier, _spread(f), f.segments)
    streams = np.arange(f.num_streams)[:, None] * f.bits_per_carrier
    return (streams + place).ravel(), np.tile(sign, f.num_streams)
