# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks: the 5G NR uplink receiver without its detector, as streams of grids, vectors, LLRs."""

import numpy as np
import pmt

from .. import nr
from .._runtime import to_pmt_dict
from ..checks import integer
from ..nr.decoding import LEAST_SNR
from ..nr.receiver import receiver_for
from .llr_units import unit_decoder
from .message_stream import message_outlet
from .nr_receiver import PORTS, BlockMessages
from .nr_transmitter import SLOT
from .sample_stream import SampleSink, sample_block
from .settings import scalar
from .slots import slot_estimator
from .vector_source import vector_source
from .wifi_pmt import moment, moment_to_pmt, read

PUSCH = pmt.intern("nr_pusch")
_RX_TIME = pmt.intern("rx_time")


class nr_ofdm_demodulator(sample_block):
    """Cut the samples of 5G NR slots into OFDM symbols: one stream of spectra per antenna.

    The block finds the first slot by cyclic prefixes and DMRS, follows timing and carrier offset,
    and transforms each symbol. See ``nr.GridStream``. ``nr_channel_estimator`` takes the streams.

    Ports:
        in 0 to num_rx - 1: complex: the samples of each antenna, at ``fft_size`` times the
            subcarrier spacing (method ``sample_rate``).
        out 0 to num_rx - 1: complex, vlen subcarriers of the grid: the received grid of each
            antenna, an item per OFDM symbol, the lowest subcarrier first. A slot is 14 items, or 12
            with the extended prefix.

    Tags on the first item of a slot, on each output:
        ``nr_slot``: number of the slot; it counts on from frame to frame.
        ``rx_time``: time of the slot's first sample, if there is a tag rx_time on the first input.

    A slot comes whole or not at all; slots in progress come out when the input ends. Gaps and
    exceptions: see ``nr_pusch_receiver``.

    Args:
        config, num_rx, fft_size, slot, start: see ``nr_pusch_receiver``.
        overload, buffer_seconds: see ``wifi_receiver``. Blocks after this one hold it up if they
            are too slow.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, config, num_rx=1, fft_size=None, slot=None, start=None, overload="wait",
                 buffer_seconds=0.25):
        receiver = receiver_for(config, num_rx, detector=None, backend="cpu")
        carrier = receiver.configs[0].carrier
        engine = nr.GridStream(receiver.known_symbols, carrier, num_rx, slot, start, fft_size)
        source = vector_source("nr_grids", (carrier.num_subcarriers,) * num_rx)
        sample_block.__init__(self, "nr_ofdm_demodulator", _DemodulatorSink(
            "nr_ofdm_demodulator", engine, message_outlet(()), overload, buffer_seconds, source))

    def sample_rate(self):
        """Return the sample rate in samples per second."""
        return self._sink.engine.sample_rate

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``samples`` (per antenna), ``slots``, and ``gaps``, ``lost``, ``dropped``,
        ``failures`` as in ``wifi_receiver``.
        """
        return sample_block.counts(self)


class _DemodulatorSink(SampleSink):
    def _counts(self):
        return {"samples": self.engine.samples, "slots": self.engine.slots}

    def _send(self, slot):
        tags = [(SLOT, pmt.from_long(slot.number))]
        time = self.timeline.time(slot.start)
        if time is not None:
            tags.append((_RX_TIME, moment_to_pmt(time)))
        self.source.put(list(slot.grid), [(port, *tag) for port in range(self.num_rx)
                                          for tag in tags])


class nr_channel_estimator(slot_estimator):
    """Turn the grids of 5G NR slots into the vectors of the uplink shared channel (PUSCH).

    The two streams are the inputs of any detector block, and ``nr_llr_decoder`` decodes the LLRs.
    See ``nr.PuschReceiver``, whose first pass without a detector this is.

    Ports:
        in 0 to num_rx - 1: complex, vlen subcarriers of the grid: the streams of
            ``nr_ofdm_demodulator``, with the tag ``nr_slot`` on the first input.
        out 0 ``y``: complex, vlen num_rx: the received vectors of a slot, an item for each resource
            element with data, in the order in which symbols are mapped: symbol by symbol, the
            lowest subcarrier first. With transform precoding, vlen users: the symbol of each user,
            as a linear equaliser of all antennas leaves it.
        out 1 ``h``: complex, vlen num_rx*layers: the channel matrix of each vector, row-major; the
            layers of all users, user by user. With transform precoding, vlen users*users: a
            diagonal matrix.

    Tags on the first item of a slot, on ``y``:
        ``noise_var``: noise power per complex receive dimension, as detector blocks read it. y and
            h are divided by the standard deviation of noise, so it is 1.
        ``nr_pusch``: dictionary for ``nr_llr_decoder``: slot, num_vectors (number of items),
            layer_snr_db (of each layer), and rx_time if the grid has this tag.

    A slot comes whole or not at all. Items without tag, and slots that end before their last
    symbol, are dropped and counted. An exception is counted and logged, and the vectors of the
    slots of its call are 0.

    Args:
        config, num_rx: see ``nr_pusch_receiver``.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, config, num_rx=1):
        self._receiver = receiver_for(config, num_rx, detector=None, backend="cpu")
        carrier, size = self._receiver.configs[0].carrier, self._receiver.vector_size
        slot_estimator.__init__(
            self, "nr_channel_estimator", num_rx, carrier.num_subcarriers, carrier.symbols_per_slot,
            self._receiver.num_vectors, (size, size * self._receiver.num_layers))

    def start(self):
        self._receiver.restart()
        return slot_estimator.start(self)

    def _starts(self, available):
        return self._tags(SLOT, 0, available, lambda value: integer(
            "nr_slot", scalar("nr_slot", value), 0, 2**31 - 1))

    def _facts(self, first, value):
        facts = {"slot": value, "num_vectors": self._made,
                 "layer_snr_db": (10 * np.log10(LEAST_SNR),) * self._receiver.num_layers}
        for rx_time in self._tags(_RX_TIME, first, first + 1, lambda value: moment_to_pmt(
                moment("rx_time", value))).values():
            facts["rx_time"] = rx_time
        return facts

    def _vectors(self, grids, facts):
        slots, channels = self._receiver.estimate(grids, [own["slot"] for own in facts])
        received, channel, noise_var = self._receiver.vectors(slots, channels)
        for own, slot in zip(facts, slots, strict=True):
            own["layer_snr_db"] = tuple(10 * np.log10(np.maximum(slot.powers, LEAST_SNR)))
        scale = 1 / np.sqrt(noise_var)[..., None]
        channel = np.broadcast_to(channel * scale[..., None],
                                  (*received.shape, channel.shape[-1]))
        return [values.reshape(len(grids), self._made, width) for values, width in zip(
            (received * scale, channel), self._widths, strict=True)]

    def _slot_tags(self, facts):
        return [(0, PUSCH, to_pmt_dict(facts))]


class nr_llr_decoder(unit_decoder):
    """Decode the LLRs of 5G NR's uplink shared channel (PUSCH) into transport blocks.

    The input is the LLR stream of a detector block behind ``nr_channel_estimator``, with the tags
    ``nr_pusch``. Any block that keeps items and tags may stand between. See ``nr.PuschReceiver``.

    Ports:
        in ``llr``: float (or int8), vlen bits of a vector: ln P(1)/P(0), layer by layer, most
            significant bit first.
        message out ``out``, ``blocks``: as of ``nr_pusch_receiver``.

    A slot whose LLRs are not complete when the next tag arrives is dropped and counted (``cut``). A
    tag that ``nr_channel_estimator`` cannot have made for this block is dropped, counted
    (``malformed``) and logged, with the items that follow.

    Args:
        config: see ``nr_pusch_receiver``.
        llr_type: "float32" or "int8".
        llr_scale: for int8: integer value of an LLR of 1, as in the detector.
        bad_crc: whether port ``out`` also sends transport blocks with a wrong CRC.
        backend: backend of the decoder, "auto", "cpu", "cuda" or "reference".
        threads: number of CPU threads; 0 takes all cores.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, config, llr_type="float32", llr_scale=8.0, bad_crc=False, backend="auto",
                 threads=0):
        # Decoding does not depend on the number of antennas.
        self._receiver = receiver_for(config, 1, detector=None, backend=backend, threads=threads)
        self._messages = BlockMessages(self._receiver.configs, bad_crc, self._publish,
                                       self._listeners)
        unit_decoder.__init__(self, "nr_llr_decoder", PUSCH, self._receiver.bits_per_vector, PORTS,
                              llr_type, llr_scale)

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``slots``, ``blocks`` (transport blocks), ``blocks_ok`` (with a correct CRC), ``cut``
        (slots), ``malformed`` (tags), ``untagged`` (items of no slot) and ``failures``
        (exceptions).
        """
        return (dict.fromkeys(("cut", "malformed", "untagged"), 0) | self._counts
                | self._messages.counts | {"failures": self._log.failures})

    def blocks(self):
        """Return the number of transport blocks since the block was made."""
        return self._messages.counts["blocks"]

    def lost(self):
        """Return the number of transport blocks with a wrong CRC."""
        return self.blocks() - self._messages.counts["blocks_ok"]

    def _unit(self, value):
        """Return ((ReceivedSlot, time), number of vectors) of a tag's value."""
        facts = read(value, {"slot": int, "num_vectors": int, "layer_snr_db": np.ndarray})
        layers, vectors = self._receiver.num_layers, self._receiver.num_vectors
        if facts["num_vectors"] != vectors or facts["layer_snr_db"].shape != (layers,):
            raise ValueError(f"num_vectors, layer_snr_db: got another configuration's, must be "
                             f"{vectors} vectors and {layers} layers")
        time = pmt.dict_ref(value, _RX_TIME, pmt.PMT_NIL)
        time = None if pmt.is_null(time) else moment("rx_time", time)
        number = integer("slot", facts["slot"], 0, 2**31 - 1)
        return (nr.ReceivedSlot(number, 10 ** (facts["layer_snr_db"] / 10)), time), vectors

    def _decode(self, units, llrs):
        slots, times_ = zip(*units, strict=True)
        self._messages.make(self._receiver.decode(np.stack(llrs), slots), times_)

    def _cut(self, unit):
        """Send nothing: a slot that is not whole is absent."""
