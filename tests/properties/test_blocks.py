# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stream ports in flowgraphs: what comes in leaves, however the stream is cut."""

import numpy as np
import pytest
from detector_blocks import Sink, Source, make
from gnuradio import gr, mimopack
from gnuradio.mimopack import coding, detectors
from hypothesis import given
from hypothesis import strategies as st
from simulated import problem
from strategies import NOT_FINITE, SEEDS, fewer

STEPS = st.none() | st.integers(1, 50)
LENGTHS = st.integers(1, 300)
TAGS = st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["frame", "rx_time", "x"]),
                          st.integers(0, 9)), max_size=4)


def play(block, inputs, outputs):
    """Run (items, tags, step) for each input through a block; return the sinks of the outputs."""
    tb = gr.top_block()
    sources = [Source(*given) for given in inputs]
    for port, source in enumerate(sources):
        tb.connect(source, (block, port))
    sinks = [Sink(kind, block.output_signature().sizeof_stream_item(port)
                  // np.dtype(kind).itemsize) for port, kind in enumerate(outputs)]
    for port, sink in enumerate(sinks):
        tb.connect((block, port), sink)
    tb.run()
    return sinks


def within(tags, n):
    return sorted(tag for tag in tags if tag[0] < n)


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
@given(data=st.data())
@fewer(5)
def test_each_vector_leaves_a_detector_block_as_from_the_arrays(name, data):
    n, period = data.draw(LENGTHS), data.draw(st.integers(1, 8))
    y, h, noise_var, _ = problem(n * period, 2, 3, "qpsk", 15, period, data.draw(SEEDS))
    for _ in range(data.draw(st.integers(0, 3))):
        spoilt = data.draw(st.sampled_from([y, h.reshape(n, -1)]))
        spoilt[data.draw(st.integers(0, len(spoilt) - 1)), 0] = data.draw(
            st.sampled_from(NOT_FINITE))
    det = detectors.create(name, num_tx=2, num_rx=3, constellation="qpsk", backend="cpu")
    expected = det.detect(y, h, noise_var)
    block = make(name, num_tx=2, num_rx=3, constellation="qpsk", noise_var=noise_var,
                 symbols_per_channel=period, backend="cpu")
    tags = data.draw(TAGS)
    sink, = play(block, [(y.reshape(n, -1), tags, data.draw(STEPS)), (h, (), data.draw(STEPS))],
                 [np.float32])
    np.testing.assert_array_equal(sink.items().reshape(expected.shape), expected)
    assert sorted(sink.tags) == within(tags, n)
    assert (block.vectors(), block.erasures(), block.failures()) == (n * period, det.erasures, 0)


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
    for _ in range(data.draw(st.integers(0, 3))):
        llr[data.draw(st.integers(0, n - 1)), 0] = data.draw(st.sampled_from(NOT_FINITE))
    decoder = code.decoder(backend="cpu")
    posterior = decoder.decode(llr)
    block = mimopack.fec_decoder(name, backend="cpu", llr_output=True)
    sinks = play(block, [(llr, tags, data.draw(STEPS))], [np.uint8, np.float32])
    np.testing.assert_array_equal(sinks[0].items(), decoder.bits)
    np.testing.assert_array_equal(sinks[1].items(), posterior)
    assert all(sorted(sink.tags) == within(tags, n) for sink in sinks)
    assert (block.codewords(), block.erasures(), block.failures()) == (n, decoder.erasures, 0)


@given(data=st.data())
@fewer(1)
def test_each_vector_leaves_the_channel_with_its_matrix(data):
    n, vectors = data.draw(LENGTHS), data.draw(st.integers(1, 6))
    num_tx, num_rx = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    period = data.draw(st.sampled_from([of for of in range(1, 7) if vectors % of == 0]))
    rng = np.random.default_rng(data.draw(SEEDS))
    x = (rng.standard_normal((n * vectors, num_tx)) + 0j).astype(np.complex64)
    block = mimopack.rayleigh_channel(num_tx, num_rx, vectors, period, 100.0, seed=1)
    sinks = play(block, [(x.reshape(n, -1), (), data.draw(STEPS))], [np.complex64] * 2)
    y = sinks[0].items().reshape(-1, num_rx)
    h = sinks[1].items().reshape(-1, num_rx, num_tx)
    assert len(y) == n * vectors and len(h) == n * vectors // period
    np.testing.assert_allclose(y, np.einsum("nij,nj->ni", np.repeat(h, period, axis=0), x),
                               atol=1e-3)


@given(data=st.data())
@fewer(1)
def test_the_channel_of_samples_does_not_depend_on_calls(data):
    """Up to rounding: how NumPy rounds depends on where an array begins in memory."""
    num_tx, num_rx = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    n = data.draw(st.integers(1, 3000))
    rng = np.random.default_rng(data.draw(SEEDS))
    x = (rng.standard_normal((num_tx, n, 1)) + 0j).astype(np.complex64)

    def run(steps):
        block = mimopack.mimo_channel(num_tx, num_rx, doppler=100.0, snr_db=20.0, seed=5)
        sinks = play(block, [(one, (), step) for one, step in zip(x, steps, strict=True)],
                     [np.complex64] * num_rx)
        assert all(len(sink.parts) for sink in sinks) or n <= block.latency
        return [sink.items() for sink in sinks if sink.parts]

    whole = run([None] * num_tx)
    cut = run([data.draw(st.none() | st.integers(1, 500)) for _ in range(num_tx)])
    assert len(whole) == len(cut)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
