# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation of an array and each call of GNU Radio fails once in turn while a block plays.

test_memory.py is about allocations in C++.
"""

from contextlib import contextmanager

import pytest
from every_block import make_with_ports, play
from faults import (
    CONVERSIONS,
    HANDLERS,
    MEMORY,
    PORTS,
    RUNTIME,
    Fault,
    each_fault,
    injected,
    watch,
    watch_gnuradio,
)
from gnuradio.mimopack.blocks import message_stream
from trial import ALL, Trial

# All detectors have the same block. nway is one that GPUs support, psd one that they do not.
NAMES = [name for name in ALL if not name.endswith("_detector")
         or name in ("nway_detector", "psd_detector")]
# {block that makes no arrays of more than 16 bytes while it plays: why}
NO_ARRAYS = {**dict.fromkeys(("nway_detector", "psd_detector"),
                             "the C++ code writes into GNU Radio's buffers"),
             "wifi_pcap_sink": "its arrays hold a number for each antenna"}
# Blocks that decode again, frame by frame, after a failure; it may then do no harm.
PATIENT = ("wifi_receiver", "wifi_decoder")


def parts(block):
    """Return a block and its inner blocks that are written in Python."""
    inner = (getattr(block, name, None) for name in ("_samples", "_frames", "_trigger", "_outlet"))
    return [block, *(one for one in inner if hasattr(one, "to_basic_block"))]


@pytest.mark.parametrize("name", NAMES)
def test_allocations(name, tmp_path):
    trial, named = Trial(name, tmp_path), []

    def run(fault):
        named.append(trial.run(lambda block: injected(MEMORY["arrays"], fault, tmp_path)))
        assert named[-1] == fault.happened or name in PATIENT

    if name in NO_ARRAYS:
        with pytest.raises(AssertionError, match="the operation was never called"):
            each_fault(run)
    else:
        each_fault(run)
        assert any(named) or name == "wifi_decoder"


@contextmanager
def failing_calls(fault, block, called):
    with pytest.MonkeyPatch.context() as patch:
        watch_gnuradio(patch, fault, parts(block), called)
        yield


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_gnuradio(name, tmp_path):
    trial = Trial(name, tmp_path)

    def run(fault):
        assert trial.run(lambda block: failing_calls(fault, block, set())) == fault.happened

    each_fault(run)


def test_some_block_makes_each_call_of_gnuradio(tmp_path):
    called = set()
    for name in NAMES:
        folder = tmp_path / name
        folder.mkdir()
        Trial(name, folder).run(lambda block: failing_calls(Fault(), block, called))
    assert called == {*PORTS, *HANDLERS, *CONVERSIONS, *RUNTIME}


def error(*_):
    return RuntimeError("injected: no message")


def test_messages_of_the_wifi_receiver(monkeypatch, capfd):
    """A frame whose messages cannot be sent costs only its own messages."""
    case = ALL["wifi_receiver"]()
    block, _, outputs = make_with_ports(case, None, monkeypatch)
    expected = play(block, outputs, case.inputs, {}).messages
    decoded = block.counts()["decoded"]

    def run(fault):
        block = case.make(None)
        with pytest.MonkeyPatch.context() as patch:
            watch(patch, fault, message_stream, "publish", error)
            got = play(block, outputs, case.inputs, {}).messages
        told = "injected" in "".join(capfd.readouterr())
        assert told == fault.happened == (block.failures() > 0)
        assert block.counts()["decoded"] == decoded > 0
        lost = sum(map(len, expected.values())) - sum(map(len, got.values()))
        assert bool(lost) <= fault.happened

    each_fault(run)
