# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU programs compile with NVRTC, and keep arrays in registers or shared memory.

No GPU is needed.
"""

import re
import subprocess
import sys

import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import source
from nvrtc import Program

# (detector, parameters, call), 4x4 with 16-QAM unless the parameters say otherwise
REGISTERS = [    # Each thread has its vector's arrays in registers.
    ("mmse", {}, {}), ("kbest", {"k": 16}, {}), ("sfsd", {}, {}),
    ("fpfsd", {"llr_method": "logsum"}, {"matrix_each": False}),
    ("nway", {}, {"covariance": 1}), ("nway", {}, {"covariance": 2})]
# A case for each form: the usual one of each detector, then those for other sizes and calls.
FORMS = [
    *((name, {}, {"has_prior": kind.SUPPORTS_PRIOR}) for name, kind in detectors.REGISTRY.items()),
    ("bitflip", {}, {"num_hard": 3}),
    ("zf", {"constellation": "bpsk,qam16,qpsk,qpsk"}, {"as_int8": True}),
    ("mla", {"num_tx": 3, "method": "table"}, {}), ("mla", {"constellation": "wlan_qam256",
                                                            "num_tx": 2}, {}),
    ("softsphere", {}, {}), ("softsphere", {"constellation": "qam64"}, {}),
    ("softsphere", {"num_tx": 8, "num_rx": 8, "constellation": "qpsk"}, {}),
    ("sd", {"max_nodes": 100}, {}), ("psd", {"max_nodes": 100}, {"has_prior": True}),
    # The sizes with the fullest shared memory
    ("sd", {"soft": True, "list_size": 512, "num_tx": 8, "num_rx": 256, "constellation": "qam256"},
     {"has_prior": True}),
    ("psd", {"soft": True, "list_size": 128, "num_tx": 8, "num_rx": 256}, {"has_prior": True}),
    ("asd", {"soft": True, "list_size": 512, "num_tx": 16, "num_rx": 256,
             "constellation": "qam256"}, {"has_prior": True}),
    ("hfsd", {"soft": True}, {}), ("hfsd", {"soft": True, "num_tx": 8, "num_rx": 8}, {}),
    ("zfsic", {"soft": True}, {"matrix_each": False}),
    ("softsphere", {"max_nodes": 100}, {}),
    ("softsphere", {"max_nodes": 100, "constellation": "qam256"}, {}),
    ("kbest", {"k": 64}, {}), ("kbest", {"num_tx": 8, "num_rx": 8}, {}),
    ("kbest", {"num_tx": 9, "num_rx": 32, "k": 4}, {}),
    ("ep", {"num_tx": 8, "num_rx": 8}, {}), ("sfsd", {"num_tx": 12, "num_rx": 12}, {}),
    ("mmsepic", {"num_tx": 12, "num_rx": 12}, {"matrix_each": False}),
    ("nway", {"num_tx": 9, "num_rx": 18}, {}), ("nway", {"num_tx": 9, "num_rx": 9},
                                                {"has_prior": True}),
    ("fpfsd", {"constellation": "qam1024"}, {}),
    ("nway", {"num_tx": 2, "num_rx": 2, "constellation": "qam4096"}, {}),
    ("mmse", {"num_tx": 1, "num_rx": 1, "constellation": "wlan_qam4096"}, {}),
    ("mmse", {"num_tx": 32, "num_rx": 256, "constellation": "qam1024"}, {})]
# In a twentieth of the time to compile: names, types and static assertions of what is instantiated.
CHECK = "-fdevice-syntax-only"


def compile_program(name, own, call, architecture="sm_90", *more):
    plan = detectors.create(name, backend="cpu", **own).plan()
    program = Program(source.program(plan, arena=64, **call), architecture,
                      (*source.OPTIONS, *more))
    assert program.error is None
    return program


@pytest.mark.parametrize("name, own, call", REGISTERS)
def test_arrays_in_registers(name, own, call):
    program = compile_program(name, own, call)
    assert set(program.registers) == {"detect", "detect_second"}
    assert program.stack["detect"] == program.spills["detect"] == 0


def test_arrays_in_shared_memory():
    """A generic load tests its address each time, as it does if a team's object is in memory."""
    program = compile_program("mmse", {"num_tx": 16, "num_rx": 64}, {})
    kernel = program.ptx[program.ptx.index(".entry detect"):].split(".func")[0]
    assert "ld.shared" in kernel
    assert not re.search(r"\b(ld|st)\.(v\d\.)?[fub]\d", kernel)


@pytest.mark.parametrize("name, own, call", FORMS)
def test_forms(name, own, call):
    compile_program(name, own, call, "sm_90", CHECK)


@pytest.mark.parametrize("name, own", [("kbest", {"k": 64}), ("mmse", {"num_tx": 5, "num_rx": 10})])
def test_an_old_architecture(name, own):
    """It lacks reductions by a warp, tensor cores, and copies without registers."""
    compile_program(name, own, {}, "sm_75", CHECK)


def test_whitening_in_memory():
    program = Program(source.whitening(16, 64, 256), "sm_90", source.OPTIONS)
    assert program.error is None and program.stack == {"whiten": 0}


def test_the_program_that_tells_the_size():
    plan = detectors.create("nway", backend="cpu").plan()
    program = Program(source.program(plan), "sm_90", source.OPTIONS)
    assert program.error is None and set(program.registers) == {"arena_size"}


LOAD = """
import ctypes
from types import SimpleNamespace
from gnuradio.mimopack.cuda import device
runtime = SimpleNamespace(runtimeGetVersion=lambda: 13000)
device.cupy = lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
device.load_nvrtc()
print(ctypes.CDLL("libnvrtc.so.13").nvrtcVersion is not None)
"""


def test_the_compiler_of_a_package_is_loaded():
    """Uses a separate process, because a library stays loaded."""
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_text_depends_on_headers_and_parameters():
    text = source.program(detectors.NWay().plan())
    assert "o.num_passes = 4;" in text and text != source.program(detectors.NWay(
        num_passes=2).plan())
    slashes, headers, outside = text.splitlines()[0].split()
    assert slashes == "//" and len(headers) == 64 and len(outside) == 16
