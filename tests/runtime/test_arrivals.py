# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block that notes when PDUs arrive."""

import time

import numpy as np
import pmt
import pytest
from flowgraphs import until
from gnuradio import gr
from gnuradio import pdu as pdus
from gnuradio.mimopack import _runtime
from wifi_blocks import post


def pdu(**values):
    return pmt.cons(_runtime.to_pmt_dict(values), pmt.init_u8vector(1, [0]))


@pytest.fixture
def noted():
    """Return a function that sends messages to the block and returns the rows that it noted."""
    top, block = gr.top_block(), _runtime.arrivals()
    sender = pdus.pdu_remove(pmt.intern("x"))    # connects the block, sends nothing
    top.msg_connect(sender, "pdus", block, "in")
    top.start()

    def note(messages, rows):
        for message in messages:
            post(block, "in", message)
        taken = []
        until(lambda: taken.append(block.take()) or sum(map(len, taken)) >= rows)
        return np.concatenate(taken)

    yield note
    top.stop()
    top.wait()


def test_notes_each_pdu(noted):
    before = time.monotonic_ns()
    moments = [pmt.make_tuple(pmt.from_uint64(5), pmt.from_double(0.25)),
               pmt.make_tuple(pmt.from_uint64(1_700_000_000), pmt.from_double(1e-9))]
    rows = noted([pdu(start=np.uint64(3), rx_time=moments[0]),
                   pdu(start=2**40, rx_time=moments[1])], 2)
    after = time.monotonic_ns()
    np.testing.assert_array_equal(
        rows[:, :2], [(3, 5_250_000_000), (2**40, 1_700_000_000_000_000_001)])
    assert before <= rows[0, 2] <= rows[1, 2] <= after


def test_leaves_out_other_messages(noted):
    moment = pmt.make_tuple(pmt.from_uint64(5), pmt.from_double(0.25))
    rows = noted([pmt.PMT_NIL, pmt.from_long(1), pmt.cons(pmt.PMT_NIL, pmt.PMT_NIL), pdu(start=1),
                   pdu(rx_time=moment), pdu(start="x", rx_time=moment), pdu(start=1, rx_time=2),
                   pdu(start=-1, rx_time=moment),
                   pdu(start=1, rx_time=pmt.make_tuple(pmt.from_uint64(5))),
                   pdu(start=1, rx_time=pmt.make_tuple(pmt.PMT_NIL, pmt.PMT_NIL)),
                   pdu(start=7, rx_time=moment)], 1)
    assert rows[:, 0].tolist() == [7]


def test_room_for_pdus():
    with pytest.raises(ValueError, match="room: got -1, allowed are 0 to 2\\^30"):
        _runtime.arrivals(-1)
    assert len(_runtime.arrivals(1000).take()) == 0
