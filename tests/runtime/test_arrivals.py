# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block that notes when PDUs arrive."""

import time

import numpy as np
import pmt
from flowgraphs import until
from gnuradio import gr
from gnuradio import pdu as pdus
from gnuradio.mimopack import _runtime
from wifi_blocks import post


def pdu(start, *time):
    return pmt.cons(_runtime.to_pmt_dict({"start": start, "rx_time": pmt.make_tuple(*time)}),
                    pmt.init_u8vector(1, [0]))


def test_notes_each_pdu_and_leaves_out_other_messages():
    top, block = gr.top_block(), _runtime.arrivals()
    sender = pdus.pdu_remove(pmt.intern("x"))    # connects the block, sends nothing
    top.msg_connect(sender, "pdus", block, "in")
    top.start()
    before, rows = time.monotonic_ns(), []
    for message in (pdu(np.uint64(3), pmt.from_uint64(5), pmt.from_double(0.25)),
                    pmt.PMT_NIL, pmt.from_long(1), pmt.cons(pmt.PMT_NIL, pmt.PMT_NIL),
                    pdu("x", pmt.from_uint64(5), pmt.from_double(0.25)),
                    pdu(1, pmt.from_uint64(5)), pdu(1, pmt.PMT_NIL, pmt.PMT_NIL),
                    pdu(2**40, pmt.from_uint64(1_700_000_000), pmt.from_double(1e-9))):
        post(block, "in", message)
    until(lambda: rows.extend(block.take()) or len(rows) == 2)
    after = time.monotonic_ns()
    top.stop()
    top.wait()
    np.testing.assert_array_equal(
        np.array(rows)[:, :2], [(3, 5_250_000_000), (2**40, 1_700_000_000_000_000_001)])
    assert before <= rows[0][2] <= rows[1][2] <= after
