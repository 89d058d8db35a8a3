# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: F401
"""The GNU Radio blocks: thin adapters over the array interface.

Raises:
    ImportError: GNU Radio or its part of this package is missing.
"""

import os
from importlib import import_module

# By default, OpenMP's idle threads spin on cores that other blocks of the flowgraph need. OpenMP
# reads the variable when it is loaded: docs/install.md, "Processors".
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import_module("gnuradio.gr")
    import_module(".._runtime", __name__)
except ImportError as error:
    raise ImportError("blocks need GNU Radio 3.10 and gr-mimopack as built for it "
                      f"(gnuradio.mimopack): {error}") from error

from .ber_meter import ber_meter
from .codeword_modulator import codeword_modulator
from .detector import DETECTOR_BLOCKS
from .fec_decoder import fec_decoder, fec_decoder_pdu
from .fec_encoder import fec_encoder, fec_encoder_pdu
from .iterative_receiver import iterative_receiver
from .llr_meter import llr_meter
from .mimo_channel import mimo_channel
from .nr_chain import nr_channel_estimator, nr_llr_decoder, nr_ofdm_demodulator
from .nr_receiver import nr_pusch_receiver
from .nr_transmitter import nr_pusch_transmitter
from .ofdm import ofdm_channel_estimator, ofdm_grid, ofdm_vectors
from .radio_source import radio_source
from .rayleigh_channel import rayleigh_channel
from .sigmf_multichannel_sink import sigmf_multichannel_sink
from .sigmf_multichannel_source import sigmf_multichannel_source
from .sigmf_ring_sink import sigmf_ring_sink
from .symbol_mapper import symbol_mapper
from .wifi_chain import wifi_channel_estimator, wifi_llr_decoder
from .wifi_pcap_sink import wifi_pcap_sink
from .wifi_receiver import wifi_decoder, wifi_receiver, wifi_synchroniser
from .wifi_transmitter import wifi_transmitter
from .wifi_views import (
    wifi_airtime,
    wifi_channel_view,
    wifi_condition_view,
    wifi_levels,
    wifi_linear_loss,
    wifi_meter,
    wifi_symbols,
)

# Adds zf_detector, mmse_detector, nway_detector, ...: one block for each registered detector.
globals().update(DETECTOR_BLOCKS)
# All classes here are blocks.
__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))
