#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_live_uhd.grc without a GUI, with any number of antennas of one or more USRPs.

"mimopack wifi --radio driver=uhd" does more: it checks the device's settings, records samples and
counts frames.
"""

import argparse
import time

from gnuradio import gr, mimopack, uhd


class wifi_live_uhd_headless(gr.top_block):
    """Flowgraph with radio, receiver and capture file."""

    def __init__(self, address, frequency, rate, gain, antennas, capture,
                 bandwidth=None, antenna_names=("RX2",)):
        gr.top_block.__init__(self, "Wi-Fi live")
        self.source = uhd.usrp_source(address, uhd.stream_args(
            cpu_format="fc32", channels=list(range(antennas))))
        self.source.set_samp_rate(rate)
        for channel in range(antennas):
            self.source.set_center_freq(frequency, channel)
            self.source.set_gain(gain, channel)
            self.source.set_antenna(antenna_names[channel % len(antenna_names)], channel)
            if bandwidth is not None:
                self.source.set_bandwidth(bandwidth, channel)
        if self.source.get_num_mboards() > 1:
            # Several devices need a common 10 MHz reference and a common pulse per second.
            for board in range(self.source.get_num_mboards()):
                self.source.set_clock_source("external", board)
                self.source.set_time_source("external", board)
            # Begin in the middle of a second. UHD waits for the next pulse, and then lets the
            # devices set their clocks at the one after it.
            time.sleep((0.5 - time.time()) % 1)
            self.source.set_time_unknown_pps(uhd.time_spec(int(time.time()) + 2))
            time.sleep(0.2)
        else:
            self.source.set_time_now(uhd.time_spec(time.time()))
        self.receiver = mimopack.wifi_receiver(antennas, rate, frequency, overload="drop")
        for channel in range(antennas):
            self.connect((self.source, channel), (self.receiver, channel))
        self.capture = mimopack.wifi_pcap_sink(capture)
        self.msg_connect(self.receiver, "out", self.capture, "in")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", nargs="?", default="",
                        help="UHD device address, such as serial=...; default: the first device")
    parser.add_argument("--frequency", type=float, default=5.18e9, help="Hz, default 5.18e9")
    parser.add_argument("--rate", type=float, default=20e6, help="samples/s, default 20e6")
    parser.add_argument("--gain", type=float, default=40, help="dB, default 40")
    parser.add_argument("--bandwidth", type=float,
                        help="bandwidth of the analogue filters in Hz, default: unchanged")
    parser.add_argument("--antennas", type=int, default=2, help="default 2")
    parser.add_argument("--antenna-names", type=lambda names: names.split(","), default=["RX2"],
                        help="ports of the devices, one for all antennas or one for each, such as "
                        "RX2,TX/RX; default RX2")
    parser.add_argument("--capture", default="wifi_live_uhd.pcap",
                        help="default wifi_live_uhd.pcap")
    parser.add_argument("--seconds", type=float, default=10, help="default 10")
    options = parser.parse_args()
    if len(options.antenna_names) not in (1, options.antennas):
        parser.error(f"--antenna-names: got {len(options.antenna_names)}, must be 1 or one for "
                     f"each of {options.antennas} antennas")
    try:
        graph = wifi_live_uhd_headless(options.address, options.frequency, options.rate,
                                       options.gain, options.antennas, options.capture,
                                       options.bandwidth, options.antenna_names)
    except (ValueError, OSError, RuntimeError) as error:
        if "No devices found" in str(error):
            parser.error(f"address: UHD finds no device {options.address!r}; uhd_find_devices "
                         "lists what there is")
        parser.error(" ".join(str(error).split()))
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
