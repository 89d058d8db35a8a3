# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors and decoders on NVIDIA GPUs: the kernels of lib/ through CuPy.

``source`` writes a detector's programs and needs neither CuPy nor a GPU; ``program`` compiles and
launches them on one GPU; ``transfer`` sends arrays of the host there and back in parts, and
``pinning`` spares the copy of those in GNU Radio's buffers; ``gpus`` puts these together for all
GPUs of a detector. ``device`` is what all of them need of a GPU.
"""
