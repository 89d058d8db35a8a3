# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that model the layers as Gaussian and refine this model iteratively."""

from ..checks import positive, share
from .base import Detector
from .parameters import Parameter


class MMSEPIC(Detector):
    """MMSE with parallel interference cancellation: a linear detector that uses a-priori LLRs.

    Source: C. Studer, S. Fateh, D. Seethaler: ASIC Implementation of Soft-Input Soft-Output MIMO
    Detection Using MMSE Parallel Interference Cancellation, IEEE Journal of Solid-State Circuits 46
    (7), 2011.

    Each iteration computes soft symbols (mean, variance) from the LLRs and cancels all other layers
    from each layer. It filters the remaining signal with W = (H^H H Lambda + noise_var I)^-1 H^H,
    where Lambda = diag(variance), and demaps each layer by max-log with its a-priori LLRs. The
    first iteration starts from the a-priori LLRs. Each later iteration starts from the a-posteriori
    LLRs of the previous one. The result contains the a-priori LLRs only once. Without a-priori
    LLRs, one iteration equals MMSE. Square QAM is demapped per axis.

    Complexity: O(nr nt^2) per matrix and, for each iteration, O(nt^3 + nt M) per vector (sqrt(M)
    instead of M for square QAM).
    """

    name = "mmsepic"
    summary = "MMSE with parallel interference cancellation, for a-priori LLRs"
    NEEDS_RANK = False
    SUPPORTS_PRIOR = True
    MAX_TX = 64
    PARAMETERS = (
        Parameter("num_iterations", "Iterations", 1, "int",
                  "Number of iterations within the detector, 1 to 32. More iterations improve the "
                  "signs of the LLRs but make their magnitudes too large.", least=1, most=32),
    )


class EP(Detector):
    """Expectation propagation detector.

    Source: J. Céspedes, P. M. Olmos, M. Sánchez-Fernández, F. Pérez-Cruz: Expectation Propagation
    Detection for High-Order High-Dimensional MIMO Systems, IEEE Transactions on Communications 62
    (8), 2014.

    A Gaussian replaces the PAM distribution of each axis (real or imaginary part) of each layer. In
    each iteration, the received vector and the Gaussians of the other axes give the cavity
    distribution of an axis (eq. 31, 32). The detector computes the mean and variance of the PAM
    symbol under the cavity (eq. 33) and moves the axis's Gaussian towards the one whose product
    with the cavity has this mean and variance (eq. 35-38). LLRs are max-log under the last cavity.

    A-priori LLRs are part of the PAM distribution: they affect its moments and the LLRs, and they
    set the mean and variance of the initial Gaussians. For about 1 vector in 1000 with 256-QAM,
    rounding decides whether a Gaussian has a positive variance; the float32 LLRs are then off by up
    to 1 % of the vector's largest LLR.

    Complexity: O(nr nt^2) per matrix and, for each iteration, O(nt^3 + nt sqrt(M)) per vector.
    """

    name = "ep"
    summary = "Expectation propagation"
    NEEDS_RANK = False
    SUPPORTS_PRIOR = True
    NEEDS_GRID = True
    MAX_TX = 64
    PARAMETERS = (
        Parameter("num_iterations", "Iterations", 10, "int",
                  "Number of iterations, 1 to 100.",
                  least=1, most=100),
        Parameter("smoothing", "Smoothing", 0.9, "float",
                  "Weight of a Gaussian's previous parameters in each update, 0 to less than 1.",
                  check=share),
        Parameter("initial_variance", "Initial variance", 0.5, "float",
                  "Variance of the initial Gaussian of each axis without a-priori LLRs; 0.5 is the "
                  "energy of the axis. With a-priori LLRs, the initial variance is the PAM "
                  "symbol's a-priori variance times initial_variance / 0.5.",
                  check=positive),
    )
