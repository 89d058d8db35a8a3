#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_live_soapy.grc without a GUI, with any number of antennas of a SoapySDR radio.

"mimopack wifi --radio" does more: it records samples and prints frames.
"""

import argparse
import re
import time

from gnuradio import gr, mimopack


class wifi_live_soapy_headless(gr.top_block):
    """Flowgraph with radio, receiver and capture file."""

    def __init__(self, device, frequency, rate, gain, antennas, capture,
                 bandwidth=None, antenna_names=None):
        gr.top_block.__init__(self, "Wi-Fi live")
        self.source = mimopack.radio_source(device, frequency, antennas, rate, gain, bandwidth,
                                             antenna_names)
        self.receiver = mimopack.wifi_receiver(antennas, rate, frequency, overload="drop")
        for channel in range(antennas):
            self.connect((self.source, channel), (self.receiver, channel))
        self.capture = mimopack.wifi_pcap_sink(capture)
        self.msg_connect(self.receiver, "out", self.capture, "in")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", help="SoapySDR device, such as driver=bladerf")
    parser.add_argument("--frequency", type=float, default=5.18e9, help="Hz, default 5.18e9")
    parser.add_argument("--rate", type=float, default=20e6, help="samples/s, default 20e6")
    parser.add_argument("--gain", type=float, default=40, help="dB, default 40")
    parser.add_argument("--bandwidth", type=float,
                        help="bandwidth of the analogue filters in Hz, default: unchanged")
    parser.add_argument("--antennas", type=int, default=2, help="default 2")
    parser.add_argument("--antenna-names", type=lambda names: names.split(","),
                        help="ports of the device, one for all antennas or one for each, such as "
                        "RX2,TX/RX; default: unchanged")
    parser.add_argument("--capture", default="wifi_live_soapy.pcap",
                        help="default wifi_live_soapy.pcap")
    parser.add_argument("--seconds", type=float, default=10, help="default 10")
    options = parser.parse_args()
    try:
        graph = wifi_live_soapy_headless(options.device, options.frequency, options.rate,
                                         options.gain, options.antennas, options.capture,
                                         options.bandwidth, options.antenna_names)
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
    print(graph.receiver.counts())


if __name__ == "__main__":
    main()
