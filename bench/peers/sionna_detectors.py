#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times Sionna's MIMO detectors on PyTorch's CPU build for ``mimopack bench``.

    .venv-sionna/bin/python bench/peers/sionna_detectors.py THREADS

Reads lines "METHOD DATA.npz N" and answers each with a line of JSON: how long the first N vectors
of the file (y, h, bits, noise_var, as ``mimopack bench`` simulates them) took, and the bit errors
in them. Sionna's QAM has the labels of 3GPP TS 38.211 and its LLRs are ln P(1)/P(0), as ours.
"""

import json
import sys
import time
from functools import cache
from importlib.metadata import version

import numpy as np
import torch
from sionna.phy.mimo import EPDetector, KBestDetector, LinearDetector, MMSEPICDetector


@cache
def load(path):
    """y, h, noise covariance, bits, bits per symbol."""
    with np.load(path) as data:
        y, h = torch.from_numpy(data["y"]), torch.from_numpy(data["h"])
        covariance = float(data["noise_var"]) * torch.eye(h.shape[1], dtype=torch.complex64)
        bits = data["bits"]
    return y, h, covariance.expand(len(y), -1, -1).contiguous(), bits, bits.shape[1] // h.shape[2]


@cache
def create(method, num_tx, bits_per_symbol):
    qam = {"constellation_type": "qam", "num_bits_per_symbol": bits_per_symbol, "device": "cpu"}
    if method.startswith("kbest"):
        return KBestDetector("bit", num_tx, int(method.removeprefix("kbest")), **qam)
    if method == "ep":
        return EPDetector("bit", bits_per_symbol, device="cpu")
    if method == "mmsepic":
        return MMSEPICDetector("bit", "maxlog", num_iter=1, **qam)
    return LinearDetector("lmmse", "bit", "maxlog", **qam)


def answer(method, path, n):
    y, h, covariance, bits, width = load(path)
    detector = create(method, h.shape[2], width)
    arguments = [y[:n], h[:n], covariance[:n]]
    if method == "mmsepic":
        arguments.append(torch.zeros(n, h.shape[2], width))
    with torch.no_grad():
        start = time.perf_counter()
        llr = detector(*arguments)
        elapsed = time.perf_counter() - start
    wrong = np.count_nonzero((llr.reshape(n, -1).numpy() > 0) != bits[:n], axis=1)
    return {"seconds": elapsed, "vectors": n, "errors": int(wrong.sum()),
            "errors_squared": int((wrong**2).sum())}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    name = f"Sionna {version('sionna-no-rt')}, PyTorch {torch.__version__}"
    print(json.dumps({"name": name}), flush=True)
    for line in sys.stdin:
        method, path, n = line.split()
        print(json.dumps(answer(method, path, int(n))), flush=True)


if __name__ == "__main__":
    main()
