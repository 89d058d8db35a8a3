# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of received frames: counts, rates, levels, condition numbers."""

from dataclasses import replace

import numpy as np
import pytest
from gnuradio.mimopack.wifi.statistics import Statistics, condition_db, total_of
from wifi_statistics import RATE, counted


def test_counts_are_those_of_what_was_sent(received_frames):
    frames, sent = received_frames
    figures = counted(frames).figures()
    assert set(figures.totals) == {(one.format.name, one.format.mcs, one.format.num_streams)
                                   for one in sent}
    for kind, row in figures.totals.items():
        those = [one for one in sent
                 if (one.format.name, one.format.mcs, one.format.num_streams) == kind]
        assert (row.frames, row.lost, row.mpdus, row.mpdus_ok, row.bytes_ok) == (
            len(those), 0, *[sum(len(one.mpdus) for one in those)] * 2,
            sum(len(mpdu) for one in those for mpdu in one.mpdus))
        assert row.seconds == pytest.approx(sum(one.format.num_samples for one in those) / RATE)
    assert figures.total.fcs_share == 1
    assert figures.total == total_of(figures.recent)


def test_rates_are_of_the_last_window_of_the_samples_time(received_frames):
    frames = received_frames[0]
    statistics = counted(frames, window=0.1)
    figures = statistics.figures()
    assert figures.seconds == figures.window == pytest.approx(
        (frames[-1].start + frames[-1].num_samples) / RATE)
    assert figures.per_second(figures.recent_total.frames) == len(frames) / figures.seconds
    assert figures.airtime == pytest.approx(
        sum(frame.num_samples for frame in frames) / RATE / figures.seconds)
    # Frames in dropped samples are not seen.
    statistics.status({"samples": 1000, "dropped": 100})
    assert statistics.figures().airtime == pytest.approx(1.1 * figures.airtime)
    statistics.advance(frames[-1].start + 0.1 * RATE)    # only the last frame ends in the window
    figures = statistics.figures()
    assert figures.window == 0.1 and figures.recent_total.frames == 1
    statistics.advance(10 * RATE)
    figures = statistics.figures()
    assert not figures.recent and figures.airtime == 0 and np.isnan(figures.snr_db).all()
    assert figures.total.frames == len(frames)


def test_lost_frames_and_wrong_check_sequences_are_told(received_frames):
    frame = received_frames[0][0]
    wrong = replace(frame, mpdus=tuple(one._replace(fcs_ok=False) for one in frame.mpdus))
    unknown = replace(frame, format=None, mpdus=(), problem="unknown")
    row = counted([frame, wrong]).figures().total
    assert (row.frames, row.lost, row.mpdus, row.mpdus_ok, row.fcs_share) == (2, 1, 2, 1, 0.5)
    figures = counted([unknown]).figures()
    assert figures.totals[("unknown", None, 0)].lost == 1
    assert np.isnan(figures.total.fcs_share) and figures.shown is not None


def test_levels_are_means_of_each_antenna(received_frames):
    frame = received_frames[0][0]
    other = replace(frame, antenna_snr_db=(10.0, 20.0), level_dbfs=(-30.0, -31.0),
                    noise_dbfs=(-50.0, -52.0))
    figures = counted([frame, other]).figures()
    assert figures.snr_db == pytest.approx((np.array(frame.antenna_snr_db) + [10, 20]) / 2)
    assert figures.level_dbfs == pytest.approx((np.array(frame.level_dbfs) + [-30, -31]) / 2)
    with pytest.raises(ValueError, match="got 3 antennas, must be 2"):
        Statistics(2, RATE).add(replace(frame, antenna_snr_db=(1.0,) * 3, level_dbfs=(1.0,) * 3,
                                        noise_dbfs=(1.0,) * 3))


def test_the_frame_that_asks_most_of_the_channel_is_shown(received_frames):
    frames = received_frames[0]
    figures = counted(frames).figures()
    # VHT MCS 4 with two streams: 16-QAM.
    assert (figures.shown.format.name, figures.shown.format.num_streams) == ("vht", 2)
    assert figures.shown is [one for one in frames if one.format.name == "vht"][-1]
    assert figures.points.shape[0] == 2 and 300 < figures.points.shape[1] <= 1000
    matrices = figures.shown.channel.matrices
    assert figures.magnitude_db == pytest.approx(20 * np.log10(np.abs(matrices)), abs=1e-4)
    # A less demanding frame replaces it after it has left the window.
    later = replace(frames[0], start=frames[0].start + int(3 * RATE))
    assert counted([*frames, later]).figures().shown is later


def test_condition_numbers(received_frames):
    state = received_frames[0][1].channel
    matrices = np.zeros((3, 2, 2), np.complex64)
    matrices[0], matrices[1], matrices[2] = np.eye(2), np.diag([10, 1]), [[1, 1], [1, 1]]
    found = condition_db(replace(state, matrices=matrices, noise=np.ones(2)))
    assert found[:2] == pytest.approx([0, 20], abs=1e-4) and found[2] > 100
    # An antenna with ten times the noise counts less.
    found = condition_db(replace(state, matrices=matrices, noise=np.array([1.0, 10.0])))
    assert found[:2] == pytest.approx([10, 30], abs=1e-4)


def test_a_channel_that_is_no_number_does_no_harm(received_frames):
    frame = received_frames[0][1]
    matrices = frame.channel.matrices.copy()
    matrices[0], matrices[1], matrices[2] = np.nan, np.inf, 0
    bad = replace(frame, channel=replace(frame.channel, matrices=matrices))
    figures = counted([bad]).figures(losses=True)
    assert figures.condition_db[:3] == pytest.approx(300) and figures.condition_db[3:].max() < 50
    assert figures.losses.mmse_db >= 0


def test_statuses_add_up():
    statistics = Statistics(2, RATE)
    for dropped in (5, 7):
        statistics.status({"samples": 100, "gaps": 1, "lost": 10, "dropped": dropped,
                           "failures": 0, "load": 0.5})
    # The rest of a second at the end of a stream says little about the load.
    statistics.status({"samples": 1, "seconds": 0.01, "gaps": 1, "lost": 1, "dropped": 1,
                       "failures": 0, "load": 0.0})
    figures = statistics.figures()
    assert (figures.gaps, figures.lost, figures.dropped, figures.failures) == (3, 21, 13, 0)
    assert figures.status["load"] == 0.5
