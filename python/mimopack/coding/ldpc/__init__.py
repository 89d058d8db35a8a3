# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Low-density parity-check codes: matrices, encoder and decoder.

The matrices come from standards or from files in MacKay's alist format.
"""

from ..codes import look_up
from .alist import read_alist, write_alist
from .decoder import LdpcDecoder
from .encoder import LdpcEncoder
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

__all__ = ["NR_LIFTING_SIZES", "NR_PUNCTURED_COLUMNS", "WIFI_LENGTHS",
           "WIFI_RATES", "WIMAX_LENGTHS", "WIMAX_RATES", "LdpcDecoder", "LdpcEncoder",
           "NrRateMatching", "ParityChecks", "Prototype", "WifiFrameDecoder", "WifiRateMatching",
           "get", "nr", "nr_base_graph", "nr_lifting_size", "read_alist", "wifi", "wimax",
           "write_alist"]


def get(name):
    """Return the parity-check matrix with a given name.

    Args:
        name: "wimax:2304:1/2" or "wifi:1944:5/6" (bits in a codeword, rate), "nr:1:384" (base
            graph, lifting size), or the path of a file that :func:`read_alist` reads.

    Returns:
        :class:`Prototype` or :class:`ParityChecks`.

    Raises:
        ValueError: the name has another form, the standard does not have the size, or the file is
            not in alist format.
        OSError: the file cannot be read.
    """
    family, sizes, options = look_up(name)
    if family.matrix is None or options:
        raise ValueError(f"code: got {str(name)!r}, must be an LDPC code without options")
    try:
        return family.matrix(*sizes)
    except ValueError as error:
        raise ValueError(f"code: got {str(name)!r}; {error}") from None
