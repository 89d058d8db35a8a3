# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: packet errors and signal quality of the last packets, for displays."""

from collections import deque

import numpy as np
import pmt
from gnuradio import gr

from ..checks import integer
from .frame_stream import BlockLog

_PACKETS = pmt.intern("packets")
_CURVES = ("lost", "snr_db", "coded_ber")


class packet_meter(gr.basic_block):
    """Counts packets, and keeps the history of the last ones as curves.

    Message port "packets" takes the PDUs of ``packet_decoder`` or ``ofdm_receiver``. With each
    of them three ports put out a PDU of floats, as ``qtgui.time_sink_f`` takes it, with a value
    for each of the last ``length`` packets, newest last (zeros before the first packet):
    "lost" (1 where the CRC failed), "snr_db", and "coded_ber" (share of bits that were wrong
    before decoding, as far as the decoded packet tells). ``text`` has the totals in a line, for a
    function probe.

    Raises:
        ValueError: length is no integer in 1..1000000.
    """

    def __init__(self, length=100):
        length = integer("length", length, 1, 10**6)
        gr.basic_block.__init__(self, "packet_meter", None, None)
        self._history = {name: deque(np.zeros(length), maxlen=length) for name in _CURVES}
        self._log = BlockLog(self)
        self._packets = self._lost = self._bits = self._bit_errors = 0
        self.message_port_register_in(_PACKETS)
        self.set_msg_handler(_PACKETS, self._take)
        for name in _CURVES:
            self.message_port_register_out(pmt.intern(name))

    def packets(self):
        """Packets since the block was made."""
        return self._packets

    def lost(self):
        """How many of them failed their CRC."""
        return self._lost

    def coded_ber(self):
        """Share of bits that were wrong before decoding, over all packets that were not lost."""
        return self._bit_errors / max(self._bits, 1)

    def text(self):
        """The totals in a line."""
        return (f"{self._packets} packets, {self._lost} lost "
                f"({100 * self._lost / max(self._packets, 1):.1f} %), "
                f"{100 * self.coded_ber():.2f} % of bits wrong before decoding")

    def history(self, name):
        """The curve "lost", "snr_db" or "coded_ber" as an array."""
        return np.array(self._history[name], np.float32)

    def stop(self):
        self._log.flush()
        return gr.basic_block.stop(self)

    def _take(self, message):
        try:
            info = pmt.to_python(pmt.car(message))
            lost = not info["crc_ok"]
            values = (float(lost), float(info["snr_db"]),
                      info["coded_bit_errors"] / info["coded_bits"])
        except Exception as error:    # a message must not stop the display
            self._log.warn("messages ignored", f"message at port packets ignored: {error!r}")
            return
        self._packets += 1
        self._lost += lost
        if not lost:
            self._bits += info["coded_bits"]
            self._bit_errors += info["coded_bit_errors"]
        for name, value in zip(_CURVES, values, strict=True):
            self._history[name].append(value)
            curve = self.history(name)
            self.message_port_pub(pmt.intern(name), pmt.cons(
                pmt.PMT_NIL, pmt.init_f32vector(len(curve), curve)))
