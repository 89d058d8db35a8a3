# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``gpu-batch``, ``gpu-slot``, ``gpu-link`` and ``gpu-devices``.

They measure a GPU's rates over the vectors per call, compared with the papers' figures, from host
memory, and with a second GPU.
"""

import time
from functools import partial

import click
import numpy as np
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.bench.detector import Case
from gnuradio.mimopack.apps.bench.measuring import Run, measure
from gnuradio.mimopack.cuda.device import cupy, pinned_empty

from . import first_call
from .cases import QAM16, shared
from .failures import Fragile, attempt, missing_row
from .on_gpu import DeviceData, DeviceRun, GraphRun, HostData
from .sweeps import OLDEST, CallRun, GrowingRun

BATCH_CASES = tuple(Case(name, parameters, QAM16) for name, parameters in (
    ("mmse", {}), ("nway", {"num_passes": 4}), ("fpfsd", {}), ("kbest", {"k": 16})))
BATCHES = tuple(digit * 10**power for power in range(2, 7) for digit in (1, 3)) + (10**7,)
CPU_LARGEST = 10**6    # vectors above which the CPU's rate stays the same
ROOMS = {"pinned": pinned_empty, "ordinary": np.empty}

# Tables I to III of 001: milliseconds for 8400 vectors with N = 1, 2, ... on a GTX 560 Ti, for
# decomposition, detection, and both with transfers.
SLOT_VECTORS = 8400
PAPER_001_QR = {2: (0.030, 0.052), 4: (0.137, 0.257, 0.399, 0.501)}
PAPER_001 = {
    (2, "qam16"): ((0.0768, 0.159), (0.342, 0.462)),
    (4, "qam16"): ((0.164, 0.332, 0.500, 0.665), (0.739, 1.048, 1.349, 1.629)),
    (2, "qam64"): ((0.524, 1.040), (0.818, 1.363)),
    (4, "qam64"): ((0.833, 1.658, 2.474, 3.297), (1.457, 2.415, 3.390, 4.30))}
# Table 2 of 000: seconds for 10000 vectors of 4x4 16-QAM with a sequential program, 48 threads and
# a K20Xm.
EXACT_VECTORS = 10_000
PAPER_000 = {"omap": (304.00, 15.19, 3.72), "mla": (88.27, 4.70, 3.05)}
EXACT_CASES = (Case("omap", {}, QAM16), Case("mla", {"method": "plain"}, QAM16),
               Case("mla", {}, QAM16))

LINK_CASES = tuple(Case("nway", {"num_passes": 4, "llr_type": "int8"}, setting)
                   for setting in (QAM16, shared(QAM16)))
# Factor for the vectors of other suites: one Python thread queues the calls of all GPUs.
DEVICES_TIMES = 4
DEVICES_CASES = (Case("nway", {"num_passes": 4}, QAM16), Case("mmse", {}, QAM16))


class HostRun(Fragile, CallRun):
    """Time calls of a given size on host arrays, one by one."""


class WaitingRun(HostRun):
    """Time calls of a given size on GPU arrays; each call waits for its end."""

    def _detect(self, n):
        llr = super()._detect(n)
        _ = self.detector.erasures    # waits for the end of the call
        return llr


def _runs(timed):
    return [run for _, *runs in timed for run in runs]


def _rows(timed, make):
    """Return the rows that make(*key, *runs) returns for each (key, *runs), and the missing ones.

    A key starts with the case.
    """
    rows, missing = [], []
    for key, *runs in timed:
        row, why = attempt(partial(make, *key, *runs), *runs)
        if row:
            rows.append(row)
        else:
            missing.append(missing_row(key[0], why))
    return {"results": rows, "missing": missing}


def _speed(case, n, seconds):
    return {"seconds": seconds, "vectors": n, "vectors_per_s": n / seconds,
            "mbit_per_s": n / seconds * case.setting.bits_per_vector / 1e6}


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
    measure(_runs(timed), options)

    def row(case, where, size, calls, queued=None):
        seconds, late = map(float, np.quantile(calls.seconds, (0.5, 0.99)))
        entry = {"label": case.label, "where": where, "calls": len(calls.seconds),
                 **_speed(case, size, seconds), "seconds_99": late}
        if queued:    # calls that do not wait for earlier ones
            entry |= {"queued_vectors_per_s": queued.rate,
                      "queued_mbit_per_s": queued.rate * case.setting.bits_per_vector / 1e6}
        return entry

    return _rows(timed, row)


def run_slot(options, store):
    """Repeat measurements of the papers, to compare with their figures.

    The cases are N-way for the vectors of one LTE slot (001, tables II and III) and exact LLRs of
    10000 vectors (000, table 2).
    """
    slots, exact = [], []
    for (antennas, constellation), (_, total) in PAPER_001.items():
        data = Data(Setting(antennas, antennas, constellation), SLOT_VECTORS)
        for passes in range(1, len(total) + 1):
            case = Case("nway", {"num_passes": passes}, data.setting)
            detector = case.create(backend="cuda")
            slots.append(((case,), GraphRun(detector, DeviceData(data, SLOT_VECTORS)), *(
                HostRun(detector, HostData(data, SLOT_VECTORS, room), SLOT_VECTORS)
                for room in ROOMS.values())))
    data = Data(QAM16, EXACT_VECTORS)
    for case in EXACT_CASES:
        detector = case.create(backend="cuda")
        exact.append(((case,), *(
            GrowingRun(case.create(backend="cpu", threads=threads, isa=isa), data)
            for threads, isa in ((1, OLDEST), (options.threads, options.isas[0]))),
            HostRun(detector, data, EXACT_VECTORS),
            WaitingRun(detector, DeviceData(data, EXACT_VECTORS), EXACT_VECTORS)))
    first_call.all_of([case for (case,), *_ in (*slots, *exact)])    # compile several at a time
    measure(_runs([*slots, *exact]), options)

    def slot_row(case, kernel, *transported):
        setting, at = case.setting, case.parameters["num_passes"] - 1
        detection, total = PAPER_001[setting.num_tx, setting.constellation]
        return {"label": case.label, "num_tx": setting.num_tx,
                "constellation": setting.constellation,
                "passes": at + 1, **_speed(case, SLOT_VECTORS, float(np.median(kernel.seconds))),
                "total_seconds": {where: float(np.median(run.seconds))
                                  for where, run in zip(ROOMS, transported, strict=True)},
                "paper_seconds": 1e-3 * (PAPER_001_QR[setting.num_tx][at] + detection[at]),
                "paper_total_seconds": 1e-3 * total[at]}

    def exact_row(case, *runs):
        return {"label": case.label, "threads": options.threads,
                "vectors": EXACT_VECTORS, "paper_seconds": PAPER_000[case.detector],
                "seconds": [EXACT_VECTORS / run.rate for run in runs]}

    results, exact_results = _rows(slots, slot_row), _rows(exact, exact_row)
    return {"results": results["results"], "exact": exact_results["results"],
            "missing": results["missing"] + exact_results["missing"]}


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
    measure(_runs(timed), options)

    def row(case, where, run, link):
        return {"label": case.label, "where": where,
                **_speed(case, run.units, float(np.median(run.seconds))),
                "link_vectors_per_s": link.rate, "of_link": run.rate / link.rate}

    return _rows(timed, row)


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
    measure(_runs(timed), options)

    def row(case, *runs):
        *single, both = runs
        bits = case.setting.bits_per_vector
        return {"label": case.label, "vectors": both.units, "vectors_per_s": both.rate,
                "mbit_per_s": both.rate * bits / 1e6,
                "single_mbit_per_s": [run.rate * bits / 1e6 for run in single],
                "speedup": both.rate / single[0].rate}

    return _rows(timed, row)
