# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of samples, as an input describes them."""

import numpy as np

# Bytes of one change: kind, place (two bytes), length, and four bytes of a value.
_BYTES = 8


def changed(samples, data):
    """Return samples (antennas, n) after the changes in an input, and pieces to cut them into.

    Args:
        samples: complex64 array.
        data: bytes. Every eight bytes are a change of up to 1020 samples.

    Returns:
        (samples, ascending positions of cuts).
    """
    samples, cuts = samples.copy(), []
    for at in range(0, len(data) - _BYTES + 1, _BYTES):
        n = samples.shape[1]
        kind, length = data[at], 4 * data[at + 3]
        begin = int.from_bytes(data[at + 1:at + 3], "little") * n >> 16
        value = np.frombuffer(data, "<f4", 1, at + 4)[0]
        seed = int.from_bytes(data[at + 4:at + 8], "little")
        end = min(n, begin + length)
        part = samples[kind >> 4 & 1 if len(samples) > 1 else slice(None), begin:end]
        with np.errstate(all="ignore"):
            kind &= 15
            if kind == 0:
                part[...] = value
            elif kind == 1:
                part *= value
            elif kind == 2:
                part += value * np.exp(1j * np.arange(end - begin), dtype=np.complex64)
            elif kind == 3:
                noise = np.random.default_rng(seed).standard_normal((end - begin, 2), np.float32)
                part += noise.view(np.complex64)[:, 0] * np.float32(0.02)
            elif kind == 4:
                np.conjugate(part, out=part)
            elif kind == 5:
                samples = np.delete(samples, slice(begin, end), axis=1)
            elif kind == 6:
                samples = np.concatenate([samples[:, :end], samples[:, begin:]], axis=1)
            elif kind == 7:
                cuts.append(begin)
            elif kind == 8:
                samples = samples * np.exp(
                    2j * np.pi * (seed % 4096 - 2048) / 1e5 * np.arange(n)).astype(np.complex64)
            elif kind == 9:
                part *= 1j
            elif kind == 10:
                part[..., :1].view(np.float32)[..., :1] = value
            else:
                part[...] = samples[:1, :end - begin]
        # Repetition must not make the input grow without limit.
        samples = np.ascontiguousarray(samples[:, :1 << 14])
    return samples, sorted(cut for cut in cuts if cut <= samples.shape[1])
