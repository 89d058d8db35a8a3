# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of arguments, and of the contents of messages and tags."""

from types import SimpleNamespace

import numpy as np
import pmt
import pytest
from gnuradio.mimopack import checks
from gnuradio.mimopack.blocks.settings import NOISE_VAR, Noise
from wifi_blocks import DEEP

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("value", "allowed", "wanted"), [
    (20.0, (20, 40, 80), 20), (np.int64(40), (20, 40, 80), 40), ("a", ("a", "b"), "a"),
    (6.0, {6: "six"}, 6), (None, (None, "x"), None)])
def test_choice_returns_the_allowed_value(value, allowed, wanted):
    got = checks.choice("size", value, allowed)
    assert got == wanted and type(got) is type(wanted)


@pytest.mark.parametrize("value", [30, "20", None, [20], {}, np.nan])
def test_choice_refuses_others(value):
    with pytest.raises(ValueError, match="^size: got .*, allowed are 20, 40$"):
        checks.choice("size", value, (20, 40))
    with pytest.raises(ValueError, match="^size: got .*, allowed are 20, 40$"):
        checks.choice("size", value, {20: "twenty", 40: "forty"})


def test_errors_quote_the_beginning_of_a_long_value():
    for value in ("x" * 10**6, list(range(10**5))):
        with pytest.raises(ValueError, match=r"^num_tx: got .{197}\.\.\., must be an integer$"):
            checks.integer("num_tx", value, 1, 8)


class Tagged(Noise):
    """Return a block's noise power after a tag on item 1."""

    def __init__(self, value):
        self.tag = SimpleNamespace(offset=1, key=NOISE_VAR, value=value)
        self._set_noise(2, 0.5, None)

    def get_tags_in_window(self, _port, _first, _end, key):
        return [self.tag] * (key is NOISE_VAR)

    def nitems_read(self, _port):
        return 0


@pytest.mark.parametrize("value", [
    DEEP, pmt.make_tuple(DEEP, DEEP), pmt.PMT_T, pmt.intern("low"), pmt.from_double(-1.0),
    pmt.from_double(np.inf), pmt.from_double(np.nan), pmt.from_complex(1j), pmt.PMT_NIL])
def test_a_noise_power_that_is_none_erases(value):
    noise_var = Tagged(value)._noise(3, 1)["noise_var"]
    assert np.array_equal(noise_var, [0.5, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize("value", [pmt.from_double(2.0), pmt.from_long(2), pmt.from_uint64(2)])
def test_a_noise_power_of_a_tag(value):
    assert np.array_equal(Tagged(value)._noise(3, 1)["noise_var"], [0.5, 2, 2])


def test_snr():
    assert checks.snr("snr_db", np.float32(-100)) == -100 and checks.snr("snr_db", 200) == 200
    for value in (-100.1, 201, np.inf, np.nan, "20", True, None):
        with pytest.raises(ValueError, match="^snr_db: got .*(allowed are -100 to 200|a number)"):
            checks.snr("snr_db", value)
