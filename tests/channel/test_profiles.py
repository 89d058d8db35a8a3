# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power-delay profiles compared with the tables of 3GPP TR 38.901."""

import numpy as np
import pytest
from gnuradio.mimopack.channel import PROFILES, power_delay_profile


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_have_unit_power_and_the_delay_spread_asked_for(name):
    profile = power_delay_profile(name, 1.0)
    assert profile.powers.sum() == pytest.approx(1)
    assert profile.delays.min() == 0
    # TR 38.901 normalises the tables to a delay spread of 1, with four decimals.
    assert profile.rms_delay_spread == pytest.approx(0.0 if name == "flat" else 1.0, abs=1e-4)


def test_profiles_follow_the_tables():
    b = power_delay_profile("tdl_b", 100e-9)
    assert len(b.delays) == 23
    assert b.delays[-1] == pytest.approx(478.34e-9)
    assert 10 * np.log10(b.powers[15] / b.powers[0]) == pytest.approx(-1.9)
    assert len(power_delay_profile("tdl_a").delays) == 23
    assert len(power_delay_profile("tdl_c").delays) == 24
