# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""5G NR's shared channels: configurations, reference signals, transmitters and receivers."""

from .config import PdschConfig, PuschConfig, load_users
from .dmrs import dmrs_sequence, dmrs_subcarriers, dmrs_symbols, port_weights, ptrs_symbols
from .ofdm import Ofdm
from .parts import Carrier, Dmrs, Mcs, Ptrs
from .precoding import precoding_matrix, transform_deprecode, transform_precode
from .receiver import ITERATIONS, PuschReceiver, TransportBlock
from .resources import Resources, dmrs_positions, resources
from .transmitter import PdschTransmitter, PuschTransmitter
from .transport import Codeword, DecodedBlocks, TransportCoder, codeword, codewords

__all__ = ["ITERATIONS", "Carrier", "Codeword", "DecodedBlocks", "Dmrs", "Mcs", "Ofdm",
           "PdschConfig", "PdschTransmitter", "Ptrs", "PuschConfig", "PuschReceiver",
           "PuschTransmitter", "Resources", "TransportBlock", "TransportCoder", "codeword",
           "codewords", "dmrs_positions", "dmrs_sequence", "dmrs_subcarriers", "dmrs_symbols",
           "load_users", "port_weights", "precoding_matrix", "ptrs_symbols", "resources",
           "transform_deprecode", "transform_precode"]
