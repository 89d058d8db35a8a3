# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the GPU work for a batch once and replay it for later batches (CUDA graphs)."""

import numpy as np

from ..cuda.device import cupy
from ..cuda.graphs import Recording, Recordings
from .batch import Batch

# Largest batch, in codewords, that is recorded. For larger batches the GPU needs longer than the
# host takes to queue the work, so a recording saves no time.
MOST_CODEWORDS = 512
# Sizes of recordings, in codewords: 1, 2, 4, ... up to STEP, then multiples of STEP.
STEP = 64
KEPT = 16    # number of recordings


class Graphs:
    """CUDA graphs that replay a receiver's passes; a batch is padded to the next recorded size.

    Args:
        layout: the layout of the codewords.
        filler: (nr,), received without noise if all bits are 0 and H has ones on its diagonal only;
            such vectors fill up a batch.
    """

    def __init__(self, layout, filler):
        self._layout, self._filler = layout, filler
        self._recorded = Recordings(KEPT)

    def takes(self, n, matrices):
        """Return whether a batch of n codewords with this number of matrices can be replayed.

        No two codewords may share a matrix.
        """
        return (not self._recorded.are_off and 0 < n <= MOST_CODEWORDS and matrices > 0
                and matrices % n == 0 and self._layout.vectors % (matrices // n) == 0)

    def receive(self, passes, batch, n, *settings):
        """Receive a batch by replaying a recording.

        Returns (arrays, counts), as ``passes(batch, *settings[0])`` does. Each array is a CuPy
        array or None. An array with one axis has one entry per codeword; any other array has one
        row per codeword along its second-to-last axis. The counts are objects whose int() waits for
        the GPU. The function ``passes`` must not wait for the GPU itself.

        The first batch of a size is received twice without a recording: before the recording is
        made, and again afterwards. If the work cannot be recorded, the method warns once and
        receives all batches without recordings.

        Args:
            passes: the function to record.
            batch: the batch.
            n: number of codewords in the batch.
            settings: everything on which the result of ``passes`` depends; settings[0] holds the
                arguments after batch. A recording keeps references to the settings because it uses
                GPU memory of the detector and the decoder.
        """
        with batch.y.device:
            size = 1 << (n - 1).bit_length() if n <= STEP else -(-n // STEP) * STEP
            key = (batch.y.device.id, size, batch.y.shape[1:], batch.h.shape[1:],
                   len(batch.h) // n, batch.noise_cov is None, *settings)

            def record():
                return _Recording(lambda whole: passes(whole, *settings[0]), batch,
                                  self._layout.vectors, n, size, self._filler)

            if key in self._recorded:
                return self._recorded.get(key, record).play(batch)
            # This call allocates all memory that is kept between calls, outside the recording's own
            # pool.
            result = passes(batch, *settings[0])
            cupy().cuda.get_current_stream().synchronize()
            if self._recorded.get(key, record) is None:
                return result
            return passes(batch, *settings[0])    # the decoder drops the recording's arrays


class _Recording:
    """A CUDA graph and the arrays that a batch is copied into.

    Unused places in the arrays hold codewords of zeros, which are received too and found at once.
    """

    def __init__(self, passes, batch, vectors, n, size, filler):
        xp = cupy()
        self._vectors, self._filler = vectors, filler
        matrices, (num_rx, num_tx) = size * (len(batch.h) // n), batch.h.shape[1:]
        has_variances = batch.noise_cov is None
        self._whole = Batch(
            xp.empty((size * vectors, num_rx), np.complex64),
            xp.empty((matrices, num_rx, num_tx), np.complex64),
            xp.empty(size * vectors, np.float32) if has_variances else None, vectors,
            None if has_variances else xp.empty((matrices, num_rx, num_rx), np.complex64))
        self._ones = xp.eye(num_rx, max(num_rx, num_tx), dtype=np.complex64)
        self._fill(0, 0)
        xp.cuda.get_current_stream().synchronize()
        self._recording = Recording(lambda: passes(self._whole))

    def _fill(self, vectors, matrices):
        """Fill the vectors and matrices from these numbers on."""
        whole = self._whole
        whole.y[vectors:] = cupy().asarray(self._filler)
        whole.h[matrices:] = self._ones[:, :whole.h.shape[2]]
        if whole.noise_cov is None:
            whole.noise_var[vectors:] = 0.01
        else:
            whole.noise_cov[matrices:] = 0.01 * self._ones[:, :len(self._ones)]

    def play(self, batch):
        vectors, matrices, whole = len(batch.y), len(batch.h), self._whole
        whole.y[:vectors], whole.h[:matrices] = batch.y, batch.h
        if whole.noise_cov is None:
            whole.noise_var[:vectors] = batch.noise_var
        else:
            whole.noise_cov[:matrices] = batch.noise_cov
        if vectors < len(whole.y):
            self._fill(vectors, matrices)
        self._recording.play()
        n, (arrays, counts) = vectors // self._vectors, self._recording.result
        arrays = [None if array is None else _first(array, n) for array in arrays]
        cupy().cuda.get_current_stream().synchronize()
        return arrays, [int(count) for count in counts]


def _first(array, n):
    """Return a copy of the rows of the first n codewords."""
    return (array[:n] if array.ndim == 1 else array[..., :n, :]).copy()
