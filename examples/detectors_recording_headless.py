#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run detectors_recording.grc without a GUI: detectors side by side on recorded Wi-Fi frames.

The frames have 4 streams of 16-QAM, as those of the demo's recording.
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio import gr, mimopack

RECORDING = Path(__file__).parent / "recordings" / "wifi_4x4_ht.sigmf-meta"


class own_detector(gr.sync_block):
    """My detector: MMSE, then max-log for each stream. Put your own mathematics into work()."""

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16"):
        chosen = mimopack.constellation.get(constellation)
        self.points, self.bits = chosen.points, chosen.bits.T.astype(bool)
        self.shape = num_rx, num_tx
        gr.sync_block.__init__(self, "Own detector",
                               [(np.complex64, num_rx), (np.complex64, num_rx * num_tx)],
                               [(np.float32, num_tx * chosen.bits_per_symbol)])

    def work(self, input_items, output_items):
        y, h = input_items[0][..., None], input_items[1].reshape(-1, *self.shape)
        conjugate = h.conj().swapaxes(1, 2)
        # The channel estimator divides y and h so that the noise power is 1.
        inverse = np.linalg.inv(conjugate @ h + np.eye(self.shape[1]))
        error = np.einsum("nii->ni", inverse).real[..., None]    # 1 / (1 + SINR) of each stream
        x = inverse @ conjugate @ y / (1 - error)
        distance = abs(x - self.points)**2 * (1 - error) / error
        for bit, ones in enumerate(self.bits):
            llr = distance[..., ~ones].min(axis=2) - distance[..., ones].min(axis=2)
            output_items[0][:, bit::len(self.bits)] = llr
        return len(y)


def put_side_by_side(graph, estimator, names, num_tx, num_rx, constellation):
    """Connect a detector and a decoder for each name to a channel estimator.

    ``names`` are names of detectors; "own" is the class above. The blocks are kept in
    ``graph.detectors`` and ``graph.decoders``.
    """
    graph.detectors, graph.decoders = {}, {}
    for name in names:
        make = own_detector if name == "own" else getattr(mimopack, f"{name}_detector")
        detector = make(num_tx, num_rx, constellation)
        decoder = mimopack.wifi_llr_decoder(num_tx, constellation)
        for port in range(2):
            graph.connect((estimator, port), (detector, port))
        graph.connect(detector, decoder)
        graph.detectors[name], graph.decoders[name] = detector, decoder


class detectors_recording_headless(gr.top_block):
    """Flowgraph with a recording of 4 or more antennas, and detectors side by side."""

    def __init__(self, path=RECORDING, names=("zf", "nway", "own")):
        gr.top_block.__init__(self, "Detectors on a recording")
        self.source = mimopack.sigmf_multichannel_source(str(path))
        num_rx = self.source.reader.num_channels
        self.estimator = mimopack.wifi_channel_estimator(
            num_rx, self.source.sample_rate() or 20e6, 4, "wlan_qam16")
        for antenna in range(num_rx):
            self.connect((self.source, antenna), (self.estimator, antenna))
        put_side_by_side(self, self.estimator, names, 4, num_rx, "wlan_qam16")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", default=RECORDING)
    parser.add_argument("--detectors", nargs="+", default=["zf", "nway", "own"],
                        choices=[*mimopack.detectors.names(), "own"], metavar="NAME",
                        help="default zf nway own")
    options = parser.parse_args()
    try:
        graph = detectors_recording_headless(options.recording, options.detectors)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    graph.run()
    print(f"{graph.estimator.counts()['demodulated']} frames with 4 streams of 16-QAM")
    for name, decoder in graph.decoders.items():
        print(f"{name}: {decoder.counts()['decoded']} decoded")


if __name__ == "__main__":
    main()
