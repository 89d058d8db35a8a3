# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites ``arrays`` and ``gpu-arrays``: detectors for many antennas, and their limits.

On a GPU, Sionna's MMSE-PIC and EP run beside ours.
"""

from dataclasses import replace
from functools import partial

from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from . import first_call, peers
from .cases import QAM16, shared
from .failures import attempt, missing_row
from .limits import Limits
from .rows import add_limits

DETECTORS = ("zf", "mmse", "mmsepic", "ep")
SIZES = ((8, 8), (12, 12), (16, 16), (16, 64), (16, 128), (32, 256))    # (layers, antennas)
# Detectors that search. One full level makes M paths for sfsd; its default for 16 layers is three.
SEARCHES = (("nway", {}), ("fpfsd", {}), ("kbest", {"k": 16}), ("sfsd", {"levels": 1}))
LONG_SEARCHES = (("kbest", {"k": 64}), ("kbest", {"k": 256}), ("sfsd", {"levels": 2}), ("sfsd", {}))
OTHER_POINTS = ("qpsk", "qam64", "qam256", "qam1024")
HOST_BYTES = 2**26    # of channel matrices in a batch
DEVICE_BYTES = 2**29
SIONNA_SETTING, SIONNA_METHODS = Setting(16, 64), ("mmsepic", "ep")
SIONNA_BYTES = 2**28    # of channel matrices


def cases():
    """Return the cases: one matrix for each vector, and T = 14."""
    settings = [Setting(*size) for size in SIZES]
    both = [(plain, shared(plain)) for plain in settings]
    square, tall = Setting(16, 16), Setting(16, 64)
    return [
        *(Case(name, {}, setting) for name in DETECTORS for pair in both for setting in pair),
        *(Case(*search, setting) for search in SEARCHES for pair in both for setting in pair),
        *(Case(*search, square) for search in LONG_SEARCHES),
        *(Case(*search, replace(setting, constellation=points)) for search in SEARCHES
          for setting in (square, tall) for points in OTHER_POINTS),
        *(Case(name, {}, replace(tall, constellation="qam1024")) for name in DETECTORS)]


def vectors(setting, most, room):
    """Return the vectors of a batch: their matrices take at most ``room`` bytes."""
    matrices = min(most // setting.per_channel,
                   room // (8 * setting.num_tx * setting.num_rx))
    return max(1, matrices) * setting.per_channel


class SizedStore:
    """Keep a ``Data`` for each setting, with as many vectors as there is room for (bytes of H)."""

    def __init__(self, most, room=HOST_BYTES):
        self._most, self._room, self._data = most, room, {}

    def get(self, setting):
        if setting not in self._data:
            self._data[setting] = Data(setting, vectors(setting, self._most, self._room))
        return self._data[setting]


class SizedDeviceStore:
    """Keep a ``DeviceData`` for each setting, likewise; ``distinct`` vectors are repeated."""

    def __init__(self, most, distinct=None):
        self._most, self._host, self._data = most, SizedStore(distinct or most), {}

    def get(self, setting):
        from .on_gpu import DeviceData

        if setting not in self._data:
            self._data[setting] = DeviceData(self._host.get(setting),
                                             vectors(setting, self._most, DEVICE_BYTES))
        return self._data[setting]


def run(options, store):
    """Return the rows and rates for the JSON file."""
    isa, found = options.isas[0], SizedStore(options.vectors)
    limits = Limits([isa], options.threads, store.get(QAM16))
    planned = [(case, DetectorRun(case.create(threads=options.threads, isa=isa, backend="cpu"),
                                  found.get(case.setting))) for case in cases()]
    measure([*limits.runs, *(timed for _, timed in planned)], options)
    return {"rates": limits.rates(),
            "results": [_row(case, timed, limits) for case, timed in planned]}


def _row(case, timed, limits, more=None):
    row = detector_row(case, timed) | (more or {})
    add_limits(row, case, timed, limits)
    return row


def run_gpu(options, store):
    """Return the rows, rates and missing cases for the JSON file; the data are on the device."""
    from .on_gpu import DeviceData, DeviceLimits, DeviceRun

    there, planned, missing = SizedDeviceStore(options.vectors), [], []
    with (peers.start_on_gpu(options.peers, options.sionna_python,
                             SizedStore(options.vectors, SIONNA_BYTES), (SIONNA_SETTING,),
                             SIONNA_METHODS) as (peer_runs, peers_missing),
          first_call.empty_cache()):
        compiled = first_call.all_of(cases())
        peers.prepared(peer_runs)
        for case, first in zip(cases(), compiled, strict=True):
            if isinstance(first, str):
                missing.append(missing_row(case, first))
                continue
            planned.append((case, first, DeviceRun(case.create(backend="cuda"),
                                                   there.get(case.setting))))
        limits = DeviceLimits(DeviceData(store.get(QAM16), options.vectors))
        measure([*limits.runs, *(timed for *_, timed in planned), *peer_runs], options)
        peer_rows = peers.peer_rows(peer_runs, peers_missing)
    rows = []
    for case, first, timed in planned:
        row, why = attempt(partial(_row, case, timed, limits, first), timed)
        if row:
            rows.append(row)
        else:
            missing.append(missing_row(case, why))
    return {"rates": limits.rates(), "results": rows, "missing": missing, "peers": peer_rows,
            "peers_missing": peers_missing}
