# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE and EHT frames of the transmitter are those of others, sample by sample.

The frames of others lie in the folder MIMOPACK_CAPTURES. They have noise, a carrier offset and a
channel, which are estimated with the transmitter's samples as reference: the remaining error must
be the noise of the recording.
"""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gnuradio.mimopack.coding import scramble, seed_from_service
from gnuradio.mimopack.reference.wifi_he import Frame
from gnuradio.mimopack.wifi import EHT, HE, HEMU, Transmitter, eht_signal
from gnuradio.mimopack.wifi.bits import crc8
from gnuradio.mimopack.wifi.data_field import DataField

CAPTURES = os.environ.get("MIMOPACK_CAPTURES")
# Taps of the channel before and after the first sample of the frame.
BEFORE, AFTER = 3, 37
# Samples at the beginning of each symbol that may depend on the symbol before.
DELAYS = 16
# Samples by which the decoder's FFT windows begin early, for channels with taps before the first.
TIMING = 2


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
            whole = f.num_symbols if f.pre_fec_padding == 4 else full
            coded[:whole, self._code.coded_length(f.data_bits_per_symbol):] = (
                np.arange(whole)[:, None] % 2)
        coded[full:, f.last_coded_bits:] = np.arange(coded.shape[1] - f.last_coded_bits) % 2
        return np.take(coded, self.source, axis=1)


class SamePadding(DataField):
    """A data field with the padding of a frame that the decoder has decoded, the attribute found.
    """

    def encode(self, psdu, scrambler_seed=93):
        f = self.frame_format
        bits = self.found.payload.copy()
        bits[16:16 + 8 * len(psdu)] = np.unpackbits(np.frombuffer(psdu, np.uint8),
                                                    bitorder="little")
        coded, = self.code(scramble(bits, scrambler_seed, f.scrambler)[None])
        open_places = np.setdiff1d(np.arange(coded.size), np.arange(coded.size)
                                   if self.filled is None else self.filled)
        coded.ravel()[open_places] = self.found.coded.ravel()[open_places] > 0
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


def fitted(received, sent, rows):
    """Fit the channel and the rest of the carrier offset of some samples.

    Args:
        received: (n,) samples, almost without carrier offset.
        sent: (inputs, n) samples of the transmitter.
        rows: indices of the samples that count.

    Returns:
        (len(rows),) difference between what was received and what was sent through the channel.
    """
    columns = np.stack([np.roll(one, delay)[rows]
                        for one in sent for delay in range(-BEFORE, AFTER)], axis=1)
    received, parts = received[rows], np.array_split(np.arange(len(rows)), 16)
    centres = [rows[part].mean() for part in parts]
    for _ in range(4):
        through = columns @ np.linalg.lstsq(columns, received, rcond=None)[0]
        turn = np.array([np.vdot(through[part], received[part]) for part in parts])
        slope = np.polyfit(centres, np.unwrap(np.angle(turn)), 1, w=np.abs(turn))[0]
        received = received * np.exp(-1j * slope * rows)
    return received - through


def he_format(facts, **fields):
    """Return the format of a frame; its packet extension follows from its length."""
    f = HE.of_length(
        facts["mcs"], len(facts["psdu"]) // 2, gi_us=facts["gi_us"], ltf=facts["ltf"],
        coding=facts["coding"].lower(), stbc=facts["stbc"], dcm=bool(facts["dcm"]),
        midamble=facts["midamble"], **{"txop": 0, "beam_change": False} | fields)
    f = replace(f, packet_extension_us=(facts["samples"] - f.num_samples) // 20)
    assert f.num_samples == facts["samples"]
    return f


def check(samples, facts, f, sent, pieces):
    """Check that the error of each field and each data symbol is the noise of the recording.

    ``pieces`` are (first sample, end, number of inputs) of parts with the same channel. The points
    of HE-SIG-B are displaced on purpose, by up to -29 dB; its last symbol has other padding.
    """
    one = f.users[0]
    received = without_offset(samples[facts["start"]:][:f.num_samples])
    noise = np.mean(np.abs(received)**2) * 10**(-facts["snr_db"] / 10)
    displaced = np.mean(np.abs(received)**2) * 10**(-2.8)
    last_signal_b = 640 + 80 * (one.num_sig_b - 1)

    fields = [(0, 160), (160, 320), *((at, at + 80) for at in range(320, one.training_start, 80))]
    at = one.data_start - one.num_ltf * one.ltf_symbol
    for i in range(one.num_symbols + 1):
        # There is no midamble at the end of the data.
        if not i or (one.midamble and not i % one.midamble
                     and i // one.midamble <= one.num_midambles):
            for _ in range(one.num_ltf):
                fields.append((at, at + one.ltf_symbol))
                at += one.ltf_symbol
        if i < one.num_symbols:
            fields.append((at, at + one.symbol))
            at += one.symbol
    # The packet extension may be any signal.
    assert at == f.num_samples - 20 * one.packet_extension_us
    for begin, end, inputs in pieces:
        own = [np.arange(first + DELAYS, last - BEFORE) for first, last in fields
               if begin <= first and last <= (end or at)
               and not (one.num_sig_b and first == last_signal_b)]
        error = fitted(received, sent[:inputs], np.concatenate(own))
        powers = [np.mean(np.abs(part)**2) for part in
                  np.split(error, np.cumsum([rows.size for rows in own])[:-1])]
        limits = [2 * noise + displaced * (640 <= rows[0] < last_signal_b) for rows in own]
        assert (np.array(powers) < limits).all()


@pytest.mark.parametrize("frame", frames("he_su_bcc", "he_su_ldpc", "he_su_ampdu", "he_su_dcm"))
def test_he_su(frame):
    samples, facts = frame
    f = he_format(facts)
    assert f.length == len(facts["psdu"]) // 2
    sent = transmitter().frame(f, bytes.fromhex(facts["psdu"]))
    check(samples, facts, f, sent, parts(f))


def parts(f):
    """Return the parts of a frame for :func:`check`.

    The channel changes at midambles. With a space-time block code, the part before the HE-STF comes
    from one antenna only.
    """
    starts = [0]
    if f.stbc:
        starts.append(f.short_training_start)
    part, training = f.midamble * f.symbol, f.num_ltf * f.ltf_symbol
    starts += [f.data_start + part + i * (part + training) for i in range(f.num_midambles)]
    return [(begin, end, 2 if f.stbc and begin else 1)
            for begin, end in zip(starts, [*starts[1:], None], strict=True)]


@pytest.mark.parametrize("frame", frames("he_su_midamble"))
def test_he_su_with_midambles(frame):
    samples, facts = frame
    f = he_format(facts)
    assert f.num_midambles
    sent = transmitter().frame(f, bytes.fromhex(facts["psdu"]))
    check(samples, facts, f, sent, parts(f))


@pytest.mark.parametrize("frame", frames("he_su_stbc"))
def test_he_su_with_stbc(frame):
    """The part before the HE-STF comes from the first antenna only."""
    samples, facts = frame
    f = he_format(facts, beam_change=True)
    sent = transmitter(2).frame(f, bytes.fromhex(facts["psdu"]))
    check(samples, facts, f, sent, parts(f))


@pytest.mark.parametrize("frame", frames("he_er_su"))
def test_he_er_su(frame):
    """Atom-SignalLab's frame has other amplitudes than the standard before the data."""
    samples, facts = frame
    atom = "atom" in facts["file"]
    own = {"txop": 127, "bss_color": 1} if atom else {}
    f = he_format(facts, name="he-er-su", ru=(106, 2) if "106" in facts["ru"] else (242, 1),
                  beam_change=bool(facts["stbc"]), **own)
    sent = transmitter(1 + f.stbc).frame(f, bytes.fromhex(facts["psdu"]))
    check(samples, facts, f, sent, [(f.data_start, None, 1)] if atom else parts(f))


def he_mu_format(facts):
    """Return the format of an HE MU frame. Its PSDUs give the number of symbols."""
    index = {26: dict(zip(range(1, 10), range(1, 10), strict=True)), 52: {1: 1, 3: 2, 6: 3, 8: 4},
             106: {1: 1, 6: 2}, 242: {1: 1}}
    users = [{"sta_id": user["sta_id"], "ru": (user["ru"], index[user["ru"]][user["slot"]]),
              "mcs": user["mcs"], "coding": "ldpc" if user["ldpc"] else "bcc",
              "dcm": bool(user["dcm"])} for user in facts["user_list"]]
    lengths = tuple(len(user["psdu_hex"]) // 2 for user in facts["user_list"])
    told = re.search(r"SIG-B MCS (\d) DCM (\d)", facts["notes"])
    f = HEMU.of_lengths(
        users, lengths, sig_b_mcs=int(told[1]) if told else 0,
        sig_b_dcm=bool(told and int(told[2])), gi_us=facts["gi_us"],
        ltf=facts["ltf"], txop=0, bss_color=37, compressed="compressed" in facts["ru"])
    formats = [f] + [replace(f, users=tuple(
        replace(user, num_symbols=symbols, pre_fec_padding=padding, extra_symbol=extra)
        for user in f.users)) for symbols in (f.num_symbols - 1, f.num_symbols)
        for padding in range(1, 5) for extra in (False, True)]
    return next(f for f in formats
                if tuple(user.length for user in f.users) == lengths
                and f.num_samples == facts["samples"])


@pytest.mark.parametrize("frame", frames("he_mu"))
def test_he_mu(frame):
    samples, facts = frame
    f = he_mu_format(facts)
    sent = transmitter().frame(f, [bytes.fromhex(user["psdu_hex"]) for user in facts["user_list"]])
    check(samples, facts, f, sent, [(0, None, 1)])


@pytest.mark.parametrize("frame", frames("he_tb"))
def test_he_tb(frame):
    """With STBC, the post-FEC padding of the last two symbols is none that this test knows."""
    samples, facts = frame
    size, index = facts["ru"].split(" index ")
    trigger = facts["trigger"]
    f = HE(facts["mcs"], trigger["symbols"], gi_us=facts["gi_us"], ltf=facts["ltf"],
           coding=facts["coding"].lower(), stbc=facts["stbc"], dcm=bool(facts["dcm"]),
           pre_fec_padding=trigger["pre_fec_padding"], extra_symbol=bool(trigger["ldpc_extra"]),
           packet_extension_us=trigger["pe"], name="he-tb", ru=(int(size), int(index)),
           ltf_count=trigger["he_ltf"], txop=0, bss_color=37)
    assert f.legacy_length == trigger["ul_length"]
    assert f.length == len(facts["psdu"]) // 2
    sent = transmitter(1 + f.stbc).frame(f, bytes.fromhex(facts["psdu"]))
    pieces = parts(f)
    if f.stbc:
        pieces[-1] = f.short_training_start, f.num_samples - 2 * f.symbol, 2
    check(samples, facts, f, sent, pieces)


@pytest.mark.parametrize("frame", frames("eht"))
def test_eht(frame, monkeypatch):
    """U-SIG and EHT-SIG differ in what a receiver disregards, and in the punctured channels."""
    samples, facts = frame
    found = Frame(without_offset(samples[facts["start"] - TIMING:][:facts["samples"]]), taps=16)
    assert [psdu.hex() for psdu in found.psdus] == [facts["psdu"]]
    told, user = found.fields, found.fields["users"][0]
    f = EHT.of_length(
        facts["mcs"], len(facts["psdu"]) // 2, gi_us=facts["gi_us"], ltf=facts["ltf"],
        coding=facts["coding"].lower(), txop=told["txop"], bss_color=told["bss_color"],
        sta_id=user["sta_id"])
    extension = (facts["samples"] - f.num_samples) // 20
    f = replace(f, packet_extension_us=extension)
    assert (f.num_samples, f.length) == (facts["samples"], len(facts["psdu"]) // 2)
    u_sig, eht_sig = found.eht_signals
    for make, theirs, open_bits in (("u_sig", u_sig[:42], {*range(20, 26), *range(28, 35)}),
                                    ("eht_sig", eht_sig, {9, *range(13, 17), 35})):
        differ = np.flatnonzero(getattr(eht_signal, make)(f)[:42] != theirs)
        assert set(differ) <= open_bits, make
        bits = np.concatenate([theirs, crc8(theirs)[:4], np.zeros(6, np.uint8)])
        monkeypatch.setattr(eht_signal, make, lambda _, bits=bits: bits)
    field = SamePadding(f)
    field.found = found
    sender = Transmitter()
    sender._fields = SimpleNamespace(of=lambda _: field)
    seed = seed_from_service(found.sequence, 11)
    sent = sender.frame(f, bytes.fromhex(facts["psdu"]), seed)
    check(samples, facts, f, sent, [(0, None, 1)])


@pytest.mark.parametrize("frame", frames("he_su", "he_er_su", "he_mu", "he_tb"))
def test_the_decoder_that_is_read_with_the_standard(frame):
    samples, facts = frame
    received = without_offset(samples[facts["start"] - TIMING:][:facts["samples"]])
    trigger = common = None
    if "trigger" in facts:
        told = facts["trigger"]
        size, index = facts["ru"].split(" index ")
        trigger = [{"ru": (int(size), int(index)), "mcs": facts["mcs"], "dcm": bool(facts["dcm"]),
                    "coding": facts["coding"].lower(), "num_streams": 1}]
        common = {"gi_us": facts["gi_us"], "ltf": facts["ltf"], "stbc": facts["stbc"],
                  "midamble": 0, "ltf_count": told["he_ltf"], "pe_disambiguity": False,
                  "pre_fec_padding": told["pre_fec_padding"],
                  "extra_symbol": bool(told["ldpc_extra"])}
    found = Frame(received, trigger, common, taps=16)
    wanted = ([user["psdu_hex"] for user in facts["user_list"]] if "user_list" in facts
              else [facts["psdu"]])
    assert [psdu.hex() for psdu in found.psdus] == wanted
