#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""play_recording.grc without windows: a SigMF recording through the receiver, once.

For tables, pictures and other formats see "mimopack play".
"""

import argparse
from pathlib import Path

import pmt
from gnuradio import gr, mimopack

RECORDING = Path(__file__).parent / "recordings" / "mimo_4x4_qam16.sigmf-meta"


class packet_printer(gr.basic_block):
    """Prints a line for each packet at its message port "packets"."""

    def __init__(self):
        gr.basic_block.__init__(self, "packet_printer", None, None)
        self.message_port_register_in(pmt.intern("packets"))
        self.set_msg_handler(pmt.intern("packets"), self._print)

    def _print(self, message):
        info, payload = pmt.to_python(pmt.car(message)), pmt.cdr(message)
        print(f"sample {info['start']}: SNR {info['snr_db']:.1f} dB, {pmt.length(payload)} bytes, "
              f"CRC {'ok' if info['crc_ok'] else 'failed'}")


class play_recording_headless(gr.top_block):
    """Source and receiver for 4 layers of 16-QAM, code rate 1/2, 500 bytes."""

    def __init__(self, path=RECORDING, detector="nway"):
        gr.top_block.__init__(self, "MIMO-OFDM recording")
        self.source = mimopack.sigmf_multichannel_source(str(path), num_channels=4)
        self.receiver = mimopack.ofdm_receiver(
            num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="1/2", payload_length=500,
            detector=detector)
        self.printer = packet_printer()
        for port in range(4):
            self.connect((self.source, port), (self.receiver, port))
        self.msg_connect(self.receiver, "packets", self.printer, "packets")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", default=RECORDING)
    parser.add_argument("--detector", default="nway", help="default nway")
    options = parser.parse_args()
    graph = play_recording_headless(options.recording, options.detector)
    graph.run()
    counts = graph.receiver.statistics()
    print(f"{counts['packets']} packets, {counts['crc_failures']} lost")


if __name__ == "__main__":
    main()
