# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The detector blocks: a common base class, and a subclass for each registered detector."""

import inspect

import numpy as np
from gnuradio import gr

from .. import detectors
from ..checks import flag, integer
from ..detectors.parameters import MAX_NODES
from .decoding import BackendBlock
from .settings import Noise
from .streams import Batched, vector

# Target for a work() call: number of vectors, and bytes at the largest port. The buffers around the
# block take about twice this memory. With 14 vectors per matrix, 16384 vectors per call were slower
# by a third on 16 processors and by half on a GPU.
BATCH_VECTORS = 65536
BATCH_BYTES = 2**22
# Maximum number of candidates per work() call. A larger call would delay the stop of a flowgraph,
# which can stop only between two calls.
BATCH_CANDIDATES = 2**28
# Minimum number of vectors per work() call: they fill a SIMD register in each of several threads.
LEAST_VECTORS = 64
MOST_HARD_INPUTS = 8


class detector_block(BackendBlock, Noise, Batched, gr.sync_block):
    """A detector of ``gnuradio.mimopack.detectors`` as a sync block.

    Model: y = H x + n, with nt transmit and nr receive antennas, n ~ CN(0, noise_var I) or
    n ~ CN(0, noise_cov), and E|x_i|^2 = 1. A point has m bits. T consecutive vectors share a
    channel matrix.

    Ports:
        in 0 ``y``: complex, vlen T*nr: T received vectors, one after another.
        in 1 ``h``: complex, vlen nr*nt: channel matrix of these T vectors, row-major.
        in 2 ``prior`` (with prior_input=True): float, vlen T*nt*m: a-priori LLRs, in the order of
            ``llr``.
        further in ``hard`` (bitflip_detector, as many as ``hard_inputs``): byte, vlen T*nt*m: a
            hard solution per vector, in the order of ``llr``, one bit per byte (the least
            significant).
        out 0 ``llr``: float (or int8), vlen T*nt*m: ln P(1)/P(0), vector by vector, antenna by
            antenna, most significant bit first.
        message in ``control``: dictionary with the keys ``noise_var``, ``noise_cov`` and
            ``threads``, and ``num_passes`` (N-way), ``k`` (K-best) or ``max_nodes`` (SD, ASD, PSD,
            SoftSphere); or a pair of one key and its value.
        message out ``status``: dictionary with the totals ``vectors``, ``erasures``,
            ``failures`` and ``refused_settings``, and ``truncated`` of a detector with
            ``max_nodes``; sent when one of them other than ``vectors`` has changed, at most once a
            second.

    The block has the parameters of its detector, and

        noise_var: noise power per complex receive dimension, linear.
        noise_cov: (nr, nr) covariance E[n n^H] of the noise, which takes the place of noise_var
            until a message or tag sets noise_var; or None.
        symbols_per_channel: T.
        prior_input: whether the block has the input ``prior``. The output LLRs are then
            a-posteriori, unless the detector has ``extrinsic=True``.
        hard_inputs: number of inputs ``hard`` (bitflip_detector), 0 to 8. The candidates are those
            of all these solutions; without such an input they are those of ZF-SIC's solution.

    Each input item gives one output item; tags pass from every input to the output. A vector is
    erased, so that its LLRs are 0, if it has NaN or Inf, if noise_var is not positive or noise_cov
    not positive definite, if H has a deficient rank and the detector needs full rank, or if the
    detector raises an exception. ``set_noise_var``, ``set_noise_cov``, ``set_num_passes``,
    ``set_k`` and ``set_max_nodes`` hold from the next work() call on.

    A tag ``noise_var`` or ``noise_cov`` on ``y`` sets the noise from the tag's item on. In tags and
    messages, ``noise_cov`` is a uniform vector of nr*nr numbers (c32, or any other type), row by
    row: ``pmt.to_pmt`` makes it of a NumPy array (nr, nr).

    The block works on batches of about 65536 vectors, or fewer if vectors are large or the detector
    evaluates many candidates per vector. A maximum buffer size on the block makes batches smaller.

    With backend "cuda" or "auto", start() compiles the GPU code, which takes seconds, or half a
    minute for the largest searches; so does a new value of ``num_passes``, ``k`` or ``max_nodes``,
    and the first ``noise_cov`` if the block starts without one. With "auto",
    start() then times a batch on the CPU and on the GPU, and logs which one it chooses. A GPU
    failure in a running flowgraph is logged once; the CPU then detects the current vectors and all
    later ones, until the flowgraph starts again. While the block runs on a GPU, the buffers around
    it are pinned, so that the GPU uses them without a copy, unless ``pin_buffers = False`` is in
    section ``[mimopack]`` of GNU Radio's configuration.

    Do not change a running flowgraph with lock and unlock. GNU Radio 3.10 then drops the contents
    of buffers, and may drop different numbers of items of ``y`` and ``h`` (GNU Radio issue 6105).
    Stop and start the flowgraph instead.

    Raises:
        ValueError: an argument is invalid, or backend is "cuda" and there is no GPU.
        ImportError: backend is "cuda" and there is no CuPy.
    """

    DETECTOR = None
    CONTROLS = ("noise_var", "noise_cov", "threads")
    TOTALS, QUIET = ("vectors", "erasures", "failures", "refused_settings"), ("vectors",)
    ERASED = "NaN, Inf, noise, rank of H, or a failure"

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", *, noise_var=0.1,
                 noise_cov=None, symbols_per_channel=1, prior_input=False, hard_inputs=0,
                 **parameters):
        det = self._detector = self.DETECTOR(num_tx, num_rx, constellation, **parameters)
        self._begin(det)
        det.pins_buffers = gr.prefs().get_bool("mimopack", "pin_buffers", True)
        if flag("prior_input", prior_input) and not det.SUPPORTS_PRIOR:
            raise ValueError(f"prior_input: {det.name} takes no a-priori LLRs")
        # Settings that another thread may change while work() runs; the next call applies them.
        self._live = {p.name: getattr(det, p.name) for p in det.PARAMETERS if p.live}
        self._prior_input = prior_input
        self._hard_inputs = integer("hard_inputs", hard_inputs, 0,
                                    MOST_HARD_INPUTS if det.TAKES_HARD else 0)
        self._period = integer("symbols_per_channel", symbols_per_channel, 1, 2**20)
        self._set_noise(det.num_rx, noise_var, noise_cov)
        self._vectors = self._truncated = 0
        width = self._period * det.bits_per_vector
        inputs = [(np.complex64, self._period * det.num_rx),
                  (np.complex64, det.num_rx * det.num_tx)]
        if prior_input:
            inputs.append((np.float32, width))
        inputs += [(np.uint8, width)] * hard_inputs
        output = (det.llr_dtype.type, width)
        gr.sync_block.__init__(self, f"mimopack_{det.name}_detector",
                               [vector(*port) for port in inputs], [vector(*output)])
        largest = max(np.dtype(kind).itemsize * size for kind, size in (*inputs, output))
        most = max(LEAST_VECTORS, BATCH_CANDIDATES // det.candidates)
        vectors = min(BATCH_VECTORS, most)
        self._ask_for(max(1, min(vectors // self._period, BATCH_BYTES // largest)), 4)
        if most < BATCH_VECTORS:
            self.set_max_noutput_items(self._batch)
        self._register_ports()

    def start(self):
        self._pinned = False
        self._apply_live()
        self._prepare(self._batch * self._period, self._period, self._prior_input,
                      self._hard_inputs, self._noise_cov is not None)
        return Batched.start(self)

    def stop(self):
        try:
            self._engine.release()
        except Exception as error:
            self._log.error(f"the GPU's memory was not released: {error!r}")
        return super().stop()

    def vectors(self):
        """Return the number of vectors since the block was made."""
        return self._vectors

    def truncated(self):
        """Return the number of truncated searches since the block was made."""
        return self._truncated

    def work(self, input_items, output_items):
        det, out = self._engine, output_items[0]
        items = len(out)
        n = items * self._period
        shape = n, det.bits_per_vector
        y, h = input_items[0].reshape(n, -1), input_items[1].reshape(items, -1, det.num_tx)
        prior = input_items[2].reshape(shape) if self._prior_input else None
        hard = {}
        if self._hard_inputs:
            solutions = input_items[-self._hard_inputs:]
            hard["hard"] = np.stack([bits.reshape(shape) & 1 for bits in solutions])
        self._vectors += n
        try:
            self._apply_live()
            det.detect(y, h, prior=prior, out=out.reshape(shape),
                       **self._noise(items, self._period), **hard)
            self._erasures += det.erasures
            self._truncated += det.truncated
        except Exception as error:
            out[...] = 0
            self._fail(n, "vectors", error)
        if det.last_backend == "cuda" and det.pins_buffers and not self._pinned:
            self._pin(*input_items, out)
        self._report()
        return items

    def _apply_live(self):
        for name, value in self._live.items():
            setattr(self._detector, name, value)

    def _pin(self, *arrays):
        """Pin the buffers around the block, once per run; after a failure, never again."""
        self._pinned, why = True, "they are in files, or the system does not allow it"
        try:
            if self._engine.pin(*arrays):
                return
        except Exception as error:
            why = repr(error)
        self._engine.pins_buffers = False
        self._log.warn(None, "the buffers around the block are not pinned, which reduces speed: "
                       + why)


def _signature(detector):
    """Return the signature of a detector's block: its parameters and those of the detector."""
    _, *own, _ = inspect.signature(detector_block.__init__).parameters.values()
    names = [parameter.name for parameter in own]
    further = [inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default)
               for p in detector.all_parameters() if p.name not in names]
    return inspect.Signature([parameter for parameter in own
                              if parameter.name != "hard_inputs" or detector.TAKES_HARD] + further)


def _live_methods(parameter):
    """Return the methods that return and set a parameter of a running block."""
    name = parameter.name

    def get(self):
        return self._live[name]

    def change(self, value):
        self._live[name] = self._detector.changed(name, value)[name]

    get.__name__, change.__name__ = name, f"set_{name}"
    get.__doc__ = f"Return {name}."
    change.__doc__ = f"Set {name}: {parameter.doc}"
    return get, change


def _make(detector):
    live = [p for p in detector.PARAMETERS if p.live]
    totals = detector_block.TOTALS + (("truncated",) if MAX_NODES.name in (p.name for p in live)
                                      else ())
    return type(f"{detector.name}_detector", (detector_block,), {
        "DETECTOR": detector, "__signature__": _signature(detector), "TOTALS": totals,
        "CONTROLS": (*detector_block.CONTROLS, *(p.name for p in live)),
        **{method.__name__: method for p in live for method in _live_methods(p)},
        "__module__": __name__,
        "__doc__": f"{inspect.cleandoc(detector_block.__doc__)}\n\n"
                   f"{inspect.cleandoc(detector.__doc__)}"})


def make_detector_block(detector):
    """Return the block class of a detector class, as ``detectors.register`` takes it."""
    return _make(detectors.look_up(detector).kind)


# {name of the block: its class} for each registered detector.
DETECTOR_BLOCKS = {f"{d.name}_detector": _make(d) for d in detectors.REGISTRY.values()}
