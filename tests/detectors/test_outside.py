# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detector from a folder outside the source tree: on the CPU, in a block, and through NVRTC."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from detector_blocks import play
from gnuradio.mimopack import detectors
from gnuradio.mimopack.blocks.detector import make_detector_block
from gnuradio.mimopack.cuda import source
from nvrtc import Program
from simulated import assert_close, problem
from source_tree import ROOT
from without_gpu import detect, launcher

EXAMPLE = ROOT / "examples/detector"


@pytest.fixture(scope="module")
def matched(tmp_path_factory):
    """Return the example's class, registered, with its sources copied out of the tree."""
    folder = tmp_path_factory.mktemp("outside") / "matched"
    shutil.copytree(EXAMPLE, folder)
    module = folder.parent / "matched.so"
    detectors.compile_module(folder, module)
    sys.path.insert(0, str(folder))
    from matched import Matched

    yield detectors.register(Matched, module)
    sys.path.remove(str(folder))
    del detectors.REGISTRY["matched"]


@pytest.mark.parametrize("interference", [0.0, 0.3])
@pytest.mark.parametrize("size, points", [
    ((2, 4), "qam16"), ((1, 1), "qpsk"), ((3, 8), "wlan_qam64")])
def test_reference_and_cpu(matched, size, points, interference):
    y, h, noise_var, _ = problem(999, *size, points, 12, 3)
    llr = [detectors.create("matched", num_tx=size[0], num_rx=size[1], constellation=points,
                            interference=interference, backend=backend).detect(y, h, noise_var)
           for backend in ("reference", "cpu")]
    assert_close(llr[1], llr[0])
    assert np.ptp(llr[0]) > 0


def test_erasures(matched):
    y, h, noise_var, _ = problem(300, 2, 3, "qam16", 12, 3)
    h[7, :, 1] = h[7, :, 0]    # deficient rank
    y[50, 1] = np.nan
    for backend in ("reference", "cpu"):
        det = matched(2, 3, backend=backend)
        llr = det.detect(y, h, noise_var)
        assert det.erasures == 4
        assert not llr[[21, 22, 23, 50]].any() and llr[[20, 24, 51]].all()


def test_in_a_block(matched):
    y, h, noise_var, _ = problem(2000, 2, 4, "qam16", 12)
    block = make_detector_block(matched)(2, 4, noise_var=noise_var, interference=0.1)
    llr, _ = play(block, y, h)
    expected = matched(2, 4, interference=0.1).detect(y, h, noise_var)
    np.testing.assert_array_equal(llr, expected)
    assert block.vectors() == 2000 and block.failures() == 0


def test_through_nvrtc(matched):
    det = matched(4, 4, interference=0.1, backend="cpu")
    text = source.program(det.plan(), arena=64)
    assert Program(text, "sm_90", source.OPTIONS).error is None
    assert "o.interference = " in text


def test_cuda_without_a_gpu(matched, tmp_path):
    """The GPU program, compiled for the CPU, gives the CPU's LLRs."""
    det = matched(2, 3, "qpsk", interference=0.2, backend="cpu")
    y, h, noise_var, _ = problem(96, 2, 3, "qpsk", 12)
    llr, erased = detect(det, launcher(det, tmp_path), y, h, noise_var)
    assert_close(llr, det.detect(y, h, noise_var))
    assert erased == 0


def test_bad_input(matched, tmp_path):
    with pytest.raises(ValueError, match="interference: got -1, must not be negative"):
        matched(interference=-1)
    with pytest.raises(ValueError, match="the name 'matched', which is taken"):
        detectors.register(type("Other", (matched,), {}))
    with pytest.raises(ValueError, match="must be a subclass of Detector"):
        detectors.register(object)
    with pytest.raises(ValueError, match="nothing.so"):
        detectors.register(type("Other", (matched,), {"name": "other"}), tmp_path / "nothing.so")
    assert "other" not in detectors.REGISTRY
    (tmp_path / "cpu.cc").write_text("broken")
    with pytest.raises(subprocess.CalledProcessError):
        detectors.compile_module(tmp_path, tmp_path / "broken.so")


def test_the_instruction_set_is_that_of_the_module(matched):
    det = matched(backend="cpu", isa="auto")
    assert det.isa == "outside"
    for isa in ("avx512", "avx2", "baseline"):
        with pytest.raises(ValueError, match=f"isa: got {isa}, allowed are auto and "):
            matched(backend="cpu", isa=isa)
    with pytest.raises(ValueError, match="isa: got 'sse', allowed are auto, avx512"):
        matched(backend="cpu", isa="sse")


def test_no_other_library(matched, tmp_path):
    (tmp_path / "cpu.cc").write_text("int f() { return 0; }")
    detectors.compile_module(tmp_path, tmp_path / "f.so")
    with pytest.raises(ValueError, match="must contain a MIMOPACK_MODULE"):
        detectors.register(type("Other", (matched,), {"name": "other"}), tmp_path / "f.so")
