#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run detectors_live.grc without a GUI: detectors side by side on a radio's Wi-Fi frames.

Counts the frames that each detector decodes.
"""

import argparse
import re
import time

from gnuradio import gr, mimopack


class detectors_live_headless(gr.top_block):
    """Flowgraph with a radio, a channel estimator, and a detector and a decoder for each name."""

    def __init__(self, device, frequency, rate, gain, antennas, antenna_names, names, num_streams,
                 constellation):
        gr.top_block.__init__(self, "Detectors live")
        self.source = mimopack.radio_source(device, frequency, antennas, rate, gain,
                                            antenna_names=antenna_names)
        self.estimator = mimopack.wifi_channel_estimator(
            antennas, rate, num_streams, constellation, frequency, overload="drop")
        for antenna in range(antennas):
            self.connect((self.source, antenna), (self.estimator, antenna))
        self.detectors, self.decoders = {}, {}
        for name in names:
            detector = getattr(mimopack, f"{name}_detector")(num_streams, antennas, constellation)
            decoder = mimopack.wifi_llr_decoder(num_streams, constellation)
            for port in range(2):
                self.connect((self.estimator, port), (detector, port))
            self.connect(detector, decoder)
            self.detectors[name], self.decoders[name] = detector, decoder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", help="driver=NAME, such as driver=uhd, or "
                        "driver=mimopack,recording=FILE,repeat=1")
    parser.add_argument("--frequency", type=float, default=5.18e9, help="Hz, default 5.18e9")
    parser.add_argument("--rate", type=float, default=20e6, help="samples/s, default 20e6")
    parser.add_argument("--gain", type=float, default=0, help="dB, default 0")
    parser.add_argument("--antennas", type=int, default=2, help="default 2")
    parser.add_argument("--antenna-names", type=lambda names: names.split(","),
                        help="ports of the device, one for all antennas or one for each, such as "
                        "RX2,TX/RX; default: unchanged")
    parser.add_argument("--streams", type=int, default=2, help="default 2")
    parser.add_argument("--constellation", default="wlan_qam64", help="default wlan_qam64")
    parser.add_argument("--detectors", nargs="+", default=["zf", "nway"], metavar="NAME",
                        choices=mimopack.detectors.names(), help="default zf nway")
    parser.add_argument("--seconds", type=float, default=10, help="default 10")
    options = parser.parse_args()
    try:
        graph = detectors_live_headless(
            options.device, options.frequency, options.rate, options.gain, options.antennas,
            options.antenna_names, options.detectors, options.streams, options.constellation)
    except (ValueError, OSError, RuntimeError) as error:
        parser.error(re.sub("^num_rx: ", "--antennas: ", " ".join(str(error).split())))
    graph.start()
    try:
        time.sleep(options.seconds)
    except KeyboardInterrupt:
        pass
    finally:
        graph.stop()
        graph.wait()
    counts = graph.estimator.counts()
    print(f"{counts['frames']} frames, {counts['demodulated']} with {options.streams} streams of "
          f"{options.constellation}, {counts['dropped']} samples dropped")
    for name, decoder in graph.decoders.items():
        print(f"{name}: {decoder.counts()['decoded']} decoded")


if __name__ == "__main__":
    main()
