# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detector of your own: a matched filter, in NumPy, C++ and CUDA.

Compile it, and run it beside the detectors of gr-mimopack:

    python3 examples/detector/matched.py
"""

import tempfile
from pathlib import Path

import numpy as np
from gnuradio.mimopack import channel, detectors
from gnuradio.mimopack.checks import number
from gnuradio.mimopack.detectors.parameters import Parameter

FOLDER = Path(__file__).resolve().parent


def not_negative(name, value):
    """Return a float from 0 on."""
    if not 0 <= number(name, value) < 1e30:
        raise ValueError(f"{name}: got {value}, must not be negative, and less than 1e30")
    return float(value)


def reference(y, h, noise_var, constellation, interference):
    """LLRs of one vector; the arguments after the constellation are the parameters, by name."""
    strength = np.sum(np.abs(h)**2, axis=0)
    x = h.conj().T @ y / strength
    noise = noise_var + interference * (h.shape[1] - 1)
    metric = np.abs(x[:, None] - constellation.points)**2 * (strength / noise)[:, None]
    ones = constellation.bits.T == 1    # row b: the points whose label has bit b
    return np.array([[np.min(m[~one]) - np.min(m[one]) for one in ones] for m in metric]).ravel()


class Matched(detectors.Detector):
    """Matched filter: each layer as if the others were not there.

    x_i = h_i^H y / |h_i|^2, then max-log demapping. Complexity O(nr nt + nt M) per vector, and
    O(nr nt^2) per matrix, whose rank is checked.
    """

    name = "matched"
    summary = "Matched filter of each layer"
    FOLDER = FOLDER
    REFERENCE = staticmethod(reference)
    CANONICAL_ORDER = False    # LLRs come in the order of the labels
    PARAMETERS = (
        Parameter("interference", "Interference", 0.0, "float",
                  "Power |h_j|^2 of each other layer that is added to the noise, 0 or more.",
                  check=not_negative),
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "matched.so"
        detectors.compile_module(FOLDER, module)
        detectors.register(Matched, module)
        rng = np.random.default_rng(1)
        h = channel.flat_rayleigh(20_000, 8, 2, rng)
        x = rng.choice(detectors.MMSE(2, 8, "qpsk").constellation.points, (20_000, 2))
        y = (np.einsum("nij,nj->ni", h, x) + channel.awgn((20_000, 8), 0.1, rng)).astype(
            np.complex64)
        exact = detectors.MLA(2, 8, "qpsk").detect(y, h, 0.1) > 0
        for name in ("matched", "zf", "mmse"):
            llr = detectors.create(name, num_tx=2, num_rx=8, constellation="qpsk").detect(y, h, 0.1)
            print(f"{name:>8}: {100 * np.mean((llr > 0) == exact):.2f} % of the bits as by MLA "
                  "(simulated)")


if __name__ == "__main__":
    main()
