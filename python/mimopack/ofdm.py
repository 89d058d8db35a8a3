# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel estimation for an OFDM system with pilots of its own."""

import numpy as np

from .checks import array, integer, positive
from .nr.estimation import longest_delay
from .nr.tracking import Tracker

_LONGEST_PREFIX = 0.6    # the window of delays, which is a little wider, must not exceed a symbol


class ChannelEstimator:
    """Estimates the channel of slots from their pilots, and makes vectors for detectors.

    A slot is a block of consecutive OFDM symbols; all slots have the same pilots. A layer reaches
    an antenna over paths whose delays lie within ``prefix``. From the first slots the estimator
    learns the mean power of each delay, the carrier offset and the Doppler frequency. With these,
    the linear MMSE estimate of a slot is a product of matrices. The estimator learns again when the
    noise has changed. If an interferer makes the noise of the antennas correlated, it is whitened.
    The formulas are in ``nr/estimation.py`` and ``nr/profile_filter.py``.

    Args:
        pilots: (num_tx, symbols, K): what each layer sends in a slot where the receiver knows it; 0
            elsewhere. Where one layer has a pilot, the others send theirs or nothing. Layers that
            share elements differ by factors that are the same in all symbols with pilots. The K
            carriers are neighbours in frequency. A carrier offset is found if symbols without
            pilots lie between symbols with pilots, up to half a cycle between these.
        data: (symbols, K), true for the elements with data; None for all without a pilot.
        prefix: longest delay of a path, in OFDM symbols without their prefix, 0.6 at most; in
            general the length of the cyclic prefix. It is shortened if the pilots do not tell such
            delays apart: on every n-th carrier, with s layers that share an element, the longest
            delay is 0.8/(n*s).
        threads: number of CPU threads; 0 takes all cores.

    Attributes:
        data: (symbols, K) bool, the elements with data.
        num_tx: number of layers.

    Raises:
        ValueError: an argument is invalid.
    """

    def __init__(self, pilots, data=None, prefix=0.25, threads=1):
        pilots = np.asarray(pilots, np.complex64)
        if pilots.ndim != 3 or not np.isfinite(pilots).all() or not pilots.any(axis=(1, 2)).all():
            raise ValueError(f"pilots: got shape {pilots.shape}, must be (layers, symbols, "
                             "carriers), finite, with a pilot of each layer")
        if np.linalg.matrix_rank(pilots.reshape(len(pilots), -1)) < len(pilots):
            raise ValueError("pilots: got layers whose pilots do not tell them apart, must be "
                             "linearly independent")
        known = pilots.any(axis=0)
        self.data = ~known if data is None else np.asarray(data, bool)
        if self.data.shape != known.shape or not self.data.any() or (self.data & known).any():
            raise ValueError(f"data: got shape {self.data.shape}, must be {known.shape}, with at "
                             "least one element with data, and none that has a pilot")
        self.num_tx = integer("num_tx", len(pilots), 1, 64)
        if positive("prefix", prefix) > _LONGEST_PREFIX:
            raise ValueError(f"prefix: got {prefix}, allowed are numbers up to {_LONGEST_PREFIX}, "
                             "in OFDM symbols, not samples")
        self._tracker = Tracker(lambda slot: pilots, np.zeros(self.num_tx, int),
                                longest_delay(prefix, _spacing(pilots)),
                                integer("threads", threads, 0, 1024))

    def restart(self):
        """Forget what was learned: the next slots are those of another channel."""
        self._tracker.forget()

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


def _spacing(pilots):
    """Return how far the pilots of a layer are apart, in carriers that it has for itself."""
    sharing = np.count_nonzero(pilots, axis=0).max()
    steps = [np.diff(np.flatnonzero(layer.any(axis=0))) for layer in pilots]
    return sharing * max((int(np.median(step)) for step in steps if len(step)), default=1)
