# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract of every detector, for arguments that Hypothesis chooses."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.checks import ISAS
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rounding import almost_as
from strategies import (
    EDGES,
    NOT_FINITE,
    SMALL_SEARCH,
    batches,
    detector_arguments,
    fewer,
    junk,
    large_arguments,
    misaligned,
    wrong,
)

ALL = list(detectors.REGISTRY)
every_detector = pytest.mark.parametrize("name", ALL)
THREADS = st.integers(1, 3)


def create(name, arguments, **more):
    return detectors.create(name, **{"backend": "cpu", "threads": 1, **arguments, **more})


def agree(llr, expected, detector, batch, exempt):
    """Assert that the LLRs of a batch agree with those of a detector.

    Rounding may send a search elsewhere where candidates are almost equally good, and grows in
    iterations that do not converge. The detector's LLRs must then vary as much when y and H change
    by up to a ten-thousandth. ``exempt`` counts these vectors, and allows one in a hundred.
    Log-sums in float32 end at 80, see ``llr_method``.
    """
    limit = 79 if getattr(detector, "llr_method", None) == "logsum" else np.inf
    prior = np.nan_to_num(batch.arguments.get("prior", 0)) if detector.extrinsic else 0
    llr, expected = (np.clip(one + prior, -limit, limit) for one in (llr, expected))
    allowed = 2e-3 * np.abs(expected).max(axis=1, keepdims=True) + 1e-5
    differ = np.flatnonzero((np.abs(llr - expected) > allowed).any(axis=1))
    exempt.count(len(llr), len(differ))
    for at in differ:
        again = detector.detect(**almost_as(batch.arguments, at, batch.period, 200, 1e-4))
        again += np.broadcast_to(prior, llr.shape)[at]
        again = np.clip(again, -limit, limit)
        low, high = again.min(axis=0), again.max(axis=0)
        margin = allowed[at] + (high - low) / 2
        assert ((low - margin <= llr[at]) & (llr[at] <= high + margin)).all(), at


@every_detector
@given(data=st.data())
def test_llrs_are_finite_and_erasures_are_those_of_the_contract(name, data):
    llr_type = data.draw(st.sampled_from(["float32", "int8"]))
    det = create(name, data.draw(detector_arguments(name)), llr_type=llr_type,
                 threads=data.draw(THREADS))
    batch = data.draw(batches(det))
    llr = det.detect(**batch.arguments)
    assert llr.dtype == llr_type and llr.shape == (len(batch.erased), det.bits_per_vector)
    assert np.isfinite(llr).all()
    assert det.erasures == np.count_nonzero(batch.erased)
    assert not llr[batch.erased].any()
    if det.HARD:
        assert np.all(np.abs(llr[~batch.erased].astype(float)) >= 1)


@every_detector
@given(data=st.data())
def test_nothing_but_a_vector_itself_changes_its_llrs(name, data):
    """Neighbours, how a batch is split, threads, alignment and ``out`` change nothing."""
    arguments = data.draw(detector_arguments(name))
    det = create(name, arguments)
    batch = data.draw(batches(det, least=1))
    spoilt, n = batch.arguments, len(batch.erased)
    expected = det.detect(**batch.clean)
    det.threads = data.draw(THREADS)
    out = np.full(expected.shape, data.draw(st.sampled_from([99, np.nan])), np.float32)
    kept = {key: np.copy(value) for key, value in spoilt.items()}
    for value in spoilt.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    assert det.detect(**spoilt, out=out) is out
    np.testing.assert_array_equal(out[~batch.erased], expected[~batch.erased])
    for key, value in spoilt.items():
        np.testing.assert_array_equal(value, kept[key])

    cut = data.draw(st.integers(0, n // batch.period))
    for part in (slice(0, cut * batch.period), slice(cut * batch.period, n)):
        own = {key: value[part] if np.ndim(value) else value for key, value in spoilt.items()}
        own["h"] = spoilt["h"][part.start // batch.period:part.stop // batch.period]
        np.testing.assert_array_equal(det.detect(**own), out[part])
    shifted = {key: misaligned(value) if np.ndim(value) else value
               for key, value in spoilt.items()}
    np.testing.assert_array_equal(det.detect(**shifted), out)


@every_detector
@given(data=st.data())
@fewer(2)
def test_each_instruction_set_gives_the_same(name, exempt, data):
    arguments = data.draw(detector_arguments(name))
    plain = create(name, arguments)
    batch = data.draw(batches(plain, snr_db=(5, 30)))
    expected, erasures = plain.detect(**batch.arguments), plain.erasures
    for isa in _core.available_isas():
        det = create(name, arguments, isa=isa)
        agree(det.detect(**batch.arguments), expected, plain, batch, exempt)
        assert det.erasures == erasures


@every_detector
@given(data=st.data())
@fewer(2)
def test_cpu_and_reference_agree(name, exempt, data):
    arguments = data.draw(detector_arguments(name, SMALL_SEARCH, 3))
    det, plain = create(name, arguments), create(name, arguments, backend="reference")
    batch = data.draw(batches(det, snr_db=(5, 30), most_channels=2))
    expected, erasures = plain.detect(**batch.arguments), plain.erasures
    agree(det.detect(**batch.arguments), expected, plain, batch, exempt)
    assert det.erasures == erasures == np.count_nonzero(batch.erased)


@pytest.mark.parametrize("name", ["nway", "fpfsd", "hfsd", "sfsd", "kbest"])
@given(data=st.data())
@fewer(4)
def test_searches_of_large_arrays_agree(name, exempt, data):
    """With the reference, and between the instruction sets."""
    arguments = data.draw(large_arguments(name))
    plain = create(name, arguments, backend="reference")
    batch = data.draw(batches(plain, snr_db=(10, 30), most_channels=2, decades=3))
    expected, erasures = plain.detect(**batch.arguments), plain.erasures
    for isa in _core.available_isas():
        det = create(name, arguments, isa=isa)
        agree(det.detect(**batch.arguments), expected, plain, batch, exempt)
        assert det.erasures == erasures == np.count_nonzero(batch.erased)


@every_detector
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@given(data=st.data())
@fewer(2)
def test_no_number_of_float32_makes_a_nan(name, backend, data):
    """Numbers at the edges of float32 may erase their own vector, and no other one."""
    det = create(name, data.draw(detector_arguments(name, SMALL_SEARCH, 3)), backend=backend)
    batch = data.draw(batches(det, spoil=False, least=1, most_channels=2, decades=3))
    expected, arguments = det.detect(**batch.clean), batch.arguments
    n, touched = len(expected), np.zeros(len(expected), bool)
    for _ in range(data.draw(st.integers(1, 4))):
        key = data.draw(st.sampled_from([key for key in arguments if np.ndim(arguments[key])]))
        value = data.draw(st.sampled_from(EDGES + NOT_FINITE))
        at = data.draw(st.integers(0, len(arguments[key]) - 1))
        row = arguments[key][at:at + 1].reshape(-1)
        row[data.draw(st.integers(0, row.size - 1))] = value
        period = batch.period if key == "h" else 1
        touched[at * period:(at + 1) * period] = True
    llr = det.detect(**arguments)
    assert np.isfinite(llr).all() and 0 <= det.erasures <= n
    np.testing.assert_array_equal(llr[~touched], expected[~touched])


@every_detector
@given(data=st.data())
def test_a_wrong_argument_of_detect_is_refused_by_name(name, data):
    det = create(name, data.draw(detector_arguments(name)),
                 backend=data.draw(st.sampled_from(["cpu", "auto", "reference"])))
    batch = data.draw(batches(det, spoil=False, least=1, most_channels=3))
    arguments = dict(batch.arguments)
    shape = len(batch.erased), det.bits_per_vector
    arguments["out"] = np.zeros(shape, np.float32)
    if name == "bitflip":
        arguments["hard"] = np.zeros((2, *shape), np.uint8)
    key = data.draw(st.sampled_from(list(arguments)))
    value = arguments[key]
    scalar = junk() | st.sampled_from([0.0, -1.0, 1e-38, 1e38, *NOT_FINITE])
    arguments[key] = data.draw(wrong(value) if np.ndim(value) else scalar)
    assume(key != "noise_var" or not _is_noise_power(arguments[key]))
    with pytest.raises(ValueError, match=f"^({'|'.join(arguments)}): "):
        det.detect(**arguments)


def _is_noise_power(value):
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return (number or isinstance(value, np.ndarray) and value.shape == ()
            and value.dtype.kind in "if") and 1e-37 <= value <= 1e37


@every_detector
@given(data=st.data())
def test_a_wrong_parameter_is_refused_by_name(name, data):
    cls = detectors.REGISTRY[name]
    names = [p.name for p in cls.all_parameters()] + ["isa"]
    arguments = data.draw(detector_arguments(name, SMALL_SEARCH, 3))
    backend = data.draw(st.sampled_from(["cpu", "reference"]))
    for key in data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=2)):
        arguments[key] = data.draw(junk() | st.sampled_from(ISAS))
    try:
        det = detectors.create(name, **{"backend": backend, **arguments})
    except ValueError as error:
        assert str(error).startswith(tuple(f"{one}: " for one in (*names, name)))
    else:
        repr(det)


def test_a_detector_that_is_always_exempt_fails(exempt):
    for _ in range(50):
        exempt.count(compared=20, exempt=0)
    exempt.count(compared=0, exempt=13)
    exempt.check()
    with pytest.raises(AssertionError, match="^14 of 1000 results differ"):
        exempt.count(compared=0, exempt=1)
        exempt.check()
    exempt.count(compared=100, exempt=0)


@pytest.mark.parametrize("key", ["backend", "llr_type", "isa"])
@pytest.mark.parametrize("value", [np.array([1, 2]), np.array(["cpu", "cpu"]), np.zeros(0)])
def test_an_array_is_no_choice(key, value):
    """Comparing it gave an array, whose truth was an error without a name."""
    with pytest.raises(ValueError, match=f"^{key}: got .*, allowed are "):
        detectors.MMSE(**{key: value})


@pytest.mark.parametrize("name, key", [("zf", "noise_var"), ("bitflip", "y")])
def test_lists_of_different_lengths_are_no_arrays(name, key):
    """NumPy's own error has no name of an argument."""
    arguments = {"y": np.ones((1, 1), np.complex64), "h": np.ones((1, 1, 1), np.complex64),
                 "noise_var": 1.0, key: [[1, 2], [3]]}
    if name == "bitflip":
        arguments["hard"] = np.zeros((1, 1, 4), np.uint8)
    with pytest.raises(ValueError, match=f"^{key}: got list, must be a NumPy array"):
        detectors.create(name, num_tx=1, num_rx=1).detect(**arguments)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("value", [1e-38, 1e38, 3e-45])
def test_a_noise_power_outside_the_limits_erases(backend, value):
    """The reference detected such vectors."""
    det = detectors.ZF(1, 1, backend=backend)
    noise_var = np.array([1, value], np.float32)
    llr = det.detect(np.ones((2, 1), np.complex64), np.ones((2, 1, 1), np.complex64), noise_var)
    assert det.erasures == 1 and llr[0].any() and not llr[1].any()


@given(name=junk())
@example(name="mmse:num_tx=2")
@example(name=[])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="^detector: got "):
        detectors.create(name)
