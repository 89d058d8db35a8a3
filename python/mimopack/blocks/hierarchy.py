# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of hierarchical blocks, which GNU Radio would otherwise never free."""

import weakref
from contextlib import suppress

from gnuradio import gr

from .. import _runtime


class hierarchical_block(gr.hier_block2):
    """Hierarchical block with complex inputs or outputs and message ports.

    In GNU Radio 3.10, a hierarchical block that connects a message port of its own holds references
    to itself: in its list of blocks, and in its message connections, which ``disconnect_all`` does
    not cut (GNU Radio's issue 7706). It would never be freed, nor would the buffers that it reads.
    This class cuts all connections when Python frees the object.

    The log level and the processor affinity are those of the inner blocks.

    Args:
        name: name of the block.
        num_inputs: number of inputs.
        widths: number of complex values in an item of each output.
    """

    def __init__(self, name, num_inputs, widths=()):
        num_outputs = len(widths)
        signatures = [
            gr.io_signature(num_inputs, num_inputs, gr.sizeof_gr_complex),
            gr.io_signature.makev(num_outputs, num_outputs,
                                  [gr.sizeof_gr_complex * width for width in widths or (1,)])]
        # GNU Radio's own C++ object would overflow the stack.
        made = _runtime.hierarchy(name, *signatures)
        if hasattr(gr.hier_block2, "__getattr__"):    # GNU Radio 3.10.5
            self._impl = made
        else:    # GNU Radio 3.10.12
            gr.hier_block2.__init__(self, name, *signatures, underlying_impl=made)
        self._num_inputs, self._num_outputs, self._connected = num_inputs, num_outputs, []

    def connect_inputs(self, block, started):
        """Connect all inputs to the inputs of a block; ``started`` is set when the block starts."""
        for port in range(self._num_inputs):
            self.connect((self, port), (block, port))
        self._free_later(started)

    def connect_outputs(self, block):
        """Connect all outputs to the outputs of a block, which holds a device.

        The device is given back with the Python object, even if it has not run.
        """
        for port in range(self._num_outputs):
            self.connect((block, port), (self, port))
        self._free_later(None)

    def _free_later(self, started):
        # At the interpreter's end, GNU Radio may already be gone.
        weakref.finalize(self, _free, self._impl, started, self._connected).atexit = False

    def connect(self, *points):
        gr.hier_block2.connect(self, *points)
        self._contain(*(point[0] if isinstance(point, tuple) else point for point in points))

    def msg_connect(self, source, source_port, target, target_port):
        gr.hier_block2.msg_connect(self, source, source_port, target, target_port)
        self._connected.append((source.to_basic_block(), source_port,
                                target.to_basic_block(), target_port))
        self._contain(source, target)

    def _contain(self, *blocks):
        for block in blocks:
            if block is not self:
                self._impl.contain(block.to_basic_block())


def _free(hierarchy, started, connected):
    # A flowgraph that has not run has no buffers. It may still start, and then tell its user to
    # keep a reference to the block.
    if started is not None and not started.is_set():
        return
    # A flowgraph with this block does not start any more. Its error has the block's name.
    hierarchy.rename(f"{hierarchy.name()}, which Python freed because nothing refers to it")
    for ends in connected:
        # An input is cut, and then not found among the outputs.
        with suppress(RuntimeError):
            hierarchy.primitive_msg_disconnect(*ends)
    hierarchy.disconnect_all()
