# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MMSE-PIC and expectation propagation, in addition to test_every_detector.py."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors
from rounding import assert_only_rounding
from simulated import assert_close, problem
from source_tree import DATA

FILES = sorted(DATA.glob("*.npz"))
NAMES = {4: "qpsk", 16: "qam16", 64: "qam64", 256: "qam256"}
ISAS = _core.available_isas()


def both(name, num_tx, num_rx, points, y, h, noise_var, prior=None, isa="auto", **parameters):
    """Return the LLRs of the cpu and the reference backend."""
    return (detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                             backend=backend, isa=isa, **parameters).detect(
                                 y, h, noise_var, prior=prior) for backend in ("cpu", "reference"))


@pytest.mark.quick
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_other_implementation(path, isa):
    """As in tests/reference; EP's initial Gaussians there are side / (side - 1) too wide."""
    with np.load(path) as data:
        data = dict(data)
    name = NAMES[len(data["points"])]
    side = constellation.get(name).square_qam.side
    common = {"num_tx": data["h"].shape[2], "num_rx": data["h"].shape[1], "constellation": name,
              "backend": "cpu", "isa": isa}
    y, h, noise_var = data["y"], data["h"], float(data["noise_var"])
    pic = detectors.MMSEPIC(**common, extrinsic=True)
    assert_close(pic.detect(y, h, noise_var, prior=data["prior"].astype(np.float32)),
                 data["llr_mmse_pic_maxlog_prior"], 1e-4)
    ep = detectors.EP(**common, initial_variance=0.5 * side / (side - 1))
    assert_close(ep.detect(y, h, noise_var), data["llr_ep10"], 1e-3)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", ["mmsepic", "ep"])
@pytest.mark.parametrize("points, snr", [("qpsk", -10), ("qam16", 25), ("wlan_qam64", 5),
                                         ("wlan_qam64", 40)])
def test_any_snr(name, points, snr, isa):
    """SNRs from 1/10 to 10^4: no condition number is squared.

    In EP, rounding may decide whether a Gaussian is proper.
    """
    for num_tx, num_rx in ((2, 2), (4, 4), (3, 5)):
        y, h, noise_var, _ = problem(40, num_tx, num_rx, points, snr)
        cpu, reference = (
            detectors.create(name, num_tx=num_tx, num_rx=num_rx, constellation=points,
                             backend=backend, isa=isa) for backend in ("cpu", "reference"))
        assert_only_rounding(cpu.detect(y, h, noise_var), reference.detect(y, h, noise_var),
                             reference, {"y": y, "h": h, "noise_var": noise_var})


@pytest.mark.parametrize("name", ["mmsepic", "ep"])
@pytest.mark.parametrize("num_tx, num_rx, points", [(8, 8, "qam16"), (7, 9, "qpsk"),
                                                    (16, 16, "qam64"), (32, 64, "qam16")])
def test_many_antennas(name, num_tx, num_rx, points):
    y, h, noise_var, bits = problem(6, num_tx, num_rx, points, 20)
    prior = np.random.default_rng(7).normal(0, 2, bits.shape).astype(np.float32)
    for known in (None, prior):
        llr, expected = both(name, num_tx, num_rx, points, y, h, noise_var, known)
        assert_close(llr, expected, 2e-3)


@pytest.mark.parametrize("strength", [1, 10, 100, 1000])
@pytest.mark.parametrize("name, points, parameters", [
    ("mmsepic", "qpsk", {}), ("mmsepic", "qam64", {}), ("mmsepic", "qam16", {"num_iterations": 3}),
    ("mmsepic", "bpsk", {"num_iterations": 2}), ("mmsepic", "wlan_qam256", {}),
    ("ep", "qpsk", {}), ("ep", "qam64", {}), ("ep", "qam16", {"num_iterations": 2}),
    ("ep", "qam16", {"smoothing": 0.5, "initial_variance": 0.3})])
def test_priors_up_to_certainty(name, points, parameters, strength):
    """Priors up to `strength`, mostly right.

    The variances approach 0 and the extrinsic LLRs stay.
    """
    y, h, noise_var, bits = problem(30, 3, 3, points, 18)
    rng = np.random.default_rng(8)
    right = np.where(rng.random(bits.shape) < 0.95, 1, -0.02) * (2.0 * bits - 1)
    prior = (strength * right * rng.random(bits.shape)).astype(np.float32)
    llr, expected = both(name, 3, 3, points, y, h, noise_var, prior, **parameters)
    assert_close(llr - prior, expected - prior, 2e-3)


def test_perfect_priors_leave_no_interference():
    """If all other layers are known, a layer's extrinsic LLRs are those of that layer alone."""
    y, h, noise_var, bits = problem(200, 4, 4, "qam16", 12)
    for layer in range(4):
        own = slice(4 * layer, 4 * layer + 4)
        prior = 1000 * (2 * bits.astype(np.float32) - 1)
        prior[:, own] = 0
        others = np.delete(np.arange(4), layer)
        x = constellation.get("qam16").modulate(bits).astype(complex)
        alone = (y - np.einsum("nij,nj->ni", h[:, :, others], x[:, others])).astype(np.complex64)
        expected = detectors.MLA(1, 4, "qam16").detect(
            alone, np.ascontiguousarray(h[:, :, layer:layer + 1]), noise_var)
        for name in ("mmsepic", "ep"):
            det = detectors.create(name, extrinsic=True)
            assert_close(det.detect(y, h, noise_var, prior=prior)[:, own], expected)


@pytest.mark.parametrize("points", ["bpsk", "qam16", "qam64"])
def test_pic_without_prior_is_mmse(points):
    y, h, noise_var, _ = problem(300, 4, 5, points, 15)
    assert_close(detectors.MMSEPIC(4, 5, points).detect(y, h, noise_var),
                 detectors.MMSE(4, 5, points).detect(y, h, noise_var), 1e-4)


def test_iterations_and_ep_lower_the_error_rate():
    """Bit errors at 20 dB, 4x4 16-QAM: MMSE > MMSE-PIC with 3 iterations, MMSE > EP >= MLA."""
    y, h, noise_var, bits = problem(8000, 4, 4, "qam16", 20)
    errors = {key: np.mean((det.detect(y, h, noise_var) > 0) != bits) for key, det in (
        ("mmse", detectors.MMSE()), ("pic", detectors.MMSEPIC(num_iterations=3)),
        ("ep", detectors.EP()), ("mla", detectors.MLA()))}
    assert errors["pic"] < 0.5 * errors["mmse"] and errors["ep"] < 0.5 * errors["mmse"]
    assert errors["ep"] > 1.2 * errors["mla"]


@pytest.mark.parametrize("name, arguments, message", [
    ("mmsepic", {"num_iterations": 0}, "num_iterations: got 0, allowed are 1 to 32"),
    ("ep", {"num_iterations": 101}, "num_iterations: got 101, allowed are 1 to 100"),
    ("ep", {"smoothing": 1.0}, "smoothing: got 1.0, allowed are 0 to less than 1"),
    ("ep", {"smoothing": -0.5}, "smoothing: got -0.5, allowed are 0 to less than 1"),
    ("ep", {"initial_variance": 0}, "initial_variance: got 0.0, must be positive"),
    ("ep", {"constellation": [1, 1j, -1, -1j]},
     "but ep works per axis and needs BPSK or square QAM")])
def test_bad_parameters(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        detectors.create(name, **arguments)
