#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mimo_loopback.grc without windows: transmitter, simulated channel, receivers, no hardware.

Sends packets through one channel to a receiver for each detector, and counts what arrives.
"""

import argparse

import numpy as np
from gnuradio import blocks, gr, mimopack


class mimo_loopback_headless(gr.top_block):
    """One transmitter, one channel, a receiver for each detector.

    Args:
        detectors: names of detectors.
        num_packets: packets to send, with random payloads.
        snr_db: mean SNR per receive antenna.
        num_tx, num_rx: antennas.
        cfo: carrier offset in Hz.
        seed: of channel, noise and payloads.
    """

    def __init__(self, detectors=("mmse", "nway"), num_packets=100, snr_db=22.0, num_tx=4,
                 num_rx=4, cfo=40e3, seed=1, payload_length=500):
        gr.top_block.__init__(self, "MIMO-OFDM loopback")
        payloads = np.random.default_rng(seed).integers(
            256, size=num_packets * payload_length, dtype=np.uint8)
        source = blocks.vector_source_b(payloads)
        self.transmitter = mimopack.ofdm_transmitter(
            num_tx, payload_length=payload_length, input="bytes")
        self.channel = mimopack.mimo_channel(
            num_tx, num_rx, profile="tdl_a", delay_spread=50e-9, doppler=200, rho_tx=0.5,
            rho_rx=0.5, snr_db=snr_db, cfo=cfo, seed=seed)
        self.receivers = {name: mimopack.ofdm_receiver(
            num_tx, num_rx, payload_length=payload_length, detector=name) for name in detectors}
        self.connect(source, self.transmitter)
        for port in range(num_tx):
            self.connect((self.transmitter, port), (self.channel, port))
        for receiver in self.receivers.values():
            for port in range(num_rx):
                self.connect((self.channel, port), (receiver, port))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packets", type=int, default=100, help="default 100")
    parser.add_argument("--snr", type=float, default=22.0, help="dB, default 22")
    parser.add_argument("--detectors", nargs="+", default=["mmse", "nway"],
                        help="default mmse nway")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    graph = mimo_loopback_headless(options.detectors, options.packets, options.snr,
                                   seed=options.seed)
    graph.run()
    print(f"{options.packets} packets sent, SNR {options.snr:g} dB")
    for name, receiver in graph.receivers.items():
        counts = receiver.statistics()
        print(f"{name}: {counts['packets']} received, {counts['crc_failures']} lost")


if __name__ == "__main__":
    main()
