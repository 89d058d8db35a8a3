# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of blocks with settings that change at run time: port ``control``, noise power."""

import numpy as np
import pmt

from ..checks import LARGEST, SMALLEST, number, positive, thread_count

CONTROL = pmt.intern("control")
STATUS = pmt.intern("status")
NOISE_VAR = pmt.intern("noise_var")


def scalar(name, value):
    """Return the Python value of a PMT that is a number, flag or text.

    Raises:
        ValueError: the PMT is of another type.
    """
    # Do not convert other types: a deeply nested PMT would exhaust the stack.
    if pmt.is_bool(value):
        return pmt.to_bool(value)
    if pmt.is_uint64(value):
        return pmt.to_uint64(value)
    if pmt.is_integer(value):
        return pmt.to_long(value)
    if pmt.is_real(value):
        return pmt.to_double(value)
    if pmt.is_symbol(value):
        return pmt.symbol_to_string(value)
    raise ValueError(f"{name}: got another type, must be a number, flag or text")


def setting(name, value):
    """Return the value of :func:`scalar`; convert whole floats to int, as widgets send floats."""
    value = scalar(name, value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _request(message, names, others):
    """Return the dictionary {name: value} of a control message.

    Args:
        message: the PMT.
        names: names of the settings.
        others: {other name of a setting: its name}.

    Raises:
        ValueError: the message is not a dictionary or pair, has too many names or an unknown one,
            or names a setting twice.
    """
    if pmt.is_null(message) or not pmt.is_pair(message):    # a dict is a pair too
        raise ValueError("the message is neither a dictionary nor a pair")
    pairs = [message]
    if pmt.is_dict(message):
        items = pmt.dict_items(message)
        if pmt.length(items) > len(names):
            raise ValueError(f"got {pmt.length(items)} names, allowed are up to {len(names)}")
        pairs = [pmt.nth(index, items) for index in range(pmt.length(items))]
    request = {}
    for pair in pairs:
        name = scalar("name", pmt.car(pair))
        name = others.get(name, name)
        if name not in names:
            raise ValueError(f"unknown name {name}")
        if name in request:
            raise ValueError(f"{name}: given twice")
        request[name] = setting(name, pmt.cdr(pair))
    return request


class Setters:
    """Setters of a block that log what the block refuses."""

    def __init__(self, block):
        self._block = block

    def __getattr__(self, setter):
        if not setter.startswith("set_") or not hasattr(self._block, setter):
            raise AttributeError(f"the block has no method {setter}")
        return lambda value: self._block._set(setter.removeprefix("set_"), value)


class Adjustable:
    """Base class of blocks with settings that callbacks of a flowgraph change.

    For each setting, the block has a method that returns it (``name()``) and one that sets it
    (``set_name(value)``), or raises an exception and leaves it as it is.
    """

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

    def _set(self, name, value):
        try:
            getattr(self, f"set_{name}")(value)
        except Exception as error:
            self._refuse(f"setting refused: {error}")

    def _refuse(self, line):
        self._refused_settings += 1
        self._log.warn("messages", line)


class Controlled(Adjustable):
    """Base class of blocks with the message port ``control``.

    A message is a dictionary {name: value}, or a pair of one name and its value. The names are
    those in ``CONTROLS``, or other names for them, {other: name} in ``OTHER_NAMES``. A value that
    is refused leaves its setting as it is.
    """

    CONTROLS, OTHER_NAMES = (), {}

    def _register_control(self):
        self.message_port_register_in(CONTROL)
        self.set_msg_handler(CONTROL, self._on_control)

    def _on_control(self, message):
        try:
            request = _request(message, self.CONTROLS, self.OTHER_NAMES)
        except Exception as error:
            self._refuse(f"control message refused: {error}; allowed are a dictionary or a pair "
                         f"with {', '.join(self.CONTROLS)}")
            return
        for name, value in request.items():
            self._set(name, value)


class Threaded(Controlled):
    """Base class of blocks with the setting ``threads``, which their ``_engine`` uses."""

    def set_threads(self, threads):
        """Set the number of CPU threads; 0 takes all cores."""
        self._engine.threads = thread_count(threads)

    def threads(self):
        """Return the number of CPU threads; 0 means all cores."""
        return self._engine.threads


class NoisePower:
    """Base class of blocks with a noise power; tags ``noise_var`` on the first input change it."""

    def set_noise_var(self, noise_var):
        """Set the noise power per complex receive dimension, linear and positive."""
        self._noise_var = positive("noise_var", noise_var)

    def noise_var(self):
        return self._noise_var

    def _noise(self, items, vectors):
        """Return the noise power: one number, or an array with a value for each vector.

        Args:
            items: number of items at hand.
            vectors: vectors per item.
        """
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
