# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLRs of another implementation (tests/data/README.md)."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors
from source_tree import DATA

pytestmark = pytest.mark.quick

FILES = sorted(DATA.glob("*.npz"))
NAMES = {4: "qpsk", 16: "qam16", 64: "qam64", 256: "qam256"}
# (detector, parameters, recorded LLRs, tolerances of the reference and of the CPU).
CASES = [("omap", {}, "llr_app", 1e-6, 1e-3), ("omap", {}, "llr_app_prior", 1e-6, 1e-3),
         ("mla", {}, "llr_maxlog", 1e-6, 1e-3), ("mla", {}, "llr_maxlog_prior", 1e-6, 1e-3),
         ("zf", {}, "llr_zf_maxlog", 1e-6, 1e-3), ("mmse", {}, "llr_lmmse_maxlog", 1e-6, 1e-3),
         ("mmsepic", {"extrinsic": True}, "llr_mmse_pic_maxlog_prior", 1e-6, 1e-4),
         ("ep", {}, "llr_ep10", 2e-5, 1e-3)]
BACKENDS = [("reference", "auto"), *(("cpu", isa) for isa in _core.available_isas())]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def vectors(request):
    with np.load(request.param) as data:
        return dict(data)


def test_all_files_are_here():
    assert len(FILES) == 7


def test_constellation_is_the_same(vectors):
    points = constellation.get(NAMES[len(vectors["points"])]).points
    np.testing.assert_allclose(points, vectors["points"], atol=1e-12)


@pytest.mark.parametrize("backend, isa", BACKENDS)
@pytest.mark.parametrize("name, parameters, key, exact, rounded", CASES)
def test_llrs(vectors, name, parameters, key, exact, rounded, backend, isa):
    """The initial Gaussians of the recorded EP are side / (side - 1) too wide."""
    points = constellation.get(NAMES[len(vectors["points"])])
    if name == "ep":
        side = points.square_qam.side
        parameters = {"initial_variance": 0.5 * side / (side - 1)}
    _, num_rx, num_tx = vectors["h"].shape
    n = 30 if backend == "reference" else None
    det = detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                           backend=backend, isa=isa, **parameters)
    llr = det.detect(vectors["y"][:n], vectors["h"][:n], float(vectors["noise_var"]),
                     prior=vectors["prior"][:n] if key.endswith("prior") else None)
    expected = vectors[key][:n]
    error = np.abs(llr - expected).max(axis=1) / np.abs(expected).max(axis=1)
    assert det.erasures == 0 and error.max() < (exact if backend == "reference" else rounded)
