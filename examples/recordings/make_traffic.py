#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate the traffic of an access point and its stations on a Wi-Fi channel, and record it.

The access point sends a beacon every 102.4 ms. Stations send data frames at random times, each
station in its own format, and the access point acknowledges each frame. Each transmitter has its
own carrier offset, level and channel (TDL-A of 3GPP TR 38.901, correlated antennas). All channels
change after each beacon.
"""

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import channel, recording, wifi
from gnuradio.mimopack.wifi import mac
from gnuradio.mimopack.wifi.airtime import BEACON_INTERVAL

RATE, FREQUENCY = 20e6, 5.18e9
NOISE_VAR = 1e-6
SIFS = 320    # samples between a frame and its acknowledgement: 16 us
ACCESS_POINT = bytes.fromhex("020000000001")


@dataclass(frozen=True)
class Station:
    """A transmitter: format and length of its data frames, its level and its channel."""

    address: bytes
    format_of: object
    mpdus: int
    length: int
    snr_db: float
    cfo: float
    correlation: float

    @property
    def streams(self):
        """Number of transmit antennas."""
        return self.format_of(4).num_space_time_streams

    def link(self, num_rx, seed):
        """Return the channel to the receiver."""
        return channel.MIMOChannel(self.streams, num_rx, "tdl_a", 50e-9, RATE, cfo=self.cfo,
                                   rho_tx=self.correlation, rho_rx=self.correlation, seed=seed)


def stations(num_rx):
    """Return the transmitters, the access point first.

    With one receive antenna, all stations send one stream.
    """
    def address(number):
        return ACCESS_POINT[:5] + bytes([number])

    several = min(2, num_rx)
    return [
        Station(ACCESS_POINT, lambda n: wifi.NonHT(6, n), 1, 220, 30, 12e3, 0.0),
        Station(address(2), lambda n: wifi.HT(8 * several - 5, n, aggregated=True), 3, 700, 22,
                -31e3, 0.6),
        Station(address(3), lambda n: wifi.VHT.of_length(5, n, several), 2, 900, 30, 8e3, 0.3),
        Station(address(4), lambda n: wifi.HT(7, n), 1, 1200, 32, 55e3, 0.0),
        Station(address(5), lambda n: wifi.NonHT(24, n), 1, 300, 20, -70e3, 0.0)]


def data(source, number, length, rng, kind=0x08):
    """Return an MPDU with check sequence: a data frame (or a beacon) with random payload."""
    head = (bytes([kind, 0, 0, 0]) + (b"\xff" * 6 if kind == 0x80 else ACCESS_POINT) + source
            + ACCESS_POINT + (number % 4096 << 4).to_bytes(2, "little"))
    body = head + rng.bytes(length - len(head))
    return body + mac.fcs(body)


def acknowledgement(receiver):
    """Return the MPDU of an acknowledgement."""
    body = bytes([0xd4, 0, 0, 0]) + receiver
    return body + mac.fcs(body)


class Traffic:
    """Simulate the signal on the air, one beacon interval at a time."""

    def __init__(self, num_rx, airtime, seed):
        self._rng = np.random.default_rng(seed)
        self._num_rx, self._airtime = num_rx, airtime
        self._stations = stations(num_rx)
        self._links = [one.link(num_rx, seed + index)
                       for index, one in enumerate(self._stations)]
        self._transmitters = {n: wifi.Transmitter(n) for n in range(1, 5)}
        self._number = 0
        self.frames = 0

    def interval(self):
        """Return the samples (num_rx, n) of the next beacon interval."""
        rng, n = self._rng, round(BEACON_INTERVAL * RATE)
        noise = rng.standard_normal((self._num_rx, n, 2), np.float32).view(np.complex64)[..., 0]
        stream = noise * np.float32(np.sqrt(NOISE_VAR / 2))
        for link in self._links:
            link.renew()
        at = self._put(stream, 400, 0, [data(ACCESS_POINT, self._number, 220, rng, 0x80)])
        while True:
            which = int(rng.integers(1, len(self._stations)))
            one = self._stations[which]
            begun = at
            mpdus = [data(one.address, self._number + i, one.length, rng)
                     for i in range(one.mpdus)]
            at = self._put(stream, at, which, mpdus)
            if at is None:
                return stream
            at = self._put(stream, at + SIFS, 0, [acknowledgement(one.address)], 24)
            if at is None:
                return stream
            idle = (at - begun - SIFS) * (1 / self._airtime - 1) - SIFS
            at += 400 + int(rng.exponential(max(1.0, idle)))

    def _put(self, stream, at, which, mpdus, rate=None):
        """Add a frame; return the sample after it, or None if the frame does not fit."""
        one, link = self._stations[which], self._links[which]
        self._number += len(mpdus)
        found, sent = self._transmitters[one.streams].mpdu(
            (lambda n: wifi.NonHT(rate, n)) if rate else one.format_of, mpdus,
            self._number % 127 + 1)
        received = link.apply(sent) * np.sqrt(NOISE_VAR * 10 ** (one.snr_db / 10))
        end = at + received.shape[1]
        if end > stream.shape[1] - 400:
            return None
        stream[:, at:end] += received
        self.frames += 1
        return at + link.latency + found.num_samples


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--seconds", default=2.0, show_default=True, type=click.FloatRange(0, min_open=True))
@click.option("--airtime", default=0.2, show_default=True,
              help="Approximate share of time with frames.", type=click.FloatRange(0.01, 0.95))
@click.option("--num-rx", default=2, show_default=True, help="Receive antennas.",
              type=click.IntRange(1, 8))
@click.option("--seed", default=2026, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace a recording of this name.")
def main(output, seconds, airtime, num_rx, seed, overwrite):
    """Simulate traffic and write it to OUTPUT as SigMF."""
    description = (f"SIMULATED, not received over the air. An access point and four stations, "
                   f"{num_rx} receive antennas, TDL-A channels (50 ns), seed {seed}.")
    traffic = Traffic(num_rx, airtime, seed)
    try:
        writer = recording.Writer(output, num_rx, RATE, datatype="ci16_le", frequency=FREQUENCY,
                                  description=description, overwrite=overwrite,
                                  fields={"mimopack:simulated": True})
    except FileExistsError as error:
        raise click.ClickException(f"{error} (--overwrite, or another OUTPUT)") from error
    intervals = max(1, round(seconds / BEACON_INTERVAL))
    with writer:
        for _ in range(intervals):
            writer.write(traffic.interval())
    click.echo(f"{writer.path}: {traffic.frames} frames in {intervals * BEACON_INTERVAL:g} s, "
               f"{writer.clipped} values clipped")


if __name__ == "__main__":
    main()
