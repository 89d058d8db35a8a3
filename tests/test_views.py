# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What feeds the displays: symbol estimates per layer, packet history."""

import importlib
import time

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import channel, constellation, reference
from gnuradio.mimopack.equalizer import mmse_symbols

layer_symbols_module = importlib.import_module("gnuradio.mimopack.blocks.layer_symbols")

NOISE_VAR = 0.02


def received(n=500, nr=4, nt=3, noise_var=NOISE_VAR):
    rng = np.random.default_rng(1)
    h = channel.flat_rayleigh(n, nr, nt, rng=rng)
    x = rng.choice(constellation.get("qam16").points, (n, nt))
    return x, (h @ x[:, :, None])[..., 0] + channel.awgn((n, nr), noise_var, rng), h


def test_estimates_are_unbiased_and_have_the_sinr_of_the_theory():
    x, y, h = received(n=20000)
    error = np.abs(mmse_symbols(y, h, NOISE_VAR) - x) ** 2
    gram = h.conj().swapaxes(1, 2) @ h
    mse = NOISE_VAR * np.diagonal(
        np.linalg.inv(gram + NOISE_VAR * np.eye(3)), axis1=1, axis2=2).real
    assert np.mean(error) == pytest.approx(np.mean(mse / (1 - mse)), rel=0.1)
    # Unbiased: the estimate, projected on what was sent, has gain 1.
    assert np.vdot(x, mmse_symbols(y, h, NOISE_VAR)).real / np.vdot(x, x).real \
        == pytest.approx(1, abs=0.01)


def test_estimates_agree_with_the_mmse_detector():
    x, y, h = received()
    points = constellation.get("qam16")
    estimates = mmse_symbols(y, h, NOISE_VAR)
    nearest = np.argmin(np.abs(estimates[..., None] - points.points), axis=-1)
    for k in range(len(y)):
        llr = reference.mmse(y[k], h[k], NOISE_VAR, points)
        assert np.array_equal(points.bits[nearest[k]].ravel(), llr > 0)


def test_what_cannot_be_equalised_is_zero():
    _, y, h = received(n=6)
    y[0, 1] = np.nan
    h[1, 0, 0] = np.inf
    h[2] = 0
    noise = np.array([0.1, 0.1, 0.1, 0.0, np.nan, 0.1])
    x = mmse_symbols(y, h, noise)
    assert not x[:5].any() and x[5].all()


@pytest.mark.parametrize(("y", "h"), [((3, 4), (3, 2, 4)), ((3, 4), (2, 4, 4)), ((12,), (3, 4, 4))])
def test_shapes_that_do_not_fit(y, h):
    with pytest.raises(ValueError, match="h: got shape"):
        mmse_symbols(np.zeros(y, complex), np.zeros(h, complex), 0.1)


def test_layer_symbols_block_takes_every_kth_item_and_noise_tags():
    _, y, h = received(n=300)
    y, h = y.astype(np.complex64), h.astype(np.complex64)
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = 40, pmt.intern("noise_var"), pmt.from_double(0.5)
    source = blocks.vector_source_c(y.ravel(), False, 2 * 4, [tag])   # T = 2: 150 items
    matrices = blocks.vector_source_c(h[::2].ravel(), False, 12)
    block = mimopack.layer_symbols(num_tx=3, num_rx=4, noise_var=NOISE_VAR,
                                   symbols_per_channel=2, decimation=7)
    sinks = [blocks.vector_sink_c() for _ in range(3)]
    graph = gr.top_block()
    graph.connect(source, (block, 0))
    graph.connect(matrices, (block, 1))
    for port, sink in enumerate(sinks):
        graph.connect((block, port), sink)
    graph.run()
    noise = np.where(np.arange(150) < 40, NOISE_VAR, 0.5)
    expected = mmse_symbols(y[::2], h[::2], noise)[::7][:150 // 7]
    assert np.allclose(np.transpose([sink.data() for sink in sinks]), expected, atol=1e-6)


def test_layer_symbols_goes_on_after_singular_channels_and_exceptions(monkeypatch):
    singular = mmse_symbols(np.ones((3, 2)), np.ones((3, 2, 2)), [1e-20, 1e-300, 5e-324])
    assert np.allclose(singular, 1, atol=0.01)
    real, calls = layer_symbols_module.mmse_symbols, []

    def fails_once(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise np.linalg.LinAlgError("on purpose")
        return real(*arguments)
    monkeypatch.setattr(layer_symbols_module, "mmse_symbols", fails_once)
    graph, count = gr.top_block(), 60000
    block = mimopack.layer_symbols(2, 2, noise_var=1e-20)
    sinks = [blocks.vector_sink_c() for _ in range(2)]
    graph.connect(blocks.vector_source_c([1] * 2 * count, False, 2), (block, 0))
    graph.connect(blocks.vector_source_c([1] * 4 * count, False, 4), (block, 1))
    for port, sink in enumerate(sinks):
        graph.connect((block, port), sink)
    graph.run()
    x = np.array([sink.data() for sink in sinks])
    assert x.shape == (2, count) and not x[:, 0].any()
    assert np.allclose(x[:, -1], 1, atol=0.01)


@pytest.mark.parametrize("parameter", ["num_tx", "num_rx", "symbols_per_channel", "decimation",
                                       "noise_var"])
def test_layer_symbols_refuses(parameter):
    with pytest.raises(ValueError, match=f"{parameter}: got 0"):
        mimopack.layer_symbols(**{parameter: 0})


def packet(ok, snr_db, wrong):
    info = {"crc_ok": ok, "snr_db": snr_db, "coded_bit_errors": wrong, "coded_bits": 1000}
    return pmt.cons(pmt.to_pmt(info), pmt.init_u8vector(2, [1, 2]))


def test_packet_meter_counts_and_keeps_the_last():
    meter = mimopack.packet_meter(length=3)
    curves = blocks.message_debug()
    graph = gr.top_block()
    graph.msg_connect(meter, "lost", curves, "store")
    graph.start()
    port = pmt.intern("packets")
    for message in (packet(True, 20.0, 10), packet(False, 3.0, 400), pmt.PMT_T,
                    packet(True, 21.0, 30), packet(True, 22.0, 20)):
        meter.to_basic_block()._post(port, message)
    deadline = time.monotonic() + 30
    while curves.num_messages() < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    graph.stop()
    graph.wait()
    assert (meter.packets(), meter.lost()) == (4, 1)
    assert meter.coded_ber() == pytest.approx(60 / 3000)
    assert meter.history("lost").tolist() == [1, 0, 0]
    assert meter.history("snr_db").tolist() == [3, 21, 22]
    assert curves.num_messages() == 4
    assert meter.text() == "4 packets, 1 lost (25.0 %), 2.00 % of bits wrong before decoding"
    assert pmt.f32vector_elements(pmt.cdr(curves.get_message(3))) == [1, 0, 0]


def test_packet_meter_refuses():
    with pytest.raises(ValueError, match="length: got 0"):
        mimopack.packet_meter(length=0)
