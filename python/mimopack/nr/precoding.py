# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transform precoding, pi/2-BPSK and codebook precoding of PUSCH: TS 38.211 §6.3.1, §5.1.1."""

from functools import lru_cache

import numpy as np

# Tables 6.3.1.5-1 and 6.3.1.5-3 to 6.3.1.5-7 without their factors: {(layers, ports): matrices in
# the order of TPMI}. A matrix is written by columns, one for each layer, separated by commas; a
# column has an entry for each port. i stands for -j.
_ONE_LAYER_4 = "+000 0+00 00+0 000+ +0+0 +0-0 +0j0 +0i0 0+0+ 0+0- 0+0j 0+0i"
_CODEBOOK = {
    (1, 2): "+0 0+ ++ +- +j +i",
    (1, 4): f"{_ONE_LAYER_4} ++++ ++jj ++-- ++ii +j+j +jj- +j-i +ji+ +-+- +-ji +--+ +-ij +i+i +ij+ "
            "+i-j +ii-",
    (2, 2): "+0,0+ ++,+- +j,+i",
    (2, 4): "+000,0+00 +000,00+0 +000,000+ 0+00,00+0 0+00,000+ 00+0,000+ "
            "+0+0,0+0i +0+0,0+0j +0i0,0+0+ +0i0,0+0- +0-0,0+0i +0-0,0+0j +0j0,0+0+ +0j0,0+0- "
            "++++,++-- ++jj,++ii +j+j,+j-i +jj-,+ji+ +-+-,+--+ +-ji,+-ij +i+i,+i-j +ij+,+ii-",
    (3, 4): "+000,0+00,00+0 +0+0,0+00,000+ +0-0,0+00,000+ "
            "++++,+-+-,++-- ++jj,+-ji,++ii +-+-,++++,+--+ +-ji,++jj,+-ij",
    (4, 4): "+000,0+00,00+0,000+ +0+0,+0-0,0+0+,0+0- +0j0,+0i0,0+0j,0+0i "
            "++++,+-+-,++--,+--+ ++jj,+-ji,++ii,+-ij"}
# Table 6.3.1.5-2: one layer on four ports with transform precoding
_DFT_CODEBOOK = (f"{_ONE_LAYER_4} +++- ++jj ++-+ ++ii +j+j +jj+ +j-i +ji- +-++ +-ji +--- +-ij "
                 "+i+i +ij- +i-j +ii+")
_VALUES = {"0": 0, "+": 1, "-": -1, "j": 1j, "i": -1j}


@lru_cache
def _codebook(layers, ports, transform_precoding):
    text = (_DFT_CODEBOOK if transform_precoding and ports == 4 else _CODEBOOK[layers, ports])
    matrices = np.array([[[_VALUES[entry] for entry in column] for column in matrix.split(",")]
                         for matrix in text.split()]).transpose(0, 2, 1)
    # All entries that are not 0 have one magnitude: a matrix that uses all ports has unit power,
    # and no port ever sends more than 1 / ports.
    used = np.count_nonzero(matrices, axis=(1, 2))
    return matrices / np.sqrt(np.maximum(used, ports))[:, None, None]


def precoding_matrix(config):
    """Return W of a PUSCH: complex128 (num_antenna_ports, num_layers).

    It is the identity without codebook and with one antenna port.

    Args:
        config: :class:`PuschConfig`.
    """
    if config.transmission_scheme == "non-codebook" or config.num_antenna_ports == 1:
        return np.eye(config.num_layers, dtype=complex)
    return _codebook(config.num_layers, config.num_antenna_ports,
                     config.transform_precoding)[config.tpmi]


def pi2_bpsk(bits):
    """Modulate bits with pi/2-BPSK: TS 38.211 §5.1.1.

    Args:
        bits: (..., n), 0 or 1.

    Returns:
        complex128 (..., n) of magnitude 1.
    """
    return pi2_turn(np.shape(bits)[-1]) * (1 - 2.0 * np.asarray(bits)) * (1 + 1j) / np.sqrt(2)


def pi2_turn(count):
    """Return the factors 1, j, 1, j, ... that make pi/2-BPSK of BPSK: complex64 (count,)."""
    return np.where(np.arange(count) % 2, 1j, 1).astype(np.complex64)


def transform_precode(values):
    """Spread modulation symbols over the subcarriers of an OFDM symbol: TS 38.211 §6.3.1.4.

    Args:
        values: (..., M_sc) complex.

    Returns:
        (..., M_sc) complex64, their unitary DFT.
    """
    return np.fft.fft(values, norm="ortho").astype(np.complex64)


def transform_deprecode(values):
    """Undo :func:`transform_precode`."""
    return np.fft.ifft(values, norm="ortho").astype(np.complex64)
