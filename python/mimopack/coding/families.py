# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built-in families of codes, one entry each."""

from functools import partial

import numpy as np

from . import ldpc, turbo
from .codes import Code, Family, keyword_names
from .convolutional import ConvolutionalEncoder
from .convolutional_decoder import ConvolutionalDecoder
from .selection import Selection
from .viterbi_decoder import ViterbiDecoder


def _ldpc(matrix):
    return Code(ldpc.LdpcEncoder(matrix), partial(ldpc.LdpcDecoder, matrix))


def _nr(matrix):
    """Make the code without the bits that are never sent, TS 38.212 §5.3.2."""
    sent = np.arange(ldpc.NR_PUNCTURED_COLUMNS * matrix.size, matrix.num_bits)
    return Code(ldpc.LdpcEncoder(matrix), partial(ldpc.LdpcDecoder, matrix),
                Selection(matrix.num_info, matrix.num_bits, sent))


def _nr_matched(info_bits, coded_bits, bits_per_symbol=1, redundancy_version=0):
    matching = ldpc.NrRateMatching(info_bits, coded_bits, bits_per_symbol=bits_per_symbol,
                                   redundancy_version=redundancy_version)
    decoder = partial(ldpc.LdpcDecoder, matching.code)

    def make_decoder(**options):
        # "offset" loses fewer blocks at low rates.
        usual = {} if "factor" in options else {"algorithm": "offset"}
        return decoder(**usual | options)

    return Code(ldpc.LdpcEncoder(matching.code), make_decoder, matching, keyword_names(decoder))


def _turbo(size):
    return Code(turbo.TurboEncoder(size), partial(turbo.TurboDecoder, size))


def _turbo_matched(info_bits, coded_bits, redundancy_version=0):
    matching = turbo.RateMatching(info_bits, coded_bits, redundancy_version)
    return Code(turbo.TurboEncoder(matching.size), partial(turbo.TurboDecoder, matching.size),
                matching)


def _convolutional(info_bits, rate):
    encoder = ConvolutionalEncoder(info_bits, rate)
    soft, viterbi = (partial(kind, info_bits, rate)
                     for kind in (ConvolutionalDecoder, ViterbiDecoder))

    def make_decoder(algorithm="max-log", **options):
        return viterbi(**options) if algorithm == "viterbi" else soft(
            algorithm=algorithm, **options)

    return Code(encoder, make_decoder,
                Selection(info_bits, encoder.num_bits, np.arange(info_bits, encoder.num_bits)),
                keyword_names(soft, viterbi))


def _of_matrices(form, summary, matrix, examples=(), make=_ldpc, **more):
    """Make a family of LDPC codes with one matrix per name."""
    return Family(form, summary, lambda *sizes: make(matrix(*sizes)), examples, matrix, **more)


BUILT_IN = (
    _of_matrices(
        "wimax:N:RATE",
        "LDPC codes of IEEE 802.16e; N = 576, 672, ... 2304; rates 1/2, 2/3A, 2/3B, 3/4A, 3/4B, "
        "5/6", ldpc.wimax, ("wimax:2304:1/2", "wimax:2304:5/6")),
    _of_matrices(
        "wifi:N:RATE",
        "LDPC codes of IEEE 802.11n and 802.11ac; N = 648, 1296, 1944; rates 1/2, 2/3, 3/4, 5/6",
        ldpc.wifi, ("wifi:1944:1/2", "wifi:1944:5/6")),
    _of_matrices(
        "nr:BASE_GRAPH:LIFTING_SIZE",
        "LDPC codes of 5G NR without the bits that 5G NR never sends; base graphs 1 and 2, "
        "lifting sizes 2 to 384", ldpc.nr, ("nr:1:384",), _nr),
    Family(
        "nr_matched:INFO_BITS:CODED_BITS[:BITS_PER_SYMBOL[:VERSION]]",
        "LDPC codes of 5G NR after rate matching of a code block; the bits per symbol of the "
        "interleaver (default 1) and the redundancy version (default 0) may be left out",
        _nr_matched, ("nr_matched:1000:2000:4",)),
    Family(
        "turbo:INFO_BITS", "LTE's turbo code; 188 sizes from 40 to 6144", _turbo, ("turbo:6144",)),
    Family(
        "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]",
        "LTE's turbo code after rate matching of a code block; the redundancy version (default 0) "
        "may be left out",
        _turbo_matched, ("turbo_matched:1000:2000",)),
    Family(
        "conv:INFO_BITS:RATE",
        "IEEE 802.11's convolutional code, terminated by six zeros; rates 1/2, 2/3, 3/4, 5/6",
        _convolutional, ("conv:1000:1/2", "conv:1000:3/4")),
    _of_matrices(
        "the path of a file in alist format", "any LDPC code", ldpc.read_alist, in_files=True))
