# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept for later frames has limited memory, whatever formats a sender announces."""

import tracemalloc

import numpy as np
import pytest
from gnuradio.mimopack.wifi import (
    HT,
    VHT,
    NonHT,
    Receiver,
    Transmitter,
    decoder,
    llr_decoder,
    transmitter,
)
from gnuradio.mimopack.wifi.kept import Kept, size_of


def test_the_oldest_objects_make_room():
    kept = Kept(3)
    made = [kept.get(key, object) for key in "abc"]
    assert [kept.get(key, None) for key in "abc"] == made
    kept.get("d", object)
    assert kept.get("b", None) is made[1] and kept.get("a", object) is not made[0]


def test_a_large_object_takes_the_room_of_many():
    kept = Kept(4)
    for key in "abc":
        kept.get(key, object)
    kept.get("large", object, 3)
    assert len(kept) == 2
    kept.get("larger than all", object, 100)
    assert len(kept) == 1
    kept.get("d", object)
    assert len(kept) == 1
    kept.clear()
    assert len(kept) == 0


def test_nothing_changes_if_an_object_cannot_be_made():
    def make():
        raise ValueError

    kept = Kept(1)
    one = kept.get("a", object)
    with pytest.raises(ValueError):
        kept.get("b", make)
    assert kept.get("a", None) is one and len(kept) == 1


@pytest.mark.parametrize("f,size", [
    (NonHT(54, 100), 1), (HT(7, 65535, coding="ldpc"), 39), (HT(0, 0), 1),
    (VHT.of_length(9, 4000, 2, bandwidth_mhz=80), 3)])
def test_size_grows_with_the_coded_bits(f, size):
    assert size_of(f) == size


@pytest.fixture
def allocated():
    """Return a function: bytes that Python and NumPy have allocated since its first call."""
    def get():
        tracemalloc.start()    # not sooner: it slows down the making of codes
        return tracemalloc.get_traced_memory()[0]

    yield get
    tracemalloc.stop()


@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
def test_formats_are_small(coding, allocated):
    """A receiver keeps thousands of the formats that signal fields announce."""
    assert HT(7, 65535, coding=coding).num_samples    # fills caches
    before = allocated()
    formats = [HT(7, 65535 - n, coding=coding) for n in range(20)]
    assert all(f.num_samples and not f.contradiction for f in formats)
    assert allocated() - before < len(formats) * 2**14


def test_a_receiver_keeps_few_tables_of_long_frames(monkeypatch, allocated):
    """Each frame has another length, and tables of 0.5 MB, of which the limits allow three."""
    monkeypatch.setattr(decoder, "MOST_KEPT", 9)
    monkeypatch.setattr(llr_decoder, "MOST_KEPT", 9)
    monkeypatch.setattr(transmitter, "_MOST_KEPT", 9)
    receiver, sender = Receiver(1, backend="cpu"), Transmitter()
    after = []
    for n in range(12):
        f = HT(7, 4000 - n, coding="ldpc")
        samples = sender.frame(f, bytes(f.length)).astype(np.complex64)
        found, = receiver.process(np.pad(0.1 * samples, ((0, 0), (400, 400)))) + receiver.finish()
        assert found.format.length == f.length and found.psdu == bytes(f.length)
        after.append(allocated())
    assert after[11] < after[5] + 2**19
