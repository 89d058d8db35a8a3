# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of error rates."""

import numpy as np
from gnuradio.mimopack.apps import curves


def test_axes_end_below_what_is_drawn(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(curves, "save", lambda figure, path: figures.append(figure))
    rates = {0: 1.0, 1: 2e-3, 2: 0.0}
    rows = [{"detector": "mmse", "at_db": at, "ber_before_decoding": 0.1,
             "ber_before_decoding_95": [0.05, 0.2],
             **{name: [rate] for name in ("fer", "ber")},
             **{f"{name}_95": [[rate / 2, min(1.0, 2 * rate)]] for name in ("fer", "ber")}}
            for at, rate in rates.items()]
    parameters = {"code": "turbo:40", "num_tx": 1, "num_rx": 1, "constellation": "qpsk",
                  "channel": "awgn", "snr_kind": "snr"}
    curves.draw(rows, parameters, tmp_path / "out.png")
    for axis in figures[0].axes:
        assert axis.get_yscale() == "log"
        np.testing.assert_allclose(axis.get_ylim(), (1e-3, 1.2))
