# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that refine Gaussian assumptions on the layers from iteration to iteration."""

from .. import reference
from ..checks import integer, positive, share
from .base import Detector
from .parameters import Parameter


class MMSEPIC(Detector):
    """MMSE with parallel interference cancellation (Studer, Fateh, Seethaler, IEEE JSSC 46 (7),
    2011): the linear detector that uses a-priori LLRs.

    Each iteration makes soft symbols (mean, variance) of the LLRs, cancels all other layers from
    each, filters what is left with W = (H^H H Lambda + noise_var I)^-1 H^H, Lambda =
    diag(variance), and demaps each layer with its prior, max-log. The first iteration takes the
    a-priori LLRs, each further one the a-posteriori LLRs before it; the prior counts once in the
    result. Without a prior one iteration is MMSE. Any constellation; square QAM is demapped per
    axis. Complexity O(nr nt^2) per matrix and, for each iteration, O(nt^3 + nt M) per vector
    (sqrt(M) for square QAM).
    """

    name = "mmsepic"
    summary = "MMSE with parallel interference cancellation, for a-priori LLRs"
    SUPPORTS_PRIOR = True
    MAX_TX = 64
    PARAMETERS = (
        Parameter("num_iterations", "Iterations", 1, "int",
                  "Iterations within the detector, 1 to 32; further ones make LLRs more accurate "
                  "in sign, and too large.", allowed="1 <= num_iterations <= 32"),
    )

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", num_iterations=1, **common):
        self.num_iterations = integer("num_iterations", num_iterations, 1, 32)
        super().__init__(num_tx, num_rx, constellation, **common)

    def _reference(self, y, h, noise_var, constellation, **prior):
        return reference.mmsepic(y, h, noise_var, constellation,
                                 num_iterations=self.num_iterations, **prior)

    def _core_options(self):
        return {"num_iterations": self.num_iterations}


class EP(Detector):
    """Expectation propagation (Cespedes, Olmos, Sanchez-Fernandez, Perez-Cruz, IEEE Trans.
    Commun. 62 (8), 2014).

    Each axis of each layer is given a Gaussian in place of its PAM distribution; each iteration
    takes what the received vector and the other axes' Gaussians say of an axis (the cavity, eq.
    31, 32), the moments of its PAM symbol under that (eq. 33), and moves its Gaussian towards
    one that gives the same moments (eq. 35-38). LLRs are max-log under the last cavity. A-priori
    LLRs are part of the PAM distribution: they count in the moments and the LLRs, and the first
    Gaussians have their mean and variance. Needs square QAM with Gray labels per axis. Where
    rounding decides whether a Gaussian is proper (about 1 vector of 1000 with 256-QAM), float32
    LLRs are off by up to 1 % of the vector's largest.
    Complexity O(nr nt^2) per matrix and, for each iteration, O(nt^3 + nt sqrt(M)) per vector.
    """

    name = "ep"
    summary = "Expectation propagation"
    SUPPORTS_PRIOR = True
    NEEDS_SQUARE_QAM = True
    MAX_TX = 64
    PARAMETERS = (
        Parameter("num_iterations", "Iterations", 10, "int", "1 to 100.",
                  allowed="1 <= num_iterations <= 100"),
        Parameter("smoothing", "Smoothing", 0.9, "float",
                  "Share of the last Gaussian's parameters that is kept, 0 to less than 1.",
                  allowed="0 <= smoothing < 1"),
        Parameter("initial_variance", "Initial variance", 0.5, "float",
                  "Variance of an axis's first Gaussian, 0.5 being E x^2; a prior scales it.",
                  allowed="initial_variance > 0"),
    )

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", num_iterations=10,
                 smoothing=0.9, initial_variance=0.5, **common):
        self.num_iterations = integer("num_iterations", num_iterations, 1, 100)
        self.smoothing = share("smoothing", smoothing)
        self.initial_variance = positive("initial_variance", initial_variance)
        super().__init__(num_tx, num_rx, constellation, **common)

    def _reference(self, y, h, noise_var, constellation, **prior):
        return reference.ep(y, h, noise_var, constellation, num_iterations=self.num_iterations,
                            smoothing=self.smoothing, initial_variance=self.initial_variance,
                            **prior)

    def _core_options(self):
        return {"num_iterations": self.num_iterations, "smoothing": self.smoothing,
                "initial_variance": self.initial_variance}
