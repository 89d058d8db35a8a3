# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data field: encode PSDUs into coded bits per subcarrier, and decode LLRs into PSDUs."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .. import _core, coding
from ..coding import ConvolutionalCode, ldpc, scramble, scrambler_sequence, seed_from_service
from ..coding.convolutional import LARGEST_MEAN
from ..coding.ldpc.standards import WIFI_LENGTHS
from ..coding.ldpc.standards import wifi as wifi_code
from . import mac
from .formats import Joint
from .formats.base import SERVICE, TAIL
from .interleaving import bit_order, order_of
from .points import arrangement_of, copies_combined, known_points, to_symbols, with_padding
from .signal_fields import crc8, sig_b_length, vht_sig_b

# Maximum number of iterations of the LDPC decoder.
LDPC_ITERATIONS = 20
LDPC_FACTOR = 0.8    # of :class:`coding.ldpc.LdpcDecoder`
PADDING_SEED = 93


class Payload(NamedTuple):
    """Decoded bits of a frame.

    Attributes:
        psdu: bytes of the PSDU.
        scrambler_seed: seed according to the SERVICE field, 1..127, in EHT frames 1..2047; 0 if the
            field gives no seed.
        checks_hold: whether all parity checks of the LDPC code hold; None with the convolutional
            code.
        scrambled: uint8 (num_scrambled,), the decoded bits from the SERVICE field on, not
            descrambled.
        mpdus: tuple of :class:`mac.Mpdu`.
        complete: whether ``mpdus`` holds all MPDUs of the frame, see :func:`mac.split`.
    """

    psdu: bytes
    scrambler_seed: int
    checks_hold: bool | None
    scrambled: np.ndarray
    mpdus: tuple
    complete: bool

    @property
    def good(self):
        """Offsets in the PSDU of the MPDUs with a correct FCS: frozenset of int."""
        return frozenset(mpdu.offset for mpdu in self.mpdus if mpdu.fcs_ok)


class JointPayload(NamedTuple):
    """Decoded bits of several users.

    Attributes:
        users: tuple with the :class:`Payload` of each user.
    """

    users: tuple

    @property
    def scrambled(self):
        """The scrambled bits of all users, one user after another."""
        return np.concatenate([payload.scrambled for payload in self.users])

    @property
    def complete(self):
        """True if all MPDUs of all users are correct."""
        return all(payload.complete for payload in self.users)

    @property
    def good(self):
        """(user, offset) of the MPDUs with a correct FCS: frozenset."""
        return frozenset((i, offset) for i, payload in enumerate(self.users)
                         for offset in payload.good)


class DataField:
    """Encode and decode the data fields of frames of one format.

    Source: IEEE 802.11-2020 §17.3.5, §19.3.11 and §21.3.10. In the shapes below, n is the number of
    frames and m the number of bits per constellation point; the other names are attributes of the
    format or its plan. One thread at a time may use an object.

    Args:
        frame_format: a :class:`formats.FrameFormat`; all frames share its ``key``.
        threads: number of threads of the decoders; 0 takes all cores.
        ldpc_decoders: dictionary {code name: (LDPC code, its decoder)} that several objects share.
            Each object adds the decoders that it needs. The objects must be used in one thread at a
            time. None makes a new dictionary.

    Attributes:
        filled: int64, places among the bits of all symbols that the code fills; None if it fills
            all.
        order: int64, position at which each coded bit of a symbol is sent, see
            :func:`interleaving.bit_order`.
        source: int64, coded bit that is sent at each position, the inverse of ``order``.
        decoder: ``ldpc.WifiFrameDecoder``; only for an LDPC format.
        users: the field itself, as the only one in a list; see :class:`JointField`.
    """

    def __init__(self, frame_format, threads=1, ldpc_decoders=None):
        f = self.frame_format = frame_format
        self.order = order_of(f)
        self.source = np.argsort(self.order)
        self._threads = threads
        self.filled = _filled(f)
        if f.coding == "ldpc":
            self._matching = f.ldpc_matching
            name = f"wifi:{self._matching.code.num_bits}:{f.code_rate}"
            kept = {} if ldpc_decoders is None else ldpc_decoders
            if name not in kept:
                code = coding.get(name)
                # A batch holds only a few frames, too few for a GPU.
                kept[name] = code, code.decoder(iterations=LDPC_ITERATIONS, threads=threads,
                                                backend="cpu")
            self._code, decoder = kept[name]
            # The frame decoder picks the payload bits itself, so it needs whole codewords.
            self.decoder = ldpc.WifiFrameDecoder(self._matching, decoder.decoder)
            self._end = f.num_scrambled
        else:
            self._code = ConvolutionalCode(f.code_rate)
            self._end = f.tail_position + TAIL * f.num_encoders

    @property
    def users(self):
        return [self]

    def divided(self, llr):
        """Return a list with the part of each user of ``llr`` (..., bits of all streams)."""
        return [llr]

    def joined(self, payloads):
        """Return the payload of a frame from a list with the payload of each user."""
        payload, = payloads
        return payload

    def encode(self, psdu, scrambler_seed=93):
        """Encode a PSDU into the bits of its data symbols.

        Args:
            psdu: ``frame_format.length`` bytes.
            scrambler_seed: 1..127; 1..2047 in EHT frames.

        Returns:
            uint8 (num_symbols, num_data * num_streams * m), coded bits in order of transmission:
            subcarriers ascending, then streams, then bits with the most significant first.

        Raises:
            ValueError: the PSDU has a wrong length, or the seed is out of range.
        """
        f = self.frame_format
        if len(psdu) != f.length:
            raise ValueError(f"psdu: got {len(psdu)} bytes, the format needs {f.length}")
        bits = np.zeros(f.num_scrambled, np.uint8)
        payload = np.unpackbits(np.frombuffer(psdu, np.uint8), bitorder="little")
        bits[SERVICE:SERVICE + payload.size] = payload
        if f.name in ("vht", "vht-mu"):
            bits[8:SERVICE] = crc8(vht_sig_b(f))
        coded, = self.code(scramble(bits, scrambler_seed, f.scrambler)[None])
        if self.filled is not None:
            # Pseudo-random padding keeps the power of a symbol.
            open_places = np.setdiff1d(np.arange(coded.size), self.filled)
            coded.ravel()[open_places] = scrambler_sequence(PADDING_SEED, open_places.size)
        return np.take(coded, self.source, axis=1)

    def code(self, bits):
        """Encode scrambled bits, from the SERVICE field to the padding, without interleaving.

        Args:
            bits: uint8 (n, num_scrambled), as ``Payload.scrambled``.

        Returns:
            uint8 (n, num_symbols, num_data * num_streams * m) in the order of the encoder. Index
            the last axis with ``source`` to get the order of transmission.
        """
        f, n = self.frame_format, len(bits)
        if f.coding == "ldpc":
            coded = np.stack([self._matching.encode(np.ascontiguousarray(one), self._code)
                              for one in bits])
            return self._in_symbols(coded)
        bits = bits.copy()
        bits[:, f.tail_position:f.tail_position + TAIL * f.num_encoders] = 0
        if f.num_encoders == 1:
            return self._in_symbols(self._code.encode(bits))
        coded = np.stack([self._code.encode(bits[:, i::f.num_encoders])
                          for i in range(f.num_encoders)])
        coded = coded.reshape(f.num_encoders, n, f.num_symbols, -1).transpose(1, 2, 0, 3)
        return np.ascontiguousarray(coded).reshape(n, f.num_symbols, -1)

    def points(self, scrambled, demodulated, streams=slice(None)):
        """Return the points that frames have sent, as :func:`points.known_points`.

        Args:
            scrambled: uint8 (n, num_scrambled), as ``Payload.scrambled``.
            demodulated: :class:`demodulator.Demodulated` of the frames, or of their last parts if
                they have midambles.
            streams: slice of this format's streams among those demodulated.
        """
        coded = with_padding(self.code(scrambled), self, demodulated, streams)
        return known_points(self.frame_format, coded, self.source)

    def _in_symbols(self, coded):
        """Return coded bits (n, bits) as (n, num_symbols, N_CBPS).

        Bits that the code does not fill are 0 (post-FEC padding).
        """
        f, n = self.frame_format, len(coded)
        if self.filled is None:
            return coded.reshape(n, f.num_symbols, -1)
        out = np.zeros((n, f.num_symbols * f.coded_bits_per_symbol), np.uint8)
        out[:, self.filled] = coded.reshape(n, -1)
        return out.reshape(n, f.num_symbols, -1)

    def decode(self, llr):
        """Decode the LLRs of frames into PSDUs.

        Args:
            llr: float32, ln P(1)/P(0) of the coded bits. The shape is (n, num_symbols, num_data *
                num_streams * m) in the order of :meth:`encode`, or (n, num_data, num_symbols,
                num_streams * m) in the order of detectors. With a space-time block code, the latter
                is (n, num_data, num_symbols / 2, 2 * num_streams * m). With dual carrier
                modulation, the former has half as many subcarriers. A value that is not finite
                counts as an erasure.

        Returns:
            list of n :class:`Payload`.

        Raises:
            ValueError: ``llr`` has neither of these shapes.
        """
        f = self.frame_format
        symbols, carriers, bits = f.num_symbols, f.plan.num_data, sum(f.stream_bits)
        block = f.symbols_per_code_block
        shapes = ((symbols, self.order.size), (carriers, symbols // block, block * bits))
        if llr.shape[1:] not in shapes:
            first, second = (", ".join(map(str, shape)) for shape in shapes)
            raise ValueError(f"llr: got shape {llr.shape}, must be (n, {first}) or (n, {second})")
        if llr.ndim == 4:
            llr = copies_combined(llr, f)
        if llr.ndim == 4 and (f.stbc or f.coding == "ldpc"):
            llr = to_symbols(llr, f)
        if f.coding == "ldpc":
            coded = np.take(llr, self.order, axis=2).reshape(len(llr), -1)
            if self.filled is not None:
                coded = coded[:, self.filled]
            coded[~np.isfinite(coded)] = 0
            self.decoder.decode(np.ascontiguousarray(coded, np.float32))
            return self.payloads(self.decoder.bits, self.decoder.found.tolist())
        llr = np.ascontiguousarray(llr if llr.ndim == 4 else llr[:, None], np.float32)
        # The decoder stops after the tail: only zeros or padding follow it.
        count = self._end // f.num_encoders - TAIL
        return self.payloads(viterbi_decoder(f).decode(
            llr, count=count, last=f.sizes[5], threads=self._threads))

    def payloads(self, scrambled, holds=None):
        """Descramble frames.

        Args:
            scrambled: uint8 (n, num_scrambled), decoded bits. With the convolutional code, the tail
                and the padding after it may be missing.
            holds: n values of ``Payload.checks_hold``; None with the convolutional code.

        Returns:
            list of n :class:`Payload`.
        """
        f = self.frame_format
        found = _core.wifi.descramble(
            np.ascontiguousarray(scrambled), size=f.num_scrambled, end=self._end, length=f.length,
            aggregated=f.aggregated, scrambler=f.scrambler)
        return [Payload(psdu, seed_of(service, f.scrambler), ok, bits[0],
                        mac.at_places(psdu, places), complete)
                for ((psdu, places, complete, service), bits), ok in zip(
                    found, holds or [None] * len(found), strict=True)]

    def merged(self, before, after):
        """Merge the payloads of two attempts to decode a frame.

        Args:
            before, after: :class:`Payload` of the earlier and the later attempt.

        Returns:
            ``after``, with the MPDUs that are correct only in ``before``.
        """
        if before.good <= after.good:
            return after
        scrambled = after.scrambled.copy()
        scrambled[:SERVICE] = before.scrambled[:SERVICE]    # the seed of a correct MPDU is right
        for mpdu in before.mpdus:
            if mpdu.fcs_ok:
                begin = mpdu.offset - (mac.DELIMITER if self.frame_format.aggregated else 0)
                sent = slice(SERVICE + 8 * begin, SERVICE + 8 * (mpdu.offset + len(mpdu.data)))
                scrambled[sent] = before.scrambled[sent]
        union, = self.payloads(scrambled[None], [after.checks_hold])
        return union


class JointField:
    """The data fields of users that are detected jointly, with methods of :class:`DataField`.

    Args:
        frame_format: a :class:`formats.Joint`.
        fields: list with the :class:`DataField` of each user.
    """

    def __init__(self, frame_format, fields):
        f = self.frame_format = frame_format
        self.users = fields
        ends = np.cumsum([0, *f.stream_bits])
        self._bits = [slice(ends[own.start], ends[own.stop]) for own in f.slices]

    def decode(self, llr):
        """Return a :class:`JointPayload` for each frame of ``llr`` (n, num_data, symbols, bits)."""
        users = [field.decode(np.ascontiguousarray(own))
                 for field, own in zip(self.users, self.divided(llr), strict=True)]
        return list(map(self.joined, zip(*users, strict=True)))

    def divided(self, llr):
        return [llr[..., own] for own in self._bits]

    def joined(self, payloads):
        return JointPayload(tuple(payloads))

    def merged(self, before, after):
        return JointPayload(tuple(
            field.merged(one, two)
            for field, one, two in zip(self.users, before.users, after.users, strict=True)))

    def points(self, scrambled, demodulated):
        sizes = np.cumsum([field.frame_format.num_scrambled for field in self.users])
        parts = np.split(scrambled, sizes[:-1], axis=1)
        return np.concatenate([
            field.points(bits, demodulated, streams) for field, bits, streams in zip(
                self.users, parts, self.frame_format.slices, strict=True)], axis=1)


class DataFields:
    """The :class:`DataField` of each format, made when it is first needed."""

    # With the LDPC code, a field takes 16 bytes for each coded bit of a frame.
    _MOST = 64

    def __init__(self):
        self._fields, self._ldpc_decoders = {}, {}

    def of(self, frame_format):
        """Return the field of a format."""
        f = frame_format
        if f not in self._fields:
            if len(self._fields) >= self._MOST:
                self._fields.clear()
            self._fields[f] = (
                JointField(f, [self.of(user) for user in f.users]) if isinstance(f, Joint)
                else DataField(f, ldpc_decoders=self._ldpc_decoders))
        return self._fields[f]


def viterbi_decoder(frame_format):
    """Return the C++ decoder of the convolutional code of frames; threads may share it."""
    f = frame_format
    return _viterbi_decoder(f.num_points, f.num_streams, f.stream_bits, f.num_encoders, f.segments,
                            f.code_rate, f.sent_coded_bits, f.symbols_per_code_block)


@lru_cache(maxsize=256)
def _viterbi_decoder(num_points, num_streams, stream_bits, encoders, segments, rate, sent, block):
    order = bit_order(num_points, num_streams, stream_bits, encoders, segments=segments)
    return _core.wifi.FrameDecoder(source=order, rate=rate, encoders=encoders, sent=sent,
                                   block=block, largest_mean=LARGEST_MEAN)


def _filled(f):
    """Return the places of the coded bits among those of all symbols; None if these are all.

    The last symbol of an HE frame may hold fewer coded bits, as may both symbols of its last
    space-time block. At rate 1/2, an odd number of bits in a symbol leaves one without a coded bit
    of the convolutional code (802.11ax-2021 §27.3.12.5.1).
    """
    whole, block, sent = f.coded_bits_per_symbol, f.symbols_per_code_block, f.sent_coded_bits
    last = min(f.last_coded_bits, sent)
    if last == whole:
        return None
    filled = np.zeros((f.num_symbols, whole), bool)
    filled[:-block, :sent] = True
    filled[-block:, :last] = True
    return np.flatnonzero(filled)


def demodulate_and_decode(frame_format, detector):
    """Return the arguments of ``_core.wifi.Demodulator.begin`` that let it decode frames too.

    The result is empty if some step has no C++: a detector in Python, vectors that are arranged
    for copies of a duplicate frame, unequal modulation with a space-time block code, or users that
    are detected jointly.

    Args:
        frame_format: a format of the frames' kind.
        detector: the detector; None only demodulates.
    """
    f, core = frame_format, getattr(detector, "core", None)
    if (core is None or not f.num_symbols or f.plan.copies > 1 or isinstance(f, Joint)
            or f.stbc and len(set(f.stream_constellations)) > 1):
        return {}
    return {"detector": core, "arranged": arrangement_of(f),
            "decoder": viterbi_decoder(f) if f.coding == "bcc" else _ldpc_decoder(f)}


def _ldpc_decoder(f):
    return _core.wifi.LdpcFrameDecoder(
        source=order_of(f), bits=sum(f.stream_bits), sent=f.sent_coded_bits,
        block=f.symbols_per_code_block, codes=_ldpc_codes(f.code_rate),
        iterations=LDPC_ITERATIONS, factor=LDPC_FACTOR)


@lru_cache
def _ldpc_codes(rate):
    """Return {length: (information bits, ones before each check, their columns)} of a rate."""
    codes = {}
    for length in WIFI_LENGTHS:
        code = wifi_code(length, rate)
        rows, columns = code.checks()
        first = np.append(0, np.cumsum(np.bincount(rows, minlength=code.num_checks)))
        codes[length] = code.num_info, first.tolist(), columns.tolist()
    return codes


def seed_of(service, degree=7):
    """Return the scrambler seed of a scrambled SERVICE field (bytes, one for each bit), or 0.

    ``degree`` is :func:`coding.scrambler_sequence`'s.
    """
    return _seed_of(service[:degree])


@lru_cache(maxsize=2048)
def _seed_of(start):
    return seed_from_service(np.frombuffer(start, np.uint8), len(start))


@lru_cache(maxsize=4096)
def carries_crc(service, sig_b):
    """Return whether the SERVICE field of a VHT frame holds the CRC of its VHT-SIG-B.

    Args:
        service: scrambled SERVICE field, a byte for each bit.
        sig_b: VHT-SIG-B without its tail, a byte for each bit.
    """
    seed = seed_of(service)
    sent = np.frombuffer(service, np.uint8) ^ (scrambler_sequence(seed, SERVICE) if seed else 0)
    return sent[8:].tobytes() == crc8(np.frombuffer(sig_b, np.uint8)).tobytes()


def with_sent_length(f, service, sig_b):
    """Return a VHT format with the length in its VHT-SIG-B if the SERVICE field proves this field.

    Other formats stay as they are. The arguments after the format are those of :func:`carries_crc`.
    """
    return with_length(f, sig_b) if sig_b and carries_crc(service, sig_b) else f


@lru_cache(maxsize=4096)
def with_length(f, sig_b):
    """Return a VHT format with the length field of its VHT-SIG-B bits, a byte for each bit."""
    return replace(f, apep_length=sig_b_length(f, np.frombuffer(sig_b, np.uint8)))
