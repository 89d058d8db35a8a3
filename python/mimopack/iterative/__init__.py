# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iterative receiver: a detector and a decoder that exchange extrinsic LLRs (002 §2).

    layout = iterative.CodewordLayout(decoder.num_bits, detector.bits_per_vector, interleaver)
    x = constellation.modulate(layout.spread(words))                # the vectors sent
    receiver = iterative.IterativeReceiver(detector, decoder, interleaver, iterations=4)
    received = receiver.receive(y, h, noise_var)                    # received.bits, .found

002 stands for a paper; docs/references.md describes it. All functions and classes raise ValueError
for an argument that does not match its description.
"""

from .layout import CodewordLayout
from .receiver import IterativeReceiver, Received
from .sharing import SharedReceiver

__all__ = ["CodewordLayout", "IterativeReceiver", "Received", "SharedReceiver"]
