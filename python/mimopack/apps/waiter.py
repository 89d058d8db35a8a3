# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for the end of a flowgraph in a thread, so that a program can do other work meanwhile."""

import threading


class Waiter:
    """A thread that waits until a flowgraph has ended.

    Programs wait for ``ended`` and not for the thread: Ctrl-C within ``Thread.join`` makes Python
    3.11 believe that a running thread has ended.

    Args:
        top: a flowgraph that has started.

    Attributes:
        ended: ``threading.Event``, set at the flowgraph's end.
        failure: the exception with which GNU Radio ended the flowgraph, or None.
    """

    def __init__(self, top):
        self.ended, self.failure, self._top = threading.Event(), None, top
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self):
        try:
            self._top.wait()
        except Exception as error:
            self.failure = error
            self._top.stop()
            self._top.wait()
        finally:
            self.ended.set()
