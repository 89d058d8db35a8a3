# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that encode information bits to codewords."""

import numpy as np
import pmt
from gnuradio import gr

from .. import coding
from .._runtime import to_pmt
from .message_stream import Listening
from .streams import BlockLog, batched_block, vector

# Target size of a batch per work() call, in bytes at the larger port.
BATCH_BYTES = 2**23
# Minimum number of codewords per batch: they fill a few SIMD registers.
LEAST_CODEWORDS = 128

IN = pmt.intern("in")
OUT = pmt.intern("out")


def batch_of_codewords(item_bytes):
    """Return how many items to ask GNU Radio for, given the bytes of the larger item."""
    return max(BATCH_BYTES // item_bytes, LEAST_CODEWORDS)


class fec_encoder(batched_block):
    """Encode information bits with a block code; each item is one codeword.

    Ports:
        in 0 ``bits``: byte, vlen code.num_info: one bit per byte (the least significant).
        out 0 ``coded``: byte, vlen code.num_bits: one bit per byte.

    Each input item gives one output item, with its tags.

    Args:
        code: a name that ``coding.get`` takes, such as "wimax:2304:1/2", "wifi:1944:5/6",
            "nr:1:384", "nr_matched:1000:2000:4", "turbo:6144" or "conv:1000:3/4", or the path of an
            alist file.

    Raises:
        ValueError: ``coding.get`` refuses the name.
        OSError: the file of a code cannot be read.
    """

    def __init__(self, code="wimax:2304:1/2"):
        self._code = coding.get(code)
        batched_block.__init__(self, "fec_encoder", [vector(np.uint8, self._code.num_info)],
                               [vector(np.uint8, self._code.num_bits)],
                               batch_of_codewords(self._code.num_bits))

    def work(self, input_items, output_items):
        bits, out = input_items[0], output_items[0]
        out[...] = self._code.encode(bits.reshape(len(out), -1) & 1).reshape(out.shape)
        return len(out)


class fec_encoder_pdu(Listening, gr.basic_block):
    """Encode PDUs of information bits with a block code into PDUs of coded bits.

    Message ports:
        in ``in``: PDUs of the information bits of one or several codewords (u8vector, one bit per
            byte, the least significant). Other messages are skipped, counted (``refused``) and
            logged.
        out ``out``: PDUs of the codewords (u8vector, one bit per byte), with the metadata of the
            input PDU.

    Args:
        code: see ``fec_encoder``.

    Raises:
        ValueError, OSError: as in ``fec_encoder``.
    """

    def __init__(self, code="wimax:2304:1/2"):
        self._code = coding.get(code)
        self._log = BlockLog(self)
        gr.basic_block.__init__(self, "fec_encoder_pdu", None, None)
        self._listen(IN, self._take)
        self.message_port_register_out(OUT)

    def refused(self):
        """Return the number of messages skipped because they are not PDUs of information bits."""
        return self._log.failures

    def _take(self, message):
        with self._log.guard("PDU"):
            info, values = pdu_parts(message)
            bits = codewords(values, self._code.num_info, np.uint8)
            coded = self._code.encode(bits & 1)
            self.message_port_pub(OUT, pmt.cons(info, to_pmt(coded.tobytes())))


def pdu_parts(message):
    """Return (metadata, vector) of a PDU.

    Raises:
        ValueError: the message is not a PDU.
    """
    if not pmt.is_pair(message) or not (pmt.is_dict(pmt.car(message))
                                        or pmt.is_null(pmt.car(message))):
        raise ValueError("the message is not a pair of a dictionary and a vector")
    return pmt.car(message), pmt.cdr(message)


def codewords(values, width, *kinds):
    """Return the vector of a PDU, of one of some NumPy types, as an array (n, width).

    Raises:
        ValueError: the vector is of another type, or does not fill one or more whole rows.
    """
    array = pmt.to_python(values) if pmt.is_uniform_vector(values) else np.array(None)
    if array.dtype not in kinds:
        raise ValueError(f"the message has no vector of {kinds[0].__name__}")
    if not array.size or array.size % width:
        raise ValueError(f"got {array.size} values, must be a positive multiple of {width}")
    return array.reshape(-1, width)
