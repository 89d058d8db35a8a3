# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wi-Fi frames of IEEE 802.11a/g/p, n, ac, ax and be: receive and transmit MPDUs."""

from .antennas import Antenna, compare_antennas
from .channel_estimator import ChannelEstimator
from .formats import EHT, HE, HEMU, HT, VHT, VHTMU, FrameFormat, NonHT, Unsupported
from .frame import ChannelState, FrameVectors, ReceivedFrame
from .frame_detectors import FrameDetectors, can_iterate
from .llr_decoder import LlrDecoder
from .receiver import Receiver
from .synchroniser import Synchroniser
from .transmitter import Transmitter, pack, pack_users

__all__ = ["EHT", "HE", "HEMU", "HT", "VHT", "VHTMU", "Antenna", "ChannelEstimator", "ChannelState",
           "FrameDetectors", "FrameFormat", "FrameVectors", "LlrDecoder", "NonHT", "ReceivedFrame",
           "Receiver", "Synchroniser", "Transmitter", "Unsupported", "can_iterate",
           "compare_antennas", "pack", "pack_users"]
