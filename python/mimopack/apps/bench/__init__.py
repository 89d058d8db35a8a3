# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench``: what the detectors reach on this machine.

All figures of one table come from one run: the cases take turns, and each row is the median of its
rounds. The data are simulated.
"""

from .command import bench_command

__all__ = ["bench_command"]
