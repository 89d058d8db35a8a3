# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of hierarchical blocks."""

import weakref
from contextlib import suppress

from gnuradio import gr


class hierarchical_block(gr.hier_block2):
    """Hierarchical block with complex inputs or outputs and message ports.

    In GNU Radio 3.10, a hierarchical block that connects a message port of its own holds references
    to itself (GNU Radio's issue 7706), and its methods for the log level and the affinity call
    themselves without end. This class cuts the connections when Python frees the object, and its
    methods call those of the inner blocks.

    ``widths`` are the numbers of complex values in an item of each output.
    """

    def __init__(self, name, num_inputs, widths=()):
        num_outputs = len(widths)
        gr.hier_block2.__init__(
            self, name, gr.io_signature(num_inputs, num_inputs, gr.sizeof_gr_complex),
            gr.io_signature.makev(num_outputs, num_outputs,
                                  [gr.sizeof_gr_complex * width for width in widths or (1,)]))
        self._inner, self._connected = [], []
        # At the interpreter's end, GNU Radio may already be gone.
        weakref.finalize(self, _free, self.to_basic_block(), self._connected).atexit = False

    def connect_inputs(self, block):
        """Connect all inputs to the inputs of a block."""
        for port in range(self.input_signature().max_streams()):
            self.connect((self, port), (block, port))

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
            if block is not self and block not in self._inner:
                self._inner.append(block)

    def set_log_level(self, level):
        for block in self._inner:
            block.set_log_level(level)

    def log_level(self):
        return self._inner[0].log_level()

    def set_processor_affinity(self, mask):
        for block in self._inner:
            block.set_processor_affinity(mask)

    def unset_processor_affinity(self):
        for block in self._inner:
            block.unset_processor_affinity()

    def processor_affinity(self):
        return self._inner[0].processor_affinity()


def _free(hierarchy, connected):
    for ends in connected:
        # An input is cut, and then not found among the outputs.
        with suppress(RuntimeError):
            hierarchy.primitive_msg_disconnect(*ends)
    hierarchy.disconnect_all()
