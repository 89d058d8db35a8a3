# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Low-density parity-check codes: matrices, encoder and decoder.

The matrices come from standards or from files in MacKay's alist format.
"""

from .alist import read_alist, write_alist
from .decoder import LdpcDecoder
from .encoder import LdpcEncoder
from .names import families, get, matrix_forms
from .nr_rate_matching import (
    NR_PUNCTURED_COLUMNS,
    NrRateMatching,
    nr_base_graph,
    nr_lifting_size,
)
from .parity_checks import ParityChecks, Prototype
from .standards import (
    NR_LIFTING_SIZES,
    WIFI_LENGTHS,
    WIFI_RATES,
    WIMAX_LENGTHS,
    WIMAX_RATES,
    nr,
    wifi,
    wimax,
)
from .wifi_rate_matching import WifiFrameDecoder, WifiRateMatching

__all__ = ["FAMILIES", "FORMS", "NR_LIFTING_SIZES", "NR_PUNCTURED_COLUMNS", "WIFI_LENGTHS",
           "WIFI_RATES", "WIMAX_LENGTHS", "WIMAX_RATES", "LdpcDecoder", "LdpcEncoder",
           "NrRateMatching", "ParityChecks", "Prototype", "WifiFrameDecoder", "WifiRateMatching",
           "get", "nr", "nr_base_graph", "nr_lifting_size", "read_alist", "wifi", "wimax",
           "write_alist"]


def __getattr__(name):
    """Return FAMILIES or FORMS for the names that ``get`` takes.

    They change when ``coding.register`` adds a family.
    """
    if name in ("FAMILIES", "FORMS"):
        return families() if name == "FAMILIES" else matrix_forms()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
