# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the VHT-SIG-B of VHT frames for several users, which says what each user receives.

Source: IEEE 802.11-2020 §21.3.8.3.6.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..detectors import MLA
from . import he_tables
from .formats import VHTMU, Unsupported
from .formats.base import TAIL
from .formats.vht_mu import VHTSignalB
from .signal_fields import code, num_sig_b_bits, parse_vht_sig_b_of_user, sig_b_order


@dataclass(frozen=True)
class SeveralVHTUsers:
    """Fields of the VHT-SIG-A of a VHT frame for several users.

    Attributes:
        users: tuple of :class:`VHTUser`; the VHT-SIG-B gives their MCS and length later.
    """

    users: tuple

    @property
    def common(self):
        """The format of a user, with what all users share."""
        return self.users[0]


def vht_users_of(one, decoder):
    """Read the VHT-SIG-B fields of a frame.

    Each user's field is sent with the streams of that user, so that they arrive mixed. They are
    detected jointly.

    Args:
        one: :class:`synchroniser.FoundFrame` whose attribute ``several`` is
            :class:`SeveralVHTUsers`.
        decoder: :class:`decoder.FrameDecoder`, to demodulate the field.

    Returns:
        (formats, reason): a list with the :class:`VHTMU`, and "". If the frame cannot be received,
        an empty list and why.
    """
    users = one.several.users
    field = VHTSignalB.of([replace(user, num_symbols=1, short_gi=False, extra_symbol=False)
                           for user in users])
    part = replace(one, format=field, several=None)
    problem = decoder.problem(part)
    if problem:
        return [], problem
    bits = _joint_bits(decoder.demodulate([part])[0], field)
    try:
        f = VHTMU.of([replace(user, **parse_vht_sig_b_of_user(own))
                      for user, own in zip(users, bits, strict=True)])
    except Unsupported as error:
        return [], str(error)
    return [f], ""


def _joint_bits(vectors, field):
    """Return the bits of each user's VHT-SIG-B without its tail, uint8 (users, bits)."""
    signs = he_tables.ltf_mapping(field.num_ltf)[:field.num_streams, 0]
    sent = vectors.h * signs
    h = np.stack([sent[:, :, own].sum(axis=2) for own in field.slices], axis=2)
    users = len(field.users)
    detector = MLA(num_tx=users, num_rx=h.shape[1], constellation="wlan_bpsk", backend="cpu")
    llr = detector.detect(vectors.y, h.astype(np.complex64), vectors.noise_var)
    order, copies = sig_b_order(field)
    # All copies carry the same bits.
    coded = llr[order].reshape(copies, -1, users).sum(axis=0).T
    count = num_sig_b_bits(field.bandwidth_mhz) - TAIL
    found = code().decode_batch(np.ascontiguousarray(coded, np.float32).ravel(),
                                np.full(users, count), 1)
    return found.reshape(users, count)
