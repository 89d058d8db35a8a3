# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``gpu-batch``, ``gpu-link`` and ``gpu-devices``.

They measure a GPU's rates over the vectors per call, from host memory, and with a second GPU.
"""

import time

import click
import numpy as np
from gnuradio.mimopack.apps.bench.detector import Case
from gnuradio.mimopack.apps.bench.measuring import Run, measure
from gnuradio.mimopack.cuda.device import cupy

from .cases import QAM16, shared
from .failures import Fragile, rows_of, runs_of
from .on_gpu import ROOMS, DeviceData, DeviceRun, HostData, HostRun, WaitingRun, speed

BATCH_CASES = tuple(Case(name, parameters, QAM16) for name, parameters in (
    ("mmse", {}), ("nway", {"num_passes": 4}), ("fpfsd", {}), ("kbest", {"k": 16})))
BATCHES = tuple(digit * 10**power for power in range(2, 7) for digit in (1, 3)) + (10**7,)
CPU_LARGEST = 10**6    # vectors above which the CPU's rate stays the same

LINK_CASES = tuple(Case("nway", {"num_passes": 4, "llr_type": "int8"}, setting)
                   for setting in (QAM16, shared(QAM16)))
# Factor for the vectors of other suites: one Python thread queues the calls of all GPUs.
DEVICES_TIMES = 4
DEVICES_CASES = (Case("nway", {"num_passes": 4}, QAM16), Case("mmse", {}, QAM16))


def run_batch(options, store):
    """Measure time and rate over the vectors per call.

    The data are on the device, in pinned memory or in ordinary memory. The CPU is measured with two
    threads and with all.
    """
    sizes = [size for size in BATCHES if size <= options.vectors]
    timed = []
    host = store.get(QAM16)
    there = DeviceData(host, options.vectors)
    near = {where: HostData(host, options.vectors, room) for where, room in ROOMS.items()}
    for case in BATCH_CASES:
        gpu = case.create(backend="cuda")
        cpus = {f"{count} threads": case.create(backend="cpu", threads=count)
                for count in sorted({2, options.threads})}
        for size in sizes:
            queued = DeviceRun(gpu, there)
            queued.least = queued.most = size
            timed.append(((case, "device", size), WaitingRun(gpu, there, size), queued))
            timed += [((case, where, size), HostRun(gpu, data, size))
                      for where, data in near.items()]
            if size <= CPU_LARGEST:
                timed += [((case, where, size), HostRun(cpu, near["ordinary"], size))
                          for where, cpu in cpus.items()]
    measure(runs_of(timed), options)

    def row(case, where, size, calls, queued=None):
        seconds, late = map(float, np.quantile(calls.seconds, (0.5, 0.99)))
        entry = {"label": case.label, "where": where, "calls": len(calls.seconds),
                 **speed(case, size, seconds), "seconds_99": late}
        if queued:    # calls that do not wait for earlier ones
            entry |= {"queued_vectors_per_s": queued.rate,
                      "queued_mbit_per_s": queued.rate * case.setting.bits_per_vector / 1e6}
        return entry

    return rows_of(timed, row)


class LinkRun(Fragile, Run):
    """Time only transfers: y and H to the GPU and LLRs back; a unit of work is a vector."""

    def __init__(self, data):
        module = cupy()
        self.least = self.most = data.vectors
        self._sent, self._fetched = (data.y, data.h), data.llr
        self._there = [module.empty_like(array) for array in (*self._sent, self._fetched)]
        self._streams = [module.cuda.Stream(non_blocking=True) for _ in range(2)]

    def time(self, n):
        *inputs, output = self._there
        up, down = self._streams
        start = time.perf_counter()
        for there, array in zip(inputs, self._sent, strict=True):
            there.set(array, up)
        output.get(down, out=self._fetched, blocking=False)
        for stream in self._streams:
            stream.synchronize()
        return time.perf_counter() - start


def run_link(options, store):
    """Measure calls with data in host memory, and the rate of the link alone."""
    timed = []
    for case in LINK_CASES:
        detector, host = case.create(backend="cuda"), store.get(case.setting)
        for where, room in ROOMS.items():
            data = HostData(host, options.vectors, room, np.int8)
            timed.append(((case, where), HostRun(detector, data, data.vectors),
                          LinkRun(data)))
    measure(runs_of(timed), options)

    def row(case, where, run, link):
        return {"label": case.label, "where": where,
                **speed(case, run.units, float(np.median(run.seconds))),
                "link_vectors_per_s": link.rate, "of_link": run.rate / link.rate}

    return rows_of(timed, row)


class DevicesRun(Fragile, Run):
    """Time detectors on several GPUs at the same time, each with its own vectors.

    A unit of work is one vector on each GPU.
    """

    def __init__(self, runs):
        self.runs = runs
        self.least, self.most, self.step = runs[0].least, runs[0].most, runs[0].step

    def _wait(self):
        for run in self.runs:
            with cupy().cuda.Device(run.device):
                cupy().cuda.get_current_stream().synchronize()

    def time(self, n, calls=1):
        self._wait()
        start = time.perf_counter()
        for _ in range(calls):
            for run in self.runs:
                run.queue(n)
        self._wait()
        return (time.perf_counter() - start) / calls

    def round(self):
        self._attempt(lambda: self.seconds.append(self.time(self.units, self.calls)))

    @property
    def rate(self):
        return len(self.runs) * super().rate


def run_devices(options, store):
    """Measure two GPUs and one GPU, with data on the devices."""
    if cupy().cuda.runtime.getDeviceCount() < 2:
        raise click.UsageError("suite gpu-devices: this machine has one GPU")
    timed = []
    for case in DEVICES_CASES:
        runs = [DeviceRun(case.create(backend="cuda", device=device),
                          DeviceData(store.get(case.setting), DEVICES_TIMES * options.vectors,
                                     device))
                for device in range(2)]
        timed.append(((case,), *(DevicesRun([run]) for run in runs), DevicesRun(runs)))
    measure(runs_of(timed), options)

    def row(case, *runs):
        *single, both = runs
        bits = case.setting.bits_per_vector
        return {"label": case.label, "vectors": both.units, "vectors_per_s": both.rate,
                "mbit_per_s": both.rate * bits / 1e6,
                "single_mbit_per_s": [run.rate * bits / 1e6 for run in single],
                "speedup": both.rate / single[0].rate}

    return rows_of(timed, row)
