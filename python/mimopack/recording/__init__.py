# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Multi-antenna recordings in SigMF: one interleaved dataset, or a Collection of one per antenna;
and files of raw samples.

SigMF needs the Python package ``sigmf``.
"""

from ..text import printable
from .datatypes import ALIASES, DATATYPES, get_datatype
from .frames import TrueFrame, annotate_frame, read_frames
from .opening import open_recording
from .raw import RawReader
from .reader import Reader
from .writer import LAYOUTS, Writer, write

__all__ = ["ALIASES", "DATATYPES", "LAYOUTS", "RawReader", "Reader", "TrueFrame", "Writer",
           "annotate_frame", "get_datatype", "open_recording", "printable", "read_frames", "write"]
