# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Power-delay profiles of 3GPP TR 38.901."""

from dataclasses import dataclass

import numpy as np

# TR 38.901, Tables 7.7.2-1 to 7.7.2-3: normalised delay and power in dB of each Rayleigh tap.
_TDL_A = (
    (0.0000, -13.4), (0.3819, 0.0), (0.4025, -2.2), (0.5868, -4.0), (0.4610, -6.0),
    (0.5375, -8.2), (0.6708, -9.9), (0.5750, -10.5), (0.7618, -7.5), (1.5375, -15.9),
    (1.8978, -6.6), (2.2242, -16.7), (2.1718, -12.4), (2.4942, -15.2), (2.5119, -10.8),
    (3.0582, -11.3), (4.0810, -12.7), (4.4579, -16.2), (4.5695, -18.3), (4.7966, -18.9),
    (5.0066, -16.6), (5.3043, -19.9), (9.6586, -29.7))
_TDL_B = (
    (0.0000, 0.0), (0.1072, -2.2), (0.2155, -4.0), (0.2095, -3.2), (0.2870, -9.8),
    (0.2986, -1.2), (0.3752, -3.4), (0.5055, -5.2), (0.3681, -7.6), (0.3697, -3.0),
    (0.5700, -8.9), (0.5283, -9.0), (1.1021, -4.8), (1.2756, -5.7), (1.5474, -7.5),
    (1.7842, -1.9), (2.0169, -7.6), (2.8294, -12.2), (3.0219, -9.8), (3.6187, -11.4),
    (4.1067, -14.9), (4.2790, -9.2), (4.7834, -11.3))
_TDL_C = (
    (0.0000, -4.4), (0.2099, -1.2), (0.2219, -3.5), (0.2329, -5.2), (0.2176, -2.5),
    (0.6366, 0.0), (0.6448, -2.2), (0.6560, -3.9), (0.6584, -7.4), (0.7935, -7.1),
    (0.8213, -10.7), (0.9336, -11.1), (1.2285, -5.1), (1.3083, -6.8), (2.1704, -8.7),
    (2.7105, -13.2), (4.2589, -13.9), (4.6003, -13.9), (5.4902, -15.8), (5.6077, -17.1),
    (6.3065, -16.0), (6.6374, -15.7), (7.0427, -21.6), (8.6523, -22.8))

_TAPS = {"flat": ((0.0, 0.0),), "tdl_a": _TDL_A, "tdl_b": _TDL_B, "tdl_c": _TDL_C}
PROFILES = tuple(_TAPS)


@dataclass(frozen=True)
class PowerDelayProfile:
    """Delays and powers of the paths of a tapped delay line.

    Attributes:
        delays: (P,) delays in seconds; the first arrival has delay 0.
        powers: (P,) mean powers, linear, with sum 1.
    """

    delays: np.ndarray
    powers: np.ndarray

    @property
    def rms_delay_spread(self):
        """RMS delay spread in seconds: square root of the profile's second central moment."""
        mean = self.powers @ self.delays
        return float(np.sqrt(max(self.powers @ self.delays**2 - mean**2, 0.0)))


def power_delay_profile(name, delay_spread=0.0):
    """Make a profile by name.

    Args:
        name: "flat" (one path), "tdl_a", "tdl_b" or "tdl_c" (TR 38.901 §7.7.2, no line of sight).
        delay_spread: desired rms delay spread in seconds; it scales the normalised delays
            (TR 38.901 §7.7.3). "flat" ignores it.

    Returns:
        :class:`PowerDelayProfile`.

    Raises:
        ValueError: the name is unknown, or the delay spread is negative or not finite.
    """
    if name not in _TAPS:
        raise ValueError(f"profile: got {name!r}, allowed are {', '.join(PROFILES)}")
    if not (np.isfinite(delay_spread) and delay_spread >= 0):
        raise ValueError(f"delay_spread: got {delay_spread}, must be 0 or more (seconds)")
    delays, decibels = np.array(_TAPS[name]).T
    powers = 10 ** (decibels / 10)
    return PowerDelayProfile(delays * delay_spread, powers / powers.sum())
