# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all detectors share: the contract's checks, the choice of backend, erasures."""

import inspect

import numpy as np

from .. import constellation as constellations
from .. import reference as references
from ..arrays import is_device_array
from ..backends import Placement
from ..checks import array, choice, flag, integer, positive
from ..cuda import device
from . import calibration
from .call import Call
from .engines import Engines
from .parameters import BACKENDS, COMMON, ISAS, LLR_TYPES, PRIOR


class Detector:
    """A soft MIMO detector; use one of its subclasses.

    Model: y = H x + n with y in C^nr, H in C^(nr x nt), x from the constellation with
    E|x_i|^2 = 1, n ~ CN(0, noise_var I).

    An object serves one thread at a time.

    Attributes:
        erasures: how many vectors the last ``detect`` could not detect (NaN, Inf, a
            noise_var that is not positive, H of deficient rank); their LLRs are 0.
        device: the GPU's number, or a tuple of several, which share each batch of host arrays.
        backend: as it was asked for.
        last_backend: what the last ``detect`` ran on, "cpu", "cuda" or "reference".
        on_gpu_failure: called, once, with the exception of a GPU that failed with arrays of the
            host, before the CPU takes that batch and all that follow. Where it is None, backend
            "auto" warns instead, and backend "cuda" raises the exception.
        pins_buffers: whether the caller will ``pin`` its arrays, as blocks do; backend "auto" then
            compares CPU and GPU on arrays in pinned memory.
    """

    # What a subclass declares. C++ and CUDA know it by its name and its family, the folder of
    # lib/detectors that has its kernels (the name if None).
    name = ""
    family = None
    FOLDER = None               # with kernel.h and cuda.h, where these are not the family's
    summary = ""
    PARAMETERS = ()             # beyond the common ones
    REFERENCE = None            # a staticmethod; None takes ``reference.<name>``
    SUPPORTS_PRIOR = False
    NEEDS_SQUARE_QAM = False
    HARD = False                # decides: its LLRs are +-1
    CANONICAL_ORDER = True      # the kernel works per axis where the constellation allows it
    MAX_TX = 16
    MAX_RX = 256
    # On a GPU, threads that are done early take the next vectors where vectors take unequal time;
    # otherwise all threads take the same number (004 §6: dynamic and equal distribution).
    UNEQUAL_TIME = False
    GPU_THREADS = 64            # of a block

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", *, backend="auto", threads=0,
                 device=0, llr_type="float32", llr_scale=8.0, extrinsic=False, isa="auto", **own):
        """See ``detectors.parameters.COMMON``; isa ("auto", "avx512", "avx2", "baseline")
        restricts the cpu backend to one instruction set, for tests and comparisons."""
        for name in own:
            if name not in (p.name for p in self.PARAMETERS):
                known = [p.name for p in self.all_parameters()]
                raise TypeError(f"{name}: {type(self).__name__} has no such parameter, it has "
                                f"{', '.join(known)}")
        self.num_tx = integer("num_tx", num_tx, 1, self.MAX_TX)
        self.num_rx = integer("num_rx", num_rx, 1, self.MAX_RX)
        if self.num_rx < self.num_tx:
            raise ValueError(f"num_rx: got {num_rx}, must be at least num_tx = {num_tx}")
        self.constellation = constellations.get(constellation)
        if self.NEEDS_SQUARE_QAM and self.constellation.square_qam is None:
            raise ValueError(
                f"constellation: got {self.constellation.name}, whose points or labels are not "
                f"what {self.name} needs: square QAM with Gray labels on each axis (qpsk, qam16, "
                "qam64, qam256, wlan_qpsk, ...); zf, mmse, mmsepic, kbest, trellis, mla and omap "
                "take any")
        self.backend = choice("backend", backend, BACKENDS)
        self.llr_dtype = np.dtype(choice("llr_type", llr_type, LLR_TYPES))
        self.llr_scale = positive("llr_scale", llr_scale)
        self.threads = threads
        self.extrinsic = flag("extrinsic", extrinsic)
        if self.extrinsic and not self.SUPPORTS_PRIOR:
            raise ValueError(f"extrinsic: {self.name} takes no a-priori LLRs to subtract")
        if self.extrinsic and self.HARD:
            raise ValueError(f"extrinsic: {self.name} decides hard, there is nothing to subtract")
        choice("isa", isa, ISAS)
        self.device = _device("device", device)
        for parameter in self.PARAMETERS:
            value = own.get(parameter.name, parameter.default)
            setattr(self, parameter.name, parameter.checked(value, self))
        self.pins_buffers = False
        self._erased = 0
        self._complete()
        self._engines = Engines(self, isa)
        self._placement = Placement(self.backend, calibration.crossover(self, self._engines))
        # What is missing is told now, not by the first call.
        if self.backend in ("auto", "cpu"):
            self._engines.core()
        elif self.backend == "cuda":
            self._engines.gpus()

    def __repr__(self):
        own = "".join(f", {p.name}={getattr(self, p.name)!r}" for p in self.PARAMETERS)
        return (f"{type(self).__name__}(num_tx={self.num_tx}, num_rx={self.num_rx}, "
                f"constellation={self.constellation.name!r}{own}, "
                f"backend={self.backend!r}, isa={self.isa!r})")

    @property
    def erasures(self):
        """Of the last ``detect``; waits for it where it runs on a GPU."""
        self._erased = int(self._erased)
        return self._erased

    @property
    def erasure_count(self):
        """``erasures``, or what int() makes that of, waiting for the GPU."""
        return self._erased

    @property
    def threads(self):
        """CPU threads of the next ``detect``; 0 takes all cores."""
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = integer("threads", threads, 0, 1024)

    @property
    def devices(self):
        """``device`` as a tuple."""
        return self.device if isinstance(self.device, tuple) else (self.device,)

    @property
    def bits_per_vector(self):
        """nt*m, the LLRs of one vector."""
        return self.num_tx * self.constellation.bits_per_symbol

    @property
    def candidates(self):
        """How many candidates are looked at for one vector; 1 for the linear detectors."""
        return 1

    @property
    def isa(self):
        """The instruction set in use; None where it is not the CPU's."""
        return self._engines.isa

    @property
    def last_backend(self):
        """What the last ``detect`` ran on: "cpu", "cuda" or "reference"; None before the first."""
        return self._placement.last

    @property
    def on_gpu_failure(self):
        """As ``Placement.on_failure``: called, once, with the exception of a GPU that failed with
        arrays of the host, before the CPU takes that batch and all that follow. If it is None,
        backend "auto" warns, and backend "cuda" raises the exception."""
        return self._placement.on_failure

    @on_gpu_failure.setter
    def on_gpu_failure(self, report):
        self._placement.on_failure = report

    def detect(self, y, h, noise_var, prior=None, out=None):
        """LLRs of a batch of received vectors.

        Args:
            y: (n, nr) complex64, C-contiguous. With backends "cuda" and "auto" all arrays may be
                CuPy's, on one of the GPUs: it then works on the current stream, without waiting,
                and returns one.
            h: (n/T, nr, nt) complex64, C-contiguous: matrix k holds for the vectors
                k*T ... (k+1)*T - 1. T is n / len(h).
            noise_var: noise power per complex receive dimension, linear; a positive scalar,
                or (n,) float32, one per vector.
            prior: (n, nt*m) float32 a-priori LLRs, where the detector takes them; the
                result is then a-posteriori, or less the prior with ``extrinsic=True``.
            out: (n, nt*m) float32 (int8 with llr_type="int8"), C-contiguous; made if None.

        Returns:
            out: ln P(b=1)/P(b=0), layer-major, MSB first: out[:, i*m + k] is bit k of
            antenna i. Vectors that cannot be detected get 0; ``erasures`` counts them.

        Raises:
            ValueError: an argument is not as above.
            Exception: what CuPy raises where a GPU fails, with backend "cuda" or CuPy's arrays.
            KeyboardInterrupt: from Ctrl-C, in the main thread; out is then written in part.
                A search of a few vectors that takes very long is not interrupted.
        """
        return self._detect(self._call(y, h, noise_var, prior, out))

    def checked(self, y, h, noise_var, prior):
        """The arguments of ``detect`` as the backends take them; ValueError as it says."""
        gpu = self._gpu_of(y)
        y = array("y", y, np.complex64, ("n", self.num_rx), gpu)
        n = len(y)
        h = array("h", h, np.complex64, ("n/T", self.num_rx, self.num_tx), gpu)
        if (n % len(h) if len(h) else n) or (len(h) and not n):
            raise ValueError(f"h: got {len(h)} matrices for {n} vectors, "
                             "allowed is any number that divides the vectors")
        noise_var = self._noise(noise_var, n, gpu)
        if prior is not None:
            if not self.SUPPORTS_PRIOR:
                raise ValueError(f"prior: {self.name} takes no a-priori LLRs")
            prior = array("prior", prior, np.float32, (n, self.bits_per_vector), gpu)
        return y, h, noise_var, prior

    def _call(self, y, h, noise_var, prior, out, **extras):
        """The arguments of ``detect`` as a :class:`Call`; extras: hard and nodes, checked."""
        y, h, noise_var, prior = self.checked(y, h, noise_var, prior)
        shape = (len(y), self.bits_per_vector)
        gpu = self._gpu_of(y)
        if out is not None:
            out = array("out", out, self.llr_dtype, shape, gpu)
            if gpu is None and not out.flags.writeable:
                raise ValueError("out: got a read-only array, must be writable")
        elif gpu is not None:
            out = self._engines.gpus().empty(shape, self.llr_dtype, gpu)
        else:
            out = np.empty(shape, self.llr_dtype)
        return Call(y, h, noise_var, prior, out, self.llr_scale, self._threads, **extras)

    def _detect(self, call):
        """Run a call; returns its out."""
        placement, engines = self._placement, self._engines
        if placement.is_on_gpu(call.y):
            self._erased, placement.last = engines.on_gpus(call), "cuda"
            return call.out
        if call.nodes is not None and self.backend == "auto":    # nobody counts nodes for speed
            self._erased, placement.last = engines.on_host(call), "cpu"
            return call.out
        was_lost = placement.gpu_is_lost
        self._erased = placement.run(
            call.n, lambda: engines.on_host(call), lambda: engines.on_gpus(call),
            calibration.case(self, call.per_channel, call.has_prior, call.num_hard))
        if placement.gpu_is_lost and not was_lost:
            engines.forget_gpus()
        return call.out

    @property
    def core(self):
        """The C++ detector, for C++ that calls it; None where ``detect`` may do something else."""
        own = type(self)
        plain = own.detect is Detector.detect and own._detect is Detector._detect
        always = self.backend == "cpu" or self.backend == "auto" and (
            self._placement.gpu_is_lost or not device.count())
        return self._engines.core() if plain and always and self.llr_dtype == np.float32 else None

    @property
    def gpus(self):
        """``cuda.Gpus``, the detector's programs on GPUs, for measurements; None where it has no
        use for any."""
        return self._engines.gpus() if self.backend in ("auto", "cuda") else None

    def prepare(self, n, per_channel=1, has_prior=False):
        """Does ahead of many batches what the first ``detect`` would do first where there is a GPU:
        choose (backend "auto"), compile. Takes seconds, or next to nothing when that is known.

        Args:
            n: vectors of a batch.
            per_channel: T, those that share a matrix.
            has_prior: whether it has a-priori LLRs.
        """
        def start():
            period = min(per_channel, 2)    # one program for all that are more than 1
            self._engines.on_gpus(calibration.problem(self, period * len(self.devices), period,
                                                      has_prior))

        was_lost = self._placement.gpu_is_lost
        self._placement.prepare(n, start, calibration.case(self, per_channel, has_prior))
        if self._placement.gpu_is_lost and not was_lost:
            self._engines.forget_gpus()

    def pin(self, *arrays):
        """Pins the buffers of GNU Radio's that arrays of the host are in, until ``release``: a GPU
        then reads and writes them without a copy. Other arrays stay as they are.

        Returns:
            Whether all are pinned now.
        """
        return self._engines.pin(*arrays)

    def release(self):
        """Gives back the GPUs' buffers, of which the next ``detect`` takes new ones, and what was
        pinned. What is compiled stays."""
        self._engines.release()

    def _gpu_of(self, y):
        """The number of the GPU on which arrays must be; None for arrays of the host."""
        if self.backend not in ("auto", "cuda") or not is_device_array(y):
            return None
        if y.device.id not in self.devices:
            allowed = ", ".join(map(str, self.devices))
            raise ValueError(f"y: got an array on GPU {y.device.id}, must be on GPU {allowed}")
        return y.device.id

    def _noise(self, noise_var, n, gpu):
        """One per vector, or one for all."""
        if is_device_array(noise_var) and noise_var.ndim == 0:
            raise ValueError("noise_var: got a CuPy scalar, must be a number (float(noise_var), "
                             "which waits for the GPU) or an array, one per vector")
        if isinstance(noise_var, float) or np.ndim(noise_var) == 0:
            return np.array([positive("noise_var", noise_var)], np.float32)
        return array("noise_var", noise_var, np.float32, (n,), gpu)

    def _complete(self):
        """Set what depends on several parameters; ValueError where these do not fit together, or
        the search is too large to finish."""

    def reference(self, y, h, noise_var, constellation, **extras):
        """LLRs of one vector by NumPy."""
        own = {p.name: getattr(self, p.name) for p in self.PARAMETERS if p.in_reference}
        detect = self.REFERENCE or getattr(references, self.name)
        return detect(y, h, noise_var, constellation, **own, **extras)

    def _options(self):
        """The parameters as the C++ options of the detector's family."""
        given = {p: getattr(self, p.name) for p in self.PARAMETERS if p.core_name}
        return {p.core_name: p.core_value(value) for p, value in given.items()
                if value is not None}

    def gpu_threads(self):
        """Threads of a block on a GPU."""
        return self.GPU_THREADS

    def plan(self):
        """The detector as compiled backends take it.

        Returns:
            dict: name, family, folder (with kernel.h and cuda.h), num_tx, num_rx, points, width,
            scale, bit_source, bit_sign (see lib/common/config.h), extrinsic, options (of the
            family), and for GPUs unequal and gpu_threads.
        """
        qam = self.constellation.square_qam
        bits = self.constellation.bits_per_symbol
        canonical = qam is not None and self.CANONICAL_ORDER
        if canonical:
            width = bits // 2
            source = [axis * width + g for axis, g, _ in qam.bits]
            sign = [-1.0 if invert else 1.0 for _, _, invert in qam.bits]
        else:
            source, sign = list(range(bits)), [1.0] * bits
        return {"name": self.name, "family": self.family or self.name,
                "folder": str(self.FOLDER or f"detectors/{self.family or self.name}"),
                "num_tx": self.num_tx, "num_rx": self.num_rx,
                "points": list(self.constellation.points.astype(np.complex64)),
                "width": bits // 2 if canonical else 0, "scale": qam.scale if qam else 1.0,
                "bit_source": source, "bit_sign": sign,
                "extrinsic": self.extrinsic, "options": self._options(),
                "unequal": self.UNEQUAL_TIME, "gpu_threads": self.gpu_threads()}

    def __init_subclass__(cls, **keywords):
        """Give each detector's signature and docstring its parameters, which are declared once."""
        super().__init_subclass__(**keywords)
        if "__init__" not in vars(cls):
            cls.__signature__ = _signature(cls)
        if cls.name and cls.__doc__ and "\n    Args:" not in cls.__doc__:
            lines = "\n".join(f"        {p.name}: {p.doc} Default {p.default!r}."
                              for p in cls.all_parameters())
            cls.__doc__ = f"{cls.__doc__.rstrip()}\n\n    Args:\n{lines}\n    "

    @classmethod
    def all_parameters(cls):
        """COMMON, those of a-priori LLRs where they show in soft output, and its own."""
        soft_prior = cls.SUPPORTS_PRIOR and not cls.HARD
        return (*COMMON, *(PRIOR if soft_prior else ()), *cls.PARAMETERS)


def _signature(detector):
    isa = inspect.Parameter("isa", inspect.Parameter.KEYWORD_ONLY, default="auto")
    return inspect.Signature([*(inspect.Parameter(
        p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD if i < 3
        else inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for i, p in enumerate(detector.all_parameters())), isa])


def _device(name, value):
    """The number of a GPU, or several different ones, as a tuple."""
    if isinstance(value, str):
        raise ValueError(f"{name}: got {value!r}, must be a number or a list of different numbers")
    if not isinstance(value, (list, tuple, range)):
        return integer(name, value, 0, 1023)
    numbers = tuple(integer(name, number, 0, 1023) for number in value)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"{name}: got {value!r}, must be a number or a list of different numbers")
    return numbers
