# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pass LLRs from one pass to the next, and estimate the channel again from what they decide."""

import numpy as np

from ..arrays import on_host
from .estimation import estimate_channel
from .phase import ptrs_of_layers
from .precoding import transform_precode
from .spreading import spread_symbols

# A-priori LLR of a bit that is known, and the limit for LLRs from the decoder
CERTAIN = 100.0
FEEDBACK_SCALE = 0.7    # of the decoder's extrinsic LLRs; from 0.5 to 1 all are as good


def feed_back(decoder, slots, llr, rv):
    """Set ``posterior`` and ``prior`` of slots that are not decoded, for the bits of a codeword.

    The arguments are those of :meth:`BlockDecoder.decode`.
    """
    word = decoder.word
    rows = [row for row, slot in enumerate(slots) if not slot.is_decoded]
    wrong = [row for row in rows if slots[row].lacks(word)]
    posteriors = wrong and on_host(decoder.decoded(slots, wrong, llr, rv, posterior=True).posterior)
    for row in rows:
        slot = slots[row]
        if slot.prior is None:
            slot.prior, slot.posterior = np.zeros((2, *llr.shape[1:]), np.float32)
        own = on_host(llr[row])[word.vectors, word.bits]
        if row in wrong:
            posterior = posteriors[wrong.index(row)].reshape(own.shape)
            extrinsic = np.clip(FEEDBACK_SCALE * (posterior - own), -CERTAIN, CERTAIN)
        else:
            signs = 2.0 * decoder.coder.encode(slot.blocks[word].bits, rv) - 1
            posterior = extrinsic = (CERTAIN * signs).reshape(own.shape)
        slot.posterior[word.vectors, word.bits] = posterior
        slot.prior[word.vectors, word.bits] = extrinsic


def estimate_again(layout, slot):
    """Estimate the channel of a :class:`ReceivedSlot` again, with the decoder's symbols."""
    known = layout.known(layout.in_frame(slot.number))
    estimate = slot.estimate
    # Noise, and what the symbols' variance adds to it
    noise = np.full(known.shape[1:], estimate.noise_var, np.float32)
    for word in layout.words:
        if layout.spreads:
            mean, variance = spread_symbols(layout, word, slot, slot.posterior)
            means = transform_precode(mean).reshape(-1, 1)
            variances = np.broadcast_to(variance, mean.shape).reshape(-1, 1)
        else:
            means, variances = word.symbols(slot.posterior)
            silent = np.ones(len(means), bool)
            silent[word.vectors] = False
            means[silent], variances[silent] = 0, 0
        known[word.layers, layout.data[0], layout.data[1]] = means.T
        powers = np.mean(np.abs(estimate.h[..., word.layers][layout.data])**2, axis=1)
        noise[layout.data] += np.sum(powers * variances, axis=1)
    if layout.has_gaps:
        known += ptrs_of_layers(layout, slot)
    if slot.turn is not None:
        known *= slot.turn[..., None]
    weight = estimate.noise_var / noise
    weight[np.abs(known).max(axis=0) == 0] = 0
    slot.estimate = estimate_channel(
        slot.received, known, weight, layout.owners, layout.prefix, noise=estimate.noise_var,
        cfo=estimate.cfo, doppler=estimate.doppler, profile=estimate.profile)
    slot.turn_channel()
