# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Play a block while an operation fails, and check that all that went in is accounted for."""

import os
import re
import sys
import tempfile
from contextlib import contextmanager

import numpy as np
import pmt
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, Case, _reals, make_with_ports, play
from faults import Folders
from gnuradio import mimopack
from gnuradio.mimopack import recording

ALL = STREAMS | MESSAGES | SOURCES | {
    "fec_decoder:turbo": lambda: _decoder("turbo:104", 324),
    "fec_decoder:conv": lambda: _decoder("conv:100:3/4", 142)}
RECEIVERS = ("wifi_receiver", "wifi_synchroniser")
FEW = 120    # items of each input
# What a log line about an injected failure holds.
NAMED = re.compile("injected|MemoryError|bad_alloc|Unable to allocate")
_SKIPPED = re.compile(r"samples (\d+) to (\d+) skipped")
_ANNOUNCED = re.compile(r"(\d+) (?:items|samples) skipped")


def _decoder(code, size):
    return Case(lambda folder: mimopack.fec_decoder(code, backend="cpu"), (_reals(FEW, size),))


@contextmanager
def heard():
    """Context manager: give a list, to which it adds what was written to the terminal."""
    said, sys.stdout, sys.stderr = [], *map(_flushed, (sys.stdout, sys.stderr))
    with tempfile.TemporaryFile("w+") as file:
        before = [os.dup(number) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield said
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, old in zip((1, 2), before, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            said.append(file.read())


def _flushed(stream):
    stream.flush()
    return stream


def same(one, other):
    """Return whether two values of messages are equal, numbers up to rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float | complex | np.ndarray):
        return np.shape(one) == np.shape(other) and np.allclose(one, other, 1e-3, 1e-4, True)
    return one == other


def _values(message):
    """Return (dictionary, array or None) of a message, as far as it must repeat."""
    values = None
    if pmt.is_pair(message) and pmt.is_uniform_vector(pmt.cdr(message)):
        message, values = pmt.car(message), np.array(pmt.to_python(pmt.cdr(message)))
    told = pmt.to_python(message)
    if isinstance(told, dict):
        told.pop("ampdu_reference", None)    # counts the A-MPDUs before
    return told, values


def _accounts_for(sent, expected):
    """Return whether a message is the expected one, or tells that its content was lost."""
    told, values = sent
    if isinstance(told, dict) and NAMED.search(told.get("problem", "")):
        return told["start"] == expected[0]["start"]
    if isinstance(told, dict) and told.get("erasures"):
        assert told["erasures"] == told["codewords"] and not told["decoded"]
        return values.shape == expected[1].shape and not values.any()
    return same(sent, expected)


def _is_cut(sent, expected):
    """Return whether a message may be about a frame of which some samples were lost."""
    told, wanted = sent[0], expected[0]
    return isinstance(told, dict) and abs(told.get("start", -99) - wanted.get("start", 0)) < 16


def missing(sent, expected, cut=0):
    """Return the places of the expected messages that were not sent.

    Args:
        sent, expected: messages; those sent must come in the order of the expected ones.
        cut: number of frames that may have other values, because some of their samples were lost.
    """
    place, absent = 0, []
    expected = list(map(_values, expected))
    for message in map(_values, sent):
        while place < len(expected) and not _accounts_for(message, expected[place]):
            if cut and _is_cut(message, expected[place]):
                cut -= 1
                break
            absent.append(place)
            place += 1
        assert place < len(expected), message
        place += 1
    return [*absent, *range(place, len(expected))]


class Trial:
    """A block that plays again and again.

    Args:
        name: name of a case.
        folder: folder for files of the block.
    """

    def __init__(self, name, folder):
        self.name, self.case, self._folders = name.partition(":")[0], ALL[name](), Folders(folder)
        case, few = self.case, slice(None if name.startswith("wifi") else FEW)
        case.inputs = tuple(one[few].copy() for one in case.inputs)
        if name.endswith("_detector"):
            case.inputs[0][5] = np.nan    # an erasure, which has a message
        with pytest.MonkeyPatch.context() as patch:
            block, ports, self.outputs = make_with_ports(case, self._folders(), patch)
        # A setting that is refused has no count.
        self._good = {port: [case.good[port]] if port != "control" else [] for port in ports}
        self.one_less = self.expected = self._play(block)
        if self.name in MESSAGES:
            self._good = {port: sent * 2 for port, sent in self._good.items()}
            self.expected = self._play(case.make(self._folders()))
        assert case.failures(block) == 0 and all(map(len, self.expected.items))

    def _play(self, block):
        tags = [(item, "mark", item) for item in (3, 50, 51)]
        return play(block, self.outputs, self.case.inputs, self._good, tags)

    def run(self, injection):
        """Play a new block with an operation failing, and check what comes out.

        Args:
            injection: function (block) that returns a context manager in which the operation fails.

        Returns:
            Whether the log names the error.
        """
        self.folder = self._folders()
        block = self.case.make(self.folder)
        with heard() as said:
            with injection(block):
                got = self._play(block)
            if hasattr(block, "close"):
                block.close()
        said = "".join(said)
        told, named = self._failures(block) > 0, bool(NAMED.search(said))
        # The receiver's own log tells each kind of error once in a process.
        assert named or self.name.startswith("wifi") or not told, said
        self._check(block, got, told, said)
        return named

    def _failures(self, block):
        """Return the number of exceptions, and of samples that a queue had no memory for."""
        failures = max(self.case.failures(block),
                       block.failures() if hasattr(block, "failures") else 0)
        return failures + (block.counts()["dropped"] if self.name in RECEIVERS else 0)

    def _check(self, block, got, told, said):
        if self.name in MESSAGES:
            self._check_messages_only(got, told)
            return
        lost = None
        if self.name in SOURCES:    # the stream ends at an error
            for items, wanted in zip(got.items, self.expected.items, strict=True):
                assert told == (len(items) < len(wanted)) or "the end of the block" in said
                assert np.array_equal(items, wanted[:len(items)])
            assert len({len(items) for items in got.items}) == 1
        else:
            lost = self._lost_items(block, got, told, said)
        self._check_counts(block, lost, said)
        for port, sent in got.messages.items():
            absent = missing(sent, self.expected.messages[port], told)
            assert told or not absent
            # One failure loses the frames in progress, which follow one another.
            assert absent == list(range(absent[0], absent[-1] + 1)) if absent else True

    def _check_messages_only(self, got, told):
        for items, less, all_ in zip(got.items, self.one_less.items, self.expected.items,
                                     strict=True):
            allowed = [less, all_[len(all_) - len(less):]] if told else [all_]
            assert any(items.shape == one.shape
                       and np.isclose(items, one, atol=1e-4, equal_nan=True).all()
                       for one in allowed)
        for port, sent in got.messages.items():
            less, all_ = len(self.one_less.messages[port]), len(self.expected.messages[port])
            assert less <= len(sent) <= all_ if told else len(sent) == all_
            assert len(missing(sent, self.expected.messages[port])) == all_ - len(sent)

    def _lost_items(self, block, got, told, said):
        """Check the items of all outputs; return which were lost, or None without outputs."""
        lost, value = None, getattr(block, "LOST", 0)
        for items, wanted in zip(got.items, self.expected.items, strict=True):
            assert items.shape == wanted.shape
            empty = (np.isnan(items) if np.isnan(value) else items == value).all(axis=1)
            wrong = ~np.isclose(items, wanted, atol=1e-4, equal_nan=True).all(axis=1)
            echoes = self._echoes(block, wrong & empty)
            assert not self.case.repeats or not (wrong & ~empty & ~echoes).any()
            lost = wrong & empty if lost is None else lost | wrong & empty
        if lost is None:
            return None
        if not self.case.repeats:
            self._check_channel(*got.items, lost)
        assert not lost.any() or told
        announced = sum(map(int, _ANNOUNCED.findall(said)))
        if hasattr(block, "erasures"):
            announced = block.erasures()
        assert lost.sum() <= announced or not told
        return lost

    def _echoes(self, block, lost):
        """Return which items of mimo_channel depend on inputs that were lost."""
        found = np.zeros_like(lost)
        if self.name == "mimo_channel" and lost.any():
            end = np.flatnonzero(lost)[-1] + 1
            found[end:end + block.tail] = True
        return found

    def _check_channel(self, y, h, lost):
        """Check outputs of rayleigh_channel, whose random numbers depend on its calls."""
        x, = self.case.inputs
        assert (y[lost] == 0).all() and (h[lost] == 0).all()
        noise = (y - np.einsum("nij,nj->ni", h.reshape(len(h), 2, 2), x))[~lost]
        assert 0.5 < np.mean(np.abs(noise)**2) / (2 * 10**-1.5) < 2
        assert 0.5 < np.mean(np.abs(h[~lost])**2) < 2

    def _check_counts(self, block, lost, said):
        announced, inputs = sum(map(int, _ANNOUNCED.findall(said))), self.case.inputs
        if self.name.startswith("sigmf") and inputs:
            self._check_recordings(block, announced)
        if self.name == "llr_meter":
            bits = block.figures().bits
            assert inputs[0].size - announced <= bits <= inputs[0].size
        if self.name == "ber_meter":
            assert block.codewords() == (~lost).sum()
        if self.name.endswith("_detector"):
            assert block.vectors() == len(lost)
        if hasattr(block, "codewords") and hasattr(block, "erasures"):
            assert block.codewords() == len(lost)
        if self.name in RECEIVERS:
            counts = block.counts()
            skipped = sum(int(end) - int(begin) for begin, end in _SKIPPED.findall(said))
            known = counts["samples"] + counts["dropped"]
            assert known <= inputs[0].size <= known + skipped, (counts, skipped, said)

    def _check_recordings(self, block, announced):
        """Check that a recording holds the samples that were sent, except those announced."""
        samples = np.array(self.case.inputs)[..., 0]
        found = 0
        for path in self.folder.glob("*.sigmf-meta"):
            try:
                reader = recording.Reader(path, verify=True)
            except ValueError as error:
                assert "holds no samples" in str(error)
                continue
            read = reader.read()
            places = [int(np.flatnonzero(samples[0] == one)[0]) for one in read[0]]
            assert np.array_equal(read, samples[:, places]) and (np.diff(places) > 0).all()
            found = read.shape[1]
        counts = block.counts()
        if self.name == "sigmf_multichannel_sink":
            assert found + announced >= samples.shape[1] or counts["dropped"], (found, announced)
