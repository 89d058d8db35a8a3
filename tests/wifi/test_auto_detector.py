# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The choice of a detector by load, with simulated traffic, and the properties of the choices."""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.wifi import HT, VHT
from gnuradio.mimopack.wifi.auto_detector import LADDER, AutoDetector, ladder, strongest
from wifi_air import air, data_mpdu, frames_in

RATE = 20e6
BUFFER = 0.25
# Seconds of detection per second of demodulation, in the simulated traffic.
COSTS = {"mla": 40.0, "nway": 4.0, "mmse": 0.5}


class Machine:
    """A simulated receiver with a given demand per second of samples, and its buffer."""

    def __init__(self, auto, costs=None):
        self.auto, self.costs = auto, costs or COSTS
        self.waiting, self.switches, self.dropped, self.used = 0.0, [], [], []

    def demand(self, other, demodulation):
        return other + demodulation * (1 + self.costs[self.auto.detector])

    def second(self, other, demodulation):
        """Process a second of samples with a given demand in seconds, without detection.

        Excess work waits. Beyond the buffer it is dropped, as in ``SampleQueue``.
        """
        demand = self.demand(other, demodulation)
        arrived = self.waiting + 1.0
        searched = min(arrived, 1.0 / demand)
        self.waiting = min(arrived - searched, BUFFER)
        dropped = arrived - searched - self.waiting
        self.dropped.append(dropped)
        self.used.append(self.auto.detector)
        told = {"seconds": 1.0, "load": searched * demand, "samples": round(searched * RATE),
                "dropped": round(dropped * RATE), "waiting": self.waiting,
                "stages": {"synchronisation": searched * other / 2,
                           "demodulation": searched * demodulation,
                           "detection": searched * demodulation * self.costs[self.auto.detector],
                           "decoding": searched * other / 2}}
        switch = self.auto.tell(told, RATE)
        if switch:
            assert self.auto.detector == switch.after != switch.before
            self.switches.append(switch)

    def run(self, seconds, other, demodulation):
        for _ in range(seconds):
            self.second(other, demodulation)
        return self

    @property
    def names(self):
        return [switch.after for switch in self.switches]


@pytest.fixture
def machine():
    return Machine(AutoDetector(BUFFER))


def test_the_strongest_is_climbed_to_where_there_is_time(machine):
    machine.run(8, 0.1, 0.005)
    assert machine.names == []    # not before some calm time
    machine.run(600, 0.1, 0.005)
    assert machine.names == ["mla"] and not any(machine.dropped)
    assert str(machine.switches[0]).startswith("detector nway -> mla: at most ")


def test_a_load_that_is_too_much_takes_the_next_that_fits(machine):
    machine.run(60, 0.3, 0.2)    # 1.3 with N-way, 0.6 with MMSE
    assert machine.names == ["mmse"] and machine.switches[0].time <= 3
    assert not any(machine.dropped[4:])
    assert "130 % load, 62 % of it detection" in machine.switches[0].reason


def test_a_step_that_is_known_to_be_too_small_is_left_out():
    machine = Machine(AutoDetector(BUFFER, start="mla"))
    machine.run(3, 0.5, 0.3)    # far too much with N-way too, by its usual cost
    assert machine.names[0] == "mmse"


def test_nothing_fits_and_the_weakest_is_taken(machine):
    machine.run(600, 0.5, 0.6)    # 1.4 with MMSE
    assert machine.names == ["mmse"] and machine.dropped[-1] > 0


def test_where_detection_is_not_the_reason_it_stays(machine):
    machine.run(600, 1.5, 0.02)    # 1.6; 1.53 with MMSE
    assert machine.names == [] and all(machine.dropped[2:])


def test_what_was_too_much_is_not_tried_again_while_the_load_is_as_it_was(machine):
    rng = np.random.default_rng(1)
    for _ in range(3600):
        machine.second(0.3, 0.15 * rng.uniform(0.9, 1.1))    # 0.98 to 1.13 with N-way
    assert machine.names[0] == "mmse"
    # The measured cost is forgotten every ten minutes, but the usual cost does not fit either.
    assert len(machine.switches) == 1


@pytest.mark.parametrize("highest", np.arange(0.6, 1.2, 0.04).tolist())
def test_at_any_edge_there_is_no_flapping(highest):
    """The load varies by a tenth around each limit of the choice."""
    rng = np.random.default_rng(3)
    machine = Machine(AutoDetector(BUFFER, start="mmse"))
    demodulation = highest / 1.1 / 5 * 0.8
    other = highest / 1.1 - 5 * demodulation
    for _ in range(1800):
        share = rng.uniform(0.9, 1.1)
        machine.second(other * share, demodulation * share)
    assert len(machine.switches) <= 4, machine.switches
    assert sum(machine.dropped) < 0.01 * 1800


@pytest.mark.parametrize("idle", [5, 15, 25, 60, 90])
def test_bursts_of_traffic_make_it_patient(machine, idle):
    """Each calm period suggests a stronger detector, and each time that is wrong."""
    while len(machine.used) < 3600:
        machine.run(idle, 0.05, 0.0)
        machine.run(10, 0.3, 0.2)
    # The patience of two detectors doubles, from 10 s on.
    assert len(machine.switches) <= 4 * (2 + np.log2(max(1, idle / 10)))
    later = len(machine.used) // 2
    assert all(switch.time < later for switch in machine.switches)


def test_a_long_calm_is_used(machine):
    """A burst after minutes does not displace the strongest detector for long."""
    for _ in range(10):
        machine.run(10, 0.3, 0.2)
        machine.run(300, 0.05, 0.001)
    assert machine.used.count("mla") > 0.85 * len(machine.used)
    assert len(machine.switches) <= 4 * 10 and sum(machine.dropped) < 10 * 2


def test_traffic_that_is_over_is_forgotten(machine):
    machine.run(60, 0.3, 0.2)
    assert machine.auto.detector == "mmse"
    machine.run(60, 0.3, 0.05)    # 0.55 with N-way, 2.35 with MLA
    assert machine.auto.detector == "nway"
    machine.run(60, 0.1, 0.001)
    assert machine.auto.detector == "mla" and machine.names == ["mmse", "nway", "mla"]


def test_a_measured_cost_is_forgotten_after_a_while():
    """Other traffic needs less time for the same detector."""
    machine = Machine(AutoDetector(BUFFER), {"mla": 800.0, "nway": 100.0, "mmse": 1.0})
    machine.run(10, 0.3, 0.02)
    machine.costs = COSTS | {"mmse": 0.5}
    machine.run(300, 0.3, 0.02)    # 2.36 by the measured cost, 0.42 in reality
    assert machine.auto.detector == "mmse"
    machine.run(400, 0.3, 0.02)
    assert machine.auto.detector == "nway"


def test_a_hiccup_changes_nothing(machine):
    machine.run(5, 0.2, 0.02)
    told = {"seconds": 1.0, "load": 0.4, "samples": 15e6, "dropped": 5_000_000, "waiting": 0.0,
            "stages": {"demodulation": 0.1, "detection": 0.3}}
    assert machine.auto.tell(told, RATE) is None
    assert machine.auto.tell(told | {"dropped": 0}, RATE) is None
    assert machine.auto.tell(told, RATE) is None
    switch = machine.auto.tell(told, RATE)    # lost twice in a row
    assert switch.after == "mmse"


def test_a_buffer_that_fills_is_enough():
    auto = AutoDetector(BUFFER)
    told = {"seconds": 1.0, "load": 1.0, "samples": 19e6, "dropped": 0, "waiting": 0.13,
            "stages": {"demodulation": 0.2, "detection": 0.6, "decoding": 0.2}}
    assert auto.tell(told | {"waiting": 0.12}, RATE) is None
    assert auto.tell(told, RATE).after == "mmse"


def test_intervals_that_tell_nothing_are_left_out(machine):
    machine.run(9, 0.1, 0.001)
    short = {"seconds": 0.1, "load": 1.0, "samples": 1e6, "dropped": 10**6, "waiting": 0.2,
             "stages": {"demodulation": 0.02, "detection": 0.08}}
    silent = {"seconds": 20.0, "load": 0.0, "samples": 0, "dropped": 0, "waiting": 0.0,
              "stages": {}}
    for told in (short, silent) * 10:
        assert machine.auto.tell(told, RATE) is None
    machine.run(2, 0.1, 0.001)
    assert machine.names == ["mla"]


def test_iterations_need_detectors_that_take_priors():
    assert ladder() == LADDER == ("mla", "nway", "mmse")
    assert ladder(2) == ("mla", "nway")
    machine = Machine(AutoDetector(BUFFER, iterations=2))
    machine.run(60, 0.3, 0.2)
    assert machine.names == []


def test_it_begins_with_what_is_in_use_where_that_can_be():
    assert AutoDetector(BUFFER).detector == "nway"
    assert AutoDetector(BUFFER, start="mmse").detector == "mmse"
    assert AutoDetector(BUFFER, start="kbest").detector == "nway"
    assert AutoDetector(BUFFER, iterations=2, start="mmse").detector == "nway"


@pytest.mark.parametrize("unknowns, rows, constellation, name", [
    (1, 2, "wlan_qam64", "mmse"), (2, 2, "bpsk", "mla"), (4, 4, "bpsk", "mla"),
    (2, 2, "wlan_qam256", "mla"), (3, 4, "wlan_qam64", "mla"), (3, 3, "wlan_qam256", "nway"),
    (4, 4, "wlan_qpsk", "mla"), (4, 4, "wlan_qam16", "mla"), (4, 4, "wlan_qam64", "nway"),
    (4, 4, "wlan_qam256", "nway"), (6, 8, "wlan_qam64", "nway"), (6, 8, "wlan_qpsk", "mla")])
def test_the_strongest_is_bounded(unknowns, rows, constellation, name):
    detector = strongest("cpu")(unknowns, rows, constellation)
    assert type(detector) is detectors.REGISTRY[name]
    assert detector.candidates <= 8192


@pytest.mark.parametrize("threads, each", [(1, 0), (2, 1)])
def test_detectors_do_not_compete_with_the_receivers_threads(threads, each):
    assert strongest("cpu", threads)(2, 2, "wlan_qam16").threads == each


@pytest.mark.parametrize("format_of, streams, name", [
    (lambda n: HT(11, n), 2, "mla"), (lambda n: HT(27, n), 4, "mla"),
    (lambda n: HT(31, n), 4, "nway"), (lambda n: VHT.of_length(8, n, 4), 4, "nway"),
    (lambda n: HT(0, n), 1, "mmse"), (lambda n: HT(8, n), 2, "mla"),
    (lambda n: HT(11, n, coding="ldpc"), 2, "mla"), (lambda n: HT(3, n, stbc=1), 2, "mla"),
    (lambda n: HT(23, n, stbc=1), 4, "nway")],
    ids=["2x2", "4x4 16", "4x4 64", "4x4 256", "one", "BPSK", "LDPC", "STBC", "STBC 64"])
@pytest.mark.parametrize("iterations", [1, 2])
def test_the_strongest_takes_every_frame(format_of, streams, name, iterations):
    samples, sent = air([(format_of, [data_mpdu(100)])], streams, snr_db=40)
    frame, = frames_in(samples, detector=strongest("cpu"), backend="cpu", iterations=iterations)
    assert frame.problem == "" and frame.complete, frame
    assert frame.detector == name and frame.mpdus[0].data == sent[0].mpdus[0]
