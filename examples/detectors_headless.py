#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run detectors.grc without a GUI: several detectors side by side on the same y and h.

Sends random bits through i.i.d. Rayleigh channels, without a code, and prints the bit error rate of
each detector. For curves, see "mimopack sim".
"""

import argparse

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import detectors


class detectors_headless(gr.top_block):
    """Flowgraph with a transmitter, a channel, and a detector block and a meter for each name.

    Args:
        names: names of detectors; parameters may follow, as in "nway:num_passes=2".
        vectors: number of vectors to send, with random bits.
        snr_db: mean SNR per receive antenna in dB.
        num_tx, num_rx: number of transmit and receive antennas.
        constellation: see ``mimopack.constellation.get``.
        seed: seed of bits, channel and noise.
    """

    def __init__(self, names=("mmse", "nway", "softsphere"), vectors=50_000, snr_db=20.0, num_tx=4,
                 num_rx=4, constellation="qam16", seed=1):
        gr.top_block.__init__(self, "Detectors")
        num_bits = num_tx * mimopack.constellation.get(constellation).bits_per_symbol
        bits = np.random.default_rng(seed).integers(0, 2, vectors * num_bits, np.uint8)
        self.source = blocks.vector_source_b(bits, False, num_bits)
        self.mapper = mimopack.symbol_mapper(num_tx, constellation)
        self.channel = mimopack.rayleigh_channel(num_tx, num_rx, snr_db=snr_db, seed=seed)
        self.connect(self.source, self.mapper, self.channel)
        self.detectors, self.meters = {}, {}
        for text in names:
            factory = detectors.look_up(text)
            make = getattr(mimopack, f"{factory.kind.name}_detector")
            # A tag from the channel gives the detectors the noise power.
            detector = make(num_tx, num_rx, constellation, **factory.keywords)
            meter = mimopack.ber_meter(num_bits, passes=1, average=1, received_type="float32")
            for port in range(2):
                self.connect((self.channel, port), (detector, port))
            self.connect(self.source, meter, blocks.null_sink(gr.sizeof_float))
            self.connect(detector, (meter, 1))
            self.detectors[text], self.meters[text] = detector, meter


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detectors", nargs="+", default=["mmse", "nway", "softsphere"],
                        help="default mmse nway softsphere; nway:num_passes=2 is one too")
    parser.add_argument("--vectors", type=int, default=50_000, help="default 50000")
    parser.add_argument("--snr", type=float, default=20.0, help="dB, default 20")
    parser.add_argument("--constellation", default="qam16", help="default qam16")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        graph = detectors_headless(options.detectors, options.vectors, options.snr,
                                   constellation=options.constellation, seed=options.seed)
    except ValueError as error:
        parser.error(str(error))
    graph.run()
    print(f"{options.vectors} vectors, SNR {options.snr:g} dB")
    for name, meter in graph.meters.items():
        print(f"{name}: bit error rate {meter.ber()[0]:.2e}")


if __name__ == "__main__":
    main()
