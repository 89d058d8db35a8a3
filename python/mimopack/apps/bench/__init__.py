# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack bench``: measure the speed of the detectors on this machine.

All figures in a table come from one run: the cases take turns, and each row is the median of its
rounds. The data are simulated. The documents quote results of fixed suites, which use these modules
and lie in ``bench/suites`` of the source tree.
"""

from .command import bench_command

__all__ = ["bench_command"]
