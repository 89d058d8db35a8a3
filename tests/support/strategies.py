# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hypothesis strategies: valid and hostile arguments of detectors, decoders and commands.

Large arrays come from a seed that Hypothesis draws, and what is special about them (a NaN, a column
of zeros) from values that it draws one by one. So a failing example shrinks to one special value.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from gnuradio import digital
from gnuradio.mimopack import checks, constellation, detectors
from hypothesis import settings
from hypothesis import strategies as st
from simulated import problem

SEEDS = st.integers(0, 2**32 - 1)
NOT_FINITE = (np.nan, np.inf, -np.inf)
# float32 numbers at the edges of its range, all finite.
EDGES = (0.0, -0.0, 1e-45, -1e-45, 1e-38, 1e-30, 1e30, 3.4e38, -3.4e38)
# Sizes of full searches, M^nt, that take milliseconds.
SMALL_SEARCH, SMALL_TREE = 2**8, 2**12
_FULL = ("mla", "omap", "hfsd", "sfsd", "softsphere", "sd", "asd", "psd")
# Largest values of parameters, so that examples are fast and all combinations are allowed.
_LARGEST = {"levels": 1, "num_paths": 2, "k": 32, "team_size": 64, "num_iterations": 12}


def fewer(share):
    """Return settings with a share of the profile's examples, for tests with slow examples."""
    return settings(max_examples=max(2, settings().max_examples // share))


@cache
def junk():
    """Draw values of any type: most arguments refuse them."""
    return st.one_of(
        st.none(), st.booleans(), st.integers(-2**70, 2**70), st.floats(), st.complex_numbers(),
        st.text(max_size=6), st.binary(max_size=4), st.lists(st.integers(-2, 9), max_size=3),
        st.sampled_from([object(), int, len, {}, {"a": 1}, (), [[1, 2], [3]], {1, 2}, range(3),
                         np.float64(2.5), np.int8(-3), np.bool_(True), np.array(2),
                         np.array("x"), np.array([1.5, np.nan]), np.zeros(0), np.zeros((2, 0)),
                         np.array([None, 1], object), np.ones((2, 2)) > 0, 10**400,
                         np.datetime64("nat"), np.ma.masked, slice(2), "a:b", "\x00", b"\xff"]))


@st.composite
def any_points(draw):
    """Draw (points, labels): random points, which have a mean and axes of different variance."""
    size = draw(st.sampled_from([2, 4, 8, 16]))
    rng = np.random.default_rng(draw(SEEDS))
    points = rng.standard_normal(size) + 1j * draw(st.floats(0, 1)) * rng.standard_normal(size)
    points += draw(st.floats(0, 2))
    points /= np.sqrt(np.mean(np.abs(points) ** 2))
    return points, rng.permutation(size)


@cache
def _objects():
    return (digital.constellation_bpsk(), digital.constellation_qpsk(),
            digital.constellation_8psk(), digital.constellation_16qam())


def constellations(grid, largest=256):
    """Draw constellations of up to ``largest`` points, in all forms that detectors take."""
    names = [name for name in constellation.BUILT_IN
             if (one := constellation.get(name)).size <= largest
             and (one.grid or not grid)]
    some = st.sampled_from(names)
    if grid:
        return some
    return some | any_points().filter(lambda of: len(of[0]) <= largest) | st.sampled_from(
        [one for one in _objects() if constellation.get(one).size <= largest])


def _parameter(parameter, num_tx):
    if parameter.kind == "enum":
        values = st.sampled_from(parameter.choices)
    elif parameter.kind == "bool":
        values = st.booleans()
    elif parameter.kind == "int":
        most = num_tx if parameter.most == "num_tx" else parameter.most or 64
        values = st.integers(parameter.least or 1, min(most, _LARGEST.get(parameter.name, 8)))
    elif parameter.check is checks.share:
        values = st.floats(0, 0.95)
    else:
        values = st.floats(0.05, 50)
    return values | st.none() if parameter.optional else values


@st.composite
def detector_arguments(draw, name, search=SMALL_TREE, most_tx=6):
    """Draw keyword arguments with which a detector can be made; full searches stay small."""
    cls = detectors.REGISTRY[name]
    num_tx = draw(st.integers(1, most_tx))
    largest = 256
    if name in _FULL:
        num_tx = min(num_tx, 4)
        largest = int(search**(1 / num_tx) + 1e-9)
    num_rx = num_tx + draw(st.sampled_from([0, 0, 1, 2, 3, 60]))
    own = {p.name: draw(_parameter(p, num_tx)) for p in cls.PARAMETERS
           if p.kind != "ints" and p.name != "preset"}
    if cls.SUPPORTS_PRIOR and not cls.HARD:
        own["extrinsic"] = draw(st.booleans())
    return {"num_tx": num_tx, "num_rx": num_rx,
            "constellation": draw(constellations(cls.NEEDS_GRID, largest)), **own}


@st.composite
def large_arguments(draw, name):
    """Draw keyword arguments of a search detector for 7 to 32 layers and up to 256 antennas.

    LLRs are max-log: beyond 80, log-sum LLRs of the reference and of the other backends differ.
    """
    cls = detectors.REGISTRY[name]
    num_tx = draw(st.integers(7, 32))
    num_rx = draw(st.sampled_from([num_tx, num_tx + 1, 2 * num_tx - 1, 2 * num_tx, 64, 256]))
    own = {p.name: draw(_parameter(p, num_tx)) for p in cls.PARAMETERS
           if p.name not in ("levels", "llr_method")}
    if name in ("hfsd", "sfsd"):
        own["levels"] = 1
    return {"num_tx": num_tx, "num_rx": num_rx, **own,
            "constellation": draw(constellations(cls.NEEDS_GRID, 64))}


@dataclass
class Batch:
    """Arguments of ``detect``, and which of the vectors are erasures by docs/detectors.md.

    ``arguments`` has y, h, noise_var and, for some detectors, prior. ``clean`` has the same before
    anything was spoiled. ``period`` is T.
    """

    arguments: dict
    clean: dict
    erased: np.ndarray
    period: int


@st.composite
def batches(draw, detector, spoil=True, snr_db=(-10, 40), least=0, most_channels=6,
            decades=11):
    """Draw a :class:`Batch` for a detector.

    Args:
        detector: the detector.
        spoil: whether some vectors may be spoiled.
        snr_db: bounds of the SNR.
        least, most_channels: bounds of the number of matrices.
        decades: y and h are multiplied by 10^-decades to 10^decades, noise_var accordingly.
    """
    period, channels = draw(st.integers(1, 20)), draw(st.integers(least, most_channels))
    n = period * channels
    rng = np.random.default_rng(seed := draw(SEEDS))
    scale = 10.0 ** draw(st.integers(-decades, decades))
    y, h, noise_var, bits = problem(n, detector.num_tx, detector.num_rx, detector.constellation,
                                    draw(st.integers(*snr_db)), period, seed)
    y, h = (scale * y).astype(np.complex64), (scale * h).astype(np.complex64)
    noise_var *= scale**2
    arguments = {"y": y, "h": h, "noise_var": noise_var}
    if draw(st.booleans()):
        arguments["noise_var"] = (noise_var * rng.uniform(0.5, 2, n)).astype(np.float32)
    if detector.SUPPORTS_PRIOR and draw(st.booleans()):
        arguments["prior"] = rng.normal(0, draw(st.floats(0, 20)), bits.shape).astype(np.float32)
    clean = {name: np.copy(value) if np.ndim(value) else value for name, value in arguments.items()}
    erased = np.zeros(n, bool)
    for _ in range(draw(st.integers(0, 4)) if spoil and n else 0):
        at = draw(st.integers(0, n - 1))
        _spoil(draw, arguments, at, at // period, erased, period, detector.NEEDS_RANK)
    return Batch(arguments, clean, erased, period)


def _spoil(draw, arguments, vector, matrix, erased, period, needs_rank):
    """Make one vector, or all vectors of one matrix, an erasure."""
    of_matrix = slice(matrix * period, (matrix + 1) * period)
    kinds = ["y", "entry of h"]
    if needs_rank:
        kinds += ["column of zeros"]
        if arguments["h"].shape[2] > 1:
            kinds += ["equal columns", "rank one"]
    kinds += [name for name in ("noise_var", "prior") if np.ndim(arguments.get(name))]
    kind, bad = draw(st.sampled_from(kinds)), draw(st.sampled_from(NOT_FINITE))
    h = arguments["h"][matrix]
    if kind in ("y", "prior"):
        values = arguments[kind][vector]
        place = draw(st.integers(0, values.size - 1))
        values[place] = bad if kind == "prior" else draw(st.sampled_from([bad, complex(0, bad)]))
    elif kind == "noise_var":
        arguments[kind][vector] = draw(st.sampled_from([*NOT_FINITE, 0.0, -0.0, -1.0, 1e-38, 1e38]))
    elif kind == "entry of h":
        h[draw(st.integers(0, len(h) - 1)), draw(st.integers(0, h.shape[1] - 1))] = bad
    elif kind == "rank one":
        h[:] = h[:, :1]
    else:
        h[:, -1] = 0 if kind == "column of zeros" else h[:, 0]
    erased[of_matrix if kind not in ("y", "prior", "noise_var") else vector] = True


@cache
def _something():
    return junk().filter(lambda value: value is not None)


def misaligned(array):
    """Return a C-contiguous copy whose address is not a multiple of the item's size."""
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    copy = memory.view(array.dtype).reshape(array.shape) if array.nbytes else array.copy()
    copy[...] = array
    return copy


def _wrong_forms(array):
    """Yield arrays with the values of an array, of another type, shape or layout."""
    for dtype in ("complex128", "float64", "float16", "int8", "uint16", "bool", "object", "S1",
                  array.dtype.newbyteorder()):
        with np.errstate(all="ignore"):
            yield array.real.astype(dtype)
    yield from (array.reshape(-1), array[None], array[..., None], array[..., :-1],
                np.concatenate([array, array], axis=-1), array[..., :0])
    wide = np.repeat(array, 2, axis=-1)
    yield from (wide[..., ::2], array[..., ::-1], np.asfortranarray(array))
    yield np.array(7, array.dtype)
    yield array.view([("field", array.dtype)])
    yield array.tolist()
    yield memoryview(array.tobytes())


def wrong(array):
    """Draw something that is not an array of this type, shape and layout, or any junk.

    The number of rows, which only other arguments determine, may stay or change.
    """
    forms = [of for of in _wrong_forms(array) if not isinstance(of, np.ndarray) or not (
        of.dtype == array.dtype and of.ndim == array.ndim and of.shape[1:] == array.shape[1:]
        and of.flags.c_contiguous)]
    forms = st.integers(0, len(forms) - 1).map(forms.__getitem__)
    return forms | _something()
