# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of blocks that turn messages into streams, or send messages when they end."""

import time
from collections import deque

import pmt
from gnuradio import gr

from .streams import Batched, BlockLog, OutputQueue

# GNU Radio's port and message that tell a block that a sender of its messages is done.
_SYSTEM = pmt.intern("system")
_DONE = pmt.intern("done")
_WAKE = pmt.intern("wake")
# Seconds between calls of a display block; messages that arrive meanwhile share the next call.
_PACE = 0.02


class Listening:
    """Mixin of blocks that take messages at a port.

    As all blocks of GNU Radio, the block ends when the first block that sends it messages ends.
    """

    def _listen(self, port, take):
        """Call ``take`` with each message that arrives at a port, a PMT of its name."""
        self._port, self._on_message = port, take
        self.message_port_register_in(port)
        self.set_msg_handler(port, take)
        self.set_msg_handler(_SYSTEM, self._on_system)

    def start(self):
        # GNU Radio 3.10 does not reset the finished state of an earlier run by itself.
        self.to_basic_block().clear_finished()
        return super().start()

    def stop(self):
        self._log.flush()
        return super().stop()

    def drain(self):
        """Take the messages that wait, which GNU Radio would drop at the end."""
        block = self.to_basic_block()
        while block.nmsgs(self._port):
            self._on_message(block.delete_head_nowait(self._port))

    def _on_system(self, message):
        self.drain()
        self.to_basic_block().system_handler(message)


class message_source(Batched, Listening, gr.basic_block):
    """Base class of blocks that turn messages into output streams.

    A subclass has a method ``_accept(message)``, which fills ``_queue``. If the method raises an
    exception, the message is skipped, counted (``refused``) and logged. After the message PMT_EOF,
    or when a sender of messages has ended, the streams end as soon as all output is written.

    Args:
        port: name of the message port.
        most: maximum number of waiting messages.
        batch: number of items for which the output buffers have room, twice.
        newest: whether a message beyond ``most`` replaces the oldest one, and all waiting messages
            are dropped when the flowgraph stops. If not, the new message is dropped, and waiting
            ones are kept for the next start.
    """

    def __init__(self, name, port, out_sig, most=1000, batch=1, newest=False):
        self._queue = OutputQueue()
        self._log = BlockLog(self)
        self._waiting = deque()
        self._most, self._newest = most, newest
        self._ended, self._idle_calls = False, 0
        self._messages = self._dropped = 0
        gr.basic_block.__init__(self, name, None, out_sig)
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self._ask_for(batch)
        self._listen(pmt.intern(port), self._take)

    def messages(self):
        """Return the number of messages accepted since the block was made."""
        return self._messages

    def refused(self):
        """Return the number of messages skipped because they are invalid."""
        return self._log.failures

    def dropped(self):
        """Return the number of messages dropped: too many waited, or the flowgraph stopped."""
        return self._dropped

    def start(self):
        self._ended, self._idle_calls = False, 0
        return super().start()

    def stop(self):
        self._dropped += bool(self._queue)
        self._queue.clear()
        if self._newest:
            self._dropped += len(self._waiting)
            self._waiting.clear()
        return super().stop()

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
            # The scheduler calls a source without output again when a message arrives.
            return produced
        # GNU Radio handles messages before a call, port by port. A message sent just before the
        # sender's end can therefore arrive one call after the end.
        self._idle_calls += 1
        if self._idle_calls > 2:
            return -1
        # Without another call, the stream would never end.
        self.to_basic_block()._post(_SYSTEM, _WAKE)
        return 0

    def _take(self, message):
        # While messages arrive, GNU Radio calls only this handler: be quick.
        if pmt.is_eof_object(message):
            self._ended = True
            return
        if len(self._waiting) >= self._most:
            self._dropped += 1
            self._log.warn("messages dropped", f"message dropped: {self._most} are waiting")
            if not self._newest:
                return
            self._waiting.popleft()
        self._waiting.append(message)

    def _on_system(self, message):
        if pmt.is_pair(message) and pmt.eqv(pmt.car(message), _DONE):
            self._ended = True


class message_outlet(gr.basic_block):
    """Message ports that stay open until another block calls ``end``.

    Before GNU Radio calls a block's stop(), it tells the receivers of its messages that the block
    is done, and they end: messages sent in stop() arrive too late. A hierarchical block therefore
    sends its messages through an outlet beside the working block.

    ``ports`` are their names; ``log`` is the ``BlockLog`` of both blocks.
    """

    def __init__(self, ports):
        gr.basic_block.__init__(self, "message_outlet", None, None)
        self.log = BlockLog(self)
        self._ports = {name: pmt.intern(name) for name in ports}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def join(self, parent):
        """Add the ports to a hierarchical block, which contains the outlet."""
        # Make no other connection: without a listener, the outlet must not be part of the
        # flowgraph. Otherwise it would keep the flowgraph running after its parent is removed.
        for name in self._ports:
            parent.message_port_register_hier_out(name)
            parent.msg_connect(self, name, parent, name)

    def start(self):
        # GNU Radio 3.10 does not clear the "done" state of an earlier run.
        self.to_basic_block().clear_finished()
        return gr.basic_block.start(self)

    def listeners(self, name):
        """Return the number of ports connected to a port, 0 if there is no such port."""
        return listeners(self, self._ports[name]) if name in self._ports else 0

    def send(self, name, *messages):
        """Send messages through a port, from any thread."""
        for message in messages:
            self.message_port_pub(self._ports[name], message)

    def end(self, done=True):
        """End a run after its last message; tell the receivers if the flowgraph is ``done``.

        If not, it was stopped from outside or is being changed.
        """
        if done:
            self.to_basic_block()._post(_SYSTEM, pmt.cons(_DONE, pmt.from_long(1)))


def listeners(block, port):
    """Return how many ports an output port, a PMT of its name, is connected to."""
    return pmt.length(block.message_subscribers(port))
