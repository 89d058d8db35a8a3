# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a radio for ``mimopack wifi --radio``, and describe it."""

from contextlib import contextmanager

from ... import recording
from ...blocks import radio as radios
from ...blocks.radio import RadioSettings
from ...text import plural, rate_in_words
from ...wifi.synchroniser import MAX_RX, SAMPLE_RATES
from .reading import RATES, refuse

__all__ = ["RadioSettings", "describe", "naming_options", "open_radio"]

# Settings of a radio whose option has another name.
_OPTIONS = {"device": "radio", "num_rx": "antennas", "sample_rate": "rate"}


@contextmanager
def naming_options():
    """Refuse a setting that a radio does not have, with the name of its option."""
    try:
        yield
    except ValueError as error:
        name, _, words = str(error).partition(": ")
        refuse(f"--{_OPTIONS.get(name, name).replace('_', '-')}: {words}")


def open_radio(settings):
    """Open a radio for the Wi-Fi receiver, see ``blocks.radio.open_radio``.

    Raises:
        Refusal: the device cannot be opened, or it or the receiver does not have a setting.
    """
    if settings.sample_rate not in SAMPLE_RATES:
        refuse(f"--rate: got {rate_in_words(settings.sample_rate)}, the receiver supports {RATES}; "
               "only a RECORDING is resampled")
    if settings.num_rx > MAX_RX:
        refuse(f"--antennas: got {settings.num_rx}, the receiver supports at most {MAX_RX}")
    with naming_options():
        return radios.open_radio(settings)


def describe(radio):
    """Describe a radio and its settings in one line."""
    gain = radio.settings.gain
    words = ("default gain of the device" if gain is None else "automatic gain" if gain == "auto"
             else f"gain {', '.join(f'{value:g}' for value in gain)} dB")
    return (f"{recording.printable(radio.words)}: {plural(radio.num_channels, 'antenna')}, "
            f"{radio.sample_rate / 1e6:g} MS/s, {radio.frequency / 1e6:g} MHz, {words}"
            + (f", filters {radio.bandwidth / 1e6:g} MHz wide" if radio.bandwidth else ""))
