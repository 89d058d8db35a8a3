# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of blocks with settings that change at run time: port ``control``, noise power."""

import numpy as np
import pmt

from .._runtime import to_python
from ..checks import LARGEST, SMALLEST, number, positive

CONTROL = pmt.intern("control")
STATUS = pmt.intern("status")
NOISE_VAR = pmt.intern("noise_var")


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
    """Return the value of :func:`scalar`; convert whole floats to int, as widgets send floats."""
    value = scalar(name, value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


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


class NoisePower:
    """Base class of blocks with a noise power; tags ``noise_var`` on the first input change it."""

    def set_noise_var(self, noise_var):
        """Set the noise power per complex receive dimension, linear and positive."""
        self._noise_var = positive("noise_var", noise_var)

    def noise_var(self):
        return self._noise_var

    def _noise(self, items, vectors):
        """Return the noise power of items: one number, or an array with a value per vector."""
        tags = self.get_tags_in_window(0, 0, items, NOISE_VAR)
        before = self._noise_var
        if not tags and SMALLEST <= before <= LARGEST:
            return before
        start, firsts, values = self.nitems_read(0), [0], [before]
        for tag in tags:
            try:
                value = number("noise_var", scalar("noise_var", tag.value))
            except ValueError:
                value = np.nan
            # An invalid value erases the vectors to which it applies.
            firsts.append((tag.offset - start) * vectors)
            values.append(value if 0 < value <= LARGEST else np.nan)
        self._noise_var = values[-1]
        return np.repeat(np.float32(values), np.diff([*firsts, items * vectors]))
