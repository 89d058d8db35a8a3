# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run tasks on the workers of a Dask cluster. Dask is needed only here.

Dask gives the tasks of a lost worker to others. A worker computes nothing if its gr-mimopack or its
NumPy has another version than here, or if its instruction set is not that of the other workers.
"""

import asyncio
import ctypes
import logging
import os
import pickle
import time
import uuid
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from warnings import warn

from .checks import integer
from .identity import identity

ALLOWED = "local, local:WORKERS, or the address of a scheduler, such as tcp://HOST:8786"
_LOOK = 2.0    # seconds after which the list of workers is read again
_PATIENCE = 3.0    # seconds without a worker after which a line says so
_AHEAD = 2    # tasks for each slot: one computes, one waits on the worker
_TASKS_PER_SECOND = 100    # that a scheduler handles with ease, see docs/campaigns.md
# Ctrl-C in a terminal reaches all processes: only the program shall end, and then end the others.
_NO_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_SECONDS = 2.0    # length of a task on a small cluster
# {parameter of mallopt(): bytes}: the highest M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc itself
_KEPT = {-3: 32 << 20, -1: 64 << 20}


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
def connected(scheduler, tls_ca=None, tls_cert=None, tls_key=None, timeout=None):
    """Context manager: connect to a scheduler, or start one with workers on this machine.

    Args:
        scheduler: "local" for a worker on each core of this machine, "local:4" for four workers, or
            the address of a scheduler.
        tls_ca, tls_cert, tls_key: paths of PEM files for TLS: the certificate of the authority, and
            the client's certificate and key. Without them, Dask's configuration applies.
        timeout: seconds to wait for the scheduler; None waits for 30 s.

    Yields:
        ``distributed.Client``.

    Raises:
        ValueError: the scheduler's name is not allowed, or a file cannot be read.
        ImportError: Dask is not installed.
        OSError: the scheduler does not answer.
    """
    distributed = _distributed()
    count = _local_workers(scheduler)
    # A lost connection, or Ctrl-C while Dask waits, is no matter for logs: this program handles it.
    for name in ("distributed", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if "://" in scheduler:
            client = _client(distributed, scheduler, timeout, tls_ca, tls_cert, tls_key)
        else:
            # Dask starts lost workers again, as long as the cluster lives.
            stack.enter_context(_safe_path())
            client = distributed.Client(stack.enter_context(_local(distributed, count)))
        yield stack.enter_context(client)


@contextmanager
def _safe_path():
    """Context manager: processes that start meanwhile import nothing of the working folder first.

    multiprocessing starts them with ``python -c``, which looks there first, and then gives them the
    path of this process. Python 3.10 does not know the variable.
    """
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _local_workers(scheduler):
    """Return how many workers to start on this machine, None for its cores; check the name."""
    kind, colon, count = scheduler.partition(":")
    try:
        if "://" in scheduler or kind == "local" and not colon:
            return None
        if kind == "local":
            return integer("workers", int(count), 1, 4096)
    except ValueError:
        pass
    raise ValueError(f"scheduler: got {scheduler!r}, allowed are {ALLOWED}")


def _local(distributed, count):
    import dask

    try:
        # Dask's profiler looks at a worker's stack a hundred times a second. It takes about a
        # twentieth of the work's time.
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            return distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0",
                silence_logs=logging.CRITICAL, preload=[_NO_INTERRUPT])
    except RuntimeError as error:
        raise OSError(f"scheduler: workers cannot be started here: {error}") from None


def _client(distributed, scheduler, timeout, tls_ca, tls_cert, tls_key):
    try:
        security = distributed.Security(
            tls_ca_file=tls_ca, tls_client_cert=tls_cert, tls_client_key=tls_key,
            require_encryption=True) if tls_ca or tls_cert or tls_key else None
        return distributed.Client(scheduler, security=security, timeout=timeout or "30s",
                                  name="mimopack")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise OSError(f"scheduler: {scheduler} cannot be used: {error}") from None


def has_dashboard():
    """Return whether a scheduler of this machine can show its dashboard."""
    try:
        import bokeh  # noqa: F401
    except ImportError:
        return False
    return True


class _Call:
    """An object that pickle stores as a call: (function, arguments)."""

    def __init__(self, call):
        self._call = call

    def __reduce__(self):
        return self._call


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
        del self._expected["instruction set"]    # that of the first worker, see ``_checked``
        self._back = SimpleQueue()    # see ``_ended``
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
        results, computed = [], []
        for tasks, ended in self._ended(timeout):
            if tasks is None:
                computed += self._computed(ended)
            elif ended.cancelled() or ended.exception():
                # Of one of them, perhaps, and of no other.
                computed += [task for task in tasks if self._is_computed(task)]
            else:
                for task, result in zip(tasks, ended.result(), strict=True):
                    if self._pending.pop(task.future.key, None):
                        results.append((task.tag, *result))
        if computed:
            self._fetch(computed)
        return results

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
        call = _work, (self._expected, task.function, task.arguments)
        future = self._submit(key, call, **where)
        self._pending[key] = task._replace(future=future, bound=bound)

    def _submit(self, key, call, **where):
        """Let a worker call a (function, arguments); return the ``distributed.Future``.

        The call is bytes for Dask: a worker without this package would end on reading it, and the
        scheduler needs the package neither.
        """
        future = self._client.submit(pickle.loads, packed(_Call(call)), key=key, pure=False,
                                     **where)
        future.add_done_callback(self._has_ended)
        return future

    def _has_ended(self, future):
        self._back.put((None, future))

    def _ended(self, timeout):
        """Wait; return a list of (None, future of a task) or (tasks, future of their results)."""
        found = []
        try:
            found.append(self._back.get(timeout=timeout))
            while True:
                found.append(self._back.get_nowait())
        except Empty:
            return found

    def _computed(self, future):
        """Return the task of a future that has ended in a list, if its result can be fetched."""
        address = self._checks.pop(future.key, None)
        if address is not None:
            self._checked(address, future)
        task = self._pending.get(future.key)    # otherwise the task was discarded
        return [task] if task and self._is_computed(task) else []

    def _is_computed(self, task):
        """Return whether the result of a task can be fetched; handle the failure of a task.

        Raises:
            OSError, Exception: as for ``finished``.
        """
        if task.future.key not in self._pending:
            return False
        if task.future.status == "error":
            del self._pending[task.future.key]
            self._failed(task)
        elif task.future.status in ("cancelled", "lost"):
            raise self._lost()
        return task.future.status == "finished"

    def _fetch(self, tasks):
        """Fetch results without waiting: they are gone if their worker is, and computed again."""
        fetching = asyncio.run_coroutine_threadsafe(
            self._client.gather([task.future for task in tasks], asynchronous=True),
            self._client.loop.asyncio_loop)
        fetching.add_done_callback(lambda ended: self._back.put((tasks, ended)))

    def _failed(self, task):
        """Try a task once more, on a worker that was checked; else raise its exception.

        A task that has ended several workers is not tried again.
        """
        exception = task.future.exception()
        if isinstance(exception, _distributed().scheduler.KilledWorker):
            raise ConnectionError(f"workers ended one after another with the same task, the last "
                                  f"one at {exception.last_worker.address}: its log may say why")
        if task.again:
            raise exception
        self._look(now=True)
        accepted = tuple(self._accepted())
        self._start(task._replace(again=bool(accepted), bound=accepted))

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
        except (OSError, KeyError):    # Dask's answer may be empty while the connection breaks
            raise self._lost() from None
        for address in self._present.keys() - self._found.keys() - set(self._checks.values()):
            future = self._submit(f"identity-{uuid.uuid4().hex}", (identity, ()), workers=[address],
                                  allow_other_workers=False, priority=1)
            self._checks[future.key] = address
        self._count_slots()
        for key, task in list(self._pending.items()):
            if task.bound and not any(address in self._present for address in task.bound):
                del self._pending[key]
                self._client.cancel([task.future])
                self._start(task._replace(bound=()))

    def _count_slots(self):
        accepted = self._accepted().values()
        self.slots = max(1, sum(worker["nthreads"] for worker in accepted))
        self.task_seconds = max(_SECONDS, self.slots / _TASKS_PER_SECOND)
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
            if not reason:
                self._expected = future.result()
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
    return "; ".join(f"has {name} {found.get(name)} instead of {version}"
                     for name, version in expected.items() if found.get(name) != version)


def _work(expected, function, arguments):
    """Compute a task on a worker; return (result, seconds, address of the worker)."""
    from distributed import get_worker

    difference = _difference(expected, identity())
    if difference:
        raise RuntimeError(f"this worker {difference}")
    _keep_memory()
    begin = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begin, get_worker().address


def _keep_memory():
    """Keep freed memory for the next arrays, as glibc does on its own.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, so that they give memory back to the
    system at once. A third of a simulation's time would go into getting it again.
    """
    with suppress(OSError, AttributeError):    # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, threshold in _KEPT.items():
            mallopt(parameter, threshold)
