# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profiles of Hypothesis."""

import subprocess
import sys

import pytest
from source_tree import ROOT


@pytest.mark.parametrize("profile, known", [("nightly", True), ("weekly", False)])
def test_a_profile_can_be_chosen_for_any_folder(profile, known):
    """pytest knew the profiles only if its arguments named this folder."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
         f"--hypothesis-profile={profile}", "tests/coding/test_crc.py"],
        cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode == 0) == known, done.stdout + done.stderr
    assert known or "Profile 'weekly' is not registered" in done.stdout + done.stderr
