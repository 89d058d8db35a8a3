# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that several senders feed end after the last of them."""

import threading
import time

import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.blocks import wifi_pdus
from gnuradio.mimopack.wifi.pdu import frame_to_pdus
from wifi_air import data_mpdu
from wifi_blocks import Messages, Sender, done, pdu, post, run
from wifi_frames import FRAMES

BITS = pmt.cons(pmt.make_dict(), pmt.init_u8vector(1152, [0] * 1152))
LLRS = pmt.cons(pmt.make_dict(), pmt.init_f32vector(2304, [-4.0] * 2304))
RECORD = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])


class SlowSender(Sender):
    """Sends messages one after another, and ends."""

    def start(self):
        threading.Thread(target=self._send).start()
        return gr.basic_block.start(self)

    def _send(self):
        for message in self.messages:
            time.sleep(0.02)
            self.message_port_pub(pmt.intern("out"), message)
        post(self, "system", done(1))


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
def test_a_block_ends_after_the_last_of_its_senders(make, tmp_path):
    top = gr.top_block()
    block, message, count = make(top, tmp_path)
    senders = Sender([message] * 4), SlowSender([message] * 19)
    for sender in senders:
        top.msg_connect(sender, "out", block, "in")
    for number in range(2):
        run(top)
        assert count() == 23 * (number + 1)


@pytest.mark.parametrize("make", [decoder, wifi_decoder])
def test_the_end_of_a_sender_of_settings_does_not_end_a_block(make, tmp_path):
    top = gr.top_block()
    block, message, count = make(top, tmp_path)
    settings, sender = Sender([]), SlowSender([message] * 10)
    top.msg_connect(settings, "out", block, "control")
    top.msg_connect(sender, "out", block, "in")
    run(top)
    assert count() == 10
