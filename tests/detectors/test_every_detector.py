# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of every detector: the contract's properties, sizes, backends, erasures."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, constellation, detectors
from simulated import assert_close, problem

ALL = list(detectors.REGISTRY)
PRIOR = [name for name in ALL if detectors.REGISTRY[name].SUPPORTS_PRIOR]
HARD = [name for name in ALL if detectors.REGISTRY[name].HARD]
EXACT = ["mla", "omap", "softsphere"]
ANY_RANK = [name for name in ALL if not detectors.REGISTRY[name].NEEDS_RANK]
LIVE = [(name, p.name) for name, kind in detectors.REGISTRY.items() for p in kind.PARAMETERS
        if p.live]
BACKENDS = ["cpu", "reference"]


def create(name, backend="cpu", num_tx=3, num_rx=4, constellation="qam16", **parameters):
    return detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend=backend,
                            constellation=constellation, **parameters)


@pytest.mark.quick
@pytest.mark.parametrize("constellation", ["qpsk", "qam16", "qam64", "qam256", "wlan_bpsk"])
@pytest.mark.parametrize("name", ALL)
def test_cpu_equals_reference(name, constellation):
    """With each instruction set of the machine."""
    for num_tx, num_rx, n in ((1, 1, 5), (2, 2, 37), (2, 5, 16), (3, 3, 33), (4, 4, 30)):
        points = {"qpsk": 4, "wlan_bpsk": 2, "qam64": 64, "qam256": 256}.get(constellation, 16)
        if name in EXACT and points**num_tx > (4096 if name != "softsphere" else 256):
            continue    # larger sizes take minutes; see test_recorded_llrs.py
        y, h, noise_var, _ = problem(n, num_tx, num_rx, constellation, 25, seed=num_rx)
        expected = create(name, "reference", num_tx, num_rx, constellation).detect(y, h, noise_var)
        for isa in _core.available_isas():
            det = create(name, "cpu", num_tx, num_rx, constellation, isa=isa)
            assert_close(det.detect(y, h, noise_var), expected)
            assert det.isa == isa and det.erasures == 0


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("num_tx, num_rx", [(4, 4), (8, 64), (4, 128), (4, 256), (16, 256)])
def test_dependent_columns_are_erased_at_any_size(num_tx, num_rx, isa):
    """The last column is a combination of the others, rounded to complex64."""
    rng = np.random.default_rng(6)
    n = 1000
    _, h, _, _ = problem(n, num_tx, num_rx, "qpsk", 20)
    weights = rng.standard_normal((n, num_tx - 1)) + 1j * rng.standard_normal((n, num_tx - 1))
    h[:, :, -1] = np.einsum("nij,nj->ni", h[:, :, :-1].astype(complex), weights)
    y = h.sum(axis=2)
    det = create("zf", "cpu", num_tx, num_rx, "qpsk", isa=isa)
    llr = det.detect(y, h, 0.1)
    assert det.erasures == n and not llr.any()


def lacking_rank(n, num_tx, num_rx, points, snr_db):
    """Simulate channels in which columns are equal or zero, or the rank is 1 or 0."""
    y, h, noise_var, bits = problem(n, num_tx, num_rx, points, snr_db, seed=num_tx)
    x = constellation.get(points).modulate(bits)
    noise = y - np.einsum("nij,nj->ni", h, x)
    h[0::5, :, -1] = h[0::5, :, 0]
    h[1::5, :, 0] = 0
    h[2::5, :, -1] = 0.01j * h[2::5, :, 0]
    h[3::5] = h[3::5, :, :1] * np.exp(1j * np.arange(num_tx))
    h[4::5] = 0
    y = (np.einsum("nij,nj->ni", h, x) + noise).astype(np.complex64)
    return y, h, noise_var, bits


@pytest.mark.parametrize("name", ANY_RANK)
def test_any_rank_equals_reference(name):
    """The reference of mla and omap is an exhaustive search in double precision."""
    for num_tx, num_rx, points in ((1, 2, "qpsk"), (2, 2, "qam16"), (3, 3, "qpsk"),
                                   (3, 7, "wlan_qpsk"), (2, 3, "qam64"), (4, 4, "qpsk")):
        y, h, noise_var, bits = lacking_rank(40, num_tx, num_rx, points, 20)
        prior = np.random.default_rng(2).normal(0, 2, bits.shape).astype(np.float32)
        for known in (None, prior) if name in PRIOR else (None,):
            expected = create(name, "reference", num_tx, num_rx, points).detect(
                y, h, noise_var, known)
            largest = np.abs(expected).max(axis=1, keepdims=True)
            for isa in _core.available_isas():
                det = create(name, "cpu", num_tx, num_rx, points, isa=isa)
                llr = det.detect(y, h, noise_var, known)
                assert np.all(np.abs(llr - expected) <= 1e-3 * largest + 1e-4)
                assert det.erasures == 0
                np.testing.assert_allclose(llr[4::5], 0 if known is None else known[4::5],
                                           atol=1e-4)


@pytest.mark.parametrize("name", ["mmse", "mmsepic", "ep"])
def test_equal_columns_with_little_noise(name):
    """float32 has no digits for the noise beside the columns; LLRs stay those of the reference."""
    y, h, noise_var, bits = problem(50, 2, 2, "qpsk", 80)
    noise = y - np.einsum("nij,nj->ni", h, constellation.get("qpsk").modulate(bits))
    h[:, :, 0] = h[:, :, 1]
    y = noise + np.einsum("nij,nj->ni", h, constellation.get("qpsk").modulate(bits))
    llr, expected = (create(name, backend, 2, 2, "qpsk").detect(
        y.astype(np.complex64), h, noise_var) for backend in BACKENDS)
    known = np.abs(expected) > 20
    np.testing.assert_allclose(llr[~known], expected[~known], atol=0.3)
    np.testing.assert_array_equal(llr[known] > 0, expected[known] > 0)


@pytest.mark.quick
@pytest.mark.parametrize("name", ANY_RANK)
def test_a_layer_beside_two_equal_columns_has_its_llrs(name):
    """QPSK on an orthogonal column: LLRs of +-4 Re, Im(h^H y) / sqrt(2) / noise_var."""
    y, h, noise_var, _ = problem(50, 3, 3, "qpsk", 15)
    h[:, :, 1] = h[:, :, 0]
    direction = h[:, :, 0] / np.linalg.norm(h[:, :, 0], axis=1, keepdims=True)
    along = np.einsum("ni,ni->n", direction.conj(), h[:, :, 2])
    h[:, :, 2] -= along[:, None] * direction
    y = np.ascontiguousarray(h.sum(axis=2) * np.complex64((1 + 1j) / np.sqrt(2)))
    det = create(name, "cpu", 3, 3, "qpsk")
    strength = np.linalg.norm(h[:, :, 2], axis=1) ** 2
    np.testing.assert_allclose(-det.detect(y, h, noise_var)[:, 4:],
                               np.repeat(2 * strength[:, None] / noise_var, 2, 1), rtol=2e-3)
    assert det.erasures == 0


@pytest.mark.quick
@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", ALL)
def test_any_points_equal_reference(name, backend):
    """Random points have a mean other than zero, and axes of different variance."""
    rng = np.random.default_rng(16)
    points = rng.standard_normal(16) + 0.3j * rng.standard_normal(16) + 0.6
    points /= np.sqrt(np.mean(np.abs(points) ** 2))
    points = points, rng.permutation(16)
    if detectors.REGISTRY[name].NEEDS_GRID:
        with pytest.raises(ValueError, match="works per axis"):
            create(name, backend, constellation=points)
        return
    y, h, noise_var, bits = problem(50, 2, 3, points, 15)
    prior = rng.normal(0, 3, bits.shape).astype(np.float32) if name in PRIOR else None
    for known in (None, prior):
        expected = create(name, "reference", 2, 3, points).detect(y, h, noise_var, known)
        llr = create(name, backend, 2, 3, points).detect(y, h, noise_var, known)
        assert_close(llr, expected)


@pytest.mark.quick
@pytest.mark.parametrize("name", ALL)
def test_layers_that_differ_equal_reference(name):
    for layers in ("bpsk,wlan_qam16,qam16", "qam64,qpsk,qpsk,qpsk"):
        num_tx = layers.count(",") + 1
        size = {"num_tx": num_tx, "num_rx": num_tx + 1, "constellation": layers}
        y, h, noise_var, bits = problem(33, num_tx, num_tx + 1, layers, 15, per_channel=11)
        prior = np.random.default_rng(5).normal(0, 4, bits.shape).astype(np.float32)
        for known in (None, prior) if name in PRIOR else (None,):
            expected = create(name, "reference", **size).detect(y, h, noise_var, known)
            assert expected.shape == bits.shape
            assert_close(create(name, "cpu", **size).detect(y, h, noise_var, known), expected)


@pytest.mark.quick
@pytest.mark.parametrize("name", ALL)
class TestProperties:
    def test_unitary_rotation_changes_nothing(self, name):
        y, h, noise_var, _ = problem(400, 3, 4, "qam16", 18)
        rng = np.random.default_rng(1)
        q, _ = np.linalg.qr(rng.standard_normal((len(h), 4, 4))
                            + 1j * rng.standard_normal((len(h), 4, 4)))
        det = create(name)
        expected = det.detect(y, h, noise_var)
        rotated = det.detect(np.einsum("nij,nj->ni", q, y).astype(np.complex64),
                             (q @ h).astype(np.complex64), noise_var)
        # Rounding the rotated input to complex64 moves metrics by about 1e-6 of |y|^2/noise.
        assert_close(rotated, expected, 2e-3)

    def test_permuting_layers_permutes_llrs(self, name):
        y, h, noise_var, _ = problem(400, 3, 4, "qam16", 18)
        order = [2, 0, 1]    # a cyclic permutation, because N-way's passes rotate cyclically
        det = create(name)
        expected = det.detect(y, h, noise_var).reshape(len(y), 3, -1)[:, order]
        permuted = det.detect(y, np.ascontiguousarray(h[:, :, order]), noise_var)
        assert_close(permuted, expected.reshape(len(y), -1))

    def test_copies_of_h_equal_one_h(self, name):
        for period, n in ((7, 7 * 19), (14, 28), (1, 5), (32, 32)):
            y, h, noise_var, _ = problem(n, 3, 4, "qam16", 18, per_channel=period)
            det = create(name)
            assert_close(det.detect(y, h, noise_var),
                         det.detect(y, np.repeat(h, period, axis=0), noise_var), 1e-5)

    def test_a_channel_too_weak_to_say_anything(self, name):
        y, h, _, _ = problem(20, 3, 4, "qam16", 18)
        for scale in (1e-6, 1e-9):
            det = create(name)
            llr = det.detect((scale * y).astype(np.complex64), (scale * h).astype(np.complex64),
                             1.0)
            assert det.erasures == 0
            limit = getattr(det, "llr_clip", None) or 0    # for bits without candidates
            assert np.all(np.abs(llr) == 1 if name in HARD else
                          (np.abs(llr) < 1e-3) | (np.abs(llr) == limit))

    def test_noise_var_per_vector(self, name):
        y, h, noise_var, _ = problem(24, 3, 4, "qam16", 18)
        values = noise_var * np.linspace(0.5, 2, len(y)).astype(np.float32)
        det = create(name)
        together = det.detect(y, h, values)
        for i in (0, 11, 23):
            assert_close(together[i:i + 1], det.detect(y[i:i + 1], h[i:i + 1], float(values[i])))

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_erasures(self, name, backend):
        y, h, noise_var, bits = problem(40, 3, 4, "qam16", 18)
        noise = np.full(len(y), noise_var, np.float32)
        det = create(name, backend)
        clean = det.detect(y, h, noise)
        y[3, 1] = np.nan
        y[4, 0] = np.inf
        h[7, 2, 1] = complex(0, -np.inf)
        h[8, 0, 0] = np.nan
        h[11, :, 2] = 0
        h[20] = h[20, :, :1]            # rank 1
        h[21, :, 2] = 2 * h[21, :, 0]   # two equal directions
        noise[30] = 0
        noise[31] = -1
        noise[39] = np.nan
        bad, without_rank = [3, 4, 7, 8, 30, 31, 39], [11, 20, 21]
        erased = bad + without_rank if det.NEEDS_RANK else bad
        llr = det.detect(y, h, noise)
        assert det.erasures == len(erased)
        assert np.all(llr[erased] == 0)
        good = np.setdiff1d(np.arange(len(y)), bad + without_rank)
        np.testing.assert_array_equal(llr[good], clean[good])
        assert np.all(np.isfinite(llr))

    def test_range_of_y_and_h(self, name):
        """Beyond it, metrics exceeded the one that stands for no candidate: wrong LLRs."""
        y, h, noise_var, _ = problem(8, 2, 2, "qpsk", 18)
        det = create(name, num_tx=2, num_rx=2, constellation="qpsk")
        expected = det.detect(y, h, noise_var)
        for scale in (2.0**-10, 2.0**39):
            scaled = det.detect(y * np.float32(scale), h * np.float32(scale), noise_var * scale**2)
            assert_close(scaled, expected)
            assert det.erasures == 0
        for of_y, of_h in ((1e14, 1e11), (1e11, 1e14), (1e17, 1e17), (1e26, 1), (1, 1e26)):
            llr = det.detect(y * np.float32(of_y), h * np.float32(of_h), 1e30)
            assert det.erasures == 8 and not llr.any()

    @pytest.mark.parametrize("noise_var, size", [(1e-37, 1e-15), (1e37, 1e11)])
    def test_the_limits_of_noise_var_are_allowed(self, name, noise_var, size):
        y, h, _, _ = problem(8, 2, 2, "qpsk", 18)
        det = create(name, num_tx=2, num_rx=2, constellation="qpsk")
        llr = det.detect(y * np.float32(size), h * np.float32(size), noise_var)
        assert det.erasures == 0 and np.all(np.isfinite(llr))

    def test_int8(self, name):
        y, h, noise_var, _ = problem(30, 3, 4, "qam16", 18)
        llr = create(name).detect(y, h, noise_var)
        for scale in (0.5, 8.0):
            det = create(name, "cpu", llr_type="int8", llr_scale=scale)
            out = det.detect(y, h, noise_var)
            assert out.dtype == np.int8
            exact = np.clip(llr.astype(float) * scale, -127, 127)
            assert np.max(np.abs(out - exact)) <= 0.501
            assert np.abs(out).max() <= 127

    def test_out_is_used_and_inputs_are_left_alone(self, name):
        y, h, noise_var, bits = problem(20, 3, 4, "qam16", 18)
        y0, h0 = y.copy(), h.copy()
        y.flags.writeable = h.flags.writeable = False
        out = np.full(bits.shape, 99, np.float32)
        assert create(name).detect(y, h, noise_var, out=out) is out
        assert not np.any(out == 99)
        np.testing.assert_array_equal(y, y0)
        np.testing.assert_array_equal(h, h0)

    def test_empty_batch(self, name):
        llr = create(name).detect(np.empty((0, 4), np.complex64),
                                           np.empty((0, 4, 3), np.complex64), 0.1)
        assert llr.shape == (0, 12)


@pytest.mark.quick
@pytest.mark.parametrize("name", PRIOR)
class TestPrior:
    def test_zero_prior_equals_none(self, name):
        y, h, noise_var, bits = problem(400, 3, 4, "qam16", 10)
        det = create(name)
        llr = det.detect(y, h, noise_var, prior=np.zeros(bits.shape, np.float32))
        expected = det.detect(y, h, noise_var)
        if name in ("mla", "softsphere", "nway", "fpfsd"):    # rounding changes slicing
            assert_close(llr, expected, 1e-5)
        else:
            np.testing.assert_array_equal(llr, expected)

    def test_prior_is_part_of_the_result(self, name):
        """With strong noise y gives no information, so the result equals the prior.

        Detectors with a list are tested with a single layer.
        """
        num_tx = 3 if name in EXACT else 1
        y, h, _, bits = problem(20, num_tx, 4, "qam16", 10)
        prior = np.random.default_rng(2).normal(0, 5, bits.shape).astype(np.float32)
        arguments = {}
        if name == "bitflip":    # a list from one hard solution lacks symbols
            labels = np.arange(16)[:, None] >> np.arange(3, -1, -1) & 1
            arguments["hard"] = np.repeat(labels[:, None].astype(np.uint8), len(y), axis=1)
        llr = create(name, "cpu", num_tx, 4).detect(y, h, 1e6, prior=prior, **arguments)
        if name in HARD:
            np.testing.assert_array_equal(llr, np.sign(prior))
        else:
            np.testing.assert_allclose(llr, prior, atol=2e-3)

    def test_extrinsic_is_the_result_less_the_prior(self, name):
        if name in HARD:
            with pytest.raises(ValueError, match="has hard output"):
                create(name, "cpu", extrinsic=True)
            return
        y, h, noise_var, bits = problem(20, 2, 2, "qam16", 10)
        prior = np.random.default_rng(2).normal(0, 2, bits.shape).astype(np.float32)
        posterior = create(name, "cpu", 2, 2).detect(y, h, noise_var, prior=prior)
        det = create(name, "cpu", 2, 2, extrinsic=True)
        np.testing.assert_allclose(det.detect(y, h, noise_var, prior=prior), posterior - prior,
                                   rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(det.detect(y, h, noise_var),
                                      create(name, "cpu", 2, 2).detect(y, h, noise_var))
        y[3] = np.nan
        assert np.all(det.detect(y, h, noise_var, prior=prior)[3] == 0)

    def test_bad_prior_is_an_erasure(self, name):
        y, h, noise_var, bits = problem(20, 3, 4, "qam16", 10)
        prior = np.zeros(bits.shape, np.float32)
        prior[5, 2] = np.nan
        prior[6, 0] = np.inf
        det = create(name)
        llr = det.detect(y, h, noise_var, prior=prior)
        assert det.erasures == 2 and np.all(llr[5:7] == 0)


@pytest.mark.quick
@pytest.mark.parametrize("name", ALL)
def test_threads_and_batch_change_nothing(name):
    constellation = "qam16" if name not in ("mla", "omap") else "qpsk"
    y, h, noise_var, _ = problem(101, 4, 4, constellation, 18)
    whole = create(name, "cpu", 4, 4, constellation, threads=1).detect(y, h, noise_var)
    det = create(name, "cpu", 4, 4, constellation, threads=3)
    np.testing.assert_array_equal(det.detect(y, h, noise_var), whole)
    parts = [det.detect(y[i:i + 17], h[i:i + 17], noise_var) for i in range(0, 101, 17)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("name", ALL)
def test_high_and_low_snr_stay_finite(name):
    # A bit that lacks candidates of one value is at the limit, however low the SNR; this list has
    # all candidates.
    parameters = {"k": 256} if name == "kbest" else {}
    for snr in (-60, 0, 60, 120):
        y, h, noise_var, bits = problem(64, 2, 2, "qam16", snr)
        det = create(name, num_tx=2, num_rx=2, **parameters)
        llr = det.detect(y, h, noise_var)
        assert np.all(np.isfinite(llr)) and det.erasures == 0
        if snr >= 60:
            assert np.mean((llr > 0) != bits) < 0.002
        if name in HARD:
            assert np.all(np.abs(llr) == 1)
        elif snr == -60:
            assert np.abs(llr).max() < 0.1


@pytest.mark.parametrize("name, parameter", LIVE)
def test_a_parameter_may_change(name, parameter):
    """A changed detector equals a new one, also in what depends on the parameter."""
    y, h, noise_var, _ = problem(400, 3, 4, "qam16", 15)
    det = create(name)
    for value in (2, 3, 1):
        setattr(det, parameter, value)
        new = create(name, "cpu", **{parameter: value})
        np.testing.assert_array_equal(det.detect(y, h, noise_var), new.detect(y, h, noise_var))
        assert repr(det) == repr(new) and det.candidates == new.candidates
        assert det.label == new.label
    with pytest.raises(ValueError, match=f"{parameter}: got 0"):
        setattr(det, parameter, 0)
    assert repr(det) == repr(new)
