# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the signal fields of frames, which announce the format."""

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

# Number of samples at 20 MS/s that reading the fields needs, from the first FFT window of the L-LTF
# on.
SAMPLES_NEEDED = 2 * carriers.FFT_20 + 3 * training.SYMBOL
# Samples at 20 MS/s before the first data or HT-SIG symbol of a non-HT, HT or VHT frame.
_PREAMBLE = training.L_STF + training.L_LTF + training.SYMBOL

# Because of rounding, a frame may exceed the length in its L-SIG by at most this number of samples
# at 20 MS/s.
_LONGER = 2 * training.SYMBOL
# aPPDUMaxTime, 10 ms
_LONGEST_GREENFIELD = 200_000
# From the middle of the L-LTF to the middle of each of the next three symbols.
_DISTANCE = 112.0 + training.SYMBOL * np.arange(3)
_ORDER = bit_order(48, 1, 1)
_PILOTS = training.legacy_pilots(0, 3).astype(np.float32)
_KINDS = _core.wifi.signal_kinds
# FFT windows relative to the first half of the L-LTF: both halves and the next three symbols.
_WINDOWS = np.array([0, 64, 144, 224, 304])
# Parsed signal fields are cached, because most of them recur.
_KEPT = 4096


class Header(NamedTuple):
    """Contents of a frame's signal fields.

    Attributes:
        format: a :class:`FrameFormat`; None if unknown or not supported.
        problem: why ``format`` is None; "" if it is not.
        num_samples: number of samples of the frame at 20 MS/s, according to the fields that were
            read.
        centre: subcarrier index of the channel's centre in the band of the samples.
        noise: (num_rx,), noise power per subcarrier and antenna in an FFT without scaling.
        signal: (num_rx,), mean signal power per subcarrier and antenna in this FFT, without noise.
        announced: dictionary of the fields that were read if ``format`` is None, with keys of
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
    """Read L-SIG, HT-SIG and VHT-SIG-A (IEEE 802.11-2020 §17.3.4, §19.3.9.4.3, §21.3.8.3.3).

    Args:
        scale: FFT size divided by 64: 1, 2 or 4.
        whitening: see :class:`receiver.Receiver`.

    Attributes:
        samples_needed: number of samples per frame that :meth:`read` needs.
    """

    def __init__(self, scale, whitening="antennas"):
        self._covariance = whitening == "covariance"
        self._scale = scale
        self._fft = carriers.FFT_20 * scale
        self._windows = _WINDOWS * scale
        self._places = {}    # {subchannels: (bins, centre)}
        plan = carriers.legacy()
        k = tuple(plan.used.tolist())
        self._core = _core.wifi.HeaderReader(
            fft=self._fft, sequence=training.legacy_long_training().astype(np.float32),
            smoother=smoother(k, k, 20), data=plan.data_index, pilots=plan.pilot_index,
            pilot_signs=_PILOTS, order=_ORDER, distance=_DISTANCE)
        self.samples_needed = SAMPLES_NEEDED * scale

    def read(self, samples, subchannels):
        """Read the signal fields of frames that occupy the same 20 MHz subchannels.

        Args:
            samples: :class:`FrameSamples` with ``samples_needed`` samples of each frame, from the
                FFT window of the first half of the long training field on.
            subchannels: tuple of the 20 MHz subchannels that the frames occupy, numbered from 0
                upwards in frequency.

        Returns:
            list of n :class:`Header`. An element is None if there is neither a valid L-SIG nor a
            greenfield frame.
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
        """Return (FFT bins, centre) of the preamble in these subchannels."""
        if subchannels not in self._places:
            centres = np.array(carriers.subchannels(20 * self._scale))[list(subchannels)]
            bins = (centres[:, None] + carriers.legacy().used) % self._fft
            self._places[subchannels] = bins.ravel(), int(centres.mean())
        return self._places[subchannels]

    def parse(self, combined, strength, bandwidth):
        """Read fields from matched filter outputs.

        Args:
            combined: complex64 (n, 3, 52), matched filter outputs of the three symbols after the
                L-LTF.
            strength: float (n,), sum of the matched filter's gain |H|^2 / (noise power) over
                subcarriers and antennas.
            bandwidth: bandwidth of the preamble in MHz.

        Returns:
            list of n elements, each (format, problem, num_samples, announced) as in
            :class:`Header`, or None.
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
        """Return the fields that follow an L-SIG of 24 bits."""
        l_sig = _l_sig(l_sig.tobytes())
        if l_sig is None:
            return None
        turned = kind & _KINDS["second_turned"]
        if l_sig.rate == 6 and not l_sig.length % 3 and kind & _KINDS["third_turned"]:
            # Both symbols of an HT-SIG are rotated (QBPSK), but only the second one of a VHT-SIG-A.
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
    """Read a format with parse(). If that fails, the L-SIG still gives the length of the frame."""
    length = _PREAMBLE + l_sig.duration
    try:
        found = parse()
    except (SignalError, Unsupported) as error:
        return None, str(error), length, getattr(error, "announced", {})
    if found.bandwidth_mhz != bandwidth:
        return None, _part_of(found, bandwidth), length, _told(found)
    # The L-SIG may announce more, to keep other stations silent, but not less.
    if found.num_samples > length + _LONGER:
        return (None, f"{found.name.upper()}-SIG and L-SIG disagree about the length", length,
                _told(found))
    return found, "", found.num_samples, {}


@lru_cache(maxsize=_KEPT)
def _greenfield(bits, bandwidth):
    """Read an HT frame whose HT-SIG directly follows the long training field; None without one."""
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
    """Return the announced fields of a format that is not received."""
    return {"format": found.name, "mcs": found.mcs, "num_streams": found.num_streams,
            "stbc": found.stbc, "bandwidth_mhz": found.bandwidth_mhz, "short_gi": found.short_gi,
            "coding": found.coding, "length": found.length}


def _part_of(found, bandwidth):
    """Explain why a frame is not decoded if its format does not fit the preamble's bandwidth."""
    if found.bandwidth_mhz > bandwidth:
        return f"the samples hold only {bandwidth} MHz of a {found.bandwidth_mhz} MHz frame"
    return f"signal field announces {found.bandwidth_mhz} MHz, but the preamble has {bandwidth} MHz"
