# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that refine Gaussian assumptions on the layers from iteration to iteration."""

from ..checks import positive, share
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
                  "in sign, and too large.", least=1, most=32),
    )


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
                  least=1, most=100),
        Parameter("smoothing", "Smoothing", 0.9, "float",
                  "Share of the last Gaussian's parameters that is kept, 0 to less than 1.",
                  check=share),
        Parameter("initial_variance", "Initial variance", 0.5, "float",
                  "Variance of an axis's first Gaussian, 0.5 being E x^2; a prior scales it.",
                  check=positive),
    )
