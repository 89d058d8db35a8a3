# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that several test modules share."""

import pytest
from flowgraphs import Companion


@pytest.fixture(scope="session")
def companion(tmp_path_factory):
    """GNU Radio Companion's library, built once."""
    return Companion(tmp_path_factory.mktemp("home"))
