# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPUs have of their own (lib/cuda) gives the CPU's LLRs: their programs, compiled by g++,
run thread after thread. Whatever threads do together is only tested on a GPU (test_cuda.py)."""

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
extern "C" void launch(unsigned blocks, unsigned long long n, unsigned chunk, unsigned per_matrix,
                       const float* y, const float* h, float noise_var, void* llr,
                       unsigned long long* erased)
{
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < MIMOPACK_THREADS; ++threadIdx.x)
            detect(n, n / chunk, chunk, per_matrix, y, h, nullptr, noise_var, nullptr, llr, 1.0f,
                   nullptr, nullptr, 0, nullptr, erased);
}
"""


def compiled(text, path):
    path.with_suffix(".cc").write_text(text)
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    subprocess.run(["g++", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", *options,
                    "-include", HEADER, path.with_suffix(".cc"), "-o", path], check=True,
                   timeout=300)
    return ctypes.CDLL(str(path))


def launcher(det, folder):
    """The program's launch(), for arrays in which matrices may be shared."""
    arena = ctypes.c_ulonglong()
    compiled(source.program(det.plan(), matrix_each=False), folder / "size.so").arena_size(
        ctypes.byref(arena))
    assert arena.value <= source.LARGEST_LOCAL_ARENA    # there is no scratch here
    return compiled(source.program(det.plan(), arena.value, matrix_each=False) + LAUNCH,
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
    launch = launcher(det, tmp_path)
    pointer = ctypes.c_void_p
    n, chunk, period = 420, 7, 14
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
