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

    def draw(code="turbo:40", complete=(True, True, True), last=(0.0, [0.0, 1e-2]), **texts):
        rates = {0: 1.0, 1: 2e-3, 2: last[0]}
        rows = [{"detector": "mmse", "at_db": at, "ber_before_decoding": 0.1,
                 "ber_before_decoding_95": [0.05, 0.2], "complete": complete[at],
                 **{name: [rate] for name in ("fer", "ber")},
                 **{f"{name}_95": [last[1] if at == 2 else [rate / 2, min(1.0, 2 * rate)]]
                    for name in ("fer", "ber")}} for at, rate in rates.items()]
        parameters = {"code": code, "num_tx": 1, "num_rx": 1, "constellation": "qpsk",
                      "channel": "awgn", "snr_kind": "snr"}
        curves.draw(rows, parameters, tmp_path / "out.png", **texts)
        return figures[-1].axes

    return draw


@pytest.mark.parametrize("words", ["$" + "{" * 2000, "$$", "a" * 200_000, "costs $5, not $6"])
def test_titles_are_no_formulas(tmp_path, words):
    row = {"detector": f"{words}: mmse", "at_db": 1, "complete": True, "ber": [0.1],
           "ber_95": [[0.05, 0.2]], "fer_95": [[0.5, 1.0]]}
    parameters = {"code": "none", "snr_kind": "snr"}
    curves.draw([row], parameters, tmp_path / "out.png", words)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]
def test_without_a_code_there_are_bit_error_rates_only(drawn):
    (axis,) = drawn(code="none")
    assert axis.get_ylabel() == "bit error rate" and legend(axis) == ["MMSE"]
    assert [axis.get_ylabel().split(" rate")[0] for axis in drawn()] == ["frame error", "bit error"]
def test_points_that_are_not_complete_are_hollow(drawn):
    for axis in drawn(complete=(True, False, True)):
        hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"
                  and len(line.get_xdata())]
        assert {tuple(line.get_xdata()) for line in hollow if line.get_marker() != "None"} == {(1,)}
    assert "not complete" in legend(drawn(complete=(True, False, True))[0])
    assert "not complete" not in legend(drawn()[0])
def arrows(axis):
    """Return (x, y) of the beginning of each arrow."""
    return [tuple(max(segment, key=lambda end: end[1])) for bars in axis.containers
            for segment in bars.lines[2][0].get_segments()]
@pytest.mark.parametrize("last, at", [
    ((0.0, [0.0, 1e-2]), 2e-3),             # no error; the rate before it is lower than the bound
    ((0.0, [0.0, 1.2e-3]), 1.2e-3),         # no error: the bound
    ((1e-8, [1e-9, 3e-8]), 2e-3)])          # one error
def test_curves_end_with_an_arrow_and_axes_below_what_is_certain(drawn, last, at):
    for axis in drawn(last=last):
        assert axis.get_yscale() == "log"
        bottom = min(2e-3, last[1][1] if not last[0] else 1) / 2
        np.testing.assert_allclose(axis.get_ylim(), (bottom, 1.2))
        np.testing.assert_allclose(arrows(axis), [(2, at)])
        np.testing.assert_array_equal(axis.lines[0].get_ydata(), [1.0, 2e-3, np.nan])
    assert not any(map(arrows, drawn(last=(1e-3, [5e-4, 2e-3]))))
@pytest.mark.parametrize("name, words", [
    ("kbest:k=8", "K-best (8)"), ("nway", "N-way"),
    ("softsphere:llr_clip=5", "SoftSphere (llr clip 5)"),
    ("mmsepic:num_iterations=2,iterations=4", "MMSE-PIC (2, iterations 4)"),
    ("fig 3: mmse", "fig 3: MMSE"), ("my_zf:limit=2", "my_zf (limit 2)")])
def test_detectors_have_the_names_that_people_write(name, words):
    assert curves.detector_in_words(name) == words
def test_title_and_labels(drawn):
    assert legend(drawn(labels={"mmse": "linear", "nway": "N"})[0]) == ["linear"]
    assert drawn(code="none")[0].figure._suptitle.get_text() == (
        "Simulated: 1x1 QPSK, uncoded, channel AWGN")
    assert drawn(title="Fig. 3")[0].figure._suptitle.get_text() == "Fig. 3"
