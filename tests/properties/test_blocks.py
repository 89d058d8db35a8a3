# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stream ports in flowgraphs: what comes in leaves, however the stream is cut."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pmt
import pytest
from detector_blocks import Sink, Source
from every_block import MESSAGES, received
from gnuradio import gr, mimopack
from gnuradio.mimopack import blocks, coding, constellation, detectors, iterative, recording, wifi
from gnuradio.mimopack.llr_health import LlrHealth
from hypothesis import given
from hypothesis import strategies as st
from simulated import problem
from strategies import NOT_FINITE, SEEDS, fewer
from wifi_air import data_mpdu
from wifi_blocks import Messages, Sender, pdu, run

STEPS = st.none() | st.integers(1, 50)
LENGTHS = st.integers(1, 300)
KEYS = st.sampled_from(["frame", "rx_time", "x"])
TAGS = st.lists(st.tuples(st.integers(0, 400), KEYS, st.integers(0, 9)), max_size=4)
LAYOUTS = st.sampled_from(recording.LAYOUTS)
DATATYPES = st.sampled_from(["cf32_le", "ci16_le", "ci8"])

# Names of the blocks with stream ports that a test here plays; ``plays`` adds them.
PLAYED = {f"{name}_detector" for name in detectors.REGISTRY}
# Blocks with stream ports that no test here plays, and why.
LEFT_OUT = {"ofdm_grid": "tests/blocks/test_ofdm.py plays it",
            "ofdm_vectors": "tests/blocks/test_ofdm.py plays it",
            "radio_source": "needs a radio: tests/blocks/test_radio_source.py imitates one",
            "symbol_mapper": "tests/blocks/test_uncoded.py plays it",
            **dict.fromkeys(("wifi_channel_estimator", "wifi_llr_decoder"),
                            "tests/blocks/test_wifi_chain.py plays them")}


def plays(*names):
    """Mark a test that plays blocks, or the only test of a block without stream inputs."""
    PLAYED.update(names)
    return lambda test: test


def test_each_block_is_played_or_left_out_for_a_reason():
    """The fuzz target ``messages`` plays blocks that only messages feed."""
    assert PLAYED | MESSAGES.keys() | LEFT_OUT.keys() == set(blocks.__all__)
    assert not PLAYED & LEFT_OUT.keys()


def play(block, inputs, outputs=(), listen=(), messages=None):
    """Play items through a block; return the sinks of its outputs, and then of its messages.

    Args:
        block: the block, which must end by itself.
        inputs: (items, tags, step) for each input, see ``Source``; an event may follow.
        outputs: type of the items of each output.
        listen: names of message outputs.
        messages: messages for the port "in", or None.
    """
    top = gr.top_block()
    sources = [Source(*given) for given in inputs]
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    sinks = [Sink(kind, block.output_signature().sizeof_stream_item(port)
                  // np.dtype(kind).itemsize) for port, kind in enumerate(outputs)]
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    listeners = [Messages() for _ in listen]
    for name, listener in zip(listen, listeners, strict=True):
        top.msg_connect(block, name, listener, "in")
    if messages is not None:
        sender = Sender(messages)
        top.msg_connect(sender, "out", block, "in")
    run(top)
    return *sinks, *listeners


def within(tags, n):
    return sorted(tag for tag in tags if tag[0] < n)


def items_of(sink):
    """Return the items of a sink, which may have got none."""
    return sink.items() if sink.parts else np.zeros((0, 1), np.complex64)


def spoil(draw, *arrays):
    """Put up to three numbers that are not finite in the first column of (n, ...) arrays."""
    for _ in range(draw(st.integers(0, 3))):
        spoilt = draw(st.sampled_from(arrays))
        spoilt[draw(st.integers(0, len(spoilt) - 1)), 0] = draw(st.sampled_from(NOT_FINITE))


def complex_noise(rng, *shape):
    return rng.standard_normal((*shape, 2)).astype(np.float32).view(np.complex64)[..., 0]


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
@given(data=st.data())
@fewer(5)
def test_each_vector_leaves_a_detector_block_as_from_the_arrays(name, data):
    n, period = data.draw(LENGTHS), data.draw(st.integers(1, 8))
    rng = np.random.default_rng(data.draw(SEEDS))
    y, h, noise_var, bits = problem(n * period, 2, 3, "qpsk", 15, period, data.draw(SEEDS))
    spoil(data.draw, y, h.reshape(n, -1))
    kind = data.draw(st.sampled_from(["float32", "int8"]))
    shared = {"num_tx": 2, "num_rx": 3, "constellation": "qpsk", "backend": "cpu", "llr_type": kind}
    det, tags = detectors.create(name, **shared), data.draw(TAGS)
    prior = rng.normal(0, 3, bits.shape).astype(np.float32)
    takes = det.SUPPORTS_PRIOR and data.draw(st.booleans())
    expected = det.detect(y, h, noise_var, *[prior] * takes)
    block = getattr(mimopack, f"{name}_detector")(
        **shared, noise_var=noise_var, symbols_per_channel=period, prior_input=takes)
    given_items = [y.reshape(n, -1), h, *[prior.reshape(n, -1)] * takes]
    sink, = play(block, [(items, tags * (port == 0), data.draw(STEPS))
                         for port, items in enumerate(given_items)], [kind])
    np.testing.assert_array_equal(sink.items().reshape(expected.shape), expected)
    assert sorted(sink.tags) == within(tags, n)
    assert (block.vectors(), block.erasures(), block.failures()) == (n * period, det.erasures, 0)


@plays("fec_encoder", "fec_decoder")
@pytest.mark.parametrize("name", ["wifi:648:1/2", "turbo:40", "conv:100:3/4",
                                  "nr_matched:100:240:2"])
@given(data=st.data())
@fewer(3)
def test_each_codeword_leaves_the_fec_blocks(name, data):
    """An encoder, then LLRs of which some are spoilt, and a decoder as from the arrays."""
    code, n = coding.get(name), data.draw(LENGTHS)
    rng = np.random.default_rng(data.draw(SEEDS))
    bits = rng.integers(0, 256, (n, code.num_info), np.uint8)    # only the last bit of each counts
    tags = data.draw(TAGS)
    sink, = play(mimopack.fec_encoder(name), [(bits, tags, data.draw(STEPS))], [np.uint8])
    words = sink.items()
    np.testing.assert_array_equal(words, code.encode(bits & 1))
    assert sorted(sink.tags) == within(tags, n)

    llr = (8.0 * words - 4 + rng.normal(0, 2, words.shape)).astype(np.float32)
    spoil(data.draw, llr)
    decoder = code.decoder(backend="cpu")
    posterior = decoder.decode(llr)
    block = mimopack.fec_decoder(name, backend="cpu", llr_output=True)
    sinks = play(block, [(llr, tags, data.draw(STEPS))], [np.uint8, np.float32])
    np.testing.assert_array_equal(sinks[0].items(), decoder.bits)
    np.testing.assert_array_equal(sinks[1].items(), posterior)
    assert all(sorted(sink.tags) == within(tags, n) for sink in sinks)
    assert (block.codewords(), block.erasures(), block.failures()) == (n, decoder.erasures, 0)


@plays("codeword_modulator", "iterative_receiver")
@pytest.mark.parametrize("name", ["turbo:40", "nr:2:2", "conv:60:2/3"])
@given(data=st.data())
@fewer(5)
def test_each_codeword_leaves_an_iterative_receiver_as_from_the_arrays(name, data):
    """A modulator, a channel, and a receiver whose noise power a tag changes."""
    code, n = coding.get(name), data.draw(st.integers(1, 60))
    rng, tags = np.random.default_rng(data.draw(SEEDS)), data.draw(TAGS)
    bits = rng.integers(0, 256, (n, code.num_info), np.uint8)
    modulator = mimopack.codeword_modulator(name, 2, "qpsk")
    sink, = play(modulator, [(bits, tags, data.draw(STEPS))], [np.complex64])
    order = coding.RandomInterleaver(code.num_bits, 1)
    layout = iterative.CodewordLayout(code.num_bits, 4, order)
    x = constellation.get("qpsk").modulate(layout.spread(code.encode(bits & 1)))
    np.testing.assert_array_equal(sink.items().reshape(x.shape), x)
    assert sorted(sink.tags) == within(tags, n)

    vectors = modulator.vectors()
    h = complex_noise(rng, n * vectors, 2, 2)
    y = (np.einsum("nij,nj->ni", h, x) + 0.3 * complex_noise(rng, *x.shape)).astype(np.complex64)
    spoil(data.draw, y, h.reshape(len(h), -1))
    changes, noise_var = data.draw(st.integers(0, n)), np.full(n * vectors, 0.2, np.float32)
    noise_var[changes * vectors:] = 0.3
    passes = data.draw(st.integers(1, 3))
    receiver = iterative.IterativeReceiver(
        detectors.create("mmsepic", num_tx=2, num_rx=2, constellation="qpsk", backend="cpu",
                         extrinsic=True), code.decoder(backend="cpu"), order, passes)
    expected = receiver.receive(y, h, noise_var, keep_history=True)
    block = mimopack.iterative_receiver(2, 2, "qpsk", name, "mmsepic", iterations=passes,
                                        noise_var=0.2, history_output=True, backend="cpu")
    tags = [*tags, (changes, "noise_var", 0.3)]
    sinks = play(block, [(y.reshape(n, -1), tags, data.draw(STEPS)),
                         (h.reshape(n, -1), (), data.draw(STEPS))],
                 [np.uint8, np.uint8, np.int32, np.uint8])
    for sink, values in zip(sinks, (
            expected.bits, expected.found, expected.iterations,
            expected.history.transpose(1, 0, 2)), strict=True):
        np.testing.assert_array_equal(sink.items(), values.reshape(n, -1))
        assert sorted(sink.tags) == within(tags, n)
    assert (block.codewords(), block.erasures(), block.failures()) == (n, expected.erased, 0)
    assert block.erased_vectors() == expected.erasures


@plays("ber_meter")
@given(data=st.data())
@fewer(1)
def test_a_ber_meter_counts_what_arrays_count(data):
    n, average = data.draw(LENGTHS), data.draw(st.integers(1, 20))
    passes, num_bits = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 40))
    rng = np.random.default_rng(data.draw(SEEDS))
    sent = rng.integers(0, 256, (n, num_bits), np.uint8)
    got = rng.integers(0, 256, (n, passes, num_bits), np.uint8)
    block = mimopack.ber_meter(num_bits, passes, average)
    sink, = play(block, [(sent, data.draw(TAGS), data.draw(STEPS)),
                         (got, (), data.draw(STEPS))], [np.float32])
    wrong = (sent[:, None] % 2 != got % 2).mean(axis=2)[:n // average * average]
    expected = wrong.reshape(-1, average, passes).mean(axis=1)
    np.testing.assert_allclose(items_of(sink).reshape(expected.shape), expected, rtol=1e-6)
    assert sink.tags == [] and block.failures() == 0
    assert block.codewords() == len(wrong)
    if len(wrong):
        np.testing.assert_allclose(block.ber(), wrong.mean(axis=0), rtol=1e-6)


@plays("llr_meter")
@given(data=st.data())
@fewer(1)
def test_an_llr_meter_counts_what_arrays_count(data):
    n, num_bits = data.draw(LENGTHS), data.draw(st.integers(1, 30))
    rng, period = np.random.default_rng(data.draw(SEEDS)), data.draw(st.integers(10, 3000))
    bits = rng.integers(0, 256, (n, num_bits), np.uint8)
    llr = (4 * (bits % 2.0) - 2 + rng.normal(0, 2, bits.shape)).astype(np.float32)
    spoil(data.draw, llr)
    block = mimopack.llr_meter(num_bits, limit=data.draw(st.sampled_from([0.0, 3.0])),
                               period=period)
    told, = play(block, [(llr, data.draw(TAGS), data.draw(STEPS)), (bits, (), data.draw(STEPS))],
                 listen=["health"])
    whole = LlrHealth(block._limit)
    whole.add(llr.ravel(), bits.ravel())
    assert block.figures().text() == whole.figures().text()
    assert [one["bits"] + one["invalid"] for one in told.values()] == [period] * (
        llr.size // period)


@plays("rayleigh_channel")
@given(data=st.data())
@fewer(1)
def test_each_vector_leaves_the_channel_with_its_matrix(data):
    n, vectors = data.draw(LENGTHS), data.draw(st.integers(1, 6))
    num_tx, num_rx = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    period = data.draw(st.sampled_from([of for of in range(1, 7) if vectors % of == 0]))
    rng, tags = np.random.default_rng(data.draw(SEEDS)), data.draw(TAGS)
    x = (rng.standard_normal((n * vectors, num_tx)) + 0j).astype(np.complex64)
    block = mimopack.rayleigh_channel(num_tx, num_rx, vectors, period, 100.0, seed=1)
    sinks = play(block, [(x.reshape(n, -1), tags, data.draw(STEPS))], [np.complex64] * 2)
    y = sinks[0].items().reshape(-1, num_rx)
    h = sinks[1].items().reshape(-1, num_rx, num_tx)
    assert len(y) == n * vectors and len(h) == n * vectors // period
    np.testing.assert_allclose(y, np.einsum("nij,nj->ni", np.repeat(h, period, axis=0), x),
                               atol=1e-3)
    assert sorted(sinks[0].tags) == sorted([*within(tags, n), (0, "noise_var", block.noise_var())])
    assert sorted(sinks[1].tags) == within(tags, n)


@plays("mimo_channel")
@given(data=st.data())
@fewer(1)
def test_the_channel_of_samples_does_not_depend_on_calls(data):
    """Up to rounding: how NumPy rounds depends on where an array begins in memory.

    A tag moves with its sample to each output. Equal tags of a sample come out once.
    """
    num_tx, num_rx = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    n, profile = data.draw(st.integers(1, 3000)), data.draw(st.sampled_from(["flat", "tdl_a"]))
    rng = np.random.default_rng(data.draw(SEEDS))
    x = (rng.standard_normal((num_tx, n, 1)) + 0j).astype(np.complex64)
    tags = [data.draw(TAGS) for _ in range(num_tx)]

    def run_with(steps):
        block = mimopack.mimo_channel(num_tx, num_rx, profile, 50e-9, doppler=100.0, snr_db=20.0,
                                      seed=5)
        sinks = play(block, zip(x, tags, steps, strict=True), [np.complex64] * num_rx)
        items = [items_of(sink) for sink in sinks]
        assert len({len(one) for one in items}) == 1 and n - block.latency <= len(items[0]) <= n
        moved = {(at + block.latency, *tag) for of in tags for at, *tag in within(of, n)}
        for sink in sinks:
            assert sorted(sink.tags) == within(moved, len(items[0]))
        return items

    whole = run_with([None] * num_tx)
    cut = run_with([data.draw(st.none() | st.integers(1, 500)) for _ in range(num_tx)])
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@plays("sigmf_multichannel_sink", "sigmf_multichannel_source")
@given(data=st.data())
@fewer(1)
def test_what_is_recorded_is_played(data):
    """As from the array interface, with the frequencies of tags; other tags change nothing."""
    with TemporaryDirectory() as folder:
        record_and_play(data, Path(folder))


def record_and_play(data, folder):
    channels, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3000))
    datatype, layout = data.draw(DATATYPES), data.draw(LAYOUTS)
    samples = 0.3 * complex_noise(np.random.default_rng(data.draw(SEEDS)), channels, n)
    recording.write(folder / "arrays", samples, 1e6, datatype=datatype)
    expected = recording.Reader(folder / "arrays").read()
    changes = dict(data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, 3)),
                                      max_size=4)))
    tags = [(at, "rx_freq", 1e9 * index) for at, index in changes.items()]
    tags += [(at, key, value) for at, key, value in data.draw(TAGS) if key != "rx_time"]
    sink = mimopack.sigmf_multichannel_sink(folder / "played", channels, datatype, 1e6, layout,
                                            timestamp=False)
    play(sink, [(one[:, None], tags * (port == 0), data.draw(STEPS))
                for port, one in enumerate(samples)])
    counts = sink.counts()
    assert (counts["samples"], counts["dropped"], counts["failures"]) == (n, 0, 0)
    reader = recording.Reader(folder / "played", verify=True)
    np.testing.assert_array_equal(reader.read(), expected)

    source = mimopack.sigmf_multichannel_source(folder / "played")
    source.set_max_noutput_items(data.draw(st.integers(1, 4000)))
    sinks = play(source, [], [np.complex64] * channels)
    frequencies, now = [], None
    for at in sorted(changes):
        if changes[at] != now:
            now = changes[at]
            frequencies.append((at, "rx_freq", 1e9 * now))
    if frequencies and frequencies[0][0]:    # the first one is also that of the samples before it
        frequencies.insert(0, (0, *frequencies[0][1:]))
    for one, wanted in zip(sinks, expected, strict=True):
        np.testing.assert_array_equal(one.items().ravel(), wanted)
        assert sorted(tag for tag in one.tags if tag[1] == "rx_freq") == frequencies


@plays("sigmf_ring_sink")
@given(data=st.data())
@fewer(1)
def test_a_ring_writes_the_last_samples(data):
    with TemporaryDirectory() as folder:
        record_the_last(data, Path(folder))


def record_the_last(data, folder):
    channels, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3000))
    kept = data.draw(st.integers(1, 2000))
    samples = complex_noise(np.random.default_rng(data.draw(SEEDS)), channels, n)
    block = mimopack.sigmf_ring_sink(folder / "air", channels, kept / 1e6, sample_rate=1e6,
                                     layout=data.draw(LAYOUTS), timestamp=False)
    tags = [tag for tag in data.draw(TAGS) if tag[1] != "rx_time"]
    event = data.draw(st.integers(0, n - 1)), partial(block.trigger, "now")
    told, = play(block, [(one[:, None], tags * (port == 0), data.draw(STEPS),
                          event if port == 0 else None) for port, one in enumerate(samples)],
                 listen=["written"])
    counts = block.counts()
    assert counts["written"] + counts["refused"] == 1
    assert (counts["failed"], counts["failures"]) == (0, 0)
    answer, = told.values()
    if counts["refused"]:    # the trigger came before the first sample
        assert answer == {"problem": "no samples have arrived yet"}
        return
    start, count = answer["start"], answer["num_samples"]
    assert start + count <= n and (count == kept or (start == 0 and count < kept))
    reader = recording.Reader(answer["path"], verify=True)
    np.testing.assert_array_equal(reader.read(), samples[:, start:start + count])
    assert reader.description == "now"


def draw_air(draw):
    """Draw the beginning of a recording of two antennas, in which some samples are spoilt."""
    samples = received()[0]
    samples = samples[:, :draw(st.integers(1, samples.shape[1]))].copy()
    spoil(draw, samples.T)
    return samples


def play_air(draw, block, samples, listen):
    steps = st.none() | st.integers(30, 5000)
    tags = [tag for tag in draw(TAGS) if tag[1] != "rx_time"]
    inputs = [(one[:, None], tags * (port == 0), draw(steps)) for port, one in enumerate(samples)]
    told = play(block, inputs, listen=listen)
    counts = block.counts()
    assert (counts["samples"], counts["failures"]) == (samples.shape[1], 0)
    return told


@plays("wifi_receiver")
@given(data=st.data())
@fewer(2)
def test_each_frame_leaves_a_receiver_as_from_the_arrays(data):
    samples = draw_air(data.draw)
    engine = wifi.Receiver(2, detector="mmse", backend="cpu")
    with np.errstate(all="ignore"):
        wanted = engine.process(samples) + engine.finish()
    block = mimopack.wifi_receiver(2, detector="mmse", backend="cpu")
    out, frames, csi = play_air(data.draw, block, samples, ["out", "frames", "csi"])
    keys = ("start", "num_samples", "format", "mcs", "length", "problem")
    assert [[info.get(key) for key in keys] for info in frames.values()] == [
        [frame.as_json()[key] for key in keys] for frame in wanted]
    assert [data for _, data in out.pdus()] == [
        mpdu.data[:-4] for frame in wanted for mpdu in frame.mpdus if mpdu.fcs_ok]
    assert len(csi.received) == sum(frame.channel is not None for frame in wanted)


@plays("wifi_synchroniser")
@given(data=st.data())
@fewer(2)
def test_each_frame_leaves_a_synchroniser_as_from_the_arrays(data):
    """And then a decoder, as it leaves a receiver."""
    samples = draw_air(data.draw)
    engine = wifi.Synchroniser(2)
    with np.errstate(all="ignore"):
        wanted = engine.process(samples) + engine.finish()
    told, = play_air(data.draw, mimopack.wifi_synchroniser(2), samples, ["frames"])
    assert len(told.received) == len(wanted)
    for message, found in zip(told.messages(), wanted, strict=True):
        info, values = pmt.to_python(pmt.car(message)), pmt.c32vector_elements(pmt.cdr(message))
        assert (info["start"], info["first"], info["truncated"]) == (
            found.preamble.start, found.first, found.truncated)
        np.testing.assert_array_equal(np.reshape(values, (2, -1)).astype(np.complex64),
                                      found.samples)
    receiver = wifi.Receiver(2, detector="mmse", backend="cpu")
    with np.errstate(all="ignore"):
        frames = receiver.process(samples) + receiver.finish()
    block = mimopack.wifi_decoder(2, detector="mmse", backend="cpu")
    out, = play(block, [], listen=["out"], messages=told.messages())
    assert [data for _, data in out.pdus()] == [
        mpdu.data[:-4] for frame in frames for mpdu in frame.mpdus if mpdu.fcs_ok]
    assert block.failures() == 0


@plays("wifi_transmitter")
@given(data=st.data())
@fewer(1)
def test_each_pdu_leaves_a_transmitter_as_from_the_arrays(data):
    """PDUs of any length and format; the first sample of each frame has the frame's tags."""
    kinds = {"non-ht": lambda n: wifi.NonHT(12, n), "ht": lambda n: wifi.HT(3, n),
             "vht": lambda n: wifi.VHT.of_length(2, n, 1)}
    sizes = data.draw(st.lists(st.integers(1, 400), min_size=1, max_size=4))
    names = [data.draw(st.sampled_from(list(kinds))) for _ in sizes]
    mcs, gap = {"non-ht": 12, "ht": 3, "vht": 2}, data.draw(st.integers(0, 500))
    mpdus = [data_mpdu(size, index) for index, size in enumerate(sizes)]
    messages = [pdu(mpdu[:-4], format=name, mcs=mcs[name])
                for mpdu, name in zip(mpdus, names, strict=True)]
    for _ in range(refused := data.draw(st.integers(0, 2))):
        messages.insert(data.draw(st.integers(0, len(messages))), pdu(b"x", mcs=77))
    block = mimopack.wifi_transmitter(2, gap=gap, backoff_db=0.0, scrambler_seed=5, clip=False)
    block.set_max_noutput_items(data.draw(st.integers(1, 5000)))
    sinks = play(block, [], [np.complex64] * 2, messages=messages)
    transmitter = wifi.Transmitter(2)
    bursts = [np.pad(transmitter.mpdu(kinds[name], [mpdu], 5)[1], ((0, 0), (0, gap)))
              for mpdu, name in zip(mpdus, names, strict=True)]
    starts = np.cumsum([0, *(burst.shape[1] for burst in bursts)])
    tags = sorted([*((starts[index], "frame", index) for index in range(len(bursts))),
                   *((starts[index], "packet_len", burst.shape[1])
                     for index, burst in enumerate(bursts))])
    for sink, wanted in zip(sinks, np.concatenate(bursts, axis=1), strict=True):
        np.testing.assert_array_equal(sink.items().ravel(), wanted)
        assert sorted(sink.tags) == tags
    assert (block.frames(), block.refused(), block.dropped()) == (len(bursts), refused, 0)
