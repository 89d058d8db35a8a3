# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaign files: several simulations in TOML."""

import json
import math
import zlib
from dataclasses import replace
from pathlib import Path

from gnuradio.mimopack import constellation, detectors, sim
from gnuradio.mimopack.sim.campaign import Campaign
from gnuradio.mimopack.sim.content import parse

from . import contract, mutations

MAX_LEN = 1024
_PLANNED = 16    # one input in so many is also planned, which takes ten times as long
_DETECTORS = (*(f"{name}:{parameter.name}={parameter.default}" for name in detectors.names()
                for parameter in detectors.REGISTRY[name].PARAMETERS), *detectors.names(),
              "mmse:iterations=2", "kbest:k=8,list_bits=2", "ep:feedback_scale=0.5")
_SNRS = (3, 4.5, "1,2", "1:2:0.5", "0:9999:1", "-100:200:1", "1,2,nan", [1, "2:3:1"], [[4]])
_SIZES = (1, 2, 3, 4, 8, 16, 64)
_COUNTS = (1, 10, 32, 10**9, 10**9 + 1, 0)
mutate = mutations.of_toml({
    "": (*_DETECTORS, *_SNRS), "title": ("a",), "results": ("here", "../a"), "plot": ("a.png",),
    "defaults": ({"seed": 3, "num_tx": 1},), "simulation": ([{"name": "third"}],),
    "name": ("half", "third", "first"), "snr": _SNRS, "ebn0": _SNRS, "num_tx": _SIZES,
    "num_rx": _SIZES, "constellation": constellation.BUILT_IN,
    "code": ("none", "none:10", "wifi:648:1/2", "wimax:576:3/4B", "nr:2:2", "nr_matched:40:80:2",
             "turbo:40", "turbo_matched:40:120", "conv:100:3/4", "conv:100:1/2:algorithm=viterbi",
             "wifi:648:1/2:algorithm=sum_product"),
    "channel": ("rayleigh:rho_tx=0.5", "block:length=10", "tdl_a", "tdl_c:delay_spread_ns=80",
                "awgn"),
    "interleaver": ("random", "none"), "seed": (0, 7, 2**62), "detectors": (
        [], ["mmse"], ["mmse", "zf"], ["omap", "kbest"]), "iterations": (1, 2, 1000),
    "decoder_iterations": (1, 8, 10_000), "feedback_scale": (0.5, 1, 1e-37),
    "early_stop": (True, False), "backend": ("cpu", "reference", "auto", "cuda"),
    "batch": (1, 16, 2**20), "errors": _COUNTS, "max_frames": _COUNTS, "threads": (1,)})
_FOLDER = contract.folder()
_FILE = Path(_FOLDER.name, "figure.toml")
_RESULTS = Path(_FOLDER.name, "results")
_HALF = """
[defaults]
num_tx = 2
num_rx = 2
constellation = "qpsk"
detectors = ["mmse", "nway:num_passes=2"]
snr = "2:4:2"
errors = 10
max_frames = 32

[[simulation]]
name = "half"
code = "turbo:40"
"""
_OTHER = """
[[simulation]]
name = "third"
detectors = ["zf"]
ebn0 = [1, "90:100:5", "3,4"]
iterations = 1
decoder_iterations = 8
feedback_scale = 0.5
early_stop = true
channel = "rayleigh:rho_tx=0.5"
interleaver = "none"
backend = "reference"
batch = 16
seed = 7
"""


def _results():
    """Return the file of results of the part "half", and its rows."""
    _FILE.write_text(_HALF)
    part, = Campaign(_FILE).parts
    simulation = sim.Simulation(sim.Link(**part.link), **part.simulation, threads=1,
                                output=_RESULTS / "half.json")
    rows = simulation.run(part.snrs[:1], **part.run)
    return (_RESULTS / "half.json").read_bytes(), rows


_RESULTS.mkdir()
_KEPT, _ROWS = _results()


def check(data):
    """A file is refused by its name, or its simulations can be listed, planned and continued."""
    _FILE.write_bytes(data)
    try:
        campaign = Campaign(_FILE)
    except ValueError as error:
        contract.check_error(error, str(_FILE))
        assert contract.is_shown_safely(str(error)), error
        return
    assert isinstance(campaign.title, str)
    names = [part.name for part in campaign.parts]
    assert names and len(set(names)) == len(names)
    for shown in (campaign.title, campaign.plot, *names, *(one.output for one in campaign.parts)):
        assert contract.is_shown_safely(str(shown)), shown
    for part in campaign.parts:
        _check_part(part)
    chosen = zlib.crc32(data)
    if not chosen % 16:
        assert repr(Campaign(_FILE).parts) == repr(campaign.parts)    # NaN equals itself there
    if not chosen % _PLANNED:
        _check_plan(campaign)


def _check_part(part):
    """Check the points of a simulation, with and without results."""
    assert part.output.name == f"{part.name}.json"
    assert 1 <= len(part.snrs) <= 10_000 and part.snrs == sorted(set(part.snrs))
    assert all(isinstance(one, float) and math.isfinite(one) for one in part.snrs)
    points = len(part.snrs) * len(part.simulation["detectors"])
    assert part.state([]) == (0, 0, points)
    told = part.state(_ROWS)
    assert min(told) >= 0 and sum(told) == points


def _check_plan(campaign):
    """Make the simulations of a campaign, and plan their work without doing it.

    Their files of results lie in a folder of this target, wherever the campaign wants them.
    """
    (_RESULTS / "half.json").write_bytes(_KEPT)
    campaign.parts = [replace(part, output=_RESULTS / ("half.json" if part.name == "half" else
                                                       f"{index}.json"))
                      for index, part in enumerate(campaign.parts)]
    try:
        simulations = campaign.simulations(threads=1)
    except (ValueError, ImportError) as error:
        contract.check_error(error, *(f"{part.name}: " for part in campaign.parts))
        assert contract.is_shown_safely(str(error)), error
        return
    for part in campaign.parts:
        simulation = simulations[part.name]
        assert simulation.detectors == part.simulation["detectors"]
        with simulation.store.held():
            simulation.prepare(part.snrs, **part.run)
            task = simulation.plan.next_task(1, None, eager=False)
            assert simulation.plan.complete if task is None else task.useful
            simulation.store.write()
        kept = parse(part.output.read_text())
        assert kept["results"] == simulation.store.rows
        assert kept["parameters"] == json.loads(json.dumps(simulation.store.parameters))
        if part.output.name != "half.json":
            part.output.unlink()


def seeds():
    """Return a campaign of one simulation, one with every key, and the one of the documents."""
    head = 'title = "Two links"\nresults = "here"\nplot = "figure.png"\n'
    documents = """
title = "LDPC codes of 802.11"
[defaults]
num_tx = 4
num_rx = 4
detectors = ["mmse", "nway:num_passes=4"]
errors = 200
max_frames = 100_000
[[simulation]]
name = "half"
code = "wifi:648:1/2"
snr = "9:13:0.5"
[[simulation]]
name = "two thirds"
code = "wifi:648:2/3"
snr = [11, 12.5]
detectors = ["mmse"]
"""
    return [one.encode() for one in (_HALF, head + _HALF + _OTHER, documents)]
