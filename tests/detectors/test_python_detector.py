# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's class in Python behind the interface of all detectors."""

import numpy as np
import pytest
from detector_blocks import play
from gnuradio import mimopack
from gnuradio.mimopack import detectors
from gnuradio.mimopack.blocks.detector import make_detector_block
from own_detectors import OwnPrior, OwnZf
from simulated import problem


@pytest.fixture
def registered():
    for kind in (OwnZf, OwnPrior):
        assert detectors.register(kind) is kind
    yield
    for kind in (OwnZf, OwnPrior):
        del detectors.REGISTRY[kind.name]


def adapted(kind):
    return detectors.look_up(kind).kind


def class_with(**attributes):
    return type("Mine", (OwnZf,), {"name": "mine", **attributes})


@pytest.mark.parametrize("size, points", [
    ((2, 4), "qam16"), ((1, 1), "bpsk"), ((3, 8), "wlan_qam64")])
def test_same_llrs_and_erasures_as_zf(registered, size, points):
    y, h, noise_var, _ = problem(300, *size, points, 12, 3)
    y[50, 0] = np.nan
    h[20, 0, 0] = np.inf
    if size[0] > 1:
        h[7, :, 1] = h[7, :, 0]    # deficient rank, which NumPy refuses for the whole batch
    noise = np.full(300, noise_var, np.float32)
    noise[[3, 4]] = 0, np.nan
    own, zf = (detectors.create(name, num_tx=size[0], num_rx=size[1], constellation=points)
               for name in ("own_zf", "zf"))
    expected, llr = zf.detect(y, h, noise), own.detect(y, h, noise)
    assert own.erasures == zf.erasures == (9 if size[0] > 1 else 6)
    np.testing.assert_array_equal(llr.any(axis=1), expected.any(axis=1))
    np.testing.assert_allclose(llr, expected, rtol=2e-3, atol=1e-3)
    assert own.last_backend == "cpu" and np.ptp(llr) > 0
    assert own.detect(y[:0], h[:0], 0.1).shape == (0, own.bits_per_vector)


def test_a_priori_llrs(registered):
    y, h, noise_var, bits = problem(100, 2, 2, "qpsk", 12)
    prior = np.where(bits.reshape(100, 4), 3, -3).astype(np.float32)
    both, new = (detectors.create("own_prior", num_tx=2, num_rx=2, constellation="qpsk",
                                  extrinsic=extrinsic) for extrinsic in (False, True))
    alone = both.detect(y, h, noise_var)
    np.testing.assert_allclose(both.detect(y, h, noise_var, prior), alone + prior, rtol=1e-5)
    np.testing.assert_allclose(new.detect(y, h, noise_var, prior), alone, rtol=1e-4, atol=1e-4)
    prior[4, 1] = np.nan
    assert not both.detect(y, h, noise_var, prior)[4].any() and both.erasures == 1
    with pytest.raises(ValueError, match="prior: own_zf takes no a-priori LLRs"):
        detectors.create("own_zf", num_tx=2, num_rx=2, constellation="qpsk").detect(
            y, h, noise_var, prior)


def test_the_callers_arrays_are_safe():
    def detect(self, y, h, noise_var):
        y[:] = 0

    y, h, noise_var, _ = problem(10, 2, 2, "qpsk", 12)
    with pytest.raises(ValueError, match="mine.detect: failed with .*read-only"):
        adapted(class_with(detect=detect))(2, 2, "qpsk").detect(y, h, noise_var)
    assert y.all()


@pytest.mark.quick
def test_a_class_may_hold_a_detector_of_this_package():
    """With a noise_var of all vectors, in arrays and in blocks; erased vectors among them."""
    class Wrapper:
        name = "wrapper"

        def __init__(self, num_tx, num_rx, points):
            self.inner = detectors.MMSE(num_tx, num_rx, points)

        def detect(self, y, h, noise_var):
            return self.inner.detect(y, h, noise_var)

    y, h, noise_var, _ = problem(300, 2, 3, "qam16", 12, 3)
    wrapper, mmse = adapted(Wrapper)(2, 3, "qam16"), detectors.MMSE(2, 3, "qam16")
    expected = mmse.detect(y, h, noise_var)
    np.testing.assert_array_equal(wrapper.detect(y, h, noise_var), expected)
    block = make_detector_block(Wrapper)(2, 3, noise_var=noise_var, symbols_per_channel=3)
    llr, _ = play(block, y, h, 3)
    np.testing.assert_array_equal(llr, expected)
    assert block.failures() == 0


@pytest.mark.parametrize("result, message", [
    (np.zeros((10, 3)), r"mine.detect: returned shape \(10, 3\), must return \(10, 4\)"),
    (np.zeros((10, 4), complex), "mine.detect: returned complex128, must return real LLRs"),
    (None, "mine.detect: returned NoneType, must return real LLRs of shape"),
    ([[1], [2, 3]], "mine.detect: returned list, must return real LLRs")])
def test_wrong_results(result, message):
    y, h, noise_var, _ = problem(10, 2, 2, "qpsk", 12)
    det = adapted(class_with(detect=lambda self, y, h, noise_var: result))(2, 2, "qpsk")
    with pytest.raises(ValueError, match=message):
        det.detect(y, h, noise_var)


def test_exceptions_name_the_detector():
    def fail(self, *arguments):
        raise KeyError("table")

    y, h, noise_var, _ = problem(10, 2, 2, "qpsk", 12)
    det = adapted(class_with(
        detect=lambda self, y, h, noise_var: fail(self)))(2, 2, "qpsk")
    with pytest.raises(ValueError, match=r"mine.detect: failed with KeyError\('table'\)"):
        det.detect(y, h, noise_var)
    with pytest.raises(ValueError, match=r"mine: failed with KeyError\('table'\)"):
        adapted(class_with(
            __init__=lambda self, num_tx, num_rx, points: fail(self)))(2, 2, "qpsk")


def test_results_that_are_not_finite_are_erased():
    def detect(self, y, h, noise_var):
        llr = OwnZf.detect(self, y, h, noise_var)
        llr[2], llr[5] = np.nan, 1e39    # float32 has no such number
        return llr

    y, h, noise_var, _ = problem(10, 2, 2, "qpsk", 12)
    det = adapted(class_with(detect=detect))(2, 2, "qpsk")
    assert np.flatnonzero(~det.detect(y, h, noise_var).any(axis=1)).tolist() == [2, 5]
    assert det.erasures == 2


@pytest.mark.parametrize("attributes, message", [
    ({"name": ""}, "whose name is '', not a word"), ({"name": "a:b"}, "whose name is 'a:b'"),
    ({"name": "auto"}, "whose name is 'auto'"), ({"detect": None}, "has no method detect"),
    ({"detect": lambda self, y, h: y}, "cannot be made and called like this"),
    ({"__init__": lambda self, num_tx: None}, "cannot be made and called like this"),
    ({"__init__": lambda self, a, b, c, d: None}, "cannot be made and called like this"),
    ({"__init__": lambda self, a, b, c, threads=1: None}, "'threads' is one of all detectors")])
def test_unusable_classes(attributes, message):
    with pytest.raises(ValueError) as caught:
        detectors.register(class_with(**attributes))
    assert message in str(caught.value) and "Mine" in str(caught.value)
    assert "mine" not in detectors.REGISTRY


def test_names_are_taken_but_a_class_may_be_defined_again(registered):
    with pytest.raises(ValueError, match="the name 'nway', which is taken"):
        detectors.register(class_with(name="nway"))
    with pytest.raises(ValueError, match="the name 'own_zf', which is taken"):
        detectors.register(class_with(name="own_zf"))
    again = type("OwnZf", (OwnZf,), {"__module__": OwnZf.__module__, "scale": 2})
    detectors.register(again)
    assert detectors.REGISTRY["own_zf"].MAKE is again
    with pytest.raises(ValueError, match="must be a class"):
        detectors.register(OwnZf(2, 2, "qpsk"))


def test_in_blocks(registered):
    y, h, noise_var, _ = problem(2000, 2, 4, "qam16", 12)
    block = make_detector_block(OwnZf)(2, 4, noise_var=noise_var, scale=0.5)
    llr, _ = play(block, y, h)
    np.testing.assert_array_equal(
        llr, detectors.create("own_zf", num_tx=2, scale=0.5).detect(y, h, noise_var))
    assert block.vectors() == 2000 and block.failures() == 0
    for backend in ("auto", "cpu"):
        mimopack.iterative_receiver(detector="own_prior", iterations=2, backend=backend)
    with pytest.raises(ValueError, match="own_zf"):
        mimopack.iterative_receiver(detector="own_zf", iterations=2)
    receiver = mimopack.wifi_receiver(2, detector="own_prior", iterations=2)
    with pytest.raises(ValueError, match="got 'own_zf', which takes no a-priori LLRs"):
        receiver.set_detector("own_zf")
    mimopack.wifi_receiver(2).set_detector("own_zf")
    mimopack.wifi_decoder(2, detector="own_zf")


@pytest.mark.parametrize("detector", [OwnPrior, OwnPrior(2, 2, "qam16", scale=0.5),
                                   detectors.NWay(2, 2, num_passes=2, extrinsic=True)])
def test_classes_and_objects_in_a_block(detector):
    block = mimopack.iterative_receiver(2, 2, "qam16", "wifi:648:1/2", detector, iterations=2)
    inner = block._engine.receiver.detector
    assert inner is not detector and inner.extrinsic
    assert inner.name == detector.name and getattr(inner, "num_passes", 2) == 2
    if not isinstance(detector, type):
        with pytest.raises(ValueError, match="has num_tx = 2, but the link has 4"):
            mimopack.iterative_receiver(4, 4, "qam16", "wifi:648:1/2", detector)
