# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of error rates."""

import numpy as np
import pytest
from gnuradio.mimopack.apps import curves


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Return a function that draws the rates at three SNRs, and returns the axes."""
    figures = []
    monkeypatch.setattr(curves, "save", lambda figure, path: figures.append(figure))

    def draw(code="turbo:40", complete=(True, True, True)):
        rates = {0: 1.0, 1: 2e-3, 2: 0.0}
        rows = [{"detector": "mmse", "at_db": at, "ber_before_decoding": 0.1,
                 "ber_before_decoding_95": [0.05, 0.2], "complete": complete[at],
                 **{name: [rate] for name in ("fer", "ber")},
                 **{f"{name}_95": [[rate / 2, min(1.0, 2 * rate)]] for name in ("fer", "ber")}}
                for at, rate in rates.items()]
        parameters = {"code": code, "num_tx": 1, "num_rx": 1, "constellation": "qpsk",
                      "channel": "awgn", "snr_kind": "snr"}
        curves.draw(rows, parameters, tmp_path / "out.png")
        return figures[-1].axes

    return draw


@pytest.mark.parametrize("words", ["$" + "{" * 2000, "$$", "a" * 200_000, "costs $5, not $6"])
def test_titles_are_no_formulas(tmp_path, words):
    row = {"detector": f"{words}: mmse", "at_db": 1, "complete": True, "ber": [0.1],
           "ber_95": [[0.05, 0.2]]}
    parameters = {"code": "none", "snr_kind": "snr"}
    curves.draw([row], parameters, tmp_path / "out.png", words)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_without_a_code_there_are_bit_error_rates_only(drawn):
    (axis,) = drawn(code="none")
    assert axis.get_ylabel() == "bit error rate" and legend(axis) == ["mmse"]
    assert [axis.get_ylabel().split(" rate")[0] for axis in drawn()] == ["frame error", "bit error"]


def test_points_that_are_not_complete_are_hollow(drawn):
    for axis in drawn(complete=(True, False, True)):
        hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"
                  and len(line.get_xdata())]
        assert {tuple(line.get_xdata()) for line in hollow if line.get_marker() != "None"} == {(1,)}
    assert "not complete" in legend(drawn(complete=(True, False, True))[0])
    assert "not complete" not in legend(drawn()[0])


def test_axes_end_below_what_is_drawn(drawn):
    for axis in drawn():
        assert axis.get_yscale() == "log"
        np.testing.assert_allclose(axis.get_ylim(), (1e-3, 1.2))
