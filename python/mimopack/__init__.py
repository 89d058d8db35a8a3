# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO receivers for GNU Radio: soft detectors, a Wi-Fi receiver and transmitter, codes.

The modules ``wifi``, ``nr``, ``ofdm``, ``detectors``, ``constellation``, ``channel``, ``coding``,
``iterative``, ``sim`` and ``recording`` work on arrays and need no flowgraph. The GNU Radio blocks
are attributes of this package: ``mimopack.wifi_receiver(...)``. They are imported on first use,
which keeps ``import gnuradio.mimopack`` fast.

Without GNU Radio, the same modules are the package ``mimopack``, which pip installs.
"""

from importlib import import_module

__version__ = "0.1.0"


def __getattr__(name):
    if name in {"apps", "blocks", "channel", "coding", "constellation", "detectors", "iterative",
                "nr", "ofdm", "recording", "reference", "sim", "sionna", "wifi"}:
        return import_module(f"{__name__}.{name}")
    unknown = f"module {__name__!r} has no attribute {name!r}"
    if not name.startswith("_"):
        try:
            blocks = import_module(f"{__name__}.blocks")
        except ImportError as error:
            raise AttributeError(f"{unknown}; if this is a block: {error}") from error
        if name in blocks.__all__:
            return getattr(blocks, name)
    raise AttributeError(unknown)


def __dir__():
    try:
        blocks = import_module(f"{__name__}.blocks").__all__
    except ImportError:
        blocks = ()
    return sorted({*globals(), "channel", "coding", "constellation", "detectors", "iterative",
                   "nr", "ofdm", "recording", "reference", "sim", "wifi", *blocks})
