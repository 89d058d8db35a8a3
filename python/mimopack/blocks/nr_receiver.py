# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: the whole 5G NR uplink receiver, from samples to transport blocks."""

from collections import Counter

import numpy as np

from .. import nr
from .._runtime import to_pdu, to_pmt_dict
from ..checks import flag
from ..nr.receiver import receiver_for
from .message_stream import message_outlet
from .sample_stream import SampleSink, sample_block
from .wifi_pmt import times

PORTS = ("out", "blocks")


class BlockMessages:
    """Make the messages of transport blocks, and count the blocks.

    Args:
        configs: list of ``nr.PuschConfig`` or ``nr.PdschConfig``.
        bad_crc: see ``nr_pusch_receiver``.
        send: function (port, *messages) that sends messages.
        listeners: function (port) that returns the number of connected blocks.

    Attributes:
        counts: ``Counter`` with the keys slots, blocks and blocks_ok.
    """

    def __init__(self, configs, bad_crc, send, listeners):
        self._configs, self._bad_crc = configs, flag("bad_crc", bad_crc)
        self._send, self._listeners = send, listeners
        self.counts = Counter(slots=0, blocks=0, blocks_ok=0)

    def make(self, blocks, rx_times):
        """Send the messages of transport blocks.

        Args:
            blocks: list of ``nr.TransportBlock``, by slot, user and codeword.
            rx_times: time (seconds, fraction) since 1970 of the first sample of each slot, or None.
        """
        self.counts.update(slots=len(rx_times), blocks=len(blocks),
                           blocks_ok=sum(block.crc_ok for block in blocks))
        per_slot = len(blocks) // len(rx_times)
        facts = [self._facts(block) | times(rx_times[index // per_slot])
                 for index, block in enumerate(blocks)]
        if self._listeners("out"):
            self._send("out", *(to_pdu(fact, block.data)
                                for fact, block in zip(facts, blocks, strict=True)
                                if block.crc_ok or self._bad_crc))
        if self._listeners("blocks"):
            self._send("blocks", *map(to_pmt_dict, facts))

    def _facts(self, block):
        config = self._configs[block.user]
        facts = {"slot": block.slot, "frame_slot": block.slot % config.carrier.slots_per_frame,
                 "user": block.user, "n_rnti": config.n_rnti, "crc_ok": block.crc_ok,
                 "num_bits": len(block.bits), "snr_db": block.snr_db, "detector": block.detector,
                 "iterations": block.iterations}
        two = len(config.codeword_parameters) > 1
        return facts | {"codeword": block.codeword} if two else facts


class nr_pusch_receiver(sample_block):
    """Receive 5G NR's uplink shared channel (PUSCH): from samples to transport blocks.

    The configuration tells what was sent in each slot. Several users on the same resource elements
    are detected together. The block finds the first slot that has DMRS and the carrier offset, from
    22 slots of samples, and follows both from then on. It drops what comes before. After a pause of
    100 slots without DMRS it does so again. Samples that are not finite count as 0. See
    ``nr.GridStream`` and ``nr.PuschReceiver``.

    Ports:
        in 0 to num_rx - 1: complex: the samples of each antenna, at ``fft_size`` times the
            subcarrier spacing (method ``sample_rate``).
        message out ``out``: a PDU for each transport block with a correct CRC: a dictionary and a
            u8vector with the block in bytes, the first bit in the most significant place.
        message out ``blocks``: the dictionary of each transport block, also with a wrong CRC.

    Keys of the dictionary:
        slot: number of the slot; it counts on from frame to frame.
        frame_slot: number of the slot in its frame.
        user: index of the user's configuration.
        codeword: 0 or 1; only with a PDSCH on more than four layers.
        n_rnti: the user's n_RNTI.
        crc_ok: whether the CRC is correct.
        num_bits: number of bits in the transport block.
        snr_db: power of the user's layers over that of noise, per antenna, in dB.
        detector: name of the detector; "" if a detector block detected the slot.
        iterations: number of passes of detection and decoding.
        time, rx_time: time of the slot's first sample, as of ``wifi_receiver``; only with a tag
            rx_time on the first input.

    Slots in progress are sent when the input ends. If a tag rx_time shows a gap in the samples, or
    samples were dropped, the next slot is found again. Its DMRS show its number in the frame; the
    number ``slot`` counts on to the next such slot, as if the gap were shorter than a frame. An
    exception is counted and logged; it costs the slots that were decoded together, and the stream
    goes on.

    Args:
        config: configuration of the users: ``nr.PuschConfig``, a list with one for each user, a
            dictionary for ``nr.load_users``, or the name of a JSON file with such a dictionary. It
            may also be ``nr.PdschConfig``, that of a downlink.
        num_rx: number of receive antennas.
        detector: name of the MIMO detector, with parameters if wanted, as in "kbest:k=8"; or
            "auto", see ``nr.PuschReceiver``.
        iterations: see ``nr.PuschReceiver``.
        fft_size: number of samples per OFDM symbol without its prefix, see ``nr.Ofdm``.
        slot: number of the first slot in its frame; None to find it from its DMRS.
        start: the sample at which this slot begins; None to find it.
        bad_crc: whether port ``out`` also sends transport blocks with a wrong CRC.
        backend: backend of detector and decoder, "auto", "cpu", "cuda" or "reference".
        threads: number of CPU threads; 0 takes all cores.
        overload, buffer_seconds: see ``wifi_receiver``.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, config, num_rx=1, detector="auto", iterations=nr.ITERATIONS,
                 fft_size=None, slot=None, start=None, bad_crc=False, backend="auto", threads=0,
                 overload="wait", buffer_seconds=0.25):
        receiver = receiver_for(config, num_rx, detector=detector, iterations=iterations,
                                backend=backend, threads=threads)
        engine = nr.GridStream(receiver.known_symbols, receiver.configs[0].carrier, num_rx, slot,
                               start, fft_size)
        sample_block.__init__(self, "nr_pusch_receiver", _PuschSink(
            receiver, engine, bad_crc, overload, buffer_seconds))

    def sample_rate(self):
        """Return the sample rate in samples per second."""
        return self._sink.engine.sample_rate

    def counts(self):
        """Return a dictionary of counts since the block was made.

        Keys: ``samples`` (per antenna), ``slots``, ``blocks`` (transport blocks), ``blocks_ok``
        (with a correct CRC), and ``gaps``, ``lost``, ``dropped``, ``failures`` as in
        ``wifi_receiver``.
        """
        return sample_block.counts(self)


class _PuschSink(SampleSink):
    def __init__(self, receiver, engine, bad_crc, overload, buffer_seconds):
        self._receiver = receiver
        SampleSink.__init__(self, "nr_pusch_receiver", engine, message_outlet(PORTS), overload,
                            buffer_seconds)
        self._messages = BlockMessages(receiver.configs, bad_crc, self.outlet.send,
                                       self.outlet.listeners)

    def _counts(self):
        return {"samples": self.engine.samples, **self._messages.counts}

    def _send_all(self, slots):
        if not slots:
            return
        with self._log.guard(f"slots {slots[0].number} to {slots[-1].number}"):
            blocks = self._receiver.process(np.stack([slot.grid for slot in slots]),
                                            [slot.number for slot in slots])
            self._messages.make(blocks, [self.timeline.time(slot.start) for slot in slots])
