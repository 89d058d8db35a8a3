# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation without a code: symbol_mapper, rayleigh_channel, a detector block, ber_meter."""

import numpy as np
import pytest
from detector_blocks import Sink, Source, make
from gnuradio import digital, gr, mimopack
from gnuradio.mimopack import constellation, detectors

NT, NR, COUNT = 2, 3, 3000


@pytest.mark.parametrize("points, llr_type", [
    pytest.param("qam1024", "float32", marks=pytest.mark.quick),
    ("wlan_qpsk", "int8"), (digital.constellation_8psk(), "float32"),
    (([1, 1j, -1, -1j], [3, 0, 2, 1]), "float32")])
def test_the_bit_error_rate_is_the_one_of_arrays(points, llr_type):
    m = constellation.get(points).bits_per_symbol
    bits = np.random.default_rng(1).integers(0, 2, (COUNT, NT * m), np.uint8)
    top = gr.top_block()
    mapper = mimopack.symbol_mapper(NT, points)
    channel = mimopack.rayleigh_channel(NT, NR, snr_db=18.0, seed=1)
    detector = make("mmse", num_tx=NT, num_rx=NR, constellation=points, llr_type=llr_type)
    meter = mimopack.ber_meter(NT * m, 1, 50, received_type=llr_type)
    sinks = [Sink(np.complex64, NR), Sink(np.complex64, NR * NT), Sink(np.float32, 1)]
    source = Source(bits | 0xFE)    # only the least significant bit counts
    top.connect(source, mapper, channel, detector, (meter, 1))
    top.connect((channel, 1), (detector, 1))
    top.connect(source, meter, sinks[2])
    for port in range(2):
        top.connect((channel, port), sinks[port])
    top.run()
    y, h, rates = (sink.items() for sink in sinks)
    llr = detectors.create("mmse", num_tx=NT, num_rx=NR, constellation=points,
                           llr_type=llr_type).detect(y, h.reshape(-1, NR, NT),
                                                     channel.noise_var())
    wrong = (llr > 0) != bits
    assert 0 < wrong.mean() < 0.2
    np.testing.assert_allclose(meter.ber(), [wrong.mean()])
    np.testing.assert_allclose(rates.ravel(), wrong.reshape(-1, 50 * NT * m).mean(axis=1),
                               rtol=1e-6)
    assert meter.text() == f"{wrong.size} bits, bit error rate {wrong.mean():.2g}"


@pytest.mark.parametrize("make_block, said", [
    (lambda: mimopack.symbol_mapper(0), "num_tx: got 0"),
    (lambda: mimopack.symbol_mapper(constellation="qam32"), "constellation: got 'qam32'"),
    (lambda: mimopack.symbol_mapper(vectors=0), "vectors: got 0"),
    (lambda: mimopack.ber_meter(received_type="float"), "received_type: got 'float'")])
def test_wrong_arguments(make_block, said):
    with pytest.raises(ValueError, match=said):
        make_block()
