#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_loopback.grc without a GUI: transmitter, simulated channel, receivers, no hardware.

Sends Wi-Fi frames through one channel to a receiver for each detector, and counts the frames that
arrive.
"""

import argparse

import numpy as np
import pmt
from gnuradio import gr, mimopack

BACKOFF_DB = 12.0
# A data frame from 02:00:00:00:00:01 to 02:00:00:00:00:02, without sequence number.
HEADER = bytes.fromhex("08000000020000000002020000000001020000000001")


class mpdu_source(gr.basic_block):
    """Send PDUs of data frames with random payloads, then end."""

    def __init__(self, num_frames, length, seed):
        gr.basic_block.__init__(self, "mpdu_source", None, None)
        self._frames, self._length = num_frames, length
        self._rng = np.random.default_rng(seed)
        self.message_port_register_out(pmt.intern("out"))

    def start(self):
        for number in range(self._frames):
            mpdu = (HEADER + (number % 4096 << 4).to_bytes(2, "little")
                    + self._rng.bytes(self._length - 24))
            self.message_port_pub(pmt.intern("out"), pmt.cons(
                pmt.PMT_NIL, pmt.init_u8vector(len(mpdu), list(mpdu))))
        # A block without streams ends on this message, and then tells the blocks downstream.
        done = pmt.cons(pmt.intern("done"), pmt.from_long(1))
        self.to_basic_block()._post(pmt.intern("system"), done)
        return gr.basic_block.start(self)


class wifi_loopback_headless(gr.top_block):
    """Flowgraph with a transmitter, a channel, and a receiver for each detector.

    Args:
        detectors: names of detectors.
        num_frames: number of frames to send, at most 1000.
        snr_db: mean SNR per receive antenna in dB.
        mcs: HT MCS, 8..15 for two streams.
        cfo: carrier frequency offset in Hz.
        seed: seed of channel, noise and payloads.
        length: bytes of an MPDU without its frame check sequence.
    """

    def __init__(self, detectors=("mmse", "nway"), num_frames=100, snr_db=28.0, mcs=11, cfo=40e3,
                 seed=1, length=500):
        gr.top_block.__init__(self, "Wi-Fi loopback")
        self.source = mpdu_source(num_frames, length, seed)
        self.transmitter = mimopack.wifi_transmitter(2, "ht", mcs, backoff_db=BACKOFF_DB, gap=400)
        self.channel = mimopack.mimo_channel(
            2, 2, profile="tdl_a", delay_spread=50e-9, doppler=200, rho_tx=0.3, rho_rx=0.3,
            snr_db=snr_db, signal_power=10 ** (-BACKOFF_DB / 10), cfo=cfo, seed=seed)
        self.receivers = {name: mimopack.wifi_receiver(2, detector=name) for name in detectors}
        self.msg_connect(self.source, "out", self.transmitter, "in")
        for port in range(2):
            self.connect((self.transmitter, port), (self.channel, port))
        for receiver in self.receivers.values():
            for port in range(2):
                self.connect((self.channel, port), (receiver, port))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=100, help="1 to 1000, default 100")
    parser.add_argument("--snr", type=float, default=28.0, help="dB, default 28")
    parser.add_argument("--mcs", type=int, default=11, help="8 to 15, default 11")
    parser.add_argument("--detectors", nargs="+", default=["mmse", "nway"],
                        help="default mmse nway")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not 1 <= options.frames <= 1000:
        parser.error(f"--frames: got {options.frames}, allowed are 1 to 1000")
    if not 8 <= options.mcs <= 15:
        parser.error(f"--mcs: got {options.mcs}, allowed are 8 to 15")
    try:
        graph = wifi_loopback_headless(options.detectors, options.frames, options.snr, options.mcs,
                                       seed=options.seed)
    except ValueError as error:
        parser.error(str(error))
    graph.run()
    print(f"{graph.transmitter.frames()} frames sent, MCS {options.mcs}, SNR {options.snr:g} dB")
    for name, receiver in graph.receivers.items():
        counts = receiver.counts()
        print(f"{name}: {counts['frames']} found, {counts['decoded']} decoded")


if __name__ == "__main__":
    main()
