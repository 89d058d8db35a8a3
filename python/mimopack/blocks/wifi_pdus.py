# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert PDUs of Wi-Fi frames to PMTs and back."""

from functools import lru_cache

import numpy as np
import pmt

from .. import _runtime
from ..wifi.pdu import KEYS, of_format, of_frame, of_mpdus
from .fec_encoder import pdu_parts
from .wifi_pmt import times

# gr-ieee802-11 sends two keys as uint64, and other blocks may expect that type.
_KINDS = KEYS | dict.fromkeys(("frame_bytes", "encoding"), np.uint64) | {"rx_time": pmt.pmt_base}


def to_pmt(info, blob):
    """Return a PDU as a PMT: a pair of a dictionary and a u8vector.

    Args:
        info: dictionary with keys of ``wifi.pdu.KEYS``, and optionally rx_time, a PMT. Keys with
            the value None do not get into the PMT.
        blob: bytes of the u8vector.

    Raises:
        ValueError: a key is unknown, or a value has a wrong type.
    """
    return _runtime.to_pdu(info, blob, _KINDS)


def frame_to_pmts(frame, ampdu_reference, bad_fcs=False, time=None):
    """Return the MPDUs of a frame as a list of PMTs, see :func:`to_pmt`.

    Args:
        frame, ampdu_reference: as for ``wifi.pdu.frame_to_pdus``.
        bad_fcs: whether to include MPDUs with a wrong FCS.
        time: time (seconds, fraction) since 1970 for the keys ``time`` and ``rx_time``; None if it
            is unknown, ``time`` then counts from the first sample.
    """
    # A PMT dictionary is a linked list. The MPDUs of a frame share the tail with the keys of the
    # frame. Frames of one format share the tail with the keys of the format.
    pmts = []
    for index, part in enumerate(frame.parts):
        common = _runtime.to_pmt_dict(of_frame(part) | times(time), _KINDS,
                                      _of_format(part.format, part.sample_rate_scale))
        reference = (ampdu_reference + index) % 2**32
        pmts += [_runtime.to_pdu(own, blob, _KINDS, common)
                 for own, blob in of_mpdus(part, reference) if bad_fcs or own["fcs_ok"]]
    return pmts


@lru_cache(maxsize=1024)
def _of_format(f, scale):
    return _runtime.to_pmt_dict(of_format(f, scale), _KINDS)


def from_pmt(message):
    """Return (dictionary, bytes) of a PDU. Keys that are not in ``wifi.pdu.KEYS`` are skipped.

    Raises:
        ValueError: the message is not a PDU of bytes, or a value has the wrong type.
    """
    dictionary, blob = pdu_parts(message)
    if not pmt.is_u8vector(blob):
        raise ValueError("the message has no u8vector")
    info = _runtime.to_python_dict(dictionary, KEYS)
    for name, value in info.items():
        if type(value) is not KEYS[name]:
            info[name] = _converted(name, value)
    return info, _runtime.to_python(blob)


def _converted(name, value):
    kind = KEYS[name]
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple and isinstance(value, np.ndarray) and value.dtype == np.float32:
        return tuple(value.tolist())
    # Do not show the value: a deeply nested one would exhaust the stack.
    raise ValueError(f"{name}: got a value of the wrong type, must be "
                     f"{'an f32vector' if kind is tuple else kind.__name__}")
