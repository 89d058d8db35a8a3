# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU programs compile, keep their arrays in registers, and teams know their shared memory.

No GPU is needed.
"""

import re
import subprocess
import sys

import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import source
from nvrtc import ARCHITECTURES, Program

# A case for each form of a kernel: (detector, parameters, call). Sizes are 4x4 with 16-QAM unless
# the parameters say otherwise.
REGISTERS = [    # Each thread has its vector's arrays in registers.
    ("mmse", {}, {}), ("mmsepic", {}, {}), ("ep", {}, {}), ("zfsic", {}, {}), ("sfsd", {}, {}),
    ("psd", {"preset": "table5"}, {}), ("kbest", {"k": 64}, {}),
    ("nway", {"constellation": "qam64"}, {"has_prior": True}),
    ("fpfsd", {"llr_method": "logsum"}, {"matrix_each": False})]
SHARED = [    # A team of threads has them in shared memory.
    ("mmse", {"num_tx": 16, "num_rx": 64}, {}),
    ("mmsepic", {"num_tx": 12, "num_rx": 12}, {"matrix_each": False}),
    ("nway", {"num_tx": 24, "num_rx": 48}, {}), ("kbest", {"num_tx": 16, "num_rx": 16}, {}),
    ("sfsd", {"num_tx": 16, "num_rx": 64}, {"matrix_each": False})]
OTHERS = [
    *((name, {}, {}) for name in detectors.REGISTRY),
    ("mla", {"num_tx": 3, "method": "table"}, {}), ("bitflip", {}, {"num_hard": 3}),
    ("psd", {"team_size": 256, "preset": "table5"}, {}), ("psd", {}, {"counts": True}),
    ("psd", {"num_tx": 9, "num_rx": 9}, {}), ("ep", {"num_tx": 16, "num_rx": 64}, {}),
    ("nway", {"num_tx": 8, "num_rx": 8, "constellation": "qam1024"}, {"has_prior": True}),
    ("nway", {"num_tx": 9, "num_rx": 9}, {"has_prior": True}),
    ("fpfsd", {"num_tx": 16, "num_rx": 16}, {"as_int8": True}),
    ("hfsd", {"num_tx": 12, "num_rx": 12}, {}),
    ("kbest", {"num_tx": 12, "num_rx": 32, "k": 256, "constellation": "qam64"}, {}),
    ("kbest", {"k": 256, "constellation": "qam64"}, {}),
    ("softsphere", {"num_tx": 5, "num_rx": 5}, {"has_prior": True}),
    ("softsphere", {"constellation": "qam64"}, {}),
    ("mmse", {"num_tx": 32, "num_rx": 256, "constellation": "qam1024"}, {})]
# In a twentieth of the time to compile: names, types and static assertions of what is instantiated.
CHECK = "-fdevice-syntax-only"
# Programs with instructions that not all GPUs have: reductions by a warp, tensor cores, copies
# without registers.
BY_ARCHITECTURE = [("kbest", {"num_tx": 16, "num_rx": 16}, {}), ("mmse", {"num_tx": 16,
                                                                          "num_rx": 64}, {}),
                   ("mla", {"constellation": "qpsk"}, {})]


def compile_program(name, own, call, architecture="sm_90", *more):
    plan = detectors.create(name, backend="cpu", **own).plan()
    program = Program(source.program(plan, arena=64, **call), architecture,
                      (*source.OPTIONS, *more))
    assert program.error is None
    return program


@pytest.mark.parametrize("name, own, call", REGISTERS)
def test_arrays_in_registers(name, own, call):
    program = compile_program(name, own, call)
    assert set(program.registers) == {"detect"}
    assert program.stack["detect"] == program.spills["detect"] == 0


@pytest.mark.parametrize("name, own, call", SHARED)
def test_arrays_in_shared_memory(name, own, call):
    """A generic load tests its address each time, as it does if a team's object is in memory."""
    program = compile_program(name, own, call)
    kernel = program.ptx[program.ptx.index(".entry detect"):].split(".func")[0]
    assert "ld.shared" in kernel
    assert not re.search(r"\b(ld|st)\.(v\d\.)?[fub]\d", kernel)


@pytest.mark.parametrize("name, own, call", OTHERS)
def test_other_forms(name, own, call):
    compile_program(name, own, call, "sm_90", CHECK)


@pytest.mark.parametrize("architecture", [one for one in ARCHITECTURES if one != "sm_90"])
@pytest.mark.parametrize("name, own, call", BY_ARCHITECTURE)
def test_other_architectures(name, own, call, architecture):
    compile_program(name, own, call, architecture, CHECK)


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_sizes_and_constellations(name):
    kind = detectors.REGISTRY[name]
    call = {"has_prior": True} if kind.SUPPORTS_PRIOR else {}
    accepted = 0
    for size, points in ((1, "qam256"), (2, "bpsk"), (3, "qam64"), (5, "qpsk"), (8, "qam16"),
                         (9, "qpsk")):
        own = {"num_tx": size, "num_rx": size, "constellation": points}
        try:
            detectors.create(name, backend="cpu", **own)
        except ValueError:    # every backend refuses it
            continue
        compile_program(name, own, call, "sm_90", CHECK)
        accepted += 1
    assert accepted


def test_the_program_that_tells_the_size():
    plan = detectors.create("nway", backend="cpu").plan()
    program = Program(source.program(plan), "sm_90", source.OPTIONS)
    assert program.error is None and set(program.registers) == {"arena_size"}


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
