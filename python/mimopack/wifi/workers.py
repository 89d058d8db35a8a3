# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that share tasks with the thread that waits for them."""

import threading
import weakref
from collections import deque


class Task:
    """A call that a thread of :class:`Workers` makes, or the thread that waits for its result."""

    def __init__(self, function, arguments):
        self._function, self._arguments = function, arguments
        self._value = self._error = None
        self.done = False

    def run(self):
        """Make the call."""
        try:
            self._value = self._function(*self._arguments)
        except BaseException as error:    # who asks for the result gets it
            self._error = error
        self._function = self._arguments = None
        self.done = True

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


class _Shared:
    """What the threads hold, so that they do not keep the :class:`Workers` alive."""

    def __init__(self):
        self.tasks, self.change, self.closed = deque(), threading.Condition(), False

    def serve(self):
        while True:
            with self.change:
                self.change.wait_for(lambda: self.tasks or self.closed)
                if self.closed:
                    return
                task = self.tasks.popleft()
            self.run(task)
            del task

    def run(self, task):
        task.run()
        with self.change:
            self.change.notify_all()

    def close(self):
        with self.change:
            self.closed = True
            self.change.notify_all()


class Workers:
    """Threads for tasks. The thread that waits for a task runs others meanwhile: so as many threads
    work as were asked for.

    Args:
        threads: how many, 1 or more, the one that waits included. With 1, :meth:`submit` runs the
            task.
    """

    def __init__(self, threads):
        self._shared = _Shared()
        self._alone = threads == 1
        for index in range(threads - 1):
            threading.Thread(target=self._shared.serve, name=f"wifi_worker_{index}",
                             daemon=True).start()
        weakref.finalize(self, self._shared.close)

    def submit(self, function, *arguments):
        """Have a function called by any of the threads; return the :class:`Task`."""
        if self._alone:
            return self.run(function, *arguments)
        task = Task(function, arguments)
        with self._shared.change:
            self._shared.tasks.append(task)
            self._shared.change.notify()
        return task

    @staticmethod
    def run(function, *arguments):
        """Call a function now; return the :class:`Task`, done."""
        task = Task(function, arguments)
        task.run()
        return task

    def finish(self, task):
        """Wait until a task is done; nobody else may wait at the same time.

        Raises:
            KeyboardInterrupt: Ctrl-C has ended the task's call.
        """
        shared = self._shared
        while not task.done:
            with shared.change:
                if task in shared.tasks:
                    shared.tasks.remove(task)
                    mine = task
                elif shared.tasks:
                    mine = shared.tasks.popleft()
                else:
                    shared.change.wait_for(lambda: task.done or shared.tasks)
                    continue
            shared.run(mine)
        if task.interrupted:
            task.value()

    def result(self, task):
        """Wait until a task is done; return what its call returned, or raise what it raised."""
        self.finish(task)
        return task.value()
