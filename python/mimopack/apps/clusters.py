# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of commands that can run on a Dask cluster."""

from collections import Counter
from contextlib import contextmanager, nullcontext
from functools import wraps

import click

from .options import heading

_cluster = heading("Cluster")
_OPTIONS = (
    _cluster("--scheduler", metavar="ADDRESS",
             help="Compute on a Dask cluster: tcp://HOST:8786, or local[:WORKERS] for processes on "
                  "this machine. See docs/campaigns.md."),
    _cluster("--tls-ca", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
             help="Certificate of the authority for a scheduler at tls://HOST:8786."),
    _cluster("--tls-cert", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
             help="Certificate of this program."),
    _cluster("--tls-key", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
             help="Key of this program."))


class Scheduler:
    """The cluster that the options name.

    Attributes:
        address: the option ``--scheduler``, or None.
    """

    def __init__(self, address, **tls):
        if address is None and any(tls.values()):
            raise click.UsageError("--tls-ca, --tls-cert and --tls-key belong to --scheduler")
        self.address, self._tls = address, tls

    def client(self):
        """Return a context manager with the ``distributed.Client``, or with None."""
        return nullcontext() if self.address is None else self._connected()

    @contextmanager
    def _connected(self):
        from ..cluster import connected

        with connected(self.address, **self._tls) as client:
            cluster = describe_cluster(client)
            local, count = "://" not in self.address, cluster["workers"]
            click.echo(f"{cluster['scheduler']}: {count} worker{'s' * (count != 1)}"
                       + (f", dashboard at {client.dashboard_link}" if local else ""), err=True)
            yield client


def scheduler_options(command):
    """Decorate a command with the options, which it gets as one argument ``scheduler``."""
    @wraps(command)
    def with_scheduler(*arguments, scheduler, tls_ca, tls_cert, tls_key, **options):
        return command(*arguments, **options, scheduler=Scheduler(
            scheduler, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key))

    for option in reversed(_OPTIONS):
        with_scheduler = option(with_scheduler)
    return with_scheduler


def describe_cluster(client):
    """Return a dict with the scheduler, and the workers that it has now."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return {"scheduler": client.scheduler.address, "workers": len(workers),
            "threads": sum(worker["nthreads"] for worker in workers),
            "resources": dict(sum((Counter(worker["resources"]) for worker in workers), Counter())),
            "hosts": len({worker["host"] for worker in workers})}
