# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notebook runs, and what it says about its curves is so."""

import json
import sys
from pathlib import Path

import gnuradio.mimopack.sionna
import matplotlib.pyplot as plt
import numpy as np
import torch
from sionna.phy import config

NOTEBOOK = Path(__file__).parents[2] / "docs" / "sionna-link.ipynb"
SHORTER = {"batch, batches, snrs_db = 64, 5, np.arange(8, 25, 2)":
           "batch, batches, snrs_db = 2, 1, np.array([8, 20])",
           "fft_size=48": "fft_size=12"}


def test_notebook(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mimopack", gnuradio.mimopack)    # the wheel's name
    monkeypatch.setattr(config, "device", config.device)    # which the notebook sets
    monkeypatch.setattr(plt, "show", plt.close)
    plt.switch_backend("agg")
    torch.set_num_threads(1)
    text = "\n".join("".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"]
                     if cell["cell_type"] == "code")
    for long, short in SHORTER.items():
        assert text.count(long) == 1
        text = text.replace(long, short)
    names = {}
    exec(text, names)
    wrong = names["wrong"]
    assert all(rates[0] > rates[1] for rates in wrong.values()), wrong
    for name in ("K-best", "EP"):
        np.testing.assert_allclose(wrong[name], wrong[f"Sionna {name}"], atol=0.03)
    times = capsys.readouterr().out.splitlines()[1:]
    assert [line[:15].strip() for line in times] == list(wrong)
