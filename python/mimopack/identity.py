# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version and commit of this installation."""

import numpy as np

from . import __version__, _core


def commit():
    """Return the commit that the package was built from; None if the build did not find one."""
    try:
        from ._commit import COMMIT  # cmake/commit.cmake writes it
    except ImportError:
        return None
    return COMMIT


def identity():
    """Return {name: version} of everything that results depend on.

    NumPy's random numbers may change from one version to the next. The last digits of LLRs differ
    between instruction sets.
    """
    return {"gr-mimopack": __version__, "commit": commit(), "NumPy": np.__version__,
            "instruction set": _core.isa()}
