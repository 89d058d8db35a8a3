# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scramblers against the standards: IEEE 802.11's, and the Gold sequence of LTE and 5G NR."""

import numpy as np
import pytest
from gnuradio.mimopack import coding

pytestmark = pytest.mark.quick

# IEEE 802.11-2020 §17.3.5.5: the sequence of the all-ones state.
ALL_ONES = (
    "0000111011110010110010010000001000100110001011101011011000001100"
    "110101001110011110110100001010101111101001010001101110001111111")


def bits_of(text):
    return np.array([int(c) for c in text], np.uint8)


def test_scrambler_sequence_of_the_standard():
    assert np.array_equal(coding.scrambler_sequence(127, 254), bits_of(2 * ALL_ONES))
    # Annex I.1.4: seed 1011101 scrambles a SERVICE field of zeros to this.
    assert np.array_equal(coding.scramble(np.zeros(16), 0b1011101), bits_of("0110110000011001"))


@pytest.mark.parametrize("seed", [0, 128, -1])
def test_scrambler_refuses_seeds(seed):
    with pytest.raises(ValueError, match=f"seed: got {seed}"):
        coding.scrambler_sequence(seed, 10)


def test_the_service_field_tells_the_seed():
    for seed in range(1, 128):
        assert coding.seed_from_service(coding.scrambler_sequence(seed, 7)) == seed
    assert coding.seed_from_service(np.zeros(7, int)) == 0


def test_scrambler_of_eht_frames():
    """x^11 + x^9 + 1 (802.11be-2024 §36.3.13.2): a maximal sequence, and the seed comes back."""
    for seed in (1, 1300, 2047):
        sequence = coding.scrambler_sequence(seed, 3 * 2047, 11)
        assert (sequence[11:] == sequence[:-11] ^ sequence[2:-9]).all()
        assert sequence[:2047].sum() == 1024
        assert coding.seed_from_service(sequence, 11) == seed
    with pytest.raises(ValueError, match="seed: got 2048, allowed are 1 to 2047"):
        coding.scrambler_sequence(2048, 7, 11)
    with pytest.raises(ValueError, match="degree: got 9"):
        coding.scrambler_sequence(1, 7, 9)


class TestGoldSequence:
    @pytest.mark.parametrize("length", [0, 1, 30, 100, 5000])
    def test_same_as_the_standard(self, length):
        x1, x2 = [1] + 30 * [0], [0x5A5A5A5 >> i & 1 for i in range(31)]
        for n in range(1600 + length):
            x1.append((x1[n + 3] + x1[n]) % 2)
            x2.append((x2[n + 3] + x2[n + 2] + x2[n + 1] + x2[n]) % 2)
        expected = [(x1[n + 1600] + x2[n + 1600]) % 2 for n in range(length)]
        assert coding.gold_sequence(0x5A5A5A5, length).tolist() == expected

    @pytest.mark.parametrize("arguments, message", [
        ((2**31, 5), "c_init: got 2147483648, allowed are 0 to 2147483647"),
        ((1, -1), "length: got -1"), ((1.0, 5), "c_init: got 1.0, must be an integer")])
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            coding.gold_sequence(*arguments)
