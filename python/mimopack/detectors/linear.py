# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear detectors."""

from .base import Detector


class ZF(Detector):
    """Zero forcing, then max-log demapping of each stream (002 §2.2).

    x_hat = (H^H H)^-1 H^H y. Each stream i is demapped separately, with the noise power
    noise_var * [(H^H H)^-1]_ii. A-priori LLRs are not supported: they would not change the filter,
    and the caller can add them to the result. MMSE-PIC uses them in its filter.

    Complexity: O(nr nt^2) per matrix and O(nr nt + nt M) per vector (sqrt(M) instead of M for
    square QAM).
    """

    name = "zf"
    family = "linear"
    OWN_SCALES = True
    summary = "Zero forcing, soft output per stream"
    MAX_TX = 64
    MOST_POINTS = 4096


class MMSE(Detector):
    """Unbiased linear MMSE, then max-log demapping of each stream (001, 002 §2.2).

    The filter minimises the mean squared error: x_hat = W y / mu, W = (H^H H + noise_var I)^-1 H^H,
    mu_i = [W H]_ii. Stream i has the post-detection SINR mu_i / (1 - mu_i). A-priori LLRs are not
    supported; MMSE-PIC uses them.

    Complexity: O(nr nt^2) per vector, because noise_var may change from vector to vector.
    """

    name = "mmse"
    family = "linear"
    OWN_SCALES = True
    summary = "Linear MMSE, soft output per stream"
    NEEDS_RANK = False
    MAX_TX = 64
    MOST_POINTS = 4096
