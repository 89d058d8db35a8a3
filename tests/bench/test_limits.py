# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upper limits of a machine's speed: counted instructions and measured rates."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.apps.bench.data import Setting, Store
from gnuradio.mimopack.apps.bench.detector import Case
from gnuradio.mimopack.apps.bench.measuring import take_turns
from suites.limits import Limits
from suites.operations import COUNTED, count

BEST = _core.available_isas()[0]


def test_every_detector_is_counted():
    assert COUNTED.keys() == set(detectors.REGISTRY)


def test_a_detector_without_a_count_is_named():
    detector = type("Other", (detectors.ZF,), {"name": "other"})(2, 2, backend="reference")
    with pytest.raises(ValueError, match=r"other: add a function .* bench/suites/operations\.py"):
        count(detector, 1, 16)


def counted(name, *sizes, lanes=16, per_channel=1, nodes=None, **parameters):
    """Return the instructions of a detector for nt, nr and a constellation."""
    num_tx, num_rx, constellation = sizes or (4, 4, "qam16")
    detector = detectors.create(name, num_tx=num_tx, num_rx=num_rx, backend="cpu",
                                constellation=constellation, **parameters)
    return count(detector, per_channel, lanes, nodes)


@pytest.mark.parametrize("name", COUNTED)
def test_more_of_anything_takes_more(name):
    nodes = {"sd": 20, "asd": 20, "psd": 100}.get(name)

    def instructions(*sizes, **more):
        return counted(name, *sizes, **{"nodes": nodes} | more).sum()

    small = instructions(3, 4, "qam16")
    assert 0 < small < instructions(4, 4, "qam16")
    assert small < instructions(3, 5, "qam16") and small < instructions(3, 4, "qam64")
    assert instructions(3, 4, "qam16", per_channel=14) < small    # QR once for several vectors
    assert instructions(3, 4, "qam16", lanes=4) < small    # fewer steps to bring in a register
    if nodes:
        assert small < instructions(3, 4, "qam16", nodes=nodes + 1) < 1.1 * small


def test_parameters():
    def instructions(name, **parameters):
        return counted(name, **parameters).sum()

    once = [instructions("nway", num_passes=n) for n in (1, 2, 3, 4)]
    assert np.allclose(np.diff(once), np.diff(once)[0]) and once[3] == instructions("nway")
    assert instructions("hfsd", levels=1) < instructions("hfsd", levels=2)
    assert instructions("sfsd", num_paths=1) < instructions("sfsd", num_paths=4)
    assert instructions("kbest", k=16) < instructions("kbest", k=64)
    assert instructions("ep", num_iterations=2) < instructions("ep", num_iterations=10)
    assert instructions("nway") < instructions("softsphere") < instructions("mla")
    assert instructions("mla") < instructions("mla", method="table")
    assert instructions("mla", method="table") < instructions("mla", method="plain")


@pytest.mark.parametrize("name", ["sd", "asd", "psd"])
def test_a_search_is_counted_by_its_nodes(name):
    setting = Setting(2, 2)
    data = Store(200).get(setting)
    case = Case(name, {}, setting)
    detector = case.create(threads=1, backend="cpu")
    bounds = Limits([BEST], 1, data)
    take_turns(bounds.runs, 1e-3, 1)
    nodes = detector.count_nodes(data.y, data.h, setting.noise_var).sum() / 200
    _, instructions = bounds.of(case, detector, data)
    fma, other = count(detector, 1, _core.lanes(detector.isa), nodes)
    assert instructions == pytest.approx(_core.instructions_per_fma(detector.isa) * fma + other)
    assert nodes >= 4


def test_a_count_by_hand():
    """Count N-way term by term: 1x1 antennas, one pass, QPSK, one lane."""
    qr = (2 + 1, 2 + 4)           # |h|^2 and 1/|h|; q = h / |h|
    scaled, rotated = (0, 5), (4 + 2, 0)
    candidates = (0, 4)           # the sum of two axes' distances
    lists = (0, 4 * 2 + 2 * 4 + 2 * 2 * 1)   # the best, minima per axis, per bit
    output = (1, 4 + 2 * 4)
    assert tuple(counted("nway", 1, 1, "qpsk", lanes=1)) == tuple(
        map(sum, zip(qr, scaled, rotated, candidates, lists, output, strict=True)))


@pytest.mark.parametrize("isa", _core.available_isas())
def test_arithmetic_is_counted(isa):
    once = _core.issue_arithmetic(isa, 1, 1000)
    assert once == 1000 * 7 * (_core.instructions_per_fma(isa) + 1)
    assert _core.issue_arithmetic(isa, 2, 1000) == 2 * once
    assert _core.lanes(isa) in (4, 8, 16)


@pytest.mark.parametrize("size, threads", [(0, 2), (5, 3), (1001, 1), (1001, 4)])
def test_copy(size, threads):
    source = np.arange(size, dtype=np.complex64)
    out = np.zeros_like(source)
    _core.copy(out, source, threads)
    np.testing.assert_array_equal(out, source)
    with pytest.raises(ValueError, match="differ in size"):
        _core.copy(out, np.zeros(size + 1, np.complex64), threads)
