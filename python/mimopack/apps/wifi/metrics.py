# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi --metrics``: serve the statistics to Prometheus over HTTP."""

import math
import socket
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prometheus_client import CollectorRegistry, MetricsHandler
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

_PREFIX = "mimopack_wifi_"
_KIND = ("format", "mcs", "streams")
# Counters with one value per kind of frames: name, help text, value of a ``statistics.Row``.
_OF_FRAMES = (
    ("frames", "Frames announced by their signal fields.", lambda row: row.frames),
    ("frames_lost", "Frames with data, but without an MPDU with a correct frame check sequence.",
     lambda row: row.lost),
    ("received_bytes", "Bytes of MPDUs with a correct frame check sequence.",
     lambda row: row.bytes_ok),
    ("airtime_seconds", "Time that frames occupied the air.", lambda row: row.seconds))
_COUNTERS = (
    ("searched_seconds", "Duration of the samples searched.",
     lambda figures: figures.seconds),
    ("gaps", "Gaps in the radio's samples.", lambda figures: figures.gaps),
    ("lost_samples", "Samples per antenna that the radio lost.", lambda figures: figures.lost),
    ("dropped_samples", "Samples per antenna dropped because the receiver was too slow.",
     lambda figures: figures.dropped),
    ("failures", "Exceptions in the receiver.", lambda figures: figures.failures))
_GAUGES = (
    ("airtime_ratio", "Share of the last seconds that frames occupied.",
     lambda figures: figures.airtime),
    ("load_ratio", "Share of the time in which the receiver worked.",
     lambda figures: figures.status.get("load", math.nan)),
    ("waiting_seconds", "Duration of the samples in the receiver's queue.",
     lambda figures: figures.status.get("waiting", math.nan)),
    ("condition_db", "Condition number of the last frame's channel matrices, mean over "
     "subcarriers.", lambda figures: _mean(figures.condition_db)))
_OF_ANTENNAS = (
    ("snr_db", "Signal-to-noise ratio per subcarrier, mean of the frames of the last seconds.",
     lambda figures: figures.snr_db),
    ("level_dbfs", "Power of the preambles relative to full scale.",
     lambda figures: figures.level_dbfs),
    ("noise_dbfs", "Noise power relative to full scale.", lambda figures: figures.noise_dbfs))


class Collector:
    """Metrics of ``wifi.statistics.Statistics``, computed on request.

    Args:
        statistics: as above.
        samples: function that returns the number of samples searched.
    """

    def __init__(self, statistics, samples):
        self._statistics, self._samples = statistics, samples

    def collect(self):
        """Yield the metrics."""
        self._statistics.advance(self._samples())
        figures = self._statistics.figures(losses=True)
        for name, text, value in _OF_FRAMES:
            family = CounterMetricFamily(_PREFIX + name, text, labels=_KIND)
            for kind, row in figures.totals.items():
                family.add_metric(_labels(kind), value(row))
            yield family
        mpdus = CounterMetricFamily(_PREFIX + "mpdus", "MPDUs by frame check sequence.",
                                    labels=(*_KIND, "fcs"))
        for kind, row in figures.totals.items():
            mpdus.add_metric((*_labels(kind), "ok"), row.mpdus_ok)
            mpdus.add_metric((*_labels(kind), "wrong"), row.mpdus - row.mpdus_ok)
        yield mpdus
        for name, text, value in _COUNTERS:
            yield CounterMetricFamily(_PREFIX + name, text, value=value(figures))
        for name, text, value in _GAUGES:
            yield GaugeMetricFamily(_PREFIX + name, text, value=value(figures))
        for name, text, values in _OF_ANTENNAS:
            family = GaugeMetricFamily(_PREFIX + name, text, labels=("antenna",))
            for antenna, value in enumerate(values(figures)):
                family.add_metric((str(antenna),), value)
            yield family
        losses = figures.losses
        family = GaugeMetricFamily(
            _PREFIX + "linear_loss_db", "Additional SNR that a linear detector needs on the last "
            "frame's channel, compared to the detector in use.", labels=("detector",))
        if losses is not None:
            family.add_metric(("mmse",), losses.mmse_db)
            family.add_metric(("zf",), losses.zf_db)
        yield family
        yield GaugeMetricFamily(_PREFIX + "margin_db", "Margin of the SNR on the last frame's "
                                "channel over what the detector in use needs.",
                                value=math.nan if losses is None else losses.margin_db)


def _labels(kind):
    name, mcs, streams = kind
    return name, "" if mcs is None else f"{mcs:g}", str(streams)


def _mean(values):
    return float(values.mean()) if values.size else math.nan


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6


def bind(host, port):
    """Listen at an address, for :func:`serving`.

    Args:
        host: address to listen at.
        port: port to listen at; 0 selects a free one.

    Raises:
        OSError: the address cannot be used.
    """
    return (_Server6 if ":" in host else _Server)((host, port), BaseHTTPRequestHandler)


@contextmanager
def serving(server, statistics, samples):
    """Answer HTTP requests while the body of the ``with`` statement runs.

    Args:
        server: server from :func:`bind`; it is closed at the end.
        statistics, samples: as for :class:`Collector`.

    Yields:
        The URL.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(statistics, samples))
    server.RequestHandlerClass = MetricsHandler.factory(registry)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        host, port, *_ = server.server_address
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
