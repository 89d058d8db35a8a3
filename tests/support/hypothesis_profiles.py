# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles of Hypothesis, chosen with --hypothesis-profile; docs/reliability.md explains them.

tests/conftest.py imports them, because pytest chooses the profile before it looks into folders.
"""

from hypothesis import HealthCheck, settings

# The machine's load decides how long an example takes, so no example has a deadline. Fixtures that
# pytest makes once per test hold nothing that an example changes.
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [
    HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture]}

settings.register_profile("ci", max_examples=20, derandomize=True, database=None, **_COMMON)
settings.register_profile("dev", max_examples=100, **_COMMON)
settings.register_profile("nightly", max_examples=4_000, **_COMMON)
settings.load_profile("ci")
