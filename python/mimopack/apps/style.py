# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common style of all pictures; matplotlib draws them without a display."""

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

__all__ = ["BLUE", "GREY", "ORANGE", "STYLE", "plt"]

BLUE, ORANGE, GREY = "#1f6fb4", "#d95f02", "#8a8a8a"
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
         "axes.spines.right": False, "figure.dpi": 110, "savefig.bbox": "tight"}
