# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples that come in pieces, cut into the grids of slots."""

import numpy as np
import pytest
from gnuradio.mimopack import nr
from nr_loop import CARRIER, CONFIG, received, stream


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


def drifting(num_slots, parts_per_million):
    """Return (samples, transport blocks); the receiver's clock is slower by some ppm."""
    samples, sent = received(num_slots=num_slots)
    times = np.arange(100, samples.shape[1] - 100) * (1 + 1e-6 * parts_per_million)
    times = times[times < samples.shape[1] - 20]
    whole = times.astype(int)
    moved = np.zeros((len(samples), len(times)), complex)
    for tap in range(-15, 17):
        distance = times - whole - tap
        moved += samples[:, whole + tap] * np.sinc(distance) * np.cos(np.pi * distance / 34)**2
    return moved, sent


def decoded(slots):
    """Return the transport blocks of slots in bytes."""
    receiver = nr.PuschReceiver(CONFIG, 2, "mmse", 1, "cpu")
    return [block.data for block in receiver.process(
        np.stack([slot.grid for slot in slots]), [slot.number for slot in slots])]


@pytest.mark.parametrize("parts_per_million", [-20, 20])
def test_a_free_running_clock(parts_per_million):
    """In 0.4 s, the clocks differ by 31 samples; a prefix has 9."""
    samples, sent = drifting(800, parts_per_million)
    slots = cut(samples, (50_000,))
    assert [slot.number for slot in slots] == list(range(799))    # the last one is cut off
    moved = slots[-1].start - slots[0].start - 1920 * 798
    assert moved == pytest.approx(-1920 * 798e-6 * parts_per_million, abs=2)
    assert decoded(slots) == sent[:799]
    # Slots of the same number have the same DMRS, and the same delay to parts of a sample.
    first = slots[0].grid[:, 2]
    for slot in slots[::20]:
        dmrs = slot.grid[:, 2]
        assert abs(np.vdot(first, dmrs)) > 0.99 * np.linalg.norm(first) * np.linalg.norm(dmrs)


def test_a_carrier_offset_that_changes():
    """It grows from 0.3 to 0.7 subcarrier spacings in 800 slots."""
    samples, sent = received(num_slots=800, cfo=0.0)
    turns = np.cumsum(np.linspace(0.3, 0.7, samples.shape[1])) / 128
    assert decoded(cut(samples * np.exp(2j * np.pi * turns), (50_000,))) == sent


@pytest.mark.parametrize("spacing", [15, 30, 60, 120])
@pytest.mark.parametrize("first", [0, 7, 9])
def test_the_number_of_the_first_slot_is_found(spacing, first):
    carrier = nr.Carrier(n_size_grid=12, subcarrier_spacing_khz=spacing)
    config = nr.PuschConfig(carrier=carrier, num_layers=2)
    rng, transmitter = np.random.default_rng(first), nr.PuschTransmitter(config)
    bits = rng.integers(0, 2, (24, transmitter.tb_size), np.uint8)
    samples = np.pad(transmitter.samples(bits, first), ((0, 0), (777, 100)))
    samples = samples + rng.normal(0, 0.3, (*samples.shape, 2)) @ [1, 1j]
    known = nr.PuschReceiver(config, 2, detector=None).known_symbols
    found = nr.GridStream(known, carrier, 2, slot=None)
    slots = found.process(samples) + found.finish()
    assert [slot.number for slot in slots] == list(range(first, first + 24))
    assert slots[0].start == pytest.approx(777, abs=5)


def test_after_a_restart_the_number_of_the_slot_is_found():
    samples, _ = received(num_slots=24)
    found = stream(start=300)
    assert len(found.process(samples[:, :45_000])) == 23
    found.restart(100_000)
    slots = found.process(samples[:, 5 * 1920:]) + found.finish()
    assert [slot.number for slot in slots] == list(range(25, 44))
    assert slots[0].start == pytest.approx(100_300, abs=3)
    assert found.slots == 42 and found.samples == 45_000 + samples.shape[1] - 5 * 1920


def with_lead(slots, level, num_slots=40):
    """Return (samples with this many slots of noise before the signal, transport blocks)."""
    samples, sent = received(num_slots=num_slots, snr_db=25.0)
    noise = np.random.default_rng(7).normal(0, level, (2, 1920 * slots, 2)) @ [1, 1j]
    return np.concatenate([noise, samples], axis=1).astype(np.complex64), sent


@pytest.mark.parametrize("lead", [0, 1, 5, 19, 30, 100])
@pytest.mark.parametrize("level", [0.0, 0.04, 2.0])
def test_noise_or_zeros_before_the_signal(lead, level):
    """The signal has a power of about 1, and its noise a level of 0.04."""
    samples, sent = with_lead(lead, level)
    for slot in (None, 0):
        slots = cut(samples, (30_000,), slot=slot)
        assert [one.number for one in slots] == list(range(40))
        assert slots[0].start == pytest.approx(1920 * lead + 300, abs=3)
    assert decoded(slots) == sent


def test_noise_has_no_slots():
    found = stream()
    noise = np.random.default_rng(8).normal(size=(2, 1920 * 500, 2)) @ [1, 1j]
    assert found.process(noise) + found.finish() == []


@pytest.mark.parametrize("pause", [20, 60, 400])
def test_noise_in_a_pause(pause):
    """A longer pause than 100 slots is left out; slots are counted by the time that has passed."""
    samples, sent = received(num_slots=80)
    middle = 300 + 1920 * 25
    noise = np.random.default_rng(9).normal(0, 0.03, (2, 1920 * pause, 2)) @ [1, 1j]
    samples = np.concatenate([samples[:, :middle], noise, samples[:, middle:]], axis=1)
    slots = cut(samples, (30_000,))
    kept = [slot for slot in slots if not 25 <= slot.number < 25 + pause]
    assert [slot.number for slot in kept] == [*range(25), *range(25 + pause, 80 + pause)]
    assert len(slots) - len(kept) <= 120
    assert decoded(kept) == sent


@pytest.mark.parametrize("value", [np.nan, np.inf, 0])
def test_unusable_samples_cost_their_slots(value):
    """They lie in slots 11 and 12. Clock and carrier offset stay as they are."""
    samples, sent = received(num_slots=40)
    samples = samples.copy()
    samples[0, 300 + 1920 * 11:301 + 1920 * 12 + 500] = value
    samples[1, 300 + 1920 * 11 + 5] = value
    slots = cut(samples, (5000,))
    assert [slot.number for slot in slots] == list(range(40))
    assert decoded(slots[:11] + slots[13:]) == sent[:11] + sent[13:]


def test_a_click_after_the_first_slots_does_not_hide_them():
    samples, sent = received(num_slots=40)
    samples = samples.copy()
    samples[0, 300 + 1920 * 30 + 77] = 1e10
    slots = cut(samples, (100_000,))
    assert [slot.number for slot in slots] == list(range(40))
    assert decoded(slots[:30]) == sent[:30]


def test_slots_without_a_number():
    """All slots have the same DMRS, so the next slot after a gap is number ``slot``."""
    config = nr.PuschConfig(carrier=CARRIER, transform_precoding=True)
    samples, _ = received(num_slots=24, users=(config,))
    found = stream(config, slot=4)
    first = found.process(samples) + found.finish()
    again = found.process(samples) + found.finish()
    assert [slot.number for slot in first + again] == [*range(4, 28), *range(44, 68)]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="samples: got shape"):
        stream().process(np.zeros((3, 10)))
    with pytest.raises(ValueError, match="slot: got 20"):
        stream(slot=20)
