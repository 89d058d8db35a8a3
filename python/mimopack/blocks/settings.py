# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be changed while a flowgraph runs: message port control, noise power."""

from contextlib import suppress

import numpy as np
import pmt

from ..checks import LARGEST, SMALLEST, positive

CONTROL = pmt.intern("control")
STATUS = pmt.intern("status")
NOISE_VAR = pmt.intern("noise_var")


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
            request = pmt.to_python(message)
            request = dict([request] if isinstance(request, tuple) else request)
            # widgets send whole numbers as floats too
            self._apply({name: int(value) if isinstance(value, float) and value.is_integer()
                         else value for name, value in request.items()})
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
            value = pmt.to_python(tag.value)
            usable = (isinstance(value, int | float) and not isinstance(value, bool)
                      and 0 < value <= LARGEST)
            # An unusable value erases what it would have applied to.
            noise[first:] = self._noise_var = float(value) if usable else np.nan
        return noise
