#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time Sionna's MIMO detectors on PyTorch for ``mimopack bench``.

    .venv-sionna/bin/python bench/peers/sionna_detectors.py THREADS [DEVICE [MODE]]

DEVICE is cpu or cuda:0, MODE is eager or compiled. The program reads lines "METHOD DATA.npz N". It
answers each with a line of JSON: the time for the first N vectors of the file (y, h, bits and
noise_var, simulated by ``mimopack bench``) and their bit errors, or an error. On a GPU, the arrays
are copied to the device and one call is made before the measurement; the time is the median of a
few calls. Sionna's QAM has the labels of 3GPP TS 38.211, and its LLRs are ln P(1)/P(0), like ours.
"""

import argparse
import json
import os
import sys
import time
from functools import cache
from importlib.metadata import version
from statistics import median

import numpy as np

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")    # several programs compile at once

import torch
from sionna.phy.mimo import EPDetector, KBestDetector, LinearDetector, MMSEPICDetector

CALLS = 3


@cache
def load(path, device):
    """Return (y, h, noise covariance, bits, bits per symbol)."""
    with np.load(path) as data:
        y, h = (torch.from_numpy(data[name]).to(device) for name in ("y", "h"))
        covariance = float(data["noise_var"]) * torch.eye(h.shape[1], dtype=torch.complex64,
                                                          device=device)
        bits = torch.from_numpy(data["bits"].astype(bool)).to(device)
    return y, h, covariance.expand(len(y), -1, -1).contiguous(), bits, bits.shape[1] // h.shape[2]


@cache
def create(method, num_tx, bits_per_symbol, device, compiled):
    qam = {"constellation_type": "qam", "num_bits_per_symbol": bits_per_symbol, "device": device}
    if method.startswith("kbest"):
        detector = KBestDetector("bit", num_tx, int(method.removeprefix("kbest")), **qam)
    elif method == "ep":
        detector = EPDetector("bit", bits_per_symbol, device=device)
    elif method == "mmsepic":
        detector = MMSEPICDetector("bit", "maxlog", num_iter=1, **qam)
    else:
        detector = LinearDetector("lmmse", "bit", "maxlog", **qam)
    return torch.compile(detector) if compiled else detector


def on_cpu(detect):
    start = time.perf_counter()
    llr = detect()
    return llr, time.perf_counter() - start


def on_gpu(detect):
    llr, seconds = detect(), []
    for _ in range(CALLS):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        llr = detect()
        end.record()
        end.synchronize()
        seconds.append(1e-3 * start.elapsed_time(end))
    return llr, median(seconds)


def answer(method, path, n, device, compiled):
    y, h, covariance, bits, width = load(path, device)
    detector = create(method, h.shape[2], width, device, compiled)
    arguments = [y[:n], h[:n], covariance[:n]]
    if method == "mmsepic":
        arguments.append(torch.zeros(n, h.shape[2], width, device=device))
    with torch.no_grad():
        llr, seconds = (on_cpu if device == "cpu" else on_gpu)(lambda: detector(*arguments))
    wrong = ((llr.reshape(n, -1) > 0) != bits[:n]).sum(axis=1)
    found = {"seconds": seconds, "vectors": n, "errors": int(wrong.sum()),
             "errors_squared": int((wrong**2).sum())}
    if device != "cpu":
        del llr, wrong
        torch.cuda.empty_cache()    # other programs use this GPU too
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("threads", type=int)
    parser.add_argument("device", nargs="?", choices=["cpu", "cuda:0"], default="cpu")
    parser.add_argument("mode", nargs="?", choices=["eager", "compiled"], default="eager")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.device != "cpu":
        torch.zeros(1, device=arguments.device)    # fails now if there is no GPU
    name = f"Sionna {version('sionna-no-rt')}, PyTorch {torch.__version__}"
    print(json.dumps({"name": name}), flush=True)
    for line in sys.stdin:
        method, path, n = line.split()
        try:
            found = answer(method, path, int(n), arguments.device,
                           arguments.mode == "compiled")
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {str(error).strip()[:200]}"}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
