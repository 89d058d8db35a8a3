# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run tasks on the workers of a Dask cluster. Dask is needed only here.

Dask gives the tasks of a lost worker to others. A worker whose gr-mimopack is another one computes
nothing.
"""

import logging
import time
import uuid
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from warnings import warn

from .identity import identity

ALLOWED = "local, local:WORKERS, or the address of a scheduler, such as tcp://HOST:8786"
_LOOK = 2.0    # seconds after which the list of workers is read again
_PATIENCE = 3.0    # seconds without a worker after which a line says so
_AHEAD = 2    # tasks for each slot: one computes, one waits on the worker
_SLOTS_PER_SECOND = 200    # tasks per second that a scheduler handles with ease
_SECONDS = 2.0    # length of a task on a small cluster


def _distributed():
    try:
        import distributed
    except ImportError:
        raise ImportError("clusters need Dask: python3 -m pip install distributed") from None
    return distributed


def packed(value):
    """Return a value pickled; classes of a script are pickled too, see cloudpickle."""
    _distributed()
    import cloudpickle

    return cloudpickle.dumps(value)


@contextmanager
def connected(scheduler, tls_ca=None, tls_cert=None, tls_key=None):
    """Context manager: connect to a scheduler, or start one with workers on this machine.

    Args:
        scheduler: "local" for a worker on each core of this machine, "local:4" for four workers, or
            the address of a scheduler.
        tls_ca, tls_cert, tls_key: paths of PEM files for TLS: the certificate of the authority, and
            the client's certificate and key. Without them, Dask's configuration applies.

    Yields:
        ``distributed.Client``.

    Raises:
        ValueError: the scheduler's name is not allowed, or a file cannot be read.
        ImportError: Dask is not installed.
        OSError: the scheduler does not answer.
    """
    distributed = _distributed()
    kind, _, count = scheduler.partition(":")
    if kind != "local" and "://" not in scheduler:
        raise ValueError(f"scheduler: got {scheduler!r}, allowed are {ALLOWED}")
    # A lost connection is an error of this program, not lines of Dask's log.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if kind == "local":
        with _local(distributed, scheduler, count) as cluster, distributed.Client(
                cluster) as client:
            yield client
        return
    try:
        security = distributed.Security(
            tls_ca_file=tls_ca, tls_client_cert=tls_cert, tls_client_key=tls_key,
            require_encryption=True) if tls_ca or tls_cert or tls_key else None
        client = distributed.Client(scheduler, security=security, name="mimopack")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise OSError(f"scheduler: {scheduler} cannot be used: {error}") from None
    with client:
        yield client


def _local(distributed, scheduler, count):
    try:
        if count and not 0 < int(count) <= 4096:
            raise ValueError
    except ValueError:
        raise ValueError(f"scheduler: got {scheduler!r}, allowed are {ALLOWED}") from None
    return distributed.LocalCluster(
        n_workers=int(count) if count else None, threads_per_worker=1, processes=True,
        dashboard_address=":0" if _has_dashboard() else None, silence_logs=logging.CRITICAL)


def _has_dashboard():
    try:
        import bokeh  # noqa: F401
    except ImportError:
        return False
    return True


class _Task(NamedTuple):
    tag: Any
    function: Any
    arguments: tuple
    resource: Any
    future: Any
    again: bool    # whether this is the second attempt
    bound: tuple    # addresses of the only workers that may compute it, empty for all


class Cluster:
    """Carry out tasks on the workers of a cluster.

    Use it as a context manager: at the end, its remaining tasks are dropped.

    Args:
        client: ``distributed.Client``.
        say: function called with a line about the workers; None warns.

    Raises:
        ValueError: client is something else.
        ImportError: Dask is not installed.

    Attributes:
        slots: number of tasks that the accepted workers compute at once.
        task_seconds: time that a task should take, so that the scheduler keeps up.
    """

    def __init__(self, client, say=None):
        if not isinstance(client, _distributed().Client):
            raise ValueError(f"client: got {client!r}, must be a distributed.Client")
        self._client, self._say = client, say or (lambda line: warn(line, stacklevel=2))
        self._expected = identity()
        self._back = SimpleQueue()    # futures that have ended
        self._pending = {}    # {key: _Task}
        self._checks = {}    # {key of a future: address of the worker that it checks}
        self._present = {}    # {address: information of the scheduler}
        self._found = {}    # {address: "", or the reason why the worker is refused}
        self._looked = -float("inf")
        self._idle = {}    # {resource: time since when no worker has it; infinite if that was said}
        self.slots, self.task_seconds = 1, _SECONDS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.discard(lambda tag: True)

    def __len__(self):
        return len(self._pending)

    def room(self, resource=None):
        """Return how many more tasks keep all workers busy that have a resource."""
        self._look()
        slots = sum(worker["resources"].get(resource, 0) if resource else worker["nthreads"]
                    for worker in self._accepted().values())
        busy = sum(task.resource == resource for task in self._pending.values())
        self._tell_waiting(resource, slots)
        return int(_AHEAD * slots) - busy

    def submit(self, tag, function, *arguments, resource=None):
        """Hand out a task, which calls a function that can be pickled.

        A worker computes it that has one unit of the resource.
        """
        self._start(_Task(tag, function, arguments, resource, None, False, ()))

    def finished(self, timeout):
        """Wait for tasks; return a list of (tag, result, seconds, worker).

        Raises:
            ValueError: all workers are refused.
            OSError: the scheduler is lost.
            Exception: as a task has raised, on two workers.
        """
        self._look()
        tasks = []
        for future in self._ended(timeout):
            if future.key in self._checks:
                self._checked(self._checks.pop(future.key), future)
                continue
            task = self._pending.pop(future.key, None)
            if task is None:    # discarded
                continue
            if future.status == "finished":
                tasks.append(task)
            elif future.status == "error":
                self._failed(task)
            else:
                raise self._lost()
        return [(task.tag, *result)
                for task, result in zip(tasks, self._gather(tasks), strict=True)]

    def discard(self, unwanted):
        """Drop the tasks for whose tag a function returns True."""
        dropped = [key for key, task in self._pending.items() if unwanted(task.tag)]
        futures = [self._pending.pop(key).future for key in dropped]
        if futures and self._client.status == "running":
            self._client.cancel(futures)

    def _start(self, task):
        bound = task.bound
        if not bound and any(self._found.values()):    # otherwise a refused worker takes all
            bound = tuple(self._accepted())
        where = {"workers": list(bound), "allow_other_workers": False} if bound else {}
        if task.resource:
            where["resources"] = {task.resource: 1}
        key = f"{task.function.__name__}-{uuid.uuid4().hex}"
        # The order of submission is the order of need, for all clients of the scheduler.
        future = self._client.submit(_work, self._expected, task.function, task.arguments, key=key,
                                     pure=False, **where)
        self._pending[key] = task._replace(future=future, bound=bound)
        future.add_done_callback(self._back.put)

    def _ended(self, timeout):
        """Return the futures that have ended, after waiting for one."""
        futures = []
        try:
            futures.append(self._back.get(timeout=timeout))
            while True:
                futures.append(self._back.get_nowait())
        except Empty:
            return futures

    def _gather(self, tasks):
        if not tasks:
            return []
        try:
            return self._client.gather([task.future for task in tasks])
        except (_distributed().client.FuturesCancelledError, OSError):
            raise self._lost() from None

    def _failed(self, task):
        """Try a task once more, on a worker that was checked; else raise its exception."""
        if task.again:
            raise task.future.exception()
        self._look(now=True)
        self._start(task._replace(again=True, bound=tuple(self._accepted())))

    def _accepted(self):
        return {address: worker for address, worker in self._present.items()
                if self._found.get(address) == ""}

    def _look(self, now=False):
        """Read the list of workers if that was long ago, and check new ones."""
        if not now and time.monotonic() < self._looked + _LOOK:
            return
        self._looked = time.monotonic()
        try:
            self._present = self._client.scheduler_info(n_workers=-1)["workers"]
        except OSError:
            raise self._lost() from None
        for address in self._present.keys() - self._found.keys() - set(self._checks.values()):
            future = self._client.submit(
                identity, key=f"identity-{uuid.uuid4().hex}", workers=[address],
                allow_other_workers=False, pure=False, priority=1)
            self._checks[future.key] = address
            future.add_done_callback(self._back.put)
        self._count_slots()
        for key, task in list(self._pending.items()):
            if task.bound and not any(address in self._present for address in task.bound):
                del self._pending[key]
                self._client.cancel([task.future])
                self._start(task._replace(bound=()))

    def _count_slots(self):
        accepted = self._accepted().values()
        self.slots = max(1, sum(worker["nthreads"] for worker in accepted))
        self.task_seconds = max(_SECONDS, self.slots / _SLOTS_PER_SECOND)
        if self._present and not accepted and not self._checks:
            raise ValueError("scheduler: all workers are refused: " + "; ".join(
                filter(None, self._found.values())))

    def _checked(self, address, future):
        """Accept or refuse a worker."""
        if future.status == "cancelled" or address not in self._present:
            return
        name = self._present[address].get("name", address)
        name = address if name == address else f"{name} ({address})"
        if future.status == "error":
            reason = f"gr-mimopack cannot be used: {future.exception()!r}"
        else:
            reason = _difference(self._expected, future.result())
        self._found[address] = reason and f"worker {name}: {reason}"
        if reason:
            self._say(f"refused {self._found[address]}")
        self._count_slots()

    def _tell_waiting(self, resource, slots):
        """Say, once, that no worker can compute the tasks."""
        if slots or self._checks:
            self._idle.pop(resource, None)
        elif time.monotonic() > self._idle.setdefault(resource, time.monotonic()) + _PATIENCE:
            self._idle[resource] = float("inf")
            self._say("waiting for a worker" + (
                f" with the resource {resource}: dask worker --resources {resource}=1"
                if resource else ""))

    def _lost(self):
        self._pending.clear()
        return ConnectionError(
            f"scheduler: lost the connection to {self._client.scheduler.address}")


def _difference(expected, found):
    return "; ".join(f"has {name} {found.get(name)}, this program has {version}"
                     for name, version in expected.items() if found.get(name) != version)


def _work(expected, function, arguments):
    """Compute a task on a worker; return (result, seconds, address of the worker)."""
    from distributed import get_worker

    difference = _difference(expected, identity())
    if difference:
        raise RuntimeError(f"this worker {difference}")
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin, get_worker().address
