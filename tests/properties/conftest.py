# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the property tests."""

import pytest
from exempt import Exempt


@pytest.fixture
def exempt():
    """Count, over all examples of a test, what may differ because rounding changes it."""
    counts = Exempt()
    yield counts
    counts.check()
