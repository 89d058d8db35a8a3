# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames of the transmitter are those of another implementation, sample by sample.

The frames of others lie in the folder MIMOPACK_CAPTURES. They have noise, a carrier offset and a
channel, which are estimated with the transmitter's samples as reference: the remaining error must
be the noise of the recording.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack.coding import scramble
from gnuradio.mimopack.wifi import HE, Transmitter
from gnuradio.mimopack.wifi.data_field import DataField

CAPTURES = os.environ.get("MIMOPACK_CAPTURES")
# Taps of the channel before and after the first sample of the frame.
BEFORE, AFTER = 3, 37


class Field(DataField):
    """A data field with the padding of these recordings: 0 1 0 1 ..., before and after coding."""

    def encode(self, psdu, scrambler_seed=93):
        f = self.frame_format
        end = 16 + 8 * len(psdu)
        bits = np.zeros(f.num_scrambled, np.uint8)
        bits[16:end] = np.unpackbits(np.frombuffer(psdu, np.uint8), bitorder="little")
        bits[end:f.tail_position] = np.arange(f.tail_position - end) % 2
        coded, = self.code(scramble(bits, scrambler_seed)[None])
        full = f.num_symbols - f.symbols_per_code_block
        if f.coding == "bcc":
            # The position without a coded bit in each symbol, if there is one.
            coded[:full, self._code.coded_length(f.data_bits_per_symbol):] = (
                np.arange(full)[:, None] % 2)
        coded[full:, f.last_coded_bits:] = np.arange(coded.shape[1] - f.last_coded_bits) % 2
        return np.take(coded, self.source, axis=1)


class Fields:
    """The fields of each format, in place of the transmitter's."""

    @staticmethod
    def of(frame_format):
        return Field(frame_format)


def transmitter(num_tx=1):
    made = Transmitter(num_tx)
    made._fields = Fields
    return made


def frames(*names):
    """Return the frames of recordings as parameters of a test: (samples, facts)."""
    if CAPTURES is None:
        return [pytest.param(None, marks=pytest.mark.skip(
            reason="MIMOPACK_CAPTURES, a folder of recordings with known frames, is not set"))]
    found = []
    for path in sorted(Path(CAPTURES).rglob("*.he-truth.json")):
        if not path.name.startswith(names):
            continue
        data = path.with_name(path.name.replace(".he-truth.json", ".sigmf-data"))
        data = np.fromfile(data, "<i2")
        samples = (data[0::2] + 1j * data[1::2]) / 32768
        for facts in json.loads(path.read_text())["frames"]:
            found.append(pytest.param((samples, facts), id=facts["file"]))
    return found


def without_offset(received):
    """Remove the carrier offset that the training fields show."""
    n = np.arange(received.size)
    for first, last, lag in ((16, 144, 16), (192, 256, 64)):
        turn = np.vdot(received[first:last], received[first + lag:last + lag])
        received = received * np.exp(-1j * np.angle(turn) / lag * n)
    return received


def fitted(received, sent):
    """Fit channel and carrier offset of sent (inputs, n) to received (n,): both without offset.

    Returns:
        (received samples without the carrier offset, sent samples through the channel).
    """
    n = sent.shape[1]
    received = without_offset(received[:n])
    columns = np.stack([np.roll(one, delay) for one in sent for delay in range(-BEFORE, AFTER)], 1)
    for _ in range(4):
        taps = np.linalg.lstsq(columns, received, rcond=None)[0]
        through = columns @ taps
        turn = (through.conj() * received)[:n // 16 * 16].reshape(16, -1).sum(axis=1)
        slope = np.polyfit(np.arange(16), np.unwrap(np.angle(turn)), 1, w=np.abs(turn))[0]
        received = received * np.exp(-1j * slope / (n // 16) * np.arange(n))
    return received, through


def error_db(received, through):
    return 10 * np.log10(np.mean(np.abs(received - through)**2) / np.mean(np.abs(through)**2))


def he_format(facts, **fields):
    """Return the format of a frame; its packet extension follows from its length."""
    f = HE.of_length(
        facts["mcs"], len(facts["psdu"]) // 2, gi_us=facts["gi_us"], ltf=facts["ltf"],
        coding=facts["coding"].lower(), stbc=facts["stbc"], dcm=bool(facts["dcm"]),
        midamble=facts["midamble"], **{"txop": 0, "beam_change": False} | fields)
    f = replace(f, packet_extension_us=(facts["samples"] - f.num_samples) // 20)
    assert f.num_samples == facts["samples"]
    return f


@pytest.mark.parametrize("frame", frames("he_su_bcc", "he_su_ldpc", "he_su_ampdu", "he_su_dcm"))
def test_he_su(frame):
    samples, facts = frame
    f = he_format(facts)
    assert f.length == len(facts["psdu"]) // 2
    sent = transmitter().frame(f, bytes.fromhex(facts["psdu"]))
    # The packet extension may be any signal.
    sent = sent[:, :f.num_samples - 20 * f.packet_extension_us]
    received, through = fitted(samples[facts["start"]:], sent)
    starts = [160, 320, 400, 480, 640, 720, f.data_start,
              *range(f.data_start + f.symbol, sent.shape[1] + 1, f.symbol)]
    for begin, end in zip(starts, starts[1:], strict=False):
        assert error_db(received[begin:end], through[begin:end]) < 3 - facts["snr_db"]
