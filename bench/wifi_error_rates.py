#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate the packet error rate of the Wi-Fi receiver over SNR.

    bench/wifi_error_rates.py sensitivity [--frames 400] [--processes 2] [--output FILE.json]
    bench/wifi_error_rates.py he          [...]
    bench/wifi_error_rates.py mu-mimo     [...]
    bench/wifi_error_rates.py detectors   [...]

Processes share the cores. Set OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 to keep each process to one.

Frames have 500 bytes. There are two channels. In "awgn", each stream arrives at its own antenna.
"tdl" is TDL-B of 3GPP TR 38.901 with 50 ns rms delay spread, static, with a new realisation for
each frame. The SNR is the mean power at a receive antenna over the noise in the same bandwidth. All
receivers get the same frames, and all SNRs use the same channels. A packet is lost if its bytes are
not recovered.

"sensitivity" compares receivers for formats of one to four streams, with as many receive antennas:

    known    timing, offset, channel and noise are known
    aligned  timing and offset are known; channel, noise and phase are estimated
    single   the whole receiver, with one pass over each frame
    whole    the whole receiver; frames with a wrong check sequence train a second pass

The samples of the last two have an offset of 40 kHz.

"he" does the same for HE SU frames with 2x and 4x HE-LTFs, and has a further receiver:

    mmse     the whole receiver with MMSE in place of N-way, for several streams

"mu-mimo" compares MMSE and N-way in the whole receiver for two users of two streams each, who share
a resource unit of 242 tones, with four antennas. A packet then holds the bytes of both users.

"detectors" compares detectors in the whole receiver. Antennas are uncorrelated, or have a
correlation of 0.7 between neighbours on both sides.

The SNR increases in steps of 1 dB until all receivers lose less than one packet in fifty. The SNR
at a loss of one packet in ten is interpolated on a logarithmic scale.
"""

import argparse
from itertools import islice
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from gnuradio.mimopack import channel, detectors
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import (
    HE,
    HEMU,
    HT,
    VHT,
    NonHT,
    Receiver,
    Transmitter,
    carriers,
    mac,
    training,
)
from gnuradio.mimopack.wifi.data_field import DataField
from gnuradio.mimopack.wifi.demodulator import Demodulator
from gnuradio.mimopack.wifi.points import to_symbols
from gnuradio.mimopack.wifi.windows import FrameSamples

PAYLOAD, DELAY_SPREAD, CFO = 500, 50e-9, 40e3
PAD = 500          # samples of noise around a frame
WINDOW = -6        # start of the known receivers' FFT windows, samples at 20 MS/s
BATCH = 20
TARGET, LAST, MOST = 0.1, 0.02, 25

# Name: (function from PSDU length to format, streams, first SNR in AWGN, first SNR in TDL).
FORMATS = {
    "non-HT 6": (lambda n: NonHT(6, n), 1, -2, 0),
    "non-HT 24": (lambda n: NonHT(24, n), 1, 6, 8),
    "non-HT 54": (lambda n: NonHT(54, n), 1, 15, 18),
    "HT MCS 0": (lambda n: HT(0, n), 1, -2, 0),
    "HT MCS 3": (lambda n: HT(3, n), 1, 6, 8),
    "HT MCS 6": (lambda n: HT(6, n), 1, 15, 18),
    "HT MCS 9": (lambda n: HT(9, n), 2, 1, 2),
    "HT MCS 12": (lambda n: HT(12, n), 2, 10, 13),
    "HT MCS 15": (lambda n: HT(15, n), 2, 17, 21),
    "HT MCS 18": (lambda n: HT(18, n), 3, 4, 6),
    "HT MCS 21": (lambda n: HT(21, n), 3, 14, 18),
    "HT MCS 24": (lambda n: HT(24, n), 4, -2, 0),
    "HT MCS 27": (lambda n: HT(27, n), 4, 7, 10),
    "HT MCS 30": (lambda n: HT(30, n), 4, 16, 20),
    "VHT MCS 8": (lambda n: VHT.of_length(8, n), 1, 20, 23),
    "VHT MCS 9, 40 MHz": (lambda n: VHT.of_length(9, n, bandwidth_mhz=40), 1, 22, 25),
}
HE_FORMATS = {
    f"HE MCS {mcs} x{streams}, {ltf}x LTF": (
        (lambda n, mcs=mcs, streams=streams, ltf=ltf, gi=gi: HE.of_length(
            mcs, n, streams, ltf=ltf, gi_us=gi, coding="ldpc")), streams, *first)
    for mcs, streams, *first in ((3, 1, 3, 6), (7, 1, 12, 16), (11, 1, 22, 26), (4, 2, 6, 9),
                                 (8, 2, 16, 20), (3, 4, 5, 8), (7, 4, 13, 18))
    for ltf, gi in ((2, 0.8), (4, 3.2))}
DETECTORS = {
    "mmse": {"detector": "mmse"}, "nway": {"detector": "nway"}, "mla": {"detector": "mla"},
    "nway, 2 iterations": {"detector": "nway", "iterations": 2},
    "nway, 4 iterations": {"detector": "nway", "iterations": 4},
}


class Link:
    """Frames of one format through a channel.

    Args:
        frame_format_of: function that makes the format for a PSDU length in bytes.
        antennas: number of antennas on each side.
        kind: "awgn" or "tdl".
        rho: correlation of neighbouring antennas.
    """

    def __init__(self, frame_format_of, antennas, kind, rho=0.0):
        self.format = frame_format_of(PAYLOAD)
        self.antennas, self.kind, self.rho = antennas, kind, rho
        self.scale = self.format.bandwidth_mhz // 20
        self.rate = 20e6 * self.scale
        self._transmitter = Transmitter(antennas, self.format.bandwidth_mhz * 1e6)

    def frames(self, snr_db, count):
        """Yield (PSDU, samples, start of the frame, response (fft, rx, tx), noise variance)."""
        rng = np.random.default_rng(1)
        tdl = channel.MIMOChannel(self.antennas, self.antennas, "tdl_b", DELAY_SPREAD, self.rate,
                                  rho_tx=self.rho, rho_rx=self.rho, seed=2)
        power = 1 / self.antennas if self.kind == "awgn" else 1.0
        noise_var = power * 10 ** (-snr_db / 10)
        for _ in range(count):
            f = self.format
            psdus = [_psdu(user, rng) for user in (f.users if isinstance(f, HEMU) else (f,))]
            sent = np.pad(self._transmitter.frame(f, psdus if isinstance(f, HEMU) else psdus[0],
                                                  int(rng.integers(1, 128))),
                          ((0, 0), (PAD, PAD)))
            start, fft = PAD, 64 * self.scale * self.format.density
            if self.kind == "awgn":
                received = sent.astype(complex)
                response = np.broadcast_to(np.eye(self.antennas), (fft, self.antennas,
                                                                   self.antennas))
            else:
                tdl.renew()
                received = tdl.apply(sent).astype(complex)
                response, start = tdl.frequency_response(fft), PAD + tdl.latency
            noise = rng.standard_normal((2, *received.shape)) * np.sqrt(noise_var / 2)
            received += noise[0] + 1j * noise[1]
            yield b"".join(psdus), received.astype(np.complex64), start, response, noise_var


def _psdu(f, rng):
    if f.aggregated:
        body = rng.bytes(PAYLOAD - 8)
        return mac.aggregate([body + mac.fcs(body)], f.length)
    body = rng.bytes(f.length - mac.FCS)
    return body + mac.fcs(body)


class Known:
    """Receivers that know timing and offset of a frame, and optionally its channel and noise."""

    def __init__(self, link):
        f = self.format = link.format
        self._scale, self._fft = link.scale, 64 * link.scale * f.density
        self._demodulator = Demodulator(f, link.scale)
        self._field = DataField(f)
        kind = detectors.MMSE if f.num_streams == 1 else detectors.REGISTRY["nway"]
        if f.num_streams > 1 and f.bits_per_carrier == 1:
            kind = detectors.MLA
        self._detector = kind(f.num_streams, link.antennas, f.constellation, threads=1)
        k = f.plan.used[f.plan.data_index]
        advance = (training.LEGACY_ADVANCE if f.name == "non-ht"
                   else training.STREAM_ADVANCE)[link.antennas]
        shift = training.cyclic_shift(k, advance, 64 * f.density)
        if f.density == 1:
            shift = shift * carriers.rotation(f.bandwidth_mhz, k)[:, None]
        early = np.exp(2j * np.pi / 64 / f.density * k * WINDOW)[:, None]
        used = f.plan.used.size
        self._shaping = shift * early / np.sqrt(link.antennas * used) * self._fft
        self._bins = k % self._fft

    def receive(self, frames, everything):
        """Return the PSDUs of frames from :class:`Link`."""
        f, guard = self.format, training.GUARD * self._scale
        size = (f.num_samples - 192) * self._scale + 2 * guard
        samples = np.zeros((len(frames), frames[0][1].shape[0], size), np.complex64)
        for row, (_, received, start, _, _) in zip(samples, frames, strict=True):
            first = start + (192 + WINDOW) * self._scale - guard
            part = received[:, first:first + size]
            row[:, :part.shape[1]] = part
        if everything:
            y, h, noise = self._exact(samples, frames)
        else:
            n = len(samples)
            task = self._demodulator.begin(
                FrameSamples(list(samples), [guard] * n, [0.0] * n), [f] * n)
            task.run()
            vectors = self._demodulator.demodulated(task, range(n))
            y, h, noise = vectors.y, vectors.h, vectors.noise_var
        n, num_data, symbols, rows = y.shape
        llr = self._detector.detect(
            np.ascontiguousarray(y.reshape(-1, rows)),
            np.ascontiguousarray(h.reshape(n * num_data, rows, -1)),
            np.repeat(noise, num_data * symbols).astype(np.float32))
        return [payload.psdu for payload in self._field.decode(
            to_symbols(llr.reshape(n, num_data, symbols, -1), f))]

    def _exact(self, samples, frames):
        f, guard = self.format, training.GUARD
        starts = f.data_start + f.guard - 192 + guard + f.symbol * np.arange(f.num_symbols)
        index = starts[:, None] * self._scale + np.arange(self._fft)
        y = np.fft.fft(samples[:, :, index], axis=-1)[..., self._bins]
        y = y.transpose(0, 3, 2, 1).astype(np.complex64)
        h = np.stack([response[self._bins] * self._shaping[:, None, :]
                      for _, _, _, response, _ in frames])
        if f.name == "non-ht":
            h = h.sum(axis=3, keepdims=True)
        noise = np.array([noise_var * self._fft for *_, noise_var in frames])
        return y, h.astype(np.complex64), noise


def whole(frames, link, **options):
    """Return the PSDUs that the whole receiver finds in frames with a carrier offset."""
    stream = np.concatenate([received for _, received, *_ in frames], axis=1)
    turn = np.exp(2j * np.pi * CFO / link.rate * np.arange(stream.shape[1]))
    receiver = Receiver(link.antennas, link.rate, backend="cpu", **options)
    reports = receiver.process((stream * turn).astype(np.complex64)) + receiver.finish()
    return [b"".join(user.psdu for user in frame.parts) for frame in reports]


def lost(link, receivers, snr_db, count):
    """Return the number of packets that each receiver loses, as a dictionary."""
    missed = dict.fromkeys(receivers, 0)
    frames = link.frames(snr_db, count)
    while batch := list(islice(frames, BATCH)):
        for name, receive in receivers.items():
            psdus = receive(batch)
            missed[name] += sum(psdu not in psdus for psdu, *_ in batch)
    return missed


def curve(task):
    """Return the rows of a case: (description, first SNR, frames, link, function for receivers)."""
    case, first, count, link, make = task
    receivers = make(link)
    rows = []
    for snr_db in range(first, first + MOST):
        missed = lost(link, receivers, snr_db, count)
        rows += [{**case, "receiver": name, "snr_db": snr_db, "frames": count, "lost": number}
                 for name, number in missed.items()]
        if all(number < LAST * count for number in missed.values()):
            break
    return rows


def sensitivity_receivers(link):
    known = Known(link)
    return {"known": lambda frames: known.receive(frames, True),
            "aligned": lambda frames: known.receive(frames, False),
            "single": lambda frames: whole(frames, link, passes=1),
            "whole": lambda frames: whole(frames, link)}


def he_receivers(link):
    receivers = sensitivity_receivers(link)
    if link.antennas > 1:
        receivers["mmse"] = lambda frames: whole(frames, link, detector="mmse")
    return receivers


def detector_receivers(link):
    return {name: (lambda frames, options=options: whole(frames, link, **options))
            for name, options in DETECTORS.items()}


class _FormatOf:
    """A function from PSDU length to format, by name. Processes can receive it."""

    def __init__(self, name):
        self.name = name

    def __call__(self, length):
        return (FORMATS | HE_FORMATS)[self.name][0](length)


class _MuMimoOf:
    """A function from length to the format of two users with two streams each, for "mu-mimo"."""

    def __init__(self, mcs):
        self.mcs = mcs

    def __call__(self, length):
        users = [{"sta_id": i + 1, "ru": (242, 1), "mcs": mcs, "num_streams": 2, "coding": "ldpc"}
                 for i, mcs in enumerate(self.mcs)]
        return HEMU.of_lengths(users, [length] * 2, ltf=4, gi_us=3.2)


class _HtOf:
    """A function from PSDU length to HT format, for "detectors"."""

    def __init__(self, mcs, coding):
        self.mcs, self.coding = mcs, coding

    def __call__(self, length):
        return HT(self.mcs, length, coding=self.coding)


def sensitivity_tasks(count):
    return [({"format": name, "channel": kind}, starts[kind == "tdl"], count,
             Link(_FormatOf(name), streams, kind), sensitivity_receivers)
            for name, (_, streams, *starts) in FORMATS.items() for kind in ("awgn", "tdl")]


def he_tasks(count):
    return [({"format": name, "channel": kind}, starts[kind == "tdl"], count,
             Link(_FormatOf(name), streams, kind), he_receivers)
            for name, (_, streams, *starts) in HE_FORMATS.items() for kind in ("awgn", "tdl")]


def mu_mimo_receivers(link):
    return {name: (lambda frames, name=name: whole(frames, link, detector=name))
            for name in ("mmse", "nway")}


def mu_mimo_tasks(count):
    return [({"format": "HE MU", "mcs": f"{mcs[0]} and {mcs[1]}"}, first, count,
             Link(_MuMimoOf(mcs), 4, "tdl"), mu_mimo_receivers)
            for mcs, first in (((3, 3), 12), ((7, 7), 20), ((4, 8), 25))]


def detector_tasks(count):
    tasks = []
    for antennas, mcs, first in ((2, 11, 8), (3, 19, 9), (4, 27, 10), (2, 13, 14), (4, 29, 16)):
        for coding in ("bcc", "ldpc"):
            for rho in (0.0, 0.7):
                case = {"format": f"HT MCS {mcs}", "antennas": antennas, "coding": coding,
                        "correlation": rho}
                tasks.append((case, first + (3 * antennas // 2 if rho else 0), count,
                              Link(_HtOf(mcs, coding), antennas, "tdl", rho),
                              detector_receivers))
    return tasks


TASKS = {"sensitivity": sensitivity_tasks, "he": he_tasks, "mu-mimo": mu_mimo_tasks,
         "detectors": detector_tasks}


def needed_db(rows):
    """Return the SNR at a loss of one packet in ten, interpolated on a log scale; None outside."""
    points = [(row["snr_db"], np.log(max(row["lost"], 0.5) / row["frames"])) for row in rows]
    for (low, above), (high, below) in zip(points[:-1], points[1:], strict=True):
        if above >= np.log(TARGET) > below:
            return round(low + (high - low) * (above - np.log(TARGET)) / (above - below), 2)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=TASKS)
    parser.add_argument("--frames", type=int, default=400, help="frames per point")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", help="formats whose name contains this")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    tasks = TASKS[arguments.suite](arguments.frames)
    tasks = [task for task in tasks if (arguments.only or "") in task[0]["format"]]
    results, needs = [], []
    with Pool(arguments.processes) as pool:
        for rows in pool.imap_unordered(curve, sorted(tasks, key=lambda task: -task[3].antennas)):
            results += rows
            case = {key: value for key, value in rows[0].items()
                    if key not in ("receiver", "snr_db", "frames", "lost")}
            names = dict.fromkeys(row["receiver"] for row in rows)
            needs.append({**case, "snr_db": {name: needed_db(
                [row for row in rows if row["receiver"] == name]) for name in names}})
            print(*case.values(), needs[-1]["snr_db"], flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": f"packet error rates of the Wi-Fi receiver, {arguments.suite}; simulated",
             "machine": describe(), "payload_bytes": PAYLOAD, "delay_spread_s": DELAY_SPREAD,
             "target": TARGET, "needs": needs, "results": results}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
