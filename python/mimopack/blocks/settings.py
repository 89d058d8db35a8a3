# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be changed while a flowgraph runs: message port control, noise power."""

from contextlib import suppress

import numpy as np
import pmt

from ..checks import LARGEST, SMALLEST, number, positive

CONTROL = pmt.intern("control")
STATUS = pmt.intern("status")
NOISE_VAR = pmt.intern("noise_var")


def scalar(name, value):
    """Return the Python value of a PMT that is a number, flag or text; ValueError otherwise."""
    # Others are not converted: a deeply nested one would exhaust the stack.
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
    raise ValueError(f"{name}: got no number, flag or text")


def setting(name, value):
    """Return what :func:`scalar` does, whole numbers as integers: widgets send floats too."""
    value = scalar(name, value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _request(message, most):
    """Return {name: value} of a control message; ValueError where it is none."""
    if pmt.is_null(message) or not pmt.is_pair(message):    # a dict is a pair too
        raise ValueError("got no dict or pair")
    pairs = [message]
    if pmt.is_dict(message):
        items = pmt.dict_items(message)
        if pmt.length(items) > most:
            raise ValueError(f"got {pmt.length(items)} names")
        pairs = [pmt.nth(index, items) for index in range(pmt.length(items))]
    request = {}
    for pair in pairs:
        name = scalar("name", pmt.car(pair))
        request[name] = setting(name, pmt.cdr(pair))
    return request


class Controlled:
    """Message port control: a dict or pair with names of ``CONTROLS``, for each of which the block
    has a getter and a setter. A message that one of them refuses changes nothing."""

    CONTROLS = ()

    def _register_control(self):
        self.message_port_register_in(CONTROL)
        self.set_msg_handler(CONTROL, self._on_control)

    def _settings(self):
        return {name: getattr(self, name)() for name in self.CONTROLS}

    def _apply(self, settings):
        for name, value in settings.items():
            if name not in self.CONTROLS:
                raise ValueError(f"{name} is none of them")
            getattr(self, f"set_{name}")(value)

    def _on_control(self, message):
        before = self._settings()
        try:
            self._apply(_request(message, len(self.CONTROLS)))
        except Exception as error:
            with suppress(ValueError):    # a noise power that a tag has made unusable
                self._apply(before)
            self._log.warn("messages", f"control message refused: {error!r}; "
                           f"allowed are a dict or pair with {', '.join(self.CONTROLS)}")


class NoisePower:
    """The noise power of a receiver's input ``y``, which a tag on it can change."""

    def set_noise_var(self, noise_var):
        """Noise power per complex receive dimension, linear, positive."""
        self._noise_var = positive("noise_var", noise_var)

    def noise_var(self):
        return self._noise_var

    def _noise(self, items, vectors):
        """One number, or one for each vector; vectors: of an item."""
        tags = self.get_tags_in_window(0, 0, items, NOISE_VAR)
        before = self._noise_var
        if not tags and SMALLEST <= before <= LARGEST:
            return before
        noise = np.full(items * vectors, before, np.float32)
        for tag in tags:
            first = (tag.offset - self.nitems_read(0)) * vectors
            try:
                value = number("noise_var", scalar("noise_var", tag.value))
            except ValueError:
                value = np.nan
            # An unusable value erases what it would have applied to.
            noise[first:] = self._noise_var = value if 0 < value <= LARGEST else np.nan
        return noise
