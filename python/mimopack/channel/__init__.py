# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate channels on arrays: fading, delay, correlation, offsets and noise.

``MIMOChannel`` turns the samples of num_tx transmit antennas into samples of num_rx receive
antennas. For detector simulations, ``flat_rayleigh`` draws flat channel matrices and ``awgn`` draws
noise.
"""

from .correlation import exponential_correlation
from .fading import awgn, flat_rayleigh
from .mimo import MIMOChannel
from .profiles import PROFILES, PowerDelayProfile, power_delay_profile

__all__ = ["PROFILES", "MIMOChannel", "PowerDelayProfile", "awgn", "exponential_correlation",
           "flat_rayleigh", "power_delay_profile"]
