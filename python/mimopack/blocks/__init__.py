# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GNU Radio blocks: thin adapters over the array interface."""

from .detector import DETECTOR_BLOCKS
from .mimo_channel import mimo_channel
from .sigmf_multichannel_sink import sigmf_multichannel_sink
from .sigmf_multichannel_source import sigmf_multichannel_source

# zf_detector, mmse_detector, nway_detector, ...: one block for each registered detector
globals().update(DETECTOR_BLOCKS)

__all__ = [
    *DETECTOR_BLOCKS,
    "mimo_channel",
    "sigmf_multichannel_sink",
    "sigmf_multichannel_source",
]
