# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GNU Radio blocks: thin adapters over the array interface."""

from .mimo_channel import mimo_channel
from .sigmf_multichannel_sink import sigmf_multichannel_sink
from .sigmf_multichannel_source import sigmf_multichannel_source

__all__ = [
    "mimo_channel",
    "sigmf_multichannel_sink",
    "sigmf_multichannel_source",
]
