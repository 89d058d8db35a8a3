# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common style of all pictures, and their files; matplotlib draws them without a display."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from ..files import replace_file

__all__ = ["BLUE", "GREY", "ORANGE", "STYLE", "plt", "save"]

BLUE, ORANGE, GREY = "#1f6fb4", "#d95f02", "#8a8a8a"
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
         "axes.spines.right": False, "figure.dpi": 110, "savefig.bbox": "tight"}


def save(figure, path):
    """Write a figure to a file and close it; return the path.

    The extension of the path selects the format, PNG without one.

    Raises:
        ValueError: there is no such format, or the path is no regular file.
        OSError: the file cannot be written.
    """
    try:
        with replace_file(path, binary=True) as file:
            figure.savefig(file, format=Path(path).suffix[1:] or "png")
    finally:
        plt.close(figure)
    return path
