# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of ``Detector.detect`` in any library, batch shape, layout and precision."""

import numpy as np

from ..arrays import array_module, is_device_array, leading_shape, like, native, packed


class AnyArguments:
    """The arguments of a call as rows for the backends, and the way back for the LLRs.

    Axes of the batch along which H does not change go last, so that consecutive vectors share a
    matrix and H is never repeated. Arrays that fit already are not copied.

    Args:
        detector: ``Detector``.
        y, h, noise_var, prior, noise_cov: see ``Detector.detect``.
        in_order: whether the rows keep the order of the batch. A matrix is then repeated for axes
            before the last one along which H changes.

    Attributes:
        shape: batch shape.
        y, h, noise_var, prior, noise_cov: as ``Detector.detect`` takes them with ``strict=True``.

    Raises:
        ValueError: an argument does not match its description.
    """

    def __init__(self, detector, y, h, noise_var, prior, noise_cov=None, in_order=False):
        self._model = y
        y, h = (native(name, value) for name, value in (("y", y), ("h", h)))
        self._xp = array_module(y)
        of_y = leading_shape("y", y, detector.num_rx)
        of_h = leading_shape("h", h, detector.num_rx, detector.num_tx)
        if noise_cov is not None:
            noise_cov = native("noise_cov", noise_cov)
        of_cov = () if noise_cov is None else leading_shape(
            "noise_cov", noise_cov, detector.num_rx, detector.num_rx)
        self._returned = None    # the shape of a batch whose vectors share matrices T by T
        if len(of_y) == len(of_h) == 1 and 1 < of_h[0] < of_y[0] and of_y[0] % of_h[0] == 0:
            self._returned = of_y
            of_y, of_h = (of_h[0], of_y[0] // of_h[0]), (of_h[0], 1)
            y, h = y.reshape(*of_y, -1), h[:, None]
            if of_cov in (of_h[:1], self._returned):
                of_cov = of_h if of_cov == of_h[:1] else of_y
                noise_cov = noise_cov.reshape(*of_cov, *noise_cov.shape[-2:])
            elif _count(of_cov) > 1:
                raise ValueError(
                    f"noise_cov: got shape {noise_cov.shape}, must be one matrix, one for each of "
                    f"the {of_h[0]} matrices of h, or one for each of the {self._returned[0]} "
                    "vectors")
        try:
            of_matrices = np.broadcast_shapes(of_h, of_cov if _count(of_cov) > 1 else ())
            self._shape = np.broadcast_shapes(of_y, of_matrices)
        except ValueError:
            raise ValueError(
                f"h: got shape {h.shape} with y of shape {y.shape}"
                + (f" and noise_cov of shape {noise_cov.shape}" if of_cov else "")
                + "; their leading dimensions must fit together, or the number of matrices must "
                "divide that of vectors") from None
        self.shape = self._returned or self._shape
        of_matrices = (1,) * (len(self._shape) - len(of_matrices)) + of_matrices
        if in_order:
            last = max((axis for axis, size in enumerate(of_matrices) if size != 1), default=-1)
            of_matrices = self._shape[:last + 1] + of_matrices[last + 1:]
        self._order = ([axis for axis, size in enumerate(of_matrices) if size != 1]
                       + [axis for axis, size in enumerate(of_matrices) if size == 1])
        self._n = _count(self._shape)
        self.y = self._rows("y", y, "c", np.complex64, detector.num_rx)
        self.h = self._matrices("h", h, of_matrices)
        self.noise_var = None if noise_var is None else self._noise(noise_var)
        self.prior = self.noise_cov = None
        if prior is not None:
            self.prior = self.llrs("prior", prior, detector)
        if noise_cov is not None:
            self.noise_cov = self._matrices("noise_cov", noise_cov,
                                            of_matrices if _count(of_cov) > 1 else ())

    def _matrices(self, name, array, shape):
        """Return matrices as (number of matrices, rows, columns), repeated for a batch shape."""
        ends = array.shape[-2:]
        matrices = array_module(array).broadcast_to(array, (*shape, *ends)) if shape else array
        count = _count(shape) if self._n or not shape else 0
        kinds = "c" if name == "h" else "ciuf"
        matrices = packed(name, matrices, kinds, np.complex64)
        return matrices.reshape(_count(matrices.shape[:-2]), *ends)[:count]

    def _rows(self, name, array, kinds, dtype, *ends):
        """Return an array of shape (..., *ends) as (n, *ends), in the order of the rows of y."""
        try:
            view = array_module(array).broadcast_to(array, (*self._shape, *ends))
        except ValueError:
            raise ValueError(f"{name}: got shape {array.shape}, must fit the shape "
                             f"{(*self._shape, *ends)}") from None
        batch = len(self._shape)
        view = view.transpose(*self._order, *range(batch, batch + len(ends)))
        return packed(name, view, kinds, dtype).reshape(self._n, *ends)

    def _noise(self, noise_var):
        if isinstance(noise_var, (int, float, np.number)):
            return noise_var
        if isinstance(noise_var, str):
            raise ValueError(f"noise_var: got {noise_var!r}, must be a number or an array")
        noise_var = native("noise_var", noise_var)
        is_real = noise_var.dtype.kind in "iuf"
        if is_real and noise_var.size == 1 and not is_device_array(noise_var):
            return noise_var.reshape(-1)[0]
        if self._returned and noise_var.ndim:
            if noise_var.shape != self._returned:
                raise ValueError(f"noise_var: got shape {noise_var.shape}, must be one number, or "
                                 f"one for each of the {self._returned[0]} vectors")
            noise_var = noise_var.reshape(self._shape)
        return self._rows("noise_var", noise_var, "iuf", np.float32)

    def llrs(self, name, llr, detector):
        """Return LLRs (..., nt*m) or (..., nt, m) as (n, nt*m)."""
        width, layers = detector.bits_per_vector, detector.num_tx
        array = given = native(name, llr)
        if array.shape[-1:] != (width,) and array.shape[-2:] == (layers, width // layers):
            array = array.reshape(*array.shape[:-2], width)
        if array.shape[-1:] != (width,) or (self._returned and array.shape[:-1] != self.shape):
            raise ValueError(f"{name}: got shape {given.shape}, must fit the shape "
                             f"{(*self.shape, width)}, or {(*self.shape, layers, width // layers)}")
        if self._returned:
            array = array.reshape(*self._shape, width)
        return self._rows(name, array, "iuf", np.float32, width)

    def hard(self, hard, detector):
        """Return hard solutions (iterations, ..., nt*m) as (iterations, n, nt*m)."""
        hard, width = native("hard", hard), detector.bits_per_vector
        if hard.dtype != np.uint8:
            raise ValueError(f"hard: got type {hard.dtype}, must be uint8")
        if hard.ndim < 2 or hard.shape[1:] != (*self.shape, width):
            raise ValueError(f"hard: got shape {hard.shape}, must be "
                             f"(iterations, {', '.join(map(str, (*self.shape, width)))})")
        hard = self._xp.moveaxis(hard.reshape(len(hard), *self._shape, width), 0, -2)
        rows = self._rows("hard", hard, "u", np.uint8, *hard.shape[-2:])
        return self._xp.ascontiguousarray(self._xp.moveaxis(rows, 1, 0))

    def check_out(self, out, dtype, width, layers):
        """Check the caller's array for the result."""
        room = native("out", out)
        shape = (*self.shape, *((layers, width // layers) if layers else (width,)))
        if room.shape != shape or room.dtype != dtype:
            raise ValueError(f"out: got {room.dtype} of shape {room.shape}, must be {dtype} of "
                             f"shape {shape}")
        if not is_device_array(room) and not room.flags.writeable:
            raise ValueError("out: got a read-only array, must be writable")

    def result(self, llr, out, layers):
        """Return LLRs in the shape, order and library of the caller.

        Args:
            llr: (n, nt*m), for the rows of y.
            out: the caller's array that receives them, which ``check_out`` has checked; or None.
            layers: number of layers if these have an axis of their own, or None.
        """
        width = llr.shape[1]
        shape = [self._shape[axis] for axis in self._order]
        llr = llr.reshape(*shape, width).transpose(*np.argsort(self._order), len(shape))
        llr = llr.reshape(*self.shape, *((layers, width // layers) if layers else (width,)))
        if out is None:
            return like(self._xp.ascontiguousarray(llr), self._model)
        native("out", out)[...] = llr
        return out


def _count(shape):
    """Return the number of items in an array of a shape."""
    return int(np.prod(shape, dtype=int))
