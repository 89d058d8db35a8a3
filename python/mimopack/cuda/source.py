# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of CUDA programs, for NVRTC; needs neither CuPy nor a GPU.

lib/cuda/program.h describes the names that a program defines for the headers.
"""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

NAMESPACE = "device"
THREADS = 64    # per block
BLOCKS = 1    # minimum number per multiprocessor, which limits the registers of a thread
# Of the kernels in code_blocks.h and channel_estimate.h
CODE_BLOCK_THREADS, ESTIMATE_THREADS = 1024, 256
# Largest number of entries in H for which loops are unrolled and arrays are kept in registers if
# they fit.
LARGEST_UNROLLED = 64
# Largest number of floats per thread in local memory, which a GPU reserves for the largest possible
# number of threads. Larger arenas are in global memory.
LARGEST_LOCAL_ARENA = 2**11
_MOST_POINTS = 1024    # max_points of lib/common/config.h
_HERE = Path(__file__).resolve().parent
# An installed package has the headers in its folder include/, a source tree in lib/.
INCLUDE = next((path for path in (_HERE.parent / "include", _HERE.parents[2] / "lib")
                if (path / "detectors").is_dir()), _HERE.parent / "include")
OPTIONS = ("-std=c++17", "-default-device", "-diag-suppress=177", "-ftz=true",
           f"-DMIMOPACK_ISA={NAMESPACE}", f"-I{INCLUDE}")


@cache
def headers():
    """Return a digest of the headers; programs contain it, because CuPy's cache ignores headers."""
    digest = hashlib.sha256()
    for folder in ("common", "cuda", "detectors", "codes"):
        for path in sorted((INCLUDE / folder).rglob("*.h")):
            digest.update(str(path.relative_to(INCLUDE)).encode() + path.read_bytes())
    return digest.hexdigest()


def _outside(folder):
    """Return a digest of the headers in a folder outside INCLUDE."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.h") if Path(folder).is_absolute() else ()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def number(value):
    """Return a number as a C++ literal."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(np.float32(value))
    return "infinity" if np.isinf(value) else f"{value.hex()}f"


def numbers(values):
    """Return numbers as a C++ initialiser list."""
    return "{ " + ", ".join(number(value) for value in values) + " }"


def program_text(header, threads, constants, first="common/config.h"):
    """Return the text of a program other than a detector's.

    Args:
        header: the header in lib that contains the kernels.
        threads: number of threads per block, or the largest one.
        constants: the constants that the header expects in the namespace ``program``.
        first: the header that the constants need.
    """
    return f"""// {headers()}
#include "{first}"
#define MIMOPACK_PROGRAM
#define MIMOPACK_THREADS {threads}
namespace mimopack {{
namespace {NAMESPACE} {{
namespace program {{
{constants}
}}
}}
}}
#include "{header}"
"""


def whitening(num_tx, num_rx, threads):
    """Return the text of the program with the kernel ``whiten``, of at most so many threads."""
    return program_text("cuda/whiten.h", threads,
                        f"constexpr int num_tx = {num_tx}, num_rx = {num_rx};")


@cache
def code_blocks():
    """Return the text of the program with the kernels ``recover`` and ``join``."""
    return program_text("cuda/code_blocks.h", CODE_BLOCK_THREADS, "")


@cache
def channel_estimate():
    """Return the text of the program with the kernels that estimate channels."""
    return program_text("cuda/channel_estimate.h", ESTIMATE_THREADS, "")


def is_small(plan):
    """Return whether loops over a plan's H are unrolled and its arrays may be in registers."""
    return plan["num_tx"] * plan["num_rx"] <= LARGEST_UNROLLED


def program(plan, arena=None, has_prior=False, matrix_each=True, as_int8=False, num_hard=0,
            covariance=0):
    """Return the text of a program with the kernels ``detect`` and ``detect_second``.

    Without ``arena``, the program has the kernel ``arena_size`` instead: it returns the number of
    floats that a thread of ``detect`` needs for its arrays, and more sizes (lib/cuda/detect.h).

    Args:
        plan: ``Detector.plan()``.
        arena: the number that ``arena_size`` returned, or None.
        has_prior: whether a call has a-priori LLRs.
        num_hard: number of hard solutions in a call.
        matrix_each: whether each vector has its own matrix.
        as_int8: whether the LLRs are int8.
        covariance: 0 without a covariance of the noise, 1 with one for all vectors, 2 with one for
            each matrix.
    """
    points = np.asarray(plan["points"], np.complex64)
    num_tx, num_rx = plan["num_tx"], plan["num_rx"]
    small = is_small(plan)
    family, options = plan["family"], plan["options"]
    layers = plan["layers"]
    bits = len(plan["bit_source"])
    num_llr = sum(len(layer["bit_source"]) for layer in layers) or num_tx * bits
    members = (len(points), len(plan["bit_source"]), plan["width"])
    return f"""// {headers()} {_outside(plan["folder"])}
#include "{plan["folder"]}/kernel.h"
#define MIMOPACK_PROGRAM
#define MIMOPACK_THREADS {plan["gpu_threads"]}
#define MIMOPACK_BLOCKS {BLOCKS}
{"#define MIMOPACK_SIZE_ONLY" if arena is None else f"#define MIMOPACK_ARENA {arena}"}
#define MIMOPACK_LARGEST_LOCAL_ARENA {LARGEST_LOCAL_ARENA}
namespace mimopack {{
namespace {NAMESPACE} {{
namespace program {{
constexpr int num_tx = {num_tx}, num_rx = {num_rx};
constexpr int fixed_tx = {num_tx if small else 0}, fixed_rx = {num_rx if small else 0};
constexpr int bits = {bits}, width = {plan["width"]}, num_llr = {num_llr};
constexpr int num_hard = {num_hard}, covariance = {covariance};
constexpr bool prior_given = {number(has_prior)}, has_layers = {number(bool(layers))};
constexpr bool has_prior = prior_given || has_layers, matrix_each = {number(matrix_each)};
constexpr bool as_int8 = {number(as_int8)};
constexpr bool extrinsic = {number(plan["extrinsic"])};
constexpr {family}_options options()
{{
    {family}_options o;
{"".join(map(_assignment, options.items()))}\
    return o;
}}
{_layers(layers)}__device__ constexpr constellation points = {{
    {", ".join(map(number, members))}, {number(plan["scale"])},
    {numbers(plan["bit_source"])},
    {numbers(map(float, plan["bit_sign"]))},
    {numbers(points[:_MOST_POINTS].real)},
    {numbers(points[:_MOST_POINTS].imag)},
    {"layers_of_points" if layers else "nullptr"}
}};
}}
}}
}}
#include "{plan["folder"]}/cuda.h"
#define MIMOPACK_MAKE make_{plan["name"]}
#include "cuda/detect.h"
"""


def _assignment(option):
    name, value = option
    value = (f"{{ {len(value)}, {numbers(value)} }}" if isinstance(value, list)
             else number(value))
    return f"    o.{name} = {value};\n"


def _layers(layers):
    """Return the definition of the layers' ``grid_layer``, if there are any."""
    if not layers:
        return ""
    each = ", ".join(
        "{ " + ", ".join([
            numbers([layer["turn"].real, layer["turn"].imag]),
            numbers([layer["shift"].real, layer["shift"].imag]),
            number(float(layer["scale"])), numbers(layer["sides"]),
            number(len(layer["bit_source"])), numbers(layer["bit_source"]),
            numbers(layer["bit_sign"])]) + " }" for layer in layers)
    return f"__device__ constexpr grid_layer layers_of_points[] = {{ {each} }};\n"
