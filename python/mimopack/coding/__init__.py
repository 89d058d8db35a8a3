# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error-correcting codes by name, scramblers, interleavers and CRCs.

The package covers the IEEE 802.11 data field, LTE and 5G NR, and the LDPC codes of IEEE 802.16e.

    code = coding.get("conv:1000:3/4")
    words, decoder = code.encode(bits), code.decoder()

``FAMILIES`` has an entry for each family of codes; ``register`` adds a family. LDPC codes are in
``coding.ldpc``, turbo codes in ``coding.turbo``.
"""

from .backend_decoder import SoftDecoder
from .codes import FAMILIES, Code, CodeDecoder, Family, find, forms, get, register
from .convolutional import CODE_RATES, ConvolutionalCode, ConvolutionalEncoder
from .convolutional_decoder import ConvolutionalDecoder
from .crc import CRCS, Crc
from .decoder import Decoder, Encoder, HardDecoder
from .families import BUILT_IN
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

__all__ = ["CODE_RATES", "CRCS", "FAMILIES", "Code", "CodeDecoder", "ConvolutionalCode",
           "ConvolutionalDecoder", "ConvolutionalEncoder", "Crc", "Decoder", "Encoder",
           "Family", "HardDecoder", "Interleaver", "ListDecoder", "LteSegmentation",
           "NrSegmentation", "RandomInterleaver", "Selection", "SoftDecoder", "ViterbiDecoder",
           "find", "forms", "get", "gold_scramble", "gold_sequence", "register", "scramble",
           "scrambler_sequence", "seed_from_service"]

for _family in BUILT_IN:
    register(_family)
