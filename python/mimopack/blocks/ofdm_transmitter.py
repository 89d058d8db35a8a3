# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: payloads to OFDM frames, one stream of samples per antenna."""

import threading
from collections import deque

import numpy as np
import pmt
from gnuradio import gr

from ..checks import choice, integer
from ..ofdm import Parameters, Transmitter
from .frame_stream import BlockLog, OutputQueue

_PDUS = pmt.intern("pdus")
# GNU Radio tells a block here that the sender of its messages is done.
_SYSTEM = pmt.intern("system")
_MOST_WAITING = 1000
_INPUTS = ("pdu", "bytes")


class ofdm_transmitter(gr.hier_block2):
    """MIMO-OFDM transmitter: PDUs or bytes in, one stream of samples per antenna out (20 MS/s).

    Each payload becomes a frame (see ``ofdm.Transmitter``) with ``gap`` samples of silence behind
    it; the first sample carries on output 0 the tags "packet_len" (frame and gap, in samples) and
    "frame" (its number). Between frames nothing is sent: the streams wait. Mean total power of all
    antennas is 1 during a frame.

    Args:
        num_tx, constellation, code_rate, payload_length: see ``ofdm.Parameters``.
        gap: samples of silence after each frame; 320 are the standard's 16 us.
        input: "pdu": message port "pdus" takes u8vectors, bare or as a PDU, of payload_length
            bytes; another length or type is logged and counted (``pdus_refused``), and so is what
            comes while 1000 payloads wait (``pdus_dropped``). The streams
            end, once everything is sent, after the message PMT_EOF or with the block that sends
            the messages.
            "bytes": a byte stream is cut into payloads. Where it ends inside one, the last payload
            is filled with zeros, and the number of them logged (``bytes_padded``).
        scrambler_seed: 1..127.

    Raises:
        ValueError: a parameter that ``ofdm.Parameters`` refuses, a gap outside 0..2^24, another
            input.
    """

    def __init__(self, num_tx=4, constellation="wlan_qam16", code_rate="1/2", payload_length=500,
                 gap=320, input="pdu", scrambler_seed=93):
        parameters = Parameters(num_tx, constellation, code_rate, payload_length, scrambler_seed)
        gap = integer("gap", gap, 0, 2**24)
        choice("input", input, _INPUTS)
        from_bytes = input == "bytes"
        gr.hier_block2.__init__(
            self, "ofdm_transmitter", gr.io_signature(from_bytes, from_bytes, 1),
            gr.io_signature(parameters.num_tx, parameters.num_tx, gr.sizeof_gr_complex))
        self.parameters = parameters
        self._modulator = _Modulator(parameters, gap, from_bytes)
        for port in range(parameters.num_tx):
            self.connect((self._modulator, port), (self, port))
        if from_bytes:
            self._end = _EndOfStream(self._modulator.input_ended)
            self.connect(self, self._modulator)
            self.connect(self, self._end)
        else:
            self.message_port_register_hier_in("pdus")
            self.msg_connect(self, "pdus", self._modulator, "pdus")

    def frames(self):
        """Frames made."""
        return self._modulator.frames

    def pdus_refused(self):
        """Messages that were no payload."""
        return self._modulator.pdus_refused

    def pdus_dropped(self):
        """Payloads for which there was no room."""
        return self._modulator.pdus_dropped

    def bytes_padded(self):
        """Zeros that filled the last payload."""
        return self._modulator.bytes_padded


class _Modulator(gr.basic_block):
    """The work of ``ofdm_transmitter``: asks for no input, so that it can wait and end by itself.

    GNU Radio ends a block that asks for input as soon as its source is done, and would so lose an
    incomplete last payload.
    """

    def __init__(self, parameters, gap, from_bytes):
        self._transmitter = Transmitter(parameters)
        self._length = parameters.payload_length
        self._gap = np.zeros((parameters.num_tx, gap), np.complex64)
        self._queue = OutputQueue()
        self._log = BlockLog(self)
        self._payloads = deque()
        self._bytes = bytearray()
        self._reset()
        self.input_ended = threading.Event()
        self.frames = self.pdus_refused = self.pdus_dropped = self.bytes_padded = 0
        gr.basic_block.__init__(self, "ofdm_modulator", [np.uint8] if from_bytes else None,
                                [np.complex64] * parameters.num_tx)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_min_output_buffer(65536)
        if not from_bytes:
            self.message_port_register_in(_PDUS)
            self.set_msg_handler(_PDUS, self._take_message)
            self.set_msg_handler(_SYSTEM, self._sender_is_done)

    def _reset(self):
        self._ended = False
        # Calls since the end was announced in which nothing was left to do.
        self._idle_calls = 0

    def start(self):
        self._reset()
        return gr.basic_block.start(self)

    def stop(self):
        self._log.flush()
        self._queue.clear()
        self._payloads.clear()
        self._bytes.clear()
        return gr.basic_block.stop(self)

    def forecast(self, noutput_items, ninputs):
        return [0] * ninputs

    def general_work(self, input_items, output_items):
        # Bytes wait in the input buffer while a payload does here.
        if input_items and not self._payloads:
            self._take_bytes(input_items[0])
        if not self._queue and self._payloads:
            with self._log.guard("a payload"):
                self._modulate(self._payloads.popleft())
        produced = self._queue.produce(self, output_items)
        if produced or self._payloads or (input_items and len(input_items[0])):
            return produced
        # The input was counted, and messages handled, before this call: what came just before the
        # end was announced shows in the next one.
        if self._ended or self.input_ended.is_set():
            self._idle_calls += 1
            if self._idle_calls == 2 and self._bytes:
                self._fill_payload()
            elif self._idle_calls >= 2:
                return -1
            return 0
        # Messages are handled between calls, so do not sleep long.
        self.input_ended.wait(0.001)
        return 0

    def _take_bytes(self, data):
        count = min(len(data), self._length - len(self._bytes))
        self._bytes.extend(data[:count].tobytes())
        self.consume(0, count)
        if len(self._bytes) == self._length:
            self._payloads.append(bytes(self._bytes))
            self._bytes.clear()

    def _fill_payload(self):
        self.bytes_padded = self._length - len(self._bytes)
        self._log.info(f"last payload filled with {self.bytes_padded} zeros")
        self._payloads.append(bytes(self._bytes) + bytes(self.bytes_padded))
        self._bytes.clear()

    def _sender_is_done(self, _message):
        self._ended = True

    def _take_pdu(self, message):
        if pmt.is_eof_object(message):
            self._ended = True
            return
        data = pmt.cdr(message) if pmt.is_pair(message) else message
        if pmt.is_u8vector(data) and pmt.length(data) == self._length:
            if len(self._payloads) >= _MOST_WAITING:
                self.pdus_dropped += 1
                self._log.warn("PDUs dropped", f"PDU dropped: {_MOST_WAITING} wait already")
                return
            self._payloads.append(bytes(pmt.u8vector_elements(data)))
            return
        self.pdus_refused += 1
        got = f"{pmt.length(data)} bytes" if pmt.is_u8vector(data) else "no u8vector"
        self._log.warn("PDUs left out", f"PDU left out: got {got}, must be {self._length} bytes")

    def _take_message(self, message):
        with self._log.guard("a PDU"):
            self._take_pdu(message)

    def _modulate(self, payload):
        frame = np.concatenate([self._transmitter.frame(payload), self._gap], axis=1)
        self._queue.put(list(frame), [
            (0, pmt.intern("packet_len"), pmt.from_long(frame.shape[1])),
            (0, pmt.intern("frame"), pmt.from_long(self.frames))])
        self.frames += 1


class _EndOfStream(gr.sync_block):
    """Sets an event when its input is over, which GNU Radio tells no block in its work()."""

    def __init__(self, event):
        self._event = event
        gr.sync_block.__init__(self, "end_of_stream", [np.uint8], None)

    def start(self):
        self._event.clear()
        return gr.sync_block.start(self)

    def work(self, input_items, _output_items):
        return len(input_items[0])

    def stop(self):
        self._event.set()
        return gr.sync_block.stop(self)
