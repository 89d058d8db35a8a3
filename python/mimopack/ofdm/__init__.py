# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO-OFDM with the waveform of IEEE 802.11n HT20: transmitter, synchroniser, estimator, decoder.

All of it works on arrays; only ``PacketDecoder`` needs GNU Radio, for the convolutional code.
"""

from .channel_estimator import ChannelEstimator, Estimate
from .data_field import coded_bits, group_items, ungroup_items
from .frame_sync import Frame, FrameSync
from .packet_decoder import Packet, PacketDecoder
from .packet_receiver import PacketReceiver
from .parameters import CONSTELLATIONS, SAMPLE_RATE, Parameters
from .transmitter import Transmitter
from .waveform import to_subcarriers

__all__ = ["CONSTELLATIONS", "SAMPLE_RATE", "ChannelEstimator", "Estimate", "Frame", "FrameSync",
           "Packet", "PacketDecoder", "PacketReceiver", "Parameters", "Transmitter", "coded_bits",
           "group_items", "to_subcarriers", "ungroup_items"]
