# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a frame's signal fields: what makes a preamble a frame of a format."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .. import _core
from . import carriers, signal_fields, training
from .formats import FrameFormat, NonHT, Unsupported
from .interleaving import bit_order
from .signal_fields import LSig, SignalError
from .smoothing import smoother
from .whitening import factors, noise_covariance

# Samples at 20 MS/s from the first LTF's FFT window: all that is looked at here.
SAMPLES_NEEDED = 2 * carriers.FFT_20 + 3 * training.SYMBOL
# Samples at 20 MS/s before the first data or HT-SIG symbol of a non-HT, HT or VHT frame.
_PREAMBLE = training.L_STF + training.L_LTF + training.SYMBOL

# A frame that is longer than its L-SIG says, by more than rounding: samples at 20 MS/s.
_LONGER = 2 * training.SYMBOL
# aPPDUMaxTime, 10 ms
_LONGEST_GREENFIELD = 200_000
# From the middle of the L-LTF to those of the next three symbols.
_DISTANCE = 112.0 + training.SYMBOL * np.arange(3)
_ORDER = bit_order(48, 1, 1)
_PILOTS = training.legacy_pilots(0, 3).astype(np.float32)
_KINDS = _core.wifi.signal_kinds
# FFT windows behind the first LTF's: its second half, and three symbols.
_WINDOWS = np.array([0, 64, 144, 224, 304])
# Signal fields that were parsed are kept: most come again.
_KEPT = 4096


class Header(NamedTuple):
    """Contents of a frame's signal fields.

    Attributes:
        format: a :class:`FrameFormat`, or None where it is not known or not supported.
        problem: why there is none, "" otherwise.
        num_samples: at 20 MS/s, what the frame takes by what was read of it.
        centre: of the frame's channel among the carriers.
        noise: (num_rx,) power per carrier and antenna, of the FFT without scaling.
        signal: (num_rx,) mean power per carrier, noise taken off.
        announced: what the fields say where there is no format, with the keys of
            ``ReceivedFrame.as_json``.
    """

    format: FrameFormat | None
    problem: str
    num_samples: int
    centre: int
    noise: np.ndarray
    signal: np.ndarray
    announced: dict


class HeaderReader:
    """Reads L-SIG, HT-SIG and VHT-SIG-A.

    Args:
        scale: sample rate over 20 MS/s, 1, 2 or 4.
        whitening: see :class:`receiver.Receiver`.
    """

    def __init__(self, scale, whitening="antennas"):
        self._covariance = whitening == "covariance"
        self._scale = scale
        self._fft = carriers.FFT_20 * scale
        self._windows = _WINDOWS * scale
        self._places = {}    # (bins, centre) by subchannels
        plan = carriers.legacy()
        k = tuple(plan.used.tolist())
        self._core = _core.wifi.HeaderReader(
            fft=self._fft, sequence=training.legacy_long_training().astype(np.float32),
            smoother=smoother(k, k, 20), data=plan.data_index, pilots=plan.pilot_index,
            pilot_signs=_PILOTS, order=_ORDER, distance=_DISTANCE)
        self.samples_needed = SAMPLES_NEEDED * scale

    def read(self, samples, subchannels):
        """Read signal fields of frames that hold the same 20 MHz parts.

        Args:
            samples: :class:`FrameSamples`, samples_needed of them from the FFT window of the long
                training field's first half on.
            subchannels: tuple, which 20 MHz parts hold the frames.

        Returns:
            list of n :class:`Header`; None where the L-SIG is none and no greenfield frame is
            there either.
        """
        bins, centre = self._place(subchannels)
        white = None
        if self._covariance:
            halves = samples.spectra(self._windows[:2], self._fft, bins)
            _, white = factors(noise_covariance(halves))
            white = np.ascontiguousarray(white, np.complex64)
        *fields, noise, signal = self._core.read(
            samples.samples, starts=samples.first[:, None] + self._windows,
            cfo=samples.cfo, direct=samples.direct, bins=bins, white=white)
        return [None if found is None else Header(*found[:3], centre, *powers, found[3])
                for found, *powers in zip(self._parsed(fields, 20 * len(subchannels)), noise,
                                          signal, strict=True)]

    def _place(self, subchannels):
        """(FFT bins, centre) of what the preamble sends in subchannels."""
        if subchannels not in self._places:
            centres = np.array(carriers.subchannels(20 * self._scale))[list(subchannels)]
            bins = (centres[:, None] + carriers.legacy().used) % self._fft
            self._places[subchannels] = bins.ravel(), int(centres.mean())
        return self._places[subchannels]

    def parse(self, combined, strength, bandwidth):
        """Read fields from matched filter outputs.

        Args:
            combined: (n, 3, 52), of the three symbols behind the L-LTF.
            strength: (n,), their mean at a known symbol: sum of |H|^2 over the noise.
            bandwidth: in MHz, of the preamble.

        Returns:
            list of n (format, problem, num_samples, announced) as :class:`Header` has them, or
            None.
        """
        return self._parsed(self._core.read_symbols(combined, strength), bandwidth)

    def _parsed(self, fields, bandwidth):
        found = []
        for kind, l_sig, signal in zip(fields[0].tolist(), *fields[1:], strict=True):
            if kind & _KINDS["l_sig"]:
                found.append(self._legacy(kind, l_sig, signal, bandwidth))
            elif kind & _KINDS["greenfield"]:
                found.append(_greenfield(signal.tobytes(), bandwidth))
            else:
                found.append(None)
        return found

    @staticmethod
    def _legacy(kind, l_sig, signal, bandwidth):
        """What follows an L-SIG of 24 bits."""
        l_sig = _l_sig(l_sig.tobytes())
        if l_sig is None:
            return None
        turned = kind & _KINDS["second_turned"]
        if l_sig.rate == 6 and not l_sig.length % 3 and kind & _KINDS["third_turned"]:
            # HT-SIG: both symbols are turned; VHT-SIG-A: the second one is.
            parse = _high_throughput if turned else _very_high_throughput
            return parse(signal.tobytes(), l_sig, bandwidth)
        if l_sig.rate == 6 and l_sig.length % 3 and not turned and kind & _KINDS["repeated"]:
            return None, "802.11ax (HE) frame", _PREAMBLE + l_sig.duration, {}
        return _non_ht(l_sig, bandwidth)


@lru_cache(maxsize=_KEPT)
def _l_sig(bits):
    try:
        return LSig.parse(np.frombuffer(bits, np.uint8))
    except SignalError:
        return None


@lru_cache(maxsize=_KEPT)
def _non_ht(l_sig, bandwidth):
    found = NonHT(l_sig.rate, l_sig.length, bandwidth)
    return found, "", found.num_samples, {}


@lru_cache(maxsize=_KEPT)
def _high_throughput(bits, l_sig, bandwidth):
    return _announced(lambda: signal_fields.parse_ht_sig(np.frombuffer(bits, np.uint8)), l_sig,
                      bandwidth)


@lru_cache(maxsize=_KEPT)
def _very_high_throughput(bits, l_sig, bandwidth):
    return _announced(lambda: signal_fields.parse_vht_sig_a(np.frombuffer(bits, np.uint8), l_sig),
                      l_sig, bandwidth)


def _announced(parse, l_sig, bandwidth):
    """Read a format with parse(); where that fails, the L-SIG still tells the frame's length."""
    length = _PREAMBLE + l_sig.duration
    try:
        found = parse()
    except (SignalError, Unsupported) as error:
        return None, str(error), length, getattr(error, "announced", {})
    if found.bandwidth_mhz != bandwidth:
        return None, _part_of(found, bandwidth), length, _told(found)
    # An L-SIG may be longer, to keep others away, but not shorter.
    if found.num_samples > length + _LONGER:
        return (None, f"{found.name.upper()}-SIG and L-SIG disagree about the length", length,
                _told(found))
    return found, "", found.num_samples, {}


@lru_cache(maxsize=_KEPT)
def _greenfield(bits, bandwidth):
    """An HT frame whose HT-SIG follows the long training field at once; None where it does not."""
    try:
        found = signal_fields.parse_ht_sig(np.frombuffer(bits, np.uint8), greenfield=True)
    except SignalError:
        return None
    except Unsupported as error:
        return None, f"{error}, greenfield", _PREAMBLE, error.announced
    if found.num_samples > _LONGEST_GREENFIELD:
        return None, "longer than 10 ms, greenfield", _PREAMBLE, _told(found)
    if found.bandwidth_mhz != bandwidth:
        return None, _part_of(found, bandwidth), found.num_samples, _told(found)
    return found, "", found.num_samples, {}


def _told(found):
    """What is announced of a format that is not received."""
    return {"format": found.name, "mcs": found.mcs, "num_streams": found.num_streams,
            "stbc": found.stbc, "bandwidth_mhz": found.bandwidth_mhz, "short_gi": found.short_gi,
            "coding": found.coding, "length": found.length}


def _part_of(found, bandwidth):
    """Why a frame whose preamble fills another bandwidth is not decoded."""
    if found.bandwidth_mhz > bandwidth:
        return f"only {bandwidth} MHz of a frame of {found.bandwidth_mhz} MHz are in the samples"
    return f"{found.bandwidth_mhz} MHz by its signal field, {bandwidth} MHz by its preamble"
