# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors as objects and classes in a simulation."""

import threading

import pytest
from gnuradio.mimopack import detectors, sim
from own_detectors import OwnPrior, OwnZf

LINK = sim.Link(2, 2, "qpsk", "wifi:648:1/2")


def rates(rows):
    return {row["detector"]: (row["fer"], row["ber"], row["ber_before_decoding"]) for row in rows}


@pytest.mark.parametrize("link", [LINK, sim.Link(2, 2, "qpsk")])
def test_objects_count_as_texts_do(link):
    objects = [detectors.MLA(2, 2, "qpsk"), OwnZf(2, 2, "qpsk"), "nway:num_passes=2",
               detectors.NWay(2, 2, "qpsk", num_passes=1), detectors.ZF]
    simulation = sim.Simulation(link, objects, threads=2)
    texts = ["mla", "nway:num_passes=2", "nway:num_passes=1", "zf"]
    expected = rates(sim.Simulation(link, texts, threads=1).run([6, 9], 10**6, 96))
    assert rates(simulation.run([6, 9], 10**6, 96)) == expected | {"own_zf": expected["zf"]}
    assert expected["zf"][2] > expected["mla"][2] > 0


class Jealous(OwnZf):
    """Fails if two threads use one object; keeps what it was used for."""

    name = "jealous"
    made = []

    def __deepcopy__(self, memo):
        copy = type(self)(self.num_tx, self.num_rx, self.constellation)
        self.made.append(copy)
        copy.users = set()
        return copy

    def detect(self, y, h, noise_var):
        self.users.add(threading.get_ident())
        assert len(self.users) == 1
        return OwnZf.detect(self, y, h, noise_var)


def test_each_thread_has_its_own_copy():
    original = Jealous(2, 2, "qpsk")
    original.made.clear()
    row, = sim.Simulation(LINK, [original], threads=2, batch=16).run([6], 10**6, 320)
    assert row["frames"] == 320 and not hasattr(original, "users")
    used = [copy.users for copy in original.made if copy.users]
    assert 1 <= len(used) <= 2 and len(set.union(*used)) == len(used)


def test_iterations_with_a_priori_llrs():
    row, = sim.Simulation(LINK, [OwnPrior(2, 2, "qpsk")], iterations=2).run([4], 10**6, 32)
    assert len(row["fer"]) == 2
    with pytest.raises(ValueError, match="own_zf"):
        sim.Simulation(LINK, [OwnZf(2, 2, "qpsk")], iterations=2)


@pytest.mark.parametrize("given, message", [
    ([detectors.MLA(2, 2, "qam16")], "mla has the constellation qam16, but the link has qpsk"),
    (["mla", detectors.MLA(2, 2, "qpsk")], "got two detectors named 'mla'"),
    ([3], "detector: got 3"), ("mla", "detectors: got 'mla', must be a list")])
def test_refusals(given, message):
    with pytest.raises(ValueError) as caught:
        sim.Simulation(LINK, given)
    assert message in str(caught.value)
