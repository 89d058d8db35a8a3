# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that share tasks with the thread that waits for them."""

import threading
import weakref
from queue import Empty, SimpleQueue


class Task:
    """A call that a thread of :class:`Workers` makes, or the thread that waits for its result."""

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
        except BaseException as error:    # who asks for the result gets it
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
        """Whether Ctrl-C has ended the call, and nobody knows yet."""
        return self._error is not None and not isinstance(self._error, Exception)

    def value(self):
        """Return what the call returned, once it is done, or raise what it raised."""
        error = self._error
        if self.interrupted:
            # One Ctrl-C is one KeyboardInterrupt, whoever asks again.
            self._error = RuntimeError("a task was interrupted")
        if error is not None:
            raise error
        return self._value


def _serve(tasks, at_work, index):
    """Make calls until there is None in place of a task; say when."""
    while (task := tasks.get()) is not None:
        at_work[index] = True
        task.run()
        at_work[index] = False
        del task


def _close(tasks, threads):
    for _ in range(threads):
        tasks.put(None)


class Workers:
    """Threads for tasks. The thread that waits for a task runs others meanwhile: so as many threads
    work as were asked for.

    Nobody is woken but who has something to do: what each one wakes for costs Python's lock.

    Args:
        threads: how many, 1 or more, the one that waits included. With 1, :meth:`submit` runs the
            task.
    """

    def __init__(self, threads):
        self._tasks = SimpleQueue()
        self._alone = threads == 1
        self._at_work = [False] * (threads - 1)
        for index in range(threads - 1):
            # They do not hold the object, so that it ends them.
            threading.Thread(target=_serve, args=(self._tasks, self._at_work, index),
                             name=f"wifi_worker_{index}", daemon=True).start()
        weakref.finalize(self, _close, self._tasks, threads - 1)

    def submit(self, function, *arguments):
        """Have a function called by any of the threads; return the :class:`Task`."""
        if self._alone:
            return self.run(function, *arguments)
        task = Task(function, arguments)
        self._tasks.put(task)
        return task

    @staticmethod
    def run(function, *arguments):
        """Call a function now; return the :class:`Task`, done."""
        task = Task(function, arguments)
        task.run()
        return task

    def finish(self, task):
        """Wait until a task is done, and run others that nobody has begun meanwhile.

        Raises:
            KeyboardInterrupt: Ctrl-C has ended the task's call.
        """
        while not task.done:
            if not self.run_one():    # somebody runs it
                task.wait()
        if task.interrupted:
            task.value()

    @property
    def overloaded(self):
        """Whether more tasks wait than there are idle threads."""
        return self._tasks.qsize() > self._at_work.count(False)

    def run_one(self):
        """Run a task that nobody has begun; return whether there was one."""
        try:
            task = self._tasks.get_nowait()
        except Empty:
            return False
        task.run()
        return True

    def result(self, task):
        """Wait until a task is done; return what its call returned, or raise what it raised."""
        self.finish(task)
        return task.value()
