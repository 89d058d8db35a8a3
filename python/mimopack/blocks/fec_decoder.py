# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that decode LLRs to information bits."""

import numpy as np
import pmt
from gnuradio import gr

from .. import coding
from .._runtime import to_pmt
from ..checks import choice, flag, integer, positive
from .decoding import Decoding, refuse_reserved
from .fec_encoder import IN, OUT, batch_of_codewords, codewords, pdu_parts
from .message_stream import Listening
from .streams import batched_block, vector

LLR = pmt.intern("llr")
# Parameters of the block, and keep_messages, which would feed the messages of one batch into the
# next, which has other codewords.
RESERVED = {"iterations", "backend", "threads", "keep_messages"}
# {llr_type: NumPy type of an LLR}
LLR_TYPES = {"float32": np.float32, "int8": np.int8}


class _LlrDecoding(Decoding):
    """The common part of the decoder blocks."""

    CONTROLS = ("iterations", "threads")

    def _make_decoder(self, code, iterations, llr_scale, backend, threads, options):
        self._code = coding.get(code)
        self._step = np.float32(1 / positive("llr_scale", llr_scale))
        options = dict(options or {})
        refuse_reserved("options", options, RESERVED)
        if iterations is not None:
            options["iterations"] = iterations
        self._begin(self._code.decoder(**options, backend=backend, threads=threads))

    def set_iterations(self, iterations):
        """Set the maximum number of iterations, 1..10000; None leaves the number unchanged."""
        if iterations is not None:
            self._engine.iterations = integer("iterations", iterations, 1, 10_000)

    def iterations(self):
        return self._engine.iterations

    def _decode(self, llr):
        """Return (bits, a-posteriori LLRs); zeros if the decoder fails.

        The LLRs may be None if the block has no output for them.
        """
        if llr.dtype == np.int8:
            llr = llr * self._step
        n, decoder = len(llr), self._engine
        try:
            posterior = decoder.decode(llr) if self._llr_output else None
            bits = decoder.decisions(posterior) if self._llr_output else decoder.decide(llr)
            self._count(n, decoder.found, decoder.iterations_taken, decoder.erasures)
        except Exception as error:
            self._codewords += n
            self._fail(n, "codewords", error)
            return np.zeros((n, self._code.num_info), np.uint8), np.zeros_like(llr)
        return bits, posterior


class fec_decoder(_LlrDecoding, batched_block):
    """Decode LLRs of a block code into information bits; each item is one codeword.

    Ports:
        in 0 ``llr``: float (or int8), vlen code.num_bits: ln P(1)/P(0) of the coded bits, as the
            detectors send them.
        out 0 ``bits``: byte, vlen code.num_info: one bit per byte.
        out 1 ``llr`` (with llr_output=True): float, vlen code.num_bits: a-posteriori LLRs of all
            coded bits. For extrinsic LLRs, subtract the input.
        message in ``control``: dictionary with the keys ``iterations`` and ``threads``, or a pair
            of one key and its value.
        message out ``status``: dictionary with the totals ``codewords``, ``undecoded``,
            ``erasures``, ``failures`` and ``refused_settings``, and with ``mean_iterations``, at
            most once a second. The methods of these names return the totals too.

    Each input item gives one output item, with its tags. A codeword is erased if an LLR is NaN or
    infinite, or if all its LLRs are 0: its bits and output LLRs are 0. A codeword that violates a
    check after the last iteration is undecoded: its bits are the decoder's last decisions.
    Convolutional codes have no checks, see ``coding.ConvolutionalDecoder``.

    Backends "cuda" and "auto", and failures of a GPU: see the detector blocks.

    Args:
        code: see ``fec_encoder``.
        iterations: maximum number of iterations; None for the default of the code's decoder.
        llr_type: "float32" or "int8".
        llr_scale: for int8: integer value of an LLR of 1, as in the detector.
        llr_output: whether the block has the output ``llr``.
        backend: "auto", "cpu", "cuda" or "reference" (NumPy, slow), see ``backends``.
        threads: number of CPU threads; 0 takes all cores.
        options: dictionary of further keyword arguments of the code's decoder, such as
            {"algorithm": "offset"}.

    Raises:
        ValueError: ``coding.get`` refuses the name, or the decoder refuses a parameter.
        OSError: the file of a code cannot be read.
        ImportError: backend is "cuda" and there is no CuPy.
    """

    def __init__(self, code="wimax:2304:1/2", iterations=None, llr_type="float32", llr_scale=8.0,
                 llr_output=False, backend="auto", threads=0, options=None):
        dtype = LLR_TYPES[choice("llr_type", llr_type, tuple(LLR_TYPES))]
        self._make_decoder(code, iterations, llr_scale, backend, threads, options)
        sizes = self._code.num_info, self._code.num_bits
        outputs = [vector(np.uint8, sizes[0])]
        self._llr_output = flag("llr_output", llr_output)
        if self._llr_output:
            outputs.append(vector(np.float32, sizes[1]))
        batched_block.__init__(self, "fec_decoder", [vector(dtype, sizes[1])], outputs,
                               batch_of_codewords(4 * sizes[1]))
        self._register_ports()

    def work(self, input_items, output_items):
        n = len(output_items[0])
        bits, posterior = self._decode(input_items[0].reshape(n, self._code.num_bits))
        output_items[0][...] = bits.reshape(output_items[0].shape)
        if len(output_items) > 1:
            output_items[1][...] = posterior.reshape(output_items[1].shape)
        self._report()
        return n

    def start(self):
        self._prepare(self._batch)
        return batched_block.start(self)


class fec_decoder_pdu(Listening, _LlrDecoding, gr.basic_block):
    """Decode PDUs of LLRs of a block code into PDUs of information bits.

    Message ports:
        in ``in``: PDUs of LLRs, ln P(1)/P(0), of one or several codewords (f32vector or s8vector).
            Other messages are skipped, counted (``refused``) and logged.
        out ``out``: PDUs of the information bits (u8vector, one bit per byte).
        out ``llr`` (with llr_output=True): PDUs of the a-posteriori LLRs of all coded bits
            (f32vector).
        in ``control``, out ``status``: see ``fec_decoder``.

    The output PDUs keep the metadata of the input PDU, and add these keys:

        decoded: true if no codeword is undecoded or erased.
        codewords: number of codewords.
        erasures: number of erased codewords.
        iterations: mean number of iterations per codeword.

    Args:
        code, iterations, llr_scale, backend, threads, options: see ``fec_decoder``.
        llr_output: whether to send messages through port ``llr``. With many decoders,
            making these messages takes longer than decoding.

    Raises:
        ValueError, OSError, ImportError: as in ``fec_decoder``.
    """

    def __init__(self, code="wimax:2304:1/2", iterations=None, llr_scale=8.0, llr_output=False,
                 backend="auto", threads=0, options=None):
        self._make_decoder(code, iterations, llr_scale, backend, threads, options)
        self._llr_output = flag("llr_output", llr_output)
        gr.basic_block.__init__(self, "fec_decoder_pdu", None, None)
        self._listen(IN, self._take)
        self.message_port_register_out(OUT)
        self.message_port_register_out(LLR)
        self._register_ports()

    def refused(self):
        """Return the number of messages skipped because they are not PDUs of codewords."""
        return self._log.failures

    def _take(self, message):
        with self._log.guard("PDU"):
            info, values = pdu_parts(message)
            llr = codewords(values, self._code.num_bits, np.float32, np.int8)
            before = self._undecoded, self._erasures, self._iterations_taken
            bits, posterior = self._decode(llr)
            undecoded, erasures = self._undecoded - before[0], self._erasures - before[1]
            for key, value in (("decoded", not undecoded + erasures), ("codewords", len(llr)),
                               ("erasures", erasures),
                               ("iterations", (self._iterations_taken - before[2]) / len(llr))):
                info = pmt.dict_add(info, pmt.intern(key), pmt.to_pmt(value))
            self.message_port_pub(OUT, pmt.cons(info, to_pmt(bits.tobytes())))
            if self._llr_output:
                self.message_port_pub(LLR, pmt.cons(info, pmt.init_f32vector(
                    posterior.size, posterior.ravel().tolist())))
        self._report()
