# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench``: what the detectors reach on this machine.

All figures of one table come from one run: the detectors take turns, and each row is the median
of its rounds. The data are simulated: i.i.d. Rayleigh channels, one per vector (or per
``--symbols-per-channel`` vectors), uncoded bits.
"""

import json
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np

from .. import channel, detectors
from ..constellation import get as get_constellation
from .machine import describe

PILOT_VECTORS = 64     # how many vectors a first, untimed call takes to guess the rate


@dataclass
class Case:
    """A detector on a backend, and what was measured of it."""

    name: str
    backend: str
    parameters: dict
    detector: detectors.Detector
    vectors: int = 0
    seconds: list = field(default_factory=list)
    errors: int = 0
    bits: int = 0

    @property
    def label(self):
        own = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({own})" if own else self.name

    def result(self):
        elapsed = float(np.median(self.seconds))
        rate = self.vectors / elapsed
        return {"detector": self.name, "parameters": self.parameters, "backend": self.backend,
                "isa": self.detector.isa, "vectors": self.vectors, "seconds": elapsed,
                "vectors_per_s": rate,
                "mbit_per_s": rate * self.detector.bits_per_vector / 1e6,
                "ber": self.errors / self.bits, "bits_compared": self.bits}


def simulate(n, num_tx, num_rx, constellation, noise_var, per_channel, seed=1):
    """Simulated vectors: (y, h, bits), y (n, nr), h (n/T, nr, nt), bits (n, nt*m)."""
    rng = np.random.default_rng(seed)
    h = channel.flat_rayleigh(n // per_channel, num_rx, num_tx, rng).astype(np.complex64)
    bits = rng.integers(0, 2, (n, num_tx * constellation.bits_per_symbol), np.uint8)
    x = constellation.modulate(bits)
    y = np.einsum("ntij,ntj->nti" if per_channel > 1 else "nij,nj->ni",
                  np.repeat(h[:, None], per_channel, 1) if per_channel > 1 else h,
                  x.reshape(-1, per_channel, num_tx) if per_channel > 1 else x)
    y = y.reshape(n, num_rx) + channel.awgn((n, num_rx), noise_var, rng)
    return np.ascontiguousarray(y, np.complex64), h, bits


def make_cases(names, backends, common, isas=("auto",)):
    """One case for each detector, variant and backend; (cases, why others were left out)."""
    cases, refused = [], []
    for name in names:
        passes = sorted({1, 2, common["num_tx"]} & set(range(1, common["num_tx"] + 1)))
        variants = [{"num_passes": n} for n in passes] if name == "nway" else [{}]
        for parameters in variants:
            for backend in backends:
                for isa in isas if backend == "cpu" else ("auto",):
                    try:
                        detector = detectors.create(name, backend=backend, isa=isa, **common,
                                                    **parameters)
                    except ValueError as error:
                        refused.append(f"{name}, {backend}: {error}")
                    else:
                        cases.append(Case(name, backend, parameters, detector))
    return cases, refused


def measure(cases, data, noise_var, per_channel, seconds, rounds, tick):
    """Time all cases in turns, ``rounds`` times; call ``tick`` after each step."""
    y, h, bits = data
    for case in cases:
        few = PILOT_VECTORS * per_channel if case.backend == "cpu" else per_channel
        case.detector.detect(y[:few], h[:few // per_channel], noise_var)
        start = time.perf_counter()
        case.detector.detect(y[:few], h[:few // per_channel], noise_var)
        rate = few / (time.perf_counter() - start)
        case.vectors = min(len(y), max(few, int(rate * seconds / rounds)))
        case.vectors -= case.vectors % per_channel
        tick()
    for _ in range(rounds):
        for case in cases:
            n = case.vectors
            out = np.empty((n, case.detector.bits_per_vector), np.float32)
            out[...] = 0    # touch the pages before the clock starts
            start = time.perf_counter()
            case.detector.detect(y[:n], h[:n // per_channel], noise_var, out=out)
            case.seconds.append(time.perf_counter() - start)
            case.errors = int(np.sum(detectors.hard_decisions(out) != bits[:n]))
            case.bits = out.size
            tick()


def run_itpp(folder, num_tx, bits_per_symbol, noise_var, seconds):
    """IT++'s detectors, by the program in ``folder``: a list of results, or raises OSError."""
    with tempfile.TemporaryDirectory() as build:
        program = Path(build) / "itpp"
        subprocess.run(["g++", "-O3", "-march=native", str(Path(folder) / "itpp.cc"), "-litpp",
                        "-o", str(program)], check=True, capture_output=True)
        output = subprocess.run(
            [str(program), str(num_tx), str(bits_per_symbol), str(noise_var), str(seconds)],
            check=True, capture_output=True, text=True, timeout=300).stdout
    results = [json.loads(line) for line in output.splitlines()]
    for result in results:
        result["mbit_per_s"] = result["vectors_per_s"] * num_tx * bits_per_symbol / 1e6
    return results


# Bit errors come several to a vector; fewer vectors than this say nothing of a rate.
ENOUGH_VECTORS = 2000


def _error_rate(row):
    return f"{row['ber']:.2e}" if row["vectors"] >= ENOUGH_VECTORS else "-"


def print_table(results, peers):
    click.echo(f"{'detector':<20}{'backend':<18}{'vectors/s':>12}{'Mbit/s':>11}"
               f"{'BER':>11}{'x reference':>13}")
    for row in results:
        own = ", ".join(f"N={v}" if k == "num_passes" else f"{k}={v}"
                        for k, v in row["parameters"].items())
        name = f"{row['detector']}({own})" if own else row["detector"]
        backend = row["backend"] + (f" {row['isa']}" if row["isa"] else "")
        ratio = row.get("ratio_to_reference")
        click.echo(f"{name:<20}{backend:<18}{row['vectors_per_s']:>12.4g}"
                   f"{row['mbit_per_s']:>11.4g}{_error_rate(row):>11}"
                   f"{f'{ratio:.0f}' if ratio else '':>13}")
    for peer in peers:
        click.echo(f"{'IT++ ' + peer['method']:<26}{'one core':<12}"
                   f"{peer['vectors_per_s']:>12.4g}{peer['mbit_per_s']:>11.4g}"
                   f"{'-':>11}")


@click.command("bench")
@click.option("--num-tx", default=4, show_default=True, help="Transmit antennas.")
@click.option("--num-rx", default=4, show_default=True, help="Receive antennas.")
@click.option("--constellation", default="qam16", show_default=True)
@click.option("--snr", default=20.0, show_default=True,
              help="dB per receive antenna: noise_var = num_tx / 10^(snr/10).")
@click.option("--symbols-per-channel", default=1, show_default=True,
              help="Consecutive vectors that share a channel matrix.")
@click.option("--detector", "names", multiple=True, type=click.Choice(list(detectors.REGISTRY)),
              help="Only these; may be given several times.")
@click.option("--backend", "backends", multiple=True, type=click.Choice(["cpu", "reference"]),
              default=["cpu", "reference"], show_default=True)
@click.option("--isa", "isas", multiple=True, default=["auto"], show_default=True,
              help="Instruction sets of the cpu backend; may be given several times.")
@click.option("--threads", default=0, show_default=True, help="CPU threads; 0 takes all cores.")
@click.option("--vectors", default=200_000, show_default=True, help="Largest batch.")
@click.option("--seconds", default=3.0, show_default=True, help="Time for each row, about.")
@click.option("--rounds", default=7, show_default=True, help="Runs of which the median counts.")
@click.option("--peers", type=click.Path(exists=True, file_okay=False),
              help="Folder with itpp.cc (bench/peers): time IT++ in the same run.")
@click.option("--output", type=click.Path(dir_okay=False), help="Write the results as JSON.")
def bench_command(num_tx, num_rx, constellation, snr, symbols_per_channel, names, backends, isas,
                  threads, vectors, seconds, rounds, peers, output):
    """Time the detectors on simulated data."""
    points = get_constellation(constellation)
    noise_var = num_tx * 10 ** (-snr / 10)
    vectors -= vectors % symbols_per_channel
    common = {"num_tx": num_tx, "num_rx": num_rx, "constellation": points, "threads": threads}
    cases, refused = make_cases(names or list(detectors.REGISTRY), backends, common, isas)
    for line in refused:
        click.echo(f"left out: {line}", err=True)
    if not cases:
        raise click.UsageError("no detector is left to be timed")
    data = simulate(vectors, num_tx, num_rx, points, noise_var, symbols_per_channel)
    machine = describe()
    click.echo(f"{num_tx}x{num_rx} {constellation}, SNR {snr:g} dB per receive antenna, "
               f"{symbols_per_channel} vectors per channel, simulated; "
               f"{machine['processor']}, {threads or machine['threads']} threads")
    with click.progressbar(length=len(cases) * (rounds + 1), label="timing") as bar:
        measure(cases, data, noise_var, symbols_per_channel, seconds, rounds,
                lambda: bar.update(1))
    results = [case.result() for case in cases]
    reference = {(row["detector"], str(row["parameters"])): row["vectors_per_s"]
                 for row in results if row["backend"] == "reference"}
    for row in results:
        known = reference.get((row["detector"], str(row["parameters"])))
        if known and row["backend"] != "reference":
            row["ratio_to_reference"] = row["vectors_per_s"] / known
    others = []
    if peers:
        try:
            others = run_itpp(peers, num_tx, points.bits_per_symbol, noise_var, seconds)
        except (OSError, subprocess.CalledProcessError) as error:
            raise click.ClickException(
                f"IT++ could not be timed (apt-get install g++ libitpp-dev): {error}") from error
    print_table(results, others)
    if output:
        Path(output).write_text(json.dumps({
            "what": "soft MIMO detectors, simulated data", "machine": machine,
            "case": {"num_tx": num_tx, "num_rx": num_rx, "constellation": constellation,
                     "snr_db": snr, "noise_var": noise_var,
                     "symbols_per_channel": symbols_per_channel, "threads": threads},
            "results": results, "itpp": others}, indent=1) + "\n")
        click.echo(f"written: {output}")
