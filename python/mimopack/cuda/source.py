# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a detector's CUDA program, for NVRTC; needs neither CuPy nor a GPU."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

NAMESPACE = "device"
THREADS = 64
BLOCKS = 1    # of a multiprocessor at least, by which registers are limited
# Entries of H up to which loops are unrolled and arrays are kept in registers where they fit.
LARGEST_UNROLLED = 64
# Detectors that share a header in lib/cuda: its name, and what tells its make() which is meant.
# Any other has one of its own name.
FAMILIES = {
    "zf": ("linear", "<false>"), "mmse": ("linear", "<true>"),
    "zfsic": ("sic", "<false>"), "bitflip": ("sic", "<true>"),
    "sd": ("tree", "<false>"), "asd": ("tree", "<true>"),
    "hfsd": ("fsd", "<false>"), "sfsd": ("fsd", "<true>"),
    "nway": ("passes", "<column_order::rotate>"), "fpfsd": ("passes", "<column_order::raise>")}
# Detectors whose vectors take unequal time: the next ones go to the threads that are ready, where
# otherwise all take the same number (004 §6: dynamic and equal distribution).
UNEQUAL = {"sd", "asd", "psd", "softsphere"}
# Threads of a warp that wait before they are given the next vectors.
IDLE = 16
# Floats of a thread that local memory may hold: a GPU sets it aside for all the threads it could
# have at a time. What needs more has them in global memory.
LARGEST_LOCAL_ARENA = 2**11
_HERE = Path(__file__).resolve().parent
# An installation has the headers beside this file, a source tree in lib/.
INCLUDE = next((path for path in (_HERE / "include", _HERE.parents[2] / "lib")
                if (path / "kernels").is_dir()), _HERE / "include")
OPTIONS = ("-std=c++17", "-default-device", "-diag-suppress=177", "-ftz=true",
           f"-DMIMOPACK_ISA={NAMESPACE}", f"-I{INCLUDE}")


@cache
def headers():
    """A digest of the headers: CuPy's cache of compiled programs does not look into them."""
    digest = hashlib.sha256()
    for folder in ("kernels", "cuda"):
        for path in sorted((INCLUDE / folder).glob("*.h")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def number(value):
    """A C++ literal."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(np.float32(value))
    return "infinity" if np.isinf(value) else f"{value.hex()}f"


def numbers(values):
    return "{ " + ", ".join(number(value) for value in values) + " }"


def threads(plan):
    """Of a block: at least as many as a team has; no more than shared memory has room for."""
    options = plan["options"]
    if plan["width"] > 2 and (plan["name"] == "softsphere" or 8 < options.get("k", 0) <= 16):
        return THREADS // 2
    team = options.get("psd_threads", 1)
    return 2 * THREADS if THREADS < team <= 2 * THREADS else THREADS


def program(plan, arena=None, has_prior=False, matrix_each=True, as_int8=False, num_hard=0,
            counts=False):
    """The text that compiles to the kernel ``detect``, or to ``arena_size``.

    Args:
        plan: ``Detector.plan()``.
        arena: what ``arena_size`` says, in floats; None makes the program that does.
        has_prior, num_hard: whether a call gives a-priori LLRs, and how many hard solutions.
        matrix_each: whether each vector has a matrix of its own.
        as_int8: the type of the LLRs.
        counts: whether nodes are counted.
    """
    options = dict(plan["options"])
    levels = options.pop("psd_levels", [1])
    expansions = options.pop("psd_expansions", []) or [1]
    points = np.asarray(plan["points"], np.complex64)
    num_tx, num_rx = plan["num_tx"], plan["num_rx"]
    small = num_tx * num_rx <= LARGEST_UNROLLED
    family, member = FAMILIES.get(plan["name"], (plan["name"], ""))
    members = (len(points), len(plan["bit_source"]), plan["width"])
    return f"""// {headers()}
#include "kernels/config.h"
#include "kernels/options.h"
#define MIMOPACK_THREADS {threads(plan)}
#define MIMOPACK_BLOCKS {BLOCKS}
{"#define MIMOPACK_SIZE_ONLY" if arena is None else f"#define MIMOPACK_ARENA {arena}"}
#define MIMOPACK_LARGEST_LOCAL_ARENA {LARGEST_LOCAL_ARENA}
namespace mimopack {{
namespace {NAMESPACE} {{
namespace asked {{
constexpr int num_tx = {num_tx}, num_rx = {num_rx};
constexpr int fixed_tx = {num_tx if small else 0}, fixed_rx = {num_rx if small else 0};
constexpr int bits = {len(plan["bit_source"])}, width = {plan["width"]};
constexpr int num_hard = {num_hard};
constexpr bool has_prior = {number(has_prior)}, matrix_each = {number(matrix_each)};
constexpr bool as_int8 = {number(as_int8)}, counts = {number(counts)};
constexpr bool dynamic = {number(plan["name"] in UNEQUAL)};
constexpr int idle = {IDLE};
__device__ constexpr int levels[] = {numbers(levels)};
__device__ constexpr int expansions[] = {numbers(expansions)};
constexpr detector_options options()
{{
    detector_options o;
{"".join(f"    o.{name} = {number(value)};{chr(10)}" for name, value in options.items())}\
    return o;
}}
__device__ constexpr constellation points = {{
    {", ".join(map(number, members))}, {number(plan["scale"])},
    {numbers(plan["bit_source"])},
    {numbers(map(float, plan["bit_sign"]))},
    {numbers(points.real)},
    {numbers(points.imag)}
}};
}}
}}
}}
#include "cuda/{family}.h"
#define MIMOPACK_MAKE make{member}
#include "cuda/detect.h"
"""
