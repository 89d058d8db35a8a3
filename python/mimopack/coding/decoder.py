# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interfaces of encoders and decoders of codewords, for blocks and receivers."""

from abc import ABC, abstractmethod

import numpy as np

from ..arrays import gpu_of, is_device_array, leading_shape, like, native, packed, shaped, stream_of
from ..checks import array
from ..checks import bits as check_bits


class Encoder(ABC):
    """An encoder of batches of codewords, the base class of all encoders.

    A subclass has the attributes and ``_encode(bits)``.

    Attributes:
        num_info, num_bits: number of information bits and of all bits in a codeword.
        information: (num_info,) positions of the information bits in a codeword.
    """

    def encode(self, bits):
        """Encode information bits to codewords.

        Args:
            bits: (n, num_info) uint8, 0 or 1.

        Returns:
            (n, num_bits) uint8.
        """
        return self._encode(check_bits("bits", bits, self.num_info))

    @abstractmethod
    def _encode(self, bits):
        """Encode checked bits."""


class Decoder(ABC):
    """A decoder of batches of codewords, the base class of all decoders.

    To write a decoder, derive a class with ``num_bits`` and ``decode``; ``decode`` sets ``found``
    and ``iterations_taken``. Arrays are NumPy arrays. If ``decode`` also takes a CuPy array, its
    results are CuPy arrays too. The decoders of this package take more, see
    ``ArrayDecoder.decode``.

    LLRs are ln P(1)/P(0). A decoder is not thread-safe.

    Attributes:
        num_bits: number of LLRs per codeword that ``decode`` takes.
        iterations: maximum number of iterations. It may be changed, and has no effect in a decoder
            without iterations.
        threads: number of CPU threads; 0 takes all cores. It may be changed, and has no effect in a
            decoder without threads.
        backend: where the decoder runs, one of ``backends.BACKENDS``.
        last_backend: the backend of the last call: "cpu", "cuda" or "reference"; None before the
            first call.
        on_gpu_failure: see ``backends.BackendChoice``; may be set.
        keep_messages: whether a call continues from the decoder's messages at the end of the last
            call; ``reset`` deletes them.
        queues_only: whether ``decode`` of GPU arrays only queues work on the current stream and
            never waits, so that a CUDA graph can record it.

    Attributes, set by each call:
        bits: (n, k) uint8, decisions on the information bits; None if the decoder does not know
            their positions in a codeword.
        found: (n,) bool, whether decoding succeeded as far as the decoder can tell.
        iterations_taken: (n,) int32, number of iterations.
        erasure_count: number of codewords without usable LLRs (all 0, or not finite). While a GPU
            is still at work, it is an object whose int() waits for the GPU.
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
        """Compute a-posteriori LLRs; an erased codeword gets LLRs of 0.

        To get extrinsic LLRs, subtract the input.

        Args:
            llr: (n, num_bits) float32, C-contiguous; 0 for bits about which nothing is known.

        Returns:
            (n, num_bits) float32.
        """

    def decide(self, llr):
        """Decode llr and return only :meth:`decisions`; this may be faster than ``decode``."""
        return self.decisions(self.decode(llr))

    def decisions(self, posterior):
        """Return ``bits``, or decisions on all bits if ``bits`` is None.

        Args:
            posterior: the result of the last ``decode``.
        """
        if self.bits is not None:
            return self.bits
        with stream_of(posterior):
            return like((native("posterior", posterior) > 0).view(np.uint8), posterior)

    @property
    def erasures(self):
        """``erasure_count`` as a number; waits for the GPU if necessary."""
        return int(self.erasure_count)

    def reset(self):    # noqa: B027 (most decoders keep no messages)
        """Delete the kept messages."""

    def prepare(self, n):    # noqa: B027 (nothing to do without GPU)
        """Do the slow first steps on a GPU now, so that the first ``decode`` is fast.

        These steps are compiling and, for backend "auto", choosing between CPU and GPU for host
        arrays: a random batch is timed on both.

        Args:
            n: number of codewords in a batch.

        Returns:
            A sentence about the choice; None if there was none.
        """


class ArrayDecoder(Decoder):
    """A decoder that takes arrays of any library, batch shape, layout and precision.

    A subclass has ``_decode(llr)``, which decodes C-contiguous float32 rows, (n, num_bits), in a
    NumPy array, or in a CuPy array if the decoder runs on GPUs. ``_decide(llr)`` may replace it if
    only decisions are wanted.
    """

    # The results that have an entry for each codeword, and its axis
    _PER_CODEWORD = (("bits", 0), ("found", 0), ("iterations_taken", 0))

    def decode(self, llr, *, strict=False):
        """Compute a-posteriori LLRs; those of erased codewords are 0.

        The extrinsic LLRs are ``decode(llr) - llr``. llr may be a NumPy array, a CuPy array, a
        PyTorch tensor, a JAX array, or any other that speaks DLPack. It may be strided, of double
        precision, and of any batch shape (...). The decoder makes a C-contiguous array of single
        precision of one that is not. With backends "cuda" and "auto" it may be on the decoder's
        GPU. The decoder then queues its work on the current CUDA stream of CuPy, or of PyTorch for
        its tensors, and returns without waiting for the GPU.

        Args:
            llr: (..., num_bits) floating-point, ln P(1)/P(0); 0 for bits about which nothing is
                known. Divide the int8 LLRs of a detector by its llr_scale.
            strict: whether to refuse what would be copied or converted: only NumPy and CuPy arrays
                pass, C-contiguous, float32, (n, num_bits).

        Returns:
            (..., num_bits) float32, an array of the same library and on the same device as llr. So
            are the attributes that a call sets, with (...) in place of (n,).

        Raises:
            ValueError: llr does not match its description.
            Exception: CuPy's own, if the GPU fails and the CPU does not take over (see
                ``backends``).
        """
        return self._in_rows(self._decode, llr, strict)

    def decide(self, llr, *, strict=False):
        """Decode llr and return only :meth:`decisions`; this may be faster than ``decode``.

        Arguments and errors are those of :meth:`decode`.
        """
        return self._in_rows(self._decide, llr, strict)

    def _in_rows(self, decode, llr, strict):
        """Call a function of rows with LLRs of any form, and give the results their form."""
        if strict:
            return decode(array("llr", llr, np.float32, ("n", self.num_bits), gpu_of(llr)))
        if ((isinstance(llr, np.ndarray) or is_device_array(llr)) and llr.ndim == 2
                and llr.dtype == np.float32 and llr.flags.c_contiguous):
            return decode(llr)
        with stream_of(llr):
            rows = native("llr", llr)
            shape = leading_shape("llr", rows, self.num_bits)
            rows = packed("llr", rows, "f", np.float32).reshape(-1, self.num_bits)
            result = decode(rows)
            for name, axis in self._PER_CODEWORD:
                setattr(self, name, shaped(getattr(self, name), shape, llr, axis))
            return shaped(result, shape, llr)

    @abstractmethod
    def _decode(self, llr):
        """Decode rows, set the attributes of a call, and return a-posteriori LLRs."""

    def _decide(self, llr):
        """Decode rows, set the attributes of a call, and return decisions."""
        return self.decisions(self._decode(llr))


class HardDecoder(Decoder):
    """A decoder with hard decisions: it takes the LLRs of the bits sent and finds ``bits``.

    ``bits`` are the information bits. The LLRs that ``decode`` returns do not express a confidence.
    """

    @abstractmethod
    def decide(self, llr):
        """Decode llr, which has the same form as for ``decode``, and return ``bits``."""


def _passed_on(name):
    return property(lambda self: getattr(self.decoder, name),
                    lambda self, value: setattr(self.decoder, name, value))


class DecoderAround(ArrayDecoder):
    """A decoder that wraps another decoder and exposes the settings of that decoder.

    Attributes:
        decoder: the inner decoder.
    """

    iterations, threads, backend, last_backend, on_gpu_failure = map(
        _passed_on, ("iterations", "threads", "backend", "last_backend", "on_gpu_failure"))

    def __init__(self, decoder, num_bits=None):
        self.decoder = check_decoder("decoder", decoder)
        self.num_bits = decoder.num_bits if num_bits is None else num_bits

    def reset(self):
        self.decoder.reset()

    def prepare(self, n):
        return self.decoder.prepare(n)


def check_decoder(name, value):
    """Check for a :class:`Decoder`."""
    if not isinstance(value, Decoder):
        raise ValueError(f"{name}: got {type(value).__name__}, must be a coding.Decoder")
    return value
