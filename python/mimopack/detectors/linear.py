# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear detectors."""

from .base import Detector


class ZF(Detector):
    """Zero forcing, then max-log demapping of each stream (002 §2.2).

    x_hat = (H^H H)^-1 H^H y; stream i is demapped by itself with its own noise power
    noise_var [(H^H H)^-1]_ii. Complexity O(nr nt^2) per matrix and O(nr nt + nt M) per
    vector (sqrt(M) for square QAM). No a-priori LLRs: they would not change the filter, and
    adding them to the result is one addition (MMSE-PIC uses them).
    """

    name = "zf"
    family = "linear"
    summary = "Zero forcing, soft output per stream"
    MAX_TX = 64


class MMSE(Detector):
    """Linear minimum mean squared error, unbiased, then max-log demapping of each stream
    (001, 002 §2.2).

    x_hat = W y / mu, W = (H^H H + noise_var I)^-1 H^H, mu_i = [W H]_ii; stream i has the
    post-detection SINR mu_i / (1 - mu_i). Complexity O(nr nt^2) per vector, as noise_var may
    change with each. No a-priori LLRs (MMSE-PIC uses them).
    """

    name = "mmse"
    family = "linear"
    summary = "Linear MMSE, soft output per stream"
    MAX_TX = 64
