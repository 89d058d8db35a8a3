# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one detector made of a recording: packets, bit errors, rates."""

from dataclasses import dataclass

import numpy as np

# A frame belongs to the annotation whose start is at most this many samples away.
_SAME_FRAME = 40
# Frames whose vectors and LLRs are kept for pictures and timing.
KEPT_FRAMES = 64


@dataclass(frozen=True)
class PacketLine:
    """A packet as the receiver reported it."""

    number: int
    start: int
    cfo: float
    snr_db: float
    condition_db: float
    crc_ok: bool


@dataclass(frozen=True)
class KeptFrame:
    """A frame's vectors: y (n, nr), h (n, nr, nt), llr (n, nt*m), sent bits as llr or None."""

    information: dict
    y: np.ndarray
    h: np.ndarray
    llr: np.ndarray
    bits: np.ndarray | None


class Truth:
    """What a recording's annotations say was sent, found by the start of a frame.

    Args:
        frames: ``recording.TrueFrame`` in the order of their start.
        transmitter: ``ofdm.Transmitter``, which knows the coded bits of a payload.
    """

    def __init__(self, frames, transmitter):
        length = transmitter.parameters.payload_length
        self.frames = [frame for frame in frames
                       if frame.payload is not None and len(frame.payload) == length]
        self._starts = np.array([frame.start for frame in self.frames])
        self._transmitter = transmitter

    def __bool__(self):
        return bool(self.frames)

    def find(self, start):
        """The frame that begins near a sample, or None."""
        if not self.frames:
            return None
        nearest = int(np.argmin(np.abs(self._starts - start)))
        return self.frames[nearest] if abs(self._starts[nearest] - start) <= _SAME_FRAME else None

    def coded_bits(self, frame):
        """uint8 in the order of a detector's LLRs."""
        return self._transmitter.coded_bits(frame.payload)


class Tally:
    """Counts what a detector's flowgraph delivers.

    With a truth, bit errors are counted against it: before decoding those of hard decisions on
    the LLRs, after decoding those of the payload, CRC or not, both over the frames that were
    found. Without one, those before decoding are counted over packets with fitting CRC against
    these packets encoded again, and none can be known after decoding.
    """

    def __init__(self, detector, truth, on_line=None):
        self.detector = detector
        self.lines = []
        self.kept = []
        self.decoded_starts = set()
        self._truth = truth
        self._on_line = on_line
        self._coded = [0, 0]
        self._payload = [0, 0]
        self._by_snr = {frame.snr_db: [0, 0] for frame in truth.frames}
        for frame in truth.frames:
            self._by_snr[frame.snr_db][1] += 1
        self._num_decoded = 0
        self._false = 0
        self._passes = 0

    def add_packet(self, information, payload):
        """A packet that came out of the receiver."""
        crc_ok = bool(information["crc_ok"])
        line = PacketLine(information["frame"], information["start"], information["cfo"],
                          information["snr_db"], information["condition_db"], crc_ok)
        self.lines.append(line)
        self._passes += information["iterations"]
        if self._on_line:
            self._on_line(line)
        if not self._truth:
            self._num_decoded += crc_ok
            if crc_ok:
                self.decoded_starts.add(line.start)
                self._count(self._coded, information["coded_bit_errors"],
                            information["coded_bits"])
            return
        sent = self._truth.find(line.start)
        if sent is None:
            self._false += 1
            return
        wrong = np.unpackbits(np.frombuffer(payload, np.uint8)
                              ^ np.frombuffer(sent.payload, np.uint8))
        self._count(self._payload, int(wrong.sum()), wrong.size)
        # A fitting CRC over wrong bytes is no decoded packet.
        if crc_ok and payload == sent.payload:
            self._num_decoded += 1
            self._by_snr[sent.snr_db][0] += 1
            self.decoded_starts.add(sent.start)

    def add_frame(self, information, llr, y, h):
        """The vectors and LLRs of a frame."""
        sent = self._truth.find(information["start"])
        bits = None if sent is None else self._truth.coded_bits(sent)
        if bits is not None:
            self._count(self._coded, int(np.count_nonzero((llr > 0) != bits)), bits.size)
        if len(self.kept) < KEPT_FRAMES:
            self.kept.append(KeptFrame(information, y, h.reshape(len(h), y.shape[1], -1), llr,
                                       bits))

    @staticmethod
    def _count(pair, errors, total):
        pair[0] += errors
        pair[1] += total

    def summary(self):
        """A dictionary for the table and for JSON; rates are None where nothing was counted."""
        known = bool(self._truth)
        total = len(self._truth.frames) if known else len(self.lines)
        return {
            "detector": self.detector,
            "packets_sent": total if known else None,
            "packets_found": len(self.lines) - self._false,
            "packets_decoded": self._num_decoded,
            "packet_error_rate": 1 - self._num_decoded / total if total else None,
            "passes": self._passes / len(self.lines) if self.lines else None,
            "packet_error_rate_of": "sent" if known else "found",
            "bit_error_rate_before_decoding": _rate(self._coded),
            "bit_error_rate_against": ("annotations" if known
                                       else "decoded packets encoded again"),
            "bit_error_rate_after_decoding": _rate(self._payload),
            "false_detections": self._false if known else None,
            "decoded_by_snr": [
                {"snr_db": snr, "decoded": decoded, "sent": sent}
                for snr, (decoded, sent) in sorted(self._by_snr.items())
                if snr is not None] if known else None,
        }


def _rate(pair):
    return pair[0] / pair[1] if pair[1] else None
