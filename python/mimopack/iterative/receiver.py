# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The iterative receiver: the loop of detector and decoder."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..arrays import array_module, gpu_of, is_device_array, shaped, stream_of
from ..checks import array, flag, integer, positive
from ..coding.decoder import check_decoder
from ..coding.list_decoder import ListDecoder
from ..detectors import ZFSIC, BitFlip, hard_decisions
from ..detectors.arguments import AnyArguments
from ..detectors.lookup import as_detector
from .batch import Batch, take_rows
from .graphs import Graphs
from .layout import CodewordLayout

# A-priori LLR of a known bit, and the limit for LLRs from a decoder. It is larger than any LLR from
# a channel and far below the limit of float32.
CERTAIN = 100.0


@dataclass(frozen=True)
class Received:
    """The result of an :class:`IterativeReceiver` for n codewords.

    The batch shape of the codewords takes the place of n if they have one. The arrays are of the
    same library and on the same device as y.

    Attributes:
        posterior: (n, num_bits) float32, the decoder's last a-posteriori LLRs of all bits sent.
        bits: (n, k) uint8, decisions on the information bits (on all bits sent if the decoder has
            no ``bits``).
        found: (n,) bool, whether the decoder was successful in the last pass (see
            :class:`coding.Decoder`).
        iterations: (n,) int32, number of passes of detector and decoder.
        decoder_iterations: (n,) int32, number of the decoder's own iterations in all passes.
        detected: (n, num_bits) float32, the detector's first LLRs of all bits sent.
        history: (iterations, n, k) uint8, decisions on the same bits after each pass, or None.
            Codewords that have left the batch keep their last decisions.
        erasures: number of vectors that the detector could not detect; 0 if ``receive`` was given
            the first LLRs.
        erased: number of codewords that had no usable LLRs in the last pass.
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

    In each pass the detector computes LLRs, and the decoder decodes them after de-interleaving. The
    decoder's extrinsic LLRs (its a-posteriori LLRs minus its input) are interleaved and become the
    detector's a-priori LLRs in the next pass. From the second pass on, the detector subtracts the
    a-priori LLRs from its output. With ``BitFlip`` as detector this is the receiver of 002 (fig.
    5): its candidate list starts from ZF-SIC's solution, and each later pass adds the list that
    starts from the decoder's decisions. With ``ListDecoder(..., keep_candidates=True)`` as decoder,
    each pass also adds the lists that start from the decoder's candidates, the outlook of 002.

    A receiver is not thread-safe.

    Args:
        detector: a detector of ``detectors`` with float32 LLRs, which for more than one pass must
            take a-priori LLRs and have ``extrinsic=True``; or a user's object with the attributes
            num_tx, num_rx and constellation (see ``detectors.register``). The receiver uses a copy
            of the user's object.
        decoder: ``coding.get(name).decoder()``, or any other :class:`coding.Decoder` of the LLRs
            of all bits sent. A decoder with ``keep_messages`` keeps its messages from pass to pass
            and requires early_stop=False.
        interleaver: see :class:`CodewordLayout`. From the second pass on, the detector knows the
            zeros that fill up a codeword's last vector.
        iterations: maximum number of passes; 1 decodes without feedback.
        early_stop: whether codewords leave the batch when they are ``found``; the others continue
            in a smaller batch. With CuPy arrays the host then waits for the GPU after each pass to
            count the remaining codewords; without early_stop it waits only after the last pass.
        feedback_scale: factor for the decoder's extrinsic LLRs, which are then clipped to +-100.
            002 uses 1, but the LLRs of max-log detectors and min-sum decoders are too large. A
            smaller factor suits detectors whose candidates do not depend on the a-priori LLRs: bit
            flipping works best with 0.4.
        last_decoder: decoder for the last pass, such as a ``coding.ListDecoder`` for the remaining
            codewords; None for ``decoder``.
        graphs: whether to record the GPU work as a CUDA graph and replay it, for CuPy arrays of up
            to 512 codewords. For such batches the host needs longer to queue the work than the GPU
            to do it. Replay requires early_stop=False, one of this package's decoders for all
            passes, no kept messages, a whole number of matrices per codeword, no ``first``, and a
            detector other than ``BitFlip``. After a replay the attributes of detector and decoder
            do not describe the last batch.
    """

    def __init__(self, detector, decoder, interleaver=None, iterations=4, early_stop=True,
                 feedback_scale=0.6, last_decoder=None, graphs=True):
        detector = as_detector(detector)
        self.detector, self.decoder = detector, check_decoder("decoder", decoder)
        self.iterations = iterations
        if detector.llr_dtype != np.float32:
            raise ValueError(f"detector: got {detector.name} with llr_type={detector.llr_dtype}, "
                             "must be float32")
        self.early_stop = flag("early_stop", early_stop)
        self._keeps = self.decoder.keep_messages
        if self._keeps and self.early_stop:
            raise ValueError("decoder: got keep_messages=True, which requires early_stop=False: "
                             "kept messages need the same codewords in each pass")
        self.feedback_scale = positive("feedback_scale", feedback_scale)
        self.last_decoder = (decoder if last_decoder is None
                             else check_decoder("last_decoder", last_decoder))
        if self.last_decoder.num_bits != decoder.num_bits:
            raise ValueError(f"last_decoder: got {self.last_decoder.num_bits} bits, must have the "
                             f"{decoder.num_bits} bits of decoder")
        self.layout = CodewordLayout(decoder.num_bits, detector.bits_per_vector, interleaver)
        zeros = np.zeros(detector.num_rx, np.complex64)    # received if all bits are 0
        zeros[:detector.num_tx] = [points.points[0] for points in detector.layers]
        self._graphs = Graphs(self.layout, zeros) if flag("graphs", graphs) else None
        self._first = (ZFSIC(detector.num_tx, detector.num_rx, detector.constellation,
                             ordering=detector.ordering, backend=detector.backend,
                             device=detector.device, threads=detector.threads)
                       if isinstance(detector, BitFlip) else None)

    @property
    def iterations(self):
        """Maximum number of passes; may be changed."""
        return self._iterations

    @iterations.setter
    def iterations(self, iterations):
        if integer("iterations", iterations, 1, 1000) > 1:
            _check_feedback(self.detector)
        self._iterations = iterations

    @property
    def threads(self):
        """Number of CPU threads of detector and decoder; 0 takes all cores. May be changed."""
        return self.detector.threads

    @threads.setter
    def threads(self, threads):
        for part in filter(None, (self.detector, self.decoder, self.last_decoder, self._first)):
            part.threads = threads

    def codewords(self, y):
        """Return the number of codewords in y.

        Raises:
            ValueError: y is not a whole number of codewords.
        """
        return prod(self._codewords(np.shape(y)))

    def _codewords(self, shape):
        """Return the batch shape of the codewords in y, from the shape of y."""
        vectors, batch = self.layout.vectors, shape[:-1]
        if len(batch) == 1 and batch[0] % vectors == 0:
            return (batch[0] // vectors,)
        if len(batch) > 1 and batch[-1] == vectors:
            return batch[:-1]
        raise ValueError(f"y: got shape {shape}, must be (n * {vectors}, nr) or (..., {vectors}, "
                         f"nr), whole codewords of {vectors} vectors")

    def receive(self, y, h, noise_var=None, keep_history=False, first=None, *, noise_cov=None,
                strict=False):
        """Detect and decode a batch of codewords.

        The arrays may be those of any library, layout and precision, as for ``Detector.detect``.

        Args:
            y: (n * layout.vectors, nr) complex: n codewords one after another, in the layout's
                order. Or (..., layout.vectors, nr), codewords of any batch shape (...).
            h, noise_var, noise_cov: as for ``Detector.detect``. A matrix that belongs to several
                vectors is repeated unless these follow each other.
            keep_history: whether to return the decisions after each pass.
            first: LLRs for the first pass, if they have already been computed, in the shape that
                ``Detector.detect`` returns; None runs the detector.
            strict: whether to refuse what would be copied or converted, as ``Detector.detect``
                does.

        Returns:
            :class:`Received`

        Raises:
            ValueError: an argument does not match its description.
            Exception, KeyboardInterrupt: as in the detector and the decoder.
        """
        with stream_of(y):
            rows = None
            try:
                batch = self._batch(y, h, noise_var, noise_cov, first)
            except ValueError:
                if strict:
                    raise
                rows = AnyArguments(self.detector, y, h, noise_var, None, noise_cov, in_order=True)
                shape = self._codewords((*rows.shape, self.detector.num_rx))
                if first is not None:
                    first = rows.llrs("first", first, self.detector)
                batch = self._batch(rows.y, rows.h, rows.noise_var, rows.noise_cov, first)
            *arrays, history, counts = self._received(batch, keep_history, first)
            if rows:
                arrays = [shaped(values, shape, y) for values in arrays]
                history = shaped(history, shape, y, axis=1)
            return Received(*arrays, history, *map(int, counts))

    def _batch(self, y, h, noise_var, noise_cov, first):
        """Check arguments as with ``strict=True``, and return a :class:`Batch`."""
        self.detector.checked(y, h, noise_var, None, noise_cov)
        self._codewords(y.shape)
        if first is not None:
            array("first", first, np.float32, (len(y), self.layout.bits_per_vector), gpu_of(y))
        return Batch(y, h, noise_var, self.layout.vectors, noise_cov)

    def _received(self, batch, keep_history, first):
        """Run or replay all passes; return the arrays of :class:`Received`, and its counts."""
        n = len(batch.y) // self.layout.vectors
        if first is None and is_device_array(batch.y) and self._may_record(batch, n):
            arrays, counts = self._graphs.receive(
                self._passes, batch, n, (keep_history,), self.iterations, self.feedback_scale,
                self.decoder.iterations, self.detector, self.detector.label, self.decoder)
        else:
            arrays, counts = self._passes(batch, keep_history, first)
        return *arrays, counts

    def _may_record(self, batch, n):
        return (self._graphs and not self.early_stop and not self._keeps and self._first is None
                and self.last_decoder is self.decoder and self.decoder.queues_only
                and n and self._graphs.takes(n, len(batch.h)))

    def _passes(self, batch, keep_history, first=None):
        """Run all passes and return the arrays and the counts of :class:`Received`.

        int() of a count may wait for the GPU.
        """
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
            listed = decoder.candidates if isinstance(decoder, ListDecoder) else None
            if self.early_stop:
                going = xp.flatnonzero(~decoder.found)
                if not len(going):
                    if keep_history:
                        history[index + 1:] = bits
                    break
                left = going if index == 0 else left[going]
                batch, extrinsic = batch.take(going), extrinsic[going]
                hard = hard if hard is None else take_rows(hard, going, vectors, axis=1)
                listed = listed if listed is None else listed[:, going]
            extrinsic *= np.float32(self.feedback_scale)
            # without a limit they would grow from pass to pass until a decoder saturates
            xp.clip(extrinsic, -CERTAIN, CERTAIN, out=extrinsic)
            prior = self.layout.spread(extrinsic, fill=-CERTAIN)
            hard = self._candidates(batch, posterior[left], listed, hard)
        if erasures is None:
            erasures = self.detector.erasure_count
        return ((posterior, bits, found, passes, taken, detected, history),
                (erasures, decoder.erasure_count))

    def _detect(self, batch, prior, hard):
        extras = {} if hard is None else {"hard": hard}
        return batch.detected(self.detector, prior=prior, **extras)

    def _candidates(self, batch, posterior, listed, hard):
        """Return BitFlip's hard solutions so far: ZF-SIC's, then the decoder's of each pass.

        ``listed`` are the candidates of a list decoder, or None.
        """
        if self._first is None:
            return None
        xp = array_module(posterior)
        if hard is None:
            hard = hard_decisions(batch.detected(self._first))[None]
        solutions = hard_decisions(posterior)[None]
        if listed is not None:
            solutions = xp.concatenate([solutions, listed])
        return xp.concatenate([hard, self.layout.spread(
            solutions.reshape(-1, solutions.shape[2])).reshape(len(solutions), *hard.shape[1:])])


def _check_feedback(detector):
    """Raise ValueError if the detector cannot use a decoder's LLRs."""
    if not detector.takes_feedback(**detector.given):
        raise ValueError(f"detector: {detector.name} "
                         + ("has hard output without soft=True" if detector.SUPPORTS_PRIOR
                            else "takes no a-priori LLRs")
                         + "; use iterations=1, or a detector with a-priori LLRs and soft output "
                           "(mmsepic, nway, softsphere, ...)")
    if not detector.extrinsic:
        raise ValueError(f"detector: got {detector.name} with extrinsic=False, must be "
                         "extrinsic=True for feedback from a decoder")
