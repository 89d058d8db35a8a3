# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SoapySDR driver of soapy/: recordings played as a radio would, with faults on request."""

import os
import time

import numpy as np
import pmt
import pytest
from flowgraphs import PACKAGES, ROOT
from gnuradio import blocks, gr
from gnuradio.mimopack import recording

_FOLDERS = [PACKAGES.parent / "soapy/modules", ROOT / "build/soapy/modules"]
MODULES = os.environ.get("MIMOPACK_SOAPY_MODULES") or next(
    (str(folder) for folder in _FOLDERS if list(folder.glob("*.so"))), None)
if MODULES is None:
    pytest.skip("the SoapySDR driver was not built: it needs libsoapysdr-dev and "
                "nlohmann-json3-dev when CMake runs", allow_module_level=True)
# SoapySDR reads it when a device is first made.
os.environ["SOAPY_SDR_PLUGIN_PATH"] = MODULES
soapy = pytest.importorskip("gnuradio.soapy")

RATE = 1e6
LENGTH = 60000
NS = 1e9 / RATE


def ramp(channels, length=LENGTH):
    """Samples that tell their number (real part) and channel (imaginary part)."""
    return np.arange(length) + 1j * np.arange(channels)[:, None]


@pytest.fixture
def air(tmp_path):
    """A recording of four ramps."""
    return recording.write(tmp_path / "air", ramp(4), RATE, frequency=5.18e9)


def run(flowgraph, done, seconds=10):
    """Run until done() or so long; no flowgraph may hang a test."""
    end = time.monotonic() + seconds
    flowgraph.start()
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    flowgraph.stop()
    flowgraph.wait()


def receive(arguments, count, channels=1, kind="fc32", seconds=10):
    """Samples (channels, n) of gr-soapy's source and the tags of its first channel."""
    flowgraph = gr.top_block()
    source = soapy.source("driver=mimopack", kind, channels, arguments, "", [""], [""])
    size = gr.sizeof_gr_complex if kind == "fc32" else 2 * gr.sizeof_short
    sinks = []
    for channel in range(channels):
        head = blocks.head(size, count)
        if kind == "fc32":
            sinks.append(blocks.vector_sink_c())
            flowgraph.connect((source, channel), head, sinks[-1])
        else:
            sinks.append(blocks.vector_sink_s(2))
            flowgraph.connect((source, channel), head,
                              blocks.copy(size), sinks[-1])
    width = 1 if kind == "fc32" else 2
    run(flowgraph, lambda: all(len(sink.data()) >= width * count for sink in sinks), seconds)
    tags = [(tag.offset, pmt.symbol_to_string(tag.key), pmt.to_python(tag.value))
            for tag in sinks[0].tags()]
    return np.array([sink.data() for sink in sinks]), tags


def times(tags):
    """(offset, seconds) of the rx_time tags."""
    return [(offset, value[0] + value[1]) for offset, key, value in tags if key == "rx_time"]


def numbers(samples):
    return samples.real.astype(int)


@pytest.mark.parametrize("speed", [0, 1])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_gr_soapy_receives_a_recording(air, channels, speed):
    samples, tags = receive(f"recording={air},speed={speed},buffer_s=5", LENGTH, channels)
    assert np.array_equal(samples, ramp(channels).astype(np.complex64))
    assert [key for _, key, _ in tags] == ["rx_time", "rx_rate", "rx_freq"]
    assert {key: value for _, key, value in tags}["rx_rate"] == RATE
    assert {key: value for _, key, value in tags}["rx_freq"] == 5.18e9


def test_an_overflow_loses_samples_and_is_reported(air):
    samples, tags = receive(f"recording={air},speed=0,overflow_at=5000:0.02s,"
                            "overflow_samples=700", 40000)
    kept = np.r_[0:5000, 5700:20000, 20700:41400]
    assert np.array_equal(numbers(samples[0]), kept)
    (first, start), *later = times(tags)
    assert first == 0
    assert [offset for offset, _ in later] == [5000, 19300]
    assert [round((at - start) * RATE) for _, at in later] == [5700, 20700]
