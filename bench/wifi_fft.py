#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the FFTs of the Wi-Fi receiver's symbols with FFTW and pocketfft, on one core.

    OMP_NUM_THREADS=1 bench/wifi_fft.py [--windows 512] [--rounds 15] [--output FILE.json]

The FFTs are single precision, on --windows adjacent windows of 64, 128 or 256 samples. FFTW is the
library of GNU Radio (libfftw3f, with one measured plan for all windows and arrays aligned as FFTW
prefers). pocketfft comes with SciPy.

Our FFT does more. It removes carrier offset and DC offset, scales each window, picks 52 in 64 of
the subcarriers, and stores them in the order that the receiver needs. For a comparison, "with the
rest" adds NumPy's multiplication by the phases of the offset, and the choice of subcarriers.

Results are nanoseconds per window. The methods take turns in each round, and each result is the
median of the rounds.
"""

import argparse
import ctypes
import time
from pathlib import Path

import numpy as np
import scipy
import scipy.fft
from gnuradio.mimopack import _core
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

SIZES = (64, 128, 256)
_FORWARD, _MEASURE = -1, 0


class Fftw:
    """A plan of libfftw3f for all windows, between its own arrays."""

    def __init__(self, windows, size):
        library = ctypes.CDLL("libfftw3f.so.3")
        library.fftwf_alloc_complex.restype = library.fftwf_plan_many_dft.restype = ctypes.c_void_p
        self._arrays = []
        for _ in range(2):
            memory = library.fftwf_alloc_complex(ctypes.c_size_t(windows * size))
            floats = ctypes.cast(memory, ctypes.POINTER(ctypes.c_float))
            array = np.ctypeslib.as_array(floats, (windows, 2 * size)).view(np.complex64)
            self._arrays.append(array)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self._arrays]
        self._plan = ctypes.c_void_p(library.fftwf_plan_many_dft(
            1, ctypes.byref(ctypes.c_int(size)), windows, pointers[0], None, 1, size, pointers[1],
            None, 1, size, _FORWARD, _MEASURE))
        self._execute = library.fftwf_execute

    def run(self, samples):
        """Return the FFTs of samples (windows, size), which are copied to the plan's array."""
        np.copyto(self._arrays[0], samples)
        self._execute(self._plan)
        return self._arrays[1]


def ways(windows, size):
    """Return {name: function without arguments}; each function returns (windows, subcarriers)."""
    rng = np.random.default_rng(size)
    samples = rng.standard_normal((2, windows * size)).astype(np.float32)
    samples = np.ascontiguousarray(samples[0] + 1j * samples[1], np.complex64)[None]
    bins = np.r_[1:1 + 26 * size // 64, size - 26 * size // 64:size]
    cfo = 1e-3
    starts = size * np.arange(windows)[None]
    fftw, stacked = Fftw(windows, size), samples.reshape(windows, size)
    turns = np.exp(-2j * np.pi * cfo * np.arange(windows * size)).astype(np.complex64)
    turns = turns.reshape(windows, size)

    def ours():
        return _core.wifi.spectra(
            [samples], cfo=np.full(1, cfo), starts=starts, fft=size, bins=bins,
            scale=np.ones((1, 1), np.float32), direct=np.zeros((1, 1), np.complex64))[0, 0]

    def pocketfft(of):
        return scipy.fft.fft(of, axis=1)

    return {
        "ours": ours, "fftw": lambda: fftw.run(stacked), "pocketfft": lambda: pocketfft(stacked),
        "fftw with the rest": lambda: fftw.run(stacked * turns)[:, bins],
        "pocketfft with the rest": lambda: pocketfft(stacked * turns)[:, bins]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    results = []
    for size in SIZES:
        calls = ways(arguments.windows, size)
        expected = calls["pocketfft with the rest"]()
        for name in ("ours", "fftw with the rest"):
            error = np.abs(calls[name]() - expected).max() / np.abs(expected).max()
            if error > 1e-4:
                raise RuntimeError(f"{name} differs by {error}")
        taken = {name: [] for name in calls}
        for _ in range(arguments.rounds):
            for name, call in calls.items():
                begun = time.perf_counter()
                for _ in range(10):
                    call()
                taken[name].append((time.perf_counter() - begun) / 10 / arguments.windows * 1e9)
        found = {name: round(float(np.median(one)), 1) for name, one in taken.items()}
        results.append({"size": size, "ns_per_window": found})
        print(size, found, flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "FFTs of OFDM symbols, nanoseconds of a window on one core",
             "machine": describe(), "scipy": scipy.__version__, "windows": arguments.windows,
             "rounds": arguments.rounds, "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
