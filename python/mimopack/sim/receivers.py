# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate blocks of frames, and count the errors of each detector."""

import threading
from functools import lru_cache

from .contender import Contender
from .link import BLOCK


class Receivers:
    """The detectors of a simulation. Thread-safe: each thread has detectors of its own.

    A copy made with pickle has the same arguments, and makes its detectors when it needs them.

    Args:
        link: the ``Link``.
        given: {label: detector}, see ``contender.labels``.
        options: further arguments of ``Contender``.
        batch: number of blocks for each call of a detector.
    """

    def __init__(self, link, given, options, batch):
        self._arguments = link, given, options, batch
        self._local, self._making = threading.local(), threading.Lock()

    def __reduce__(self):
        return type(self), self._arguments

    def count(self, snr, block, count, wanted):
        """Simulate blocks of frames.

        Args:
            snr: SNR in dB.
            block: number of the first block.
            count: number of blocks.
            wanted: labels of the detectors that receive the frames.

        Returns:
            {label: list with ``Counts.sums()`` of each block}
        """
        link, _, _, batch = self._arguments
        found = {label: [] for label in wanted}
        for first in range(block, block + count, batch):
            blocks = min(batch, block + count - first)
            frames = link.frames(snr, first, blocks)
            for label in wanted:
                counts = self.contender(label).count(frames)
                found[label] += [counts.part(slice(at, at + BLOCK)).sums()
                                 for at in range(0, blocks * BLOCK, BLOCK)]
        return found

    def contender(self, label):
        """Return this thread's ``Contender`` for a detector."""
        link, given, options, _ = self._arguments
        kept = self._local.__dict__.setdefault("contenders", {})
        if label not in kept:
            with self._making:    # users' code need not be thread-safe
                kept[label] = Contender(link, given[label], **options)
        return kept[label]


@lru_cache(maxsize=8)
def _unpacked(packed):
    import cloudpickle

    return cloudpickle.loads(packed)


def count_packed(packed, *arguments):
    """Call ``Receivers.count`` of pickled receivers. The process keeps them for further calls."""
    return _unpacked(packed).count(*arguments)
