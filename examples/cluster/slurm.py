#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a campaign on a SLURM cluster. It needs dask-jobqueue:

    python3 -m pip install dask-jobqueue
    examples/cluster/slurm.py figure.toml --jobs 40 --partition batch

The scheduler runs here: on a login node, or in a job of its own (sbatch --wrap). Each job has
--cores workers with one thread. Jobs that SLURM ends are replaced, and their blocks of frames are
computed again elsewhere. --script only prints the script of a job.
"""

import argparse
import logging
import sys

from dask_jobqueue import SLURMCluster
from distributed import Client
from gnuradio.mimopack.sim.campaign import Campaign


def seconds(walltime):
    """Return the seconds of a walltime [DAYS-]HH:MM:SS."""
    days, _, clock = walltime.rpartition("-")
    hours, minutes, rest = map(int, clock.split(":"))
    return 3600 * (24 * int(days or 0) + hours) + 60 * minutes + rest


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", help="campaign file")
    parser.add_argument("--jobs", type=int, default=4, help="most jobs at a time")
    parser.add_argument("--cores", type=int, default=8, help="cores of a job")
    parser.add_argument("--memory", default="16GB", help="memory of a job")
    parser.add_argument("--walltime", default="04:00:00", help="[DAYS-]HH:MM:SS")
    parser.add_argument("--partition")
    parser.add_argument("--interface", help="network interface that the jobs reach, such as ib0")
    parser.add_argument("--script", action="store_true", help="only print the script of a job")
    arguments = parser.parse_args()
    campaign = Campaign(arguments.campaign)
    with SLURMCluster(
            queue=arguments.partition, cores=arguments.cores, processes=arguments.cores,
            memory=arguments.memory, walltime=arguments.walltime, interface=arguments.interface,
            # A worker leaves before SLURM kills it, and hands on what it has.
            worker_extra_args=["--lifetime", f"{int(0.9 * seconds(arguments.walltime))}s",
                               "--lifetime-stagger", "1m"],
            # Dask's profiler takes a twentieth of the time.
            job_script_prologue=["export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False"],
            silence_logs=logging.ERROR) as cluster:
        if arguments.script:
            print(cluster.job_script())
            return
        cluster.adapt(minimum_jobs=1, maximum_jobs=arguments.jobs)
        with Client(cluster) as client:
            simulations = campaign.simulations(client=client)
            campaign.run(simulations, say=lambda line: print(line, file=sys.stderr))
    for part in campaign.parts:
        print(f"written: {part.output}")


if __name__ == "__main__":
    main()
