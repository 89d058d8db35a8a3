# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPUs have of their own (lib/cuda) gives the CPU's LLRs: their programs, compiled by g++,
with a block's threads taking turns."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import source
from simulated import assert_close, problem

HEADER = Path(__file__).parent / "without_gpu.h"
LAUNCH = """
static struct {
    unsigned long long n;
    unsigned chunk, per_matrix;
    const float *y, *h;
    float noise_var;
    void* llr;
    unsigned long long* erased;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, unsigned chunk, unsigned per_matrix,
                       const float* y, const float* h, float noise_var, void* llr,
                       unsigned long long* erased)
{
    call = { n, chunk, per_matrix, y, h, noise_var, llr, erased };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            detect(call.n, call.n / call.chunk, call.chunk, call.per_matrix, call.y, call.h,
                   nullptr, call.noise_var, nullptr, call.llr, 1.0f, nullptr, nullptr, 0, nullptr,
                   call.erased);
        });
}
"""


def compiled(text, path):
    path.with_suffix(".cc").write_text(text)
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    subprocess.run(["g++", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", *options,
                    "-include", HEADER, path.with_suffix(".cc"), "-o", path], check=True,
                   timeout=300)
    return ctypes.CDLL(str(path))


def launcher(det, folder, matrix_each):
    """The program's launch()."""
    arena = ctypes.c_ulonglong()
    compiled(source.program(det.plan(), matrix_each=matrix_each), folder / "size.so").arena_size(
        ctypes.byref(arena))
    assert arena.value <= source.LARGEST_LOCAL_ARENA    # there is no scratch here
    return compiled(source.program(det.plan(), arena.value, matrix_each=matrix_each) + LAUNCH,
                    folder / "program.so").launch


@pytest.mark.parametrize("name, own", [
    ("nway", {}), ("nway", {"num_passes": 2}), ("fpfsd", {}), ("hfsd", {}), ("sfsd", {}),
    ("nway", {"constellation": "qam64"}), ("fpfsd", {"constellation": "wlan_qam64", "num_tx": 3}),
    ("sfsd", {"constellation": "qam64"}), ("hfsd", {"constellation": "qam64", "num_tx": 3}),
    ("sfsd", {"constellation": "qpsk"}), ("fpfsd", {"constellation": "wlan_qpsk", "num_tx": 2}),
    ("sfsd", {"num_tx": 2, "num_rx": 3}), ("nway", {"num_tx": 2, "num_rx": 5}),
    ("psd", {}), ("psd", {"constellation": "qpsk"}), ("psd", {"constellation": "qam64",
                                                              "num_tx": 3, "num_rx": 3}),
    ("softsphere", {"constellation": "qpsk"}), ("softsphere", {"llr_clip": 5.0}),
    ("softsphere", {"constellation": "wlan_qam64", "num_tx": 3, "num_rx": 3, "llr_clip": 20.0}),
    ("softsphere", {"num_tx": 2, "num_rx": 2, "llr_clip": 300.0}),
    ("mmse", {}), ("omap", {"constellation": "qpsk"})])
def test_same_llrs(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=False), chunk=7, period=14)


@pytest.mark.parametrize("name, own", [("nway", {}), ("mmse", {"num_tx": 3, "num_rx": 3}),
                                       ("psd", {})])
def test_rows_through_shared_memory(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=True), chunk=1, period=1)


def compare(det, launch, chunk, period):
    """With the CPU, a block and several."""
    pointer = ctypes.c_void_p
    n = 420
    for blocks in (1, 3):
        y, h, noise_var, _ = problem(n, det.num_tx, det.num_rx, det.constellation.name, 15, period,
                                     seed=blocks)
        h[3] = 0
        llr = np.full((n, det.bits_per_vector), np.nan, np.float32)
        erased = np.zeros(1, np.uint64)
        launch(blocks, ctypes.c_ulonglong(n), chunk, period // chunk, pointer(y.ctypes.data),
               pointer(h.ctypes.data), ctypes.c_float(noise_var), pointer(llr.ctypes.data),
               pointer(erased.ctypes.data))
        assert_close(llr, det.detect(y, h, noise_var))
        assert erased[0] == det.erasures == period
