# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation, message and tag of a block fails once in turn: nothing is lost without a count.

The allocations are those of NumPy arrays. test_memory.py is about those in C++.
"""

import numpy as np
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play
from faults import MEMORY, Folders, each_fault, injected, watch
from gnuradio.mimopack.blocks import message_stream

ALL = STREAMS | MESSAGES | SOURCES
# All detectors have the same block. nway is one that GPUs support, psd one that they do not.
NAMES = [name for name in ALL if not name.endswith("_detector") or name == "nway_detector"]
FEW = 120    # items of each input


def shortened(case, name):
    """Return the inputs of a case, short if the block does not need many items."""
    return case.inputs if name.startswith("wifi") else tuple(one[:FEW] for one in case.inputs)


def failures(case, block):
    """Return the number of exceptions, of those that a count of refused messages leaves out too."""
    return max(case.failures(block), block.failures() if hasattr(block, "failures") else 0)


@pytest.mark.parametrize("name", NAMES)
def test_allocations(name, tmp_path, monkeypatch, capfd):
    case, folders = ALL[name](), Folders(tmp_path)
    inputs = shortened(case, name)
    one, ports, outputs = make_with_ports(case, folders(), monkeypatch)
    # A setting that is refused has no count.
    good = {port: [case.good[port]] * (port != "control") for port in ports}
    expected = play(one, outputs, inputs, good)

    def run(fault):
        block = case.make(folders())
        with injected(MEMORY["arrays"], fault, tmp_path):
            got = play(block, outputs, inputs, good)
        told = "injected" in "".join(capfd.readouterr())
        # The Wi-Fi receiver's own log tells each kind of error once in a process.
        told |= name.startswith("wifi") and failures(case, block) > 0
        assert failures(case, block) == told <= fault.happened
        if name in SOURCES:
            return
        assert list(map(len, got.items)) == list(map(len, expected.items)) or not inputs
        if not told:
            assert {port: len(sent) for port, sent in got.messages.items()} \
                == {port: len(sent) for port, sent in expected.messages.items()}

    try:
        each_fault(run)
    except AssertionError as error:
        if str(error) != "the operation was never called":
            raise    # a block without arrays of its own


def error(*_):
    return RuntimeError("injected: no message")


# {block: calls of GNU Radio that it makes}
SENDERS = {
    "nway_detector": ("message_port_pub", "get_tags_in_window"),
    "fec_decoder": ("message_port_pub",),
    "fec_decoder_pdu": ("message_port_pub",), "fec_encoder_pdu": ("message_port_pub",),
    "rayleigh_channel": ("add_item_tag",), "sigmf_multichannel_source": ("add_item_tag",),
    "wifi_transmitter": ("add_item_tag",)}


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in SENDERS.items()
                                        for call in calls])
def test_messages_and_tags(name, call, tmp_path, monkeypatch, capfd):
    case, folders = ALL[name](), Folders(tmp_path)
    inputs = list(shortened(case, name))
    if name == "nway_detector":
        inputs[0] = inputs[0].copy()
        inputs[0][5] = np.nan    # an erasure, which has a message
    one, ports, outputs = make_with_ports(case, folders(), monkeypatch)
    good = {port: [case.good[port]] for port in ports}
    expected = play(one, outputs, inputs, good)

    def run(fault):
        block = case.make(folders())
        with pytest.MonkeyPatch.context() as patch:
            watch(patch, fault, block, call, error)
            got = play(block, outputs, inputs, good)
        told = "injected" in "".join(capfd.readouterr())
        assert told == fault.happened == (failures(case, block) > 0)
        if inputs:
            assert list(map(len, got.items)) == list(map(len, expected.items))
        if name == "nway_detector":
            lost = (got.items[0] == 0).all(axis=1)
            assert block.vectors() == len(lost) and block.erasures() == lost.sum()

    each_fault(run)


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
