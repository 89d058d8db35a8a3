# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute on a Dask cluster. Dask is needed only here.

Dask gives the tasks of a lost worker to others, and repeats a failed task once.
"""

import logging
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache

from .checks import integer
from .identity import identity

ALLOWED = "local, local:WORKERS, or the address of a scheduler, such as tcp://HOST:8786"
# Dask's profiler takes a twentieth of the time. Its workers give freed memory back to the system at
# once, which takes a third: the highest thresholds of glibc keep the memory.
_LOCAL_CONFIG = {"distributed.worker.profile.enabled": False,
                 "distributed.nanny.pre-spawn-environ": {
                     "MALLOC_TRIM_THRESHOLD_": 64 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20,
                     "OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1}}
# Ctrl-C in a terminal reaches all processes: only the program shall end, and then end the others.
_NO_INTERRUPT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def _distributed():
    try:
        import distributed
    except ImportError:
        raise ImportError("clusters need Dask: python3 -m pip install distributed") from None
    return distributed


@contextmanager
def connected(scheduler, tls_ca=None, tls_cert=None, tls_key=None, timeout="30s"):
    """Context manager: connect to a scheduler, or start one with workers on this machine.

    Args:
        scheduler: "local" for a worker on each core of this machine, "local:4" for four workers, or
            the address of a scheduler.
        tls_ca, tls_cert, tls_key: paths of PEM files for TLS: the certificate of the authority, and
            the client's certificate and key. Without them, Dask's configuration applies.
        timeout: time to wait for the scheduler.

    Yields:
        ``distributed.Client``.

    Raises:
        ValueError: the scheduler's name is not allowed.
        ImportError: Dask is not installed.
        OSError: the scheduler does not answer, or a file cannot be read.
    """
    distributed = _distributed()
    # The program itself reports a lost connection.
    for name in ("distributed", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if "://" not in scheduler:
        with _local_cluster(distributed, scheduler) as cluster, distributed.Client(
                cluster) as client:
            yield client
        return
    try:
        security = distributed.Security(
            tls_ca_file=tls_ca, tls_client_cert=tls_cert, tls_client_key=tls_key,
            require_encryption=True) if tls_ca or tls_cert or tls_key else None
        client = distributed.Client(scheduler, security=security, timeout=timeout)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise OSError(f"scheduler: {scheduler} cannot be used: {error}") from None
    with client:
        yield client


def _local_cluster(distributed, scheduler):
    """Start a scheduler and workers on this machine, as "local[:WORKERS]" says."""
    import dask

    kind, colon, count = scheduler.partition(":")
    if kind != "local" or colon and not count.isdecimal():
        raise ValueError(f"scheduler: got {scheduler!r}, allowed are {ALLOWED}")
    workers = integer("scheduler: workers", int(count), 1, 4096) if colon else None
    with dask.config.set(_LOCAL_CONFIG):
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.CRITICAL, preload=[_NO_INTERRUPT])


@contextmanager
def cluster_executor(client):
    """Context manager: compute on the workers as ``concurrent.futures`` does on threads.

    It drops the remaining tasks at the end, and raises OSError if the scheduler is lost, or a task
    has ended several workers.
    """
    executor = client.get_executor(pure=False, retries=1)
    try:
        yield executor
    except CancelledError:    # so end all tasks
        raise ConnectionError("scheduler: lost the connection to "
                              f"{client.scheduler.address}") from None
    except _distributed().scheduler.KilledWorker as error:
        raise OSError(f"scheduler: {error}") from None
    finally:
        if client.status == "running":
            executor.shutdown(wait=False)


def count_threads(client):
    """Return the number of threads of all workers."""
    if client.status != "running":
        raise CancelledError
    return sum(client.nthreads().values())


def worker_identity(client, **placement):
    """Return the ``identity()`` of a worker; wait for the first one.

    ``placement`` are arguments of the client's ``submit``, such as resources. A ValueError says
    that the worker has another version than this machine.
    """
    if not isinstance(client, _distributed().Client):
        raise ValueError(f"client: got {client!r}, must be a distributed.Client")
    worker = client.submit(identity, pure=False, **placement).result()
    _check(worker, identity() | {"instruction set": worker["instruction set"]})
    return worker


def _check(worker, expected):
    differences = [f"{name} {worker[name]} instead of {version}"
                   for name, version in expected.items() if worker[name] != version]
    if differences:
        raise ValueError(f"scheduler: a worker has {', '.join(differences)}")


def packed(value):
    """Return a value pickled; classes of a script are pickled too, see cloudpickle."""
    _distributed()
    import cloudpickle

    return cloudpickle.dumps(value)


@lru_cache(maxsize=8)
def _unpacked(content):
    import cloudpickle

    return cloudpickle.loads(content)


def call_packed(expected, content, *arguments):
    """Call a ``packed`` function on a worker of this identity, which keeps the function."""
    _check(identity(), expected)
    return _unpacked(content)(*arguments)
