# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus metrics."""

import urllib.request

import pytest
from click.testing import CliRunner
from commands import invoke
from gnuradio.mimopack.apps.cli import main
from missing_packages import hide
from wifi_air import FRAMES, record
from wifi_statistics import counted


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return record(tmp_path_factory.mktemp("simulated") / "r", FRAMES * 3)


def test_metrics_need_a_package_and_a_free_port(simulated, tmp_path, monkeypatch):
    pytest.importorskip("prometheus_client")
    with __import__("socket").create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["wifi", str(simulated[0]), "--metrics", str(port),
                                           "--json", str(tmp_path / "f.json")])
    assert result.exit_code == 2 and not any(tmp_path.iterdir())
    assert f"--metrics: 127.0.0.1, port {port}: Address already in use" in result.output
    hide(monkeypatch, "prometheus_client")
    result = invoke("wifi", simulated[0], "--metrics", 0)
    assert result.exit_code == 2
    assert "--metrics needs prometheus_client: install python3-prometheus-client" \
        in result.output


@pytest.mark.parametrize("address", ["x", "70000", ":9100", "a:b", "::1:9100", "-1"])
def test_wrong_addresses_are_refused(simulated, address):
    result = invoke("wifi", simulated[0], f"--metrics={address}")
    assert result.exit_code == 2 and f"got {address!r}, must be [HOST:]PORT" in result.output


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_prometheus_reads_the_figures(received_frames, host):
    """The parser of Prometheus' own Python package reads the metrics."""
    pytest.importorskip("prometheus_client")
    from gnuradio.mimopack.apps.wifi.metrics import bind, serving
    from prometheus_client.parser import text_string_to_metric_families

    frames, sent = received_frames
    statistics = counted(frames)
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
