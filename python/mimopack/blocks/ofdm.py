# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks: make vectors for detector blocks from the grid of an OFDM system, and put LLRs back."""

import numpy as np
import pmt
from gnuradio import gr

from .. import constellation as constellations
from ..checks import choice, integer, shown
from ..ofdm import ChannelEstimator
from .fec_decoder import LLR_TYPES
from .settings import NOISE_COV, NOISE_VAR
from .slots import slot_estimator
from .streams import vector


class _reordering_block(gr.basic_block):
    """Base class of blocks that make a fixed number of items from each block of items.

    ``_reorder`` takes an array (blocks, values) for each input and returns one for each output.
    ``taken`` is the number of items that such a block takes, for each input; ``made`` is the number
    that it makes at each output.
    """

    def __init__(self, name, in_sig, out_sig, taken, made):
        self._taken, self._made = taken, made
        gr.basic_block.__init__(self, name, in_sig, out_sig)
        self.set_output_multiple(made)
        self.set_relative_rate(made, max(taken))    # for the size of the buffers
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def forecast(self, noutput_items, ninputs):
        return [max(1, noutput_items // self._made) * taken for taken in self._taken]

    def general_work(self, input_items, output_items):
        blocks = min([len(output_items[0]) // self._made,
                      *(len(items) // taken for items, taken in zip(
                          input_items, self._taken, strict=True))])
        if not blocks:
            return 0
        inputs = [items[:blocks * taken].reshape(blocks, -1) for items, taken in zip(
            input_items, self._taken, strict=True)]
        outputs = [items[:blocks * self._made] for items in output_items]
        for out, values in zip(outputs, self._reorder(inputs), strict=True):
            out[...] = values.reshape(out.shape)
        # The first output has the tags of the first input, the last output those of the last.
        for output, port in enumerate((0, len(inputs) - 1)[:len(outputs)]):
            self._move_tags(port, output, blocks)
        for port, taken in enumerate(self._taken):
            self.consume(port, blocks * taken)
        return blocks * self._made

    def _move_tags(self, port, output, blocks):
        """Put the tags of an input on the first output items of their blocks."""
        taken = self._taken[port]
        for tag in self.get_tags_in_window(port, 0, blocks * taken):
            self.add_item_tag(output, tag.offset // taken * self._made, tag.key, tag.value,
                              tag.srcid)


class ofdm_vectors(_reordering_block):
    """Make the streams ``y`` and ``h`` of detector blocks from the symbols of an OFDM receiver.

    A block of T consecutive OFDM symbols shares the channel estimates. A detector block with
    symbols_per_channel=T takes one item for each subcarrier of such a block::

                    time: symbol 0   1  ..  T-1
        subcarrier 0      [ y   y   ..   y  ]   item 0:   T vectors, and H of subcarrier 0
        subcarrier 1      [ y   y   ..   y  ]   item 1:   T vectors, and H of subcarrier 1
        ..
        subcarrier K-1    [ y   y   ..   y  ]   item K-1; then the next T symbols

    Ports:
        in 0 to num_rx - 1: complex, vlen fft_len: the FFT output of each antenna, an item per
            OFDM symbol.
        in num_rx ``estimates``: complex, vlen fft_len*num_rx*num_tx: channel matrices of the T
            symbols, an item per T symbols: the matrix of bin 0, row-major, then that of bin 1.
            This is ``array.ravel()`` of an array of shape (fft_len, num_rx, num_tx).
        out 0 ``y``: complex, vlen T*num_rx: the received vectors of a subcarrier.
        out 1 ``h``: complex, vlen num_rx*num_tx: its channel matrix, row-major.

    At the end of a stream, fewer than T symbols may be left over.

    A tag moves to the first item of its block: from the first antenna to ``y``, where a tag
    ``noise_var`` reaches the detector, and from the estimates to ``h``.

    Args:
        num_rx: number of receive antennas, 1..256.
        num_tx: number of transmit antennas, 1..64.
        fft_len: number of values per OFDM symbol, 1..65536.
        symbols_per_channel: T, 1..4096.
        carriers: indices of the values that carry data, in the order in which their items leave;
            None for all of them. K is their number.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, num_rx=4, num_tx=4, fft_len=64, symbols_per_channel=14, carriers=None):
        self._num_rx = integer("num_rx", num_rx, 1, 256)
        width = num_rx * integer("num_tx", num_tx, 1, 64)
        self._fft_len = integer("fft_len", fft_len, 1, 65536)
        self._symbols = _period(symbols_per_channel)
        self._carriers = _indices(carriers, range(fft_len))
        _reordering_block.__init__(
            self, "ofdm_vectors",
            [vector(np.complex64, fft_len)] * num_rx + [vector(np.complex64, fft_len * width)],
            [vector(np.complex64, self._symbols * num_rx), vector(np.complex64, width)],
            [self._symbols] * num_rx + [1], len(self._carriers))

    def _reorder(self, inputs):
        *antennas, estimates = inputs
        grid = np.stack([values.reshape(-1, self._symbols, self._fft_len) for values in antennas])
        # From (antenna, block, symbol, bin) to (block, bin, symbol, antenna).
        y = grid.transpose(1, 3, 2, 0)[:, self._carriers]
        return y, estimates.reshape(len(estimates), self._fft_len, -1)[:, self._carriers]


class ofdm_channel_estimator(slot_estimator):
    """Estimate the channel of an OFDM system from its pilots, and make ``y`` and ``h`` of the data.

    A slot is a block of consecutive OFDM symbols; all slots have the same pilots. See
    ``ofdm.ChannelEstimator``, which does the work.

    Ports:
        in 0 to num_rx - 1: complex, vlen fft_len: the FFT output of each antenna, an item per
            OFDM symbol.
        out 0 ``y``: complex, vlen num_rx: the received vectors, an item for each element of the
            grid with data: symbol by symbol, in the order of ``carriers``.
        out 1 ``h``: complex, vlen num_rx*num_tx: the channel matrix of each vector, row-major.

    y and h are divided by the standard deviation of noise, and the first vector of a slot has the
    tag ``noise_var`` 1. Other tags of the first antenna move to the first vector of their slot,
    except ``noise_var`` and ``noise_cov``.

    A slot comes whole or not at all. With ``slot_tag``, symbols of no slot, and slots that end
    before their last symbol, are dropped and counted. NaN and infinity count as 0. An exception is
    counted and logged, and the vectors of the slots of its call are 0, which a detector takes for
    erasures.

    Args:
        pilots, data, prefix: see ``ofdm.ChannelEstimator``.
        num_rx: number of receive antennas, 1..256.
        fft_len: number of values per OFDM symbol, 1..65536.
        carriers: indices of the K values that the pilots are for, in the order of frequency,
            without a gap; None for all values, from the lowest frequency at fft_len/2.
        slot_tag: name of a tag on the first symbol of each slot, on the first antenna. Without a
            name, the stream begins with a slot, and slots follow each other for ever: a lost
            symbol spoils all that follow.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, pilots, num_rx=4, fft_len=64, carriers=None, data=None, prefix=0.25,
                 slot_tag=""):
        self._estimator = ChannelEstimator(pilots, data, prefix)
        integer("fft_len", fft_len, 1, 65536)
        self._carriers = _indices(carriers, np.fft.fftshift(np.arange(fft_len)))
        symbols, width = self._estimator.data.shape
        if width != len(self._carriers):
            raise ValueError(f"pilots: got {width} carriers, must be {len(self._carriers)}")
        if not np.all(np.diff(self._carriers) % fft_len == 1 % fft_len):
            raise ValueError("carriers: got a gap or another order, must follow each other in "
                             "frequency: give unused ones neither pilots nor data")
        self._slot_tag = slot_tag and pmt.intern(slot_tag)
        integer("num_rx", num_rx, 1, 256)
        slot_estimator.__init__(
            self, "ofdm_channel_estimator", num_rx, fft_len, symbols,
            int(self._estimator.data.sum()), (num_rx, num_rx * self._estimator.num_tx))

    def start(self):
        self._estimator.restart()
        return slot_estimator.start(self)

    def _starts(self, available):
        if not self._slot_tag:
            return dict.fromkeys(range(0, available, self._symbols))
        return self._tags(self._slot_tag, 0, available, lambda value: None)

    def _facts(self, first, value):
        return [(0, tag.key, tag.value)
                for tag in self.get_tags_in_window(0, first, first + self._symbols)
                if tag.key not in (NOISE_VAR, NOISE_COV)]

    def _vectors(self, grids, facts):
        grids = grids[..., self._carriers]
        return self._estimator.vectors(np.where(np.isfinite(grids), grids, 0))

    def _slot_tags(self, facts):
        return facts


class ofdm_grid(_reordering_block):
    """Put the LLRs of OFDM symbols from the order of ``ofdm_vectors`` into that of the symbols.

    Ports:
        in 0 ``llr``: float (or int8), vlen T*num_tx*m: the LLRs of a subcarrier of T symbols, as a
            detector block with symbols_per_channel=T sends them.
        out 0 ``symbols``: float (or int8), vlen num_carriers*num_tx*m: the LLRs of an OFDM symbol,
            subcarrier by subcarrier, antenna by antenna, most significant bit first.

    A tag moves to the first symbol of its block.

    Args:
        num_tx: number of transmit antennas, 1..64.
        constellation: see ``constellation.of_layers``; a point has m bits.
        num_carriers: number of subcarriers that carry data, 1..65536.
        symbols_per_channel: T, 1..4096.
        llr_type: "float32" or "int8".

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, num_tx=4, constellation="qam16", num_carriers=64,
                 symbols_per_channel=14, llr_type="float32"):
        bits = constellations.bits_per_vector(constellation, integer("num_tx", num_tx, 1, 64))
        self._shape = (integer("num_carriers", num_carriers, 1, 65536),
                       _period(symbols_per_channel), bits)
        kind = LLR_TYPES[choice("llr_type", llr_type, tuple(LLR_TYPES))]
        _reordering_block.__init__(
            self, "ofdm_grid", [vector(kind, self._shape[1] * bits)],
            [vector(kind, num_carriers * bits)], [num_carriers], self._shape[1])

    def _reorder(self, inputs):
        return [inputs[0].reshape(-1, *self._shape).transpose(0, 2, 1, 3)]


def _indices(carriers, usual):
    """Return the indices of carriers as an array; None stands for the usual ones."""
    carriers = usual if carriers is None else carriers
    if np.ndim(carriers) != 1 or not len(carriers):
        raise ValueError(f"carriers: got {shown(carriers)}, must be a list of indices, or None")
    return np.array([integer("carriers", carrier, 0, max(usual)) for carrier in carriers])


def _period(symbols_per_channel):
    return integer("symbols_per_channel", symbols_per_channel, 1, 4096)
