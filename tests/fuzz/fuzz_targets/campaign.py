# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaign files: several simulations in TOML."""

import math
from pathlib import Path

from gnuradio.mimopack import constellation, detectors
from gnuradio.mimopack.sim.campaign import Campaign

from . import contract, mutations

MAX_LEN = 1024
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


def check(data):
    """A file is refused by its name, or its simulations can be listed."""
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


def _check_part(part):
    """Check the points of a simulation."""
    assert part.output.name == f"{part.name}.json"
    snrs = part.run["snrs"]
    assert 1 <= len(snrs) <= 10_000 and snrs == sorted(set(snrs))
    assert all(isinstance(snr, float) and math.isfinite(snr) for snr in snrs)
    assert part.state([]) == (0, 0, len(snrs) * len(part.simulation["detectors"]))


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
