# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``codes`` and ``gpu-codes``: decoders of channel codes.

``codes`` runs all iterations, and compares with IT++ on the same LLRs. ``gpu-codes`` runs the same
decoders on a GPU.
"""

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from gnuradio.mimopack.apps.bench.measuring import Run, measure
from gnuradio.mimopack.coding import (
    ConvolutionalDecoder,
    ConvolutionalEncoder,
    ViterbiDecoder,
    ldpc,
    turbo,
)
from gnuradio.mimopack.cuda.device import cupy

from . import peers
from .on_gpu import QueuedRun

LANES = 64    # a multiple of the SIMD lanes of every instruction set


@dataclass(frozen=True, eq=False)
class Case:
    """A code and its decoders.

    Attributes:
        decoders: the parameters of each decoder, which its row repeats.
        has_peer: IT++ has a decoder of this code.
    """

    code: str
    iterations: int
    ebn0_db: float
    decoders: tuple
    has_peer: bool = True

    @cached_property
    def encoder(self):
        if self.code.startswith("conv"):
            return ConvolutionalEncoder(4000, "1/2")
        return turbo.TurboEncoder(6144) if self.code.startswith("turbo") else ldpc.LdpcEncoder(
            self._matrix)

    @property
    def not_sent(self):
        """Number of bits at the start of a codeword that are not sent."""
        return self.encoder.num_info if self.code.startswith("conv") else 0

    @property
    def coded_bits(self):
        """Number of bits of a codeword that are sent."""
        return self.encoder.num_bits - self.not_sent

    @cached_property
    def _matrix(self):
        return ldpc.wimax(2304, "1/2")

    def decoder(self, parameters, **common):
        common = {"early_stop": False, "backend": "cpu"} | common | {"iterations": self.iterations}
        if self.code.startswith("conv"):
            del common["early_stop"]    # this decoder has only one iteration
            return ConvolutionalDecoder(4000, "1/2", **parameters, **common)
        if self.code.startswith("turbo"):
            return turbo.TurboDecoder(6144, **parameters, **common)
        return ldpc.LdpcDecoder(self._matrix, **parameters, **common)

    def itpp_arguments(self, folder):
        """Return the arguments of ``itpp_codes``, which reads files from the folder."""
        if self.code.startswith("turbo"):
            return "turbo", 6144, self.iterations, 0.75
        path = Path(folder) / "code.alist"
        ldpc.write_alist(self._matrix, path)
        return "ldpc", path, self.iterations

    def simulate(self, n, seed=1):
        """Simulate BPSK over AWGN; return (codewords, LLRs)."""
        rng = np.random.default_rng(seed)
        encoder = self.encoder
        words = encoder.encode(rng.integers(0, 2, (n, encoder.num_info), np.uint8))
        noise_var = self.coded_bits / encoder.num_info / 2 * 10 ** (-self.ebn0_db / 10)
        y = rng.normal(0, noise_var**0.5, words.shape).astype(np.float32)
        y += 2 * words.astype(np.float32) - 1
        y *= np.float32(2 / noise_var)
        y[:, :self.not_sent] = 0
        return words, y


BOTH_PRECISIONS = {"precision": "float32"}, {"precision": "int16"}
CASES = (Case("ldpc 802.16e (2304, 1152)", 20, 2.0, ({},)),
         Case("turbo LTE K = 6144", 6, 1.0, BOTH_PRECISIONS),
         Case("conv 802.11 K = 7, 4000 bits, rate 1/2", 1, 4.5, BOTH_PRECISIONS, has_peer=False))


class DecoderRun(Run):
    """Time a decoder; a unit of work is a codeword."""

    least = step = LANES

    def __init__(self, decoder, llr):
        self.decoder, self.llr = decoder, llr
        self.most = len(llr)

    def time(self, n):
        start = time.perf_counter()
        self.out = self.decoder.decode(self.llr[:n])
        return time.perf_counter() - start

    def decided(self):
        """Return the decided bits of the last call."""
        return self.out[:self.units] > 0


class ItppRun(peers.PeerRun):
    """Time IT++'s decoder, which decides all bits of a codeword or only the first ones."""

    def __init__(self, program, folder, llr):
        self.decisions = Path(folder) / "decisions"
        path = Path(folder) / "llr"
        llr.tofile(path)
        super().__init__(program, "", None, f"{path} {self.decisions}", 1, 4, len(llr))

    def decided(self):
        self.time(self.units)
        return np.fromfile(self.decisions, np.uint8).reshape(self.units, -1)


def _row(run, case, words, **beyond):
    decided = run.decided()
    return {"code": case.code, "iterations": case.iterations, "ebn0_db": case.ebn0_db, **beyond,
            "codewords": run.units, "calls": run.calls, "seconds": float(np.median(run.seconds)),
            "codewords_per_s": run.rate,
            "mbit_per_s": run.rate * case.coded_bits / 1e6,
            "ber": float(np.mean(decided != words[:len(decided), :decided.shape[1]]))}


def run(options, store):
    """Return the rows of our decoders and IT++'s for the JSON file."""
    vectors = max(LANES, options.vectors - options.vectors % LANES)
    data = {case: case.simulate(vectors) for case in CASES}
    compared = [case for case in CASES if case.has_peer]
    with peers.start_codes(options.peers, compared) as (programs, missing):
        planned = [(case, DecoderRun(case.decoder(own, threads=options.threads,
                                                  isa=options.isas[0]), data[case][1]), own)
                   for case in CASES for own in case.decoders]
        itpp = {case: ItppRun(program, folder, data[case][1])
                for case, (program, folder) in programs.items()}
        measure([*(timed for _, timed, _ in planned), *itpp.values()], options)
        peer_rows = {case: _row(timed, case, data[case][0], peer=timed.program.name)
                     for case, timed in itpp.items()}
    rows = []
    for case, timed, own in planned:
        row = _row(timed, case, data[case][0], isa=options.isas[0], **own)
        if case in peer_rows:
            row["times_itpp"] = row["mbit_per_s"] / peer_rows[case]["mbit_per_s"]
        rows.append(row)
    return {"data": "random bits, BPSK over AWGN, ebn0_db per information bit; the same LLRs for "
                    "all; mbit_per_s are coded bits", "results": rows,
            "peers": list(peer_rows.values()), "peers_missing": missing}


class GpuDecoderRun(QueuedRun):
    """Time a decoder on LLRs on the device; a unit of work is a codeword."""

    def __init__(self, decoder, llr, copies):
        self.decoder, self._words = decoder, len(llr)
        self.llr = cupy().tile(cupy().asarray(llr), (copies, 1))
        self.least = self.most = len(self.llr)

    def queue(self, n):
        self.out = self.decoder.decode(self.llr[:n])

    def decided(self):
        return self.out[:self._words].get() > 0


class GpuDecisionsRun(QueuedRun):
    """Time the Viterbi decoder's hard decisions on LLRs on the device."""

    def __init__(self, case, llr, copies):
        self.decoder, self._words = ViterbiDecoder(case.encoder.num_info, "1/2"), len(llr)
        sent = np.ascontiguousarray(llr[:, case.not_sent:])
        self.llr = cupy().tile(cupy().asarray(sent), (copies, 1))
        self.least = self.most = len(self.llr)

    def queue(self, n):
        self.decoder.decide(self.llr[:n])

    def decided(self):
        return self.decoder.bits[:self._words].get()


def run_gpu(options, store):
    """Return the rows for all iterations and for early stop, for the JSON file."""
    data = {case: case.simulate(LANES * 16) for case in CASES}
    planned = []
    for case in CASES:
        copies = max(1, options.vectors // len(data[case][1]))
        for early_stop in (False, True) if case.iterations > 1 else (False,):
            decoder = case.decoder({}, early_stop=early_stop, backend="auto")
            planned.append((case, GpuDecoderRun(decoder, data[case][1], copies), early_stop, {}))
        if case.code.startswith("conv"):
            planned.append((case, GpuDecisionsRun(case, data[case][1], copies), False,
                            {"algorithm": "viterbi"}))
    measure([timed for _, timed, *_ in planned], options)
    rows = []
    for case, timed, early, own in planned:
        rows.append(_row(timed, case, data[case][0], backend="cuda", early_stop=early, **own,
                         iterations_taken=float(timed.decoder.iterations_taken.mean())))
    return {"data": "random bits, BPSK over AWGN, ebn0_db per information bit, on the device; "
                    "mbit_per_s are coded bits", "results": rows}
