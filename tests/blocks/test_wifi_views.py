# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that make streams for displays: condition, levels, airtime, loss of linear detectors."""

from types import SimpleNamespace

import numpy as np
import pmt
import pytest
from flowgraphs import block, save
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack.blocks import wifi_pmt
from gnuradio.mimopack.wifi.airtime import Airtime
from gnuradio.mimopack.wifi.linear_loss import linear_loss
from gnuradio.mimopack.wifi.statistics import condition_db
from wifi_air import FRAMES, air, data_mpdu, frames_in, multipath
from wifi_blocks import DEEP, Sender, run

RATE = 20e6
# Messages that no view accepts, and that must not make any view fail.
HOSTILE = [pmt.PMT_NIL, pmt.PMT_T, pmt.to_pmt({"start": 1}), DEEP,
           pmt.cons(pmt.make_dict(), pmt.init_c32vector(2, [1, 2])),
           pmt.to_pmt({"start": "x", "num_samples": 5, "antenna_snr_db": 3.0}),
           pmt.to_pmt({"start": 5, "num_samples": 2**40})]
EXTRA = [(lambda n: wifi.HT(11, n, coding="ldpc"), [data_mpdu(60, 9)]),
         (lambda n: wifi.HT(3, n, stbc=1), [data_mpdu(60, 10)]),
         (lambda n: wifi.HT(9, n, short_gi=True), [data_mpdu(60, 11)])]


@pytest.fixture(scope="module")
def received():
    """Return frames of two antennas, and the messages about them."""
    samples, _ = air([*FRAMES, *EXTRA], num_rx=2, channel=multipath)
    frames = frames_in(samples)
    assert len(frames) == len(FRAMES) + len(EXTRA) and all(one.complete for one in frames)
    return SimpleNamespace(frames=frames, told=[wifi_pmt.frame_to_pmt(one) for one in frames],
                           csi=[wifi_pmt.csi_to_pmt(one) for one in frames])


def view(tested, port, messages, widths, twice=False):
    """Return the output of a view: an array (items, width) per output.

    With ``twice``, items come in pairs, and one of each pair is returned.
    """
    top, sender = gr.top_block(), Sender(messages)
    sinks = [blocks.vector_sink_f(width) for width in widths]
    top.msg_connect(sender, "out", tested, port)
    for index, sink in enumerate(sinks):
        top.connect((tested, index), sink)
    run(top)
    items = [np.array(sink.data()).reshape(-1, width)
             for sink, width in zip(sinks, widths, strict=True)]
    if not twice:
        return items
    assert all(np.array_equal(one[::2], one[1::2]) for one in items)
    return [one[::2] for one in items]


@pytest.mark.quick
def test_condition_numbers_of_each_frame(received):
    tested = mimopack.wifi_condition_view(64)
    shown, = view(tested, "csi", [*HOSTILE, *received.csi], [64], twice=True)
    assert tested.refused() == len(HOSTILE) and len(shown) == len(received.frames)
    for row, frame in zip(shown, received.frames, strict=True):
        found = row[frame.channel.carriers + 32]
        assert found == pytest.approx(condition_db(frame.channel), abs=1e-3)
        assert not np.delete(row, frame.channel.carriers + 32).any()
        assert (found.mean() > 1) == (frame.format.num_space_time_streams > 1)


@pytest.fixture(scope="module")
def he_frame():
    """Return a frame with HE MCS 11, which is no VHT MCS, and two streams."""
    samples, _ = air([(lambda n: wifi.HE.of_length(11, n, 2, coding="ldpc"), [data_mpdu(60, 12)])],
                     num_rx=2, snr_db=45.0)
    frame, = frames_in(samples)
    assert frame.complete and len(frame.channel.carriers) == 242
    return frame


def test_every_fourth_subcarrier_of_he_frames_is_shown(he_frame):
    message, state = wifi_pmt.csi_to_pmt(he_frame), he_frame.channel
    fourth = state.carriers % 4 == 0
    places = state.carriers[fourth] // 4 + 32
    assert places.tolist() == [*range(2, 32), *range(33, 63)]
    row, = view(mimopack.wifi_condition_view(64), "csi", [message], [64], twice=True)[0]
    assert row[places] == pytest.approx(condition_db(state)[fourth], abs=1e-3)
    rows = view(mimopack.wifi_channel_view(2, 2), "csi", [message], [64] * 4, twice=True)
    decibels = 20 * np.log10(np.abs(state.matrices[fourth]))
    assert np.array(rows)[:, 0, places] == pytest.approx(decibels.reshape(-1, 4).T, abs=1e-3)


def test_losses_of_he_frames_are_those_of_their_format(he_frame):
    tested = mimopack.wifi_linear_loss(length=1, interval=0)
    found = np.ravel(view(tested, "csi", [wifi_pmt.csi_to_pmt(he_frame)], [1] * 3, twice=True))
    wanted = linear_loss(he_frame.format, he_frame.channel, he_frame.detector)
    assert found == pytest.approx([wanted.mmse_db, wanted.zf_db, wanted.margin_db], abs=1e-3)


@pytest.mark.quick
def test_levels_of_each_antenna(received):
    tested = mimopack.wifi_levels(2)
    shown = np.array(view(tested, "frames", [*HOSTILE, *received.told], [1] * 4))[..., 0]
    assert tested.refused() == len(HOSTILE)
    wanted = [[*one.antenna_snr_db, *one.level_dbfs] for one in received.frames]
    assert shown.T == pytest.approx(np.array(wanted), abs=1e-3)
    other = mimopack.wifi_levels(1)
    assert not view(other, "frames", received.told, [1] * 2)[0].size
    assert other.refused() == len(received.told)    # of two antennas


@pytest.mark.quick
def test_rows_of_airtime(received):
    tested = mimopack.wifi_airtime(RATE, columns=8, row_seconds=1e-4)    # cells of 250 samples
    stream, = view(tested, "frames", [*HOSTILE[:-1], *received.told], [1])
    assert tested.refused() == len(HOSTILE) - 1
    whole = Airtime(RATE, 1e-4, 8, rows=1000)
    for frame in received.frames:
        whole.add(frame.start, frame.num_samples)
    rows = stream.reshape(-1, 8)
    assert len(rows) == whole.row
    assert rows == pytest.approx(whole.picture()[-1 - whole.row:-1], abs=1e-6)


@pytest.mark.quick
def test_losses_of_frames_with_several_streams(received):
    tested = mimopack.wifi_linear_loss(length=3, interval=0)
    curves = view(tested, "csi", [*HOSTILE, *received.csi], [3] * 3, twice=True)
    assert tested.refused() == len(HOSTILE)
    expected = [linear_loss(one.format, one.channel, one.detector) for one in received.frames
                if one.format.num_space_time_streams > 1]
    assert len(curves[0]) == len(expected) == 5
    for curve, name in zip(curves, ("mmse_db", "zf_db", "margin_db"), strict=True):
        values = [getattr(one, name) for one in expected]
        assert curve[-1] == pytest.approx(values[-3:], abs=1e-3)
        assert curve[0] == pytest.approx([0, 0, values[0]], abs=1e-3)
    several = [one for one in received.frames if one.format.num_space_time_streams > 1]
    assert sum(one.format.stbc for one in several) == 1    # one stream sent on two: no loss
    assert tested.history() == pytest.approx(np.array([curve[-1] for curve in curves]))
    last = expected[-1]
    assert tested.text() == (f"MMSE {last.mmse_db:.1f} dB, ZF {last.zf_db:.1f} dB worse than nway, "
                             f"margin {last.margin_db:.1f} dB")


@pytest.mark.parametrize(("name", "arguments", "said"), [
    ("wifi_condition_view", {"num_carriers": 65}, "num_carriers: got 65"),
    ("wifi_levels", {"num_rx": 9}, "num_rx: got 9"),
    ("wifi_airtime", {"sample_rate": 0}, "sample_rate: got 0"),
    ("wifi_airtime", {"columns": 0}, "columns: got 0"),
    ("wifi_airtime", {"row_seconds": -1}, "row_seconds: got -1"),
    ("wifi_linear_loss", {"length": 0}, "length: got 0"),
    ("wifi_linear_loss", {"interval": -1}, "interval: got -1"),
    ("wifi_linear_loss", {"least_streams": 5}, "least_streams: got 5")])
def test_wrong_arguments_are_refused(name, arguments, said):
    with pytest.raises(ValueError, match=said):
        getattr(mimopack, name)(**arguments)


@pytest.mark.parametrize(("kind", "port", "parameters", "said"), [
    ("levels", "frames", {"num_rx": "9"}, "num_rx <= 8"),
    ("linear_loss", "csi", {"interval": "-1.0"}, "interval")])
def test_companion_refuses_wrong_parameters(companion, tmp_path, kind, port, parameters, said):
    outputs = {"condition_view": 1, "levels": 18, "airtime": 1, "linear_loss": 3}[kind]
    vlen = {"condition_view": "32", "linear_loss": "100"}.get(kind, "1")
    blocks_ = [block("samp_rate", "variable", value="20e6"),
               block("samples", "blocks_null_source", type="complex"),
               block("rx", "mimopack_wifi_receiver"),
               block("tested", f"mimopack_wifi_{kind}", **parameters),
               *[block(f"sink_{i}", "blocks_null_sink", type="float", vlen=vlen)
                 for i in range(outputs)]]
    connections = [["samples", "0", "rx", "0"], ["rx", port, "tested", port],
                   *[["tested", str(i), f"sink_{i}", "0"] for i in range(outputs)]]
    assert said in companion.refusals(save(tmp_path, blocks_, connections), tmp_path)


@pytest.mark.parametrize(("name", "port", "width"), [
    ("wifi_condition_view", "csi", 64), ("wifi_channel_view", "csi", 64)])
def test_frames_with_too_few_streams_are_left_out(received, name, port, width):
    several = [one for one in received.frames if one.format.num_space_time_streams > 1]
    items, = view(getattr(mimopack, name)(least_streams=2), port, received.csi, [width], True)
    assert 0 < len(items) == len(several) < len(received.frames)
    with pytest.raises(ValueError, match="least_streams: got 0"):
        getattr(mimopack, name)(least_streams=0)
    items, = view(getattr(mimopack, name)(interval=3600), port, received.csi, [width], True)
    assert len(items) == 1
    with pytest.raises(ValueError, match="interval: got -1, allowed are 0 to 3600"):
        getattr(mimopack, name)(interval=-1)


@pytest.mark.filterwarnings("error")
def test_numbers_too_large_for_a_display_stay_finite(received):
    told = pmt.dict_add(received.told[0], pmt.intern("antenna_snr_db"),
                        pmt.init_f64vector(2, [1e300, -1e300]))
    shown = view(mimopack.wifi_levels(2), "frames", [told], [1] * 4)
    largest = np.finfo(np.float32).max
    assert [one[0, 0] for one in shown[:2]] == [largest, -largest]
    told = pmt.dict_add(received.told[0], pmt.intern("snr_db"), pmt.from_double(1e300))
    assert np.isfinite(view(mimopack.wifi_meter(2), "frames", [told], [2] * 3, True)).all()


def test_matrices_without_a_loss_are_refused(received):
    message = next(one for one, frame in zip(received.csi, received.frames, strict=True)
                   if frame.format.num_streams == 2)
    told = pmt.dict_add(pmt.car(message), pmt.intern("noise"), pmt.init_f64vector(2, [0.0, 0.0]))
    matrices = [1e30 + 0j] * pmt.length(pmt.cdr(message))
    tested = mimopack.wifi_linear_loss(length=3, interval=0)
    view(tested, "csi", [pmt.cons(told, pmt.init_c32vector(len(matrices), matrices)), message],
         [3] * 3, twice=True)
    assert tested.refused() == 1 and np.isfinite(tested.history()).all()
