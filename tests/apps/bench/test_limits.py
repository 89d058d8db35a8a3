# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a processor could do at most, which mimopack bench compares with."""

import numpy as np
import pytest
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.apps.bench import cases
from gnuradio.mimopack.apps.bench.data import Setting, Store
from gnuradio.mimopack.apps.bench.limits import Limits
from gnuradio.mimopack.apps.bench.measuring import take_turns
from gnuradio.mimopack.apps.bench.operations import COUNTED, Problem, count

BEST = _core.available_isas()[0]


class TestLimits:
    def test_every_detector_is_counted(self):
        assert COUNTED.keys() >= set(detectors.REGISTRY)

    @pytest.mark.parametrize("name", COUNTED)
    def test_more_of_anything_takes_more(self, name):
        nodes = {"sd": 20, "asd": 20, "psd": 100}.get(name)

        def instructions(*sizes, lanes=16):
            return count(name, Problem(*sizes), lanes, {}, nodes).instructions()

        small = instructions(3, 4, 16)
        assert 0 < small < instructions(4, 4, 16)
        assert small < instructions(3, 5, 16) and small < instructions(3, 4, 64)
        assert instructions(3, 4, 16, 14) < small      # QR once for several vectors
        assert instructions(3, 4, 16, lanes=4) < small     # fewer steps to bring in a register
        if nodes:
            more = count(name, Problem(3, 4, 16), 16, {}, nodes + 1).instructions()
            assert small < more < 1.1 * small
        counted = count(name, Problem(3, 4, 16), 4, {}, nodes)
        assert counted.instructions(2) == counted.instructions() + counted.fma

    def test_parameters(self):
        def instructions(name, **parameters):
            return count(name, Problem(4, 4, 16), 16, parameters).instructions()

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
    def test_a_search_is_counted_by_its_nodes(self, name):
        setting = Setting(2, 2)
        data = Store(200).get(setting)
        case = cases.Case(name, {}, setting)
        detector = case.create(threads=1)
        bounds = Limits([BEST], 1, data)
        take_turns(bounds.runs, 1e-3, 1)
        nodes = detector.count_nodes(data.y, data.h, setting.noise_var)
        _, instructions = bounds.of(case, detector, data)
        lanes = _core.lanes(detector.isa)
        expected = count(name, Problem(2, 2, 16), lanes, {}, nodes.sum() / 200)
        assert instructions == pytest.approx(
            expected.instructions(_core.instructions_per_fma(detector.isa)))
        assert nodes.sum() / 200 >= 4

    def test_a_count_by_hand(self):
        """N-way, one antenna each way, one pass, QPSK, in lanes of one, term by term."""
        counted = count("nway", Problem(1, 1, 4), 1, {})
        qr = (2 + 1, 2 + 4)           # |h|^2 and 1/|h|; q = h / |h|
        scaled, rotated = (0, 5), (4 + 2, 0)
        candidates = (0, 4)           # the sum of two axes' distances
        lists = (0, 4 * 2 + 2 * 4 + 2 * 2 * 1)   # the best, minima per axis, per bit
        output = (1, 4 + 2 * 4)
        assert counted.fma == sum(term[0] for term in (qr, scaled, rotated, candidates, lists,
                                                       output))
        assert counted.other == sum(term[1] for term in (qr, scaled, rotated, candidates, lists,
                                                         output))

    @pytest.mark.parametrize("isa", _core.available_isas())
    def test_arithmetic_is_counted(self, isa):
        once = _core.issue_arithmetic(isa, 1, 1000)
        assert once == 1000 * 7 * (_core.instructions_per_fma(isa) + 1)
        assert _core.issue_arithmetic(isa, 2, 1000) == 2 * once
        assert _core.lanes(isa) in (4, 8, 16)

    @pytest.mark.parametrize("size, threads", [(0, 2), (5, 3), (1001, 1), (1001, 4)])
    def test_copy(self, size, threads):
        source = np.arange(size, dtype=np.complex64)
        out = np.zeros_like(source)
        _core.copy(out, source, threads)
        np.testing.assert_array_equal(out, source)
        with pytest.raises(ValueError, match="differ in size"):
            _core.copy(out, np.zeros(size + 1, np.complex64), threads)
