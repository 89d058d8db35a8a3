# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the signal fields of frames, which announce the format."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .. import _core
from . import carriers, signal_fields, training
from .eht_signal import OneUser, parse_u_sig
from .fields import fields_of, format_values
from .formats import VHTMU, FrameFormat, NonHT, Unsupported
from .he_trigger import Answer
from .he_users import SeveralUsers
from .interleaving import bit_order
from .signal_fields import LSig, SignalError
from .smoothing import smoother
from .vht_users import SeveralVHTUsers
from .whitening import factors, noise_covariance
from .windows import FrameSamples

# Number of samples at 20 MS/s that reading the fields needs, from the first FFT window of the L-LTF
# on; and with the HE-SIG-A of an HE ER SU frame.
SAMPLES_NEEDED = 2 * carriers.FFT_20 + 3 * training.SYMBOL
HE_SAMPLES_NEEDED = 2 * carriers.FFT_20 + 6 * training.SYMBOL
# Samples at 20 MS/s before the first data or HT-SIG symbol of a non-HT, HT or VHT frame.
_PREAMBLE = training.L_STF + training.L_LTF + training.SYMBOL

# Because of rounding, a frame may exceed the length in its L-SIG by at most this number of samples
# at 20 MS/s.
_LONGER = 2 * training.SYMBOL
# aPPDUMaxTime, 10 ms
_LONGEST_GREENFIELD = 200_000
# From the middle of the L-LTF to the middle of each of the next six symbols.
_DISTANCE = 112.0 + training.SYMBOL * np.arange(6)
_ORDER = bit_order(48, 1, 1)
_HE_ORDER = bit_order(52, 1, 1)
_PILOTS = training.legacy_pilots(0, 6).astype(np.float32)
_KINDS = _core.wifi.signal_kinds
# FFT windows relative to the first half of the L-LTF: both halves and the next six symbols.
_WINDOWS = np.array([0, 64, 144, 224, 304, 384, 464, 544])
# Parsed signal fields are cached, because most of them recur, and so is what follows from a format.
KEPT = 4096
_L_SIG_BITS = 24
# Size of ``synchroniser.FoundFrame.signal_fields``.
SIGNAL_BYTES = 1 + _L_SIG_BITS + 48


class Announced(NamedTuple):
    """The contents of a frame's signal fields.

    Attributes:
        format: a :class:`FrameFormat`; None if unknown or not supported.
        problem: why ``format`` is None; "" if it is not.
        num_samples: number of samples of the frame at 20 MS/s.
        fields: dictionary of the fields that were read if ``format`` is None, with keys of
            ``ReceivedFrame.as_json``.
        several: ``he_users.SeveralUsers`` of an HE MU frame, ``he_trigger.Answer`` of an HE TB
            frame of unknown format, ``eht_signal.OneUser`` of an EHT MU frame; None for all others.
        channel_mhz: bandwidth of the channel, if the preamble may fill only a part of it: in HE TB
            frames, and if it is punctured. None if the preamble fills the channel.
    """

    format: FrameFormat | None
    problem: str
    num_samples: int
    fields: dict
    several: SeveralUsers | Answer | OneUser | None = None
    channel_mhz: int | None = None


class HeaderReader:
    """Read L-SIG, HT-SIG, VHT-SIG-A, HE-SIG-A and U-SIG.

    Source: IEEE 802.11-2020 §17.3.4, §19.3.9.4.3, §21.3.8.3.3, and 802.11ax-2021 §27.3.11.7.

    Args:
        scale: FFT size divided by 64: 1, 2, 4 or 8.

    Attributes:
        samples_needed: number of samples per frame that reading needs at most.
        samples_without_he: the same for frames that are not HE.
        core: the C++ reader.
    """

    def __init__(self, scale):
        self._scale = scale
        self._fft = carriers.FFT_20 * scale
        self._windows = _WINDOWS * scale
        self._places = {}    # {mask: result of place()}
        plan = carriers.legacy()
        k = tuple(plan.used.tolist())
        self.core = _core.wifi.HeaderReader(
            fft=self._fft, sequence=training.legacy_long_training().astype(np.float32),
            smoother=smoother(k, k, 20), data=plan.data_index, pilots=plan.pilot_index,
            pilot_signs=_PILOTS, order=_ORDER, he_order=_HE_ORDER, distance=_DISTANCE,
            windows=self._windows)
        self.samples_needed = HE_SAMPLES_NEEDED * scale
        self.samples_without_he = SAMPLES_NEEDED * scale

    def whitening(self, samples, first, cfo, direct, mask):
        """Return matrices that whiten the noise across antennas: complex64 (n, num_rx, num_rx).

        Args:
            samples: complex64 (num_rx, length), in which all n frames lie.
            first: (n,), positions of the FFT window of the first half of the long training field.
            cfo, direct: as for :class:`FrameSamples`.
            mask: as for :meth:`place`.
        """
        frames = FrameSamples([samples] * len(first), first, cfo, direct)
        with np.errstate(all="ignore"):
            halves = frames.spectra(self._windows[:2], self._fft, self.place(mask)[1])
            return np.ascontiguousarray(factors(noise_covariance(halves))[1], np.complex64)

    def place(self, mask):
        """Return where preambles lie: (subchannels, FFT bins, centre).

        Args:
            mask: number with a bit for each 20 MHz subchannel of the band that holds the preamble,
                from the lowest one upwards.

        Returns:
            The subchannels as a tuple of numbers, their bins, and the subcarrier index of the
            channel's centre in the band of the samples.
        """
        if mask not in self._places:
            subchannels = tuple(part for part in range(self._scale) if mask >> part & 1)
            centres = np.array(carriers.subchannels(20 * self._scale))[list(subchannels)]
            bins = (centres[:, None] + carriers.legacy().used) % self._fft
            self._places[mask] = subchannels, bins.ravel(), int(centres.mean())
        return self._places[mask]

    def centre_of(self, subchannel, bandwidth_mhz):
        """Return the centre of the channel of some bandwidth around a 20 MHz subchannel.

        It is a subcarrier index in the band of the samples.
        """
        count = bandwidth_mhz // 20
        first = subchannel // count * count
        return int(np.mean(carriers.subchannels(20 * self._scale)[first:first + count]))


@lru_cache(maxsize=KEPT)
def announced(kind, fields, bandwidth, trigger=None):
    """Return what signal fields announce, :class:`Announced`; None if they are not valid.

    Args:
        kind: sum of ``_core.wifi.signal_kinds``.
        fields: bytes, one for each bit: 24 of the L-SIG and 48 of the HT-SIG or VHT-SIG-A, or 46
            of the HE-SIG-A or U-SIG.
        bandwidth: bandwidth of the preamble in MHz.
        trigger: ``he_trigger.Trigger`` of HE TB frames; None if unknown.
    """
    bits = np.frombuffer(fields, np.uint8)
    first, second = bits[:_L_SIG_BITS], bits[_L_SIG_BITS:]
    if kind & _KINDS["l_sig"]:
        return _legacy(kind, first, second, bandwidth, trigger)
    if kind & _KINDS["greenfield"]:
        return _greenfield(second, bandwidth)
    return None


def _legacy(kind, l_sig, signal, bandwidth, trigger):
    """Return the fields that begin with an L-SIG of 24 bits."""
    try:
        l_sig = LSig.parse(l_sig)
    except SignalError:
        return None
    if kind & _KINDS["third_turned"]:
        # Both symbols of an HT-SIG are rotated (QBPSK), but only the second one of a VHT-SIG-A.
        if kind & _KINDS["second_turned"]:
            return _high_throughput(lambda: signal_fields.parse_ht_sig(signal), l_sig, bandwidth)
        if signal_fields.is_for_several_users(signal):
            return _several_vht_users(signal, l_sig, bandwidth)
        return _high_throughput(lambda: signal_fields.parse_vht_sig_a(signal, l_sig), l_sig,
                                bandwidth)
    if kind & _KINDS["repeated"]:
        # HE-SIG-A follows, or U-SIG: 802.11ax and 802.11be differ in the length modulo 3.
        if l_sig.length % 3 == 0:
            return _extremely_high_throughput(kind, signal, l_sig, bandwidth)
        return _high_efficiency(kind, signal, l_sig, bandwidth, trigger)
    found = NonHT(l_sig.rate, l_sig.length, bandwidth)
    return Announced(found, "", found.num_samples, {})


def _high_throughput(parse, l_sig, bandwidth):
    """Read a format with parse(). If that fails, the L-SIG still gives the length of the frame."""
    length = _PREAMBLE + l_sig.duration
    try:
        found = parse()
    except (SignalError, Unsupported) as error:
        return Announced(None, str(error), length, getattr(error, "announced", {}))
    if found.bandwidth_mhz != bandwidth:
        return Announced(None, _part_of(found, bandwidth), length, _fields(found))
    # The L-SIG may announce more, to keep other stations silent, but not less.
    if found.num_samples > length + _LONGER:
        return Announced(None, f"{found.name.upper()}-SIG and L-SIG disagree about the length",
                         length, _fields(found))
    return Announced(found, "", found.num_samples, {})


def _several_vht_users(bits, l_sig, bandwidth):
    """Return the fields of a VHT frame for several users, whose VHT-SIG-B is read later."""
    found = _high_throughput(
        lambda: VHTMU.of(signal_fields.parse_vht_sig_a_of_users(bits, l_sig)), l_sig,
        bandwidth)
    if found.format is None:
        return found
    several = SeveralVHTUsers(found.format.users)
    f = several.common
    told = {"format": f.name, "bandwidth_mhz": f.bandwidth_mhz, "short_gi": f.short_gi,
            "group_id": f.group_id}
    return Announced(None, "VHT frame for several users", found.num_samples, told, several)


def _high_efficiency(kind, bits, l_sig, bandwidth, trigger):
    """Return the fields of an HE frame. The L-SIG's length modulo 3 says which HE-SIG-A it has."""
    length, extended = _PREAMBLE + l_sig.duration, bool(kind & _KINDS["he_extended"])
    if not kind & _KINDS["he_signal"]:
        return Announced(None, "802.11ax (HE) frame whose HE-SIG-A was not read", length, {})
    if not signal_fields.he_sig_a_crc_holds(bits):
        return Announced(None, "HE-SIG-A CRC", length, {})
    if l_sig.length % 3 == 1 and not bits[0]:
        if trigger is None or trigger.ul_length != l_sig.length:
            return Announced(None, "HE TB frame, and no Trigger frame is known that asked for it",
                             length, {"format": "he-tb"},
                             Answer(bits[:signal_fields.HE_SIG_A].tobytes(), l_sig),
                             signal_fields.trigger_based_bandwidth(bits))
        found = _high_throughput(
            lambda: signal_fields.parse_he_sig_a_of_trigger(bits, l_sig, trigger), l_sig,
            max(bandwidth, trigger.format.bandwidth_mhz))
        return found._replace(channel_mhz=trigger.format.bandwidth_mhz)
    if l_sig.length % 3 == 2 and not extended:
        return _several_users(bits, l_sig, bandwidth)
    if extended and l_sig.length % 3 != 2:
        return Announced(None, "802.11ax (HE) frame whose HE-SIG-A was not read", length, {})
    return _high_throughput(lambda: signal_fields.parse_he_sig_a(bits, l_sig, extended), l_sig,
                            bandwidth)


def _several_users(bits, l_sig, bandwidth):
    """Return the fields of an HE MU frame, whose HE-SIG-B is read later."""
    length = _PREAMBLE + l_sig.duration
    try:
        several = SeveralUsers(**signal_fields.parse_he_sig_a_of_users(bits, l_sig))
    except (SignalError, Unsupported) as error:
        return Announced(None, str(error), length, getattr(error, "announced", {}))
    f = several.common
    fields = format_values(f, 1, fields_of("announced"))
    for name in ("mcs", "num_streams", "coding", "length", "dcm", "ru"):
        del fields[name]    # of the users
    # Of a punctured preamble, the subchannels that were found may be a part.
    if f.bandwidth_mhz != bandwidth and not (
            several.punctured and 40 <= bandwidth < f.bandwidth_mhz):
        return Announced(None, _part_of(f, bandwidth), length, fields)
    return Announced(None, "HE MU frame without a user that can be decoded", length, fields,
                     several, f.bandwidth_mhz)


def _extremely_high_throughput(kind, bits, l_sig, bandwidth):
    """Return the fields of an EHT frame, whose EHT-SIG is read later."""
    length = _PREAMBLE + l_sig.duration
    if not kind & _KINDS["he_signal"] or not signal_fields.he_sig_a_crc_holds(bits):
        return Announced(None, "802.11be (EHT) frame whose U-SIG was not read", length, {})
    try:
        user, fields = parse_u_sig(bits, l_sig)
    except Unsupported as error:
        return Announced(None, str(error), length, error.announced)
    if user.bandwidth_mhz != bandwidth:
        return Announced(None, _part_of(user, bandwidth), length, fields)
    return Announced(None, "EHT MU frame", length, fields, user)


def _greenfield(bits, bandwidth):
    """Read an HT frame whose HT-SIG directly follows the long training field; None without one."""
    try:
        found = signal_fields.parse_ht_sig(bits, greenfield=True)
    except SignalError:
        return None
    except Unsupported as error:
        return Announced(None, f"{error}, greenfield", _PREAMBLE, error.announced)
    if found.num_samples > _LONGEST_GREENFIELD:
        return Announced(None, "longer than 10 ms, greenfield", _PREAMBLE, _fields(found))
    if found.bandwidth_mhz != bandwidth:
        return Announced(None, _part_of(found, bandwidth), found.num_samples, _fields(found))
    return Announced(found, "", found.num_samples, {})


def _fields(found):
    """Return the announced fields of a format that is not received."""
    return format_values(found, 1, fields_of("announced"))


def _part_of(found, bandwidth):
    """Explain why a frame is not decoded if its format does not fit the preamble's bandwidth."""
    if found.bandwidth_mhz > bandwidth:
        # VHT and HE have one code for both; EHT has no 80+80 MHz.
        split = " or 80+80" * (found.bandwidth_mhz == 160 and isinstance(found, FrameFormat))
        return f"the samples hold only {bandwidth} MHz of a {found.bandwidth_mhz}{split} MHz frame"
    return f"signal field announces {found.bandwidth_mhz} MHz, but the preamble has {bandwidth} MHz"
