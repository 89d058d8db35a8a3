# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error-correcting codes, scramblers, interleavers and CRCs: of the IEEE 802.11 data field, of LTE
and 5G NR; LDPC codes are in ``coding.ldpc``."""

from .codes import FORMS, Code, Decoder, get
from .convolutional import CODE_RATES, ConvolutionalCode, ConvolutionalEncoder
from .convolutional_decoder import ConvolutionalDecoder
from .crc import CRCS, Crc
from .list_decoder import ListDecoder
from .permutation import Interleaver, RandomInterleaver
from .scrambler import (
    gold_scramble,
    gold_sequence,
    scramble,
    scrambler_sequence,
    seed_from_service,
)
from .segmentation import LteSegmentation, NrSegmentation
from .selection import Selection
from .viterbi_decoder import ViterbiDecoder

__all__ = ["CODE_RATES", "CRCS", "Code", "ConvolutionalCode", "ConvolutionalDecoder",
           "ConvolutionalEncoder", "Crc", "Decoder", "FORMS", "Interleaver", "ListDecoder",
           "LteSegmentation", "NrSegmentation", "RandomInterleaver", "Selection", "ViterbiDecoder",
           "get", "gold_scramble", "gold_sequence", "scramble", "scrambler_sequence",
           "seed_from_service"]
