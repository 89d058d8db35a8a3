# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate bit and frame error rates of detectors and codes.

    link = sim.Link(code="wimax:2304:1/2")
    simulation = sim.Simulation(link, ["mmse", "nway:num_passes=4"])
    rows = simulation.run([9, 10, 11], errors=50)

The command ``mimopack sim`` does the same.
"""

from .counts import Tally, wilson
from .link import Frames, Link
from .simulation import Simulation, run_together

__all__ = ["Frames", "Link", "Simulation", "Tally", "run_together", "wilson"]
