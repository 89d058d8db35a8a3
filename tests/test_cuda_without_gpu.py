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
    const float *y, *h, *prior;
    float noise_var;
    void* llr;
    unsigned long long* erased;
} call;

extern "C" void launch(unsigned blocks, unsigned long long n, unsigned chunk, unsigned per_matrix,
                       const float* y, const float* h, float noise_var, const float* prior,
                       void* llr, unsigned long long* erased)
{
    call = { n, chunk, per_matrix, y, h, prior, noise_var, llr, erased };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        turns::run(MIMOPACK_THREADS, [] {
            detect(call.n, call.n / call.chunk, call.chunk, call.per_matrix, call.y, call.h,
                   nullptr, call.noise_var, call.prior, call.llr, 1.0f, nullptr, nullptr, 0,
                   nullptr, call.erased);
        });
}
"""


def compiled(text, path):
    path.with_suffix(".cc").write_text(text)
    options = [option for option in source.OPTIONS if option[:2] in ("-I", "-D", "-s")]
    # -fno-gnu-unique: programs that are loaded at the same time have shared memory of their own.
    subprocess.run(["g++", "-O1", "-w", "-fPIC", "-shared", "-fno-gnu-unique", "-ffp-contract=off",
                    *options, "-include", HEADER, path.with_suffix(".cc"), "-o", path], check=True,
                   timeout=300)
    return ctypes.CDLL(str(path))


def launcher(det, folder, **call):
    """The program's launch()."""
    sizes = (ctypes.c_ulonglong * 2)()
    compiled(source.program(det.plan(), **call), folder / "size.so").arena_size(sizes)
    assert sizes[0] <= source.LARGEST_LOCAL_ARENA    # there is no scratch here
    return compiled(source.program(det.plan(), sizes[0], **call) + LAUNCH,
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
    ("softsphere", {"num_tx": 2, "num_rx": 2, "llr_clip": 300.0}), ("softsphere", {}),
    ("kbest", {}), ("kbest", {"k": 8, "num_tx": 3, "num_rx": 4}), ("kbest", {"k": 1}),
    ("kbest", {"constellation": "qpsk"}), ("kbest", {"constellation": "wlan_qam16", "num_tx": 2}),
    ("kbest", {"constellation": "qam64", "k": 5}), ("kbest", {"constellation": "qam64"}),
    ("kbest", {"k": 64}), ("mmse", {}), ("omap", {"constellation": "qpsk"})])
def test_same_llrs(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=False), chunk=7, period=14)


@pytest.mark.parametrize("name, own", [("nway", {}), ("mmse", {"num_tx": 3, "num_rx": 3}),
                                       ("psd", {})])
def test_rows_through_shared_memory(name, own, tmp_path):
    det = detectors.create(name, backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=True), chunk=1, period=1)


@pytest.mark.parametrize("name, own", [
    *((name, own) for name in ("omap", "mla")
      for own in ({}, {"num_tx": 3}, {"num_tx": 2, "num_rx": 3}, {"constellation": "qpsk"},
                  {"constellation": "wlan_qam64", "num_tx": 2},
                  {"constellation": "qam256", "num_tx": 1})),
    ("mla", {"constellation": "qam64", "num_tx": 3})])
@pytest.mark.parametrize("has_prior", [False, True])
def test_searches_by_teams(name, own, has_prior, tmp_path):
    """Sums over all candidates, from where all of them count to where one does."""
    det = detectors.create(name, backend="cpu", **own)
    launch = launcher(det, tmp_path, matrix_each=True, has_prior=has_prior)
    for snr_db in (-5, 10, 20, 30, 45):
        compare(det, launch, chunk=1, period=1, n=70, snr_db=snr_db, has_prior=has_prior)


@pytest.mark.parametrize("own", [{}, {"constellation": "wlan_qam64", "k": 8, "num_tx": 3}])
def test_prior(own, tmp_path):
    det = detectors.create("kbest", backend="cpu", **own)
    compare(det, launcher(det, tmp_path, matrix_each=True, has_prior=True), chunk=1, period=1,
            has_prior=True)


def compare(det, launch, chunk, period, n=420, snr_db=15, has_prior=False):
    """With the CPU, a block and several."""
    pointer = ctypes.c_void_p
    for blocks in (1, 3):
        y, h, noise_var, _ = problem(n, det.num_tx, det.num_rx, det.constellation.name, snr_db,
                                     period, seed=blocks)
        h[3] = 0
        llr = np.full((n, det.bits_per_vector), np.nan, np.float32)
        prior = None
        if has_prior:
            prior = np.random.default_rng(blocks).normal(0, 3, llr.shape).astype(np.float32)
        erased = np.zeros(1, np.uint64)
        launch(blocks, ctypes.c_ulonglong(n), chunk, period // chunk, pointer(y.ctypes.data),
               pointer(h.ctypes.data), ctypes.c_float(noise_var),
               pointer(prior.ctypes.data if has_prior else None), pointer(llr.ctypes.data),
               pointer(erased.ctypes.data))
        expected = det.detect(y, h, noise_var, prior)
        if det.name == "kbest":    # the path of a tie may be one or the other
            ties = np.max(np.abs(llr - expected), axis=1) > 1e-3 * np.max(np.abs(expected), axis=1)
            assert np.count_nonzero(ties) <= 2
            llr[ties] = expected[ties]
        assert_close(llr, expected)
        assert erased[0] == det.erasures == period
