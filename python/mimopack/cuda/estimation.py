# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimation of channels on a GPU, step by step; no function waits for the GPU.

Arrays are C-contiguous CuPy arrays on the same GPU, complex64, float32 or int32.
"""

from functools import partial

import numpy as np

from . import source
from .device import cupy, current, kernel
from .graphs import side_by_side

# Of a block of threads, as in lib/cuda/channel_estimate.h
_ROWS, _MODES, _ANTENNAS, _COLUMNS = 8, 2, 8, 32
_PARTS = 8    # of a sum, each by a block of threads


def energies(pilots):
    """Return the lower triangles of y y^H, (slots, nr, nr), of pilots y (slots, nr, elements)."""
    slots, antennas, elements = pilots.shape
    out = _empty(pilots, (slots, antennas, antennas), np.complex64)
    _run("energies", pilots, slots * antennas**2, pilots, antennas, elements, out)
    return out


def project(pilots, groups, modes):
    """Return what modes receive: (slots, nr, modes).

    Args:
        pilots: (slots, nr, elements).
        groups: list of (elements of the group (n,), analysis (modes of the group, n)).
        modes: number of modes of all groups.
    """
    slots, antennas, elements = pilots.shape
    out, first, work = _empty(pilots, (slots, antennas, modes), np.complex64), 0, []
    for places, analysis in groups:
        own, rows = len(analysis), slots * antennas
        work.append(partial(
            _run, "project", pilots, -(-rows // _ROWS) * -(-own // _MODES), pilots, rows, elements,
            places, len(places), analysis, own, first, modes, out))
        first += own
    side_by_side(*work)
    return out


def gains(seen, energy, values, elements, steps, least, noise):
    """Estimate the noise of slots, and the modes' gains.

    Args:
        seen: (slots, nr, modes), replaced by the modes' mean, whitened.
        energy: as from :func:`energies`.
        values: (modes,) strengths.
        elements, steps, least, noise: number of elements of the pilots, number of steps of the
            noise power, its least value relative to the pilots' power, and its first value.

    Returns:
        noise power (slots,), error of each mode relative to its strength (slots, modes), and the
        factors (slots, nr, nr), lower triangles, that whiten.
    """
    slots, antennas, modes = seen.shape
    noises, share = _empty(seen, slots, np.float32), _empty(seen, (slots, modes), np.float32)
    factors = _empty(seen, energy.shape, np.complex64)
    scratch = _empty(seen, energy.shape, np.complex128)
    _run("gains", seen, slots, seen, energy, values, antennas, modes, elements, steps,
         np.float32(least), np.float32(noise), noises, share, factors, scratch)
    return noises, share, factors


def synthesise(mean, groups, places, ports):
    """Return channels: (slots, places, nr, ports).

    Args:
        mean: (slots, nr, modes).
        groups: list of (ports of the group (n,), synthesis (modes of the group, places * n)).
        places, ports: numbers of places and ports.
    """
    slots, antennas, modes = mean.shape
    out, first, work = _empty(mean, (slots, places, antennas, ports), np.complex64), 0, []
    for names, synthesis in groups:
        own, columns = synthesis.shape
        if not own:    # nothing but noise
            out[..., names] = 0
            continue
        work.append(partial(
            _run, "synthesise", mean, slots * -(-antennas // _ANTENNAS) * -(-columns // _COLUMNS),
            mean, antennas, first, modes, synthesis, own, columns, names, len(names), ports, out))
        first += own
    side_by_side(*work)
    return out


def errors(share, spread, left_out):
    """Return left_out (columns,) + share (slots, modes) spread (modes, columns)."""
    out = _empty(share, (len(share), left_out.size), np.float32)
    _run("errors", share, len(share) * -(-left_out.size // _COLUMNS), share, spread, left_out,
         share.shape[1], left_out.size, out)
    return out


def whitened(factors, received):
    """Return received symbols (slots, nr, ...) times the lower triangles (slots, nr, nr)."""
    received = cupy().ascontiguousarray(received)
    slots, antennas = received.shape[:2]
    out, columns = _empty(received, received.shape, np.complex64), received[0, 0].size
    _run("whiten", received, slots * -(-columns // source.ESTIMATE_THREADS), factors, received,
         antennas, columns, out)
    return out


def powers(h):
    """Return the mean power of each layer, (slots, layers), of h (slots, ..., layers)."""
    slots, layers = len(h), h.shape[-1]
    out = _zeros(h, (slots, layers), np.float32)
    _run("powers", h, slots * layers * _PARTS, cupy().ascontiguousarray(h), h[0].size // layers,
         layers, _PARTS, out)
    return out


def _empty(like, shape, dtype):
    with current(like.device.id):
        return cupy().empty(shape, dtype)


def _zeros(like, shape, dtype):
    with current(like.device.id):
        return cupy().zeros(shape, dtype)


def _run(name, like, blocks, *arguments):
    """Queue a kernel on the GPU of an array; integers are passed as int32."""
    gpu = like.device.id
    if blocks:
        with current(gpu):
            kernel(source.channel_estimate(), name, gpu)(
                (blocks,), (source.ESTIMATE_THREADS,), tuple(
                    np.int32(value) if isinstance(value, int) else value for value in arguments))
