# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO receivers for GNU Radio: soft detectors, a Wi-Fi receiver and transmitter, codes.

``wifi``, ``detectors``, ``constellation``, ``channel``, ``coding``, ``iterative``, ``sim`` and
``recording`` work on arrays and need no flowgraph. The blocks are names of this module itself:
``mimopack.wifi_receiver(...)``. They are imported when first used, so ``import gnuradio.mimopack``
stays light.
"""

import os
from importlib import import_module

# OpenMP's idle threads would otherwise spin on cores that the flowgraph's other blocks need. It
# counts only before the first OpenMP library is loaded; a user's own setting stays.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.1.0"


def __getattr__(name):
    if name in {"apps", "blocks", "channel", "coding", "constellation", "detectors", "iterative",
                "recording", "reference", "sim", "wifi"}:
        return import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        blocks = import_module(f"{__name__}.blocks")
        if name in blocks.__all__:
            return getattr(blocks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), "channel", "coding", "constellation", "detectors", "iterative",
                   "recording", "reference", "sim", "wifi",
                   *import_module(f"{__name__}.blocks").__all__})
