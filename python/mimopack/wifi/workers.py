# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that share tasks with the thread that waits for the results."""

import threading
import weakref

from .. import _core


class WorkerPool:
    """Run tasks in threads. A thread that waits for a task runs other tasks meanwhile.

    The waiting thread therefore counts as one of the threads that work. The threads wait in C++. A
    task in C++ never needs Python's lock, so it does not wait for the threads that hold the lock.

    Args:
        threads: number of threads, at least 1, including the one that waits. With 1,
            :meth:`start` runs the task itself.

    Attributes:
        tasks: ``_core.TaskQueue``.
    """

    def __init__(self, threads):
        self.tasks = _core.TaskQueue()
        self._alone = threads == 1
        # The threads hold no reference to this object, so that its end, or that of the
        # interpreter, can end them.
        started = [threading.Thread(target=self.tasks.serve, name=f"wifi_worker_{index}",
                                    daemon=True) for index in range(threads - 1)]
        weakref.finalize(self, _end, self.tasks, started)
        for thread in started:
            thread.start()

    def start(self, task):
        """Queue a ``_core.Task`` for any of the threads; return the task."""
        if self._alone:
            task.run()
        else:
            self.tasks.put(task)
        return task

    def finish(self, task):
        """Wait until a task is done, and run pending tasks meanwhile.

        Raises:
            KeyboardInterrupt: Ctrl-C has ended the task's call.
        """
        while not task.done:
            if not self.tasks.run_one():    # another thread runs the task
                task.wait()
        if task.interrupted:
            task.value()


def _end(tasks, threads):
    """Let threads finish their tasks, and wait for them."""
    tasks.close()
    for thread in threads:
        if thread.ident and thread is not threading.current_thread():
            thread.join()
