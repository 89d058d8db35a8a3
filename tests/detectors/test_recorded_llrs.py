# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLRs of another implementation (tests/data/README.md)."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors, reference
from source_tree import DATA

pytestmark = pytest.mark.quick

FILES = sorted(DATA.glob("*.npz"))
NAMES = {4: "qpsk", 16: "qam16", 64: "qam64", 256: "qam256"}
CASES = [("omap", "llr_app", False), ("omap", "llr_app_prior", True),
         ("mla", "llr_maxlog", False), ("mla", "llr_maxlog_prior", True),
         ("zf", "llr_zf_maxlog", False), ("mmse", "llr_lmmse_maxlog", False)]


def relative_error(llr, expected):
    """Return the largest difference in each vector, relative to its largest LLR."""
    return np.max(np.abs(llr - expected), axis=1) / np.max(np.abs(expected), axis=1)


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def vectors(request):
    with np.load(request.param) as data:
        return dict(data)


def test_all_files_are_here():
    assert len(FILES) == 7


def test_constellation_is_the_same(vectors):
    points = constellation.get(NAMES[len(vectors["points"])]).points
    np.testing.assert_allclose(points, vectors["points"], atol=1e-12)


@pytest.mark.parametrize("name, key, with_prior", CASES)
def test_reference(vectors, name, key, with_prior):
    y, h = vectors["y"], vectors["h"]
    points = constellation.get(NAMES[len(vectors["points"])])
    llr, erased = reference.run(getattr(reference, name), y, h,
                                np.full(len(y), vectors["noise_var"]), points,
                                prior=vectors["prior"] if with_prior else None)
    assert not erased.any()
    # The recorded priors are rounded to float32, which limits the agreement.
    assert relative_error(llr, vectors[key]).max() < (2e-7 if with_prior else 1e-9)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("name, key, with_prior", CASES)
def test_cpu(vectors, name, key, with_prior, isa):
    y, h = vectors["y"], vectors["h"]
    det = detectors.create(name, num_tx=h.shape[2], num_rx=h.shape[1], backend="cpu", isa=isa,
                           constellation=NAMES[len(vectors["points"])])
    llr = det.detect(y, h, float(vectors["noise_var"]),
                     prior=vectors["prior"] if with_prior else None)
    assert det.erasures == 0
    assert relative_error(llr, vectors[key]).max() < 1e-3


@pytest.mark.parametrize("isa", _core.available_isas())
def test_nway_against_its_reference(vectors, isa):
    y, h = vectors["y"], vectors["h"]
    num_tx = h.shape[2]
    common = {"num_tx": num_tx, "num_rx": h.shape[1],
              "constellation": NAMES[len(vectors["points"])]}
    for passes in range(1, num_tx + 1):
        expected = detectors.NWay(**common, num_passes=passes, backend="reference").detect(
            y, h, float(vectors["noise_var"]))
        llr = detectors.NWay(**common, num_passes=passes, backend="cpu", isa=isa).detect(
            y, h, float(vectors["noise_var"]))
        assert relative_error(llr, expected).max() < 1e-3
