# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRCs of LTE and 5G NR: against Sionna's recorded outputs and GNU Radio's CRC."""

import numpy as np
import pytest
from gnuradio import digital
from gnuradio.mimopack import coding
from simulated import random_bits
from source_tree import DATA

pytestmark = pytest.mark.quick

RECORDED = np.load(DATA / "codes/sionna_coding.npz")


class TestCrc:
    @pytest.mark.parametrize("length", [5, 100, 3000])
    @pytest.mark.parametrize("name", ["24A", "24B", "24C", "16", "11", "6"])
    def test_same_as_sionna(self, name, length):
        crc = coding.Crc(name)
        whole = np.unpackbits(RECORDED[f"crc_{name}_{length}"], axis=-1,
                              count=length + crc.length)
        np.testing.assert_array_equal(crc.attach(whole[:, :length].copy()), whole)

    @pytest.mark.parametrize("name, polynomial, check", [
        ("24A", 0x864CFB, 0xCDE703), ("24B", 0x800063, 0x23EF52), ("16", 0x1021, 0x31C3),
        ("8", 0x9B, 0xEA)])
    def test_check_values(self, name, polynomial, check):
        """Check values of "123456789" from catalogues of CRCs (XMODEM for 16) and GNU Radio."""
        crc = coding.Crc(name)
        bits = np.unpackbits(np.frombuffer(b"123456789", np.uint8))[None]
        value = int("".join(map(str, crc.parity(bits)[0])), 2)
        assert value == check
        theirs = digital.crc(crc.length, polynomial, 0, 0, False, False)
        assert theirs.compute(list(b"123456789")) == value

    @pytest.mark.parametrize("name", coding.CRCS)
    def test_errors_are_found(self, name):
        crc = coding.Crc(name)
        sent = crc.attach(random_bits(crc.length + 41, 41))
        body, fits = crc.check(sent)
        assert fits.all() and np.array_equal(body, sent[:, :41])
        sent ^= np.eye(len(sent), dtype=np.uint8)    # one wrong bit per row, in different places
        assert not crc.check(sent)[1].any()

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="name: got '24D', allowed are 24A, 24B, 24C, 16"):
            coding.Crc("24D")
        with pytest.raises(ValueError, match="bits: got 5 in a row, must be at least 6"):
            coding.Crc("6").check(np.zeros((2, 5), np.uint8))
        with pytest.raises(ValueError, match="bits: got 2, allowed are 0 and 1"):
            coding.Crc("6").attach(np.full((2, 5), 2, np.uint8))
        with pytest.raises(ValueError, match="bits: got type float64, must be uint8"):
            coding.Crc("6").check(np.zeros((2, 9)))
