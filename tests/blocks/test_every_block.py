# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every block: hostile messages, hostile tags and exceptions end no stream."""

import numpy as np
import pmt
import pytest
from every_block import MESSAGES, SOURCES, STREAMS, make_with_ports, play, spoiled
from flowgraphs import until
from gnuradio.mimopack import blocks
from wifi_blocks import HOSTILE

ALL = STREAMS | MESSAGES | SOURCES
TAGS = ("noise_var", "noise_cov", "rx_time", "rx_rate", "rx_freq", "tx_time", "packet_len",
        "frame", "wifi_frame")
# Blocks that read the tags of radios.
RADIO = ("nr_ofdm_demodulator", "nr_pusch_receiver", "sigmf_multichannel_sink", "sigmf_ring_sink",
         "wifi_channel_estimator", "wifi_receiver", "wifi_synchroniser")

# Blocks whose work() has no reason to fail.
PLAIN = ("ber_meter", "codeword_modulator", "fec_encoder", "llr_meter", "mimo_channel", "ofdm_grid",
         "ofdm_vectors", "rayleigh_channel", "symbol_mapper")

# Blocks whose good messages have no dictionary.
BARE = ("fec_decoder_pdu", "fec_encoder_pdu", "nr_pusch_transmitter", "wifi_transmitter")


def fails_once(monkeypatch, owner, name):
    """Make the first call of a function raise an exception; return the list of its calls."""
    real, calls = getattr(owner, name), []

    def fails(*arguments, **keywords):
        calls.append(name)
        if len(calls) == 1:
            raise RuntimeError("on purpose")
        return real(*arguments, **keywords)

    monkeypatch.setattr(owner, name, fails)
    return calls


@pytest.fixture
def twins(tmp_path, monkeypatch):
    """Return a function (case) that makes two equal blocks: (block, block, inputs, outputs)."""
    def make(case):
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        plain = case.make(folders[0])
        return plain, *make_with_ports(case, folders[1], monkeypatch)

    return make


@pytest.mark.quick
def test_the_table_has_every_block():
    # radio_source needs a radio, and never ends: see test_radio_source.py.
    assert {*ALL, *blocks.DETECTOR_BLOCKS, "radio_source"} == {*blocks.__all__}


@pytest.mark.parametrize("name", ALL)
def test_hostile_messages_to_every_port_change_nothing(name, twins):
    case = ALL[name]()
    plain, tested, ports, outputs = twins(case)
    assert set(ports) == set(case.good)
    hostile = {port: [*HOSTILE.values()] for port in ports}
    if case.settings:
        hostile["control"] += [pmt.cons(pmt.intern(setting), value)
                               for setting in case.settings for value in HOSTILE.values()]
    expected = play(plain, outputs, case.inputs, {port: [case.good[port]] for port in ports},
                    case.tags)
    got = play(tested, outputs, case.inputs, {port: [*hostile[port], case.good[port]]
                                           for port in ports}, case.tags)
    assert list(map(len, got.items)) == list(map(len, expected.items))
    assert {port: len(sent) for port, sent in got.messages.items()} \
        == {port: len(sent) for port, sent in expected.messages.items()}
    if not case.inputs:
        assert all(map(np.array_equal, got.items, expected.items))
    settings = getattr(tested, "_sink", tested)
    assert {name: getattr(settings, name)() for name in case.settings} == case.settings
    if case.settings:
        assert plain.refused_settings() == 0 and tested.refused_settings() >= len(HOSTILE)
    for refused in case.refused.values():
        assert (refused(plain), refused(tested)) == (0, len(HOSTILE))



@pytest.mark.parametrize("name", [name for name in MESSAGES if name not in BARE])
def test_a_hostile_value_costs_at_most_its_message(name, twins):
    case = MESSAGES[name]()
    plain, tested, ports, outputs = twins(case)
    port = next(port for port in ports if port != "control")
    bad = list(spoiled(case.good[port]))
    if hasattr(tested, "_most"):
        tested._most = len(bad) + 1
    expected = play(plain, outputs, (), {port: [case.good[port]]})
    got = play(tested, outputs, (), {port: [*bad, case.good[port]]})
    refused = case.refused[port](tested)
    assert 0 < refused < len(bad)    # few of the values are valid, and some keys are not read
    assert all(len(new) >= len(old) > 0 for new, old in (
        *zip(got.items, expected.items, strict=True),
        *((sent, expected.messages[port]) for port, sent in got.messages.items())))


@pytest.mark.parametrize("name", STREAMS)
def test_hostile_tags_leave_the_rest_of_the_stream_as_it_is(name, twins):
    case = STREAMS[name]()
    plain, tested, ports, outputs = twins(case)
    tags = [(index, key, value) for index, value in enumerate(HOSTILE.values(), 1) for key in TAGS]
    good_from = len(HOSTILE) + 10
    tags.append((good_from, "noise_var", 0.1))    # as before
    expected = play(plain, outputs, case.inputs, dict.fromkeys(ports, ()), case.tags)
    got = play(tested, outputs, case.inputs, dict.fromkeys(ports, ()), [*case.tags, *tags])
    for items, wanted in zip(got.items, expected.items, strict=True):
        assert items.shape == wanted.shape
        np.testing.assert_allclose(items[good_from:], wanted[good_from:], atol=1e-4)
    assert {port: len(sent) for port, sent in got.messages.items()} \
        == {port: len(sent) for port, sent in expected.messages.items()}
    # A number is a valid rate and a valid frequency.
    assert name not in RADIO or case.failures(tested) == 3 * len(HOSTILE) - 2


@pytest.mark.quick
@pytest.mark.parametrize("name", [name for name in STREAMS if name not in PLAIN])
def test_an_exception_costs_the_items_of_its_call(name, twins, monkeypatch, capfd):
    case = STREAMS[name]()
    plain, tested, ports, outputs = twins(case)
    expected = play(plain, outputs, case.inputs, dict.fromkeys(ports, ()), case.tags)
    calls = fails_once(monkeypatch, *case.inner(tested))
    got = play(tested, outputs, case.inputs, dict.fromkeys(ports, ()), case.tags,
               halfway=lambda: until(lambda: calls))
    assert case.failures(plain) == 0 and case.failures(tested) == 1
    assert len(calls) > 1 and "on purpose" in "".join(capfd.readouterr())
    for items, wanted in zip(got.items, expected.items, strict=True):
        assert items.shape == wanted.shape
        half = len(items) // 2
        lost = (items == 0).all(axis=1) | np.isnan(items).all(axis=1)
        assert lost.any() and not lost[half:].any()
        assert np.isnan(items[lost]).all() or not items[lost].any()


@pytest.mark.quick
@pytest.mark.parametrize("name", MESSAGES)
def test_an_exception_costs_its_message(name, twins, monkeypatch, capfd):
    case = MESSAGES[name]()
    plain, tested, ports, outputs = twins(case)
    port = next(port for port in ports if port != "control")
    expected = play(plain, outputs, (), {port: [case.good[port]]})
    fails_once(monkeypatch, *case.inner(tested))
    got = play(tested, outputs, (), {port: [case.good[port]] * 2})
    assert case.failures(tested) == 1 and "on purpose" in "".join(capfd.readouterr())
    assert all(map(np.array_equal, got.items, expected.items))
    assert {port: len(sent) for port, sent in got.messages.items()} \
        == {port: len(sent) for port, sent in expected.messages.items()}


@pytest.mark.quick
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_ends_at_an_exception(name, twins, monkeypatch, capfd):
    case = SOURCES[name]()
    plain, tested, *_ = twins(case)
    assert all(map(len, play(plain, [], (), {}).items))
    fails_once(monkeypatch, *case.inner(tested))
    assert not any(map(len, play(tested, [], (), {}).items))
    assert case.failures(tested) == 1 and "on purpose" in "".join(capfd.readouterr())


# Blocks with dictionaries of options: (block, parameter, further parameters, an option that it
# takes, an option that the block sets itself).
OPTIONS = [
    *((name, "options", {"code": code}, *rest) for name in ("fec_decoder", "fec_decoder_pdu")
      for code, *rest in (("wimax:576:1/2", {"algorithm": "offset"}, "iterations"),
                          ("conv:100:1/2", {"margin": 3.0}, "backend"))),
    ("iterative_receiver", "decoder_options", {}, {"offset": 0.4}, "device"),
    ("iterative_receiver", "detector_options", {"detector": "kbest"}, {"k": 8}, "extrinsic")]


@pytest.mark.parametrize("name, parameter, more, good, reserved", OPTIONS)
def test_wrong_options_are_refused_by_name(name, parameter, more, good, reserved):
    make = getattr(blocks, name)
    make(**more, **{parameter: good})
    with pytest.raises(ValueError, match=f"{parameter}: got {reserved}, which the block sets"):
        make(**more, **{parameter: {**good, reserved: 1}})
    with pytest.raises((ValueError, TypeError), match=f"colour: .*{next(iter(good))}"):
        make(**more, **{parameter: {**good, "colour": 1}})


@pytest.mark.parametrize("name", [name for name in blocks.__all__ if name.endswith("_detector")])
def test_unknown_parameters_of_a_detector_block(name):
    with pytest.raises(TypeError, match="colour: .* has no such parameter, it has num_tx"):
        getattr(blocks, name)(2, 2, "qpsk", colour=1)
