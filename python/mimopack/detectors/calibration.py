# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work that ``crossover`` measures for a detector with backend "auto".

The measured vectors are random, with an SNR at which the constellation is used in practice, because
the run time of a tree search depends on the SNR. The caller's first batch would be a poor choice:
it may be noise before a signal, and the result of the measurement applies to all later batches.
"""

import hashlib
import weakref

import numpy as np

from .. import _core, channel
from ..crossover import Crossover
from ..cuda import source
from .call import Call

# Largest size of a measured batch in bytes, and the number of different vectors in it.
LARGEST_BYTES = 2**26
DISTINCT_VECTORS = 1024


def case(detector, per_channel, has_prior=False, num_hard=0):
    """Return the settings that affect a detector's run time and may change from call to call.

    Args:
        detector: ``Detector``.
        per_channel: number of vectors that share a matrix.
        has_prior: whether there are a-priori LLRs.
        num_hard: number of hard solutions per vector.
    """
    live = tuple(getattr(detector, p.name) for p in detector.PARAMETERS if p.live)
    return (_period(per_channel), has_prior, num_hard, detector.threads, detector.pins_buffers,
            *live)


def crossover(detector, engines):
    """Return the :class:`Crossover` of a detector.

    Args:
        detector: ``Detector``.
        engines: the detector's :class:`.engines.Engines`.
    """
    detector = weakref.proxy(detector)    # the detector holds the crossover

    def configuration(period, has_prior, num_hard, threads, pinned, *_live):
        plan = detector.plan()
        text = source.program(plan, 0, has_prior, period == 1, detector.llr_dtype == np.int8,
                              num_hard)
        return {"isa": detector.isa, "threads": threads or _core.max_threads(),
                "num_tx": detector.num_tx, "num_rx": detector.num_rx,
                "constellation": detector.constellation.name,
                "llr_type": detector.llr_dtype.name, "pinned": pinned,
                "vectors_per_matrix": period, "prior": has_prior, "hard_solutions": num_hard,
                "streams": plan.get("streams"),
                "program": hashlib.sha256(text.encode()).hexdigest()[:16]}

    def ways(n, period, has_prior, num_hard, threads, pinned, *_live):
        period = min(period, n)
        call = problem(detector, n // period * period, period, has_prior, num_hard)
        if sum(array.nbytes for array in (call.y, call.h, call.out)) > LARGEST_BYTES:
            return None
        if pinned:
            call = call._replace(**{
                name: engines.gpus().in_pinned_memory(array)
                for name, array in call._asdict().items()
                if isinstance(array, np.ndarray) and name != "hard"})
        return lambda: engines.on_host(call), lambda: engines.on_gpus(call)

    return Crossover(detector.name, detector.devices, configuration, ways,
                     lambda: engines.gpus().release())


def _period(per_channel):
    """Return the number of vectors per matrix that is measured in place of per_channel.

    It is the power of two at or below per_channel, at most 64; beyond 64 the matrix decomposition
    hardly affects the time. Bursts of all lengths then need only a few measurements.
    """
    return 1 << min(6, max(1, per_channel).bit_length() - 1)    # 0 for an empty batch


def problem(detector, n, per_channel, has_prior=False, num_hard=0):
    """Draw a random batch of i.i.d. Rayleigh channels.

    The SNR is high enough for the detector to make few errors. It rises with the number of layers,
    because a tree search prunes less in a larger tree.

    Args:
        detector: ``Detector``.
        n: number of vectors, a multiple of per_channel.
        per_channel: number of vectors that share a matrix.
        has_prior: whether to draw a-priori LLRs.
        num_hard: number of hard solutions to draw per vector.

    Returns:
        :class:`.call.Call`
    """
    rng = np.random.default_rng(1)
    nt, bits = detector.num_tx, detector.constellation.bits_per_symbol    # the most of a layer
    snr_db = 12 + 3 * bits + max(0, nt - 4)
    noise_var = nt * 10 ** (-snr_db / 10)
    matrices = -(-min(n, DISTINCT_VECTORS) // per_channel)
    h = channel.flat_rayleigh(matrices, detector.num_rx, nt, rng)
    x = np.stack([rng.choice(points.points, (matrices, per_channel)) for points in
                  detector.layers], axis=2)
    y = np.einsum("mij,mtj->mti", h, x)
    y = (y + channel.awgn(y.shape, noise_var, rng)).astype(np.complex64)
    y = np.resize(y, (n, detector.num_rx))
    h = np.resize(h, (n // per_channel, *h.shape[1:]))
    width = detector.bits_per_vector
    prior = rng.normal(0, 3, (n, width)).astype(np.float32) if has_prior else None
    hard = rng.integers(0, 2, (num_hard, n, width), np.uint8) if num_hard else None
    return Call(y, h, np.array([noise_var], np.float32), prior,
                np.empty((n, width), detector.llr_dtype), detector.llr_scale, detector.threads,
                hard)
