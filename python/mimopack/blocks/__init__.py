# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GNU Radio blocks: thin adapters over the array interface."""

from .ber_meter import ber_meter
from .codeword_modulator import codeword_modulator
from .detector import DETECTOR_BLOCKS
from .fec_decoder import fec_decoder, fec_decoder_pdu
from .fec_encoder import fec_encoder, fec_encoder_pdu
from .iterative_receiver import iterative_receiver
from .layer_symbols import layer_symbols
from .mimo_channel import mimo_channel
from .ofdm_channel_estimator import ofdm_channel_estimator
from .ofdm_frame_sync import ofdm_frame_sync
from .ofdm_receiver import ofdm_receiver
from .ofdm_transmitter import ofdm_transmitter
from .packet_decoder import packet_decoder
from .packet_meter import packet_meter
from .packet_receiver import packet_receiver
from .rayleigh_channel import rayleigh_channel
from .sigmf_multichannel_sink import sigmf_multichannel_sink
from .sigmf_multichannel_source import sigmf_multichannel_source

# zf_detector, mmse_detector, nway_detector, ...: one block for each registered detector
globals().update(DETECTOR_BLOCKS)

__all__ = [
    *DETECTOR_BLOCKS,
    "ber_meter",
    "codeword_modulator",
    "fec_decoder",
    "fec_decoder_pdu",
    "fec_encoder",
    "fec_encoder_pdu",
    "iterative_receiver",
    "layer_symbols",
    "mimo_channel",
    "ofdm_channel_estimator",
    "ofdm_frame_sync",
    "ofdm_receiver",
    "ofdm_transmitter",
    "packet_decoder",
    "packet_meter",
    "packet_receiver",
    "rayleigh_channel",
    "sigmf_multichannel_sink",
    "sigmf_multichannel_source",
]
