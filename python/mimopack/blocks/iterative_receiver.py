# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block with an iterative receiver: a detector and a decoder that exchange extrinsic LLRs."""

import numpy as np

from .. import coding
from ..backends import BACKENDS
from ..checks import choice, flag, integer
from ..detectors import look_up
from ..iterative import IterativeReceiver, SharedReceiver
from .codeword_modulator import interleaver
from .decoding import Decoding, refuse_reserved
from .detector import BATCH_CANDIDATES
from .fec_encoder import batch_of_codewords
from .rayleigh_channel import period_of
from .settings import Noise
from .streams import batched_block, vector

# Options of detector and decoder that the block refuses: its own parameters, and options that it
# sets.
OF_DETECTOR = {"num_tx", "num_rx", "constellation", "backend", "threads", "extrinsic", "llr_type"}
OF_DECODER = {"iterations", "backend", "device", "threads"}


class iterative_receiver(Decoding, Noise, batched_block):
    """Detect and decode iteratively (``iterative.IterativeReceiver``); each item is one codeword.

    Model: y = H x + n, with num_tx transmit and num_rx receive antennas, n ~ CN(0, noise_var I) or
    n ~ CN(0, noise_cov), and E|x_i|^2 = 1. T consecutive vectors share a channel matrix.

    Ports:
        in 0 ``y``: complex, vlen vectors*num_rx: the received vectors of a codeword, one after
            another. The method ``vectors`` returns the number of vectors per codeword.
            ``codeword_modulator`` describes the contents of a vector.
        in 1 ``h``: complex, vlen vectors/T*num_rx*num_tx: the channel matrices of the codeword, one
            for every T consecutive vectors, each row-major.
        out 0 ``bits``: byte, vlen code.num_info: one information bit per byte. If the codeword is
            not decoded, these are the last decisions.
        out 1 ``found``: byte: 1 if the codeword is decoded, which means that the decoder's checks
            hold (turbo: that both constituent decoders agree).
        out 2 ``iterations``: int: number of passes of detector and decoder for the codeword.
        out 3 ``history`` (with history_output=True): byte, vlen iterations*code.num_info: decisions
            on the information bits after each pass, one pass after another.
        message in ``control``: dictionary with the keys ``noise_var``, ``noise_cov``,
            ``iterations`` and ``threads``, or a pair of one key and its value.
        message out ``status``: dictionary with the totals ``codewords``, ``undecoded``,
            ``erasures``, ``failures``, ``refused_settings`` and ``erased_vectors``, and with
            ``mean_iterations``, at most once a second. The methods of these names return the totals
            too.

    Each input item gives one output item, with its tags. A tag ``noise_var`` or ``noise_cov`` on
    ``y`` sets the noise from the tag's item on; the methods ``set_noise_var`` and ``set_noise_cov``
    set it from the next work() call on. See the detector blocks for the form of ``noise_cov``. A
    vector that cannot be detected (NaN, Inf, noise, rank of H) has no LLRs. A codeword without any
    LLRs is erased: its bits are 0.

    A GPU gets each vector once, and sends back only bits. Backends "cuda" and "auto", and failures
    of a GPU: see the detector blocks.

    Args:
        num_tx, num_rx: number of transmit and of receive antennas.
        constellation: see ``constellation.get``.
        code: see ``fec_encoder``.
        detector: name of a detector, one of ``detectors.names()``, with parameters if wanted, as in
            "nway:num_passes=2"; or a detector's class or object, also a user's (see
            ``detectors.register``). The block makes detectors like the object. More than one pass
            needs a detector with a-priori LLRs and soft output.
        detector_options: dictionary of further keyword arguments of the detector, such as
            {"num_passes": 2}. The key "device" selects the GPU of detector and decoder, or several
            GPUs that share the codewords.
        iterations: maximum number of passes of detector and decoder, 1..1000.
        decoder_iterations: number of the decoder's own iterations per pass; None takes the
            decoder's default.
        decoder_options: dictionary of further keyword arguments of the decoder, such as
            {"algorithm": "offset"}.
        feedback_scale, early_stop: see ``iterative.IterativeReceiver``.
        interleaver_seed: seed of ``coding.RandomInterleaver``, the same as in the transmitter; None
            for no interleaver.
        noise_var: noise power per complex receive dimension, linear.
        noise_cov: (num_rx, num_rx) covariance of the noise, which takes the place of noise_var
            until a message or tag sets noise_var; or None.
        symbols_per_channel: T. It must divide the number of vectors per codeword.
        history_output: whether the block has the output ``history``. ``set_iterations`` then
            refuses more than the initial ``iterations``.
        backend: "auto", "cpu", "cuda" or "reference" (NumPy, slow), see ``backends``.
        threads: number of CPU threads; 0 takes all cores.

    Raises:
        ValueError: an argument does not match its description or does not fit the others.
        OSError: the file of a code cannot be read.
        ImportError: backend is "cuda" and there is no CuPy.
    """

    CONTROLS = ("noise_var", "noise_cov", "iterations", "threads")
    TOTALS = (*Decoding.TOTALS, "erased_vectors")
    ERASED = "NaN, Inf, noise, rank of H, or a failure"

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", code="wimax:2304:1/2",
                 detector="mmsepic", detector_options=None, iterations=4, decoder_iterations=None,
                 decoder_options=None, feedback_scale=0.6, early_stop=True, interleaver_seed=1,
                 noise_var=0.1, symbols_per_channel=1, history_output=False, backend="auto",
                 threads=0, noise_cov=None):
        self._code = coding.get(code)
        factory = look_up(detector)
        kind = factory.kind
        refuse_reserved("detector_options", detector_options or {}, OF_DETECTOR)
        refuse_reserved("decoder_options", decoder_options or {}, OF_DECODER)
        of_detector = factory.keywords | (detector_options or {})
        if kind.takes_feedback(**of_detector):
            of_detector["extrinsic"] = True
        of_decoder = dict(decoder_options or {})
        if decoder_iterations is not None:
            of_decoder["iterations"] = decoder_iterations
        permutation = interleaver(interleaver_seed, self._code.num_bits)

        backend = choice("backend", backend, BACKENDS)

        def make_receiver(*device):
            own = {**of_detector, **({"device": device[0]} if device else {})}
            where = "cuda" if device else "reference" if backend == "reference" else "cpu"
            made = factory.make(num_tx, num_rx, constellation, backend=where, **own)
            decoder = self._code.decoder(device=made.devices[0], backend=where, **of_decoder)
            return IterativeReceiver(made, decoder, permutation, iterations, early_stop,
                                     feedback_scale)

        device = of_detector.get("device", 0)
        devices = device if isinstance(device, list | tuple) else [device]
        on_gpu = backend == "cuda" or backend == "auto" and not kind.IN_PYTHON
        self._begin(SharedReceiver(make_receiver, devices if on_gpu else None, threads, backend))
        self._erased_vectors = 0
        self._set_noise(num_rx, noise_var, noise_cov)
        self._most = iterations if flag("history_output", history_output) else 1000
        self._shape = num_rx, num_tx
        vectors = self.vectors()
        self._period = period_of(symbols_per_channel, vectors)
        inputs = [(np.complex64, vectors * num_rx),
                  (np.complex64, vectors // self._period * num_rx * num_tx)]
        outputs = [(np.uint8, self._code.num_info), (np.uint8, 1), (np.int32, 1)]
        if history_output:
            outputs.append((np.uint8, iterations * self._code.num_info))
        largest = max(np.dtype(kind).itemsize * width for kind, width in (*inputs, *outputs))
        candidates = self._engine.receiver.detector.candidates * vectors * iterations
        # Limit a call's work: a flowgraph can stop only between two calls.
        batch = max(1, min(batch_of_codewords(largest), BATCH_CANDIDATES // candidates))
        batched_block.__init__(self, "iterative_receiver", [vector(*port) for port in inputs],
                               [vector(*port) for port in outputs], batch)
        self.set_max_noutput_items(batch)
        self._register_ports()

    def vectors(self):
        """Return the number of vectors per codeword."""
        return self._engine.layout.vectors

    def set_iterations(self, iterations):
        """Set the maximum number of passes, from the next work() call on."""
        self._engine.iterations = integer("iterations", iterations, 1, self._most)

    def iterations(self):
        return self._engine.iterations

    def erased_vectors(self):
        """Return the number of vectors that could not be detected since the block was made."""
        return self._erased_vectors

    def work(self, input_items, output_items):
        n = len(output_items[0])
        try:
            results = self._receive(*input_items, len(output_items) > 3)
        except Exception as error:
            self._codewords += n
            self._fail(n, "codewords", error)
            results = map(np.zeros_like, output_items)
        for out, values in zip(output_items, results, strict=True):
            out[...] = values.reshape(out.shape)
        self._report()
        return n

    def _receive(self, y, h, keep_history):
        """Return the values of the outputs."""
        vectors = self.vectors()
        noise = self._noise(len(y), vectors, vectors // self._period)
        decided = self._engine.receive(
            y.reshape(-1, self._shape[0]), h.reshape(-1, *self._shape), keep_history=keep_history,
            **noise)
        outputs = [decided.bits, decided.found, decided.iterations]
        if keep_history:
            history = decided.history.transpose(1, 0, 2)
            missing = self._most - history.shape[1]    # if set_iterations lowered the number
            outputs.append(np.pad(history, ((0, 0), (0, missing), (0, 0)), "edge"))
        self._erased_vectors += decided.erasures
        self._count(len(y), decided.found, decided.iterations, decided.erased)
        return outputs

    def start(self):
        self._prepare(self._batch, self._period)
        return batched_block.start(self)
