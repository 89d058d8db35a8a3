# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of frames with A-MPDUs, through the whole receiver.

The first byte of an input chooses the frames, the others change their samples (see ``air``).
"""

import json
import math
import zlib

import numpy as np
from gnuradio.mimopack import wifi

from . import air, ampdu, mutations

MAX_LEN = 129
mutate = mutations.of_bytes
_GAP = 160


def _frames():
    """Return streams of samples (antennas, n), each with one or two short frames."""
    mpdus = [bytes([0x88, 0, 0, 0]) + bytes(range(size)) for size in (26, 40)]
    mpdus = [mpdu + wifi.mac.fcs(mpdu) for mpdu in mpdus]
    made = []
    for num_tx, make, count in (
            (1, lambda n: wifi.NonHT(54, n), 1),
            (1, lambda n: wifi.HT(7, n, aggregated=True), 2),
            (2, lambda n: wifi.HT(12, n, aggregated=True, coding="ldpc"), 2),
            (2, lambda n: wifi.HT(4, n, stbc=1, aggregated=True, short_gi=True), 2),
            (1, lambda n: wifi.HT(3, n, greenfield=True, aggregated=True), 2),
            (2, lambda n: wifi.VHT.of_length(5, n, num_streams=2), 2),
            (1, lambda n: wifi.VHT.of_length(8, n, coding="ldpc", short_gi=True), 2)):
        transmitter = wifi.Transmitter(num_tx)
        form, psdu = wifi.pack(make, mpdus[:count])
        one = transmitter.frame(form, psdu)
        made.append(np.pad(one, ((0, 0), (_GAP, _GAP))).astype(np.complex64) * np.float32(0.1))
    made.append(np.concatenate(made[:2], axis=1))
    rng = np.random.default_rng(1)
    return [samples + 1e-3 * rng.standard_normal((*samples.shape, 2), np.float32).view(
        np.complex64)[..., 0] for samples in made]


_STREAMS = _frames()
_RECEIVERS = {num_rx: wifi.Receiver(num_rx, detector="mmse", backend="cpu") for num_rx in (1, 2)}


def check(data):
    """No frame fails with an exception, and reports are the same however samples are cut."""
    if not data:
        return
    samples, cuts = air.changed(_STREAMS[data[0] % len(_STREAMS)], data[1:])
    receiver = _RECEIVERS[len(samples)]
    whole = _received(receiver, [samples])
    if cuts or not zlib.crc32(data) % 16:
        assert _received(receiver, np.split(samples, cuts, axis=1)) == whole


def _received(receiver, pieces):
    """Receive a stream in pieces and check each frame; return the reports."""
    receiver.restart()
    receiver.counts.clear()
    with np.errstate(all="ignore"):
        frames = [frame for piece in pieces for frame in receiver.process(piece)]
        frames += receiver.finish()
    assert not receiver.counts["failures"], receiver.counts
    reports = []
    for frame in frames:
        report = frame.as_json()
        text = json.dumps(report, allow_nan=False)
        assert frame.problem or frame.format is not None, text
        assert frame.num_samples > 0 and math.isfinite(frame.cfo_hz), text
        for mpdu in frame.mpdus:
            ampdu._check_header(mpdu.data)
            assert frame.psdu[mpdu.offset:mpdu.offset + len(mpdu.data)] == mpdu.data
        reports.append(report)
    return reports


def seeds():
    """Return each stream unchanged, and changed in several ways."""
    rng = np.random.default_rng(1)
    found = [bytes([index]) for index in range(len(_STREAMS))]
    for kind in range(12):
        change = bytes([kind]) + rng.bytes(2) + bytes([20]) + np.float32(0.5).tobytes()
        found.append(bytes([kind % len(_STREAMS)]) + change)
    for value in (np.nan, np.inf, 1e38, 1e-38):
        found.append(bytes([1, 0]) + b"\x00\x50\x10" + np.float32(value).tobytes())
    return found
