# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built-in families of codes, one entry each."""

from functools import partial
from inspect import signature

import numpy as np

from . import ldpc, turbo
from .codes import Code
from .convolutional import ConvolutionalEncoder
from .convolutional_decoder import ConvolutionalDecoder
from .registry import Family, check_options
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

    def make_decoder(**options):
        # "offset" loses fewer blocks at low rates.
        usual = {} if "factor" in options else {"algorithm": "offset"}
        return ldpc.LdpcDecoder(matching.code, **usual | options)

    return Code(ldpc.LdpcEncoder(matching.code), make_decoder, matching)


def _turbo(size):
    return Code(turbo.TurboEncoder(size), partial(turbo.TurboDecoder, size))


def _turbo_matched(info_bits, coded_bits, redundancy_version=0):
    matching = turbo.RateMatching(info_bits, coded_bits, redundancy_version)
    return Code(turbo.TurboEncoder(matching.size), partial(turbo.TurboDecoder, matching.size),
                matching)


_OF_VITERBI = tuple(signature(ViterbiDecoder).parameters)[2:]    # without the code's sizes


def _convolutional(info_bits, rate):
    encoder = ConvolutionalEncoder(info_bits, rate)
    sent = np.arange(info_bits, encoder.num_bits)

    def make_decoder(algorithm="max-log", **options):
        if algorithm == "viterbi":
            check_options(options, _OF_VITERBI, "the algorithm viterbi")
            return ViterbiDecoder(info_bits, rate, **options)
        return ConvolutionalDecoder(info_bits, rate, algorithm=algorithm, **options)

    return Code(encoder, make_decoder, Selection(info_bits, encoder.num_bits, sent))


def _of_matrices(form, summary, matrix, examples=(), make=_ldpc, **more):
    """Make a family of LDPC codes with one matrix per name."""
    return Family(form, summary, lambda *sizes: make(matrix(*sizes)), (ldpc.LdpcDecoder,),
                  examples, matrix, **more)


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
        _nr_matched, (ldpc.LdpcDecoder,), ("nr_matched:1000:2000:4",)),
    Family(
        "turbo:INFO_BITS", "LTE's turbo code; 188 sizes from 40 to 6144",
        _turbo, (turbo.TurboDecoder,), ("turbo:6144",)),
    Family(
        "turbo_matched:INFO_BITS:CODED_BITS[:VERSION]",
        "LTE's turbo code after rate matching of a code block; the redundancy version (default 0) "
        "may be left out",
        _turbo_matched, (turbo.TurboDecoder,), ("turbo_matched:1000:2000",)),
    Family(
        "conv:INFO_BITS:RATE",
        "IEEE 802.11's convolutional code, terminated by six zeros; rates 1/2, 2/3, 3/4, 5/6",
        _convolutional, (ConvolutionalDecoder, ViterbiDecoder),
        ("conv:1000:1/2", "conv:1000:3/4")),
    _of_matrices(
        "the path of a file in alist format", "any LDPC code", ldpc.read_alist, in_files=True))
