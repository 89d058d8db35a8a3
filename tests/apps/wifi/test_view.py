# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person at the radio sees: figures, the terminal view, and Prometheus metrics."""

import builtins
import re
import sys
import threading
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import wifi
from gnuradio.mimopack.apps.cli import main
from gnuradio.mimopack.wifi.airtime import Airtime
from gnuradio.mimopack.wifi.linear_loss import LinearLoss
from gnuradio.mimopack.wifi.statistics import Statistics, condition_db, total_of
from terminal import in_terminal
from wifi_air import FRAMES, MPDUS, air, record

RATE = 20e6


@pytest.fixture(scope="module")
def received():
    """(frames with points of two antennas, what was sent)."""
    samples, sent = air(FRAMES * 3, num_rx=2)
    receiver = wifi.Receiver(2, keep_symbols=True)
    return receiver.process(samples) + receiver.finish(), sent


def _counted(frames, **options):
    statistics = Statistics(2, RATE, **options)
    for frame in frames:
        statistics.add(frame)
    return statistics


def test_counts_are_those_of_what_was_sent(received):
    frames, sent = received
    figures = _counted(frames).figures()
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


def test_rates_are_of_the_last_window_of_the_samples_time(received):
    frames = received[0]
    statistics = _counted(frames, window=0.1)
    figures = statistics.figures()
    assert figures.seconds == figures.window == pytest.approx(
        (frames[-1].start + frames[-1].num_samples) / RATE)
    assert figures.per_second(figures.recent_total.frames) == len(frames) / figures.seconds
    assert figures.airtime == pytest.approx(
        sum(frame.num_samples for frame in frames) / RATE / figures.seconds)
    # Frames in samples that were dropped are not seen.
    statistics.status({"samples": 1000, "dropped": 100})
    assert statistics.figures().airtime == pytest.approx(1.1 * figures.airtime)
    statistics.advance(frames[-1].start + 0.1 * RATE)    # only the last frame ends within it
    figures = statistics.figures()
    assert figures.window == 0.1 and figures.recent_total.frames == 1
    statistics.advance(10 * RATE)
    figures = statistics.figures()
    assert not figures.recent and figures.airtime == 0 and np.isnan(figures.snr_db).all()
    assert figures.total.frames == len(frames)


def test_lost_frames_and_wrong_check_sequences_are_told(received):
    frame = received[0][0]
    wrong = replace(frame, mpdus=tuple(one._replace(fcs_ok=False) for one in frame.mpdus))
    unknown = replace(frame, format=None, mpdus=(), problem="unknown")
    row = _counted([frame, wrong]).figures().total
    assert (row.frames, row.lost, row.mpdus, row.mpdus_ok, row.fcs_share) == (2, 1, 2, 1, 0.5)
    figures = _counted([unknown]).figures()
    assert figures.totals[("unknown", None, 0)].lost == 1
    assert np.isnan(figures.total.fcs_share) and figures.shown is not None


def test_levels_are_means_of_each_antenna(received):
    frame = received[0][0]
    other = replace(frame, antenna_snr_db=(10.0, 20.0), level_dbfs=(-30.0, -31.0),
                    noise_dbfs=(-50.0, -52.0))
    figures = _counted([frame, other]).figures()
    assert figures.snr_db == pytest.approx((np.array(frame.antenna_snr_db) + [10, 20]) / 2)
    assert figures.level_dbfs == pytest.approx((np.array(frame.level_dbfs) + [-30, -31]) / 2)
    with pytest.raises(ValueError, match="got 3 antennas, must be 2"):
        Statistics(2, RATE).add(replace(frame, antenna_snr_db=(1.0,) * 3, level_dbfs=(1.0,) * 3,
                                        noise_dbfs=(1.0,) * 3))


def test_the_frame_that_asks_most_of_the_channel_is_shown(received):
    frames = received[0]
    figures = _counted(frames).figures()
    # VHT MCS 4 with two streams: 16-QAM.
    assert (figures.shown.format.name, figures.shown.format.num_streams) == ("vht", 2)
    assert figures.shown is [one for one in frames if one.format.name == "vht"][-1]
    assert figures.points.shape[0] == 2 and 300 < figures.points.shape[1] <= 1000
    matrices = figures.shown.channel.matrices
    assert figures.magnitude_db == pytest.approx(20 * np.log10(np.abs(matrices)), abs=1e-4)
    # One that asks less takes its place when it has left the window.
    later = replace(frames[0], start=frames[0].start + int(3 * RATE))
    assert _counted([*frames, later]).figures().shown is later


def test_condition_numbers(received):
    state = received[0][1].channel
    matrices = np.zeros((3, 2, 2), np.complex64)
    matrices[0], matrices[1], matrices[2] = np.eye(2), np.diag([10, 1]), [[1, 1], [1, 1]]
    found = condition_db(replace(state, matrices=matrices, noise=np.ones(2)))
    assert found[:2] == pytest.approx([0, 20], abs=1e-4) and found[2] > 100
    # An antenna with ten times the noise counts less.
    found = condition_db(replace(state, matrices=matrices, noise=np.array([1.0, 10.0])))
    assert found[:2] == pytest.approx([10, 30], abs=1e-4)


def test_a_channel_that_is_no_number_does_no_harm(received):
    frame = received[0][1]
    matrices = frame.channel.matrices.copy()
    matrices[0], matrices[1], matrices[2] = np.nan, np.inf, 0
    bad = replace(frame, channel=replace(frame.channel, matrices=matrices))
    figures = _counted([bad]).figures(losses=True)
    assert figures.condition_db[:3] == pytest.approx(300) and figures.condition_db[3:].max() < 50
    assert figures.losses.mmse_db >= 0


def test_statuses_add_up():
    statistics = Statistics(2, RATE)
    for dropped in (5, 7):
        statistics.status({"samples": 100, "gaps": 1, "lost": 10, "dropped": dropped,
                           "failures": 0, "load": 0.5})
    # What is left at the end of a stream says little of the load.
    statistics.status({"samples": 1, "seconds": 0.01, "gaps": 1, "lost": 1, "dropped": 1,
                       "failures": 0, "load": 0.0})
    figures = statistics.figures()
    assert (figures.gaps, figures.lost, figures.dropped, figures.failures) == (3, 21, 13, 0)
    assert figures.status["load"] == 0.5


def test_the_view_shows_the_mean_of_several_losses():
    pytest.importorskip("rich")
    from gnuradio.mimopack.apps.wifi.view import mean_loss

    one, two = LinearLoss(1, 2, 3, "nway"), LinearLoss(3, 6, -3, "mla")
    assert mean_loss([]) is None and mean_loss([one]) == one
    assert mean_loss([one, two]) == LinearLoss(2, 4, 0, "mla")
    assert mean_loss([one, replace(two, zf_db=np.inf)]).zf_db == np.inf


def test_airtime_has_each_frame_in_its_cells():
    picture = Airtime(1000, row_seconds=1.0, columns=10, rows=3)    # cells of 100 samples
    assert np.isnan(picture.picture()[:2]).all()
    picture.add(150, 200)
    shares = picture.picture()
    assert shares[2, :4] == pytest.approx([0, 0.5, 1, 0.5]) and np.isnan(shares[2, 4:]).all()
    picture.add(950, 100)    # over the end of a row
    shares = picture.picture()
    assert shares[1, 9] == 0.5 and shares[2, 0] == 0.5 and shares[1, 1] == 0.5
    picture.advance(3500)    # the first row has gone
    shares = picture.picture()
    assert picture.row == 3 and shares[0, 0] == 0.5 and not shares[1].any()
    picture.add(500, 100)    # too old
    assert np.nansum(picture.picture()) == 0.5
    picture.advance(100_000)
    assert not np.nansum(picture.picture())


@pytest.mark.parametrize(("rate", "formats"), [
    (40e6, [lambda n: wifi.NonHT(24, n, 40), lambda n: wifi.HT(9, n, 40),
            lambda n: wifi.HT(32, n, 40), lambda n: wifi.NonHT(24, n)]),
    (80e6, [lambda n: wifi.VHT.of_length(5, n, 2, 80), lambda n: wifi.NonHT(24, n, 80)]),
    (10e6, [lambda n: wifi.NonHT(24, n)])])
def test_frames_of_other_bandwidths(rate, formats):
    samples, sent = air([(one, MPDUS[:1]) for one in formats], num_rx=2, sample_rate=rate)
    receiver = wifi.Receiver(2, rate, keep_symbols=True)
    for frame in receiver.process(samples) + receiver.finish():
        assert frame.complete
        statistics = Statistics(2, rate)
        statistics.add(frame)
        figures = statistics.figures(losses=True)
        assert figures.losses.margin_db > 5 and figures.losses.mmse_db < 3
        assert len(figures.points) == frame.format.num_streams
        assert figures.airtime > 0.1 and figures.recent_total.seconds == frame.num_samples / rate
    if rate == 10e6:
        assert list(figures.totals) == [("non-ht", 12, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_airtime_adds_up(seed):
    rng = np.random.default_rng(seed)
    picture, at, total = Airtime(1e6, row_seconds=1e-2, columns=7, rows=100), 0, 0
    for length in rng.integers(1, 30_000, 20):
        at += int(rng.integers(0, 10_000))
        picture.add(at, length)
        at, total = at + length, total + length
    assert np.nansum(picture.picture()) * 1e4 / 7 == pytest.approx(total)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return record(tmp_path_factory.mktemp("simulated") / "r", FRAMES * 3)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (132, 43), (200, 60)])
def test_the_view_fits_the_terminal_and_shows_all(simulated, width, height):
    path, sent = simulated
    text, status = in_terminal(width, height, path, "--view")
    assert status == 0, text
    assert "\x1b[?1049h" in text and "\x1b[?1049l" in text    # takes the screen and gives it back
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.split("\x1b[?1049l")[1])
    lines = plain.replace("\r", "").split("\n")
    assert f"{len(sent)} frames" in lines[0] and lines[height - 1].strip() == ""
    assert all(len(line) == width for line in lines[:height])
    shown = "\n".join(lines[:height])
    for words in ("frames: ", "FCS ok 100 %", "HT MCS 9 ", "VHT MCS 4 x2", "non-HT 24 Mbit/s",
                  "constellation: VHT MCS 4", "antennas", "|H|", "condition", "airtime",
                  "dB left on the table", "MMSE", "ZF", "gaps 0"):
        assert words in shown, words
    assert sum("\u2801" <= character <= "\u28ff" for character in shown) > 40
    assert "\nall " in plain    # the table follows
    assert "sample " not in plain    # instead of lines


@pytest.mark.parametrize(("width", "height"), [(60, 15), (300, 100)])
def test_other_terminals_do_no_harm(simulated, width, height):
    text, status = in_terminal(width, height, simulated[0], "--view")
    assert status == 0 and "\nall " in text.replace("\r", ""), text


def test_a_view_needs_a_terminal_and_rich(simulated, monkeypatch):
    result = CliRunner().invoke(main, ["wifi", str(simulated[0]), "--view"])
    assert result.exit_code == 2 and "--view: standard output is no terminal" in result.output
    monkeypatch.setattr(sys.modules["gnuradio.mimopack.apps.wifi.watch"], "_is_terminal",
                        lambda: True)
    _hide(monkeypatch, "rich")
    result = CliRunner().invoke(main, ["wifi", str(simulated[0]), "--view"])
    assert result.exit_code == 2
    assert "--view needs rich: install the package python3-rich with apt" in result.output


def _hide(monkeypatch, package):
    """Let a package be missing."""
    for name in [*sys.modules]:
        if name.split(".")[0] == package or name.startswith("gnuradio.mimopack.apps.wifi.") and (
                name.split(".")[-1] in ("view", "plots", "metrics")):
            monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)


def test_metrics_need_a_package_and_a_free_port(simulated, tmp_path, monkeypatch):
    pytest.importorskip("prometheus_client")
    with __import__("socket").create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["wifi", str(simulated[0]), "--metrics", str(port),
                                           "--json", str(tmp_path / "f.json")])
    assert result.exit_code == 2 and not any(tmp_path.iterdir())
    assert f"--metrics: 127.0.0.1, port {port}: Address already in use" in result.output
    _hide(monkeypatch, "prometheus_client")
    result = CliRunner().invoke(main, ["wifi", str(simulated[0]), "--metrics", "0"])
    assert result.exit_code == 2
    assert "--metrics needs prometheus_client: install the package python3-prometheus-client" \
        in result.output


@pytest.mark.parametrize("address", ["x", "70000", ":9100", "a:b", "::1:9100", "-1"])
def test_wrong_addresses_are_refused(simulated, address):
    result = CliRunner().invoke(main, ["wifi", str(simulated[0]), f"--metrics={address}"])
    assert result.exit_code == 2 and f"got {address!r}, must be [HOST:]PORT" in result.output


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_prometheus_reads_the_figures(received, host):
    """By the parser of Prometheus' own Python package."""
    pytest.importorskip("prometheus_client")
    from gnuradio.mimopack.apps.wifi.metrics import bind, serving
    from prometheus_client.parser import text_string_to_metric_families

    frames, sent = received
    statistics = _counted(frames)
    statistics.status({"samples": 100, "gaps": 3, "lost": 700, "dropped": 11, "load": 0.25,
                       "waiting": 0.01})
    try:
        server = bind(host, 0)
    except OSError:
        pytest.skip("no IPv6 here")
    with serving(server, statistics, lambda: 10**7) as url, urllib.request.urlopen(
            url, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}
    values = {(one.name, *sorted(one.labels.items())): one.value
              for family in families.values() for one in family.samples}
    assert all(name.startswith("mimopack_wifi_") for name in families)
    assert all(family.documentation.endswith(".") and family.type in ("counter", "gauge")
               for family in families.values())
    for one in sent:
        labels = (("format", one.format.name), ("mcs", str(one.format.mcs)),
                  ("streams", str(one.format.num_streams)))
        same = [other for other in sent if other.format.key == one.format.key]
        assert values[("mimopack_wifi_frames_total", *labels)] == len(same)
        mpdus = sum(len(other.mpdus) for other in same)
        for fcs, count in (("ok", mpdus), ("wrong", 0)):
            assert values[("mimopack_wifi_mpdus_total",
                           *sorted([*labels, ("fcs", fcs)]))] == count
    figures = statistics.figures(losses=True)
    for name, value in (
            ("searched_seconds_total", 0.5), ("gaps_total", 3), ("lost_samples_total", 700),
            ("dropped_samples_total", 11), ("load_ratio", 0.25), ("waiting_seconds", 0.01),
            ("airtime_ratio", figures.airtime), ("margin_db", figures.losses.margin_db)):
        assert values[(f"mimopack_wifi_{name}",)] == value
    for antenna in range(2):
        assert values[("mimopack_wifi_snr_db", ("antenna", str(antenna)))] == (
            figures.snr_db[antenna])
    assert values[("mimopack_wifi_linear_loss_db", ("detector", "mmse"))] == figures.losses.mmse_db


def test_metrics_are_served_while_frames_come():
    """Frames and statuses come on other threads than the questions."""
    pytest.importorskip("prometheus_client")
    from gnuradio.mimopack.apps.wifi.metrics import bind, serving

    samples, _ = air(FRAMES, num_rx=2)
    receiver = wifi.Receiver(2)
    frames = receiver.process(samples) + receiver.finish()
    statistics, stop = Statistics(2, RATE, window=0.01), threading.Event()

    def feed():
        number = 0
        while not stop.is_set():
            for frame in frames:
                statistics.add(replace(frame, start=frame.start + number * samples.shape[1]))
            number += 1

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        with serving(bind("127.0.0.1", 0), statistics, lambda: 0) as url:
            counts = [_frames_total(url) for _ in range(20)]
    finally:
        stop.set()
        feeder.join()
    assert counts == sorted(counts) and counts[-1] > counts[0]


def _frames_total(url):
    from prometheus_client.parser import text_string_to_metric_families

    with urllib.request.urlopen(url, timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return sum(one.value for family in families if family.name == "mimopack_wifi_frames"
                   for one in family.samples)
