# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and write multi-antenna recordings, in SigMF or as files of raw samples.

A SigMF recording is one dataset with interleaved channels, or a Collection with one dataset for
each antenna. SigMF needs the Python package ``sigmf``.
"""

from ..text import printable
from .adjusted import Adjusted
from .datatypes import ALIASES, DATATYPES, get_datatype
from .frames import TrueFrame, annotate_frame, frame_annotation, read_frames
from .packing import LAYOUTS
from .raw import RawReader, UnknownDatatype, open_recording
from .reader import Reader
from .recorder import OVERLOADS, Recorder
from .ring import Ring, Snapshot
from .timeline import Segment, Timeline, format_time, parse_time
from .writer import Writer, write

__all__ = ["ALIASES", "DATATYPES", "LAYOUTS", "OVERLOADS", "Adjusted", "RawReader", "Reader",
           "Recorder", "Ring", "Segment", "Snapshot", "Timeline", "TrueFrame", "UnknownDatatype",
           "Writer", "annotate_frame", "format_time", "frame_annotation", "get_datatype",
           "open_recording", "parse_time", "printable", "read_frames", "write"]
