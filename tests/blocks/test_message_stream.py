# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that take messages end after the last message of a sender."""

import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.blocks import wifi_pdus
from gnuradio.mimopack.wifi.pdu import frame_to_pdus
from wifi_air import data_mpdu
from wifi_blocks import Messages, Sender, pdu, run
from wifi_frames import FRAMES

BITS = pmt.cons(pmt.make_dict(), pmt.init_u8vector(1152, [0] * 1152))
LLRS = pmt.cons(pmt.make_dict(), pmt.init_f32vector(2304, [-4.0] * 2304))
RECORD = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])


def transmitter(top, _path):
    block = mimopack.wifi_transmitter()
    top.connect(block, blocks.null_sink(gr.sizeof_gr_complex))
    return block, pdu(data_mpdu(1)), block.frames


def pcap_sink(_top, path):
    block = mimopack.wifi_pcap_sink(str(path / "frames.pcap"))
    return block, RECORD, block.records


def _answering(top, block, message):
    answers = top.answers = Messages()
    top.msg_connect(block, "out", answers, "in")
    return block, message, lambda: len(answers.received)


def encoder(top, _path):
    return _answering(top, mimopack.fec_encoder_pdu("wimax:2304:1/2"), BITS)


def decoder(top, _path):
    return _answering(top, mimopack.fec_decoder_pdu("wimax:2304:1/2"), LLRS)


def wifi_decoder(_top, _path):
    # It counts messages without a frame.
    block = mimopack.wifi_decoder()
    return block, pmt.PMT_T, block.failures


@pytest.mark.parametrize("make", [transmitter, pcap_sink, encoder, decoder, wifi_decoder])
def test_a_block_takes_all_messages_of_a_sender_that_ends(make, tmp_path):
    top = gr.top_block()
    block, message, count = make(top, tmp_path)
    sender = Sender([message] * 23)
    top.msg_connect(sender, "out", block, "in")
    for number in range(2):
        run(top)
        assert count() == 23 * (number + 1)
