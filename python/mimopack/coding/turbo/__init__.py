# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The turbo code of LTE: encoder, decoder, rate matching."""

from .decoder import TurboDecoder
from .encoder import TurboEncoder
from .interleaver import TURBO_SIZES, qpp_interleaver
from .rate_matching import RateMatching

__all__ = ["TURBO_SIZES", "RateMatching", "TurboDecoder", "TurboEncoder", "qpp_interleaver"]
