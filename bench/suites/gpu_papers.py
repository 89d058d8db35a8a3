# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``gpu-slot``, ``gpu-antennas`` and ``gpu-psd``: figures of the papers, on a GPU."""

import numpy as np
from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun
from gnuradio.mimopack.apps.bench.measuring import measure

from . import first_call
from .cases import QAM16
from .failures import rows_of, runs_of
from .on_gpu import (
    ROOMS,
    ChannelsRun,
    DeviceData,
    DeviceRun,
    GraphRun,
    HostData,
    HostRun,
    WaitingRun,
    speed,
)
from .sweeps import OLDEST, GrowingRun, antennas_cases

# Tables I to III of 001: milliseconds for 8400 vectors with N = 1, 2, ... on a GTX 560 Ti, for
# decomposition, detection, and both with transfers.
SLOT_VECTORS = 8400
PAPER_001_QR = {2: (0.030, 0.052), 4: (0.137, 0.257, 0.399, 0.501)}
PAPER_001 = {
    (2, "qam16"): ((0.0768, 0.159), (0.342, 0.462)),
    (4, "qam16"): ((0.164, 0.332, 0.500, 0.665), (0.739, 1.048, 1.349, 1.629)),
    (2, "qam64"): ((0.524, 1.040), (0.818, 1.363)),
    (4, "qam64"): ((0.833, 1.658, 2.474, 3.297), (1.457, 2.415, 3.390, 4.30))}
VECTORS_000 = 10_000    # of a call in 000
# Table 2 of 000: seconds for 4x4 16-QAM with a sequential program, 48 threads and a K20Xm.
TABLE_000 = {"omap": (304.00, 15.19, 3.72), "mla": (88.27, 4.70, 3.05)}
EXACT_CASES = (Case("omap", {}, QAM16), Case("mla", {"method": "plain"}, QAM16),
               Case("mla", {}, QAM16))
# Mbit/s of 004 at 20 dB on a GTX 690: table 5; with 32 streams, where the text or table 6 has it.
PAPER_004 = {(2, "qpsk"): (163, None), (2, "qam16"): (268, 350), (2, "qam64"): (153, None),
             (4, "qpsk"): (169, 218), (4, "qam16"): (121, 141), (4, "qam64"): (24, None)}
CHANNEL_VECTORS = 600    # for which a channel lasts in 004
SNRS, SNR_004 = (10, 15, 20, 25, 30), 20
STREAMS = (1, 2, 4, 8, 16, 32)


def _as_in_000(case, data, options, isa_alone):
    """Return runs with one thread of a given instruction set, all threads, and a GPU.

    The GPU gets calls of VECTORS_000 vectors in host memory, then in its own memory.
    """
    detector = case.create(backend="cuda")
    cpus = [GrowingRun(case.create(backend="cpu", threads=threads, isa=isa), data)
            for threads, isa in ((1, isa_alone), (options.threads, options.isas[0]))]
    return (*cpus, HostRun(detector, data, data.vectors),
            WaitingRun(detector, DeviceData(data, data.vectors), data.vectors))


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
    data = Data(QAM16, VECTORS_000)
    for case in EXACT_CASES:
        exact.append(((case,), *_as_in_000(case, data, options, OLDEST)))
    first_call.all_of([case for (case,), *_ in (*slots, *exact)])    # compile several at a time
    measure(runs_of([*slots, *exact]), options)

    def slot_row(case, kernel, *transported):
        setting, at = case.setting, case.parameters["num_passes"] - 1
        detection, total = PAPER_001[setting.num_tx, setting.constellation]
        return {"label": case.label, "num_tx": setting.num_tx,
                "constellation": setting.constellation,
                "passes": at + 1, **speed(case, SLOT_VECTORS, float(np.median(kernel.seconds))),
                "total_seconds": {where: float(np.median(run.seconds))
                                  for where, run in zip(ROOMS, transported, strict=True)},
                "paper_seconds": 1e-3 * (PAPER_001_QR[setting.num_tx][at] + detection[at]),
                "paper_total_seconds": 1e-3 * total[at]}

    def exact_row(case, *runs):
        return {"label": case.label, "threads": options.threads,
                "vectors": VECTORS_000, "paper_seconds": TABLE_000[case.detector],
                "seconds": [VECTORS_000 / run.rate for run in runs]}

    results, exact_results = rows_of(slots, slot_row), rows_of(exact, exact_row)
    return {"results": results["results"], "exact": exact_results["results"],
            "missing": results["missing"] + exact_results["missing"]}


def run_antennas(options, store):
    """Measure SFSD and FPFSD over the number of antennas, as figures 3 and 4 of 000.

    Gains are relative to one thread with the same instruction set.
    """
    cases = antennas_cases(options)
    first_call.all_of(cases)    # compile several at a time
    timed = [((case,), *_as_in_000(case, store.get(case.setting), options, options.isas[0]))
             for case in cases]
    measure(runs_of(timed), options)

    def row(case, *runs):
        seconds = [store.vectors / run.rate for run in runs]
        return {"detector": case.detector, "constellation": case.setting.constellation,
                "num_tx": case.setting.num_tx, "threads": options.threads,
                "vectors": store.vectors, "vectors_per_s": runs[-1].rate, "seconds": seconds,
                "speedup": [seconds[0] / own for own in seconds[1:]]}

    return rows_of(timed, row)


def run_psd(options, store):
    """Measure PSD with table 5 of 004, over SNR and CUDA streams (figure 9).

    As in 004, a channel lasts for 600 vectors, and each launch has those of one channel. Beside it
    are one launch for all vectors, and the CPU.
    """
    firsts, timed = [], []
    for size in PAPER_004:
        cases = [Case("psd", {"preset": "table5"}, Setting(size[0], *size, snr, CHANNEL_VECTORS))
                 for snr in SNRS]
        gpu, cpu = (cases[0].create(backend="cuda"),
                    cases[0].create(backend="cpu", threads=options.threads, isa=options.isas[0]))
        firsts.append(cases[0])
        for case in cases:
            host = store.get(case.setting)
            there = DeviceData(host, options.vectors)
            together = DeviceRun(gpu, there)
            together.least = together.most
            streams = STREAMS if case.setting.snr_db == SNR_004 else (STREAMS[0], STREAMS[-1])
            timed.append(((case, streams), DetectorRun(cpu, host), together,
                          *(ChannelsRun(gpu, there, count) for count in streams)))
    first_call.all_of(firsts)    # compile several at a time
    measure(runs_of(timed), options)

    def row(case, streams, cpu, together, *apart):
        setting = case.setting
        bits = setting.bits_per_vector / 1e6
        return {"label": case.label, "num_tx": setting.num_tx,
                "constellation": setting.constellation, "snr_db": setting.snr_db,
                "threads": options.threads, "cpu_mbit_per_s": cpu.rate * bits,
                **speed(case, together.units, float(np.median(together.seconds))),
                "launches": apart[0].repeats,
                "streams": {str(count): run.rate * bits
                            for count, run in zip(streams, apart, strict=True)},
                "paper_mbit_per_s": PAPER_004[setting.num_tx, setting.constellation]}

    return rows_of(timed, row)
