# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""5G NR's shared channels: configurations, reference signals, transmitters and receivers."""

from .config import PdschConfig, PuschConfig, load_users, read_users
from .dmrs import (
    PortWeights,
    ReferenceSymbols,
    dmrs_sequence,
    dmrs_subcarriers,
    dmrs_symbols,
    port_weights,
    ptrs_sequence,
    ptrs_symbols,
    spread_values,
)
from .estimation import ChannelEstimate, estimate_channel
from .noise import noise_covariance, whiten
from .ofdm import Ofdm
from .parts import Carrier, Dmrs, Mcs, Ptrs
from .precoding import precoding_matrix, transform_deprecode, transform_precode
from .receiver import ITERATIONS, PdschReceiver, PuschReceiver
from .resources import Resources, dmrs_positions, resources
from .slot import ReceivedSlot, TransportBlock
from .spreading import equalise_spread
from .stream import GridStream, SlotGrid
from .synchronisation import Synchronisation, synchronise
from .tracking import Channels
from .transmitter import PdschTransmitter, PuschTransmitter
from .transport import Codeword, DecodedBlocks, LlrOrder, TransportCoder, codeword, codewords

__all__ = ["ITERATIONS", "Carrier", "ChannelEstimate", "Channels", "Codeword", "DecodedBlocks",
           "Dmrs", "GridStream", "LlrOrder", "Mcs", "Ofdm", "PdschConfig", "PdschReceiver",
           "PdschTransmitter", "PortWeights", "Ptrs", "PuschConfig", "PuschReceiver",
           "PuschTransmitter", "ReceivedSlot", "ReferenceSymbols", "Resources",
           "SlotGrid", "Synchronisation", "TransportBlock", "TransportCoder",
           "codeword", "codewords", "dmrs_positions", "dmrs_sequence", "dmrs_subcarriers",
           "dmrs_symbols", "equalise_spread", "estimate_channel", "load_users", "noise_covariance",
           "port_weights", "precoding_matrix", "ptrs_sequence", "ptrs_symbols", "read_users",
           "resources", "spread_values", "synchronise", "transform_deprecode", "transform_precode",
           "whiten"]
