# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``detect`` takes arrays of any library, batch shape, layout and precision, and a covariance."""

import numpy as np
import pytest
from elsewhere import Elsewhere
from gnuradio.mimopack import detectors
from simulated import problem

N = 48


@pytest.fixture(scope="module")
def vectors():
    """Return (y, h, noise_var) and the LLRs of MMSE."""
    y, h, noise_var, _ = problem(N, 4, 4, "qam16", 20)
    return y, h, noise_var, detectors.MMSE().detect(y, h, noise_var, strict=True)


@pytest.fixture(scope="module")
def covariances():
    """Return N covariance matrices of about the noise's power."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(N, 4, 8, 2)) @ [1, 1j]
    return (a @ a.conj().swapaxes(1, 2) * 0.01).astype(np.complex64)


def reversed_rows(array):
    """Return the same array with negative strides in memory."""
    return np.ascontiguousarray(array[::-1])[::-1]


@pytest.mark.quick
@pytest.mark.parametrize("change", [
    lambda array: array.astype(np.complex128), np.asfortranarray, reversed_rows,
    lambda array: np.repeat(array, 2, axis=-1)[..., ::2]])
def test_layout_and_precision(vectors, change):
    y, h, noise_var, expected = vectors
    np.testing.assert_allclose(detectors.MMSE().detect(change(y), change(h), noise_var), expected,
                               rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("noise_var", [np.float64(0.125), np.array(0.125), 1, np.full(N, 0.125),
                                       np.full((1,), 0.125), [0.125] * N, np.ones(N, int)])
def test_noise_of_any_type(vectors, noise_var):
    y, h, _, _ = vectors
    power = float(np.ravel(noise_var)[0])
    np.testing.assert_array_equal(detectors.MMSE().detect(y, h, noise_var),
                                  detectors.MMSE().detect(y, h, power))


@pytest.mark.quick
def test_batch_shapes(vectors):
    y, h, noise_var, expected = vectors
    det = detectors.MMSE()
    batch = y.reshape(6, 8, 4), h.reshape(6, 8, 4, 4)
    np.testing.assert_array_equal(det.detect(*batch, noise_var), expected.reshape(6, 8, 16))
    np.testing.assert_array_equal(det.detect(*batch, noise_var, split_layers=True),
                                  expected.reshape(6, 8, 4, 4))
    np.testing.assert_array_equal(det.detect(y[0], h[0], noise_var), expected[0])
    assert det.detect(y[:0].reshape(0, 3, 4), h[0], noise_var).shape == (0, 3, 16)


@pytest.mark.parametrize("of_y, of_h", [((6, 8), (8,)), ((6, 8), (6, 1)), ((6, 8), ()),
                                        ((2, 3, 8), (3, 1)), ((2, 3, 8), (2, 1, 8)),
                                        ((6, 1), (6, 8)), ((N,), (1,))])
def test_broadcast(vectors, of_y, of_h):
    """The result is that of repeated matrices, but none is repeated."""
    y, h = (array[:np.prod(shape, dtype=int)].reshape(*shape, *array.shape[1:])
            for array, shape in zip(vectors, (of_y, of_h), strict=False))
    shape = np.broadcast_shapes(of_y, of_h)
    det = detectors.MMSE()
    noise_var = np.linspace(0.01, 0.02, shape[-1])
    seen = []
    det._detect = lambda batch: seen.append(batch) or detectors.MMSE._detect(det, batch)
    llr = det.detect(y, h, noise_var)
    full = (np.broadcast_to(y, (*shape, 4)).reshape(-1, 4),
            np.broadcast_to(h, (*shape, 4, 4)).reshape(-1, 4, 4),
            np.broadcast_to(noise_var, shape).ravel())
    np.testing.assert_array_equal(llr.reshape(-1, 16), detectors.MMSE().detect(*full))
    assert llr.shape == (*shape, 16) and len(seen[0].h) == np.prod(of_h, dtype=int)


def test_prior_and_out(vectors):
    y, h, noise_var, _ = vectors
    det = detectors.MMSEPIC()
    prior = np.random.default_rng(2).normal(0, 2, (N, 16)).astype(np.float32)
    expected = det.detect(y, h, noise_var, prior)
    batch = y.reshape(6, 8, 4), h.reshape(6, 8, 4, 4), noise_var
    out = np.empty((6, 8, 4, 4), np.float32)
    assert det.detect(*batch, prior.reshape(6, 8, 4, 4).astype(float), out,
                      split_layers=True) is out
    np.testing.assert_array_equal(out, expected.reshape(6, 8, 4, 4))
    np.testing.assert_array_equal(
        det.detect(y, h[::2].copy(), noise_var, prior.astype(float)),
        det.detect(y, h[::2].copy(), noise_var, prior))


def test_hard_solutions(vectors):
    """They have the vectors' batch shape, also where the rows change their order."""
    y, h, noise_var, _ = vectors
    det = detectors.BitFlip()
    hard = np.random.default_rng(4).integers(0, 2, (3, N, 16), np.uint8)
    order = np.arange(N).reshape(6, 8).T.ravel()    # the vectors of each matrix together
    expected = np.empty((N, 16), np.float32)
    expected[order] = det.detect(y[order], h[:8].copy(), noise_var,
                                 hard=np.ascontiguousarray(hard[:, order]))
    llr = det.detect(y.reshape(6, 8, 4), h[:8], noise_var, hard=hard.reshape(3, 6, 8, 16))
    np.testing.assert_array_equal(llr.reshape(N, 16), expected)
    for wrong in hard[:, :1], hard[:, 0], hard.reshape(3, 6, 8, 16):
        with pytest.raises(ValueError, match="hard: got shape"):
            det.detect(y[:1], h, noise_var, hard=wrong)


def test_arrays_of_another_library(vectors):
    y, h, noise_var, expected = vectors
    out = Elsewhere(np.empty((N, 16), np.float32))
    llr = detectors.MMSE().detect(Elsewhere(y), Elsewhere(h), noise_var)
    assert isinstance(llr, Elsewhere)
    np.testing.assert_array_equal(llr.values, expected)
    assert detectors.MMSE().detect(Elsewhere(y), Elsewhere(h), noise_var, out=out) is out
    np.testing.assert_array_equal(out.values, expected)


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
@pytest.mark.parametrize("kind", ["common", "per matrix", "per vector"])
def test_covariance(covariances, name, kind):
    """Detecting whitened vectors in NumPy gives the same."""
    options = {"num_tx": 2, "num_rx": 4, "constellation": "qpsk"}
    y, h, _, _ = problem(N, 2, 4, "qpsk", 12, 4)
    covariance = {"common": covariances[:1], "per matrix": covariances[:N // 4],
                  "per vector": covariances}[kind]
    det = detectors.create(name, **options)
    llr = det.detect(y, h, noise_cov=covariance[0] if kind == "common" else covariance)
    reference = detectors.create(name, backend="reference", **options)
    period = N // len(covariance)
    inverse = np.linalg.inv(np.linalg.cholesky(np.repeat(covariance.astype(complex), period, 0)))
    white = (inverse @ y[:, :, None])[..., 0], inverse @ np.repeat(h, 4, 0)
    expected = reference.detect(*white, 1.0)
    differ = np.abs(llr - expected).max(1) > 1e-3 * np.abs(expected).max(1) + 1e-3
    assert np.count_nonzero(differ) <= (name in ("sfsd", "bitflip", "asd")), differ
    np.testing.assert_allclose(
        reference.detect(y, h, noise_cov=covariance), expected, rtol=1e-4, atol=1e-3)


def test_covariance_of_a_detector_in_python(covariances):
    class Matched:
        name = "matched"

        def __init__(self, num_tx, num_rx, constellation):
            self.mmse = detectors.MMSE(num_tx, num_rx, constellation)

        def detect(self, y, h, noise_var):
            return self.mmse.detect(y, h, noise_var)

    y, h, _, _ = problem(N, 4, 4, "qam16", 20)
    bad = covariances.copy()
    bad[3] *= -1
    det = detectors.look_up(Matched).make(4, 4, "qam16")
    llr = det.detect(y, h, noise_cov=bad)
    np.testing.assert_allclose(llr, detectors.MMSE().detect(y, h, noise_cov=bad), rtol=1e-3,
                               atol=1e-3)
    assert det.erasures == 1


@pytest.mark.quick
def test_covariances_that_are_not_positive_definite(covariances):
    y, h, _, _ = problem(N, 4, 4, "qam16", 20)
    bad = covariances.copy()
    bad[3] *= -1
    bad[5] = np.nan
    bad[7] = np.ones((4, 4))    # of rank 1
    bad[9, 2, 2] = 1e38
    for backend in "cpu", "reference":
        det = detectors.NWay(backend=backend)
        llr = det.detect(y, h, noise_cov=bad)
        assert det.erasures == 4 and not llr[[3, 5, 7, 9]].any()
        assert np.count_nonzero(llr.any(axis=1)) == N - 4


WRONG = [
    ({"y": np.zeros((12, 4))}, "y: got type float64, must be complex"),
    ({"y": np.zeros((12, 3), complex)}, "y: got shape (12, 3), must be (..., 4)"),
    ({"y": "text"}, "y: got str, must be an array: NumPy, CuPy, PyTorch, JAX"),
    ({"y": [[1j], [1j, 2]]}, "y: got list, must be an array"),
    ({"h": np.zeros((12, 4, 3), complex)}, "h: got shape (12, 4, 3), must be (..., 4, 4)"),
    ({"h": np.zeros((5, 4, 4), complex)}, "h: got shape (5, 4, 4) with y of shape (12, 4)"),
    ({"noise_var": 0}, "noise_var: got 0.0, must be positive and finite"),
    ({"noise_var": "0.1"}, "noise_var: got '0.1', must be a number or an array"),
    ({"noise_var": np.ones(3)}, "noise_var: got shape (3,), must fit the shape (12,)"),
    ({"noise_var": None}, "noise_var: got none, must be given, or noise_cov"),
    ({"noise_cov": np.eye(4)}, "noise_var: got noise_cov too"),
    ({"noise_var": None, "noise_cov": np.eye(3, dtype=complex)}, "noise_cov: got shape (3, 3)"),
    ({"noise_var": None, "noise_cov": 0.1}, "noise_cov: got shape ()"),
    ({"noise_var": None, "noise_cov": np.zeros((5, 4, 4), complex)},
     "noise_cov of shape (5, 4, 4)"),
    ({"noise_var": 0.1 + 1j}, "noise_var: got type complex128, must be real"),
    ({"prior": np.zeros((12, 16))}, "prior: mmse takes no a-priori LLRs"),
    ({"out": np.zeros((12, 15), np.float32)},
     "out: got float32 of shape (12, 15), must be float32 of shape (12, 16)"),
]


@pytest.mark.parametrize("changed, message", WRONG)
def test_errors(changed, message):
    y, h, noise_var, _ = problem(12, 4, 4, "qam16", 20)
    with pytest.raises(ValueError) as caught:
        detectors.MMSE().detect(**{"y": y, "h": h, "noise_var": noise_var, **changed})
    assert message in str(caught.value)


@pytest.mark.parametrize("changed, message", [
    ({"noise_var": np.ones(3)},
     "noise_var: got shape (3,), must be one number, or one for each of the 12 vectors"),
    ({"prior": np.zeros((3, 16))},
     "prior: got shape (3, 16), must fit the shape (12, 16), or (12, 4, 4)"),
    ({"noise_var": None, "noise_cov": np.zeros((2, 4, 4))},
     "noise_cov: got shape (2, 4, 4), must")])
def test_errors_where_vectors_share_matrices(changed, message):
    y, h, noise_var, _ = problem(12, 4, 4, "qam16", 20, 4)
    with pytest.raises(ValueError) as caught:
        detectors.EP().detect(**{"y": y, "h": h, "noise_var": noise_var, **changed})
    assert message in str(caught.value)


def test_layers_that_differ_cannot_be_split(vectors):
    det = detectors.MMSE(constellation="qpsk,qam16,qpsk,qpsk")
    with pytest.raises(ValueError, match="split_layers: got True, but the layers have different"):
        det.detect(*vectors[:3], split_layers=True)


@pytest.mark.gpu
@pytest.mark.parametrize("name, size, points", [
    ("nway", (4, 4), "qam16"), ("kbest", (4, 4), "qam64"), ("mmse", (16, 64), "qam16"),
    ("ep", (8, 8), "qam16"), ("hfsd", (8, 8), "qpsk"), ("zf", (2, 2), "qam16")])
@pytest.mark.parametrize("period", [1, 4])
def test_covariance_on_a_gpu(name, size, points, period):
    """The kernels whiten by themselves, or memory is whitened before teams of threads."""
    import cupy

    options = {"num_tx": size[0], "num_rx": size[1], "constellation": points}
    y, h, _, _ = problem(64 * period, *size, points, 18, period)
    rng = np.random.default_rng(3)
    a = rng.normal(size=(len(h), size[1], 2 * size[1], 2)) @ [1, 1j]
    each = (a @ a.conj().swapaxes(1, 2) * 0.02 / size[1]).astype(np.complex64)
    each[3] *= -1
    cpu = detectors.create(name, backend="cpu", **options)
    gpu = detectors.create(name, backend="cuda", **options)
    for covariance in each, each[:1]:
        expected, erased = cpu.detect(y, h, noise_cov=covariance), cpu.erasures
        for found in (gpu.detect(y, h, noise_cov=covariance),
                      gpu.detect(*map(cupy.asarray, (y, h)),
                                 noise_cov=cupy.asarray(covariance)).get()):
            differ = np.abs(found - expected).max(1) > 1e-2 * np.abs(expected).max(1) + 1e-3
            assert np.count_nonzero(differ) <= 1 and gpu.erasures == erased


@pytest.mark.gpu
def test_cupy_arrays(vectors):
    import cupy

    y, h, noise_var, expected = (cupy.asarray(value) for value in vectors)
    det = detectors.MMSE(backend="cuda")
    llr = det.detect(y.astype(cupy.complex128).reshape(6, 8, 4),
                     cupy.asfortranarray(h).reshape(6, 8, 4, 4), noise_var, split_layers=True)
    assert isinstance(llr, cupy.ndarray)
    cupy.testing.assert_allclose(llr.reshape(N, 16), expected, rtol=1e-4, atol=1e-3)
