# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of an own OFDM system: the grid in the order of detector blocks, LLRs back in its own."""

import numpy as np
import pytest
from detector_blocks import Sink, Source, make
from gnuradio import gr, mimopack
from gnuradio.mimopack import constellation, detectors, ofdm

NR, NT, FFT, T, NOISE = 3, 2, 16, 4, 0.01
CARRIERS = [3, 1, 2, 14, 15]
POINTS = constellation.get("qam16")
BITS = NT * POINTS.bits_per_symbol


def grid(symbols):
    """Return bits (symbols, FFT, bits), y (symbols, FFT, NR), h (blocks, FFT, NR, NT)."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (symbols, FFT, BITS))
    h, noise = ((rng.normal(size=(*shape, 2)) @ [1, 1j]).astype(np.complex64) for shape in (
        (-(-symbols // T), FFT, NR, NT), (symbols, FFT, NR)))
    y = np.einsum("skij,skj->ski", h.repeat(T, 0)[:symbols], POINTS.modulate(bits))
    return bits, y + np.sqrt(NOISE / 2) * noise, h


def play(y, h, carriers=None, llr_type="float32", tags=(), step=None):
    """Return the LLRs (symbols, carriers, bits) of a flowgraph, and its sink."""
    top, number = gr.top_block(), FFT if carriers is None else len(carriers)
    vectors = mimopack.ofdm_vectors(NR, NT, FFT, T, carriers)
    detector = make("mmse", num_tx=NT, num_rx=NR, symbols_per_channel=T, noise_var=1.0,
                    llr_type=llr_type)
    back = mimopack.ofdm_grid(NT, "qam16", number, T, llr_type)
    sink = Sink(np.dtype(llr_type).type, number * BITS)
    sources = [*(Source(y[..., antenna], tags if not antenna else (), step)
                 for antenna in range(NR)), Source(h)]
    for port, source in enumerate(sources):
        top.connect(source, (vectors, port))
    for port in range(2):
        top.connect((vectors, port), (detector, port))
    top.connect(detector, back, sink)
    top.run()
    return sink.items().reshape(-1, number, BITS), sink


@pytest.mark.parametrize("carriers, llr_type, step", [
    pytest.param(None, "float32", None, marks=pytest.mark.quick),
    (CARRIERS, "float32", 3), (CARRIERS, "int8", None)])
def test_llrs_leave_in_the_order_of_the_symbols(carriers, llr_type, step):
    """As detect() returns them for arrays; the last symbols are no whole block."""
    symbols = 25 * T
    bits, y, h = grid(symbols + T - 1)
    llr, sink = play(y, h, carriers, llr_type, [(2 * T + 1, "noise_var", NOISE)], step)
    y, h = y[:symbols].reshape(-1, NR), h[:25].repeat(T, 0).reshape(-1, NR, NT)
    noise_var = np.where(np.arange(len(y)) < 2 * T * FFT, 1, NOISE).astype(np.float32)
    expected = detectors.create("mmse", num_tx=NT, num_rx=NR, llr_type=llr_type).detect(
        y, h, noise_var).reshape(symbols, FFT, BITS)
    used = slice(None) if carriers is None else carriers
    np.testing.assert_array_equal(llr, expected[:, used])
    assert 0 < np.mean((llr[2 * T:] > 0) != bits[2 * T:symbols, used]) < 0.05
    assert sink.tags == [(2 * T, "noise_var", NOISE)]


def test_a_tag_of_the_estimates_moves_to_h():
    _, y, h = grid(2 * T)
    top, block = gr.top_block(), mimopack.ofdm_vectors(NR, NT, FFT, T)
    sources = [*map(Source, np.moveaxis(y, 2, 0)), Source(h, [(1, "frame", 7)])]
    sinks = [Sink(np.complex64, T * NR), Sink(np.complex64, NR * NT)]
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    top.run()
    assert [sink.tags for sink in sinks] == [[], [(FFT, "frame", 7)]]


PILOTS = np.zeros((NT, 7, FFT - 1), complex)    # of a slot of 7 symbols, without the highest bin
PILOTS[0, 1::4, 0::2], PILOTS[1, 1::4, 1::2] = 1, 1j
KNOWN = PILOTS.any(axis=0)
BINS = np.fft.fftshift(np.arange(FFT))[:-1]


def slots(number, noise_var=0.001):
    """Return bits (number, data, bits) and FFT outputs (NR, symbols, FFT) of slots."""
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (number, (~KNOWN).sum(), BITS))
    sent = np.tile(PILOTS[:, None], (1, number, 1, 1))
    sent[..., ~KNOWN] = np.moveaxis(POINTS.modulate(bits), 2, 0)
    taps = rng.normal(size=(number, 3, NR, NT, 2)) @ [0.4, 0.4j]
    h = np.einsum("kd,sdrt->skrt", np.exp(-2j * np.pi * np.outer(BINS, range(3)) / FFT), taps)
    received = np.zeros((NR, number, 7, FFT), np.complex64)
    received[..., BINS] = np.einsum("skrt,tslk->rslk", h, sent)
    noise = rng.normal(size=(*received.shape, 2)) @ [1, 1j]
    received += np.sqrt(noise_var / 2) * noise
    return bits, received.reshape(NR, -1, FFT)


def estimate(received, tags=(), **arguments):
    """Return the items at the end of the flowgraph with ofdm_channel_estimator, and the block."""
    block = mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS, **arguments)
    top, sources = gr.top_block(), [Source(row, tags) for row in received]
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    sinks = [Sink(np.complex64, NR), Sink(np.complex64, NR * NT), Sink(np.float32, BITS)]
    detector = make("nway", num_tx=NT, num_rx=NR)    # reads the tag noise_var
    for port in range(2):
        top.connect((block, port), sinks[port])
        top.connect((block, port), (detector, port))
    top.connect(detector, sinks[2])
    top.run()
    return sinks, block


@pytest.mark.quick
def test_pilots_give_the_channel():
    bits, received = slots(40)
    received[0, 8] = np.nan
    (y, _, llr), block = estimate(np.concatenate([received, received[:, :6]], axis=1),
                                  [(30, "rx_time", 1.5)])
    size = bits.shape[1]
    wrong = (llr.items().reshape(bits.shape) > 0) != bits
    assert np.mean(np.delete(wrong, 1, axis=0)) < 0.001 and block.failures() == 0
    assert [tag for tag in y.tags if tag[1] == "noise_var"] == [
        (slot * size, "noise_var", 1.0) for slot in range(40)]
    assert (4 * size, "rx_time", 1.5) in y.tags


def test_arrays_give_the_same():
    """Four slots are too few to learn from, which depends on the slots of a call."""
    _, received = slots(4)
    sinks, _ = estimate(received)
    grids = received.reshape(NR, 4, 7, FFT).swapaxes(0, 1)[..., BINS]
    for sink, values in zip(sinks, ofdm.ChannelEstimator(PILOTS).vectors(grids), strict=False):
        np.testing.assert_allclose(sink.items(), values.reshape(sink.items().shape), rtol=1e-4)


def test_a_tag_begins_a_slot():
    """Symbols are lost in the middle, and the block begins again with the next tag."""
    bits, received = slots(12)
    starts = np.arange(0, 84, 7)
    received, starts = np.delete(received, [3, 4, 5, 30], axis=1), np.delete(
        starts - 3 * (starts > 3) - (starts > 30), [0, 4])
    tags = [(start, "slot", 1) for start in starts] + [(5, "noise_var", 7.0)]
    (y, _, llr), block = estimate(np.ascontiguousarray(received), tags, slot_tag="slot")
    kept = np.delete(bits, [0, 4], axis=0)
    assert np.mean((llr.items().reshape(kept.shape) > 0) != kept) < 0.01
    assert block.counts() == {"slots": 10, "cut": 0, "untagged": 10, "malformed": 0, "failures": 0}
    assert [tag[1:] for tag in y.tags] == [("noise_var", 1.0), ("slot", 1)] * 10


def test_each_run_begins_anew():
    """A run forgets what the run before has learned, here from strong noise."""
    _, received = slots(8)
    block = mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS)
    sinks = []
    for signal in (1000 * np.random.default_rng(1).normal(size=received.shape), received):
        top, sinks = gr.top_block(), [Sink(np.complex64, NR), Sink(np.complex64, NR * NT)]
        sources = [Source(row.astype(np.complex64)) for row in signal]
        for port, source in enumerate(sources):
            top.connect(source, (block, port))
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink)
        top.run()
        top.disconnect_all()
    (expected, *_), _ = estimate(received)
    np.testing.assert_allclose(np.linalg.norm(sinks[0].items()), np.linalg.norm(expected.items()),
                               rtol=0.5)    # other calls


@pytest.mark.parametrize("layers, step", [(4, 4), (2, 2)])
def test_layers_on_combs(layers, step):
    """Each layer has pilots on every ``step``-th carrier. The paths are short enough for that."""
    rng = np.random.default_rng(5)
    pilots = np.zeros((layers, 7, 60), complex)
    for layer in range(layers):
        own = pilots[layer, 1::4, layer::step]
        own[...] = rng.choice([1, -1], own.shape)
    taps = rng.normal(size=(3, 6, layers, 2)) @ [0.4, 0.4j]
    h = np.einsum("kd,drt->krt", np.exp(-2j * np.pi * np.outer(range(60), range(3)) / 64), taps)
    sent = np.where(pilots.any(axis=0), pilots, rng.choice([1, -1], pilots.shape))
    grids = np.einsum("krt,tlk->rlk", h, sent) + 0.03 * (rng.normal(size=(6, 7, 60, 2)) @ [1, 1j])
    _, found = ofdm.ChannelEstimator(pilots, prefix=0.25).vectors(np.tile(grids, (6, 1, 1, 1)))
    symbol, carrier = np.nonzero(~pilots.any(axis=0))
    scale = np.vdot(found[-1], h[carrier]) / np.vdot(found[-1], found[-1])
    assert np.linalg.norm(scale * found[-1] - h[carrier]) < 0.1 * np.linalg.norm(h[carrier])


def test_only_the_elements_with_data_leave():
    bits, received = slots(2)
    data = ~KNOWN
    data[:, 3] = False
    (y, *_), _ = estimate(received, data=data)
    (whole, *_), _ = estimate(received)
    np.testing.assert_array_equal(y.items().reshape(2, -1, NR), whole.items().reshape(
        2, -1, NR)[:, data[~KNOWN]])


@pytest.mark.parametrize("make_block, said", [
    (lambda: mimopack.ofdm_channel_estimator(PILOTS), "pilots: got 15 carriers, must be 64"),
    (lambda: ofdm.ChannelEstimator(PILOTS[:1].repeat(2, axis=0)), "must be linearly independent"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS[0]), r"pilots: got shape \(7, 15\), must be"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS, data=[1]), "data: got shape"),
    (lambda: mimopack.ofdm_channel_estimator(0 * PILOTS, NR, FFT, BINS), "a pilot of each layer"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS + 9), "carriers: got"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS[::-1]), "got a gap or another"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS, KNOWN), "none that has a"),
    (lambda: mimopack.ofdm_channel_estimator(PILOTS, NR, FFT, BINS, prefix=4), "not samples"),
    (lambda: mimopack.ofdm_vectors(carriers=[64]), "carriers: got 64, allowed are 0 to 63"),
    (lambda: mimopack.ofdm_vectors(carriers=52), "carriers: got 52, must be a list of indices"),
    (lambda: mimopack.ofdm_vectors(carriers=[]), r"carriers: got \[\], must be a list"),
    (lambda: mimopack.ofdm_vectors(symbols_per_channel=0), "symbols_per_channel: got 0"),
    (lambda: mimopack.ofdm_grid(num_carriers=0), "num_carriers: got 0"),
    (lambda: mimopack.ofdm_grid(constellation="qam32"), "constellation: got 'qam32'")])
def test_wrong_arguments(make_block, said):
    with pytest.raises(ValueError, match=said):
        make_block()
