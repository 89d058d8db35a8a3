# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a slot: where users, layers, bits and vectors are; computed once for a receiver."""

from dataclasses import replace

import numpy as np

from .. import _core, constellation
from ..arrays import Constant, ReusedMemory, array_module
from .config import read_users
from .dmrs import dmrs_sequence, dmrs_symbols, port_weights
from .estimation import longest_delay
from .parts import MODULATIONS
from .precoding import pi2_turn
from .resources import resources
from .transport import LlrOrder, codewords


def users_together(config, kind):
    """Do what :func:`read_users` does, for users that can be received together."""
    configs = read_users(config, kind)
    first = configs[0]
    for index, each in enumerate(configs[1:], 1):
        if each.carrier != first.carrier or not np.array_equal(*(
                resources(replace(one, ptrs=None)).data_mask for one in (each, first))):
            raise ValueError(f"config: user {index} has other resource elements than user 0, "
                             "must have the same carrier, PRBs, symbols and DMRS positions")
    ports = [port for each in configs for port in each.dmrs_ports]
    signals = {(port, dmrs_sequence(each, 0, int(resources(each).dmrs_symbols[0])).tobytes())
               for each in configs for port in each.dmrs_ports}
    if len(signals) < len(ports):
        raise ValueError(f"config: got DMRS ports {ports}, must be different for all layers "
                         "with the same dmrs.n_id and dmrs.n_scid (TS 38.211 §6.4.1.1)")
    if len({each.transform_precoding for each in configs}) > 1:
        raise ValueError("config: got users with and without transform precoding, must be the "
                         "same for all")
    return configs


def _spacing(configs):
    """Return the subcarriers from one DMRS of a port to the next, twice that if a CDM group shares.

    Ports that codes in time separate do not count as sharing.
    """
    config_type = configs[0].dmrs.config_type
    weights = [port_weights(config_type, port) for each in configs for port in each.dmrs_ports]
    codes = {(each.cdm_group, each.w_f) for each in weights}
    shares = len({group for group, _ in codes}) < len(codes)
    return (config_type + 1) * (1 + shares)    # of type 2, on average


class PlacedCodeword:
    """A codeword of a user, as a part of the vectors.

    Attributes:
        user, number: index of the user, and of the codeword among the user's.
        codeword: :class:`Codeword`.
        layers, bits: slices of the codeword's layers, and of their bits in a vector.
        vectors: indices of the vectors that contain the codeword, or a slice.
        turn: factors of pi/2-BPSK in these vectors, which make it BPSK; 1 for other modulations.
        points: the constellation.
        orders: the :class:`LlrOrder` of LLRs of vectors as they are mapped, and of those in the
            order of subcarriers.
    """

    def __init__(self, user, number, codeword, first_layer, first_bit, vectors):
        self.user, self.number, self.codeword, self.vectors = user, number, codeword, vectors
        order, layers = codeword.modulation_order, codeword.num_layers
        self.points = constellation.get(MODULATIONS[order])
        self.turn = pi2_turn(codeword.num_coded_bits).conj() if order == 1 else 1
        self.layers = slice(first_layer, first_layer + layers)
        self.bits = slice(first_bit, first_bit + layers * order)

    def symbols(self, llr):
        """Return mean and variance of the codeword's symbols: two arrays (vectors, layers).

        Args:
            llr: (vectors, bits of a vector) LLRs ln P(1)/P(0).
        """
        llr = llr[:, self.bits].reshape(len(llr), -1, self.points.bits_per_symbol)
        # ln P(b) of both values, without overflow
        one, zero = -np.logaddexp(0, -llr), -np.logaddexp(0, llr)
        bits = self.points.bits.T.astype(np.float32)    # (bits of a symbol, points)
        probability = np.exp(one @ bits + zero @ (1 - bits))
        mean = probability @ self.points.points
        power = probability @ np.abs(self.points.points)**2
        return (mean.astype(np.complex64),
                np.maximum(power - np.abs(mean)**2, 0).astype(np.float32))


class SlotLayout:
    """The plan of a slot of all users.

    Args:
        configs: list with the configuration of each user, as from :func:`users_together`.
        num_rx, threads: see :class:`PuschReceiver`.

    Attributes:
        configs, num_rx: see above.
        spreads: whether there is transform precoding.
        has_ptrs: whether any user has PT-RS.
        has_gaps: whether some layers have no data in some vectors: of several users, each may have
            PT-RS on other elements.
        resources: the :class:`Resources`; with gaps, as if there were no PT-RS.
        band: slice of the grid from the first to the last allocated subcarrier.
        data: symbol and subcarrier, counted in the band, of each vector: two int arrays.
        owners: (layers,) index of each layer's user.
        prefix: see :func:`longest_delay`.
        words: list of each :class:`PlacedCodeword`, by user.
        num_layers, num_vectors, bits_per_vector, vector_size: see :class:`PuschReceiver`.
    """

    def __init__(self, configs, num_rx, threads):
        self.configs, self.num_rx, self._threads = configs, num_rx, threads
        self._memory = ReusedMemory()
        self.spreads = configs[0].transform_precoding
        self.has_ptrs = any(each.ptrs is not None for each in configs)
        self.has_gaps = self.has_ptrs and len(configs) > 1 and not self.spreads
        self.resources = places = resources(
            replace(configs[0], ptrs=None) if self.has_gaps else configs[0])
        self.band = slice(places.subcarriers[0], places.subcarriers[-1] + 1)
        self.data = places.data_symbols, places.data_subcarriers - self.band.start
        self.owners = np.repeat(np.arange(len(configs)), [each.num_layers for each in configs])
        self.prefix = longest_delay(
            0.25 if configs[0].carrier.cyclic_prefix == "extended" else 144 / 2048,
            _spacing(configs))
        self.words, layer, bit = [], 0, 0
        for user, config in enumerate(configs):
            for number, codeword in enumerate(codewords(config)):
                word = PlacedCodeword(user, number, codeword, layer, bit, self._vectors_of(config))
                self.words.append(word)
                layer, bit = word.layers.stop, word.bits.stop
        self.num_layers, self.num_vectors, self.bits_per_vector = layer, places.num_data, bit
        self.vector_size = layer if self.spreads else num_rx
        self._places = tuple(map(Constant, self.data))
        # The symbols with data if they are data from end to end, in order; else None
        rows, width = np.unique(places.data_symbols), self.band.stop - self.band.start
        mapped = np.arange(places.num_data)
        self._rows, by_subcarrier = None, mapped
        if not self.spreads and not self.has_gaps and np.array_equal(
                self.data[1], np.tile(np.arange(width), len(rows))):
            self._rows, by_subcarrier = Constant(rows), mapped.reshape(width, len(rows)).T.ravel()
            # Of each value of a slot's vectors, in the order of subcarriers
            self._by_subcarrier = Constant((
                np.arange(width)[:, None, None] + width * rows[:, None]
                + width * configs[0].carrier.symbols_per_slot * np.arange(num_rx)).ravel().astype(
                    np.int32))
        for word in self.words:
            word.orders = [LlrOrder((bit * order[word.vectors, None] + np.arange(
                word.bits.start, word.bits.stop)).ravel(), bit * len(mapped))
                for order in (mapped, by_subcarrier)]

    def _vectors_of(self, config):
        """Return the indices of the vectors with data of a user, or a slice."""
        if self.spreads:
            return resources(config).spread_places
        if self.has_gaps:
            places = self.resources
            return np.flatnonzero(resources(config).data_mask[
                places.data_symbols, places.data_subcarriers])
        return slice(None)

    def in_frame(self, number):
        """Return the number of a slot in its frame; numbers may count on from frame to frame."""
        return number % self.configs[0].carrier.slots_per_frame

    def known_symbols(self, slot):
        """Return the DMRS of all layers in a slot: (layers, symbols, subcarriers) complex64."""
        known = np.zeros((self.num_layers, *self.resources.data_mask.shape), np.complex64)
        ports = [(config, port) for config in self.configs for port in config.dmrs_ports]
        for layer, (config, port) in zip(known, ports, strict=True):
            dmrs_symbols(config, slot, port).write(layer)
        return known

    def known(self, slot):
        """Return the DMRS within the band."""
        return self.known_symbols(slot)[..., self.band]

    def vectors(self, channels):
        """Return what :meth:`PuschReceiver.vectors` does, with PT-RS and without despreading."""
        xp, received = array_module(channels.received), channels.received
        noise_var = xp.asarray(channels.noise_var, np.float32)[:, None, None]
        h, variance = channels.h, channels.error_var + noise_var
        if self._rows is None:
            symbols, subcarriers = (each.beside(received) for each in self._places)
            of_h = symbols if h.shape[1] > 1 else symbols * 0
            y = received[:, :, symbols, subcarriers].swapaxes(1, 2)
            return y, h[:, of_h, subcarriers], variance[:, of_h, subcarriers]
        rows = self._rows.beside(received)
        if h.shape[1] > 1:
            return xp.moveaxis(received[:, :, rows], 1, 3), h[:, rows], variance[:, rows]
        flat, width = received.reshape(len(received), -1), received.shape[3]
        if xp is np:
            first = self._by_subcarrier.values[:len(rows) * self.num_rx]
            y = self._memory.empty((len(flat), width, len(first)), np.complex64)
            _core.interleave(flat, first, width, y, self._threads)
        else:
            y = flat.take(self._by_subcarrier.beside(received), axis=1)
        return y.reshape(len(y), width, len(rows), self.num_rx).swapaxes(1, 2), h, variance
