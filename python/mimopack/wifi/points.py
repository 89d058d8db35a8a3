# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of data symbols: mapping, space-time block codes, equalisation, error vectors."""

import numpy as np

from .. import _core
from .. import constellation as constellations
from .interleaving import dual_carriers_of


def known_points(frame_format, coded, order):
    """Map the coded bits of frames to all points sent, including pilots and space-time codes.

    Args:
        frame_format: format of the frames.
        coded: uint8 (n, num_symbols, bits), coded bits 0 and 1 of n frames.
        order: int64 (bits,), such that ``coded[..., order]`` is in order of transmission:
            subcarriers ascending, then streams, then bits with the most significant first.

    Returns:
        complex64 (n, N_STS, num_symbols, used carriers). Each stream i < N_STS - N_SS is space-time
        coded: its points a, b in two successive symbols are sent as a, b on one space-time stream
        and as -b*, a* on the next (IEEE 802.11-2020 Tables 19-18, 21-19).
    """
    f, plan = frame_format, frame_format.plan
    sent = coded[..., order]
    n, symbols, _ = sent.shape
    layers = constellations.of_layers(f.constellation, f.num_streams)
    sent = sent.reshape(n, symbols, f.num_points, -1)
    if f.dcm:
        sent = _with_copies(sent, f)
    points = layers.modulate(sent).transpose(0, 3, 1, 2)
    points = np.tile(points, plan.copies)
    streams = []
    for stream in range(f.num_streams):
        own = points[:, stream]
        streams.append(own)
        if stream < f.stbc:
            twin = own.reshape(n, symbols // 2, 2, -1)[:, :, ::-1].conj() * [[-1], [1]]
            streams.append(twin.reshape(own.shape))
    values = np.empty((n, len(streams), symbols, plan.used.size), np.complex64)
    values[..., plan.data_index] = np.stack(streams, axis=1)
    values[..., plan.pilot_index] = f.pilots(symbols).transpose(2, 0, 1)
    return values


def _with_copies(sent, frame_format):
    """Add the bits of the second copy of each point of dual carrier modulation, or their LLRs.

    Args:
        sent: (n, num_symbols, num_points, N_SS * m), uint8 bits or float32 LLRs.
        frame_format: the format.

    Returns:
        (n, num_symbols, 2 * num_points, N_SS * m). Each half of an RU of 2x996 tones has its own
        copies.
    """
    f = frame_format
    again = sent_again(sent, *dual_carriers_of(f))
    n, symbols, _, bits = sent.shape
    halves = [part.reshape(n, symbols, f.segments, -1, bits) for part in (sent, again)]
    return np.concatenate(halves, axis=3).reshape(n, symbols, -1, bits)


def sent_again(sent, place, sign):
    """Return the bits of the second copies of points, from the bits (..., points, bits) of points.

    ``place`` and ``sign`` are those of :func:`interleaving.dual_carriers`. Instead of uint8 bits,
    ``sent`` may have float32 LLRs.
    """
    again = np.empty_like(sent)
    again[..., place] = sent ^ (sign < 0) if sent.dtype == np.uint8 else sent * sign
    return again


def arrangement_of(frame_format):
    """Return how vectors and LLRs of a format are arranged, ``_core.wifi.Arrangement``."""
    f = frame_format
    place, sign = dual_carriers_of(f) if f.dcm else (
        np.empty(0, int), np.empty((0, 0), np.float32))
    return _core.wifi.Arrangement(
        streams=f.num_streams, bits=f.bits_per_carrier, stbc=f.stbc, segments=f.segments,
        place=place, sign=np.ascontiguousarray(sign))


def copies_combined(llr, frame_format):
    """Combine the LLRs of both copies of each point of dual carrier modulation.

    LLRs of BPSK and QPSK add up. The copy of a 16-QAM point has the bits of each axis exchanged, so
    its LLRs are those of both copies together. They are exact if the LLRs of each copy are max-log
    LLRs of one stream, or of a linear detector; otherwise they are an approximation.

    Args:
        llr: (n, num_data, T, N_SS * m), LLRs of a detector.
        frame_format: format of the frames; without DCM, the LLRs remain as they are.

    Returns:
        (n, num_points, T, N_SS * m).
    """
    f = frame_format
    if not f.dcm:
        return llr
    return arrangement_of(f).combine_copies(np.ascontiguousarray(llr, np.float32))


def space_time_blocks(y, channel, num_streams, stbc):
    """Arrange blocks of two symbols as vectors (y_0, y_1*) with unknowns (a_0, a_1*) per stream.

    Space-time streams send (a_0, a_1) and (-a_1*, a_0*), so y_0 = h_1 a_0 - h_2 a_1* and
    y_1* = h_1* a_1* + h_2* a_0 (S. M. Alamouti, IEEE J. Sel. Areas Commun. 16 (8), 1998).

    Args:
        y: complex (n, num_data, symbols, num_rx), received symbols.
        channel: complex (n, num_data, num_rx, N_STS).
        num_streams: N_SS.
        stbc: N_STS - N_SS. The first ``stbc`` streams are space-time coded.

    Returns:
        (y, h): vectors (n, num_data, symbols / 2, 2 num_rx) and channels (n, num_data, 2 num_rx,
        2 num_streams).
    """
    n, num_carriers, symbols, rows = y.shape
    pairs = y.reshape(n, num_carriers, symbols // 2, 2, rows)
    stacked = np.concatenate([pairs[..., 0, :], pairs[..., 1, :].conj()], axis=-1)
    h = np.zeros((n, num_carriers, 2 * rows, 2 * num_streams), channel.dtype)
    at = 0
    for i in range(num_streams):
        one = channel[..., at]
        h[..., :rows, 2 * i] = one
        h[..., rows:, 2 * i + 1] = one.conj()
        at += 1
        if i < stbc:
            two = channel[..., at]
            h[..., rows:, 2 * i] = two.conj()
            h[..., :rows, 2 * i + 1] = -two
            at += 1
    return stacked, h


def to_symbols(llr, frame_format):
    """Put the LLRs of a detector into the order of the data field.

    Args:
        llr: (n, num_data, T, bits), output of a detector for ``Demodulated.y``.
        frame_format: format of the frames.

    Returns:
        (n, num_symbols, num_data * bits of all streams).
    """
    f = frame_format
    n, num_carriers, blocks, _ = llr.shape
    if not f.stbc:
        return llr.transpose(0, 2, 1, 3).reshape(n, blocks, -1)
    streams, at = [], 0
    for m in f.stream_bits:
        own = llr[..., at:at + 2 * m].reshape(n, num_carriers, blocks, 2, m).copy()
        if m > 1:    # the second unknown is conjugate: flip the sign bit of its quadrature axis
            own[..., 1, m // 2] *= -1
        streams.append(own)
        at += 2 * m
    llr = np.concatenate(streams, axis=4)
    return llr.transpose(0, 2, 3, 1, 4).reshape(n, 2 * blocks, -1)


def from_symbols(llr, frame_format):
    """Put LLRs in the order of the data field into that of a detector, with dual carriers too.

    Args:
        llr: (n, num_symbols, num_points * bits of all streams), as of :func:`to_symbols`.
        frame_format: format of the frames.

    Returns:
        (n, num_data, T, bits). Both copies of a point get the same LLRs.
    """
    f = frame_format
    n, symbols, _ = llr.shape
    llr = llr.reshape(n, symbols, f.num_points, -1)
    if f.dcm:
        llr = _with_copies(llr, f)
    if not f.stbc:
        return llr.swapaxes(1, 2)
    pairs = llr.reshape(n, symbols // 2, 2, f.num_points, -1).transpose(0, 3, 1, 2, 4)
    streams, at = [], 0
    for m in f.stream_bits:
        own = pairs[..., at:at + m].copy()
        if m > 1:    # as in to_symbols
            own[..., 1, m // 2] *= -1
        streams.append(own.reshape(*own.shape[:3], 2 * m))
        at += m
    return np.concatenate(streams, axis=3)


def mmse_points(y, h, noise_var):
    """Return unbiased linear MMSE estimates W y / diag(W H), W = (H^H H + noise_var I)^-1 H^H.

    Args:
        y, h, noise_var: as in :class:`demodulator.Demodulated`. ``y`` may hold only some of the T
            vectors.

    Returns:
        complex64 (n, num_data, T, S); 0 for a stream that is not received.
    """
    adjoint = h.conj().swapaxes(-1, -2)
    gram = adjoint @ h
    noise = noise_var[:, None, None, None].astype(np.float32)
    # Keep a rank-deficient channel from becoming singular through rounding.
    noise = np.maximum(noise, 1e-6 * np.trace(gram, axis1=2, axis2=3).real[..., None, None])
    inverse = np.linalg.inv(gram + noise * np.eye(h.shape[-1], dtype=np.float32))
    bias = 1 - noise[..., 0] * np.diagonal(inverse, axis1=2, axis2=3).real
    filters = (inverse @ adjoint) / np.maximum(bias, 1e-6)[..., None]
    return (y @ filters.swapaxes(-1, -2)).astype(np.complex64)


def with_padding(coded, field, demodulated, streams):
    """Return coded bits in which the nearest points give the bits that the code does not fill.

    A receiver does not know these bits, the post-FEC padding.

    Args:
        coded: uint8 (n, num_symbols, N_CBPS), as of ``DataField.code``.
        field: :class:`data_field.DataField`.
        demodulated: :class:`demodulator.Demodulated` of the n frames, or of their last parts.
        streams: slice of the format's streams among those demodulated.
    """
    if field.filled is None:
        return coded
    f, d = field.frame_format, demodulated
    unknown = np.ones(coded[0].size, bool)
    unknown[field.filled] = False
    unknown = unknown.reshape(coded.shape[1:])
    block = f.symbols_per_code_block
    first = int(np.argmax(unknown.any(axis=1))) // block
    layer = constellations.get(f.stream_constellations[0])
    count = f.num_symbols // block - first
    found = in_time(mmse_points(d.y[:, :, -count:], d.h, d.noise_var), f)
    found = found[:, :, :f.num_points, streams]
    labels = np.abs(found[..., None] - layer.points).argmin(axis=-1)
    bits = (labels[..., None] >> np.arange(layer.bits_per_symbol)[::-1] & 1).astype(np.uint8)
    bits = bits.reshape(*found.shape[:2], -1)[..., field.order]
    out = coded.copy()
    out[:, first * block:] = np.where(unknown[first * block:], bits, out[:, first * block:])
    return out


def axes_of(frame_format, unknowns):
    """Return the number of points on an axis of square QAM for each unknown, 1 for BPSK: int64.

    ``unknowns`` is the number of space-time streams, or a multiple of the number of streams.
    """
    f = frame_format
    sides = np.array([1 << bits // 2 for bits in f.stream_bits], np.int64)
    if unknowns == f.num_space_time_streams:
        return np.repeat(sides, 1 + (np.arange(f.num_streams) < f.stbc))
    return np.repeat(sides, unknowns // f.num_streams)


def error_vectors(y, h, noise_var, frame_format):
    """Return the mean squared distance of equalised points to the nearest constellation points.

    At most eight of the T vectors count, evenly spread.

    Args:
        y, h, noise_var: as for :func:`mmse_points`.
        frame_format: format of the frames.

    Returns:
        float32 (n, num_streams).
    """
    f = frame_format
    error = _core.wifi.error_vectors(y, h, noise=noise_var.astype(np.float32),
                                     sides=axes_of(f, h.shape[3]))
    return error.reshape(len(error), f.num_streams, -1).mean(axis=2)


def in_time(points, frame_format):
    """Return the symbols that the streams send, from the estimates of a detector's unknowns.

    Args:
        points: (n, num_data, T, S), the unknowns of :class:`demodulator.Demodulated`.
        frame_format: format of the frames.

    Returns:
        complex64 (n, symbols, num_data, num_streams) with T symbols, or 2 T with space-time blocks.
    """
    n, num_data, blocks, _ = points.shape
    if not frame_format.stbc:
        return np.ascontiguousarray(points.swapaxes(1, 2))
    pairs = points.reshape(n, num_data, blocks, frame_format.num_streams, 2).copy()
    pairs[..., 1] = pairs[..., 1].conj()
    return np.ascontiguousarray(pairs.transpose(0, 2, 4, 1, 3)).reshape(
        n, 2 * blocks, num_data, frame_format.num_streams)
