# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop of detector and decoder."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import array_module, is_device_array
from ..checks import flag, integer, positive
from ..coding.decoder import as_decoder
from ..detectors import ZFSIC, BitFlip, hard_decisions
from .batch import Batch, take_rows
from .graphs import Graphs
from .layout import CodewordLayout

# The a-priori LLR of a bit that is known, and the largest that a decoder's become: beyond all that
# channels say, far from float32's end.
CERTAIN = 100.0


@dataclass(frozen=True)
class Received:
    """What an :class:`IterativeReceiver` made of n codewords.

    Attributes:
        posterior: (n, num_bits) float32, the decoder's last a-posteriori LLRs of all bits sent.
        bits: (n, k) uint8, decisions on the information bits (on all bits sent where the decoder
            has no ``bits``).
        found: (n,) bool, what the decoder said last (LDPC: whether all checks hold).
        iterations: (n,) int32, passes of detector and decoder.
        decoder_iterations: (n,) int32, the decoder's own, of all passes together.
        detected: (n, num_bits) float32, the detector's first LLRs of all bits sent.
        history: (iterations, n, k) uint8, decisions on the same bits after each pass, or None.
            Codewords that have left keep theirs.
        erasures: vectors that the detector could not detect; 0 where ``receive`` was given its
            first LLRs.
        erased: codewords of which the decoder said last that they have no LLRs.
    """

    posterior: Any
    bits: Any
    found: Any
    iterations: Any
    decoder_iterations: Any
    detected: Any
    history: Any
    erasures: int
    erased: int


class IterativeReceiver:
    """Iterative detection and decoding of bit-interleaved coded modulation (ID-BICM, 002 §2).

    The detector's LLRs, de-interleaved, go to the decoder; the decoder's extrinsic LLRs (its
    a-posteriori ones less what it was given), interleaved, are the detector's a-priori LLRs in
    the next pass, whose extrinsic LLRs go to the decoder, and so on. With ``BitFlip`` as detector
    this is 002's own receiver (fig. 5): its list starts from ZF-SIC's solution, and in each
    further pass the list that starts from the decoder's decisions is added.

    Arrays are NumPy's, or CuPy's where detector and decoder take them. An object serves one
    thread at a time.

    Args:
        detector: of ``detectors``; for more than one pass one that takes a-priori LLRs, with
            ``extrinsic=True``. float32 LLRs.
        decoder: ``coding.get(name).decoder()``, another :class:`coding.Decoder`, or any object with
            ``num_bits``, ``decode(llr)`` (LLRs of all bits sent, (n, num_bits) float32, to
            a-posteriori ones) and, of the last ``decode``, ``found`` and ``iterations_taken``, (n,)
            each, and maybe ``bits``, (n, k) uint8, the information bits; all arrays of the same
            kind. With ``keep_messages`` it goes on from its messages from pass to pass, for which
            early_stop must be False.
        interleaver: see :class:`CodewordLayout`. Zeros that fill a codeword's last vector
            are known to the detector from the second pass on.
        iterations: passes, at most; 1 decodes without feedback.
        early_stop: whether codewords leave when they are ``found``; the others go on in a smaller
            batch. With CuPy's arrays the host waits for the GPU after each pass to know how many
            are left; without it, only after the last.
        feedback_scale: what the decoder's extrinsic LLRs are multiplied by, which then count as
            100 where they are larger. Max-log detectors and min-sum decoders make them too large,
            most of all for detectors whose candidates do not depend on them: bit flipping wants
            0.4. 002 has 1.
        last_decoder: of the last pass, such as a ``coding.ListDecoder`` for the codewords that are
            then left; None for ``decoder``.
        graphs: whether what a GPU does for CuPy's arrays of up to 512 codewords may be recorded
            and played again (CUDA graphs), where the host takes longer to say what to do than the
            GPU to do it. That needs early_stop=False, one of this package's decoders for all
            passes, no kept messages, whole matrices for each codeword, no ``first``, and another
            detector than ``BitFlip``. The attributes of detector and decoder then say nothing of
            the last batch.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, detector, decoder, interleaver=None, iterations=4, early_stop=True,
                 feedback_scale=0.6, last_decoder=None, graphs=True):
        self.detector, self.decoder = detector, as_decoder(decoder)
        self.iterations = iterations
        if detector.llr_dtype != np.float32:
            raise ValueError(f"detector: got {detector.name} with llr_type={detector.llr_dtype}, "
                             "must be float32")
        self.early_stop = flag("early_stop", early_stop)
        self._keeps = self.decoder.keep_messages
        if self._keeps and self.early_stop:
            raise ValueError("decoder: got keep_messages=True, allowed with early_stop=False: its "
                             "messages are of the same codewords in each pass")
        self.feedback_scale = positive("feedback_scale", feedback_scale)
        self.last_decoder = self.decoder if last_decoder is None else as_decoder(last_decoder)
        if self.last_decoder.num_bits != decoder.num_bits:
            raise ValueError(f"last_decoder: got one of {self.last_decoder.num_bits} bits, must "
                             f"be of {decoder.num_bits}, as decoder is")
        self.layout = CodewordLayout(decoder.num_bits, detector.bits_per_vector, interleaver)
        self._graphs = (Graphs(self.layout, detector.constellation.points[0])
                        if flag("graphs", graphs) else None)
        self._first = (ZFSIC(detector.num_tx, detector.num_rx, detector.constellation,
                             ordering=detector.ordering, backend=detector.backend,
                             device=detector.device, threads=detector.threads)
                       if isinstance(detector, BitFlip) else None)

    @property
    def iterations(self):
        """Passes, at most; may be changed."""
        return self._iterations

    @iterations.setter
    def iterations(self, iterations):
        if integer("iterations", iterations, 1, 1000) > 1:
            _check_feedback(self.detector)
        self._iterations = iterations

    @property
    def threads(self):
        """CPU threads of detector and decoder, 0 for all cores; may be changed."""
        return self.detector.threads

    @threads.setter
    def threads(self, threads):
        for part in filter(None, (self.detector, self.decoder, self.last_decoder, self._first)):
            part.threads = threads

    def codewords(self, y):
        """How many y has; ValueError where it has not whole ones."""
        vectors = self.layout.vectors
        if np.ndim(y) != 2 or len(y) % vectors:
            raise ValueError(f"y: got shape {np.shape(y)}, must be (n * {vectors}, nr), whole "
                             f"codewords of {vectors} vectors")
        return len(y) // vectors

    def receive(self, y, h, noise_var, keep_history=False, first=None):
        """Detect and decode a batch of codewords.

        Args:
            y: (n * layout.vectors, nr) complex64: n codewords, in the layout's order.
            h, noise_var: as for ``Detector.detect``.
            keep_history: whether the decisions after each pass are wanted.
            first: (n * layout.vectors, nt*m) float32, LLRs for the first pass where a detector has
                found them already; None detects.

        Returns:
            :class:`Received`

        Raises:
            ValueError: an argument is not as above.
        """
        n = self.codewords(y)
        if first is not None and first.shape != (len(y), self.layout.bits_per_vector):
            raise ValueError(f"first: got shape {first.shape}, must be "
                             f"({len(y)}, {self.layout.bits_per_vector})")
        batch = Batch(y, h, noise_var, self.layout.vectors)
        if first is None and is_device_array(y) and self._may_record(batch, n):
            self.detector.checked(y, h, noise_var, None)
            arrays, counts = self._graphs.receive(
                self._passes, batch, n, (keep_history,), self.iterations, self.feedback_scale,
                self.decoder.iterations, self.detector, self.decoder)
        else:
            arrays, counts = self._passes(batch, keep_history, first)
        return Received(*arrays, *map(int, counts))

    def _may_record(self, batch, n):
        return (self._graphs and not self.early_stop and not self._keeps and self._first is None
                and self.last_decoder is self.decoder and self.decoder.queues_only
                and n and self._graphs.takes(n, len(batch.h)))

    def _passes(self, batch, keep_history, first=None):
        """The arrays of :class:`Received`, and its counts, of which int() may wait for the GPU."""
        xp, vectors = array_module(batch.y), self.layout.vectors
        n = len(batch.y) // vectors
        left = slice(None)    # the codewords that the batch still has
        found, passes, taken = xp.zeros(n, bool), xp.zeros(n, np.int32), xp.zeros(n, np.int32)
        prior = hard = history = None
        if self._keeps:
            self.decoder.reset()
        for index in range(self.iterations):
            given = first if index == 0 else None
            llr = self.layout.gather(self._detect(batch, prior, hard) if given is None else given)
            decoder = self.decoder if index + 1 < self.iterations else self.last_decoder
            decoded = decoder.decode(llr)
            if index == 0:
                detected, posterior, bits = llr, decoded, decoder.decisions(decoded)
                erasures = None
                if given is not None:
                    erasures = 0
                elif self.early_stop:
                    erasures = self.detector.erasures
                if keep_history:
                    history = xp.empty((self.iterations, *bits.shape), np.uint8)
            else:
                posterior[left], bits[left] = decoded, decoder.decisions(decoded)
            found[left] = decoder.found
            passes[left] += 1
            taken[left] += decoder.iterations_taken
            if keep_history:
                history[index] = bits
            if index + 1 == self.iterations:
                break
            extrinsic = decoded - llr
            if self.early_stop:
                going = xp.flatnonzero(~decoder.found)
                if not len(going):
                    if keep_history:
                        history[index + 1:] = bits
                    break
                left = going if index == 0 else left[going]
                batch, extrinsic = batch.take(going), extrinsic[going]
                hard = hard if hard is None else take_rows(hard, going, vectors, axis=1)
            extrinsic *= np.float32(self.feedback_scale)
            # or they would grow from pass to pass, up to where a decoder saturates
            xp.clip(extrinsic, -CERTAIN, CERTAIN, out=extrinsic)
            prior = self.layout.spread(extrinsic, fill=-CERTAIN)
            hard = self._candidates(batch, posterior, left, hard)
        if erasures is None:
            erasures = self.detector.erasure_count
        return ((posterior, bits, found, passes, taken, detected, history),
                (erasures, decoder.erasure_count))

    def _detect(self, batch, prior, hard):
        extras = {} if hard is None else {"hard": hard}
        return self.detector.detect(batch.y, batch.h, batch.noise_var, prior=prior, **extras)

    def _candidates(self, batch, posterior, left, hard):
        """BitFlip's hard solutions so far: ZF-SIC's, then the decoder's of each pass."""
        if self._first is None:
            return None
        xp = array_module(posterior)
        if hard is None:
            hard = hard_decisions(self._first.detect(batch.y, batch.h, batch.noise_var))[None]
        return xp.concatenate([hard, self.layout.spread(hard_decisions(posterior[left]))[None]])


def _check_feedback(detector):
    """ValueError where the detector has no use for a decoder's LLRs."""
    if not detector.SUPPORTS_PRIOR or detector.HARD:
        raise ValueError(f"detector: {detector.name} "
                         + ("decides hard" if detector.HARD else "takes no a-priori LLRs")
                         + "; allowed are iterations=1, or a detector that takes them and gives "
                           "soft output (mmsepic, nway, softsphere, ...)")
    if not detector.extrinsic:
        raise ValueError(f"detector: got {detector.name} with extrinsic=False, must be "
                         "extrinsic=True where a decoder's LLRs come back")
