# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block that writes MPDUs into a capture file for Wireshark."""

import time as clock

from gnuradio import gr

from ..checks import number
from ..wifi.pcap import PcapWriter
from . import wifi_pdus
from .fec_encoder import IN
from .message_stream import Listening
from .streams import BlockLog

# Seconds to wait for the reader of a FIFO. The flowgraph cannot be stopped in the meantime.
_PATIENCE = 2.0


class wifi_pcap_sink(Listening, gr.basic_block):
    """Write MPDUs into a capture file, or into a FIFO that Wireshark reads live.

    Message port in: ``in`` takes PDUs with an MPDU without its FCS (u8vector) and the metadata
    listed in ``wifi.pdu.frame_to_pdus``, as port ``out`` of ``wifi_receiver`` sends them. PDUs of
    gr-ieee802-11 work too. Each PDU becomes a record with a radiotap header, see
    ``wifi.pcap.radiotap``. Other messages are skipped, counted (``refused``) and logged.
    Several receivers can send into one file. As all blocks of GNU Radio, the block ends with the
    first of them that ends.

    The constructor opens the file. Opening a FIFO blocks until the FIFO has a reader. Each record
    reaches the file before the next PDU is processed. A disk error, or a reader that goes away,
    ends the file but not the flowgraph: the error is logged once, and later PDUs are counted as
    lost. PDUs are also lost while the reader of a FIFO stalls for more than 2 seconds. After a
    restart of the flowgraph, the block continues the same file.

    Args:
        path: path of the file or FIFO; an existing file is replaced.
        dbm_full_scale: power at the antenna, in dBm, of a constant signal of magnitude 1.
        time: time of the stream's first sample, in seconds since 1970 (UTC); None means 0. The
            PDU's ``time`` is added. A PDU without ``time`` gets the time of its arrival.

    Raises:
        ValueError: an argument is not as above.
        OSError: the file cannot be opened.
    """

    def __init__(self, path, dbm_full_scale=0.0, time=None):
        if time is not None and not 0 <= number("time", time) < 2**32:
            raise ValueError(f"time: got {time}, allowed are 0 to 2^32 seconds, or None")
        self._time = time
        self._log = BlockLog(self)
        self._lost = 0
        self._writer = PcapWriter(path, dbm_full_scale, _PATIENCE)
        gr.basic_block.__init__(self, "wifi_pcap_sink", None, None)
        self._listen(IN, self._take)

    def records(self):
        """Return the number of MPDUs written."""
        return self._writer.records

    def refused(self):
        """Return the number of messages skipped because they are not PDUs with an MPDU."""
        return self._log.failures

    def lost(self):
        """Return the number of PDUs lost because the reader stalled or the file had ended."""
        return self._lost

    def close(self):
        """End the file. Later PDUs are lost."""
        self._writer.close()

    def stop(self):
        self.drain()
        return Listening.stop(self)

    def _take(self, message):
        with self._log.guard("PDU"):
            info, blob = wifi_pdus.from_pmt(message)
            if self._writer.closed:
                self._lost += 1
                return
            try:
                self._writer.write_pdu(info, blob, self._time if "time" in info else clock.time())
            except TimeoutError as error:
                self._lost += 1
                self._log.warn("PDUs lost", f"PDU lost: {error}")
            except OSError as error:
                self._lost += 1
                self._log.error(f"the capture file ends here: {error}")
