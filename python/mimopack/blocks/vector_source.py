# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output streams of a block whose own thread makes them."""

import threading

import numpy as np
import pmt
from gnuradio import gr

from .detector import BATCH_BYTES, BATCH_VECTORS
from .streams import Batched, OutputQueue, vector

_WAKE = pmt.intern("wake")


class vector_source(Batched, gr.basic_block):
    """Streams of arrays that another thread puts. The thread waits while too many items wait.

    Args:
        name: name of the block.
        widths: number of complex values in an item of each stream.

    Attributes:
        on_stop: function called when the block stops.
    """

    def __init__(self, name, widths):
        self.widths = widths
        self._queue, self._waiting = OutputQueue(), 0
        self._open = self._ended = self._stopped = False
        self._change = threading.Condition()
        gr.basic_block.__init__(self, name, None,
                                [vector(np.complex64, width) for width in widths])
        self.set_tag_propagation_policy(gr.TPP_DONT)
        # The port has no handler, whose reference to this object would delay its end. GNU Radio
        # drops the oldest messages.
        self.message_port_register_in(_WAKE)
        self._ask_for(min(BATCH_VECTORS, BATCH_BYTES // (8 * max(widths))))

    def open(self):
        """Take arrays from now on."""
        with self._change:
            self._open, self._stopped = True, False

    def put(self, arrays, tags):
        """Append items, see ``OutputQueue.put``. Drop them if the flowgraph has stopped."""
        with self._change:
            while self._open and self._waiting >= self._batch:
                self._change.wait()
            if not self._open:
                return
            self._queue.put(arrays, tags)
            self._waiting += len(arrays[0])
        self._wake()

    def end(self):
        """End the streams after the items that wait, unless they have ended."""
        with self._change:
            self._ended = not self._stopped
        self._wake()

    def close(self):
        """Drop the items that wait, and those of later calls until ``open``."""
        with self._change:
            self._queue.clear()
            self._open, self._ended, self._stopped, self._waiting = False, False, True, 0
            self._change.notify_all()

    def start(self):
        self._stopped = False
        return Batched.start(self)

    def stop(self):
        self.close()
        self.on_stop()
        return Batched.stop(self)

    def forecast(self, noutput_items, ninputs):
        return [0] * ninputs

    def general_work(self, _input_items, output_items):
        with self._change:
            produced = self._queue.produce(self, output_items)
            self._waiting -= produced
            self._change.notify_all()
            if self._ended and not produced and not self._queue:
                return -1
        # The scheduler calls a source without output again when a message arrives.
        return produced

    def _wake(self):
        self.to_basic_block()._post(_WAKE, pmt.PMT_NIL)
