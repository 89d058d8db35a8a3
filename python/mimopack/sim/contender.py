# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver under test: a detector, with a decoder where the link has a code."""

import numpy as np

from .. import detectors
from ..arrays import array_module, is_device_array
from ..coding import ListDecoder
from ..cuda.device import cupy
from ..iterative import IterativeReceiver
from ..specs import parse
from .tally import Counts


class Contender:
    """Receives frames of a link and counts errors. One thread at a time.

    Args:
        link: the ``Link``.
        text: the detector with its parameters, "nway:num_passes=4"; with iterations or
            feedback_scale, instead of those below, and list_bits of a ``coding.ListDecoder`` for
            the last pass.
        iterations: passes of detector and decoder; and feedback_scale, early_stop: as of
            ``IterativeReceiver``.
        decoder_iterations: at most.
        backend, threads: of the detector, threads also of the decoder. With "cuda" a decoder that
            takes arrays of a GPU works there too; with "reference" it is the CPU's.

    Raises:
        ValueError: what it is told does not go together.
    """

    def __init__(self, link, text, iterations=1, decoder_iterations=20, feedback_scale=0.6,
                 early_stop=True, backend="cpu", threads=0):
        name, positional, keywords = parse(text)
        if positional:
            raise ValueError(f"detector: got {text!r}, where {positional[0]!r} is no key=value")
        self.iterations = keywords.pop("iterations", iterations)
        feedback_scale = keywords.pop("feedback_scale", feedback_scale)
        list_bits = keywords.pop("list_bits", 0)
        self._code = link.coding
        cls = detectors.REGISTRY.get(name)
        if cls and cls.SUPPORTS_PRIOR and not cls.HARD:
            keywords["extrinsic"] = True
        try:
            self._detector = detectors.create(
                name, num_tx=link.num_tx, num_rx=link.num_rx, constellation=link.points,
                backend=backend, threads=threads, **keywords)
            self._receiver, self._on_gpu = None, False
            if link.is_coded:
                decoder = self._decoder(decoder_iterations, backend, threads)
                self._on_gpu = backend == "cuda" and decoder.backend == "auto"
                self._receiver = IterativeReceiver(
                    self._detector, decoder, link.permutation, self.iterations, early_stop,
                    feedback_scale, ListDecoder(decoder, list_bits))
        except TypeError as error:
            raise ValueError(f"detector: got {text!r}: {error}") from None
        if self._receiver is None and self.iterations != 1:
            raise ValueError(f"iterations: got {self.iterations} without a code, must be 1")
        if self._receiver is None and list_bits != 0:
            raise ValueError(f"list_bits: got {list_bits} without a code, must be 0")

    def _decoder(self, iterations, backend, threads):
        """The code's decoder; options that come with the code's name come before others. Behind a
        detector on a GPU it takes arrays where they are."""
        usual = {"iterations": iterations, "threads": threads,
                 "backend": "auto" if backend in ("auto", "cuda") else "cpu"}
        return self._code.decoder(**usual | self._code.options)

    def count(self, frames):
        """``Counts`` of ``Frames``."""
        n = len(frames.bits)
        if self._receiver is None:
            llr = self._detector.detect(frames.y, frames.h, frames.noise_var)
            wrong = np.count_nonzero((llr.reshape(n, -1) > 0) != frames.bits, axis=1)
            ones = np.ones(n, int)
            return Counts(wrong[None], wrong, np.zeros(n, bool), ones, 0 * ones)
        to_device = cupy().asarray if self._on_gpu else np.asarray
        received = self._receiver.receive(to_device(frames.y), to_device(frames.h),
                                          frames.noise_var, keep_history=self.iterations > 1)
        decided = received.bits[None] if received.history is None else received.history
        before = (received.detected > 0) != to_device(frames.words)
        xp = array_module(before)
        return Counts(*map(_to_host, (
            xp.count_nonzero(decided != to_device(frames.bits), axis=2),
            xp.count_nonzero(before, axis=1), received.found, received.iterations,
            received.decoder_iterations)))


def _to_host(values):
    return values.get() if is_device_array(values) else values
