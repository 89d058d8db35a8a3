# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors and decoders on NVIDIA GPUs: the kernels of lib/, run through CuPy.

- ``source`` writes a detector's programs and needs neither CuPy nor a GPU.
- ``program`` compiles and launches them: the backend "cuda" of a detector.
- ``decoding`` is the same for decoders.
- ``transfer`` copies host arrays to a GPU and back in parts.
- ``pinning`` pins GNU Radio's buffers, which makes a copy of them unnecessary.
- ``device`` finds GPUs, compiles kernels and allocates pinned memory for the other modules.
"""
