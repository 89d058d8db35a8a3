# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of all detectors: checks of arrays, choice of backend, erasures."""

from contextlib import suppress
from functools import partial

import numpy as np

from .. import _core
from .. import reference as references
from ..arrays import is_device_array, stream_of
from ..checks import array, positive
from ..cuda.device import pinned_empty
from ..cuda.program import CudaBackend
from .arguments import AnyArguments
from .batch import DetectBatch, random_batch
from .settings import DetectorSettings


class Detector(DetectorSettings):
    """A soft MIMO detector, the base class of all detectors.

    Model: y = H x + n with y in C^nr, H in C^(nr x nt) and n ~ CN(0, noise_var I). Each x_i is one
    of the M = 2^m points of the constellation, with E|x_i|^2 = 1. In array shapes, n is the number
    of received vectors.

    A detector is not thread-safe. The parameters that may change (``num_passes`` of ``NWay``, ``k``
    of ``KBest``, ``max_nodes`` of tree searches) are attributes that can be set between two calls
    of ``detect``.

    Attributes:
        erasures: number of vectors that the last ``detect`` could not detect because of a NaN or
            Inf, a noise_var that is not positive, or an H whose rank is deficient, if the detector
            needs full rank (``NEEDS_RANK``). Their LLRs are 0.
        truncated: number of vectors of the last ``detect`` whose search ended because of
            ``max_nodes``.
        device: index of the GPU, or a tuple of indices if several GPUs share each batch of host
            arrays.
        backend, last_backend, on_gpu_failure: see ``backends.BackendChoice``.
        given: dictionary of the keyword arguments that are not common to all detectors.
        pins_buffers: whether the caller will ``pin`` its arrays, as blocks do. ``prepare`` then
            compares CPU and GPU on arrays in pinned memory.

    Raises:
        ValueError: a parameter has a forbidden value, the search is too large, or backend "cuda"
            finds no GPU with the index ``device``.
        TypeError: the detector does not have one of the parameters.
        ImportError: backend "cuda" cannot import CuPy.
    """

    pins_buffers = False
    _erased = _truncated = 0
    _core = _cuda = None      # the backends: a ``_core.Detector``, a ``CudaBackend``
    _is_outdated = False      # whether the GPU programs are those of earlier parameters

    def _start(self):
        """Report a missing compiled module, CuPy or GPU now instead of in the first call."""
        if self.backend in ("auto", "cpu"):
            self._cpu_backend()
        elif self.backend == "cuda":
            self._cuda_backend()

    def __reduce__(self):
        # Compiled code cannot be copied. Pickle and copy make a new detector.
        return partial(type(self), self.num_tx, self.num_rx, self.constellation,
                       backend=self.backend, threads=self.threads, device=self.device,
                       llr_type=self.llr_dtype.name, llr_scale=self.llr_scale,
                       extrinsic=self.extrinsic, **self.given), ()

    @property
    def erasures(self):
        """Number of vectors that the last ``detect`` erased; waits for the GPU if necessary."""
        self._erased = int(self._erased)
        return self._erased

    @property
    def truncated(self):
        """Number of vectors whose search ``max_nodes`` ended; waits for the GPU if necessary."""
        self._truncated = int(self._truncated)
        return self._truncated

    @property
    def erasure_count(self):
        """``erasures`` without waiting: a number, or an object whose int() waits for the GPU."""
        return self._erased

    @property
    def isa(self):
        """The CPU instruction set in use; None if the CPU is not used."""
        return self._core.isa if self._core else None

    def detect(self, y, h, noise_var=None, prior=None, out=None, *, noise_cov=None,
               split_layers=False, strict=False):
        """Compute the LLRs of a batch of received vectors.

        The arrays may be NumPy arrays, CuPy arrays, PyTorch tensors, JAX arrays, or any others that
        speak DLPack. They may be strided, of double precision, and of any batch shape (...). The
        detector makes C-contiguous arrays of single precision of those that are not, which costs
        memory and time. With backends "cuda" and "auto" the arrays may be on one of the GPUs. The
        detector then queues its work on the current CUDA stream of CuPy, or of PyTorch for its
        tensors, and returns without waiting for the GPU.

        Args:
            y: (..., nr) complex.
            h: (..., nr, nt) complex, broadcast to the vectors' shape: one matrix may belong to many
                vectors, along any axis. Or (n/T, nr, nt) for y of shape (n, nr): matrix k then
                applies to the vectors k*T ... (k+1)*T - 1. Vectors that share a matrix take less
                time.
            noise_var: noise power per complex receive dimension, linear: a positive scalar, or an
                array with one value per vector, which is broadcast to (...).
            prior: (..., nt*m) or (..., nt, m) a-priori LLRs, for detectors that support them. The
                result is then a-posteriori; with ``extrinsic=True`` the prior is subtracted from
                it.
            out: array for the result, of its shape and type; allocated if None.
            noise_cov: (..., nr, nr) covariance E[n n^H] of the noise, which takes the place of
                noise_var: one for all vectors, one for each matrix, or one for each vector. It is
                broadcast as h is; only its lower triangle is read. y and H are multiplied by the
                inverse of its Cholesky factor. A vector whose covariance is not positive definite
                in single precision is erased.
            split_layers: whether the result has the shape (..., nt, m) instead of (..., nt*m). All
                layers must have the same number of bits.
            strict: whether to refuse what would be copied or converted: only NumPy and CuPy arrays
                pass, C-contiguous, complex64 and float32, with y (n, nr), h (n/T, nr, nt),
                noise_var a number or (n,), noise_cov (1, nr, nr) or (n/T, nr, nr), prior and out
                (n, nt*m).

        Returns:
            LLRs ln P(b=1)/P(b=0), (..., nt*m) float32, or int8 with llr_type="int8"; an array of
                the same library and on the same device as y. They are layer-major, MSB first:
                [..., i*m + k] belongs to bit k of layer i. int8 LLRs are multiplied by
                ``llr_scale``, rounded and limited to +-127. Vectors that cannot be detected get
                LLRs of 0; ``erasures`` counts them.

        Raises:
            ValueError: an argument does not match its description.
            Exception: CuPy's own, if the GPU fails on CuPy arrays, or on host arrays with backend
                "cuda" and no ``on_gpu_failure``.
            KeyboardInterrupt: Ctrl-C was pressed; raised in the main thread only. ``out`` is then
                written in part. A long search for a single vector runs to its end first.
        """
        return self._detect_any(y, h, noise_var, prior, out, noise_cov, split_layers, strict)

    def _detect_any(self, y, h, noise_var, prior, out, noise_cov, split_layers, strict, **extras):
        """Detect arrays of any library, see ``detect``; extras are those of ``_batch``."""
        layers = self._split(split_layers)
        with stream_of(y):
            rows = None
            try:
                batch = self._batch(y, h, noise_var, prior, out, noise_cov, **extras)
            except ValueError:
                if strict:
                    raise
                rows = AnyArguments(self, y, h, noise_var, prior, noise_cov)
                if out is not None:
                    rows.check_out(out, self.llr_dtype, self.bits_per_vector, layers)
                extras = {name: rows.hard(value, self) for name, value in extras.items()}
                batch = self._batch(rows.y, rows.h, rows.noise_var, rows.prior, None,
                                    rows.noise_cov, **extras)
            llr = self._detect(batch)
            if rows:
                return rows.result(llr, out, layers)
            return llr.reshape(len(llr), layers, -1) if layers else llr

    def _split(self, split_layers):
        """Return the number of layers if results have an axis for them; None otherwise."""
        if not split_layers:
            return None
        if len({points.bits_per_symbol for points in self.layers}) > 1:
            raise ValueError("split_layers: got True, but the layers have different numbers of "
                             "bits")
        return self.num_tx

    def checked(self, y, h, noise_var, prior, noise_cov=None):
        """Check the arguments of ``detect`` with ``strict=True``.

        Returns:
            (y, h, noise_var, prior, noise_cov), with a scalar noise_var as (1,) float32; with
            noise_cov it is 1.

        Raises:
            ValueError: as in ``detect``.
        """
        if (noise_var is None) == (noise_cov is None):
            raise ValueError("noise_var: got none, must be given, or noise_cov" if noise_cov is None
                             else "noise_var: got noise_cov too, give only one of them")
        gpu = self._gpu_of(y)
        y = array("y", y, np.complex64, ("n", self.num_rx), gpu)
        n = len(y)
        h = array("h", h, np.complex64, ("n/T", self.num_rx, self.num_tx), gpu)
        if (n % len(h) if len(h) else n) or (len(h) and not n):
            raise ValueError(f"h: got {len(h)} matrices for {n} vectors, "
                             "must divide the number of vectors")
        noise_var = self._noise(1.0 if noise_var is None else noise_var, n, gpu)
        if noise_cov is not None:
            count = 1 if getattr(noise_cov, "shape", ())[:1] == (1,) else len(h)
            noise_cov = array("noise_cov", noise_cov, np.complex64,
                              (count, self.num_rx, self.num_rx), gpu)
        if prior is not None:
            if not self.SUPPORTS_PRIOR:
                raise ValueError(f"prior: {self.name} takes no a-priori LLRs")
            prior = array("prior", prior, np.float32, (n, self.bits_per_vector), gpu)
        return y, h, noise_var, prior, noise_cov

    def _batch(self, y, h, noise_var, prior, out, noise_cov=None, **extras):
        """Return the arguments of ``detect`` as a :class:`DetectBatch`.

        extras are further arguments of a detector, which its own ``_batch`` checks.
        """
        y, h, noise_var, prior, noise_cov = self.checked(y, h, noise_var, prior, noise_cov)
        shape = (len(y), self.bits_per_vector)
        gpu = self._gpu_of(y)
        if out is not None:
            out = array("out", out, self.llr_dtype, shape, gpu)
            if gpu is None and not out.flags.writeable:
                raise ValueError("out: got a read-only array, must be writable")
        elif gpu is not None:
            out = self._cuda_backend().empty(shape, self.llr_dtype, gpu)
        else:
            out = self._memory.empty(shape, self.llr_dtype)
        return DetectBatch(y, h, noise_var, prior, out, self.llr_scale, self._threads,
                           noise_cov=noise_cov, **extras)

    def _detect(self, batch):
        """Run a batch and return its out."""
        if is_device_array(batch.y):
            self._erased, self.last_backend = self._on_cuda(batch), "cuda"
        else:
            self._erased = self._run(partial(self._on_cpu, batch), partial(self._on_cuda, batch))
        return batch.out

    def _on_cpu(self, batch):
        """Run a batch in C++, or in NumPy for backend "reference"; return the erasures."""
        if self.backend != "reference":
            core = self._cpu_backend()
            erased = core.detect(*batch)
            self._truncated = core.truncated
            return erased
        llr, erased = references.run(
            self.reference, batch.y, batch.h, batch.noise_var, self.constellation, batch.prior,
            hard=batch.hard, needs_rank=self.NEEDS_RANK, noise_cov=batch.noise_cov)
        return self._write(batch, llr, erased)

    def _on_cuda(self, batch):
        """Run a batch on the GPUs; return the erasures, see ``CudaBackend.detect``."""
        erased, self._truncated = self._cuda_backend().detect(batch)
        return erased

    def _write(self, batch, llr, erased):
        """Write LLRs to ``batch.out``: extrinsic and int8 if the parameters ask for that.

        Args:
            batch: :class:`DetectBatch`.
            llr: (n, nt*m) float64, a-posteriori LLRs, 0 for erased vectors; may be overwritten.
            erased: (n,) bool.

        Returns:
            The number of erased vectors.
        """
        if self.extrinsic and batch.prior is not None:
            llr[~erased] -= batch.prior[~erased]
        if batch.out.dtype == np.int8:
            llr = np.clip(np.rint(llr * batch.llr_scale), -127, 127)
        batch.out[...] = llr
        return int(erased.sum())

    def _cpu_backend(self):
        """Return the C++ detector, made on first use."""
        if self._core is None:
            self._core = _core.Detector(self.plan(), self._asked_isa)
        return self._core

    def _cuda_backend(self):
        """Return the programs on the detector's GPUs, made on first use."""
        if self._cuda is None:
            self._cuda = CudaBackend(self.plan(), self.devices, self.candidates)
        elif self._is_outdated:
            self._cuda.renew(self.plan(), self.candidates)
        self._is_outdated = False
        return self._cuda

    def _forget_gpu(self):
        with suppress(Exception):    # every call fails on a GPU that has failed
            self.release()
        self._cuda = None

    @property
    def core(self):
        """The C++ detector, for callers in C++; None if ``detect`` may run something else.

        A detector with int8 LLRs always returns None.
        """
        own = type(self)
        plain = own.detect is Detector.detect and own._detect is Detector._detect
        on_cpu = self.backend in ("auto", "cpu") and not self._copies_to_gpu
        return self._cpu_backend() if plain and on_cpu and self.llr_dtype == np.float32 else None

    @property
    def gpus(self):
        """The :class:`CudaBackend`, for measurements; None without a GPU backend."""
        return self._cuda_backend() if self.backend in ("auto", "cuda") and self._may_copy else None

    def prepare(self, n, per_channel=1, has_prior=False, num_hard=0, has_cov=False):
        """Do the slow first steps on a GPU now, so that the first ``detect`` is fast.

        These steps are compiling and, for backend "auto", choosing between CPU and GPU for host
        arrays: a random batch is timed on both. A GPU that has failed before gets another chance.

        Args:
            n: number of vectors in a batch.
            per_channel: T, the number of vectors that share a matrix.
            has_prior: whether the batches have a-priori LLRs.
            num_hard: number of hard solutions per vector, for ``BitFlip``.
            has_cov: whether the batches have a covariance of the noise, one for all vectors.

        Returns:
            A sentence about the choice; None if there was none.
        """
        def make_batch():
            period = per_channel
            if self.backend == "cuda":    # compiling takes few vectors
                period = min(per_channel, 2)    # one program serves every period above 1
            size = period * max(len(self.devices), n // period if self.backend == "auto" else 1)
            batch = random_batch(self, size, period, has_prior, num_hard, has_cov)
            if self.pins_buffers and self.backend == "auto":
                batch = batch._replace(**{name: _pinned(getattr(batch, name))
                                          for name in ("y", "h", "prior", "out")})
            return partial(self._on_cpu, batch), partial(self._on_cuda, batch)

        return self._prepare(make_batch)

    def pin(self, *arrays):
        """Pin the GNU Radio buffers that contain these host arrays, until ``release``.

        A GPU reads and writes pinned buffers without a copy. Other arrays stay as they are.

        Returns:
            Whether all the arrays are pinned now.
        """
        return self._cuda.pin(*arrays) if self._cuda else False

    def release(self):
        """Free the GPU buffers and unpin all arrays; compiled programs stay.

        The next ``detect`` allocates new buffers.
        """
        if self._cuda:
            self._cuda.release()

    def _gpu_of(self, y):
        """Return the index of the GPU that all arrays must be on; None for host arrays."""
        if self.IN_PYTHON or self.backend not in ("auto", "cuda") or not is_device_array(y):
            return None
        if y.device.id not in self.devices:
            allowed = ", ".join(map(str, self.devices))
            raise ValueError(f"y: got an array on GPU {y.device.id}, must be on GPU {allowed}")
        return y.device.id

    def _noise(self, noise_var, n, gpu):
        """Return noise_var as an array: one value per vector, or one for all."""
        if is_device_array(noise_var) and noise_var.ndim == 0:
            raise ValueError("noise_var: got a CuPy scalar, must be a number (float(noise_var), "
                             "which waits for the GPU) or an array, one per vector")
        if not (getattr(noise_var, "ndim", 0) or isinstance(noise_var, (list, tuple))):
            return np.array([positive("noise_var", noise_var)], np.float32)
        return array("noise_var", noise_var, np.float32, (n,), gpu)

    def reference(self, y, h, noise_var, constellation, **extras):
        """Compute the LLRs of one vector in NumPy.

        Args:
            y, h: (nr,) and (nr, nt) complex128.
            noise_var: noise power per complex receive dimension.
            constellation: :class:`constellation.Constellation`.
            extras: prior, (nt*m,) a-priori LLRs, and further arguments of the reference.

        Returns:
            (nt*m,) float64.
        """
        own = {p.name: getattr(self, p.name) for p in self.PARAMETERS if p.in_reference}
        detect = self.REFERENCE or getattr(references, self.name)
        return detect(y, h, noise_var, constellation, **own, **extras)

def _pinned(values):
    """Return a copy of a host array in pinned memory; None for None."""
    if values is None:
        return None
    copy = pinned_empty(values.shape, values.dtype)
    copy[...] = values
    return copy
