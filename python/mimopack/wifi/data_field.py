# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data field: PSDU to coded bits in the order of the subcarriers, and LLRs back to PSDUs."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .. import _core, coding
from ..coding import ConvolutionalCode, ldpc, scramble, scrambler_sequence, seed_from_service
from ..coding.convolutional import LARGEST_MEAN
from . import mac
from .formats.base import SERVICE, TAIL
from .interleaving import order_of
from .signal_fields import crc8, vht_sig_b

LDPC_ITERATIONS = 20
# Seeds by the first seven scrambled bits, the first one the highest of a number; and a period of
# each seed's sequence, none for seed 0.
_STARTS = np.arange(128)[:, None] >> np.arange(6, -1, -1) & 1
_SEEDS = [seed_from_service(start) for start in _STARTS]
_SEED_OF = {start.astype(np.uint8).tobytes(): seed
            for start, seed in zip(_STARTS, _SEEDS, strict=True)}
_SEQUENCES = np.stack([np.zeros(127, np.uint8),
                       *(scrambler_sequence(seed, 127) for seed in range(1, 128))])
_BY_START = _SEQUENCES[_SEEDS]


class Payload(NamedTuple):
    """Decoded bits of a frame.

    Attributes:
        psdu: bytes.
        scrambler_seed: found in the SERVICE field; 0 where there was none.
        checks_hold: whether all checks of the LDPC code hold; None with the convolutional code.
        scrambled: uint8, the decoded bits from the SERVICE field on, as they were scrambled.
        mpdus: tuple of :class:`mac.Mpdu`.
        complete: whether these are all MPDUs of the frame, see :func:`mac.split`.
    """

    psdu: bytes
    scrambler_seed: int
    checks_hold: bool | None
    scrambled: np.ndarray
    mpdus: tuple
    complete: bool

    @property
    def good(self):
        """Offsets of the MPDUs whose frame check sequence fits: a frozenset."""
        return frozenset(mpdu.offset for mpdu in self.mpdus if mpdu.fcs_ok)


class DataField:
    """Encoder and decoder of the data fields of one format. For one thread.

    Args:
        frame_format: a :class:`formats.FrameFormat`; all frames have its ``key``.
        threads: of the decoders, 0 takes all cores.
        ldpc_decoders: dictionary of (LDPC code, its decoder) by the code's name, which the fields
            of one thread share and add to; None makes its own.

    Attributes:
        order: where each coded bit of a symbol is sent, see :func:`interleaving.bit_order`.
        source: which coded bit is sent in each place, the inverse of ``order``.
        decoder: ``ldpc.WifiFrameDecoder`` of an LDPC format.
        viterbi: C++ decoder of a format with the convolutional code.
        descrambler: C++ descrambler.

    IEEE 802.11-2020 §17.3.5, §19.3.11, §21.3.10.
    """

    def __init__(self, frame_format, threads=1, ldpc_decoders=None):
        f = self.frame_format = frame_format
        self.order = order_of(f)
        self.source = np.argsort(self.order)
        self._threads = threads
        if f.coding == "ldpc":
            matching = f.ldpc_matching
            name = f"wifi:{matching.code.num_bits}:{f.code_rate}"
            kept = {} if ldpc_decoders is None else ldpc_decoders
            if name not in kept:
                code = coding.get(name)
                # Batches are those of a few frames: too small for a GPU.
                kept[name] = code, code.decoder(iterations=LDPC_ITERATIONS, threads=threads,
                                                backend="cpu")
            self._code, decoder = kept[name]
            # Of whole codewords: the payload's bits are taken from frames.
            self.decoder = ldpc.WifiFrameDecoder(matching, decoder.decoder)
        else:
            self._code = ConvolutionalCode(f.code_rate)
            # Input bits of each encoder that are followed by zeros only, or by padding.
            trellis = (f.tail_position + TAIL * f.num_encoders) // f.num_encoders
            self.viterbi = _core.wifi.FrameDecoder(
                source=self.order, rate=f.code_rate, encoders=f.num_encoders,
                count=trellis - TAIL, largest_mean=LARGEST_MEAN)
        end = f.num_scrambled
        if f.coding == "bcc":
            end = f.tail_position + TAIL * f.num_encoders
        self.descrambler = _core.wifi.Descrambler(
            sequences=_BY_START, size=f.num_scrambled, end=end, service=SERVICE, length=f.length,
            aggregated=f.aggregated)

    def encode(self, psdu, scrambler_seed=93):
        """Bits as they are sent.

        Args:
            psdu: bytes, ``frame_format.length`` of them.
            scrambler_seed: 1..127.

        Returns:
            uint8 (num_symbols, num_data * num_streams * m): subcarriers ascending, stream by
            stream, most significant bit first.

        Raises:
            ValueError: the PSDU has another length, or the seed is not as above.
        """
        f = self.frame_format
        if len(psdu) != f.length:
            raise ValueError(f"psdu: got {len(psdu)} bytes, the format has {f.length}")
        bits = np.zeros(f.num_scrambled, np.uint8)
        payload = np.unpackbits(np.frombuffer(psdu, np.uint8), bitorder="little")
        bits[SERVICE:SERVICE + payload.size] = payload
        if f.name == "vht":
            bits[8:SERVICE] = crc8(vht_sig_b(f))
        coded, = self.code(scramble(bits, scrambler_seed)[None])
        return np.take(coded, self.source, axis=1)

    def code(self, bits):
        """Coded bits of what the SERVICE field and all behind it are when scrambled.

        Args:
            bits: uint8 (n, num_scrambled), as ``Payload.scrambled``.

        Returns:
            uint8 (n, num_symbols, bits) in the order of the code; they are sent in that of
            ``source``.
        """
        f, n = self.frame_format, len(bits)
        if f.coding == "ldpc":
            coded = np.stack([f.ldpc_matching.encode(np.ascontiguousarray(one), self._code)
                              for one in bits])
            return coded.reshape(n, f.num_symbols, -1)
        bits = bits.copy()
        bits[:, f.tail_position:f.tail_position + TAIL * f.num_encoders] = 0
        if f.num_encoders == 1:
            return self._code.encode(bits).reshape(n, f.num_symbols, -1)
        coded = np.stack([self._code.encode(bits[:, i::f.num_encoders])
                          for i in range(f.num_encoders)])
        coded = coded.reshape(f.num_encoders, n, f.num_symbols, -1).transpose(1, 2, 0, 3)
        return np.ascontiguousarray(coded).reshape(n, f.num_symbols, -1)

    @staticmethod
    def carries_crc(payload, sig_b):
        """Whether the SERVICE field of a VHT frame holds the CRC of its VHT-SIG-B's bits."""
        sequence = _SEQUENCES[payload.scrambler_seed, 8:SERVICE]
        return (payload.scrambled[8:SERVICE] ^ sequence).tobytes() == _crc_of(sig_b.tobytes())

    def decode(self, llr):
        """Decode frames.

        Args:
            llr: float32 (n, num_symbols, num_data * num_streams * m) as :meth:`encode` orders
                bits, ln P(1)/P(0); or (n, num_data, num_symbols, num_streams * m) as detectors
                order them. What is not finite is an erasure.

        Returns:
            list of n :class:`Payload`.

        Raises:
            ValueError: another shape.
        """
        f = self.frame_format
        symbols, carriers, bits = f.num_symbols, f.plan.num_data, self.order.size
        shapes = ((symbols, bits), (carriers, symbols, bits // carriers))
        if llr.shape[1:] not in shapes:
            first, second = (", ".join(map(str, shape)) for shape in shapes)
            raise ValueError(f"llr: got shape {llr.shape}, must be (n, {first}) or (n, {second})")
        llr = np.ascontiguousarray(llr if llr.ndim == 4 else llr[:, None], np.float32)
        if f.coding == "ldpc":
            coded = _core.wifi.order(llr, source=self.order)
            self.decoder.decode(coded.reshape(len(coded), -1))
            return self.payloads(self.decoder.bits, self.decoder.found.tolist())
        bits = self.viterbi.decode(llr, self._threads)
        return self.payloads(bits, [None] * len(bits))

    def payloads(self, scrambled, holds):
        """Descramble frames.

        Args:
            scrambled: uint8 (n, num_scrambled), decoded bits; with the convolutional code bits of
                the tail may be missing at the end, and the padding behind it is filled in.
            holds: n values for ``checks_hold``.

        Returns:
            list of n :class:`Payload`.
        """
        return self.taken_apart(*self.descrambler.run(np.ascontiguousarray(scrambled)), holds)

    def taken_apart(self, psdus, scrambled, places, holds):
        """Make payloads of what ``descrambler`` found.

        Args:
            psdus: uint8 (n, length).
            scrambled: uint8 (n, num_scrambled), the bits with padding.
            places: n pairs of what :func:`mac.at_places` takes behind the PSDU.
            holds: as for :meth:`payloads`.

        Returns:
            list of n :class:`Payload`.
        """
        found = []
        for psdu, row, of_one, ok in zip(psdus, scrambled, places, holds, strict=True):
            psdu, seed = psdu.tobytes(), _SEED_OF[row[:7].tobytes()]
            found.append(Payload(psdu, seed, ok, row, *mac.at_places(psdu, *of_one)))
        return found

    def merged(self, before, after):
        """The union of what two attempts made of a frame: the :class:`Payload` ``after``, with the
        bits of MPDUs that only ``before`` has right."""
        if before.good <= after.good:
            return after
        scrambled = after.scrambled.copy()
        scrambled[:SERVICE] = before.scrambled[:SERVICE]    # the seed must be right
        for mpdu in before.mpdus:
            if mpdu.fcs_ok:
                begin = mpdu.offset - (mac.DELIMITER if self.frame_format.aggregated else 0)
                sent = slice(SERVICE + 8 * begin, SERVICE + 8 * (mpdu.offset + len(mpdu.data)))
                scrambled[sent] = before.scrambled[sent]
        union, = self.payloads(scrambled[None], [after.checks_hold])
        return union


@lru_cache(maxsize=4096)
def _crc_of(bits):
    return crc8(bits).tobytes()
