#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run wifi_recording.grc without a GUI: play a SigMF recording once through the Wi-Fi receiver.

For tables, pictures and other formats, see "mimopack wifi".
"""

import argparse
from pathlib import Path

import pmt
from gnuradio import gr, mimopack

RECORDING = Path(__file__).parent / "recordings" / "wifi_4x4_ht.sigmf-meta"


class frame_printer(gr.basic_block):
    """Print a line for each frame at message port "frames"."""

    def __init__(self):
        gr.basic_block.__init__(self, "frame_printer", None, None)
        self.message_port_register_in(pmt.intern("frames"))
        self.set_msg_handler(pmt.intern("frames"), self._print)

    def _print(self, message):
        info = pmt.to_python(message)
        what = (f"{info['format']} MCS {info['mcs']}, {info['num_streams']} streams, "
                f"{info['length']} bytes" if "format" in info else "unknown format")
        good = f"{info['num_mpdus_ok']} of {info['num_mpdus']} MPDUs right"
        print(f"sample {info['start']}: {what}, SNR {info['snr_db']:.1f} dB, "
              f"{info['problem'] or good}")


class wifi_recording_headless(gr.top_block):
    """Flowgraph with recording source and receiver."""

    def __init__(self, path=RECORDING, detector="nway"):
        gr.top_block.__init__(self, "Wi-Fi recording")
        self.source = mimopack.sigmf_multichannel_source(str(path))
        num_rx = self.source.reader.num_channels
        self.receiver = mimopack.wifi_receiver(num_rx, self.source.sample_rate() or 20e6,
                                               detector=detector)
        self.printer = frame_printer()
        for port in range(num_rx):
            self.connect((self.source, port), (self.receiver, port))
        self.msg_connect(self.receiver, "frames", self.printer, "frames")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", default=RECORDING)
    parser.add_argument("--detector", default="nway", help="default nway")
    options = parser.parse_args()
    try:
        graph = wifi_recording_headless(options.recording, options.detector)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    graph.run()
    counts = graph.receiver.counts()
    print(f"{counts['frames']} frames, {counts['decoded']} decoded, {counts['mpdus_ok']} MPDUs")


if __name__ == "__main__":
    main()
