# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count results that may differ because rounding changes them."""


class Exempt:
    """The number of results that a test compared, and of those that differ for a reason.

    A comparison that exempts everything could not fail. So only a share may differ.

    Attributes:
        share: largest share of exempt results.
    """

    # A test with few results may exempt this number.
    FEW = 3

    def __init__(self):
        self.share, self._compared, self._exempt = 0.01, 0, 0

    def count(self, compared, exempt):
        """Count the results of a batch, and those among them that differ."""
        self._compared += compared
        self._exempt += exempt

    def check(self):
        """Assert that few of the results differ."""
        assert self._exempt <= self.FEW + self.share * self._compared, (
            f"{self._exempt} of {self._compared} results differ, allowed are {self.FEW} and a "
            f"share of {self.share:g}")
