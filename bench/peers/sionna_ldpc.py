#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode LLRs of 5G NR's LDPC code with Sionna, for bench/nr_ldpc.py.

    .venv-sionna/bin/python bench/peers/sionna_ldpc.py THREADS

The program reads lines of JSON, {"path": FILE.npz, "cn_update": ..., "iterations": ...}. The file
contains llr (n, coded), info_bits and bits_per_symbol. The program writes the decided information
bits to FILE.npy and then answers with a line of JSON. The schedule is layered by block rows, like
ours; nothing is clipped. The first line of output gives the versions.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from sionna.phy.fec.ldpc import LDPC5GDecoder, LDPC5GEncoder

BATCH = 250


def decode(path, cn_update, iterations):
    with np.load(path) as data:
        llr, k, depth = data["llr"], int(data["info_bits"]), int(data["bits_per_symbol"])
    encoder = LDPC5GEncoder(k, llr.shape[1], num_bits_per_symbol=depth)
    decoder = LDPC5GDecoder(encoder, cn_update=cn_update, cn_schedule="layered", llr_max=None,
                            num_iter=iterations)
    with torch.no_grad():
        decided = [decoder(part).numpy().astype(np.uint8)
                   for part in torch.from_numpy(llr).split(BATCH)]
    np.save(Path(path).with_suffix(".npy"), np.concatenate(decided))


def main():
    torch.set_num_threads(int(sys.argv[1]))
    print(json.dumps({name: version(name) for name in ("sionna-no-rt", "torch")}), flush=True)
    for line in sys.stdin:
        decode(**json.loads(line))
        print(json.dumps("done"), flush=True)


if __name__ == "__main__":
    main()
