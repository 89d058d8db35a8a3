#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_live_soapy.grc without a GUI, with any number of antennas of a SoapySDR radio.

"mimopack wifi --radio" does more: it checks the device's settings, records samples and counts
frames.
"""

import argparse
import time

from gnuradio import gr, mimopack, soapy


class wifi_live_soapy_headless(gr.top_block):
    """Flowgraph with radio, receiver and capture file."""

    def __init__(self, device, frequency, rate, gain, antennas, capture,
                 bandwidth=None):
        gr.top_block.__init__(self, "Wi-Fi live")
        self.source = soapy.source(device, "fc32", antennas, "", "", [""], [""])
        for channel in range(antennas):
            self.source.set_sample_rate(channel, rate)
            self.source.set_frequency(channel, frequency)
            self.source.set_gain(channel, gain)
            if bandwidth is not None:
                self.source.set_bandwidth(channel, bandwidth)
        if self.source.has_hardware_time(""):
            self.source.set_hardware_time(time.time_ns(), "")
        self.receiver = mimopack.wifi_receiver(antennas, rate, frequency, overload="drop")
        for channel in range(antennas):
            self.connect((self.source, channel), (self.receiver, channel))
        self.capture = mimopack.wifi_pcap_sink(capture)
        self.msg_connect(self.receiver, "out", self.capture, "in")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", help="SoapySDR device, such as driver=lime")
    parser.add_argument("--frequency", type=float, default=5.18e9, help="Hz, default 5.18e9")
    parser.add_argument("--rate", type=float, default=20e6, help="samples/s, default 20e6")
    parser.add_argument("--gain", type=float, default=40, help="dB, default 40")
    parser.add_argument("--bandwidth", type=float,
                        help="bandwidth of the analogue filters in Hz, default: unchanged")
    parser.add_argument("--antennas", type=int, default=2, help="default 2")
    parser.add_argument("--capture", default="wifi_live_soapy.pcap",
                        help="default wifi_live_soapy.pcap")
    parser.add_argument("--seconds", type=float, default=10, help="default 10")
    options = parser.parse_args()
    if "=" not in options.device:    # SoapySDR would open the first device it finds
        parser.error(f"device: got {options.device!r}, must be driver=NAME, such as driver=lime")
    try:
        graph = wifi_live_soapy_headless(options.device, options.frequency, options.rate,
                                         options.gain, options.antennas, options.capture,
                                         options.bandwidth)
    except (ValueError, OSError, RuntimeError) as error:
        if "no match" in str(error):
            parser.error(f"device: no device for {options.device!r}; SoapySDRUtil --find lists "
                         "what there is")
        parser.error(" ".join(str(error).split()))
    graph.start()
    time.sleep(options.seconds)
    graph.stop()
    graph.wait()
    print(graph.receiver.counts())


if __name__ == "__main__":
    main()
