# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time detectors of other projects in the same run, with programs in ``bench/peers``.

The first line of a program's output gives its name. A program reads one request per line and
answers each with a line of JSON: ``seconds``, ``vectors``, ``errors`` (bits) and ``errors_squared``
(summed over the vectors).
"""

import json
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from threading import Timer

import numpy as np
from gnuradio.mimopack.apps.bench.measuring import Run

from .cases import QAM16, QAM64
from .failures import Fragile, attempt

# A framework's calls have a large overhead: fewer vectors would not show its speed.
BATCH, LARGEST = 1000, 20_000

ITPP_METHODS = ("FULL_ENUM_MAXLOG", "FULL_ENUM_LOGMAP", "ZF_LOGMAP")
SIONNA_METHODS = ("kbest16", "kbest64", "ep", "mmsepic", "lmmse")
# Vectors per call on a GPU: about the number above which the rate stays the same.
SIONNA_BATCHES = {"kbest16": 100_000, "kbest64": 50_000, "ep": 100_000, "mmsepic": 100_000,
                  "lmmse": 500_000}
# Time limits to compile, and to import PyTorch many times at once.
PREPARE_SECONDS, START_SECONDS = 120, 90
# Environment variables of our Python that another Python must not see.
PYTHONS_OWN = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH")
NOT_ASKED = "not asked for: --peers bench/peers of the source tree"


class Program:
    """A peer's program that waits for requests."""

    def __init__(self, command, limit=None):
        """Start the program, which must give its name within ``limit`` seconds."""
        self._said = tempfile.TemporaryFile("w+")    # an unread pipe would fill up
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True,
            env={name: value for name, value in os.environ.items() if name not in PYTHONS_OWN})
        self._waiting, self._end = 1, None
        try:
            self.name = self.finish(limit)["name"]
        except OSError:
            self.close()
            raise

    def ask(self, request):
        self.begin(request)
        return self.finish()

    def begin(self, request):
        """Send a request; several may wait."""
        if self._end:
            raise OSError(self._end)
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        self._waiting += 1

    def finish(self, limit=None):
        """Wait for the answers to all requests, and return the last one.

        After ``limit`` seconds, the program is ended.
        """
        timer = Timer(limit or 0, self._process.kill)
        if limit:
            timer.start()
        try:
            answer = None
            while self._waiting:
                answer = self._answer()
                self._waiting -= 1
            return answer
        finally:
            timer.cancel()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            self._end = ("took too long" if self._process.returncode == -SIGKILL
                         else said[-1] if said else "ended without a word")
            raise OSError(self._end)
        return json.loads(line)

    def close(self):
        with suppress(OSError):    # it may end before it reads a request
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class PeerRun(Run):
    """Time one of a peer's methods; a unit of work is a vector."""

    extra = {}    # more keys of its row

    def __init__(self, program, method, setting, request, threads, least, most):
        self.program, self.method, self.setting = program, method, setting
        self.request, self.threads = request, threads
        self.least, self.most = least, most

    def time(self, n):
        self.answer = self.program.ask(f"{self.request} {n}")
        if "error" in self.answer:
            raise OSError(self.answer["error"])
        return self.answer["seconds"]

    def row(self):
        """Return the finished run as a row of the JSON file."""
        return {"peer": self.program.name, "method": self.method,
                "num_tx": self.setting.num_tx, "num_rx": self.setting.num_rx,
                "constellation": self.setting.points.name, "threads": self.threads,
                "vectors": self.units, "seconds": float(np.median(self.seconds)),
                "vectors_per_s": self.rate,
                "mbit_per_s": self.rate * self.setting.bits_per_vector / 1e6,
                **self.error_rate(), **self.extra}

    def error_rate(self):
        """Return ``measuring.error_rate`` for as many vectors as take about three seconds."""
        self.time(min(self.most, max(self.units, int(3 * self.rate))))
        n, errors = self.answer["vectors"], self.answer["errors"]
        variance = max(0.0, self.answer["errors_squared"] / n - (errors / n) ** 2)
        bits = self.setting.bits_per_vector
        return {"ber": errors / (n * bits), "ber_95": 1.96 * variance**0.5 / (n**0.5 * bits),
                "vectors_compared": n, "bits_compared": n * bits}


class DevicePeerRun(Fragile, PeerRun):
    """Time a method on the GPU, always with the batch for which it was prepared."""

    def __init__(self, program, method, mode, setting, path, batch):
        super().__init__(program, method, setting, f"{method} {path}", 1, batch, batch)
        self.extra = {"mode": mode}
        self._attempt(program.begin, f"{self.request} {batch}")


def build_itpp(folder, into, name="itpp"):
    """Compile one of the folder's programs with IT++; return its path."""
    program = Path(into) / name
    subprocess.run(["g++", "-O3", "-march=native", str(Path(folder) / f"{name}.cc"), "-litpp",
                    "-o", str(program)], check=True, capture_output=True)
    return program


def _itpp_version():
    try:
        return " " + subprocess.run(["pkg-config", "--modversion", "itpp"], check=True,
                                    capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _itpp(folder, scratch, stack, settings):
    path = build_itpp(folder, scratch)
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


def _sionna_command(folder, python, *arguments):
    python = Path(python or Path(folder).resolve().parents[1] / ".venv-sionna" / "bin" / "python")
    if not python.exists():
        raise FileNotFoundError(python.name)
    return [str(python), str(Path(folder) / "sionna_detectors.py"), *map(str, arguments)]


def _save(data, n, path):
    np.savez(path, y=data.y[:n], h=data.h[:n], bits=data.bits[:n],
             noise_var=data.setting.noise_var)
    return path


def _sionna(folder, python, scratch, stack, settings, store, threads):
    program = Program(_sionna_command(folder, python, threads))
    stack.callback(program.close)
    runs = []
    for index, setting in enumerate(settings):
        data = store.get(setting)
        n = min(LARGEST, data.vectors)
        path = _save(data, n, Path(scratch) / f"{index}.npz")
        runs += [PeerRun(program, method, setting, f"{method} {path}", threads, min(BATCH, n), n)
                 for method in SIONNA_METHODS]
    return runs


@contextmanager
def start(folder, sionna_python, store, threads, settings=(QAM16, QAM64), itpp_settings=(QAM16,)):
    """Yield (runs, {peer: reason if it is missing}) for the peers with programs in ``folder``."""
    runs, missing = [], {}
    if not folder:
        yield runs, {"IT++": NOT_ASKED, "Sionna": NOT_ASKED}
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


@contextmanager
def start_codes(folder, cases):
    """Yield the programs of IT++'s decoders.

    Yields:
        ({case: (IT++'s decoder of its code, a folder for files)}, {"IT++": reason if missing}).
    """
    if not folder:
        yield {}, {"IT++": NOT_ASKED}
        return
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        programs, missing = {}, {}
        try:
            path = build_itpp(folder, scratch, "itpp_codes")
            for index, case in enumerate(cases):
                own = Path(scratch) / str(index)
                own.mkdir()
                program = Program([str(path), *map(str, case.itpp_arguments(own))])
                stack.callback(program.close)
                program.name += _itpp_version()
                programs[case] = program, own
        except (OSError, subprocess.CalledProcessError):
            missing["IT++"] = "not installed: apt-get install g++ libitpp-dev"
        yield programs, missing


@contextmanager
def start_on_gpu(folder, sionna_python, store, settings=(QAM16, QAM64), methods=SIONNA_METHODS):
    """Yield, like ``start``, the runs of Sionna on the GPU, directly and through torch.compile.

    Each compiled method has a separate program. All programs prepare at the same time; ``prepared``
    waits for them.
    """
    if not folder:
        yield [], {"Sionna": NOT_ASKED}
        return
    plans = [(setting, mode, some) for setting in settings for mode, some in (
        ("eager", methods), *(("compiled", (method,)) for method in methods))]
    try:
        commands = [_sionna_command(folder, sionna_python, 2, "cuda:0", mode)
                    for _, mode, _ in plans]
    except FileNotFoundError:
        yield [], {"Sionna": "not installed: bench/peers/sionna-setup.sh"}
        return
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        runs, missing, paths = [], {}, {}
        with ThreadPoolExecutor(len(plans)) as pool:
            programs = pool.map(_start, commands)
            for index, setting in enumerate(settings):
                data = store.get(setting)
                paths[setting] = _save(data, data.vectors, Path(scratch) / f"{index}.npz")
        for program, (setting, mode, some) in zip(programs, plans, strict=True):
            if isinstance(program, OSError):
                label = f"Sionna {', '.join(some)} {setting.points.name} {mode}"
                missing[label] = f"does not run: {program}"
                continue
            stack.callback(program.close)
            runs += [DevicePeerRun(program, method, mode, setting, paths[setting],
                                   min(SIONNA_BATCHES[method], store.get(setting).vectors))
                     for method in some]
        yield runs, missing


def _start(command):
    """Start a program; return it, or the exception if it fails."""
    try:
        return Program(command, START_SECONDS)
    except OSError as error:
        return error


def peer_rows(runs, missing):
    """Return the rows of finished runs; add the failed ones to {peer: reason if it is missing}.

    The runs' programs must not have ended.
    """
    rows = []
    for run in runs:
        row, why = attempt(run.row, run)
        if row:
            rows.append(row)
        else:
            missing[f"Sionna {run.method} {run.setting.points.name} {run.extra['mode']}"] = why
    return rows


def prepared(runs):
    """Wait until the runs' programs are ready, or end those that take too long."""
    end = time.monotonic() + PREPARE_SECONDS
    for program in {run.program for run in runs}:
        with suppress(OSError):    # its runs report the failure
            program.finish(max(1.0, end - time.monotonic()))
