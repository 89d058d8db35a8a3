# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimation for an OFDM system with pilots of its own."""

import numpy as np

from .checks import array, integer, positive
from .nr.tracking import Tracker


class ChannelEstimator:
    """Estimates the channel of slots from their pilots, and makes vectors for detectors.

    A slot is a block of consecutive OFDM symbols; all slots have the same pilots. A layer reaches
    an antenna over paths whose delays lie within ``prefix``. From the first slots the estimator
    learns the mean power of each delay, the carrier offset and the Doppler frequency. With these,
    the linear MMSE estimate of a slot is a product of matrices. The estimator learns again when the
    noise has risen. It whitens the noise of the antennas if an interferer makes it correlated. The
    formulas are in ``nr/estimation.py`` and ``nr/profile_filter.py``.

    Args:
        pilots: (num_tx, symbols, K): what each layer sends in a slot where the receiver knows it; 0
            elsewhere. Where one layer has a pilot, the others must send their pilots or nothing.
            The K carriers are neighbours in frequency.
        data: (symbols, K), true for the elements with data; None for all without a pilot.
        prefix: longest delay of a path, in OFDM symbols without their prefix, in general the length
            of the cyclic prefix.
        threads: number of CPU threads; 0 takes all cores.

    Attributes:
        data: (symbols, K) bool, the elements with data.
        num_tx: number of layers.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, pilots, data=None, prefix=0.25, threads=1):
        pilots = np.asarray(pilots, np.complex64)
        if pilots.ndim != 3 or not pilots.any():
            raise ValueError(f"pilots: got shape {pilots.shape}, must be (layers, symbols, "
                             "carriers), with at least one pilot")
        known = pilots.any(axis=0)
        self.data = ~known if data is None else np.asarray(data, bool)
        if self.data.shape != known.shape or not self.data.any():
            raise ValueError(f"data: got shape {self.data.shape}, must be {known.shape}, with at "
                             "least one element with data")
        self.num_tx = integer("num_tx", len(pilots), 1, 64)
        self._tracker = Tracker(lambda slot: pilots, np.zeros(self.num_tx, int),
                                positive("prefix", prefix), integer("threads", threads, 0, 1024))

    def vectors(self, grids):
        """Estimate the channel of consecutive slots.

        Args:
            grids: (slots, nr, symbols, K) complex, the received symbols.

        Returns:
            (y, h): received vectors (slots, n, nr) and channel matrices (slots, n, nr, num_tx), one
            for each element with data, symbol by symbol, complex64. Both are divided by the
            standard deviation of noise, which includes the expected error of h, so a detector's
            ``noise_var`` is 1.

        Raises:
            ValueError: the shape does not match, or a value is not finite.
        """
        grids = array("grids", np.ascontiguousarray(grids, np.complex64), np.complex64,
                      ("slots", "nr", *self.data.shape))
        if not np.isfinite(grids.sum()):
            raise ValueError("grids: got NaN or infinity, must be finite")
        found = self._tracker.estimate(grids, np.zeros(len(grids), int))
        symbol, carrier = np.nonzero(self.data)
        y = found.received[..., symbol, carrier].swapaxes(1, 2)
        # The channel and its error have one symbol if they are the same in all.
        h, error_var = (values[:, symbol % values.shape[1], carrier]
                        for values in (found.h, found.error_var))
        scale = (1 / np.sqrt(found.noise_var[:, None] + error_var)).astype(np.float32)
        return y * scale[..., None], h * scale[..., None, None]
