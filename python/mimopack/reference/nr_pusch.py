# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A decoder of 5G NR's uplink shared channel (PUSCH) in plain NumPy, step by step.

Each function is one step and names its clause of TS 38.211 or TS 38.212. The channel is estimated
in the plainest way: least squares, despreading of CDM groups, and a filter in the delay domain.
Despreading takes neighbouring subcarriers for equal, which limits the SNR. The receiver in ``nr``
estimates it in another way and loses fewer blocks.

What is NumPy in ``nr`` already is used here: places and values of DMRS, sizes of codewords,
whitening. PT-RS, transform precoding and the demodulator's carrier offset are left out.
"""

import numpy as np

from .. import constellation, nr
from ..coding import gold_sequence
from ..coding.ldpc import LdpcDecoder, NrRateMatching
from ..coding.segmentation import NrSegmentation
from .batch import run
from .linear import mmse

CRC_24A, CRC_16 = 0x1864CFB, 0x11021    # generator polynomials: TS 38.212 §5.1
_DELAYS = 1.5      # delays of the channel's filter, as a part of the cyclic prefix
_REGULAR = 1e-3    # keeps the filter regular, relative to the power of DMRS


def demodulate(samples, carrier, fft_size, slot=0):
    """Transform the samples of a slot to its grid: TS 38.211 §5.3.1.

    Args:
        samples: (nr, n) complex, from the first sample of the slot on.
        carrier: :class:`nr.Carrier` with normal cyclic prefix, without carrier frequency.
        fft_size: number of samples per symbol without prefix.
        slot: number of the slot.

    Returns:
        complex (nr, 14, K): y of each antenna, symbol and subcarrier.
    """
    grid, at = [], 0
    half = 7 << carrier.mu    # symbols in half a subframe
    for symbol in range(14):
        long = (14 * slot + symbol) % half == 0
        at += 9 * fft_size // 128 + long * (fft_size << carrier.mu) // 128
        bins = np.fft.fft(samples[:, at:at + fft_size], norm="ortho")
        k = np.arange(carrier.num_subcarriers) - carrier.num_subcarriers // 2
        grid.append(bins[:, k % fft_size])
        at += fft_size
    return np.stack(grid, axis=1)


def least_squares(grid, config, slot, port):
    """Estimate the channel of a DMRS port by least squares, and despread it: TS 38.211 §6.4.1.1.3.

    y / r w_f w_t has the sum of all channels of the CDM group, with signs. The mean over two
    subcarriers, and over two symbols with double symbols, is the port's own.

    Args:
        grid: (nr, 14, K) complex.
        config: :class:`nr.PuschConfig`.
        slot: number of the slot in its frame.
        port: the DMRS port.

    Returns:
        (h (nr, positions, pairs), symbols (positions,), subcarriers (pairs,) of their middles).
    """
    known, length = nr.dmrs_symbols(config, slot, port), config.dmrs.length
    raw = grid[:, known.symbols[:, None], known.subcarriers] / known.values
    raw = raw.reshape(len(grid), -1, length, len(known.subcarriers) // 2, 2)
    return (raw.mean(axis=(2, 4)), known.symbols.reshape(-1, length).mean(axis=1),
            known.subcarriers.reshape(-1, 2).mean(axis=1))


def delay_filter(subcarriers, wanted, prefix=144 / 2048):
    """Return the matrix that takes least-squares gains to a channel with few delays.

    The channel is a sum of exp(-j 2 pi k tau) with tau on a grid of delays around the cyclic
    prefix. The amplitudes follow by regularised least squares.

    Args:
        subcarriers: (pairs,) where the gains are.
        wanted: (n,) subcarriers of the result.
        prefix: length of the cyclic prefix, in symbols without prefix.

    Returns:
        complex (n, pairs).
    """
    step = 1 / (2 * (np.ptp(wanted) + 1))
    margin = (_DELAYS - 1) / 2 * prefix
    delays = np.arange(-margin, prefix + margin, step)
    seen, out = (np.exp(-2j * np.pi * np.outer(k, delays)) for k in (subcarriers, wanted))
    gram = seen.conj().T @ seen + _REGULAR * len(subcarriers) * np.eye(len(delays))
    return out @ np.linalg.solve(gram, seen.conj().T)


def estimate(grid, users, slot):
    """Estimate the channels of all ports, and the covariance of noise from the DMRS' residuals.

    Args:
        grid: (nr, 14, K) complex.
        users: list of :class:`nr.PuschConfig` on the same resource elements.
        slot: number of the slot in its frame.

    Returns:
        (h (14, K, nr, layers), noise covariance (nr, nr)).
    """
    ports = [(config, port) for config in users for port in config.dmrs_ports]
    every, symbols = np.arange(grid.shape[2]), np.arange(grid.shape[1])
    h = np.zeros((len(ports), *grid.shape), complex)
    known, degrees = np.zeros((len(ports), *grid.shape[1:]), complex), 0.0
    for layer, (config, port) in enumerate(ports):
        gains, times, subcarriers = least_squares(grid, config, slot, port)
        gains = gains @ delay_filter(subcarriers, every).T    # (nr, positions, K)
        for antenna, k in np.ndindex(len(grid), len(every)):    # linear from position to position
            h[layer, antenna, :, k] = np.interp(symbols, times, gains[antenna, :, k])
        dmrs = nr.dmrs_symbols(config, slot, port)
        known[layer, dmrs.symbols[:, None], dmrs.subcarriers] = dmrs.values
        degrees += len(times) * np.trace(delay_filter(subcarriers, subcarriers)).real
    places = np.abs(known).max(axis=0) > 0
    residual = (grid - np.einsum("prlk,plk->rlk", h, known))[:, places]
    covariance = residual @ residual.conj().T / max(residual.shape[1] - degrees, 1.0)
    return h.transpose(2, 3, 1, 0), covariance


def detect(grid, h, covariance, users, detector=mmse):
    """Whiten, and detect each vector: Cholesky factor L of the covariance, L^-1 y = L^-1 H x + n.

    Args:
        grid: (nr, 14, K) complex.
        h, covariance: as from :func:`estimate`.
        users: list of :class:`nr.PuschConfig`.
        detector: a function of ``reference``.

    Returns:
        list with the LLRs of each user, in the order in which bits are mapped (TS 38.211 §6.3.1.3,
        §6.3.1.6).
    """
    places = nr.resources(users[0])
    inverse = np.linalg.inv(np.linalg.cholesky(covariance))
    y = inverse @ grid[:, places.data_symbols, places.data_subcarriers]
    h = inverse @ h[places.data_symbols, places.data_subcarriers]
    names = [name for config in users for name in config.constellations]
    llr, _ = run(detector, y.T, h, 1.0, constellation.of_layers(names, len(names)))
    bits = [config.num_layers * config.modulation_order for config in users]
    return [own.ravel() for own in np.split(llr, np.cumsum(bits)[:-1], axis=1)]


def descramble(llr, word):
    """Undo scrambling: the LLR of an inverted bit has the other sign (TS 38.211 §6.3.1.1)."""
    return llr * (1.0 - 2 * gold_sequence(word.c_init, word.num_coded_bits))


def recover(llr, matching, order, rv, buffer_bits=None):
    """Undo rate matching of a code block: TS 38.212 §5.4.2.

    Args:
        llr: (E,) LLRs.
        matching: :class:`coding.ldpc.NrRateMatching` of the code block, for its sizes.
        order: Q_m.
        rv: redundancy version.
        buffer_bits: N_ref of limited buffer rate matching; None without.

    Returns:
        (N + 2 Z_c,) LLRs of the codeword, without the information about filler bits: 0 where a bit
        was not sent, sums where it was sent more than once.
    """
    size = matching.lifting_size
    columns, starts = {1: (66, (0, 17, 33, 56)), 2: (50, (0, 13, 25, 43))}[matching.base_graph]
    ring = min(columns * size, buffer_bits or columns * size)    # N_cb
    place = starts[rv] * ring // (columns * size) * size    # k_0
    first = matching.info_bits    # of the filler bits, which are skipped
    word = np.zeros((columns + 2) * size)
    # Interleaved: row i of Q_m rows has the i-th bit of each symbol.
    for value in np.reshape(llr, (-1, order)).T.ravel():
        while first <= place % ring + 2 * size < first + matching.num_filler:
            place += 1
        word[place % ring + 2 * size] += value
        place += 1
    return word


def remainder(bits, polynomial):
    """Divide a message of bits by a CRC's generator polynomial; return the remainder's bits."""
    length = polynomial.bit_length() - 1
    divisor = np.array([polynomial >> n & 1 for n in range(length, -1, -1)], np.uint8)
    rest = np.concatenate([bits, np.zeros(length, np.uint8)])
    for n in range(len(bits)):
        if rest[n]:
            rest[n:n + length + 1] ^= divisor
    return rest[len(bits):]


def decode(llr, word, backend="reference"):
    """Decode a transport block: TS 38.212 §6.2, backwards.

    Args:
        llr: (num_coded_bits,) descrambled LLRs.
        word: :class:`nr.Codeword`.
        backend: of the LDPC decoder. NumPy needs some seconds for a thousand bits.

    Returns:
        (bits (tb_size,) uint8, whether the CRC is correct). Without a codeword it is not: LLRs of 0
        are decoded to zeros, whose CRC is 0.
    """
    parts = NrSegmentation(word.tb_size, word.base_graph)
    sizes = parts.coded_bits(word.num_coded_bits, word.modulation_order, word.num_layers)
    blocks, found = [], True
    for own in np.split(llr, np.cumsum(sizes)[:-1]):
        matching = NrRateMatching(parts.block_bits[0], len(own), word.base_graph, word.rv,
                                  word.modulation_order, word.buffer_bits, prune=False)
        coded = recover(own, matching, word.modulation_order, word.rv, word.buffer_bits)
        coded[matching.info_bits:matching.info_bits + matching.num_filler] = -1e20    # zeros
        decoder = LdpcDecoder(matching.code, iterations=20, backend=backend)
        bits = (decoder.decode(coded[None].astype(np.float32))[0] > 0).astype(np.uint8)
        found &= bool(decoder.found[0])
        bits = bits[:matching.info_bits]
        blocks.append(bits[:-24] if parts.num_blocks > 1 else bits)    # without CRC24B
    whole = np.concatenate(blocks)
    polynomial = CRC_24A if word.tb_size > 3824 else CRC_16
    return whole[:word.tb_size], found and not remainder(whole, polynomial).any()


def receive(grid, users, slot, detector=mmse, backend="reference"):
    """Decode the transport blocks of a slot.

    Args:
        grid: (nr, 14, K) complex.
        users: list of :class:`nr.PuschConfig` on the same resource elements.
        slot: number of the slot in its frame.
        detector: a function of ``reference``.
        backend: see :func:`decode`.

    Returns:
        list of (bits, whether the CRC is correct) for each user.
    """
    found = []
    for config, llr in zip(users, detect(grid, *estimate(grid, users, slot), users, detector),
                           strict=True):
        word = nr.codeword(config)
        found.append(decode(descramble(llr, word), word, backend))
    return found
