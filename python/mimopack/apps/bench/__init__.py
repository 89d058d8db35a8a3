# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench``: how fast the detectors are on this machine.

All figures of one table come from one run: the cases take turns, and each row is the median of its
rounds. The data are simulated. The fixed suites, whose results the documents quote, are built on
these modules in the source tree's ``bench/suites``.
"""

from .command import bench_command

__all__ = ["bench_command"]
