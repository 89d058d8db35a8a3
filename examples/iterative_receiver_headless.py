#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run iterative_receiver.grc without a GUI: coded vectors, simulated channel, iterative receiver.

Sends codewords through i.i.d. Rayleigh channels, and prints the bit error rate after each pass of
detector and decoder.
"""

import argparse

import numpy as np
from gnuradio import blocks, gr, mimopack


class iterative_receiver_headless(gr.top_block):
    """Flowgraph with transmitter, channel, receiver and bit error meter.

    Args:
        code: name of the code.
        detector: name of the detector.
        detector_options: dictionary with parameters of the detector.
        iterations: passes of the receiver.
        feedback_scale: feedback scale of the receiver.
        codewords: number of codewords to send, with random bits.
        snr_db: mean SNR per receive antenna in dB.
        num_tx, num_rx: number of transmit and receive antennas.
        seed: seed of bits, channel and noise.
    """

    def __init__(self, code="wimax:2304:1/2", detector="mmsepic", detector_options=None,
                 iterations=4, feedback_scale=0.6, codewords=500, snr_db=10.5, num_tx=4, num_rx=4,
                 seed=1):
        gr.top_block.__init__(self, "Iterative receiver")
        num_info = mimopack.coding.get(code).num_info
        bits = np.random.default_rng(seed).integers(0, 2, codewords * num_info, np.uint8)
        self.source = blocks.vector_source_b(bits, False, num_info)
        self.modulator = mimopack.codeword_modulator(code, num_tx)
        self.channel = mimopack.rayleigh_channel(
            num_tx, num_rx, self.modulator.vectors(), snr_db=snr_db, seed=seed)
        self.receiver = mimopack.iterative_receiver(
            num_tx, num_rx, code=code, detector=detector, detector_options=detector_options,
            iterations=iterations, feedback_scale=feedback_scale, history_output=True)
        self.meter = mimopack.ber_meter(num_info, iterations, 1)
        # A tag from the channel gives the receiver the noise power.
        self.connect(self.source, self.modulator, self.channel, self.receiver)
        self.connect((self.channel, 1), (self.receiver, 1))
        self.connect(self.source, self.meter)
        self.connect((self.receiver, 3), (self.meter, 1))
        for port, size in enumerate((num_info, gr.sizeof_char, gr.sizeof_int)):
            self.connect((self.receiver, port), blocks.null_sink(size))
        self.connect(self.meter, blocks.null_sink(iterations * gr.sizeof_float))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codewords", type=int, default=500, help="default 500")
    parser.add_argument("--snr", type=float, default=10.5, help="dB, default 10.5")
    parser.add_argument("--code", default="wimax:2304:1/2", help="default wimax:2304:1/2")
    parser.add_argument("--detector", default="mmsepic", help="default mmsepic")
    parser.add_argument("--iterations", type=int, default=4, help="default 4")
    parser.add_argument("--feedback-scale", type=float, default=0.6, help="default 0.6")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Two passes within MMSE-PIC are enough for a good error rate (docs/iterative.md).
    own = {"num_iterations": 2} if options.detector == "mmsepic" else None
    try:
        graph = iterative_receiver_headless(
            options.code, options.detector, own, options.iterations, options.feedback_scale,
            options.codewords, options.snr, seed=options.seed)
    except ValueError as error:
        parser.error(str(error))
    graph.run()
    print(f"{graph.meter.codewords()} codewords, SNR {options.snr:g} dB, {options.detector}")
    for number, rate in enumerate(graph.meter.ber(), 1):
        print(f"pass {number}: bit error rate {rate:.2e}")
    print(f"{graph.receiver.undecoded()} not decoded, "
          f"{graph.receiver.mean_iterations():.2f} passes on average")


if __name__ == "__main__":
    main()
