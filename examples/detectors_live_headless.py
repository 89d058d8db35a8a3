#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run detectors_live.grc without a GUI: detectors side by side on a radio's Wi-Fi frames.

Counts the frames that each detector decodes.
"""

from detectors_recording_headless import put_side_by_side
from gnuradio import gr, mimopack
from wifi_live_view_headless import made, radio_options, run_for


class detectors_live_headless(gr.top_block):
    """Flowgraph with a radio, a channel estimator, and detectors side by side."""

    def __init__(self, device, frequency, rate, gain, antennas, antenna_names, detectors, streams,
                 constellation):
        gr.top_block.__init__(self, "Detectors live")
        self.source = mimopack.radio_source(device, frequency, antennas, rate, gain,
                                            antenna_names=antenna_names)
        self.estimator = mimopack.wifi_channel_estimator(
            antennas, rate, streams, constellation, frequency, overload="drop")
        for antenna in range(antennas):
            self.connect((self.source, antenna), (self.estimator, antenna))
        put_side_by_side(self, self.estimator, detectors, streams, antennas, constellation)


def main():
    parser = radio_options(__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=2, help="default 2")
    parser.add_argument("--constellation", default="wlan_qam64", help="default wlan_qam64")
    parser.add_argument("--detectors", nargs="+", default=["zf", "nway"], metavar="NAME",
                        choices=mimopack.detectors.names(), help="default zf nway")
    options = vars(parser.parse_args())
    seconds = options.pop("seconds")
    graph = made(detectors_live_headless, parser, **options)
    run_for(graph, seconds)
    counts = graph.estimator.counts()
    print(f"{counts['frames']} frames, {counts['demodulated']} with {options['streams']} streams "
          f"of {options['constellation']}, {counts['dropped']} samples dropped")
    for name, decoder in graph.decoders.items():
        print(f"{name}: {decoder.counts()['decoded']} decoded")


if __name__ == "__main__":
    main()
