# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks wifi_synchroniser and wifi_decoder, the two halves of the receiver."""

import numpy as np
import pmt
import pytest
from gnuradio import gr, mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack._runtime import to_pmt
from gnuradio.mimopack.blocks import wifi_pmt
from wifi_air import air, data_mpdu
from wifi_blocks import DEEP, Messages, Sender, expected, mixed, receive, run, two_halves


def test_two_halves_tell_what_is_announced_of_frames_that_are_not_received():
    samples, _ = air([(lambda n: wifi.VHT.of_length(0, n, group_id=5, short_gi=True),
                       [data_mpdu(50)])])
    _, whole = receive(samples)
    (info,), (message,) = whole["frames"].values(), whole["frames"].messages()
    assert (info["format"], info["short_gi"]) == ("vht-mu", True)
    assert info["problem"] == "several users, none of which has streams"
    *_, ports = two_halves(samples)
    assert list(map(pmt.serialize_str, ports["frames"].messages())) \
        == [pmt.serialize_str(message)]


@pytest.mark.quick
def test_two_halves_receive_vht_frames_for_several_users():
    f, psdus = wifi.pack_users(
        lambda lengths: wifi.VHTMU.of_lengths([{"mcs": 4}, {"mcs": 2, "coding": "ldpc"}], lengths),
        [[data_mpdu(40)], [data_mpdu(50)]])
    rng = np.random.default_rng(1)
    noise = 1e-3 * rng.standard_normal((2, 2, f.num_samples + 800))
    samples = np.pad(wifi.Transmitter(2).frame(f, psdus), ((0, 0), (400, 400)))
    samples = (0.1 * samples + noise[0] + 1j * noise[1]).astype(np.complex64)
    _, whole = receive(samples)
    *_, ports = two_halves(samples)
    assert len(ports["out"].pdus()) == 2
    for name in ("out", "frames", "csi"):
        assert list(map(pmt.serialize_str, ports[name].messages())) \
            == list(map(pmt.serialize_str, whole[name].messages())), name


@pytest.mark.quick
def test_two_halves_do_what_the_receiver_does():
    samples, sent = mixed(cfo_hz=-70e3)
    _, whole = receive(samples, frequency=2.412e9)
    synchroniser, decoder, cut, ports = two_halves(samples, frequency=2.412e9)
    assert len(ports["out"].pdus()) == len(expected(sent))
    for name in ("out", "frames", "csi"):
        assert list(map(pmt.serialize_str, ports[name].messages())) \
            == list(map(pmt.serialize_str, whole[name].messages())), name
    for message, frame in zip(cut.messages(), sent, strict=True):
        info = pmt.to_python(pmt.car(message))
        assert abs(info["start"] - frame.start) <= 8    # cyclic shifts of several antennas
        assert (info["format"], info["mcs"], info["problem"]) \
            == (frame.format.name, frame.format.mcs, "")
        part = np.array(pmt.c32vector_elements(pmt.cdr(message)), np.complex64).reshape(2, -1)
        assert part.shape[1] >= info["num_samples"]
        assert np.array_equal(part, samples[:, info["first"]:info["first"] + part.shape[1]])
    assert (synchroniser.counts()["frames"], decoder.failures()) == (len(sent), 0)


@pytest.mark.parametrize(("key", "value"), [
    ("num_rx", 1), ("num_rx", "2"), ("sample_rate", 40e6), ("start", 1.5), ("window", 10**9),
    ("first", -2**62), ("cfo", float("nan")), ("subchannels", np.array([7])),
    ("subchannels", 0), ("noise", [0.0, 1.0]), ("noise", [-1.0, 1.0]),
    ("signal", [float("nan"), 1.0]), ("format", "ax"), ("format", 3), ("format_mcs", 999),
    ("format_mcs", "x"), ("format_length", 10**12), ("truncated", 3), ("problem", 5),
    ("centre", "low"), ("num_samples", float("inf")), ("rx_time", DEEP),
    ("rx_time", pmt.make_tuple(DEEP, DEEP)),
    ("rx_time", pmt.make_tuple(pmt.from_uint64(1), pmt.from_double(1e300)))])
def test_decoder_refuses_a_frame_with(key, value):
    samples, _ = mixed(count=1)
    found = wifi.Synchroniser(2)
    one, = found.process(samples) + found.finish()
    good = wifi_pmt.found_to_pmt(one, 20e6)
    if not isinstance(value, pmt.pmt_base):
        value = to_pmt(value)
    bad = pmt.cons(pmt.dict_add(pmt.car(good), pmt.intern(key), value), pmt.cdr(good))
    top, sender = gr.top_block(), Sender([bad, good])
    decoder, sink = mimopack.wifi_decoder(2), Messages()
    top.msg_connect(sender, "out", decoder, "in")
    top.msg_connect(decoder, "out", sink, "in")
    run(top)
    assert len(sink.received) == 1
    assert decoder.failures() == 1
