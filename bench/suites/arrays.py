# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suite ``arrays``: detectors for many antennas; also the cases of ``gpu-arrays``."""

from dataclasses import replace

from gnuradio.mimopack.apps.bench.data import Data, Setting
from gnuradio.mimopack.apps.bench.detector import Case, DetectorRun, detector_row
from gnuradio.mimopack.apps.bench.measuring import measure

from .cases import shared

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
    """Keep a ``DeviceData`` for each setting, likewise."""

    def __init__(self, most):
        self._most, self._host, self._data = most, SizedStore(most), {}

    def get(self, setting):
        from .on_gpu import DeviceData

        if setting not in self._data:
            self._data[setting] = DeviceData(self._host.get(setting),
                                             vectors(setting, self._most, DEVICE_BYTES))
        return self._data[setting]


def run(options, store):
    """Return the rows for the JSON file."""
    sized = SizedStore(options.vectors)
    planned = [(case, DetectorRun(case.create(threads=options.threads, isa=options.isas[0],
                                              backend="cpu"), sized.get(case.setting)))
               for case in cases()]
    measure([run for _, run in planned], options)
    return {"results": [detector_row(case, run) for case, run in planned]}
