# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of blocks with settings that change at run time: port ``control``, noise."""

import numpy as np
import pmt

from .._runtime import to_python
from ..checks import LARGEST, SMALLEST, number, positive, shown

CONTROL = pmt.intern("control")
STATUS = pmt.intern("status")
NOISE_VAR = pmt.intern("noise_var")
NOISE_COV = pmt.intern("noise_cov")
TX_TIME = pmt.intern("tx_time")


def scalar(name, value):
    """Return the Python value of a PMT that is a number, flag or text.

    Raises:
        ValueError: the PMT is of another type.
    """
    value = to_python(value)
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"{name}: got another type, must be a number, flag or text")
    return value


def setting(name, value):
    """Return the value of :func:`scalar`; convert whole floats to int, as widgets send floats.

    ``noise_cov`` is an array: its PMT is a uniform vector.
    """
    if name == "noise_cov":
        if not pmt.is_uniform_vector(value):
            raise ValueError(f"{name}: got another type, must be a uniform vector")
        return pmt.to_python(value)
    value = scalar(name, value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def tag_key(name, value):
    """Return the key of tags whose name an argument gives, as a PMT."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: got {value!r}, must be a text of one character or more")
    return pmt.intern(value)


class Setters:
    """Setters of a block that log what the block refuses."""

    def __init__(self, block):
        self._block = block

    def __getattr__(self, setter):
        getattr(self._block, setter)    # AttributeError if there is none
        return lambda value: self._block._try(setter, value)


class Controlled:
    """Base class of blocks with settings that callbacks or messages change while they run.

    For each setting, the block has a method that returns it (``name()``) and one that sets it
    (``set_name(value)``), or raises an exception and leaves it as it is. ``CONTROLS`` are the names
    that a message at port ``control`` may set: a dictionary {name: value}, or a pair of one name
    and its value. Other names are ignored.
    """

    CONTROLS = ()
    _refused_settings = 0

    def refused_settings(self):
        """Return the number of settings and messages at port ``control`` that were refused."""
        return self._refused_settings

    @property
    def control(self):
        """The methods ``set_...`` without exceptions, for callbacks: ``control.set_NAME(value)``.

        An exception in a callback of Qt would end the process. A value that the block refuses is
        logged and counted by ``refused_settings()``, and the setting stays as it is.
        """
        return Setters(self)

    def _try(self, setter, value):
        try:
            getattr(self, setter)(value)
        except Exception as error:
            self._refuse(error)

    def _refuse(self, reason):
        self._refused_settings += 1
        self._log.warn("settings", f"setting refused: {reason}")

    def _register_control(self):
        self.message_port_register_in(CONTROL)
        self.set_msg_handler(CONTROL, self._on_control)

    def _on_control(self, message):
        values = message if pmt.is_dict(message) else pmt.make_dict()
        if pmt.is_pair(message) and not pmt.is_dict(message):
            values = pmt.dict_add(values, pmt.car(message), pmt.cdr(message))
        names = [name for name in self.CONTROLS if pmt.dict_has_key(values, pmt.intern(name))]
        if not names:
            self._refuse(f"the message has none of {', '.join(self.CONTROLS)}")
        for name in names:
            try:
                value = setting(name, pmt.dict_ref(values, pmt.intern(name), pmt.PMT_NIL))
            except ValueError as error:
                self._refuse(error)
            else:
                self._try(f"set_{name}", value)


class Noise:
    """Base class of blocks with a noise power or covariance, which tags on the first input change.

    The tags are ``noise_var`` and ``noise_cov``. At one item, ``noise_cov`` has precedence.
    """

    def _set_noise(self, num_rx, noise_var, noise_cov):
        self._num_rx = num_rx
        self.set_noise_var(noise_var)
        self.set_noise_cov(noise_cov)

    def set_noise_var(self, noise_var):
        """Set the noise power per complex receive dimension, linear and positive."""
        self._noise_var = positive("noise_var", noise_var)
        self._noise_cov = None

    def noise_var(self):
        """Return the noise power, which is not in use while there is a ``noise_cov()``."""
        return self._noise_var

    def set_noise_cov(self, noise_cov):
        """Set the covariance of the noise, in place of ``noise_var`` until the next one.

        Args:
            noise_cov: (nr, nr) complex array, or its nr*nr entries, row by row. None restores the
                last ``noise_var``.
        """
        self._noise_cov = None if noise_cov is None else _square(noise_cov, self._num_rx)

    def noise_cov(self):
        """Return the covariance of the noise; None while ``noise_var()`` is in use."""
        return self._noise_cov

    def _noise(self, items, vectors, matrices=1):
        """Return the noise of items as keyword arguments of ``Detector.detect``.

        Args:
            items: number of items of this work() call.
            vectors, matrices: number of vectors and of matrices per item.
        """
        tags = [(tag.offset, self._tagged(tag)) for key in (NOISE_VAR, NOISE_COV)
                for tag in self.get_tags_in_window(0, 0, items, key)]
        noise_cov = self._noise_cov    # another thread may change it now
        before = self._noise_var if noise_cov is None else noise_cov
        if not tags:
            if noise_cov is not None:
                return {"noise_cov": noise_cov[None]}
            if SMALLEST <= before <= LARGEST:
                return {"noise_var": before}
        tags.sort(key=lambda tag: tag[0])
        offsets, values = zip((self.nitems_read(0), before), *tags, strict=True)
        lengths = np.diff([*offsets, offsets[0] + items])
        self._noise_cov = values[-1] if np.ndim(values[-1]) else None
        if self._noise_cov is None:
            self._noise_var = values[-1]
        if not any(map(np.ndim, values)):
            return {"noise_var": np.repeat(np.float32(values), lengths * vectors)}
        unit = np.eye(self._num_rx, dtype=np.complex64)
        values = np.stack([value if np.ndim(value) else value * unit for value in values])
        return {"noise_cov": np.repeat(values, lengths * matrices, axis=0)}

    def _tagged(self, tag):
        """Return the value of a tag; NaN, which erases vectors, if it is invalid."""
        try:
            if pmt.eq(tag.key, NOISE_COV):
                return _square(setting("noise_cov", tag.value), self._num_rx)
            value = number("noise_var", scalar("noise_var", tag.value))
        except ValueError:
            return np.nan
        return value if 0 < value <= LARGEST else np.nan


def _square(value, size):
    """Return a covariance as a complex64 array (size, size); ValueError unless it is that."""
    try:
        matrix = np.array(value, np.complex64)
    except (TypeError, ValueError):
        raise ValueError(f"noise_cov: got {shown(value)}, must be a matrix") from None
    if matrix.shape not in ((size, size), (size**2,)):
        raise ValueError(f"noise_cov: got shape {matrix.shape}, must be ({size}, {size}), or the "
                         f"{size**2} numbers row by row")
    return matrix.reshape(size, size)
