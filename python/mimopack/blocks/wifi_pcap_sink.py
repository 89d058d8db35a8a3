# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: MPDUs into a capture file for Wireshark."""

import time as clock

from gnuradio import gr

from ..checks import number
from ..wifi.pcap import PcapWriter
from . import wifi_pdus
from .fec_encoder import IN
from .streams import BlockLog, remaining

# Seconds to wait for a FIFO's reader: a flowgraph cannot be stopped meanwhile.
_PATIENCE = 2.0


class wifi_pcap_sink(gr.basic_block):
    """Write MPDUs into a capture file, or a FIFO that Wireshark reads live.

    Message port "in": PDUs of MPDUs (u8vector) with the metadata that ``wifi.pdu.frame_to_pdus``
    lists; PDUs of gr-ieee802-11 work too. Each becomes a record with a radiotap header, see
    ``wifi.pcap``. A message that is no such PDU is left out, counted, and reported in the log.

    Opening a FIFO waits until it has a reader, here in the constructor. Each record is in the file
    before the next one is taken. An error of the disk, or a reader that goes away, ends the file
    but not the flowgraph: the error is reported once, and later PDUs are counted as lost. While a
    FIFO's reader stands still for more than 2 seconds, PDUs are lost too. Started again, the block
    goes on where it stopped.

    Args:
        path: of the file or FIFO; an existing file is replaced.
        dbm_full_scale: power in dBm of a constant of magnitude 1 at the antenna.
        time: of the stream's first sample, in seconds since 1970; None is 0. A PDU that has no
            ``time`` gets that of its arrival.

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
        self.message_port_register_in(IN)
        self.set_msg_handler(IN, self._take)

    def records(self):
        """MPDUs written."""
        return self._writer.records

    def refused(self):
        """PDUs left out."""
        return self._log.failures

    def lost(self):
        """PDUs that came after the file ended, or ended it, or while a reader stood still."""
        return self._lost

    def close(self):
        """End the file. PDUs that come later are lost."""
        self._writer.close()

    def start(self):
        # GNU Radio 3.10 does not forget by itself that an earlier run has ended.
        self.to_basic_block().clear_finished()
        return gr.basic_block.start(self)

    def stop(self):
        for message in remaining(self, IN):
            self._take(message)
        self._log.flush()
        return gr.basic_block.stop(self)

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
