# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages to streams, and messages that a stream's end still sends."""

import time
from collections import deque

import pmt
from gnuradio import gr

from .._runtime import listeners, publish
from .streams import BlockLog, OutputQueue

# GNU Radio tells a block here that the sender of its messages is done.
_SYSTEM = pmt.intern("system")
_DONE = pmt.intern("done")
_WAKE = pmt.intern("wake")
# Seconds between calls of a block for displays: messages that come meanwhile share the next one.
_PACE = 0.02


class message_source(gr.basic_block):
    """Base of the blocks whose output streams come from messages.

    A subclass has ``_accept(message)``, which fills ``_queue``, or raises: then the message is
    counted, logged and left out. The streams end, once everything is out, after the message PMT_EOF
    or with the block that sends the messages.

    Args:
        name: of the block.
        port: name of the message port.
        out_sig: types of the output streams.
        most: messages that may wait.
        multiple: of output items, while buffers are made: it makes the scheduler allocate large
            ones. start() takes it back.
        newest: whether a new message takes the place of the oldest where ``most`` wait, and none is
            kept when the flowgraph stops or changes; otherwise the new one is dropped, and those
            that wait are for the next start.
    """

    def __init__(self, name, port, out_sig, most=1000, multiple=1, newest=False):
        self._queue = OutputQueue()
        self._log = BlockLog(self)
        self._waiting = deque()
        self._most, self._newest, self._multiple = most, newest, multiple
        self._ended, self._idle_calls = False, 0
        self._messages = self._dropped = 0
        gr.basic_block.__init__(self, name, None, out_sig)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_output_multiple(multiple)
        self.message_port_register_in(pmt.intern(port))
        self.set_msg_handler(pmt.intern(port), self._take)
        self.set_msg_handler(_SYSTEM, self._on_system)

    def messages(self):
        """Messages taken since the block was made."""
        return self._messages

    def refused(self):
        """Messages left out because they were not what the block takes."""
        return self._log.failures

    def dropped(self):
        """Messages dropped because too many waited, or cut off by a stop of the flowgraph."""
        return self._dropped

    def start(self):
        self._ended, self._idle_calls = False, 0
        self.set_output_multiple(1)
        return gr.basic_block.start(self)

    def stop(self):
        self._log.flush()
        self._dropped += bool(self._queue)
        self._queue.clear()
        if self._newest:
            self._dropped += len(self._waiting)
            self._waiting.clear()
        self.set_output_multiple(self._multiple)
        return gr.basic_block.stop(self)

    def forecast(self, noutput_items, ninputs):
        return [0] * ninputs

    def general_work(self, _input_items, output_items):
        empty = not self._queue
        while self._waiting and (not self._queue or (empty and self._newest)):
            message = self._waiting.popleft()
            with self._log.guard("a message"):
                self._accept(message)
                self._messages += 1
        produced = self._queue.produce(self, output_items)
        if produced and self._newest:
            time.sleep(_PACE)
        if produced or not self._ended:
            # A source that gives nothing is called again when a message comes.
            return produced
        # Messages are handled before a call, each port in turn: one that was sent just before the
        # sender's end can be behind it by a call.
        self._idle_calls += 1
        if self._idle_calls > 2:
            return -1
        self.to_basic_block()._post(_SYSTEM, _WAKE)
        return 0

    def _take(self, message):
        # GNU Radio calls this for as long as messages come, and nothing else: be quick.
        if pmt.is_eof_object(message):
            self._ended = True
            return
        if len(self._waiting) >= self._most:
            self._dropped += 1
            self._log.warn("messages dropped", f"message dropped: {self._most} wait already")
            if not self._newest:
                return
            self._waiting.popleft()
        self._waiting.append(message)

    def _on_system(self, message):
        if pmt.is_pair(message) and pmt.eqv(pmt.car(message), _DONE):
            self._ended = True


class message_outlet(gr.basic_block):
    """Message ports through which another block sends, until that says that it has ended.

    GNU Radio tells the receivers of a block's messages that it is done, and they end, before it
    calls the block's stop(): what is sent there comes too late. A hierarchical block that holds
    this one beside the block that works sends everything through it.
    """

    def __init__(self, ports):
        gr.basic_block.__init__(self, "message_outlet", None, None)
        self._ports = {name: pmt.intern(name) for name in ports}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def join(self, parent):
        """Become a part of a hierarchical block, the ports its own."""
        # Nothing else connects it: where nobody listens it is no part of the flowgraph. It would go
        # on, and the flowgraph not end, after its parent is taken out of it.
        for name in self._ports:
            parent.message_port_register_hier_out(name)
            parent.msg_connect(self, name, parent, name)

    def start(self):
        # GNU Radio 3.10 does not forget by itself that an earlier run has ended.
        self._set_done(0)
        return gr.basic_block.start(self)

    @property
    def ports(self):
        """Names of the ports."""
        return tuple(self._ports)

    def listeners(self, name):
        """How many ports a port is connected with; known while the flowgraph runs."""
        return listeners(self.to_basic_block(), self._ports[name])

    def send(self, name, *messages):
        """Send messages through a port, from any thread."""
        publish(self.to_basic_block(), self._ports[name], messages)

    def end(self):
        """Everything was sent: end, and tell the receivers."""
        self._set_done(1)

    def _set_done(self, value):
        self.to_basic_block()._post(_SYSTEM, pmt.cons(_DONE, pmt.from_long(value)))
