# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Multi-antenna recordings in SigMF: one interleaved dataset, or a Collection of one per antenna.

Needs the Python package ``sigmf``.
"""

from .datatypes import DATATYPES
from .frames import (
    FORMAT_FIELDS,
    TrueFrame,
    annotate_frame,
    format_fields,
    read_format,
    read_frames,
)
from .reader import Reader
from .writer import LAYOUTS, Writer, write

__all__ = ["DATATYPES", "FORMAT_FIELDS", "LAYOUTS", "Reader", "TrueFrame", "Writer",
           "annotate_frame", "format_fields", "read_format", "read_frames", "write"]
