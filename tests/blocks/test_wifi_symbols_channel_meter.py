# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks for displays: symbols of each stream, the channel, the meter."""

import time
from types import SimpleNamespace

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack.blocks import wifi_pmt
from wifi_blocks import HOSTILE, Sender, mixed, receive, run


def view(block, messages, sinks):
    """Send messages through a view into sinks."""
    top, sender = gr.top_block(), Sender(messages)
    top.msg_connect(sender, "out", block, {"wifi_symbols": "symbols", "wifi_meter": "frames"}.get(
        block.name(), "csi"))
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    run(top)


@pytest.mark.quick
def test_symbols_of_each_stream():
    samples, _ = mixed(count=2)
    _, ports = receive(samples)
    one, two = ports["symbols"].messages()
    info = pmt.to_python(pmt.car(two))
    assert (info["constellation"], info["num_streams"]) == ("wlan_qam16", 2)
    block, sinks = mimopack.wifi_symbols(2), [blocks.vector_sink_c() for _ in range(2)]
    view(block, [one, *HOSTILE.values(), two], sinks)
    points = np.array([sink.data() for sink in sinks])
    first = pmt.to_python(pmt.car(one))["num_points"]
    assert points.shape[1] == first + info["num_points"]
    assert 100 < first <= 1000 and not points[1, :first].any()
    grid = np.array([-3, -1, 1, 3]) / np.sqrt(10)
    for axis in (points[:, first:].real, points[:, first:].imag):
        assert np.abs(axis[..., None] - grid).min(axis=-1).mean() < 0.1
    assert block.refused() == len(HOSTILE)


@pytest.mark.parametrize(("symbols", "carriers"), [(20, 48), (1000, 234)])
def test_symbols_of_long_frames_show_all_subcarriers(symbols, carriers):
    # The value of each point is the index of its subcarrier.
    points = np.broadcast_to(np.arange(carriers)[None, :, None], (symbols, carriers, 2))
    frame = SimpleNamespace(start=0, format=wifi.HT(8, 50), evm_db=(-30.0, -30.0), symbols=points)
    message = wifi_pmt.symbols_to_pmt(frame, 1000)
    told = pmt.to_python(pmt.car(message))
    shown = np.array(pmt.c32vector_elements(pmt.cdr(message))).real.reshape(2, -1)
    assert 200 < told["num_points"] == shown.shape[1] <= 1000
    assert all(len(np.unique(row)) == carriers for row in shown)


@pytest.mark.quick
def test_view_of_the_channel():
    samples, _ = mixed(count=2, num_rx=3)
    _, ports = receive(samples)
    one, two = ports["csi"].messages()
    block = mimopack.wifi_channel_view(3, 2)
    sinks = [blocks.vector_sink_f(64) for _ in range(6)]
    view(block, [one, *HOSTILE.values(), two], sinks)
    shown = np.array([sink.data() for sink in sinks]).reshape(3, 2, 2, 2, 64)
    assert np.array_equal(shown[:, :, :, 0], shown[:, :, :, 1])    # for GNU Radio's vector sink
    shown = shown[:, :, :, 0]
    assert np.all(shown[:, 1, 0] == -60)    # a frame of one stream
    matrices = np.array(pmt.c32vector_elements(pmt.cdr(two))).reshape(56, 3, 2)
    used = [*range(4, 32), *range(33, 61)]
    decibels = 20 * np.log10(np.abs(matrices)).transpose(1, 2, 0)
    assert np.allclose(shown[:, :, 1][..., used], np.maximum(decibels, -60), atol=1e-3)
    assert np.all(shown[..., [0, 1, 2, 3, 32, 61, 62, 63]] == -60)
    assert block.refused() == len(HOSTILE)


@pytest.mark.quick
def test_meter_counts_frames_and_keeps_the_last():
    samples, sent = mixed(count=4)
    cut = samples[:, :sent[3].start + 900]
    _, ports = receive(cut)
    block = mimopack.wifi_meter(3)
    sinks = [blocks.vector_sink_f(3) for _ in range(3)]
    view(block, [*ports["frames"].messages(), *HOSTILE.values()], sinks)
    assert (block.frames(), block.lost(), block.mpdus()) == (4, 1, 5)
    assert block.refused() == len(HOSTILE)
    assert block.text() == "4 frames (2 ht, 1 non-ht, 1 vht), 1 lost (25.0 %), 5 MPDUs"
    snr, evm, lost = (np.array(sink.data()).reshape(-1, 3)[::2] for sink in sinks)
    assert lost.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    wanted = [info["snr_db"] for info in ports["frames"].values()]
    assert snr[-1] == pytest.approx(wanted[1:], abs=1e-3)
    assert np.all(evm[-1, :2] < -20)
    assert block.history() == pytest.approx(np.array([snr[-1], evm[-1], lost[-1]]))


def test_meter_tells_the_rate_of_each_kind(monkeypatch):
    block = mimopack.wifi_meter(3)
    assert block.rates() == "no frame in the last two seconds"
    told = [{"format": "ht", "mcs": 15, "num_mpdus": 4, "num_mpdus_ok": 3},
            {"format": "ht", "mcs": 15, "num_mpdus": 0, "num_mpdus_ok": 0},
            {"format": "non-ht", "mcs": 54.0, "num_mpdus": 1, "num_mpdus_ok": 1},
            {"num_mpdus": 0, "num_mpdus_ok": 0}]
    view(block, [pmt.to_pmt(one) for one in told], [blocks.null_sink(12) for _ in range(3)])
    assert block.rates() == ("ht MCS 15: 1/s, FCS 75 %; non-ht 54: 0.5/s, FCS 100 %; "
                             "unknown: 0.5/s, no MPDU")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3)
    assert block.rates() == "no frame in the last two seconds"
