# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors of other projects, timed by programs of ``bench/peers`` in the same run.

A program reads one request a line and answers each with a line of JSON: ``seconds``, ``vectors``,
``errors`` (bits) and ``errors_squared`` (summed over the vectors); its first line says its name.
"""

import json
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from .data import Setting
from .measuring import Run

# A framework's calls are slow to start: fewer vectors would not show what it can do.
BATCH, LARGEST = 1000, 20_000

ITPP_METHODS = ("FULL_ENUM_MAXLOG", "FULL_ENUM_LOGMAP", "ZF_LOGMAP")
SIONNA_METHODS = ("kbest16", "kbest64", "ep", "mmsepic", "lmmse")
QAM16, QAM64 = Setting(constellation="qam16"), Setting(constellation="qam64")


class Program:
    """A peer's program that waits for requests."""

    def __init__(self, command):
        self._said = tempfile.TemporaryFile("w+")    # a pipe that nobody reads would fill up
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._said, text=True)
        self.name = self._answer()["name"]

    def ask(self, request):
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            raise OSError(said[-1] if said else "ended without a word")
        return json.loads(line)

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class PeerRun(Run):
    """One of a peer's methods; a unit is a vector."""

    def __init__(self, program, method, setting, request, threads, least, most):
        self.program, self.method, self.setting = program, method, setting
        self.request, self.threads = request, threads
        self.least, self.most = least, most

    def time(self, n):
        self.answer = self.program.ask(f"{self.request} {n}")
        return self.answer["seconds"]

    def error_rate(self):
        """As ``measuring.error_rate``; of so many vectors as take about three seconds."""
        self.time(min(self.most, max(self.units, int(3 * self.rate))))
        n, errors = self.answer["vectors"], self.answer["errors"]
        variance = max(0.0, self.answer["errors_squared"] / n - (errors / n) ** 2)
        bits = self.setting.bits_per_vector
        return {"ber": errors / (n * bits), "ber_95": 1.96 * variance**0.5 / (n**0.5 * bits),
                "vectors_compared": n, "bits_compared": n * bits}


def _build_itpp(folder, into):
    program = Path(into) / "itpp"
    subprocess.run(["g++", "-O3", "-march=native", str(Path(folder) / "itpp.cc"), "-litpp",
                    "-o", str(program)], check=True, capture_output=True)
    return program


def _itpp_version():
    try:
        return " " + subprocess.run(["pkg-config", "--modversion", "itpp"], check=True,
                                    capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _itpp(folder, scratch, stack, settings):
    path = _build_itpp(folder, scratch)
    version, runs = _itpp_version(), []
    for setting in settings:
        program = Program([str(path), str(setting.num_tx), str(setting.points.bits_per_symbol),
                           str(setting.noise_var)])
        stack.callback(program.close)
        program.name += version
        for method in ITPP_METHODS:
            full = method.startswith("FULL")
            if full and setting.points.size ** setting.num_tx > 2**17:
                continue
            runs.append(PeerRun(program, method, setting, method, 1, 16 if full else BATCH,
                                LARGEST))
    return runs


def _sionna(folder, python, scratch, stack, settings, store, threads):
    python = Path(python or Path(folder).resolve().parents[1] / ".venv-sionna" / "bin" / "python")
    if not python.exists():
        raise FileNotFoundError(python.name)
    program = Program([str(python), str(Path(folder) / "sionna_detectors.py"), str(threads)])
    stack.callback(program.close)
    runs = []
    for index, setting in enumerate(settings):
        data = store.get(setting)
        n = min(LARGEST, data.vectors)
        path = Path(scratch) / f"{index}.npz"
        np.savez(path, y=data.y[:n], h=data.h[:n], bits=data.bits[:n],
                 noise_var=setting.noise_var)
        runs += [PeerRun(program, method, setting, f"{method} {path}", threads, min(BATCH, n), n)
                 for method in SIONNA_METHODS]
    return runs


@contextmanager
def start(folder, sionna_python, store, threads, settings=(QAM16, QAM64), itpp_settings=(QAM16,)):
    """(runs, {peer: why it is not there}) of the peers whose programs lie in ``folder``."""
    runs, missing = [], {}
    if not folder:
        reason = "not asked for: --peers bench/peers of the source tree"
        yield runs, {"IT++": reason, "Sionna": reason}
        return
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        try:
            runs += _itpp(folder, scratch, stack, itpp_settings)
        except (OSError, subprocess.CalledProcessError):
            missing["IT++"] = "not installed: apt-get install g++ libitpp-dev"
        try:
            runs += _sionna(folder, sionna_python, scratch, stack, settings, store, threads)
        except FileNotFoundError:
            missing["Sionna"] = "not installed: bench/peers/sionna-setup.sh"
        except OSError as error:
            missing["Sionna"] = f"does not run: {error}"
        yield runs, missing
