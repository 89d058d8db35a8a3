# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LTE turbo decoder against IT++, Sionna and the reference."""

from functools import cache

import numpy as np
import pytest
from gnuradio.mimopack import _core
from gnuradio.mimopack.coding import turbo
from source_tree import DATA
from turbo_code import of_sionna, transmitted

ISAS = _core.available_isas()
BACKENDS = [("reference", "auto"), *(("cpu", isa) for isa in ISAS)]
SIONNA = np.load(DATA / "codes/sionna_turbo.npz")
ITPP = np.load(DATA / "codes/turbo_itpp.npz")
RNG = np.random.default_rng


@cache
def oracle(size, **parameters):
    """Return (LLRs, the reference decoder, its output)."""
    _, _, llr = transmitted(size, 19, 0.8)
    decoder = turbo.TurboDecoder(size, backend="reference", **parameters)
    return llr, decoder, decoder.decode(llr)


@pytest.mark.quick
class TestDecoder:
    @pytest.mark.parametrize("iterations, scale", [(1, 1.0), (6, 1.0), (6, 0.75)])
    @pytest.mark.parametrize("backend, isa", BACKENDS)
    def test_decides_as_itpp(self, backend, isa, iterations, scale):
        """Wrong decisions agree too."""
        expected = np.unpackbits(ITPP[f"decided_512_{iterations}_{scale}"], axis=1, count=512)
        decoder = turbo.TurboDecoder(512, iterations, extrinsic_scale=scale, early_stop=False,
                                     backend=backend, isa=isa)
        posterior = decoder.decode(ITPP["llr_512"].astype(np.float32))
        np.testing.assert_array_equal(posterior[:, :512] > 0, expected)

    def test_decides_as_sionna(self):
        """The exact algorithm agrees with Sionna, wrong decisions included."""
        expected = np.unpackbits(SIONNA["decided_512_map_6"], axis=1, count=512)
        decoder = turbo.TurboDecoder(512, 6, algorithm="log-map", extrinsic_scale=1.0,
                                     early_stop=False, backend="reference")
        posterior = decoder.decode(np.ascontiguousarray(SIONNA["llr_512"][:, of_sionna(512)]))
        np.testing.assert_array_equal(posterior[:, :512] > 0, expected)

    @pytest.mark.parametrize("isa", ISAS)
    @pytest.mark.parametrize("early_stop", [True, False])
    @pytest.mark.parametrize("size", [40, 528])
    def test_same_llrs_as_the_reference(self, size, early_stop, isa):
        parameters = {"iterations": 4, "early_stop": early_stop}
        llr, reference, expected = oracle(size, **parameters)
        decoder = turbo.TurboDecoder(size, isa=isa, **parameters)
        for n in (19, 1, 16):
            posterior = decoder.decode(llr[:n])
            np.testing.assert_allclose(posterior, expected[:n], rtol=1e-3, atol=1e-2)
            np.testing.assert_array_equal(decoder.found, reference.found[:n])
            np.testing.assert_array_equal(decoder.iterations_taken,
                                          reference.iterations_taken[:n])

    def test_every_size_without_noise(self):
        for size in turbo.TURBO_SIZES:
            bits = RNG(size).integers(0, 2, (1, size), np.uint8)
            words = turbo.TurboEncoder(size).encode(bits)
            decoder = turbo.TurboDecoder(size)
            posterior = decoder.decode(8 * words.astype(np.float32) - 4)
            np.testing.assert_array_equal(posterior > 0, words)
            assert decoder.found.all() and decoder.iterations_taken == 1

    def test_log_map_of_one_constituent_code(self):
        """Compare with the probabilities of all 64 paths of six bits."""
        from gnuradio.mimopack.reference.turbo import BIT, NEXT, PARITY, constituent

        systematic, parity = RNG(2).normal(0, 1, (2, 1, 9))
        weights = np.zeros((2, 2, 9))    # bit or parity, its value, step
        for word in range(64):
            state, path = 0, []
            for t in range(9):
                entering = ((word >> t & 1) ^ BIT[state, 0]) if t < 6 else 0
                path.append((BIT[state, entering], PARITY[state, entering]))
                state = NEXT[state, entering]
            assert state == 0
            labels = np.array(path).T
            weight = np.exp(np.sum(labels * np.concatenate([systematic, parity])))
            for label, values in enumerate(labels):
                weights[label, values, np.arange(9)] += weight
        expected = np.log(weights[:, 1] / weights[:, 0]) - np.concatenate([systematic, parity])
        np.testing.assert_allclose(
            constituent(systematic, parity, np.logaddexp)[:, 0], expected, atol=1e-9)

    @pytest.mark.parametrize("parameters, message", [
        ({"extrinsic_scale": 0}, "extrinsic_scale: got 0.0, must be positive"),
        ({"precision": "int8"}, "precision: got 'int8', allowed are float32, int16"),
        ({"precision": "int16", "extrinsic_scale": 1.5}, "extrinsic_scale: got 1.5, allowed with"),
        ({"early_stop": 1}, "early_stop: got 1, must be True or False")])
    def test_bad_parameters(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            turbo.TurboDecoder(40, **parameters)


@pytest.mark.parametrize("isa", ISAS)
class TestIntegers:
    """precision="int16": as close to float32 as the unit of 1/32 of the mean allows."""

    def test_one_iteration(self, isa):
        _, _, llr = transmitted(512, 40, 0.6)
        own = {"iterations": 1, "early_stop": False, "isa": isa}
        exact = turbo.TurboDecoder(512, **own).decode(llr)
        rounded = turbo.TurboDecoder(512, precision="int16", **own).decode(llr)
        difference = np.abs(rounded - exact) / np.mean(np.abs(llr))
        assert difference.max() < 0.5 and 0 < np.sqrt(np.mean(difference**2)) < 0.06

    def test_decides_as_floats(self, isa):
        """Also in groups that are not full, and with early stopping."""
        _, _, llr = transmitted(512, 75, 0.8)
        for early_stop in (False, True):
            both = [turbo.TurboDecoder(512, 6, early_stop=early_stop, precision=precision, isa=isa)
                    for precision in ("float32", "int16")]
            words = [decoder.decode(llr)[:, :512] > 0 for decoder in both]
            settled = both[0].found & both[1].found
            assert settled.sum() > 50 and np.mean(both[0].found != both[1].found) < 0.1
            np.testing.assert_array_equal(words[0][settled], words[1][settled])
            taken = np.abs(both[0].iterations_taken - both[1].iterations_taken)
            assert taken.max() <= 1 if not early_stop else np.mean(taken) < 0.2

    def test_nothing_overflows(self, isa):
        """All LLRs have the largest integer magnitude, with correct or random signs."""
        size, n = 1024, 64
        words = turbo.TurboEncoder(size).encode(RNG(1).integers(0, 2, (n, size), np.uint8))
        small = np.full((3, size + 4), 1e-5)
        small[:, 100:200] = 1
        signs = np.concatenate([2.0 * words - 1, RNG(2).choice([-1.0, 1.0], words.shape)])
        llr = (signs * small.ravel()).astype(np.float32)
        own = {"iterations": 1, "early_stop": False, "isa": isa}
        exact = turbo.TurboDecoder(size, **own).decode(llr)
        integers = turbo.TurboDecoder(size, precision="int16", **own).decode(llr)
        clear = np.abs(exact) > 1    # limits may change the sign of the others
        assert np.mean(clear) > 0.05
        np.testing.assert_array_equal((integers > 0)[clear], (exact > 0)[clear])
        decoder = turbo.TurboDecoder(size, 50, early_stop=False, precision="int16", isa=isa)
        large = np.flatnonzero(small.ravel() == 1)
        np.testing.assert_array_equal(decoder.decode(llr[:n])[:, large] > 0, words[:, large])
