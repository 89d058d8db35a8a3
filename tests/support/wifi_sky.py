# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording that the driver of soapy/ plays as a radio, and ``mimopack wifi`` over it."""

import json
import subprocess
from types import SimpleNamespace

import numpy as np
from commands import invoke, start
from gnuradio.mimopack import recording
from wifi_air import FRAMES, record

RATE, FREQUENCY = 20e6, 5.18e9
# Samples between frames: more than any fault below takes.
GAP = 1500
LOST = 700


def make_sky(folder):
    """A recording of 15 frames, what was sent, and how many samples it has."""
    path, sent = record(folder / "air", FRAMES * 3, gap=GAP, cfo_hz=20e3,
                        options={"frequency": FREQUENCY, "datatype": "ci16_le"})
    return SimpleNamespace(path=path, sent=sent, samples=recording.Reader(path).num_samples)


def on_air(sky, *arguments, faults=""):
    """The result of ``mimopack wifi`` over a radio that plays the recording, with faults."""
    return invoke("wifi", "--radio", f"driver=mimopack,recording={sky.path}{faults}",
                  "--frequency", FREQUENCY, "--antennas", 2, *arguments)


def spawn(*arguments, **options):
    """The command in a process of its own."""
    return start("wifi", *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def frames_of(path):
    """The frames in a file that ``--json`` wrote."""
    return json.loads(path.read_text())


def length_of(sky, sent):
    """Samples that a frame takes."""
    index = sky.sent.index(sent)
    end = (sky.sent[index + 1].start if index + 1 < len(sky.sent) else sky.samples) - GAP
    return end - sent.start


def middle_of(sky, number):
    """A sample in the middle of a frame."""
    sent = sky.sent[number]
    return sent.start + length_of(sky, sent) // 2


def pcap_times(path):
    """Seconds since 1970 of each record of a capture file with nanoseconds."""
    data, at, times = path.read_bytes(), 24, []
    while at < len(data):
        seconds, nanoseconds, size, _ = np.frombuffer(data, "<u4", 4, at)
        times.append(int(seconds) + int(nanoseconds) / 1e9)
        at += 16 + int(size)
    return times
