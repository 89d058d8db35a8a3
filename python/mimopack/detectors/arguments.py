# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of ``Detector.detect`` in any library, batch shape, layout and precision."""

import numpy as np

from ..arrays import array_module, is_device_array, like, native


class AnyArguments:
    """The arguments of a call as rows for the backends, and the way back for the LLRs.

    Axes of the batch along which H does not change go last, so that consecutive vectors share a
    matrix and H is never repeated. Arrays that fit already are not copied.

    Args:
        detector: ``Detector``.
        y, h, noise_var, prior, noise_cov: see ``Detector.detect``.

    Attributes:
        y, h, noise_var, prior, noise_cov: as ``Detector.detect`` takes them with ``strict=True``.

    Raises:
        ValueError: an argument does not match its description.
    """

    def __init__(self, detector, y, h, noise_var, prior, noise_cov=None):
        self._model = y
        y, h = (native(name, value) for name, value in (("y", y), ("h", h)))
        self._xp = array_module(y)
        of_y = _batch_shape("y", y, detector.num_rx)
        of_h = _batch_shape("h", h, detector.num_rx, detector.num_tx)
        if noise_cov is not None:
            noise_cov = native("noise_cov", noise_cov)
        of_cov = () if noise_cov is None else _batch_shape(
            "noise_cov", noise_cov, detector.num_rx, detector.num_rx)
        self._returned = None    # the shape of a batch whose vectors share matrices T by T
        if len(of_y) == len(of_h) == 1 and 1 < of_h[0] < of_y[0] and of_y[0] % of_h[0] == 0:
            self._returned = of_y
            of_y, of_h = (of_h[0], of_y[0] // of_h[0]), (of_h[0], 1)
            y, h = y.reshape(*of_y, -1), h[:, None]
            if of_cov in (of_h[:1], self._returned):
                of_cov = of_h if of_cov == of_h[:1] else of_y
                noise_cov = noise_cov.reshape(*of_cov, *noise_cov.shape[-2:])
        try:
            of_matrices = np.broadcast_shapes(of_h, of_cov if _count(of_cov) > 1 else ())
            self._shape = np.broadcast_shapes(of_y, of_matrices)
        except ValueError:
            raise ValueError(
                f"h: got shape {h.shape} with y of shape {y.shape}"
                + (f" and noise_cov of shape {noise_cov.shape}" if of_cov else "")
                + "; their leading dimensions must fit together, or the number of matrices must "
                "divide that of vectors") from None
        of_matrices = (1,) * (len(self._shape) - len(of_matrices)) + of_matrices
        self._order = ([axis for axis, size in enumerate(of_matrices) if size != 1]
                       + [axis for axis, size in enumerate(of_matrices) if size == 1])
        self._n = _count(self._shape)
        self.y = self._rows("y", y, "c", np.complex64, detector.num_rx)
        self.h = self._matrices("h", h, of_matrices)
        self.noise_var = None if noise_var is None else self._noise(noise_var)
        self.prior = self.noise_cov = None
        if prior is not None:
            self.prior = self._prior(native("prior", prior), detector)
        if noise_cov is not None:
            self.noise_cov = self._matrices("noise_cov", noise_cov,
                                            of_matrices if _count(of_cov) > 1 else ())

    def _matrices(self, name, array, shape):
        """Return matrices as (number of matrices, rows, columns), repeated for a batch shape."""
        ends = array.shape[-2:]
        matrices = array_module(array).broadcast_to(array, (*shape, *ends)) if shape else array
        count = _count(shape) if self._n or not shape else 0
        kinds = "c" if name == "h" else "ciuf"
        matrices = self._packed(name, matrices, kinds, np.complex64)
        return matrices.reshape(_count(matrices.shape[:-2]), *ends)[:count]

    def _packed(self, name, array, kinds, dtype):
        """Return an array with C-contiguous items of a type, copied if necessary."""
        if array.dtype.kind not in kinds:
            raise ValueError(f"{name}: got type {array.dtype}, must be "
                             f"{'complex' if 'c' in kinds else 'real'}")
        if array.dtype == dtype and array.flags.c_contiguous:
            return array
        copy = array_module(array).empty(array.shape, dtype)
        copy[...] = array
        return copy

    def _rows(self, name, array, kinds, dtype, *ends):
        """Return an array of shape (..., *ends) as (n, *ends), in the order of the rows of y."""
        try:
            view = array_module(array).broadcast_to(array, (*self._shape, *ends))
        except ValueError:
            raise ValueError(f"{name}: got shape {array.shape}, must fit the shape "
                             f"{(*self._shape, *ends)}") from None
        batch = len(self._shape)
        view = view.transpose(*self._order, *range(batch, batch + len(ends)))
        return self._packed(name, view, kinds, dtype).reshape(self._n, *ends)

    def _noise(self, noise_var):
        if isinstance(noise_var, (int, float, np.number)):
            return noise_var
        if isinstance(noise_var, str):
            raise ValueError(f"noise_var: got {noise_var!r}, must be a number or an array")
        noise_var = native("noise_var", noise_var)
        if noise_var.size == 1 and not is_device_array(noise_var):
            return noise_var.reshape(-1)[0]
        if self._returned and noise_var.ndim:
            noise_var = noise_var.reshape(self._shape)
        return self._rows("noise_var", noise_var, "iuf", np.float32)

    def _prior(self, prior, detector):
        width = detector.bits_per_vector
        if prior.shape[-1:] != (width,) and prior.ndim >= 2:
            prior = prior.reshape(*prior.shape[:-2], -1)    # (..., nt, m)
        if self._returned and prior.ndim == 2:
            prior = prior.reshape(*self._shape, -1)
        return self._rows("prior", prior, "iuf", np.float32, width)

    def result(self, llr, out, layers):
        """Return LLRs in the shape, order and library of the caller.

        Args:
            llr: (n, nt*m), for the rows of y.
            out: the caller's array that receives them, or None.
            layers: number of layers if these have an axis of their own, or None.
        """
        width = llr.shape[1]
        shape = [self._shape[axis] for axis in self._order]
        llr = llr.reshape(*shape, width).transpose(*np.argsort(self._order), len(shape))
        llr = llr.reshape(*(self._returned or self._shape),
                          *((layers, width // layers) if layers else (width,)))
        if out is None:
            return like(self._xp.ascontiguousarray(llr), self._model)
        room = native("out", out)
        if room.shape != llr.shape or room.dtype != llr.dtype:
            raise ValueError(f"out: got {room.dtype} of shape {room.shape}, must be {llr.dtype} of "
                             f"shape {llr.shape}")
        room[...] = llr
        return out


def _count(shape):
    """Return the number of items in an array of a shape."""
    return int(np.prod(shape, dtype=int))


def _batch_shape(name, array, *ends):
    """Return the leading dimensions of an array of shape (..., *ends)."""
    if array.ndim < len(ends) or array.shape[-len(ends):] != ends:
        raise ValueError(f"{name}: got shape {array.shape}, must be "
                         f"(..., {', '.join(map(str, ends))})")
    return array.shape[:-len(ends)]
