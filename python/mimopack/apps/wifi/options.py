# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the options of ``mimopack wifi``."""

import math

import click

from ... import recording


class Number(click.ParamType):
    """A positive number, such as 20e6 or 20M."""

    name = "HZ"
    _FACTORS = {"k": 1e3, "M": 1e6, "G": 1e9}

    def convert(self, value, param, context):
        """Return the number as a float."""
        text = str(value)
        factor = self._FACTORS.get(text[-1:], 1.0)
        try:
            number = float(text if factor == 1.0 else text[:-1]) * factor
        except ValueError:
            number = math.nan
        if not 0 < number < 1e15:
            self.fail(f"got {value!r}, must be a positive number of Hz, such as 20e6 or 20M",
                      param, context)
        return number


class Format(click.ParamType):
    """A datatype of ``recording``, or the name that other programs use for it."""

    name = "NAME"

    def convert(self, value, param, context):
        """Return the name of the datatype."""
        try:
            return recording.get_datatype(value).name
        except ValueError:
            self.fail(f"got {value!r}, allowed are {', '.join(recording.DATATYPES)} (short forms: "
                      "cf32, ci16, cs16, complex64 ...)", param, context)


class Gain(click.ParamType):
    """Gains in dB separated by commas, or "auto"."""

    name = "DB"

    def convert(self, value, param, context):
        """Return a tuple of floats, or "auto"."""
        if not isinstance(value, str) or value == "auto":
            return value
        try:
            gains = tuple(map(float, value.split(",")))
        except ValueError:
            gains = (math.nan,)
        if not all(map(math.isfinite, gains)):
            self.fail(f"got {value!r}, must be dB, such as 30 or 30,32, or auto", param, context)
        return gains


class Names(click.ParamType):
    """Names separated by commas."""

    name = "NAMES"

    def convert(self, value, param, context):
        """Return a tuple of names."""
        if not isinstance(value, str):
            return value
        names = tuple(name.strip() for name in value.split(","))
        if not all(names):
            self.fail(f"got {value!r}, must be names such as RX2 or RX2,TX/RX", param, context)
        return names


class Address(click.ParamType):
    """A port to listen at, with an optional host: 9100, 0.0.0.0:9100 or [::1]:9100."""

    name = "[HOST:]PORT"

    def convert(self, value, param, context):
        """Return (host, port)."""
        if not isinstance(value, str):
            return value
        host, colon, port = value.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            host = ""
        if not port.isdecimal() or int(port) > 65535 or (colon and not host):
            self.fail(f"got {value!r}, must be [HOST:]PORT with a port of 0 to 65535, such as "
                      "9100 or 0.0.0.0:9100", param, context)
        return host or "127.0.0.1", int(port)
