# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""radio_source with gr-soapy and the driver of soapy/, and with a stand-in for a USRP.

The block never ends by itself, unlike those in support/every_block.py.
"""

import itertools
import time
import weakref

import numpy as np
import pmt
import pytest
import soapy_driver as driver
from every_block import Talker
from flowgraphs import until
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from usrp import Usrp
from wifi_sky import FREQUENCY, LOST, RATE

TUNABLE = "driver=mimopack,loopback=rayleigh,channels=4"
# Devices with other serial numbers are others.
SERIALS = itertools.count()


@pytest.fixture
def air(tmp_path):
    """Recording of four ramps."""
    path = recording.write(tmp_path / "air", driver.ramp(4) / 2**16, 20e6, frequency=5.18e9)
    return f"driver=mimopack,recording={path}"


def make(device=TUNABLE, frequency=5.18e9, num_rx=4, **settings):
    if device == TUNABLE:
        device += f",serial={next(SERIALS)}"
    return mimopack.radio_source(device, frequency, num_rx, **settings)


def receive(source, count, ports=4):
    """Return samples (ports, count) and the tags of each port as {key: [(offset, value)]}."""
    top, sinks = gr.top_block(), [blocks.vector_sink_c() for _ in range(ports)]
    for port, sink in enumerate(sinks):
        top.connect((source, port), blocks.head(gr.sizeof_gr_complex, count), sink)
    driver.run(top, lambda: all(len(sink.data()) >= count for sink in sinks))
    tags = [{} for _ in sinks]
    for found, sink in zip(tags, sinks, strict=True):
        for tag in sink.tags():
            found.setdefault(pmt.symbol_to_string(tag.key), []).append(
                (tag.offset, pmt.to_python(tag.value)))
    return np.array([sink.data()[:count] for sink in sinks]), tags


def running(source, ports=4):
    """Return a flowgraph that discards the samples."""
    top = gr.top_block()
    for port in range(ports):
        top.connect((source, port), blocks.null_sink(gr.sizeof_gr_complex))
    return top


def talk(source, messages, count):
    """Send messages to a running block until it has taken or refused ``count`` of them."""
    top, talker, taken = running(source), Talker(messages, True), []
    on_control = source._taker._function
    source._taker._function = lambda message: (on_control(message), taken.append(message))
    top.msg_connect(talker, "out", source, "control")
    driver.run(top, lambda: len(taken) == count)
    assert len(taken) == count


def test_four_antennas_are_aligned_and_tags_pass(air):
    source = make(air)
    made = time.time()
    time.sleep(0.3)
    samples, tags = receive(source, 20000)
    np.testing.assert_array_equal(samples, (driver.ramp(4)[:, :20000] / 2**16).astype(np.complex64))
    for found in tags:
        assert found["rx_rate"] == [(0, 20e6)] and found["rx_freq"] == [(0, 5.18e9)]
        (offset, (seconds, fraction)), = found["rx_time"]
        # The clock was set before the start.
        assert offset == 0 and made + 0.25 < seconds + fraction < time.time()


def test_settings_reach_the_device():
    source = make(gain=[10, 20, 30, 40], bandwidth=18e6, antenna_names="RX",
                  clock_source="external", time_source="internal", correction=False).source
    assert [source.get_gain(channel) for channel in range(4)] == [10, 20, 30, 40]
    assert source.get_clock_source() == "external" and source.get_time_source() == "internal"
    for channel in range(4):
        assert source.get_frequency(channel) == 5.18e9
        assert source.get_sample_rate(channel) == 20e6
        assert source.get_bandwidth(channel) == 18e6
        assert source.get_antenna(channel) == "RX"
        assert not source.get_dc_offset_mode(channel)
        assert not source.get_iq_balance_mode(channel)


@pytest.mark.parametrize("settings, said", [
    ({"device": ""}, "device: got '', must be driver=NAME"),
    ({"device": "driver=none_such"}, "device: no device for 'driver=none_such'"),
    ({"frequency": 0}, "frequency: got 0.0, must be positive and finite"),
    ({"num_rx": 5}, "num_rx: got 5, the device has 4"),
    ({"sample_rate": 0}, "sample_rate: got 0.0, must be positive and finite"),
    ({"gain": 100}, "gain: got 100 dB, the device has 0 to 80 dB"),
    ({"gain": [10, 20]}, "gain: got 2 values, must be 1 or one for each of 4 antennas"),
    ({"gain": "auto"}, "gain: Channel 0 does not support AGC"),
    ({"bandwidth": 2e9}, "bandwidth: got 2000000000, allowed is 0 to 1e9 Hz"),
    ({"antenna_names": "RX2"}, "antenna_names: Antenna RX2 at channel 0 is not supported"),
    ({"clock_source": "gps"}, "clock_source: Invalid clock source (gps)"),
    ({"correction": 1}, "correction: got 1, must be True or False")])
def test_a_wrong_argument_is_refused_by_its_name(settings, said):
    with pytest.raises(ValueError) as caught:
        make(**settings)
    assert str(caught.value).startswith(said)


def test_frequency_and_gain_change_while_the_block_runs():
    source = make(gain=10)
    top = running(source)
    top.start()
    try:
        source.set_frequency(2.412e9)
        source.set_gain([1, 2, 3, 4])
        until(lambda: source.source.nitems_written(0) > 0)
    finally:
        top.stop()
        top.wait()
    assert source.frequency() == 2.412e9 and source.gain() == (1, 2, 3, 4)
    assert [source.source.get_frequency(channel) for channel in range(4)] == [2.412e9] * 4
    assert [source.source.get_gain(channel) for channel in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("name, value, said", [
    ("frequency", 1e14, "frequency: got 1e+14, allowed is 0 to "),
    ("gain", [5, 6, 7, 100], "gain: got 100 dB, the device has 0 to 80 dB"),
    ("gain", "auto", "gain: Channel 0 does not support AGC")])
def test_a_refused_setting_changes_nothing(name, value, said):
    source = make(gain=[1, 2, 3, 4])
    with pytest.raises(ValueError) as caught:
        getattr(source, f"set_{name}")(value)
    assert str(caught.value).startswith(said)
    assert source.frequency() == 5.18e9 and source.gain() == (1, 2, 3, 4)
    assert [source.source.get_frequency(channel) for channel in range(4)] == [5.18e9] * 4
    assert [source.source.get_gain(channel) for channel in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("message, gain, frequency", [
    ({"gain": 10, "frequency": 1e14}, 10, 5.18e9), ({"gain": 100, "frequency": 2e9}, 0, 2e9)])
def test_a_refused_value_leaves_the_setting_of_the_device(message, gain, frequency):
    source = make()
    talk(source, [pmt.to_pmt(message)], 1)
    assert source.refused_settings() == 1
    assert [source.source.get_gain(channel) for channel in range(4)] == [gain] * 4
    assert [source.source.get_frequency(channel) for channel in range(4)] == [frequency] * 4


def test_messages_change_frequency_and_gain():
    source = make(gain=10)
    talk(source, [pmt.to_pmt({"frequency": 2.412e9, "gain": 20}),
                  pmt.cons(pmt.intern("gain"), pmt.from_double(33.5))], 2)
    assert source.frequency() == 2.412e9 and source.gain() == (33.5,)
    assert source.source.get_frequency(3) == 2.412e9 and source.source.get_gain(3) == 33.5
    # A display of GNU Radio names the frequency freq.
    talk(source, [pmt.cons(pmt.intern("freq"), pmt.from_double(2.437e9))], 1)
    assert source.frequency() == 2.437e9
    assert source.refused_settings() == 0


def test_the_block_goes_on_in_another_flowgraph(air):
    source = make(f"{air},repeat=1")
    for _ in range(2):
        samples, tags = receive(source, 2000)
        assert samples.shape == (4, 2000) and all("rx_time" in found for found in tags)
        np.testing.assert_array_equal(samples.imag, np.arange(4)[:, None]
                                      * np.full(2000, 2.0**-16))


def test_a_discarded_block_gives_the_device_back(air):
    """Equal arguments give the same device as long as it is open."""
    def gain_of_the_device():
        return driver.soapy.source(air, "fc32", 1, "", "", [""], [""]).get_gain(0)

    source = make(air, gain=30)
    assert gain_of_the_device() == 30
    receive(source, 1000)
    gone = weakref.ref(source)
    del source
    assert gone() is None
    assert gain_of_the_device() == 0
    assert make(air).source.get_gain(0) == 0


def test_a_usrp(usrp):
    before = time.time()
    source = make("driver=uhd,serial=F5", FREQUENCY, 2, gain=[30, 40], antenna_names="RX2",
                  clock_source="external")
    inner = source.source
    assert inner is Usrp.made and inner.address == "serial=F5"
    assert before < inner.clock < time.time()
    assert ("set_clock_source", "external", 0) in inner.calls
    # gr-uhd itself starts all channels together, as soon as the flowgraph starts.
    assert inner.begins is None
    for channel in range(2):
        for call in (("set_antenna", "RX2", channel), ("set_center_freq", FREQUENCY, channel),
                     ("set_gain", (30.0, 40.0)[channel], channel),
                     ("set_auto_dc_offset", True, channel), ("set_auto_iq_balance", True, channel)):
            assert call in inner.calls
    samples, tags = receive(source, inner.gap + 100, 2)
    np.testing.assert_array_equal(samples, inner.samples[:, :inner.gap + 100])
    for found in tags:
        (first, begun), (offset, again) = found["rx_time"]
        assert (first, offset) == (0, inner.gap)
        gap = (again[0] - begun[0]) + (again[1] - begun[1]) - offset / RATE
        assert gap * RATE == pytest.approx(LOST, abs=1)


def test_the_gain_of_a_usrp_changes(usrp):
    source = make("driver=uhd", FREQUENCY, 2, gain="auto")
    calls = source.source.calls
    assert ("set_rx_agc", True, 1) in calls
    del calls[:]
    source.set_gain(20)
    assert [call for call in calls if call[0].startswith("set_")] == [
        ("set_rx_agc", False, 0), ("set_gain", 20.0, 0),
        ("set_rx_agc", False, 1), ("set_gain", 20.0, 1)]
    with pytest.raises(ValueError, match="frequency: got 5200 MHz, the device is at 5180 MHz"):
        source.set_frequency(5.2e9)
    assert source.frequency() == FREQUENCY
    assert [call for call in calls if call[0] == "set_center_freq"] == [
        ("set_center_freq", frequency, channel) for frequency in (5.2e9, FREQUENCY)
        for channel in range(2)]
