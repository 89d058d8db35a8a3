# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for the end of a flowgraph in a thread, so that a program can do other work meanwhile."""

import threading

from gnuradio import gr

from .. import _runtime

_INTERVAL = 0.005    # seconds between two looks


class Flowgraph(gr.top_block):
    """Top block that keeps its blocks, and knows whether any of them runs.

    GNU Radio itself keeps the C++ part of a block only: the process crashes if a block in Python
    runs without its object.

    Args:
        name: name of the top block.
    """

    def __init__(self, name="top_block"):
        super().__init__(name)
        self._blocks = []

    def connect(self, *points):
        """Connect blocks as ``gr.top_block`` does."""
        super().connect(*points)
        self._note(*points)

    def msg_connect(self, *points):
        """Connect message ports as ``gr.top_block`` does."""
        super().msg_connect(*points)
        self._note(*(point for point in points if not isinstance(point, str)))

    def _note(self, *points):
        for point in points:
            block = point[0] if isinstance(point, tuple) else point
            if not any(block is known for known in self._blocks):
                self._blocks.append(block)

    def runs(self):
        """Return whether any block runs. Only between ``start`` and ``wait``."""
        return _runtime.any_runs([block.to_basic_block() for block in self._blocks])


class Waiter:
    """A thread that waits until a flowgraph has ended.

    Programs call ``stop`` of this object and never that of the flowgraph: in GNU Radio 3.10,
    ``stop`` while another thread is in ``wait`` uses the data of threads after they were freed (its
    issue 7276). The thread here calls one after the other.

    Programs wait for ``ended`` and not for the thread: Ctrl-C within ``Thread.join`` makes Python
    3.11 believe that a running thread has ended.

    Args:
        top: a ``Flowgraph`` that has started.

    Attributes:
        ended: ``threading.Event``, set at the flowgraph's end.
        failure: the exception with which GNU Radio ended the flowgraph, or None.
    """

    def __init__(self, top):
        self.ended, self.failure, self._top = threading.Event(), None, top
        self._stopped = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def stop(self):
        """Stop the flowgraph and wait for its end."""
        self._stopped.set()
        self.ended.wait()

    def _wait(self):
        try:
            while self._top.runs():
                if self._stopped.wait(_INTERVAL):
                    self._top.stop()
                    break
            self._top.wait()
        except Exception as error:
            self.failure = error
            self._top.stop()
            self._top.wait()
        finally:
            self.ended.set()
