# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that share tasks with the thread that waits for the results."""

import threading
import weakref
from queue import Empty, SimpleQueue


class Task:
    """A function call, made by a thread of :class:`Workers` or by the thread that waits for it."""

    def __init__(self, function, arguments):
        self._function, self._arguments = function, arguments
        self._value = self._error = None
        self._pending = threading.Lock()    # held until the call has ended
        self._pending.acquire()

    @property
    def done(self):
        """Whether the call has ended."""
        return not self._pending.locked()

    def run(self):
        """Make the call."""
        try:
            self._value = self._function(*self._arguments)
        except BaseException as error:    # raised again by value()
            self._error = error
        finally:
            self._function = self._arguments = None
            self._pending.release()

    def wait(self):
        """Wait until the call has ended."""
        with self._pending:
            pass

    @property
    def interrupted(self):
        """Whether Ctrl-C has ended the call, and value() has not raised KeyboardInterrupt yet."""
        return self._error is not None and not isinstance(self._error, Exception)

    def value(self):
        """Return the result of a finished call, or raise its exception."""
        error = self._error
        if self.interrupted:
            # Raise one KeyboardInterrupt per Ctrl-C, however often the value is asked for.
            self._error = RuntimeError("a task was interrupted")
        if error is not None:
            raise error
        return self._value


def _serve(tasks, at_work, index):
    """Run tasks until None arrives; mark in ``at_work`` when this thread is busy."""
    while (task := tasks.get()) is not None:
        at_work[index] = True
        task.run()
        at_work[index] = False
        del task


def _close(tasks, threads):
    for _ in range(threads):
        tasks.put(None)


class Workers:
    """Run tasks in threads. A thread that waits for a task runs other tasks meanwhile.

    The waiting thread therefore counts as one of the threads that work. A thread is woken only if
    it has something to do, since each wake-up competes for the interpreter lock.

    Args:
        threads: number of threads, at least 1, including the one that waits. With 1,
            :meth:`submit` runs the task itself.
    """

    def __init__(self, threads):
        self._tasks = SimpleQueue()
        self._alone = threads == 1
        self._at_work = [False] * (threads - 1)
        # Register the end first: if a thread cannot start, the threads before it end all the same.
        weakref.finalize(self, _close, self._tasks, threads - 1)
        for index in range(threads - 1):
            # The threads hold no reference to this object, so that its end can finish them.
            threading.Thread(target=_serve, args=(self._tasks, self._at_work, index),
                             name=f"wifi_worker_{index}", daemon=True).start()

    def submit(self, function, *arguments):
        """Queue a function call for any of the threads; return the :class:`Task`."""
        if self._alone:
            return self.run(function, *arguments)
        task = Task(function, arguments)
        self._tasks.put(task)
        return task

    @staticmethod
    def run(function, *arguments):
        """Call a function now; return the finished :class:`Task`."""
        task = Task(function, arguments)
        task.run()
        return task

    def finish(self, task):
        """Wait until a task is done, and run pending tasks meanwhile.

        Raises:
            KeyboardInterrupt: Ctrl-C has ended the task's call.
        """
        while not task.done:
            if not self.run_one():    # another thread runs the task
                task.wait()
        if task.interrupted:
            task.value()

    @property
    def overloaded(self):
        """Whether more tasks wait than threads are idle."""
        return self._tasks.qsize() > self._at_work.count(False)

    def run_one(self):
        """Run a pending task; return whether there was one."""
        try:
            task = self._tasks.get_nowait()
        except Empty:
            return False
        task.run()
        return True

    def result(self, task):
        """Wait until a task is done; return its result or raise its exception."""
        self.finish(task)
        return task.value()
