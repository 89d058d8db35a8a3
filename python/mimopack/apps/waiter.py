# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a flowgraph and wait for its end in a thread, so that a program can do other work meanwhile.
"""

import threading
from contextlib import suppress

from gnuradio import gr

from .. import _runtime

_INTERVAL = 0.005    # seconds between two looks


class Flowgraph(gr.top_block):
    """Top block that keeps its blocks, and knows whether any of them runs.

    GNU Radio itself keeps the C++ part of a block only: the process crashes if a block in Python
    runs without its object.

    Args:
        name: name of the top block.

    ``connect`` and ``msg_connect`` refuse hierarchical blocks of others with a TypeError.
    """

    def __init__(self, name="top_block"):
        super().__init__(name)
        self._blocks = {}    # by their C++ parts

    def connect(self, *points):
        """Connect blocks as ``gr.top_block`` does."""
        super().connect(*points)
        for point in points:
            self._keep(point[0] if isinstance(point, tuple) else point)

    def msg_connect(self, source, source_port, target=None, target_port=None):
        """Connect message ports as ``gr.top_block`` does."""
        super().msg_connect(source, source_port, target, target_port)
        for block in (source[0], source_port[0]) if target is None else (source, target):
            self._keep(block)

    def _keep(self, block):
        inner = block.to_basic_block()
        _runtime.any_runs([inner])    # refuses a block whose threads are not known
        self._blocks.setdefault(inner, block)

    def runs(self):
        """Return whether any block runs. Call this only between ``start`` and ``wait``."""
        return _runtime.any_runs(list(self._blocks))


class Waiter:
    """Start a flowgraph, and wait for its end in a thread.

    Programs leave ``start``, ``stop`` and ``wait`` of the flowgraph to this object. In GNU Radio
    3.10, ``stop`` while another thread is in ``wait`` uses the data of threads after they were
    freed (its issue 7276). The thread here calls one after the other.

    Programs wait for ``ended`` and not for the thread: Ctrl-C within ``Thread.join`` makes Python
    3.11 believe that a running thread has ended.

    Args:
        top: ``Flowgraph``.

    Attributes:
        ended: ``threading.Event``, set at the flowgraph's end.
        failure: the exception with which GNU Radio ended the flowgraph, or None.

    Raises:
        RuntimeError: the system refuses a thread, or the flowgraph does not start.
    """

    def __init__(self, top):
        self.ended, self.failure, self._top = threading.Event(), None, top
        self._started, self._stopped = threading.Event(), threading.Event()
        self._gives_up = False
        threading.Thread(target=self._wait, daemon=True).start()
        try:
            top.start()
        except BaseException:
            self._top = None    # GNU Radio's threads, if any, are lost: nothing can wait for them
            raise
        finally:
            self._started.set()

    def stop(self):
        """Stop the flowgraph and wait for its end, unless a call was interrupted while it waited.
        """
        self._stopped.set()
        if self._gives_up:
            return
        try:
            self.ended.wait()
        except BaseException:
            self._gives_up = True
            raise

    def _wait(self):
        self._started.wait()
        if self._top is None:
            return
        try:
            while self._top.runs():
                if self._stopped.wait(_INTERVAL):
                    self._top.stop()
                    break
            self._top.wait()
        except Exception as error:
            self.failure = error
            self._top.stop()
            with suppress(Exception):
                self._top.wait()
        finally:
            self._top = None    # it may be the last reference: blocks are freed before the end
            self.ended.set()
