#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare decoders of the convolutional code with GNU Radio and libfec.

    bench/viterbi.py [--seconds 0.3] [--rounds 5] [--blocks 400] [--threads N] [--output FILE.json]

Rates are in information bits. They use the processor time of the calling thread, or with several
threads the wall clock. The figures are the median and the best of several rounds, in which all
decoders take turns on the same LLRs: AWGN with BPSK and 1e-5 to 1e-3 bit errors. "soft" is
``coding.ConvolutionalDecoder``, which gives LLRs. GNU Radio's decoder is gr-fec's
``fec.cc_decoder``, called block by block. It takes bytes with erasures inserted; the preparation in
NumPy is timed once with and once without. The same applies to libfec (P. Karn), if its library is
installed (apt-get install libfec0).

The loss is the additional SNR that the Viterbi decoder needs because it rounds LLRs, relative to
the reference in double precision, at equal bit error rate. It is computed from the ratio of their
errors on the same noise and the slope of the reference's bit error rate. Ranges are the 2.5 % and
97.5 % quantiles from redrawing the blocks (bootstrap). The Rayleigh channel has a new amplitude for
every coded bit. ``--blocks 0`` leaves out the loss.
"""

import argparse
import ctypes
import ctypes.util
import os
import time
from pathlib import Path

import numpy as np
from gnuradio.mimopack import _core, coding, reference
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.coding.convolutional import GENERATORS, PUNCTURING, TAIL
from gnuradio.mimopack.text import json_rows

# (number of blocks, bits per block)
BATCHES = ((1, 12000), (64, 4000), (64, 12000), (1000, 24))
# Es/N0 in dB at which the reference has about 1e-2 and 2e-3 bit errors, by channel and rate.
POINTS = {"AWGN": {"1/2": (-1.4, -0.8), "2/3": (0.6, 1.2), "3/4": (1.7, 2.2), "5/6": (2.7, 3.2)},
          "Rayleigh": {"1/2": (1.0, 1.8), "2/3": (4.0, 5.0), "3/4": (6.0, 7.0), "5/6": (8.5, 9.5)}}
TARGETS = {"avx512": 500, "avx2": 250}    # Mbit/s per core
LOSS_BITS, DRAWS = 2000, 500
SPEED_DB = 1.5    # above the second point

_make_capsule = ctypes.pythonapi.PyCapsule_New
_make_capsule.restype = ctypes.py_object
_make_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class GnuRadioDecoder:
    """gr-fec's decoder for blocks of one length."""

    def __init__(self, rate, num_bits):
        from gnuradio import fec

        # gr-fec keeps the newest bit in the least significant place, so reverse the generators.
        generators = [int("".join(map(str, g[::-1])), 2) for g in GENERATORS]
        self._decoder = fec.cc_decoder.make(num_bits, 7, 2, generators, 0, 0, fec.CC_TERMINATED)
        size = 2 * (num_bits + TAIL)
        self._places = np.flatnonzero(np.resize(PUNCTURING[rate], size))
        self._soft = np.full(size, 128, np.uint8)
        self._bits = np.empty(num_bits, np.uint8)
        self._input, self._output = (_make_capsule(array.ctypes.data, None, None)
                                     for array in (self._soft, self._bits))

    def decode(self, llr):
        to_bytes(llr, self._soft, self._places)
        return self.decode_again()

    def decode_again(self):
        """Decode the LLRs of the last call again, without the preparation."""
        self._decoder.generic_work(self._input, self._output)
        return self._bits


class LibfecDecoder:
    """libfec's decoder for blocks of one length."""

    def __init__(self, library, rate, num_bits):
        self._library, self._num_bits = library, num_bits
        self._state = ctypes.c_void_p(library.create_viterbi27(num_bits + TAIL))
        # libfec keeps the newest bit in the least significant place, like gr-fec
        library.set_viterbi27_polynomial((ctypes.c_int * 2)(
            *(int("".join(map(str, g[::-1])), 2) for g in GENERATORS)))
        size = 2 * (num_bits + TAIL)
        self._places = np.flatnonzero(np.resize(PUNCTURING[rate], size))
        self._soft = np.full(size, 128, np.uint8)
        self._bits = np.zeros(-(-num_bits // 8) + 1, np.uint8)

    def decode(self, llr):
        to_bytes(llr, self._soft, self._places)
        return np.unpackbits(self.decode_again())[:self._num_bits]

    def decode_again(self):
        """Decode the LLRs of the last call again, without the preparation; pack the bits."""
        self._library.init_viterbi27(self._state, 0)
        self._library.update_viterbi27_blk(self._state, ctypes.c_void_p(self._soft.ctypes.data),
                                           self._num_bits + TAIL)
        self._library.chainback_viterbi27(self._state, ctypes.c_void_p(self._bits.ctypes.data),
                                          self._num_bits, 0)
        return self._bits


def find_libfec():
    """Return libfec's library, or None."""
    name = ctypes.util.find_library("fec")
    if not name:
        return None
    library = ctypes.CDLL(name)
    library.create_viterbi27.restype = ctypes.c_void_p
    return library


def to_bytes(llr, to, places):
    """Convert LLRs to the bytes of gr-fec and libfec, in which 128 is an erasure."""
    scale = 60 / np.mean(np.abs(llr), dtype=float)
    to[places] = np.clip(llr * np.float32(scale) + 128, 0, 255)


def simulate(rate, blocks, num_bits, esn0_db, channel, rng):
    """Simulate blocks; return (bits, LLRs) with a row for each block."""
    code = coding.ConvolutionalCode(rate)
    bits = rng.integers(0, 2, (blocks, num_bits), np.uint8)
    sent = 2.0 * code.encode(np.pad(bits, ((0, 0), (0, TAIL)))) - 1
    noise_var = 10 ** (-esn0_db / 10) / 2
    h = np.sqrt(rng.exponential(size=sent.shape)) if channel == "Rayleigh" else 1.0
    y = h * sent + rng.normal(0, noise_var**0.5, sent.shape)
    return bits, (2 * h * y / noise_var).astype(np.float32)


def decoders(rate, llr, num_bits, threads):
    """Return the decoders as {name: (function, whether to use the wall clock)}.

    The function decodes all blocks and returns their bits.
    """
    lengths = np.full(len(llr), num_bits)
    small = np.clip(np.rint(4 * llr), -127, 127).astype(np.int8).ravel()
    flat, found = llr.ravel(), {}
    known = np.hstack([np.zeros((len(llr), num_bits), np.float32), llr])
    for isa in _core.available_isas():
        code = coding.ConvolutionalCode(rate, isa)
        found[isa] = lambda code=code: code.decode_batch(flat, lengths, 1)
        found[f"{isa} int8"] = lambda code=code: code.decode_batch(small, lengths, 1)
        for precision in ("float32", "int16"):
            soft = coding.ConvolutionalDecoder(num_bits, rate, precision=precision, backend="cpu",
                                               threads=1, isa=isa)
            out = np.empty_like(known)
            found[f"{isa} soft {precision}"] = (
                lambda soft=soft, out=out: soft.decode(known, out)[:, :num_bits] > 0)
    gnuradio, libfec = GnuRadioDecoder(rate, num_bits), find_libfec()
    found["gnuradio"] = lambda: [gnuradio.decode(block).copy() for block in llr]
    found["gnuradio without preparation"] = lambda: [gnuradio.decode_again() for _ in llr]
    if libfec:
        peer = LibfecDecoder(libfec, rate, num_bits)
        found["libfec"] = lambda: [peer.decode(block) for block in llr]
        found["libfec without preparation"] = lambda: [peer.decode_again() for _ in llr]
    found = {name: (function, time.thread_time) for name, function in found.items()}
    if threads > 1:
        best = coding.ConvolutionalCode(rate)
        found[f"{best.isa} {threads} threads"] = (
            lambda: best.decode_batch(flat, lengths, threads)), time.perf_counter
    return found


def time_one(function, clock, seconds):
    calls, begin, start = 0, time.perf_counter(), clock()
    while True:
        function()
        calls += 1
        if time.perf_counter() - begin > seconds:
            return (clock() - start) / calls


def measure_rates(arguments):
    for blocks, num_bits in BATCHES:
        for rate in coding.CODE_RATES:
            rng = np.random.default_rng(1)
            bits, llr = simulate(rate, blocks, num_bits, POINTS["AWGN"][rate][1] + SPEED_DB,
                                 "AWGN", rng)
            functions = decoders(rate, llr, num_bits, arguments.threads)
            errors = {name: float(np.mean(np.ravel(function()) != bits.ravel()))
                      for name, (function, _) in functions.items() if "without" not in name}
            taken = {name: [] for name in functions}
            for _ in range(arguments.rounds):
                for name, (function, clock) in functions.items():
                    taken[name].append(time_one(function, clock, arguments.seconds))
            rates, best = ({name: bits.size / float(of(seconds)) / 1e6
                            for name, seconds in taken.items()} for of in (np.median, np.min))
            print(f"{blocks} x {num_bits} bits, rate {rate}, Mbit/s: "
                  + ", ".join(f"{name} {value:.1f} ({best[name]:.1f})"
                              for name, value in rates.items()), flush=True)
            yield {"blocks": blocks, "bits": num_bits, "rate": rate, "mbit_per_s": rates,
                   "mbit_per_s_best": best, "bit_error_rate": errors}


def measure_losses(blocks):
    for channel, points in POINTS.items():
        for rate, (low, high) in points.items():
            code, rng = coding.ConvolutionalCode(rate), np.random.default_rng(2)
            lengths, wrong = np.full(blocks, LOSS_BITS), []    # (SNR, decoder, block)
            for esn0_db in (low, high):
                bits, llr = simulate(rate, blocks, LOSS_BITS, esn0_db, channel, rng)
                best, _ = reference.viterbi(llr, PUNCTURING[rate], GENERATORS)
                ours = code.decode_batch(llr.ravel(), lengths).reshape(bits.shape)
                wrong.append([np.mean(of != bits, axis=1) for of in (ours, best)])
            wrong = np.array(wrong)
            found = losses(wrong.mean(axis=2), high - low)
            drawn = [losses(wrong[..., rng.integers(0, blocks, blocks)].mean(axis=2), high - low)
                     for _ in range(DRAWS)]
            ranges = np.quantile(drawn, (0.025, 0.975), axis=0).T
            rates = wrong.mean(axis=2)
            print(f"{channel}, rate {rate}: " + ", ".join(
                f"{loss:.3f} dB ({least:.3f} to {most:.3f}) at {exact:.1e} bit errors"
                for loss, (least, most), exact in zip(found, ranges, rates[:, 1], strict=True)),
                flush=True)
            yield {"channel": channel, "rate": rate, "esn0_db": [low, high],
                   "bit_error_rate": rates[:, 0].tolist(),
                   "bit_error_rate_exact": rates[:, 1].tolist(), "loss_db": found.tolist(),
                   "loss_db_95": ranges.tolist()}


def losses(rates, db):
    """Return the loss at each SNR, from bit error rates by (SNR, our decoder or reference)."""
    slope = np.log(rates[0, 1] / rates[1, 1]) / db
    return np.log(rates[:, 0] / rates[:, 1]) / slope


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=400, help="for the loss")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    rates = list(measure_rates(arguments))
    losses = list(measure_losses(arguments.blocks)) if arguments.blocks else []
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "decoders of the convolutional code beside GNU Radio's and libfec's; the "
                     "Viterbi decoder's loss by rounding",
             "machine": describe(), "libfec": ctypes.util.find_library("fec"),
             "target_mbit_per_s": TARGETS, "rates": rates, "loss_block_bits": LOSS_BITS,
             "loss_blocks": arguments.blocks, "losses": losses}) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
