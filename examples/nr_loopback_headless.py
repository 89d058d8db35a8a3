#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run nr_loopback.grc without a GUI: 5G NR uplink, simulated channel, detectors side by side.

Sends slots with random transport blocks through one channel, and counts the blocks that arrive with
each detector.
"""

import argparse

from gnuradio import gr, mimopack
from gnuradio.mimopack import nr

BACKOFF_DB = 12.0
# Four layers on 12 PRBs; index 16 is 16-QAM with code rate 0.64.
CONFIG = nr.PuschConfig(
    carrier=nr.Carrier(subcarrier_spacing_khz=30, n_size_grid=12), num_layers=4,
    dmrs=nr.Dmrs(additional_position=1), mcs=nr.Mcs(index=16))
NUM_RX = 4


class nr_loopback_headless(gr.top_block):
    """Flowgraph with a transmitter, a channel, and a detector and decoder for each name.

    Args:
        names: names of detectors.
        num_slots: number of slots to send.
        snr_db: mean SNR per receive antenna in dB.
        seed: seed of transport blocks, channel and noise.
    """

    def __init__(self, names=("mmse", "nway"), num_slots=100, snr_db=14.0, seed=1):
        gr.top_block.__init__(self, "5G NR loopback")
        layers = CONFIG.num_layers
        self.transmitter = mimopack.nr_pusch_transmitter(
            CONFIG, random_slots=num_slots, backoff_db=BACKOFF_DB, seed=seed)
        self.channel = mimopack.mimo_channel(
            layers, NUM_RX, profile="tdl_a", delay_spread=50e-9,
            sample_rate=self.transmitter.sample_rate(), doppler=50, rho_tx=0.3, rho_rx=0.3,
            snr_db=snr_db, signal_power=10 ** (-BACKOFF_DB / 10), cfo=300, seed=seed)
        self.demodulator = mimopack.nr_ofdm_demodulator(CONFIG, NUM_RX)
        self.estimator = mimopack.nr_channel_estimator(CONFIG, NUM_RX)
        for layer in range(layers):
            self.connect((self.transmitter, layer), (self.channel, layer))
        for antenna in range(NUM_RX):
            self.connect((self.channel, antenna), (self.demodulator, antenna))
            self.connect((self.demodulator, antenna), (self.estimator, antenna))
        self.detectors, self.decoders = {}, {}
        for name in names:
            detector = getattr(mimopack, f"{name}_detector")(layers, NUM_RX, CONFIG.constellation)
            decoder = mimopack.nr_llr_decoder(CONFIG)
            for port in range(2):
                self.connect((self.estimator, port), (detector, port))
            self.connect(detector, decoder)
            self.detectors[name], self.decoders[name] = detector, decoder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=100,
                        help="2 or more, default 100; the channel delays the last one, whose end "
                             "is then missing")
    parser.add_argument("--snr", type=float, default=14.0, help="dB, default 14")
    parser.add_argument("--detectors", nargs="+", default=["mmse", "nway"],
                        choices=mimopack.detectors.names(), metavar="NAME",
                        help="default mmse nway")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.slots < 2:
        parser.error(f"--slots: got {options.slots}, must be 2 or more")
    try:
        graph = nr_loopback_headless(options.detectors, options.slots, options.snr, options.seed)
    except ValueError as error:
        parser.error(str(error))
    graph.run()
    print(f"{graph.transmitter.slots()} slots sent, {CONFIG.num_layers} layers, "
          f"SNR {options.snr:g} dB")
    for name, decoder in graph.decoders.items():
        counts = decoder.counts()
        print(f"{name}: {counts['blocks']} received, {counts['blocks_ok']} decoded")


if __name__ == "__main__":
    main()
