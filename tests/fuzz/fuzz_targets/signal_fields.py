# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bits of L-SIG, HT-SIG and VHT-SIG-A.

An input is one byte of options and nine bytes with the 24 bits of an L-SIG and the 48 bits of a
second field.
"""

import numpy as np
from gnuradio.mimopack.wifi import HT, VHT, signal_fields
from gnuradio.mimopack.wifi.formats import Unsupported

from . import mutations

MAX_LEN = 10
_FIRST, _SECOND = 24, 48
_LENGTH = (_FIRST + _SECOND) // 8
_CRC = slice(34, 42)
# Bytes of the longest PSDU: 1508 symbols of 3.6 us, which is as long as an L-SIG can announce, with
# four streams of 256-QAM 5/6 at 80 MHz.
_LONGEST = 1508 * 6240 // 8
mutate = mutations.of_bytes


def fields(data):
    """Return (options, bits of the L-SIG, bits of the second field) of an input.

    Bit 0 of the options makes the checks right, bit 1 makes the L-SIG that of an HT or VHT frame.
    """
    data = data[:1 + _LENGTH].ljust(1 + _LENGTH, b"\0")
    bits = np.unpackbits(np.frombuffer(data[1:], np.uint8), bitorder="little")
    first, second = bits[:_FIRST], bits[_FIRST:]
    options = data[0]
    if options & 2:
        first[:5] = signal_fields.LSig(6, 3).bits()[:5]
    if options & 1:
        first[4] = 0
        first[17] = int(first[:17].sum()) & 1
        first[18:] = second[42:] = 0
        second[_CRC] = signal_fields.crc8(second[:34])
    return options, first, second


def check(data):
    """Fields are refused as the docstrings say, or parsing reverses encoding."""
    options, first, second = fields(data)
    try:
        l_sig = signal_fields.LSig.parse(first)
    except signal_fields.SignalError:
        l_sig = None
    else:
        assert l_sig.bits()[:18].tolist() == first[:18].tolist()
        assert 1 <= l_sig.length <= 4095 and l_sig.duration > 0
        _check_high_throughput(second, bool(options & 4))
        _check_very_high_throughput(second, l_sig)


def _check_high_throughput(bits, greenfield):
    try:
        found = signal_fields.parse_ht_sig(bits, greenfield)
    except (signal_fields.SignalError, Unsupported) as error:
        _check_refusal(error)
        return
    assert isinstance(found, HT) and found.greenfield == greenfield
    _check_format(found)
    again = signal_fields.ht_sig(found)
    assert signal_fields.parse_ht_sig(again, greenfield) == found
    if bits[26]:    # reserved
        assert again[:42].tolist() == bits[:42].tolist()


def _check_very_high_throughput(bits, l_sig):
    try:
        found = signal_fields.parse_vht_sig_a(bits, l_sig)
    except (signal_fields.SignalError, Unsupported) as error:
        _check_refusal(error)
        return
    assert isinstance(found, VHT)
    _check_format(found)
    again = signal_fields.vht_sig_a(found)
    if again[25] == bits[25]:    # the number of symbols that the L-SIG leaves open
        assert signal_fields.parse_vht_sig_a(again, l_sig) == found
        # The reserved bits are 2, 23 and 33. Bit 22 tells others not to doze, bit 27 may be wrong.
        same = [i for i in range(34) if i not in (2, 22, 23, 27, 33)]
        assert again[same].tolist() == bits[same].tolist()


def _check_refusal(error):
    assert str(error)
    announced = getattr(error, "announced", {})
    assert set(announced) <= {"format", "mcs", "num_streams", "stbc", "bandwidth_mhz", "short_gi",
                              "coding", "length"}, announced


def _check_format(found):
    """Check what later stages compute from a format."""
    assert 0 <= found.length <= _LONGEST, found
    assert 0 <= found.num_symbols and found.num_samples >= found.data_start > 0, found
    assert 1 <= found.num_streams <= found.num_space_time_streams <= 4, found
    assert found.rate_mbps > 0 and found.describe() and hash(found.key)
    assert isinstance(found.contradiction, str)
    if found.num_symbols and not found.contradiction:
        assert found.num_scrambled >= 16 + 8 * found.length, found
        if found.coding == "ldpc":
            assert found.ldpc_matching.num_symbols > 0, found


def seeds():
    """Return the fields of frames of all formats, with options for right and wrong checks."""
    found = []
    formats = [HT(7, 100), HT(32, 100, bandwidth_mhz=40), HT(9, 4000, stbc=1, coding="ldpc"),
               HT(31, 65535, bandwidth_mhz=40, short_gi=True, aggregated=True), HT(0, 0),
               VHT(0, 0), VHT(9, 9, num_streams=2, bandwidth_mhz=80, short_gi=True),
               VHT(8, 20, stbc=1, coding="ldpc", extra_symbol=True, group_id=63, partial_aid=511)]
    for one in formats:
        length = -(-(one.num_samples - 400) // 80) * 3 - 3
        first = signal_fields.LSig(6, max(1, min(4095, length))).bits()
        second = (signal_fields.ht_sig if one.name == "ht" else signal_fields.vht_sig_a)(one)
        packed = np.packbits(np.concatenate([first, second]), bitorder="little").tobytes()
        found += [bytes([0]) + packed, bytes([3]) + packed]
    return found
