# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad arguments raise ValueErrors with the argument's name, its value and the allowed values."""

import gc
import os
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.checks import MOST_THREADS
from simulated import problem

CONSTRUCTOR = [
    ({"num_tx": 0}, "num_tx: got 0, allowed are 1 to 64"),
    ({"num_tx": 65, "num_rx": 65}, "num_tx: got 65, allowed are 1 to 64"),
    ({"num_tx": 2.5}, "num_tx: got 2.5, must be an integer"),
    ({"num_tx": True}, "num_tx: got True, must be an integer"),
    ({"num_rx": 3}, "num_rx: got 3, must be at least num_tx = 4"),
    ({"num_rx": 257}, "num_rx: got 257, allowed are 1 to 256"),
    ({"constellation": "qam17"}, "constellation: got 'qam17', allowed are bpsk, qpsk, qam16"),
    ({"constellation": None}, "constellation: got None, allowed are bpsk, qpsk"),
    ({"constellation": [1, -1, 1j]}, "got 3 points, allowed are 2, 4, 8"),
    ({"constellation": [2, -2]}, "mean energy is 4, must be 1"),
    ({"constellation": [1, 1]}, "two points are equal"),
    ({"constellation": [np.nan, 1]}, "points must be finite"),
    ({"constellation": ([1, -1], [0, 0])}, "labels must be a permutation of 0..1"),
    ({"constellation": "qam64,qpsk"}, "a list of 2, must have 4, one for each of the num_tx"),
    ({"backend": "gpu"}, "backend: got 'gpu', allowed are auto, cpu, cuda, reference"),
    ({"threads": -1}, f"threads: got -1, allowed are 0 to {MOST_THREADS}"),
    ({"llr_type": "int16"}, "llr_type: got 'int16', allowed are float32, int8"),
    ({"llr_scale": 0}, "llr_scale: got 0.0, must be positive and finite"),
    ({"llr_scale": "8"}, "llr_scale: got '8', must be a number"),
    ({"extrinsic": "no"}, "extrinsic: got 'no', must be True or False"),
    ({"extrinsic": True}, "extrinsic: mmse takes no a-priori LLRs"),
    ({"isa": "mmx"}, "isa: got 'mmx', allowed are auto, avx512, avx2, neon, baseline"),
]


@pytest.mark.quick
@pytest.mark.parametrize("arguments, message", CONSTRUCTOR)
def test_constructor(arguments, message):
    with pytest.raises(ValueError) as caught:
        detectors.MMSE(**{"backend": "cpu", **arguments})
    assert message in str(caught.value)


@pytest.mark.quick
@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_size_and_unknown_parameter(name):
    cls = detectors.REGISTRY[name]
    with pytest.raises(ValueError, match=f"num_tx: got 65, allowed are 1 to {cls.MAX_TX}"):
        detectors.create(name, num_tx=65, num_rx=65)
    with pytest.raises(TypeError, match=f"colour: {cls.__name__} has no such parameter, it has "
                                        "num_tx, num_rx, constellation, "):
        detectors.create(name, colour="red")


OWN = [
    ("nway", {"num_passes": 0}, "num_passes: got 0, allowed are 1 to 4"),
    ("nway", {"num_passes": 5}, "num_passes: got 5, allowed are 1 to 4"),
    ("nway", {"llr_clip": -1}, "llr_clip: got -1.0, must be positive"),
    ("nway", {"llr_method": "sum"}, "llr_method: got 'sum', allowed are maxlog, logsum"),
    ("mla", {"method": "fast"}, "method: got 'fast', allowed are sliced, plain, table"),
    ("softsphere", {"llr_clip": 0}, "llr_clip: got 0.0, must be positive"),
    ("kbest", {"k": 0}, "k: got 0, allowed are 1 to 256"),
    ("kbest", {"k": 2.5}, "k: got 2.5, must be an integer"),
    ("sfsd", {"levels": 0}, "levels: got 0, allowed are 1 to 4"),
    ("sfsd", {"num_paths": 17}, "num_paths: got 17, allowed are 1 to 16"),
    ("sfsd", {"levels": 2, "num_paths": 65}, "num_paths: got 65, allowed are 1 to 64"),
    ("sfsd", {"constellation": "qam256", "levels": 4},
     "levels: got 4, but 256^4 = 4.29e+09 paths per vector exceed the limit of 1.68e+07"),
    ("sfsd", {"num_tx": 16, "num_rx": 64, "constellation": "qam1024"},
     "levels: the default for num_tx = 16 is 3, but 1024^3 = 1.07e+09 paths per vector exceed"),
    ("hfsd", {"constellation": "qam64", "levels": 4, "backend": "reference"},
     "exceed the limit of 2.62e+05 for backend 'reference'; use fewer levels"),
    ("softsphere", {"constellation": "qam64", "backend": "reference"},
     "backend 'reference' enumerates all 1.68e+07 candidates per vector, allowed are 2.62e+05"),
    ("zfsic", {"ordering": "best"}, "ordering: got 'best', allowed are sinr, norm, none"),
    ("mmsepic", {"num_iterations": 0}, "num_iterations: got 0, allowed are 1 to 32"),
    ("ep", {"num_iterations": 101}, "num_iterations: got 101, allowed are 1 to 100"),
    ("ep", {"smoothing": 1.0}, "smoothing: got 1.0, allowed are 0 to less than 1"),
    ("ep", {"initial_variance": 0}, "initial_variance: got 0.0, must be positive"),
    ("sd", {"radius": "large"}, "radius: got 'large', allowed are infinite, zf"),
    ("asd", {"ordering": "norm"}, "ordering: got 'norm', allowed are sorted, stacked"),
    ("psd", {"preset": "table6"}, "preset: got 'table6', allowed are auto, table5"),
    ("psd", {"preset": "table5", "num_tx": 3}, "preset: got 'table5' for 3 layers of 16-QAM"),
    ("psd", {"expansions": [1]}, "expansions: got expansions without levels"),
    ("psd", {"levels": 7}, "levels: got 7, must be a list of integers"),
    ("psd", {"levels": [5, 3]}, "levels: got [5, 3], must decrease from at most 8 to 1"),
    ("psd", {"levels": [7, 1], "expansions": [1, 1]}, "expansions: got [1, 1], must have length 1"),
    ("psd", {"levels": [7, 1], "expansions": [17]},
     "expansions: got 17 on level 7, allowed are 1 to 16"),
    ("psd", {"levels": [1], "constellation": "qam256"},
     "levels: a round on level 1 would evaluate 4.29e+09 nodes"),
    ("kbest", {"constellation": "qam4096"},
     "constellation: got qam4096, but kbest takes at most 1024 points"),
    ("psd", {"team_size": 0}, "team_size: got 0, allowed are 1 to 1024"),
]


@pytest.mark.parametrize("name, arguments, message", OWN)
def test_parameters_of_a_detector(name, arguments, message):
    with pytest.raises(ValueError) as caught:
        detectors.create(name, **arguments)
    assert message in str(caught.value)


def test_who_takes_any_constellation():
    """The error message names the detectors that take any constellation."""
    with pytest.raises(ValueError) as caught:
        detectors.NWay(constellation=[1, 1j, -1, -1j])
    named = str(caught.value).rsplit("; ", 1)[1].removesuffix(" take any constellation")
    assert set(named.replace(" and", ",").split(", ")) == {
        name for name, cls in detectors.REGISTRY.items() if not cls.NEEDS_GRID}


def test_cuda_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ImportError, match="backend 'cuda' needs CuPy, which could not be imported"):
        detectors.NWay(backend="cuda")


def test_unknown_detector():
    with pytest.raises(ValueError, match="detector: got 'zff', allowed are zf, mmse, "):
        detectors.create("zff")


def test_nway_defaults():
    assert detectors.NWay().num_passes == 4
    assert detectors.NWay().llr_clip == detectors.FPFSD().llr_clip == detectors.SFSD().llr_clip == 8
    assert detectors.NWay(llr_clip=None).llr_clip is None    # as in 001
    assert detectors.NWay(num_passes=3, llr_clip=None).llr_clip == 8
    assert detectors.NWay(llr_clip=5).llr_clip == 5.0


@pytest.mark.parametrize("name, num_tx, points, own, search", [
    ("omap", 7, "qam16", {}, "2.68e+08"),
    ("omap", 5, "qam16", {"backend": "reference"}, "1.05e+06"),
    ("mla", 8, "qam16", {}, "5.37e+08"),
    ("mla", 7, "qam16", {"method": "plain"}, "2.68e+08"),
    ("mla", 9, np.exp(2j * np.pi * np.arange(8) / 8), {}, "1.34e+08")])
def test_search_that_cannot_finish_is_refused(name, num_tx, points, own, search):
    with pytest.raises(ValueError) as caught:
        detectors.create(name, num_tx=num_tx, num_rx=num_tx, constellation=points, **own)
    instead = "nway" if isinstance(points, str) else "kbest"
    assert search in str(caught.value) and f"use {instead}" in str(caught.value)
    detectors.create(instead, num_tx=num_tx, num_rx=num_tx, constellation=points)


def arrays(**changed):
    y, h, noise_var, _ = problem(12, 4, 4, "qam16", 20)
    return {"y": y, "h": h, "noise_var": noise_var, **changed}


STRIDED = np.zeros((12, 8), np.complex64)[:, ::2]
DETECT = [
    ({"y": np.zeros((12, 4))}, "y: got type float64, must be complex64"),
    ({"y": np.zeros((12, 4), complex)}, "y: got type complex128, must be complex64"),
    ({"y": np.zeros((12, 3), np.complex64)}, "y: got shape (12, 3), must be (n, 4)"),
    ({"y": [1, 2, 3, 4]}, "y: got list, must be a NumPy array"),
    ({"y": STRIDED}, "y: got a strided array, must be C-contiguous"),
    ({"h": np.zeros((12, 4, 3), np.complex64)}, "h: got shape (12, 4, 3), must be (n/T, 4, 4)"),
    ({"h": np.zeros((5, 4, 4), np.complex64)}, "h: got 5 matrices for 12 vectors"),
    ({"noise_var": 0}, "noise_var: got 0.0, must be positive and finite"),
    ({"noise_var": np.nan}, "noise_var: got nan, must be positive and finite"),
    ({"noise_var": "0.1"}, "noise_var: got '0.1', must be a number"),
    ({"noise_var": 1e-50}, "noise_var: got 1e-50, must be positive and finite, allowed are 1e-37"),
    ({"noise_var": np.ones(3, np.float32)}, "noise_var: got shape (3,), must be (12,)"),
    ({"noise_var": np.ones(12)}, "noise_var: got type float64, must be float32"),
    ({"out": np.zeros((12, 15), np.float32)}, "out: got shape (12, 15), must be (12, 16)"),
    ({"out": np.zeros((12, 16), np.int8)}, "out: got type int8, must be float32"),
]


@pytest.mark.quick
@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("changed, message", DETECT)
def test_detect(changed, message, backend):
    det = detectors.MMSE(backend=backend)
    with pytest.raises(ValueError) as caught:
        det.detect(**arrays(**changed), strict=True)
    assert message in str(caught.value)


@pytest.mark.quick
def test_read_only_out():
    out = np.zeros((12, 16), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out: got a read-only array"):
        detectors.ZF().detect(**arrays(out=out), strict=True)


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_prior_where_there_is_none(name):
    det = detectors.create(name, num_tx=2, num_rx=2)
    y, h, noise_var, bits = problem(6, 2, 2, "qam16", 20)
    prior = np.zeros(bits.shape, np.float32)
    if det.SUPPORTS_PRIOR:
        with pytest.raises(ValueError, match=r"prior: got shape \(5, 8\), must fit"):
            det.detect(y, h, noise_var, prior=prior[:5])
    else:
        with pytest.raises(ValueError, match=f"prior: {name} takes no a-priori LLRs"):
            det.detect(y, h, noise_var, prior=prior)


def _detect_in_child(queue):
    y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 20)
    queue.put(float(detectors.ZF().detect(y, h, noise_var).sum()))


def test_detecting_after_a_fork():
    """A forked child has no OpenMP threads and works without them."""
    import multiprocessing

    y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 20)
    expected = float(detectors.ZF(threads=2).detect(y, h, noise_var).sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_detect_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=30) == pytest.approx(expected)
    finally:
        child.kill()
        child.join()


INTERRUPTED = """
import signal
import numpy as np
from gnuradio.mimopack import detectors
y, h = np.ones((1_000_000, 4), np.complex64), np.eye(4, dtype=np.complex64)[None]
det = detectors.MLA(method="plain", threads=2)
signal.signal(signal.SIGINT, signal.default_int_handler)    # in the background it is ignored
print("detects", flush=True)
try:
    det.detect(y, h, 0.1)
except KeyboardInterrupt:
    print("interrupted", det.detect(y[:1], h[:1], 0.1).shape)
"""


def test_ctrl_c_ends_a_long_call():
    """Without the interrupt the call takes a minute."""
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED],
                             stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        assert child.stdout.readline() == "detects\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=20)[0] == "interrupted (1, 16)\n"
    finally:
        child.kill()


def test_instruction_sets():
    missing = {"avx512", "avx2", "neon"} - set(_core.available_isas())
    for isa in missing:
        with pytest.raises(ValueError, match=f"isa: got {isa}, this machine has auto, "):
            detectors.ZF(isa=isa)
    assert _core.isa() == _core.available_isas()[0]
    compiled = _core.compiled_isas()    # MIMOPACK_ISAS can exclude some
    assert _core.available_isas() == [isa for isa in compiled if isa not in missing]
    assert compiled[-1] in ("baseline", "neon") or len(compiled) < 3


def test_docstrings_and_repr_tell_the_parameters():
    for detector in detectors.REGISTRY.values():
        for parameter in detector.all_parameters():
            assert f"{parameter.name}: {parameter.doc}" in detector.__doc__
    shown = repr(detectors.NWay(num_tx=2, num_rx=3, num_passes=1, backend="reference"))
    assert shown == ("NWay(num_tx=2, num_rx=3, constellation='qam16', num_passes=1, llr_clip=8.0, "
                     "llr_method='maxlog', backend='reference', isa=None)")


def test_a_detector_is_freed_at_once():
    """A dropped detector frees its memory on GPUs at once, without the garbage collector."""
    gc.disable()
    try:
        det = detectors.NWay()
        y, h, noise_var, _ = problem(8, 4, 4, "qam16", 20)
        det.detect(y, h, noise_var)
        seen = weakref.ref(det)
        del det
        assert seen() is None
    finally:
        gc.enable()
