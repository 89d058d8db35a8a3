# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let a crew of workers carry out the tasks of simulations."""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

_WAIT = 0.5    # seconds after which the crew is asked again


class Threads:
    """Threads of this process. A :class:`cluster.Cluster` has the same methods.

    Args:
        slots: number of threads.
    """

    task_seconds = None    # of no importance: a task is a batch

    def __init__(self, slots):
        self.slots = slots
        self._pool = ThreadPoolExecutor(slots)
        self._pending = {}    # {future: tag}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pool.shutdown(cancel_futures=True)

    def __len__(self):
        return len(self._pending)

    def room(self, resource=None):
        """Return how many more tasks keep all threads busy."""
        return self.slots + 2 - len(self._pending)

    def submit(self, tag, function, *arguments, resource=None):
        """Hand out a task, which calls a function.

        Raises:
            OSError: the system refuses to start a thread.
        """
        try:
            future = self._pool.submit(_timed, function, arguments)
        except RuntimeError as error:
            raise OSError(f"threads: {error}") from None
        self._pending[future] = tag

    def finished(self, timeout):
        """Wait for tasks; return a list of (tag, result, seconds, worker)."""
        done, _ = wait(self._pending, timeout, FIRST_COMPLETED)
        return [(self._pending.pop(future), *future.result()) for future in done]

    def discard(self, unwanted):
        """Drop the tasks for whose tag a function returns True."""
        for future, tag in list(self._pending.items()):
            if unwanted(tag):
                future.cancel()
                del self._pending[future]


def _timed(function, arguments):
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin, threading.get_ident()


def carry_out(plans, crew, deadline=float("inf")):
    """Carry out plans until all are complete or time is up.

    Args:
        plans: list of ``Plan``. Earlier ones come first; later ones fill the gaps.
        crew: ``Threads`` or ``cluster.Cluster``.
        deadline: value of ``time.monotonic()`` after which no task is handed out.
    """
    while True:
        while time.monotonic() < deadline and _hand_out(plans, crew):
            pass
        late = time.monotonic() >= deadline
        if not len(crew) and (late or all(plan.complete for plan in plans)):
            return
        for task, *outcome in crew.finished(_WAIT):
            task.plan.take(task, *outcome)
        crew.discard(lambda task: not task.useful)
        for plan in plans:
            plan.simulation.save()


def _hand_out(plans, crew):
    """Hand out a task; return whether there was one."""
    for eager in (False, True):
        for plan in plans:
            simulation = plan.simulation
            if crew.room(simulation.resource) > 0:
                task = plan.next_task(crew.slots, crew.task_seconds, eager)
                if task is not None:
                    crew.submit(task, *simulation.call, *task.arguments,
                                resource=simulation.resource)
                    return True
    return False
