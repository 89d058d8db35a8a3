# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Dask cluster of real processes, which a test can kill and freeze."""

import json
import os
import signal
import subprocess
import sys
import time

BARE = [folder for folder in sys.path if folder.endswith("-packages")]
WAIT = 60.0    # seconds for a process to start


def until(happened):
    """Wait until a function returns something true, and return it."""
    for _ in range(int(WAIT / 0.05)):
        found = happened()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


class Processes:
    """A scheduler and its workers. Use it as a context manager: it kills them all.

    The scheduler finds gr-mimopack only if it is installed: it has no need of it.

    Args:
        folder: new folder for the files of the cluster.
        options: options of all processes.
        patience: seconds after which the scheduler gives up a worker that does not answer.
        allowed: number of workers that a task may end.
    """

    def __init__(self, folder, *options, patience=60, allowed=3):
        folder.mkdir()
        self.folder, self._options = folder, options
        self._patience, self._allowed = patience, allowed
        self.processes = {}
        self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", self._file,
                    path=BARE)

    def __enter__(self):
        self.address = until(self._address)
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.send_signal(signal.SIGKILL)
        for process in self.processes.values():
            process.wait(WAIT)

    @property
    def _file(self):
        return str(self.folder / "scheduler.json")

    def _address(self):
        try:
            with open(self._file, encoding="utf-8") as file:
                return json.load(file)["address"]
        except (OSError, ValueError):
            return None

    def _start(self, name, *arguments, kind="scheduler", path=None):
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path if path is None else path),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(self._allowed),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{self._patience}s"}
        with open(self.folder / f"{name}.log", "w") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "dask", kind, *self._options, *arguments],
                env=environment, cwd=self.folder, stdout=log, stderr=log)

    def worker(self, name, *options):
        """Start a worker with one thread."""
        self._start(name, "--scheduler-file", self._file, "--name", name, "--nthreads", "1",
                    "--no-nanny", "--no-dashboard", *options, kind="worker")

    def workers(self, *names):
        """Start workers, and wait until the scheduler knows them."""
        for name in names:
            self.worker(name)
        self.wait(*names)

    def wait(self, *names):
        """Wait until the scheduler knows workers."""
        until(lambda: all("Registered to" in self.log(name) for name in names))

    def log(self, name):
        """Return what a process has printed."""
        return (self.folder / f"{name}.log").read_text()

    def send(self, name, number):
        """Send a signal to a process."""
        self.processes[name].send_signal(number)
