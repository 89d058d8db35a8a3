# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the detectors by bit error rate, on the same simulated vectors.

Bit errors within a vector are not independent, but vectors are. All detectors process the same
vectors. The mean difference of their errors per vector therefore has a far narrower confidence
interval than either error rate.
"""

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from simulated import problem

Z = 3.29    # 99.9 % of a normal distribution are within this number of standard deviations
VECTORS = 400_000

ZF, MMSE, MLA = ("zf", {}), ("mmse", {}), ("mla", {})
NWAY = {passes: ("nway", {"num_passes": passes}) for passes in (1, 2, 4)}


class Errors:
    """Bit errors of each vector for each detector, computed on first use."""

    def __init__(self, constellation, snr_db, seed):
        self._constellation, self._known = constellation, {}
        self._problem = problem(VECTORS, 4, 4, constellation, snr_db, seed=seed)

    def of(self, variant):
        name, parameters = variant
        key = name, *parameters.values()
        if key not in self._known:
            y, h, noise_var, bits = self._problem
            det = detectors.create(name, num_tx=4, num_rx=4, constellation=self._constellation,
                                   **parameters)
            decided = detectors.hard_decisions(det.detect(y, h, noise_var))
            self._known[key] = np.count_nonzero(decided != bits, axis=1)
        return self._known[key]

    def interval(self, worse, better):
        """Return the 99.9 % interval of the mean difference in bit errors per vector.

        The difference is the errors of worse minus those of better.
        """
        difference = self.of(worse).astype(float) - self.of(better)
        half = Z * difference.std(ddof=1) / np.sqrt(len(difference))
        return difference.mean() - half, difference.mean() + half


@pytest.fixture(scope="module")
def errors():
    return Errors("qam16", 20, seed=11)


@pytest.mark.parametrize("worse, better", [(ZF, MMSE), (MMSE, NWAY[1]), (NWAY[1], NWAY[2]),
                                           (NWAY[2], NWAY[4]), (NWAY[4], MLA)])
def test_each_is_better_than_the_one_before(errors, worse, better):
    """4x4 16-QAM, 20 dB per receive antenna."""
    assert errors.interval(worse, better)[0] > 0


def test_nway_with_all_passes_loses_little(errors):
    """Less than 2 % more bit errors than exact max-log."""
    assert errors.interval(NWAY[4], MLA)[1] < 0.02 * errors.of(MLA).mean()
