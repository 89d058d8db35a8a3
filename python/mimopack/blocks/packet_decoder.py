# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: LLRs of OFDM frames to packets."""

import numpy as np
import pmt
from gnuradio import gr

from ..checks import choice, positive
from ..detectors.parameters import LLR_TYPES
from ..ofdm import PacketDecoder, Parameters
from ..ofdm.data_field import check_group
from .frame_stream import FRAME_TAG, BlockLog, FrameCollector, extended, frame_number, vector

_PACKETS = pmt.intern("packets")


class packet_block(gr.sync_block):
    """Base of the blocks that make packets of frames.

    A subclass has ``_packet(info, arrays)``, which makes an ``ofdm.Packet`` of the items of a
    frame, one array (items, width) per port.
    """

    def __init__(self, name, in_sig):
        self._collector = FrameCollector()
        self._log = BlockLog(self)
        self._packets = 0
        self._crc_failures = 0
        gr.sync_block.__init__(self, name, in_sig, None)
        self.message_port_register_out(_PACKETS)

    def packets(self):
        """Packets put out, with fitting CRC or not."""
        return self._packets

    def crc_failures(self):
        """Packets whose CRC did not fit."""
        return self._crc_failures

    def items_outside(self):
        """Input items that belonged to no frame, or to one of another format."""
        return self._collector.items_outside

    def frames_broken(self):
        """Frames of which not all items came."""
        return self._collector.frames_broken

    def failures(self):
        """Frames left out because they could not be decoded."""
        return self._log.failures

    def work(self, input_items, _output_items):
        count = len(input_items[0])
        tags = self.get_tags_in_window(0, 0, count, FRAME_TAG)
        for info, arrays in self._collector.feed(input_items, tags, self.nitems_read(0)):
            before = self._log.failures
            with self._log.guard(f"frame {frame_number(info)}"), np.errstate(all="ignore"):
                self._publish(info, self._packet(
                    info, [array.reshape(len(array), -1) for array in arrays]))
            if self._log.failures > before:
                self._collector.items_outside += len(arrays[0])
        return count

    def _publish(self, info, packet):
        self._packets += 1
        self._crc_failures += not packet.crc_ok
        info = extended(info, crc_ok=packet.crc_ok, coded_bit_errors=packet.coded_bit_errors,
                        coded_bits=packet.coded_bits, iterations=packet.iterations)
        if packet.checks_hold is not None:
            info = extended(info, checks_hold=packet.checks_hold)
        payload = pmt.init_u8vector(len(packet.payload), list(packet.payload))
        self.message_port_pub(_PACKETS, pmt.cons(info, payload))

    def stop(self):
        info = self._collector.close()
        if info is not None:
            self._log.warn("frames", f"frame {frame_number(info)} ended before its last items")
        self._log.flush()
        return gr.sync_block.stop(self)


class LlrPort:
    """Type of a port of LLRs, and what its values are multiplied by."""

    def __init__(self, llr_type="float32", llr_scale=8.0):
        self.dtype = np.dtype(choice("llr_type", llr_type, LLR_TYPES)).type
        llr_scale = positive("llr_scale", llr_scale)
        self.factor = np.float32(1 / llr_scale if llr_type == "int8" else 1)


class packet_decoder(packet_block):
    """Deinterleaver, Viterbi or LDPC decoder, descrambler and CRC check behind a detector block.

    The input are LLRs (ln P(1)/P(0), float or int8, vlen T * num_tx * m) with "frame" tags.
    Message port "packets": a PDU per frame whether its CRC fits or not, the payload (u8vector)
    with a dictionary: the keys of the frame's tag (frame, start, cfo, snr_db, condition_db,
    noise_var, noise_var_raw, items) and

        crc_ok, coded_bit_errors (hard decisions that differ from the decoded packet encoded
        again: where crc_ok, the channel bit errors), coded_bits (how many there were),
        iterations (1), checks_hold (of an LDPC code only: whether all its checks hold)

    Args:
        num_tx, constellation, code_rate, payload_length: see ``ofdm.Parameters``.
        symbols_per_channel: T.
        llr_type: "float32" or "int8".
        llr_scale: int8 only: steps that an LLR of 1 has become, as at the detector.

    Raises:
        ValueError: a parameter that ``ofdm.Parameters`` refuses, another llr_type,
            llr_scale <= 0, or a T that does not divide the frame's symbols.
    """

    def __init__(self, num_tx=4, constellation="wlan_qam16", code_rate="1/2", payload_length=500,
                 symbols_per_channel=1, llr_type="float32", llr_scale=8.0):
        llrs = LlrPort(llr_type, llr_scale)
        parameters = Parameters(num_tx, constellation, code_rate, payload_length)
        check_group(symbols_per_channel, parameters.num_symbols)
        self._llrs, self._decoder = llrs, PacketDecoder(parameters)
        self._symbols_per_channel = symbols_per_channel
        width = symbols_per_channel * num_tx * parameters.bits_per_symbol
        packet_block.__init__(self, "packet_decoder", [vector(llrs.dtype, width)])

    def _packet(self, _info, arrays):
        return self._decoder.decode(arrays[0] * self._llrs.factor, self._symbols_per_channel)
