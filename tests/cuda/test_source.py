# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU programs compile for every architecture and keep their arrays in registers.

No GPU is needed.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import source
from nvrtc import ARCHITECTURES, Program

# Other sizes, constellations and calls, for one architecture: (detector, parameters, call).
OTHERS = [
    *((name, {"num_tx": 9, "num_rx": 9}, {}) for name in ("nway", "sfsd", "mmse", "kbest")),
    *((name, {"num_tx": 2, "num_rx": 3, "constellation": "bpsk"}, {})
      for name in ("mla", "omap", "kbest", "trellis", "mmsepic")),
    *((name, {"constellation": "qam64"}, {"has_prior": True, "as_int8": True})
      for name in ("nway", "sfsd", "ep", "mmsepic")),
    *((name, {}, {"matrix_each": False}) for name in ("nway", "mmse", "fpfsd")),
    *((name, {"llr_method": "logsum"}, {"has_prior": prior}) for name in ("nway", "fpfsd")
      for prior in (False, True)),
    *((name, {"num_tx": 8, "num_rx": 8, "constellation": points}, {"has_prior": True})
      for name in ("nway", "fpfsd") for points in ("qpsk", "qam16", "qam64", "qam256")),
    *((name, {"constellation": "qam1024"}, {"has_prior": True})
      for name in ("nway", "fpfsd", "psd", "softsphere")),
    ("nway", {"num_tx": 8, "num_rx": 8, "constellation": "qam1024"}, {"has_prior": True}),
    ("bitflip", {}, {"num_hard": 3}), ("mla", {"num_tx": 3, "method": "table"}, {}),
    ("psd", {"preset": "table5"}, {"counts": True}), ("psd", {"team_size": 8}, {"has_prior": True}),
    ("psd", {"preset": "table5", "team_size": 256}, {}), ("psd", {"num_tx": 9, "num_rx": 9}, {}),
    ("psd", {"levels": [3, 1], "expansions": [64], "team_size": 128}, {}),
    ("sd", {"radius": "zf", "ordering": "stacked"}, {}),
    ("zf", {"num_tx": 64, "num_rx": 256, "constellation": "qam256"}, {}),
    ("mmse", {"num_tx": 32, "num_rx": 256, "constellation": "qam1024"}, {"matrix_each": False}),
    ("mmsepic", {"num_tx": 12, "num_rx": 12}, {"has_prior": True, "as_int8": True}),
    ("ep", {"num_tx": 16, "num_rx": 64}, {"has_prior": True}),
    ("kbest", {"k": 32, "num_tx": 16, "num_rx": 16, "constellation": "qam256"},
     {"has_prior": True}),
    ("sfsd", {"num_tx": 16, "num_rx": 16, "constellation": "qam1024", "levels": 1},
     {"has_prior": True}),
    ("kbest", {"num_tx": 16, "num_rx": 16, "constellation": "qpsk"}, {}),
    ("softsphere", {"constellation": "qam256"}, {"has_prior": True, "as_int8": True}),
    ("softsphere", {"constellation": "qam64", "num_rx": 16}, {"matrix_each": False}),
    ("softsphere", {"num_tx": 5, "num_rx": 5}, {}),
    ("softsphere", {"num_tx": 8, "num_rx": 8, "constellation": "qpsk"}, {"has_prior": True}),
]
# Searches for many antennas, for every architecture.
LARGE = [
    ("nway", {"num_tx": 16, "num_rx": 256, "constellation": "qam256"}),
    ("fpfsd", {"num_tx": 16, "num_rx": 16}), ("kbest", {"num_tx": 16, "num_rx": 64}),
    ("nway", {"num_tx": 32, "num_rx": 256}), ("sfsd", {"num_tx": 32, "num_rx": 256, "levels": 1}),
    ("kbest", {"num_tx": 12, "num_rx": 32, "k": 256, "constellation": "qam64"}),
    ("sfsd", {"num_tx": 16, "num_rx": 128, "constellation": "qam64"}),
    ("hfsd", {"num_tx": 12, "num_rx": 12}),
    ("softsphere", {"num_tx": 5, "num_rx": 32}),
]
# Parameters that select another kernel, or a kernel of another size.
SIZED = [*((name, {}) for name in detectors.REGISTRY), ("softsphere", {"llr_clip": 8.0}),
         ("psd", {"preset": "table5"}), ("psd", {"team_size": 32}), ("kbest", {"k": 4}),
         ("kbest", {"k": 256})]
# Arrays of a thread are in registers, for 4x4 unless the entry says otherwise.
IN_REGISTERS = [
    *((name, {"constellation": points}, {})
      for name in ("zf", "mmse", "mmsepic", "nway", "fpfsd", "hfsd", "sfsd", "psd") for points in
      ("qpsk", "qam16", "qam64")), ("ep", {}, {}), ("zfsic", {}, {}),
    *((name, {}, {"has_prior": True}) for name in ("nway", "fpfsd")),
    ("nway", {"constellation": "qam64"}, {"has_prior": True}),
    *(("nway", {"llr_method": "logsum"}, {"has_prior": prior}) for prior in (False, True)),
    *(("nway", {"constellation": points, "num_tx": size, "num_rx": size}, {"has_prior": prior})
      for points, size in (("qam256", 4), ("qam64", 5), ("qam16", 6)) for prior in (False, True)),
    ("kbest", {"k": 64}, {}), ("kbest", {"k": 256, "constellation": "qam64"}, {}),
    *(("psd", {"constellation": points, "preset": "table5"}, {})
      for points in ("qpsk", "qam16", "qam64"))]


def compile_program(name, own, call, architecture):
    plan = detectors.create(name, backend="cpu", **own).plan()
    size = Program(source.program(plan, **call), architecture, source.OPTIONS)
    assert size.error is None and set(size.registers) == {"arena_size"}
    return Program(source.program(plan, arena=64, **call), architecture, source.OPTIONS)


@pytest.fixture(scope="module")
def programs():
    """Return futures by (detector, architecture); two programs compile at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield {(name, architecture): pool.submit(compile_program, name, {}, {}, architecture)
               for architecture in ARCHITECTURES for name in detectors.REGISTRY}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_every_detector_compiles(programs, name, architecture):
    program = programs[name, architecture].result()
    assert program.error is None
    assert set(program.registers) == {"detect"}


@pytest.mark.parametrize("name, own, call", OTHERS)
def test_other_sizes_and_calls_compile(name, own, call):
    assert compile_program(name, own, call, "sm_90").error is None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name, own", LARGE)
def test_searches_of_large_arrays_compile(name, own, architecture):
    assert compile_program(name, own, {}, architecture).error is None


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("has_prior", [False, True])
def test_soft_searches_by_warps_compile(has_prior, architecture):
    assert compile_program("softsphere", {"constellation": "qam64"}, {"has_prior": has_prior},
                           architecture).error is None


def test_teams_where_warps_do_not_reduce():
    """Compute capability below 8.0."""
    assert compile_program("kbest", {"k": 64}, {}, "sm_75").error is None


@pytest.mark.parametrize("name, own", SIZED)
def test_syntax_for_all_sizes_and_constellations(name, own):
    """Check choices by size and static assertions, in a twentieth of the time to compile."""
    kind = detectors.REGISTRY[name]
    calls = [{}, *({"has_prior": True},) * kind.SUPPORTS_PRIOR,
             *({"counts": True},) * hasattr(kind, "count_nodes"),
             *({"num_hard": 2},) * (name == "bitflip")]
    errors, accepted = {}, 0
    for size in (1, 2, 3, 4, 5, 8, 9):
        for points in ("bpsk", "qpsk", "qam16", "qam64", "qam256"):
            try:
                plan = detectors.create(name, num_tx=size, num_rx=size, constellation=points,
                                        backend="cpu", **own).plan()
            except ValueError:    # every backend refuses it
                continue
            for call in calls if size in (4, 9) else calls[:1]:
                program = Program(source.program(plan, arena=64, **call), "sm_90",
                                  (*source.OPTIONS, "-fdevice-syntax-only"))
                accepted += 1
                if program.error:
                    errors[(size, points, *call)] = program.error
    assert not errors and accepted


@pytest.mark.parametrize("name, own, call", IN_REGISTERS)
def test_nothing_is_in_local_memory(name, own, call):
    program = compile_program(name, own, call, "sm_90")
    assert program.stack["detect"] == program.spills["detect"] == 0


@pytest.mark.parametrize("matrix_each", [True, False])
@pytest.mark.parametrize("name, num_tx, num_rx, points", [
    ("zf", 16, 64, "qam16"), ("mmse", 16, 16, "qam16"), ("mmse", 16, 64, "qam16"),
    ("mmsepic", 12, 12, "qam16"), ("ep", 16, 16, "qam16"), ("ep", 16, 64, "qam16"),
    ("nway", 12, 12, "qam16"), ("nway", 24, 48, "qam16"), ("nway", 16, 64, "qam1024"),
    ("kbest", 16, 16, "qam16"), ("sfsd", 16, 64, "qam16"), ("softsphere", 4, 4, "qam64")])
def test_teams_know_their_shared_memory(name, num_tx, num_rx, points, matrix_each):
    """A generic load tests its address each time, as it does if a team's object is in memory."""
    program = compile_program(name, {"num_tx": num_tx, "num_rx": num_rx, "constellation": points},
                              {"matrix_each": matrix_each}, "sm_90")
    kernel = program.ptx[program.ptx.index(".entry detect"):].split(".func")[0]
    assert "ld.shared" in kernel
    assert not re.search(r"\b(ld|st)\.(v\d\.)?[fub]\d", kernel)


LOAD = """
import ctypes
from types import SimpleNamespace
from gnuradio.mimopack.cuda import device
runtime = SimpleNamespace(runtimeGetVersion=lambda: {version})
device.cupy = lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
device.load_nvrtc()
print(ctypes.CDLL("libnvrtc.so.{major}").nvrtcVersion is not None)
"""


@pytest.mark.parametrize("major", [13, 99])
def test_the_compiler_of_a_package_is_loaded(major):
    """Uses a separate process, because a library stays loaded."""
    code = LOAD.format(version=1000 * major, major=major)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout == "True\n") == (major == 13)
    assert ("cannot open shared object file" in done.stderr) == (major == 99)


def test_a_broken_program_is_noticed():
    text = source.program(detectors.ZF().plan(), arena=0)
    assert Program(text + "broken;", "sm_90", source.OPTIONS).error


def test_text_depends_on_headers_and_parameters():
    text = source.program(detectors.NWay().plan())
    assert "o.num_passes = 4;" in text and text != source.program(detectors.NWay(
        num_passes=2).plan())
    slashes, headers, outside = text.splitlines()[0].split()
    assert slashes == "//" and len(headers) == 64 and len(outside) == 16
