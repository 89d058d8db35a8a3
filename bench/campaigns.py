#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a Dask cluster costs: on one machine, and at its scheduler with many workers.

    OPENBLAS_NUM_THREADS=1 bench/campaigns.py [--slots 2] [--frames 200000] [--rounds 3]
        [--workers 10,100,1000] [--tasks 3000] [--output FILE.json]

First, the same simulation runs in turn with --slots threads of one process and with --slots worker
processes of "--scheduler local". The start of the workers does not count: a run has it once. The
CPU time of a frame counts the program, the scheduler and the workers: where all cores are busy, its
ratio is that of the speeds, and programs beside it disturb it less.

Second, a scheduler in a process of its own gets 10, 100 and 1000 workers, which share four
processes and compute nothing: their tasks return at once. Tasks go through the same code as a
simulation's. The limit of the scheduler follows from the CPU time of its process for each task, and
does not depend on how fast the workers of this machine answer.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from gnuradio.mimopack import cluster, sim
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

DETECTORS = ["nway", "mmsepic:iterations=2"]
LINK = {"code": "wimax:2304:1/2"}
SNR = 12.0
PROCESSES = 4    # that share the idle workers


def simulate(frames, slots, client=None):
    """Return the frames per second of a simulation, and the CPU milliseconds of each frame."""
    processes = [os.getpid()] + ([] if client is None else list(client.run(os.getpid).values()))
    simulation = sim.Simulation(sim.Link(**LINK), DETECTORS, threads=slots, client=client)
    begin, spent = time.perf_counter(), sum(map(cpu_seconds, processes))
    simulation.run([SNR], 10**9, frames)
    spent = sum(map(cpu_seconds, processes)) - spent
    return frames / (time.perf_counter() - begin), 1e3 * spent / frames


def overhead(slots, frames, rounds):
    """Return the speeds with and without Dask, and their ratios."""
    found = {"threads": [], "workers": []}
    with cluster.connected(f"local:{slots}") as client:
        simulate(64, slots)
        simulate(1024, slots, client)    # makes the workers' detectors
        for _ in range(rounds):
            found["threads"].append(simulate(frames, slots))
            found["workers"].append(simulate(frames, slots, client))
    speed, cpu = ({name: round(float(np.median([one[index] for one in values])), 3)
                   for name, values in found.items()} for index in (0, 1))
    return {"slots": slots, "frames": frames, "detectors": DETECTORS, **LINK, "snr_db": SNR,
            "frames_per_s": speed, "cpu_ms_per_frame": cpu, "rounds": found,
            "speed_ratio": round(speed["workers"] / speed["threads"], 3),
            "cpu_ratio": round(cpu["threads"] / cpu["workers"], 3)}


async def serve(address, count):
    """Be workers until the scheduler ends. They do not watch themselves: they share two cores."""
    import dask
    from distributed import Worker

    dask.config.set({"distributed.worker.profile.enabled": False,
                     "distributed.admin.system-monitor.interval": "60s"})
    workers = [Worker(address, nthreads=1, memory_limit=0, heartbeat_interval="5s")
               for _ in range(count)]
    for worker in workers:
        await worker
    await asyncio.gather(*(worker.finished() for worker in workers))


def cpu_seconds(pid):
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scheduler_load(workers, tasks, idle_seconds=20):
    """Return what a scheduler with idle workers needs for tasks."""
    from distributed import Client

    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        processes = [subprocess.Popen(
            [sys.executable, "-m", "dask", "scheduler", "--port", "0", "--no-dashboard",
             "--scheduler-file", file], cwd=folder, stderr=subprocess.DEVNULL,
            env=environment)]
        try:
            while not file.exists() or not file.read_text():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            shares = [len(part) for part in np.array_split(range(workers), PROCESSES)]
            processes += [subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--serve", address, str(share)],
                cwd=folder, stderr=subprocess.DEVNULL, env=environment)
                for share in shares if share]
            with Client(address, timeout=60) as client:
                client.wait_for_workers(workers, timeout=500)
                return {"workers": workers} | _load(client, processes[0].pid, tasks, idle_seconds)
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _load(client, pid, tasks, idle_seconds):
    begin = cpu_seconds(pid)
    time.sleep(idle_seconds)
    idle = (cpu_seconds(pid) - begin) / idle_seconds
    with cluster.Cluster(client, print) as crew:
        while crew.room() <= 0 or crew._checks:    # until all workers are accepted
            crew.finished(0.1)
        spent, own, start = cpu_seconds(pid), time.process_time(), time.perf_counter()
        handed = 0
        while handed < tasks or len(crew):
            while handed < tasks and crew.room() > 0:
                crew.submit(handed, _nothing, b"x" * 600)
                handed += 1
            crew.finished(0.5)
        seconds = time.perf_counter() - start
        busy = cpu_seconds(pid) - spent - idle * seconds
        return {"tasks": tasks, "seconds": round(seconds, 2),
                "tasks_per_s_here": round(tasks / seconds, 1),
                "scheduler_ms_per_task": round(1e3 * busy / tasks, 3),
                "scheduler_idle_load": round(idle, 4),
                "tasks_per_s_limit": round((1 - idle) * tasks / busy, 1),
                "program_ms_per_task": round(1e3 * (time.process_time() - own) / tasks, 3),
                "task_seconds_chosen": crew.task_seconds}


def _nothing(data):
    return len(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=2, help="threads, and workers")
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", default="10,100,1000", help="numbers of idle workers")
    parser.add_argument("--tasks", type=int, default=3000)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--serve", nargs=2, metavar=("ADDRESS", "WORKERS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve[0], int(arguments.serve[1])))
        return
    before = os.getloadavg()
    results = {"overhead": overhead(arguments.slots, arguments.frames, arguments.rounds),
               "scheduler": []}
    print(results["overhead"], flush=True)
    for workers in map(int, arguments.workers.split(",")):
        results["scheduler"].append(scheduler_load(workers, arguments.tasks))
        print(results["scheduler"][-1], flush=True)
    if arguments.output:
        import distributed

        arguments.output.write_text(json_rows(
            {"what": "simulations on a Dask cluster: its cost on one machine, and the load of its "
                     "scheduler", "data": "simulated", "machine": describe(),
             "distributed": distributed.__version__, "load_average_before": before,
             "load_average_after": os.getloadavg(), **results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
