# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE frames of several users, and answers to Trigger frames, through all blocks of the receiver."""

import json

import numpy as np
import pmt
import pytest
from gnuradio import mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack.wifi import HE, HEMU, mac
from wifi_air import data_mpdu
from wifi_blocks import chain, receive, two_halves
from wifi_frames import trigger_frame

MPDUS = [data_mpdu(60, 1), data_mpdu(90, 2)]


def noisy(*parts):
    """Return the parts one after another, (1, n), with noise between and in them."""
    gap = np.zeros((1, 600))
    samples = np.concatenate([gap, *(x for part in parts for x in (part, gap))], axis=1)
    noise = np.random.default_rng(1).standard_normal((2, *samples.shape)) * 0.003
    return (samples + noise[0] + 1j * noise[1]).astype(np.complex64)


def for_two_users():
    users = [{"sta_id": 17, "ru": (106, 1), "mcs": 3}, {"sta_id": 2000, "ru": (106, 2), "mcs": 3}]
    f, psdus = wifi.pack_users(lambda lengths: HEMU.of_lengths(users, lengths),
                               [[mpdu] for mpdu in MPDUS])
    return wifi.Transmitter(1).frame(f, psdus)


def answer():
    """Return (samples of an HE TB frame, what its Trigger frame has asked, a dictionary)."""
    f = HE.of_length(3, 110, name="he-tb", ru=(52, 2), ltf=4, gi_us=3.2, uplink=True)
    asked = {"ul_length": f.legacy_length, "ru": "52 index 2", "mcs": 3, "coding": "bcc",
             "gi_us": 3.2, "ltf": 4, "pre_fec_padding": f.pre_fec_padding,
             "pe": int(f.pe_disambiguity)}
    return wifi.Transmitter(1).frame(f, mac.aggregate([MPDUS[0]], f.length)), asked, f


def asked_and_answered():
    sent, _, f = answer()
    trigger = trigger_frame([(33, 38, 3, 0)], f.legacy_length, padding=f.pre_fec_padding,
                            pe=f.pe_disambiguity)
    asking = wifi.NonHT(24, len(trigger))
    return np.concatenate([wifi.Transmitter(1).frame(asking, trigger)[:, :asking.num_samples],
                           np.zeros((1, 320)), sent], axis=1)


def test_ports_of_the_receiver():
    _, ports = receive(noisy(for_two_users()), frequency=5.18e9)
    pdus = ports["out"].pdus()
    assert [blob for _, blob in pdus] == [mpdu[:-4] for mpdu in MPDUS]
    assert [(info["sta_id"], info["ru"], info["mcs"], info["freq"]) for info, _ in pdus] == [
        (17, "106 index 1", 3, 5.18e9), (2000, "106 index 2", 3, 5.18e9)]
    info, = ports["frames"].values()
    assert [(user["sta_id"], user["ru"], user["num_mpdus_ok"]) for user in info["users"]] == [
        (17, "106 index 1", 1), (2000, "106 index 2", 1)]
    carriers = [pmt.to_python(pmt.car(message))["carriers"] for message in ports["csi"].messages()]
    assert [(k.min(), k.max(), len(k)) for k in carriers] == [(-122, -17, 106), (17, 122, 106)]
    assert len(ports["symbols"].messages()) == 2


def test_two_halves_do_what_the_receiver_does():
    samples = noisy(for_two_users(), asked_and_answered())
    _, whole = receive(samples)
    *_, ports = two_halves(samples)
    assert [info.get("sta_id") for info, _ in ports["out"].pdus()] == [17, 2000, None, 33]
    for name in ("out", "frames", "csi"):
        assert list(map(pmt.serialize_str, ports[name].messages())) \
            == list(map(pmt.serialize_str, whole[name].messages())), name


def test_the_trigger_of_a_parameter(tmp_path):
    sent, asked, _ = answer()
    (tmp_path / "trigger.json").write_text(json.dumps(asked))
    for trigger in (asked, str(tmp_path / "trigger.json")):
        _, ports = receive(noisy(sent), he_trigger=trigger)
        assert [blob for _, blob in ports["out"].pdus()] == [MPDUS[0][:-4]]
        *_, ports = two_halves(noisy(sent), he_trigger=trigger)
        assert [blob for _, blob in ports["out"].pdus()] == [MPDUS[0][:-4]]
    with pytest.raises(ValueError, match="he_trigger: missing.json: .*No such file"):
        mimopack.wifi_receiver(he_trigger="missing.json")


def test_users_in_the_open_chain():
    """The estimator demodulates each user as a frame of its own."""
    sent, asked, _ = answer()
    _, _, ports = chain(noisy(for_two_users(), sent), num_streams=1, constellation="wlan_qam16",
                        of_rx={"he_trigger": asked})
    facts = [pmt.to_python(pmt.car(message)) for message in ports["out"]]
    assert [(info["format"], info.get("sta_id"), info["ru"]) for info in facts] == [
        ("he-mu", 17, "106 index 1"), ("he-mu", 2000, "106 index 2"),
        ("he-tb", None, "52 index 2")]
    assert [bytes(pmt.u8vector_elements(pmt.cdr(message))) for message in ports["out"]] == [
        mpdu[:-4] for mpdu in (*MPDUS, MPDUS[0])]
