# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: make slots of a 5G NR uplink from transport blocks, as one stream of samples per port."""

import numpy as np
import pmt

from .. import nr
from .._runtime import to_python
from ..checks import back_off, integer
from .fec_encoder import pdu_parts
from .message_stream import message_source
from .settings import TX_TIME, Controlled, tag_key
from .wifi_pmt import moment, moment_to_pmt

SLOT = pmt.intern("nr_slot")


class nr_pusch_transmitter(Controlled, message_source):
    """Make slots of 5G NR's uplink shared channel (PUSCH): one stream of samples per antenna port.

    Ports:
        message in ``in``: PDUs of transport blocks, each of which makes a slot, with random_slots=0
            only.
        out 0 to ports - 1: complex: the samples of each antenna port. Full scale is 1.

    A PDU is a pair of a dictionary, or PMT_NIL, and a u8vector with the transport block in bytes,
    the first bit in the most significant place. The dictionary may have the key ``tx_time``, a
    tuple of whole seconds and a fraction, which becomes a tag of that name on the slot's first
    sample. Other keys are ignored, so PDUs of ``nr_llr_decoder`` and ``nr_pusch_receiver`` can be
    sent again unchanged. A message of another kind or length is skipped, counted (``refused``) and
    logged. At most 1000 messages wait; further messages are dropped and counted (``dropped``).
    After the message PMT_EOF, or when all blocks that send messages have ended, the streams end as
    soon as all slots are sent.

    Slots follow each other without a gap, and their numbers count up. The first sample of a slot
    carries two tags on each output: ``nr_slot``, its number, and the length tag
    ``length_tag_name``, its number of samples. With the length tag, a radio's sink sends each slot
    as a burst, since the streams wait while there is no transport block. See
    ``nr.PuschTransmitter`` for the signal.

    Args:
        config: ``nr.PuschConfig``, a list of them, a dictionary for ``nr.load_users``, or the name
            of a JSON file with such a dictionary.
        user: index of the user to transmit for. Several users need a block each.
        random_slots: number of slots to send with random transport blocks. The streams then end.
            None sends without end; 0 sends the transport blocks of PDUs.
        fft_size: number of samples per OFDM symbol without its prefix, see ``nr.Ofdm``. The sample
            rate is this times the subcarrier spacing (method ``sample_rate``).
        slot: number of the first slot in its frame.
        backoff_db: mean power of all ports together in symbols with data, in dB below full scale,
            -100..100.
        seed: seed of the random transport blocks.
        length_tag_name: name of the length tag of a slot.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, config, user=0, random_slots=None, fft_size=None, slot=0, backoff_db=12.0,
                 seed=1, length_tag_name="packet_len"):
        users = nr.read_users(config, nr.PuschConfig)
        config = users[integer("user", user, 0, len(users) - 1)]
        self._transmitter = nr.PuschTransmitter(config)
        self._ofdm = nr.Ofdm(config.carrier, fft_size)
        if random_slots is not None:
            integer("random_slots", random_slots, 0, 2**62)
        self._random = random_slots
        self._first = integer("slot", slot, 0, config.carrier.slots_per_frame - 1)
        self._mean_power = (np.sum(np.abs(nr.precoding_matrix(config))**2)
                            * config.num_subcarriers / self._ofdm.fft_size)
        self.set_backoff_db(backoff_db)
        self._rng = np.random.default_rng(integer("seed", seed, 0, 2**63 - 1))
        self._length_tag = tag_key("length_tag_name", length_tag_name)
        self._slots = 0
        message_source.__init__(
            self, "nr_pusch_transmitter", "in", [np.complex64] * self._transmitter.num_ports,
            batch=2 * self._ofdm.slot_length(0))

    def slots(self):
        """Return the number of slots made."""
        return self._slots

    def sample_rate(self):
        """Return the sample rate in samples per second."""
        return self._ofdm.sample_rate

    def backoff_db(self):
        """Return the mean power of all ports together, in dB below full scale."""
        return self._backoff_db

    def set_backoff_db(self, backoff_db):
        """Set the back-off in dB, from the next slot on."""
        self._backoff_db = back_off(backoff_db)

    def start(self):
        self._left = self._random
        return super().start()

    def general_work(self, input_items, output_items):
        if self._random != 0 and not self._queue:
            if self._left == 0:
                return -1
            if self._left is not None:
                self._left -= 1
            with self._log.guard("a slot"):
                self._send(self._rng.integers(0, 2, self._transmitter.tb_size, np.uint8))
        return message_source.general_work(self, input_items, output_items)

    def _accept(self, message):
        facts, blob = pdu_parts(message)
        if not pmt.is_u8vector(blob):
            raise ValueError("the message has no u8vector")
        size = self._transmitter.tb_size
        if pmt.length(blob) != size // 8:
            raise ValueError(f"got {pmt.length(blob)} bytes, must be a transport block of "
                             f"{size // 8}")
        if self._random != 0:
            raise ValueError("random_slots: got a transport block, which needs random_slots=0")
        tx_time = pmt.dict_ref(facts, TX_TIME, pmt.PMT_NIL)
        self._send(np.unpackbits(np.frombuffer(to_python(blob), np.uint8)),
                   None if pmt.is_null(tx_time) else moment("tx_time", tx_time))

    def _send(self, bits, tx_time=None):
        number = self._first + self._slots
        samples = self._transmitter.samples(
            bits[None], number % self._transmitter.config.carrier.slots_per_frame,
            self._ofdm.fft_size)
        samples *= np.float32(10 ** (-self._backoff_db / 20) / np.sqrt(self._mean_power))
        tags = [(SLOT, pmt.from_long(number)), (self._length_tag, pmt.from_long(samples.shape[1]))]
        if tx_time is not None:
            tags.append((TX_TIME, moment_to_pmt(tx_time)))
        self._queue.put(list(samples), [(port, *tag) for port in range(len(samples))
                                        for tag in tags])
        self._slots += 1
