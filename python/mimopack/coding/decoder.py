# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every decoder of codewords offers to blocks, receivers and other decoders."""

from abc import ABC, abstractmethod

import numpy as np


class Decoder(ABC):
    """A decoder of codewords, in batches; for one thread at a time.

    A decoder of one's own is a subclass with ``num_bits`` and ``decode``, which sets ``found`` and
    ``iterations_taken``. Arrays are NumPy's, or CuPy's where ``decode`` takes them, in which case
    it sets and returns such arrays.

    LLRs are ln P(1)/P(0).

    Attributes:
        num_bits: LLRs of a codeword that ``decode`` takes.
        iterations: at most, and
        threads: of the CPU, 0 for all cores; both may be changed, and are of no effect in a
            decoder that has no use for them.
        backend: where it works, one of ``backends.BACKENDS``.
        last_backend: what the last call worked on, "cpu", "cuda" or "reference"; None before.
        on_gpu_failure: see ``backends.Placement``; may be set.
        keep_messages: whether a call goes on from what the last one has found, which ``reset``
            forgets.
        queues_only: whether, for arrays of a GPU, ``decode`` queues work on the current stream and
            waits for nothing, so that a CUDA graph can record it.

    Attributes, of the last call:
        bits: (n, k) uint8, decisions on the information bits; None in a decoder that does not know
            where in a codeword they are.
        found: (n,) bool, whether the codeword is taken to be found.
        iterations_taken: (n,) int32.
        erasure_count: how many codewords had no usable LLRs; what int() makes that of, waiting for
            the GPU, where it is not known yet.
    """

    num_bits: int
    iterations = 1
    threads = 0
    backend = "cpu"
    last_backend = on_gpu_failure = None
    keep_messages = queues_only = False
    bits = None
    found = np.zeros(0, bool)
    iterations_taken = np.zeros(0, np.int32)
    erasure_count = 0

    @abstractmethod
    def decode(self, llr):
        """Return a-posteriori LLRs, (n, num_bits) float32, those of erased codewords 0; less those
        that came in they are the extrinsic ones.

        Args:
            llr: (n, num_bits) float32, C-contiguous; 0 for bits of which nothing is known.
        """

    def decide(self, llr):
        """Return decisions alone, which may take less time than ``decode``: those of
        :meth:`decisions`."""
        return self.decisions(self.decode(llr))

    def decisions(self, posterior):
        """Return ``bits``, or where there are none decisions on all bits.

        Args:
            posterior: what the last ``decode`` has returned.
        """
        return (posterior > 0).view(np.uint8) if self.bits is None else self.bits

    @property
    def erasures(self):
        """``erasure_count`` as a number; waits for the GPU where it has to."""
        return int(self.erasure_count)

    def reset(self):    # noqa: B027 (most decoders keep none)
        """Forget kept messages."""

    def configuration(self):
        """Return what its speed depends on, but for the machine: a dict for JSON."""
        return {"decoder": type(self).__name__, "num_bits": self.num_bits,
                "iterations": self.iterations}

    def prepare(self, n):    # noqa: B027 (where there is no GPU nothing is to be done)
        """Do ahead of many batches of n codewords what the first would do first where there is a
        GPU: compile, and choose (backend "auto"). Takes seconds, or next to nothing when that was
        done before."""


class HardDecoder(Decoder):
    """A decoder that decides: it takes LLRs of what is sent of a codeword and finds ``bits``, those
    of information. The LLRs that its ``decode`` returns say nothing of how sure it is."""

    @abstractmethod
    def decide(self, llr):
        """Return ``bits``; llr as for ``decode``."""


def _passed_on(name):
    return property(lambda self: getattr(self.decoder, name),
                    lambda self, value: setattr(self.decoder, name, value))


class DecoderAround(Decoder):
    """A decoder around another, whose settings it has.

    Attributes:
        decoder: the other one.
    """

    iterations, threads, backend, last_backend, on_gpu_failure = map(
        _passed_on, ("iterations", "threads", "backend", "last_backend", "on_gpu_failure"))

    def __init__(self, decoder, num_bits=None):
        self.decoder = decoder
        self.num_bits = decoder.num_bits if num_bits is None else num_bits

    def reset(self):
        self.decoder.reset()

    def configuration(self):
        return {**super().configuration(), "of": self.decoder.configuration()}

    def prepare(self, n):
        self.decoder.prepare(n)


class _Foreign(Decoder):
    """A decoder made of an object with ``num_bits``, ``decode``, ``found`` and
    ``iterations_taken``, and perhaps ``bits``, ``erasures`` and ``keep_messages``."""

    def __init__(self, decoder):
        self.decoder, self.num_bits = decoder, decoder.num_bits
        self.keep_messages = getattr(decoder, "keep_messages", False)
        self._threads = 0

    @property
    def threads(self):
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = self.decoder.threads = threads

    def decode(self, llr):
        posterior = self.decoder.decode(llr)
        self.found, self.iterations_taken = self.decoder.found, self.decoder.iterations_taken
        self.bits = getattr(self.decoder, "bits", None)
        self.erasure_count = getattr(self.decoder, "erasures", 0)
        return posterior

    def reset(self):
        if self.keep_messages:
            self.decoder.reset()


def as_decoder(decoder):
    """Return a decoder itself, and around any other object with ``num_bits``, ``decode`` and, set
    by it, ``found`` and ``iterations_taken`` one that receivers can use."""
    return decoder if isinstance(decoder, Decoder) else _Foreign(decoder)
