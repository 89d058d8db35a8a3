#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_live_view.grc without a GUI, with any number of antennas; print figures each second.

"mimopack wifi --radio ... --view" draws all displays in the terminal. It also records samples.
"""

import argparse
import re
import time

from gnuradio import blocks, gr, mimopack


class wifi_live_view_headless(gr.top_block):
    """Flowgraph with radio, receiver, and the blocks that compute figures from frames."""

    def __init__(self, device, frequency, rate, gain, antennas, detector, bandwidth=None,
                 antenna_names=None, clock_source=None, time_source=None, capture=None):
        gr.top_block.__init__(self, "Wi-Fi live view")
        self.source = mimopack.radio_source(device, frequency, antennas, rate, gain, bandwidth,
                                            antenna_names, clock_source, time_source)
        self.receiver = mimopack.wifi_receiver(antennas, rate, frequency, detector=detector,
                                               threads=0, overload="drop")
        for channel in range(antennas):
            self.connect((self.source, channel), (self.receiver, channel))
        if capture is not None:
            self.capture = mimopack.wifi_pcap_sink(capture)
            self.msg_connect(self.receiver, "out", self.capture, "in")
        self.meter, self.losses = mimopack.wifi_meter(1), mimopack.wifi_linear_loss(1)
        self.levels = mimopack.wifi_levels(antennas)
        self.airtime = mimopack.wifi_airtime(rate, columns=1)
        self.probes = {}
        for block, port, outputs in ((self.meter, "frames", 3), (self.losses, "csi", 3),
                                     (self.levels, "frames", 2 * antennas),
                                     (self.airtime, "frames", 1)):
            self.msg_connect(self.receiver, port, block, port)
            self.probes[block] = [blocks.probe_signal_f() for _ in range(outputs)]
            for output, probe in enumerate(self.probes[block]):
                self.connect((block, output), probe)

    def lines(self):
        """Return the figures as lines of text."""
        levels = [probe.level() for probe in self.probes[self.levels]]
        antennas = len(levels) // 2
        counts = self.receiver.counts()
        return [self.meter.text(),
                f"airtime {100 * self.probes[self.airtime][0].level():.0f} %; SNR "
                + ", ".join(f"{level:.1f}" for level in levels[:antennas]) + " dB; level "
                + ", ".join(f"{level:.1f}" for level in levels[antennas:]) + " dBFS",
                f"left on the table: {self.losses.text()}",
                ", ".join(f"{counts[name]} {name}" for name in ("gaps", "lost", "dropped"))]


def radio_options(description):
    """Return a parser with the options of a radio."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("device", help="driver=NAME, such as driver=uhd or driver=bladerf, or "
                        "driver=mimopack,recording=FILE,repeat=1")
    parser.add_argument("--frequency", type=float, default=5.18e9, help="Hz, default 5.18e9")
    parser.add_argument("--rate", type=float, default=20e6, help="samples/s, default 20e6")
    parser.add_argument("--gain", type=float, default=0, help="dB, default 0")
    parser.add_argument("--antennas", type=int, default=2, help="default 2")
    parser.add_argument("--antenna-names", type=lambda names: names.split(","),
                        help="ports of the device, one for all antennas or one for each, such as "
                        "RX2,TX/RX; default: unchanged")
    parser.add_argument("--seconds", type=float, default=10, help="default 10")
    return parser


def made(graph, parser, **options):
    """Make a flowgraph; end the program with a sentence if the radio refuses an option."""
    try:
        return graph(**options)
    except (ValueError, OSError, RuntimeError) as error:
        parser.error(re.sub("^num_rx: ", "--antennas: ", " ".join(str(error).split())))


def run_for(graph, seconds, each_second=lambda: None):
    """Run a flowgraph for some seconds or until Ctrl-C; call a function each second."""
    graph.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            time.sleep(max(0, min(1, end - time.monotonic())))
            each_second()
    except KeyboardInterrupt:
        pass
    finally:
        graph.stop()
        graph.wait()


def main():
    parser = radio_options(__doc__.splitlines()[0])
    parser.add_argument("--bandwidth", type=float,
                        help="bandwidth of the analogue filters in Hz, default: unchanged")
    parser.add_argument("--clock-source", help="such as external, default: unchanged")
    parser.add_argument("--time-source", help="such as external, default: unchanged")
    parser.add_argument("--capture", help="file for Wireshark, or a FIFO; default: none")
    parser.add_argument("--detector", default="nway", help="default nway")
    options = vars(parser.parse_args())
    seconds = options.pop("seconds")
    graph = made(wifi_live_view_headless, parser, **options)
    run_for(graph, seconds, lambda: print("\n".join(graph.lines()), flush=True))


if __name__ == "__main__":
    main()
