# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every detector with random sizes, constellations and parameters, and some hostile vectors."""

import numpy as np
import pytest
from gnuradio.mimopack import checks, constellation, detectors
from rounding import assert_only_rounding
from simulated import problem

# Detectors that search all vectors, in the reference at least.
FULL = ("mla", "omap", "hfsd", "sfsd", "softsphere", "sd", "asd", "psd")
LARGEST = {"levels": 1, "num_paths": 2, "k": 32, "team_size": 64, "num_iterations": 12}


def value_of(parameter, num_tx, rng):
    """Return a random allowed value of a parameter."""
    if parameter.optional and rng.random() < 0.3:
        return None
    if parameter.kind == "enum":
        return str(rng.choice(parameter.choices))
    if parameter.kind == "bool":
        return bool(rng.integers(2))
    if parameter.kind == "int":
        most = num_tx if parameter.most == "num_tx" else parameter.most or 64
        return int(rng.integers(parameter.least or 1,
                                min(most, LARGEST.get(parameter.name, 8)) + 1))
    return float(rng.uniform(0, 0.95) if parameter.check is checks.share else rng.uniform(0.05, 50))


def random_arguments(name, rng):
    cls = detectors.REGISTRY[name]
    num_tx = int(rng.integers(1, 4 if name in FULL else 7))
    names = [key for key in constellation.BUILT_IN
             if constellation.get(key).grid or not cls.NEEDS_GRID]
    names = [key for key in names if constellation.get(key).size <= (
        256 ** (1 / num_tx) + 1e-9 if name in FULL else 64)]
    own = {p.name: value_of(p, num_tx, rng) for p in cls.PARAMETERS
           if p.kind != "ints" and p.name not in ("preset", "llr_method")}
    if own.get("soft"):
        own.pop("radius", None)    # with soft output, only the default is allowed
    return {"num_tx": num_tx, "num_rx": num_tx + int(rng.choice([0, 1, 2, 60])),
            "constellation": str(rng.choice(names)), **own}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_contract(name, seed):
    """CPU and reference agree; numbers at the edges of float32 spoil at most their own vector."""
    rng = np.random.default_rng(seed)
    arguments = random_arguments(name, rng)
    det, plain = (detectors.create(name, backend=backend, **arguments)
                  for backend in ("cpu", "reference"))
    period = int(rng.integers(1, 6))
    y, h, noise_var, bits = problem(6 * period, det.num_tx, det.num_rx, arguments["constellation"],
                                    int(rng.integers(5, 30)), period, seed)
    vectors = {"y": y, "h": h, "noise_var": np.full(len(y), noise_var, np.float32)}
    if det.SUPPORTS_PRIOR:
        vectors["prior"] = rng.normal(0, 4, bits.shape).astype(np.float32)
    llr = det.detect(**vectors)
    assert det.erasures == 0
    assert_only_rounding(llr, plain.detect(**vectors), plain, vectors, period, 0.1, 1e-4)

    touched = np.zeros(len(y), bool)
    for key in rng.choice(list(vectors), 3):
        values = vectors[key].view(np.float32).reshape(len(vectors[key]), -1)
        at = rng.integers(len(values))
        values[at, rng.integers(values.shape[1])] = rng.choice(
            [np.nan, np.inf, -np.inf, 0, 1e-45, 1e-30, 1e30, 3.4e38, -3.4e38])
        each = period if key == "h" else 1
        touched[at * each:(at + 1) * each] = True
    spoilt = det.detect(**vectors)
    assert np.isfinite(spoilt).all() and det.erasures <= touched.sum()
    np.testing.assert_array_equal(spoilt[~touched], llr[~touched])
