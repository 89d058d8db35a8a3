# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a small 5G NR uplink: transmitter and channel as arrays."""

from functools import lru_cache

import numpy as np
from gnuradio.mimopack import nr

CARRIER = nr.Carrier(n_size_grid=6, n_cell_id=17)
CONFIG = nr.PuschConfig(carrier=CARRIER, num_layers=2, mcs=nr.Mcs(index=12),
                        dmrs=nr.Dmrs(additional_position=1))
# Two users with modulations of their own
USERS = [nr.PuschConfig(carrier=CARRIER, dmrs=nr.Dmrs(additional_position=1), n_rnti=10 + user,
                        dmrs_ports=(2 * user,), mcs=nr.Mcs(index=index))
         for user, index in enumerate((12, 5))]


def stream(config=CONFIG, num_rx=2, **arguments):
    """Return a ``nr.GridStream``."""
    receiver = nr.PuschReceiver(config, num_rx, detector=None)
    return nr.GridStream(receiver.known_symbols, CARRIER, num_rx, **arguments)


@lru_cache
def received(num_slots=24, delay=300, cfo=0.01, snr_db=30.0, num_rx=2, users=(CONFIG,)):
    """Return (samples, transport blocks in bytes, slot by slot and user by user).

    Args:
        num_slots: number of slots.
        delay: number of samples with noise alone before the first slot.
        cfo: carrier offset in subcarrier spacings.
        snr_db: SNR of a layer at an antenna, in dB, per resource element.
        num_rx: number of receive antennas.
        users: configurations of the users.
    """
    rng = np.random.default_rng(1)
    blocks, sent = [], []
    for user in users:
        transmitter = nr.PuschTransmitter(user)
        bits = rng.integers(0, 2, (num_slots, transmitter.tb_size), np.uint8)
        blocks.append([np.packbits(row).tobytes() for row in bits])
        sent.append(transmitter.samples(bits))
    sent = np.concatenate(sent)
    taps = rng.standard_normal((3, num_rx, len(sent), 2)) @ [1, 1j] / np.sqrt(6)
    samples = np.zeros((num_rx, delay + sent.shape[1] + 50), complex)
    for tap, gains in enumerate(taps):
        samples[:, delay + tap:delay + tap + sent.shape[1]] += gains @ sent
    samples *= np.exp(2j * np.pi * cfo / nr.Ofdm(CARRIER).fft_size * np.arange(samples.shape[1]))
    noise = rng.standard_normal((*samples.shape, 2)) @ [1, 1j] / np.sqrt(2)
    samples += 10 ** (-snr_db / 20) * noise
    return samples.astype(np.complex64), [data for slot in zip(*blocks, strict=True)
                                          for data in slot]
