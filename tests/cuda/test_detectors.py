# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cuda backend on a GPU: the same LLRs as the CPU's, for host arrays and GPU arrays."""

import warnings

import numpy as np
import pytest
from detector_blocks import make, play
from fake_cuda import let_gpu_win
from gnuradio.mimopack import detectors
from gnuradio.mimopack.cuda import device, program, source, transfer
from gnuradio.mimopack.detectors.sphere import TABLE_5
from gpu_forms import FORMS, SOFT
from simulated import problem

pytestmark = pytest.mark.gpu

ALL = list(detectors.REGISTRY)


# Ties in a list may be broken differently, for at most this share of the vectors.
TIES = 1e-4


def both(name, **parameters):
    """Return the detector on the CPU and on the GPU; skip what every backend refuses."""
    try:
        cpu = detectors.create(name, backend="cpu", **parameters)
    except ValueError as error:
        pytest.skip(str(error))
    return cpu, detectors.create(name, backend="cuda", **parameters)


def assert_agree(llr, expected, ties=0):
    """Assert agreement within 1e-3 of each vector's largest LLR, except for ``ties`` vectors."""
    scale = np.max(np.abs(expected), axis=1)
    differ = np.max(np.abs(llr - expected), axis=1) > 1e-3 * scale + 1e-6
    assert np.count_nonzero(differ) <= ties


def random_prior(bits):
    return np.random.default_rng(2).normal(0, 3, bits.shape).astype(np.float32)


@pytest.mark.parametrize("name", ALL)
def test_agrees_with_the_cpu(name):
    cpu, gpu = both(name, constellation="qpsk" if name == "omap" else "qam16")
    points = cpu.constellation.name
    for n, period in ((20_000, 1), (14 * 31, 14)):
        y, h, noise_var, bits = problem(n, 4, 4, points, 15, period)
        assert_agree(gpu.detect(y, h, noise_var), cpu.detect(y, h, noise_var), ties=1 + TIES * n)
        assert gpu.erasures == cpu.erasures == 0
    if gpu.SUPPORTS_PRIOR:
        y, h, noise_var, bits = problem(101, 4, 4, points, 15)
        prior = random_prior(bits)
        assert_agree(gpu.detect(y, h, noise_var, prior), cpu.detect(y, h, noise_var, prior), ties=1)


@pytest.mark.parametrize("form, name, size, own, period, more", FORMS)
def test_forms(form, name, size, own, period, more):
    cpu, gpu = both(name, num_tx=size[0], num_rx=size[1], **own)
    y, h, noise_var, bits = problem(301 * period, *size, cpu.constellation.name, 15, period)
    prior = random_prior(bits) if "known" in more else None
    assert_agree(gpu.detect(y, h, noise_var, prior), cpu.detect(y, h, noise_var, prior),
                 ties=more.get("ties", 1))


@pytest.mark.parametrize("name, num_tx, points", [
    ("sd", 4, "qam16"), ("asd", 3, "qam16"), ("psd", 4, "qam16"), ("psd", 6, "qpsk"),
    ("psd:soft=true", 6, "qpsk"), ("softsphere", 4, "qam16"), ("softsphere", 5, "qam16")])
def test_budget(name, num_tx, points):
    """More nodes, fewer errors and truncated searches; arrays on the GPU give the same."""
    import cupy

    n = 5000
    y, h, noise_var, bits = problem(n, num_tx, num_tx, points, 8)
    common = {"num_tx": num_tx, "num_rx": num_tx, "constellation": points}
    errors, truncated = [], []
    for max_nodes in (1, 60, 1000, 2**24):    # the last two with a second launch
        cpu, gpu = both(name, **common, max_nodes=max_nodes)
        llr = gpu.detect(y, h, noise_var)
        errors.append(np.mean((llr > 0) != bits))
        truncated.append(gpu.truncated)
        on_gpu = gpu.detect(cupy.asarray(y), cupy.asarray(h), noise_var)
        np.testing.assert_array_equal(on_gpu.get(), llr)
        assert gpu.truncated == truncated[-1] and gpu.erasures == 0
    assert_agree(llr, cpu.detect(y, h, noise_var), ties=1 + TIES * n)
    assert errors[0] > errors[1] >= errors[2] >= errors[3]
    assert truncated[0] >= truncated[1] >= truncated[2] >= truncated[3] == 0


@pytest.mark.parametrize("name, num_tx, points, own", [
    ("sd", 6, "qam16", {}), ("psd", 9, "qpsk", {}), ("softsphere", 6, "qam16", {}),
    ("softsphere", 7, "qpsk", {"llr_clip": None})])
def test_warps_share_long_searches(name, num_tx, points, own, monkeypatch):
    """Nearly all searches are long; with a few vectors, most warps get work from others."""
    monkeypatch.setattr(source, "OPTIONS", (*source.OPTIONS, "-DMIMOPACK_LONG_SEARCH=30"))
    device.kernel.cache_clear()
    cpu, gpu = both(name, num_tx=num_tx, num_rx=num_tx, constellation=points, **own)
    for n, snr_db in ((20_000, 10), (20, 0), (20, 5), (20, 10)):
        y, h, noise_var, bits = problem(n, num_tx, num_tx, points, snr_db)
        for prior in (None, random_prior(bits)):
            llr = gpu.detect(y, h, noise_var, prior)
            assert_agree(llr, cpu.detect(y, h, noise_var, prior), ties=TIES * n)
            for _ in range(10):
                again = gpu.detect(y, h, noise_var, prior)
                np.testing.assert_allclose(again, llr, rtol=1e-5, atol=1e-3)
    device.kernel.cache_clear()


@pytest.mark.parametrize("share", [0, 1e-3, 1e-1])
@pytest.mark.parametrize("name, num_tx, own", [
    ("sd", 4, {}), ("sd", 6, {}), ("asd", 6, {}), ("psd", 6, {}), ("psd", 6, SOFT),
    ("softsphere", 4, {}), ("softsphere", 6, {})])
def test_nearly_dependent_columns(name, num_tx, own, share):
    """If decisions differ, both candidates are equally far from y, up to rounding.

    An LLR of 0 decides nothing.
    """
    n = 3000
    cpu, gpu = both(name, num_tx=num_tx, num_rx=num_tx, **own)
    y, h, noise_var, _ = problem(n, num_tx, num_tx, "qam16", 25)
    h[:, :, 3] = h[:, :, 1] + share * h[:, :, 3]
    found, expected = (det.detect(y, h, noise_var) for det in (gpu, cpu))
    assert gpu.erasures == cpu.erasures == (n if share == 0 and cpu.NEEDS_RANK else 0)
    first, second = ((llr > 0).astype(np.uint8) for llr in (found, expected))
    differ = np.any(first != second, axis=1) & np.all(found * expected != 0, axis=1)

    def distance(bits):
        x = cpu.constellation.modulate(bits[differ])
        return np.linalg.norm(y[differ] - np.einsum("nij,nj->ni", h[differ], x), axis=1)

    np.testing.assert_allclose(distance(first), distance(second), rtol=1e-4)


@pytest.mark.parametrize("num_tx, side", TABLE_5)
def test_table_5_of_004(num_tx, side):
    """With a channel for 600 vectors as in 004, and with a-priori LLRs."""
    n, points = 9000, f"qam{side**2}" if side > 2 else "qpsk"
    y, h, noise_var, bits = problem(n, num_tx, num_tx, points, 8, 600)
    cpu, gpu = (detectors.PSD(num_tx, num_tx, points, preset="table5", backend=backend)
                for backend in ("cpu", "cuda"))
    for known in (None, random_prior(bits)):
        assert_agree(gpu.detect(y, h, noise_var, known), cpu.detect(y, h, noise_var, known),
                     ties=1 + TIES * n)
    assert gpu.erasures == 0


@pytest.mark.parametrize("name, num_tx, num_rx, points, own", [
    ("zf", 16, 128, "qam256", {}), ("mmse", 32, 256, "qam16", {}), ("ep", 16, 16, "qam64", {}),
    ("nway", 16, 64, "qam256", {}), ("kbest", 12, 12, "qam16", {}), ("nway", 4, 4, "qam1024", {}),
    ("sfsd", 32, 64, "qam16", {"levels": 1}), ("softsphere", 4, 4, "qam256", {})])
def test_large_sizes(name, num_tx, num_rx, points, own):
    """Rounding may decide between two candidates, and in EP whether a step is taken."""
    cpu, gpu = both(name, num_tx=num_tx, num_rx=num_rx, constellation=points, **own)
    y, h, noise_var, bits = problem(14 * 21, num_tx, num_rx, points, 25, 14)
    expected, llr = cpu.detect(y, h, noise_var), gpu.detect(y, h, noise_var)
    error = np.max(np.abs(llr - expected), axis=1) / np.max(np.abs(expected), axis=1)
    assert np.count_nonzero(error > 5e-3) <= 6
    assert gpu.erasures == cpu.erasures == 0


@pytest.mark.parametrize("name", ["mmse", "kbest"])
def test_any_split_gives_the_same(name, monkeypatch):
    y, h, noise_var, _ = problem(14 * 300, 3, 3, "qpsk", 12, 14)
    det = detectors.create(name, num_tx=3, num_rx=3, constellation="qpsk", backend="cuda")
    whole = det.detect(y, h, noise_var)
    np.testing.assert_array_equal(det.detect(y, h, noise_var), whole)
    for part in (100, 1000, 20_000):    # 100: parts smaller than the vectors of one matrix
        monkeypatch.setattr(transfer, "LEAST_PART_BYTES", part)
        monkeypatch.setattr(transfer, "LARGEST_PART_BYTES", part)
        np.testing.assert_array_equal(det.detect(y, h, noise_var), whole)
    np.testing.assert_array_equal(det.detect(y[14:28], h[1:2], noise_var), whole[14:28])


@pytest.mark.parametrize("name, parameters, period, with_prior", [
    ("nway", {}, 1, True), ("nway", {"llr_type": "int8"}, 1, False), ("mmse", {}, 14, False)])
def test_many_rounds_of_few_threads(name, parameters, period, with_prior):
    """Imitate a small GPU: threads take many vectors, and chunks of a matrix's vectors."""
    y, h, noise_var, bits = problem(14 * 1500, 4, 4, "qam16", 18, period)
    prior = (np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)
             if with_prior else None)
    det = detectors.create(name, backend="cuda", **parameters)
    expected = det.detect(y, h, noise_var, prior)
    det.gpus.programs[0]._processors = 1
    np.testing.assert_array_equal(det.detect(y, h, noise_var, prior), expected)


class TestDeviceArrays:
    def test_same_as_host_arrays_on_the_current_stream(self):
        import cupy

        y, h, noise_var, _ = problem(1003, 4, 4, "qam16", 18)
        per_vector = np.full(1003, noise_var, np.float32)
        det = detectors.NWay(backend="cuda")
        expected = det.detect(y, h, noise_var)
        with cupy.cuda.Stream(non_blocking=True):
            arrays = cupy.asarray(y), cupy.asarray(h)
            llr = det.detect(*arrays, noise_var)
            again = det.detect(*arrays, cupy.asarray(per_vector), out=cupy.empty_like(llr))
        assert det.erasures == 0    # waits for the stream
        assert isinstance(llr, cupy.ndarray)
        np.testing.assert_array_equal(llr.get(), expected)
        np.testing.assert_array_equal(again.get(), expected)

    def test_views_that_begin_anywhere(self):
        import cupy

        y, h, noise_var, _ = problem(50, 3, 3, "qam16", 18)
        det = detectors.MMSE(3, 3, backend="cuda")
        expected = det.detect(y, h, noise_var)
        there = det.detect(cupy.asarray(y)[7:], cupy.asarray(h)[7:], noise_var)
        np.testing.assert_array_equal(there.get(), expected[7:])
        y, h, noise_var, bits = problem(50, 4, 4, "qam16", 18)
        det = detectors.NWay(backend="cuda")
        prior = np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)
        expected = det.detect(y, h, noise_var, prior)
        room = cupy.zeros(2 * bits.size + 8, np.float32)
        out, known = (room[at:at + bits.size].reshape(bits.shape)
                      for at in (1, bits.size + 3))
        known[...] = cupy.asarray(prior)
        det.detect(cupy.asarray(y), cupy.asarray(h), noise_var, known, out=out)
        np.testing.assert_array_equal(out.get(), expected)

    def test_kinds_of_arrays_do_not_mix(self):
        import cupy

        y, h, noise_var, _ = problem(5, 4, 4, "qam16", 18)
        det = detectors.MMSE(backend="cuda")
        with pytest.raises(ValueError, match="h: got numpy.ndarray, must be a CuPy array"):
            det.detect(cupy.asarray(y), h, noise_var)
        with pytest.raises(ValueError, match="h: got cupy.ndarray, must be a NumPy array"):
            det.detect(y, cupy.asarray(h), noise_var)
        with pytest.raises(ValueError, match="y: got cupy.ndarray, must be a NumPy array"):
            detectors.MMSE(backend="cpu").detect(cupy.asarray(y), cupy.asarray(h), noise_var)


@pytest.mark.parametrize("name", ["mmse", "nway", "kbest"])
def test_int8(name):
    parameters = {"num_tx": 2, "num_rx": 2, "llr_type": "int8", "llr_scale": 2.0}
    cpu, gpu = both(name, **parameters)
    y, h, noise_var, _ = problem(333, 2, 2, "qam16", 12)
    difference = gpu.detect(y, h, noise_var).astype(int) - cpu.detect(y, h, noise_var)
    assert gpu.detect(y, h, noise_var).dtype == np.int8 and np.abs(difference).max() <= 1


@pytest.mark.parametrize("name", ["zf", "mmse", "nway", "sd", "kbest", "mla"])
def test_erasures(name):
    y, h, noise_var, _ = problem(300, 2, 2, "qpsk", 15)
    cpu, gpu = both(name, num_tx=2, num_rx=2, constellation="qpsk")
    noise = np.full(300, noise_var, np.float32)
    bad = [0, 31, 32, 63, 100, 150, 200, 299]
    y[0, 0], h[31, 0, 0], noise[32], noise[63] = np.nan, np.inf, -1, np.nan
    h[100] = 0
    y[150] *= 1e15
    h[200] *= 1e15
    h[299] = 1, 2    # equal rows; with equal columns, true LLRs are 0
    if not cpu.NEEDS_RANK:
        bad = bad[:4] + bad[5:7]
    llr = gpu.detect(y, h, noise)
    assert gpu.erasures == len(bad) and not llr[bad].any()
    others = np.delete(np.arange(300), bad)
    assert_agree(llr[others], cpu.detect(y, h, noise)[others])
    assert cpu.erasures == len(bad)


@pytest.mark.parametrize("name, parameter, values", [
    ("nway", "num_passes", (4, 2, 4)), ("kbest", "k", (16, 5, 64))])
def test_a_parameter_may_change(name, parameter, values):
    y, h, noise_var, _ = problem(1000, 4, 4, "qam16", 15)
    cpu, gpu = both(name)
    for value in values:
        for det in (cpu, gpu):
            setattr(det, parameter, value)
        assert_agree(gpu.detect(y, h, noise_var), cpu.detect(y, h, noise_var), ties=2)


def test_hard_solutions():
    y, h, noise_var, bits = problem(333, 4, 4, "wlan_qam16", 12)
    hard = np.stack([bits, 1 - bits])
    cpu, gpu = both("bitflip", constellation="wlan_qam16")
    assert_agree(gpu.detect(y, h, noise_var, hard=hard), cpu.detect(y, h, noise_var, hard=hard))


@pytest.mark.parametrize("device", [999, [0, 999]])
def test_no_such_device(device):
    with pytest.raises(ValueError, match="device: got 999, allowed are 0 to"):
        detectors.ZF(backend="cuda", device=device)


@pytest.mark.parametrize("name, period", [("nway", 1), ("mmse", 14), ("psd", 1)])
def test_a_list_of_devices_gives_the_same(name, period, monkeypatch):
    """All GPUs; if there is only one, several programs on the same GPU."""
    y, h, noise_var, _ = problem(14 * 2000, 4, 4, "qam16", 18, period)
    expected = detectors.create(name, backend="cuda").detect(y, h, noise_var)
    det = detectors.create(name, backend="cuda", device=range(device.count()))
    for programs in (1, 3):
        pipeline = transfer.HostPipeline([*det.devices] * programs, 2**20)
        monkeypatch.setattr(det.gpus, "_pipeline", pipeline)
        monkeypatch.setattr(det.gpus, "programs", dict(
            enumerate([*det.gpus.programs.values()] * programs)))
        for least in (2**14, 2**21):
            monkeypatch.setattr(transfer, "LEAST_PART_BYTES", least)
            np.testing.assert_array_equal(det.detect(y, h, noise_var), expected)
    assert det.erasures == 0 and det.device == tuple(range(device.count()))


@pytest.mark.parametrize("n, llr_type", [(300_000, "float32"), (1_000_001, "int8"), (7, "int8")])
def test_pinned_arrays(n, llr_type):
    """Some or all arrays are pinned and as large as several parts; no byte around them changes."""
    from cupyx import empty_pinned

    y, h, noise_var, _ = problem(7, 4, 4, "qam16", 18)
    y, h = np.resize(y, (n, 4)), np.resize(h, (n, 4, 4))
    det = detectors.NWay(backend="cuda", llr_type=llr_type)
    expected = np.resize(det.detect(y[:7], h[:7], noise_var), (n, 16))
    pinned_y, pinned_h = (empty_pinned(array.shape, array.dtype) for array in (y, h))
    pinned_y[...], pinned_h[...] = y, h
    room = empty_pinned((n + 2, 16), expected.dtype)
    for arrays in ((pinned_y, pinned_h), (pinned_y, h), (y, pinned_h)):
        room[...] = 77
        np.testing.assert_array_equal(det.detect(*arrays, noise_var, out=room[1:-1]), expected)
        assert np.all(room[[0, -1]] == 77)
        np.testing.assert_array_equal(det.detect(*arrays, noise_var), expected)


def test_few_threads_have_a_large_arena(monkeypatch):
    """The threads' arrays are in global memory: fewer threads give the same result."""
    monkeypatch.setattr(source, "LARGEST_LOCAL_ARENA", 16)
    y, h, noise_var, _ = problem(5000, 4, 4, "qam16", 18)
    expected = detectors.KBest(backend="cuda").detect(y, h, noise_var)
    monkeypatch.setattr(program, "SCRATCH_BYTES", 1)
    np.testing.assert_array_equal(detectors.KBest(backend="cuda").detect(y, h, noise_var),
                                  expected)


class TestAuto:
    def test_measures_and_chooses(self):
        y, h, noise_var, _ = problem(20_000, 4, 4, "qam16", 18)
        det = detectors.NWay()
        choice = det.prepare(20_000)
        llr = det.detect(y, h, noise_var)
        assert_agree(llr, detectors.NWay(backend="cpu").detect(y, h, noise_var), ties=TIES * 20_000)
        assert f"backend auto: {det.last_backend};" in choice

    def test_cupy_arrays_go_to_the_gpu(self):
        import cupy

        y, h, noise_var, _ = problem(5, 4, 4, "qam16", 18)
        det = detectors.NWay()
        llr = det.detect(cupy.asarray(y), cupy.asarray(h), noise_var)
        assert isinstance(llr, cupy.ndarray) and det.last_backend == "cuda"
        assert_agree(llr.get(), detectors.NWay(backend="cpu").detect(y, h, noise_var))
        nodes = detectors.PSD().count_nodes(cupy.asarray(y), cupy.asarray(h), noise_var)
        assert isinstance(nodes, cupy.ndarray)
        if device.count() > 1:
            with pytest.raises(ValueError, match="y: got an array on GPU 0, must be on GPU 1"):
                detectors.NWay(device=1).detect(cupy.asarray(y), cupy.asarray(h), noise_var)


@pytest.fixture
def little_memory():
    """Call it to leave no more GPU memory than is in use."""
    import cupy

    pool = cupy.get_default_memory_pool()

    def limit():
        pool.free_all_blocks()
        pool.set_limit(size=max(1, pool.used_bytes()))
    yield limit
    pool.set_limit(size=0)


def test_no_memory(little_memory, monkeypatch):
    import cupy

    y, h, noise_var, _ = problem(20_000, 4, 4, "qam16", 18)
    expected = detectors.NWay(backend="cpu").detect(y, h, noise_var)
    let_gpu_win(monkeypatch)
    auto, gpu = detectors.NWay(), detectors.NWay(backend="cuda")
    auto.prepare(100)
    first = gpu.detect(y[:100], h[:100], noise_var)
    little_memory()
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
        gpu.detect(y, h, noise_var)
    with pytest.warns(RuntimeWarning, match="the GPU failed, going on with the CPU.*Memory"):
        np.testing.assert_array_equal(auto.detect(y, h, noise_var), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(auto.detect(y, h, noise_var), expected)
    cupy.get_default_memory_pool().set_limit(size=0)
    np.testing.assert_array_equal(gpu.detect(y[:100], h[:100], noise_var), first)
    assert_agree(gpu.detect(y, h, noise_var), expected, ties=TIES * 20_000)


@pytest.mark.parametrize("period, backend, device", [(1, "cuda", 0), (14, "auto", [0])])
def test_block(period, backend, device, monkeypatch):
    """A flowgraph with a detector that runs on the GPU."""
    let_gpu_win(monkeypatch)
    y, h, noise_var, _ = problem(14 * 2000, 4, 4, "qam16", 18, period)
    block = make("nway", backend=backend, device=device, noise_var=noise_var,
                 symbols_per_channel=period)
    llr, _ = play(block, y, h, period)
    np.testing.assert_array_equal(llr, detectors.NWay(backend="cuda").detect(y, h, noise_var))
    assert block.vectors() == len(y) and block.erasures() == block.failures() == 0


class TestTwoGpus:
    @pytest.fixture(autouse=True)
    def there_are_two(self):
        if device.count() < 2:
            pytest.skip("this machine has one GPU")

    @pytest.mark.parametrize("name", ["mmse", "psd"])
    @pytest.mark.parametrize("devices", [[0, 1], [1, 0], 1])
    def test_any_gpus_give_the_same(self, name, devices):
        y, h, noise_var, _ = problem(14 * 3001, 3, 3, "qpsk", 18)
        parameters = {"num_tx": 3, "num_rx": 3, "constellation": "qpsk", "backend": "cuda"}
        one, det = (detectors.create(name, device=numbers, **parameters)
                    for numbers in (0, devices))
        for period in (1, 14):
            arguments = y, h[::period].copy(), noise_var
            np.testing.assert_array_equal(det.detect(*arguments), one.detect(*arguments))

    def test_cupy_arrays_of_either(self):
        import cupy

        y, h, noise_var, _ = problem(5001, 4, 4, "qam16", 18)
        det = detectors.NWay(backend="cuda", device=[0, 1])
        found = []
        for number in (1, 0):
            with cupy.cuda.Device(number):
                arguments = cupy.asarray(y), cupy.asarray(h), noise_var
            llr = det.detect(*arguments)    # for any current GPU
            assert llr.device.id == number and det.erasures == 0
            found.append(cupy.asnumpy(llr))
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(det.detect(y, h, noise_var), found[0])
