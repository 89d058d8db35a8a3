# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples and symbols of the signal fields.

The first byte of an input chooses symbols behind a matched filter, or samples. The next ten bytes
are those of target ``signal_fields``, the others change the values (see ``air``).
"""

import zlib

import numpy as np
from gnuradio.mimopack.wifi import NonHT, carriers, training
from gnuradio.mimopack.wifi.formats import FrameFormat
from gnuradio.mimopack.wifi.headers import SAMPLES_NEEDED, HeaderReader
from gnuradio.mimopack.wifi.signal_fields import LSig, SignalError, encode_signal
from gnuradio.mimopack.wifi.windows import FrameSamples

from . import air, mutations
from . import signal_fields as bits_of

MAX_LEN = 92
mutate = mutations.of_bytes
_HEAD = 1 + bits_of.MAX_LEN
_PLAN = carriers.legacy()
_PILOTS = training.legacy_pilots(0, 3)
_READERS = {kind: HeaderReader(1, kind) for kind in ("antennas", "covariance")}
_LONG = training.legacy_long_training()
_STRENGTH = 520.0


def check(data):
    """A header is consistent, depends on nothing before, and is what the bits say."""
    if not data:
        return
    options, first, second = bits_of.fields(data[1:_HEAD])
    kind = data[0]
    values = _symbols(first, second, kind >> 1)
    changes = data[_HEAD:]
    if kind & 1:
        found = _from_samples(values, changes, kind)
        if not zlib.crc32(data) % 16:
            assert repr(found) == repr(_from_samples(values, changes, kind))
    else:
        symbols, _ = air.changed(values.reshape(1, -1), changes)
        symbols = np.resize(symbols, (1, 3, 52)).astype(np.complex64)
        if not np.isfinite(symbols.view(np.float32)).all():
            return    # headers.cc lets only finite symbols through
        found, = _READERS["antennas"].parse(symbols, np.full(1, _STRENGTH), 20)
        if len(changes) < 8 and not kind >> 1 & 1:
            _check_same(found, first)
    if found is not None:
        _check_header(found)


def _symbols(first, second, turns):
    """Return three symbols (3, 52); ``turns`` tells which of them are turned by 90 degrees."""
    coded = np.concatenate([encode_signal(first), encode_signal(second)])
    out = np.empty((3, 52), np.complex64)
    out[:, _PLAN.data_index] = 2.0 * coded - 1
    out[:, _PLAN.data_index] *= np.array([[1j if turns >> t & 1 else 1] for t in range(3)])
    out[:, _PLAN.pilot_index] = _PILOTS
    return 10 * out


def _from_samples(symbols, changes, kind):
    """Put symbols behind a long training field, and read the header from the changed samples."""
    spectra = np.zeros((4, 64), np.complex64)
    spectra[:, _PLAN.used % 64] = np.concatenate([_LONG[None], symbols / 10])
    waves = np.fft.ifft(spectra).astype(np.complex64)
    symbols = np.concatenate([waves[1:, -16:], waves[1:]], axis=1)
    samples = np.concatenate([waves[0], waves[0], symbols.ravel()])
    samples, _ = air.changed(np.stack([samples, samples * 1j])[:1 + (kind >> 4 & 1)], changes)
    samples = np.ascontiguousarray(np.resize(samples, (len(samples), SAMPLES_NEEDED)))
    frame = FrameSamples([samples], np.zeros(1, np.int64), np.zeros(1),
                         np.zeros((1, len(samples)), np.complex64))
    with np.errstate(all="ignore"):
        found, = _READERS["covariance" if kind & 32 else "antennas"].read(frame, (0,))
    return None if found is None else (found.format, found.problem, found.num_samples,
                                       found.announced)


def _check_same(found, first):
    """Check that an L-SIG in symbols without noise is read like its bits."""
    try:
        l_sig = LSig.parse(first)
    except SignalError:
        l_sig = None
    # The tail is decoded as zeros.
    if first[18:].any():
        return
    assert (found is None) == (l_sig is None), (found, l_sig)
    if found is not None and isinstance(found[0], NonHT):
        assert (found[0].mcs, found[0].length) == (l_sig.rate, l_sig.length)


def _check_header(found):
    form, problem, num_samples, announced = found
    assert isinstance(form, FrameFormat) != bool(problem), found
    assert isinstance(num_samples, int) and 0 < num_samples <= 1 << 18, found
    assert form is None or not announced, found
    assert form is None or form.num_samples == num_samples, found


def seeds():
    """Return the fields of all formats as symbols and as samples, turned as they must be."""
    found = []
    for one in bits_of.seeds():
        for kind in (0b0000, 0b1100, 0b1000, 0b0001, 0b1101, 0b11001, 0b111001):
            found.append(bytes([kind]) + one)
    return found
