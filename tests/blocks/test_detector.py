# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detector blocks in flowgraphs: same LLRs as the array interface, no loss, controls, reports."""

import inspect
import time

import numpy as np
import pmt
import pytest
from detector_blocks import Hungry, Sink, Source, make, play
from flowgraphs import Messages, until
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors
from gnuradio.mimopack.blocks.detector import make_detector_block
from own_detectors import OwnZf
from simulated import coloured, problem
from suites.flowgraph import repeat_into

ALL = list(detectors.REGISTRY)


@pytest.mark.quick
@pytest.mark.parametrize("name, n, period, step", [
    *((name, 77, 7, 3) for name in ALL), ("nway", 1, 1, None), ("nway", 1013, 1, None),
    ("nway", 1013, 1, 37), ("nway", 14 * 61, 14, None)])
def test_same_as_arrays(name, n, period, step):
    constellation = "qpsk" if name in ("mla", "omap") else "qam16"
    common = {"num_tx": 2, "num_rx": 3, "constellation": constellation}
    y, h, noise_var, _ = problem(n, 2, 3, constellation, 12, period)
    expected = detectors.create(name, **common).detect(y, h, noise_var)
    block = make(name, **common, noise_var=noise_var, symbols_per_channel=period)
    llr, _ = play(block, y, h, period, step=step)
    np.testing.assert_allclose(llr, expected, rtol=1e-5, atol=1e-4)
    assert block.vectors() == n and block.erasures() == 0


@pytest.mark.quick
def test_prior_port():
    common = {"num_tx": 2, "num_rx": 2, "constellation": "qpsk"}
    y, h, noise_var, bits = problem(500, 2, 2, "qpsk", 3)
    prior = np.random.default_rng(1).normal(0, 3, bits.shape).astype(np.float32)
    expected = detectors.MLA(**common).detect(y, h, noise_var, prior=prior)
    block = make("mla", **common, noise_var=noise_var, prior_input=True)
    llr, _ = play(block, y, h, prior=prior)
    np.testing.assert_allclose(llr, expected, rtol=1e-5, atol=1e-4)


def test_hard_ports():
    """Give two solutions for each vector. Only the least significant bit of a byte counts."""
    y, h, noise_var, bits = problem(300, 4, 4, "qam16", 10, 3)
    rng = np.random.default_rng(1)
    hard = rng.integers(0, 256, (2, *bits.shape), np.uint8)
    hard[0] = bits
    prior = rng.normal(0, 3, bits.shape).astype(np.float32)
    expected = detectors.BitFlip().detect(y, h, noise_var, prior, hard=hard & 1)
    block = make("bitflip", noise_var=noise_var, symbols_per_channel=3, hard_inputs=2,
                 prior_input=True)
    llr, _ = play(block, y, h, 3, prior, hard=hard, step=7)
    np.testing.assert_array_equal(llr, expected)
    assert block.erasures() == 0
    with pytest.raises(ValueError, match="hard_inputs: got 9, allowed are 0 to 8"):
        make("bitflip", hard_inputs=9)
    with pytest.raises(ValueError, match="hard_inputs: got 1, allowed are 0 to 0"):
        make("nway", hard_inputs=1)


@pytest.mark.quick
@pytest.mark.filterwarnings("error")
def test_one_antenna():
    """Ports with one value per item work."""
    constellation = "bpsk"
    y, h, noise_var, _ = problem(333, 1, 1, constellation, 10)
    expected = detectors.MMSE(1, 1, constellation).detect(y, h, noise_var)
    block = make("mmse", num_tx=1, num_rx=1, constellation=constellation, noise_var=noise_var)
    width = expected.shape[1]
    tb = gr.top_block()
    sources = [blocks.vector_source_c(a.ravel().tolist()) for a in (y, h)]
    sink = blocks.vector_sink_f(width)
    for port in range(2):
        tb.connect(sources[port], (block, port))
    tb.connect(block, sink)
    tb.run()
    np.testing.assert_allclose(np.reshape(sink.data(), (-1, width)), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.quick
def test_int8():
    y, h, noise_var, _ = problem(999, 4, 4, "qam16", 20)
    parameters = {"llr_type": "int8", "llr_scale": 4.0}
    expected = detectors.NWay(**parameters).detect(y, h, noise_var)
    block = make("nway", noise_var=noise_var, **parameters)
    llr, _ = play(block, y, h)
    np.testing.assert_array_equal(llr, expected)


def test_no_vector_is_lost_and_batches_are_large():
    """The block asks for large buffers by itself; all other blocks have defaults."""
    n = 100_003
    y, h, noise_var, _ = problem(1000, 4, 4, "qam16", 20)
    calls = []
    tb = gr.top_block()
    block = make("zf", noise_var=noise_var)
    detect = block._detector.detect
    block._detector.detect = lambda y, *a, **k: (calls.append(len(y)), detect(y, *a, **k))[1]
    repeat_into(tb, block, (y, h), n)
    sink = Sink(np.float32, 16)
    tb.connect(block, sink)
    tb.run()
    llr = sink.items()
    assert len(llr) == n == sum(calls) == block.vectors()
    expected = detectors.ZF().detect(y, h, noise_var)
    np.testing.assert_allclose(llr, np.resize(expected, llr.shape), rtol=1e-5, atol=1e-3)
    assert n / len(calls) > 300    # without a request, a block gets about 190


def test_a_reader_of_many_items_does_not_deadlock():
    """The reader leaves less than a batch free in the output buffer and waits for more items."""
    items = 24_000
    tb = gr.top_block()
    block = make("zf")
    repeat_into(tb, block, (np.ones((1, 4)), np.ones((1, 16))), 200_000)
    reader = Hungry(items, 16)
    tb.connect(block, reader)
    tb.start()
    deadline = time.monotonic() + 20
    while reader.taken < 200_000 // items * items:
        assert time.monotonic() < deadline, f"stuck after {reader.taken} items"
        time.sleep(0.01)
    tb.stop()
    tb.wait()


def test_a_long_search_can_be_stopped():
    """Exact detection of 64-QAM with 3 layers is slow: batches are cut to keep calls short."""
    calls = []
    block = make("omap", num_tx=3, num_rx=3, constellation="qam64", noise_var=0.1)
    detect = block._detector.detect
    block._detector.detect = lambda y, *a, **k: (calls.append(len(y)), detect(y, *a, **k))[1]
    tb = gr.top_block()
    sources = [blocks.vector_source_c(np.random.default_rng(1).normal(size=1000 * width)
                                      .astype(complex), True, width) for width in (3, 9)]
    sink = blocks.null_sink(4 * 18)
    for port in range(2):
        tb.connect(sources[port], (block, port))
    tb.connect(block, sink)
    tb.start()
    while not calls:
        time.sleep(0.01)
    tb.stop()
    tb.wait()
    assert max(calls) <= 2**28 // 64**3


@pytest.mark.quick
def test_noise_var_tags_apply_from_their_item_on():
    y, h, noise_var, _ = problem(300, 4, 4, "qam16", 20)
    values = np.full(300, noise_var, np.float32)
    values[100:200] = 3 * noise_var
    values[200:] = 0.5 * noise_var
    tags = [(100, "noise_var", 3 * noise_var), (200, "noise_var", 0.5 * noise_var),
            (150, "frame", {"start": 7})]
    block = make("mmse", noise_var=noise_var)
    llr, sink = play(block, y, h, tags=tags, step=64)
    np.testing.assert_allclose(llr, detectors.MMSE().detect(y, h, values), rtol=1e-4, atol=1e-3)
    assert (150, "frame", {"start": 7}) in sink.tags
    assert (100, "noise_var", 3 * noise_var) in sink.tags
    assert block.noise_var() == pytest.approx(0.5 * noise_var)


def test_unusable_noise_var_tag_erases_until_the_next():
    y, h, noise_var, _ = problem(60, 4, 4, "qam16", 20)
    block = make("mmse", noise_var=noise_var)
    llr, _ = play(block, y, h, step=8,
                  tags=[(20, "noise_var", -1.0), (41, "noise_var", noise_var)])
    assert np.all(llr[20:41] == 0) and np.all(np.any(llr[41:] != 0, axis=1))
    assert block.erasures() == 21


@pytest.mark.quick
@pytest.mark.parametrize("detector", [*detectors.REGISTRY.values(), OwnZf])
def test_noise_cov_is_that_of_arrays(detector):
    """A parameter, a message and a tag have the effect of ``detect(noise_cov=...)``."""
    common = {"num_tx": 2, "num_rx": 3, "constellation": "qpsk"}
    y, h, noise_var, _ = problem(90, 2, 3, "qpsk", 12, 3)
    y, noise_cov = coloured(y, noise_var)
    expected = detectors.look_up(detector).make(**common).detect(y, h, noise_cov=noise_cov)
    make_block = make_detector_block(detector)
    parameter, message, tag = (make_block(**common, symbols_per_channel=3, **given)
                               for given in ({"noise_cov": noise_cov}, {}, {}))
    message._post(pmt.intern("control"), pmt.to_pmt({"noise_cov": noise_cov}))
    for block, tags in ((parameter, ()), (message, ()), (tag, [(0, "noise_cov", noise_cov)])):
        llr, _ = play(block, y, h, 3, tags=tags)
        np.testing.assert_allclose(llr, expected, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(block.noise_cov(), noise_cov)
        assert block.erasures() == block.failures() == block.refused_settings() == 0


@pytest.mark.quick
def test_noise_cov_holds_until_noise_var_comes():
    """Tags apply from their item on. A noise_cov has precedence over a noise_var of its item."""
    y, h, noise_var, _ = problem(400, 4, 4, "qam16", 20, 2)
    y, noise_cov = coloured(y, noise_var)
    singular = np.outer(np.arange(1, 5), np.arange(1, 5)).astype(np.float32)
    tags = [(50, "noise_cov", noise_cov), (50, "noise_var", 1.0), (80, "noise_var", noise_var),
            (100, "noise_cov", singular), (110, "noise_cov", noise_cov[:3]),
            (130, "noise_cov", 2 * noise_cov.astype(complex)), (150, "noise_var", -1.0),
            (160, "noise_cov", noise_cov)]
    block = make("mmse", noise_var=noise_var, symbols_per_channel=2)
    llr, sink = play(block, y, h, 2, tags=tags, step=30)
    assert len(sink.tags) == len(tags)

    def check(first, end, **noise):
        at = slice(2 * first, 2 * end)
        np.testing.assert_allclose(llr[at], detectors.MMSE().detect(y[at], h[first:end], **noise),
                                   rtol=1e-3, atol=1e-3)

    for first, end in ((0, 50), (80, 100)):
        check(first, end, noise_var=noise_var)
    for first, end, factor in ((50, 80, 1), (130, 150, 2), (160, 200, 1)):
        check(first, end, noise_cov=factor * noise_cov)
    assert not llr[200:260].any() and not llr[300:320].any() and block.erasures() == 80
    np.testing.assert_array_equal(block.noise_cov(), noise_cov)
    block.set_noise_var(0.5)
    assert block.noise_cov() is None and block.noise_var() == 0.5
    block.set_noise_cov(noise_cov)
    block.set_noise_cov(None)
    assert block.noise_cov() is None and block.noise_var() == 0.5


def test_wrong_noise_cov_is_refused():
    block = make("mmse", num_tx=2, num_rx=2)
    for value in (pmt.from_double(1.0), pmt.intern("loud"), pmt.PMT_NIL,
                  pmt.init_c32vector(3, [1, 0, 0]), pmt.to_pmt([1.0, 0.0, 0.0, 1.0])):
        block._on_control(pmt.cons(pmt.intern("noise_cov"), value))
    block.control.set_noise_cov("loud")
    assert block.refused_settings() == 6 and block.noise_cov() is None
    block._on_control(pmt.cons(pmt.intern("noise_cov"), pmt.init_f64vector(4, [2, 0, 0, 1])))
    np.testing.assert_array_equal(block.noise_cov(), [[2, 0], [0, 1]])


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["psd", "softsphere"])
def test_long_searches_on_a_gpu(name):
    """At this SNR most searches are long: a second launch makes them."""
    y, h, noise_var, _ = problem(4000, 6, 6, "qam16", 8)
    size = {"num_tx": 6, "num_rx": 6, "noise_var": noise_var}
    expected, _ = play(make(name, backend="cpu", **size), y, h)
    block = make(name, backend="cuda", **size)
    llr, _ = play(block, y, h)
    wrong = np.abs(llr - expected).max(axis=1) > 1e-3 * np.abs(expected).max(axis=1)
    assert wrong.mean() < 1e-3 and block.last_backend() == "cuda"
    assert block.erasures() == block.failures() == 0


@pytest.mark.gpu
def test_noise_cov_on_a_gpu():
    """Covariances for all items of a call, and for each item."""
    y, h, noise_var, _ = problem(4000, 4, 4, "qam16", 20)
    y, noise_cov = coloured(y, noise_var)
    expected = detectors.NWay().detect(y, h, noise_cov=noise_cov)
    for given, tags in (({"noise_cov": noise_cov}, ()), ({}, [(0, "noise_cov", noise_cov)])):
        block = make("nway", backend="cuda", **given)
        llr, _ = play(block, y, h, tags=tags)
        wrong = np.abs(llr - expected).max(axis=1) > 1e-3 * np.abs(expected).max(axis=1)
        assert wrong.mean() < 1e-3 and block.last_backend() == "cuda"
        assert block.erasures() == block.failures() == 0


@pytest.mark.quick
def test_erasures_are_counted_and_reported():
    y, h, noise_var, _ = problem(4000, 4, 4, "qam16", 20)
    y[::40, 1] = np.nan
    block = make("nway", noise_var=noise_var)
    messages = Messages()
    tb = gr.top_block()
    sources = [Source(y, (), 100), Source(h, (), 100)]
    sink = Sink(np.float32, 16)
    for port in range(2):
        tb.connect(sources[port], (block, port))
    tb.connect(block, sink)
    tb.msg_connect(block, "status", messages, "in")
    tb.run()
    llr = sink.items()
    assert len(llr) == 4000 and np.all(llr[::40] == 0) and np.all(np.isfinite(llr))
    assert block.erasures() == 100
    assert 1 <= len(messages.received) <= 3
    stamps = messages.stamps()
    assert messages.values()[0].keys() == {"vectors", "erasures", "failures",
                                          "refused_settings"}
    assert np.all(np.diff(stamps)[:-1] > 0.9)    # the last report comes when the block stops


def test_truncated_searches_are_reported():
    y, h, noise_var, _ = problem(2000, 4, 4, "qam16", 15)
    expected = detectors.SD(max_nodes=20)
    llr = expected.detect(y, h, noise_var)
    block = make("sd", noise_var=noise_var, max_nodes=20)
    messages = Messages()
    tb = gr.top_block()
    for port, (array, width) in enumerate(((y, 4), (h, 16))):
        tb.connect(blocks.vector_source_c(array.ravel().tolist(), False, width), (block, port))
    sink = Sink(np.float32, 16)
    tb.connect(block, sink)
    tb.msg_connect(block, "status", messages, "in")
    tb.run()
    np.testing.assert_array_equal(sink.items(), llr)
    assert 0 < expected.truncated == block.truncated() < 2000
    assert 0 < messages.values()[0]["truncated"] <= block.truncated()
    assert block.max_nodes() == 20 and block.erasures() == 0


@pytest.mark.parametrize("way", ["method", "callback", "message"])
def test_a_parameter_changes_in_a_running_flowgraph(way):
    name, parameter, before, after = "nway", "num_passes", 4, 2
    y, h, noise_var, _ = problem(60_000, 4, 4, "qam16", 15)
    block = make(name, noise_var=noise_var, **{parameter: before})
    change = {
        "method": lambda: getattr(block, f"set_{parameter}")(after),
        "callback": lambda: getattr(block.control, f"set_{parameter}")(after),
        "message": lambda: block._post(pmt.intern("control"), pmt.to_pmt(
            {parameter: float(after)}))}[way]
    llr, _ = play(block, y, h, step=1000, event=(
        40_000, lambda: (until(block.vectors), change())))
    old, new = (detectors.create(name, **{parameter: value}).detect(y, h, noise_var)
                for value in (before, after))
    is_old, is_new = ((llr == other).all(axis=1) for other in (old, new))
    first = np.flatnonzero(~is_old)[0]
    assert 0 < first < 59_000 and is_new[first:].all()
    assert getattr(block, parameter)() == after and block.vectors() == 60_000
    with pytest.raises(ValueError, match=f"{parameter}: got 0"):
        getattr(block, f"set_{parameter}")(0)
    getattr(block.control, f"set_{parameter}")(0)
    assert getattr(block, parameter)() == after and block.refused_settings() == 1


def test_lock_and_unlock_while_running():
    """Change a running flowgraph next to the detector.

    At unlock(), GNU Radio 3.10 drops the contents of buffers, not the same number of items at each
    input of a block (its issue 6105). The LLRs can therefore not be compared. The test checks that
    the block continues and that every input item gives an output item.
    """
    y, h, noise_var, _ = problem(1000, 4, 4, "qam16", 20)
    tb = gr.top_block()
    block = make("zf", noise_var=noise_var)
    sources = [blocks.vector_source_c(a.ravel().tolist(), True, width)
               for a, width in ((y, 4), (h, 16))]
    throttles = [blocks.throttle(8 * width, 2e5) for width in (4, 16)]
    first, second = blocks.null_sink(64), blocks.vector_sink_f(16)
    for port in range(2):
        tb.connect(sources[port], throttles[port], (block, port))
    tb.connect(block, first)
    tb.start()
    for old, new in ((first, second), (second, first)) * 3:
        time.sleep(0.1)
        tb.lock()
        tb.disconnect(block, old)
        tb.connect(block, new)
        tb.unlock()
    before = block.vectors()
    time.sleep(0.3)
    tb.stop()
    tb.wait()
    assert block.vectors() > before > 0 and block.erasures() == 0
    llr = np.array(second.data()).reshape(-1, 16)
    assert len(llr) > 1000 and np.all(np.isfinite(llr)) and np.all(np.any(llr != 0, axis=1))


@pytest.mark.parametrize("name", ALL)
def test_names_and_documentation(name):
    block = getattr(mimopack, f"{name}_detector")
    parameters = inspect.signature(block).parameters
    for parameter in detectors.REGISTRY[name].all_parameters():
        assert parameters[parameter.name].default == parameter.default
    assert {"noise_var", "noise_cov", "symbols_per_channel", "prior_input"} <= parameters.keys()
    assert "ln P(1)/P(0)" in block.__doc__ and f"{name}_detector" in dir(mimopack)


@pytest.mark.parametrize("arguments, message", [
    ({"noise_var": 0}, "noise_var: got 0.0, must be positive"),
    ({"noise_cov": np.eye(3)}, r"noise_cov: got shape \(3, 3\), must be \(4, 4\)"),
    ({"symbols_per_channel": 0}, "symbols_per_channel: got 0"),
    ({"prior_input": True}, "prior_input: zf takes no a-priori"),
    ({"num_tx": 5}, "num_rx: got 4, must be at least num_tx = 5"),
    ({"speed": 9}, "speed")])
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make("zf", **arguments)
