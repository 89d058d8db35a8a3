# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples that come in pieces, cut into the grids of slots."""

import numpy as np
import pytest
from gnuradio.mimopack import nr
from nr_loop import CONFIG, received, stream


def cut(samples, sizes, **arguments):
    """Return the slots of samples that come in pieces of given sizes, again and again."""
    found, slots, at = stream(**arguments), [], 0
    while at < samples.shape[1]:
        for size in sizes:
            slots += found.process(samples[:, at:at + size])
            at += size
    return slots + found.finish()


@pytest.mark.parametrize("sizes", [(7, 1000), (2000,), (50_000,)])
def test_pieces_of_any_size_give_the_same_slots(sizes):
    samples, _ = received(num_slots=24)
    whole = stream()
    wanted = whole.process(samples) + whole.finish()
    slots = cut(samples, sizes)
    assert [slot.number for slot in slots] == list(range(24))
    assert [slot.start for slot in slots] == [slot.start for slot in wanted]
    for slot, other in zip(slots, wanted, strict=True):
        # Slots of other pieces differ in phase, as each piece begins with the same phase.
        turn = np.vdot(other.grid, slot.grid)
        np.testing.assert_allclose(slot.grid, turn / abs(turn) * other.grid, atol=1e-3)


def test_slots_begin_where_they_were_sent():
    samples, _ = received(num_slots=4, delay=700)
    slots = cut(samples, (5000,))
    assert [slot.start for slot in slots] == pytest.approx([700 + 1920 * n for n in range(4)],
                                                           abs=3)


@pytest.mark.parametrize("slot, start", [(0, 300), (1, 300 + 1920)])
def test_given_timing(slot, start):
    samples, sent = received(num_slots=4)
    slots = cut(samples, (1500,), slot=slot, start=start)
    assert [(one.number, one.start) for one in slots] == [
        (number, 300 + 1920 * number) for number in range(slot, 4)]
    blocks = nr.PuschReceiver(CONFIG, 2, "mmse", 1, "cpu").process(
        np.stack([one.grid for one in slots]), [one.number for one in slots])
    assert [block.data for block in blocks] == sent[slot:]


def test_the_end_of_a_stream_without_a_whole_slot():
    samples, _ = received(num_slots=4)
    assert cut(samples[:, :1900], (1000,)) == []


def test_after_a_restart_the_next_slot_is_the_first():
    samples, _ = received(num_slots=24)
    found = stream(start=300)
    assert len(found.process(samples[:, :45_000])) == 23
    found.restart(100_000)
    slots = found.process(samples) + found.finish()
    assert [slot.number for slot in slots] == list(range(24))
    assert slots[0].start == pytest.approx(100_300, abs=3)
    assert found.slots == 47 and found.samples == 45_000 + samples.shape[1]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="samples: got shape"):
        stream().process(np.zeros((3, 10)))
    with pytest.raises(ValueError, match="slot: got 20"):
        stream(slot=20)
