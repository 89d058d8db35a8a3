# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our PUSCH receiver loses as few blocks as Sionna's, and fewer if the channel is estimated."""

import sys
from pathlib import Path

import pytest
import torch
from sionna.phy import config

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import nr_receiver

NAME, SNR_DB = "4 layers, 16-QAM, 4 antennas, flat", 9.0


@pytest.fixture(scope="module")
def slots():
    """PyTorch's threads wait for each other actively, which disturbs other tests."""
    torch.set_num_threads(1)
    config.seed = 1
    case = nr_receiver.Case(NAME, prbs=4)
    return case, case.slots(24, SNR_DB, seed=1)


def losses(slots, receiver):
    case, received = slots
    if receiver in nr_receiver.THEIRS:
        return case.their_losses(received, *nr_receiver.THEIRS[receiver])
    return case.our_losses(received, *nr_receiver.OURS[receiver])


@pytest.mark.parametrize(("theirs", "ours"), [("LMMSE", "mmse"), ("EP", "ep")])
def test_with_the_true_channel_the_same_algorithm_loses_as_many(slots, theirs, ours):
    expected = losses(slots, f"Sionna, true channel, {theirs}")
    assert 0 < expected < 24
    assert abs(losses(slots, f"true channel, {ours}") - expected) <= 2


def test_with_an_estimated_channel_we_lose_fewer(slots):
    theirs = min(losses(slots, f"Sionna, estimated channel, {name}") for name in ("LMMSE", "EP"))
    one, four = (losses(slots, f"estimated channel, auto, {passes}")
                 for passes in ("1 pass", "4 passes"))
    assert four <= one < theirs - 3
    assert one <= losses(slots, "true channel, auto") + 2
