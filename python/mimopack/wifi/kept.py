# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep what was made for earlier frames, in limited memory."""

# Frames of this number of coded bits, or fewer, have size 1.
_BITS = 1 << 14


class Kept:
    """Objects made for the formats of earlier frames. The oldest ones make room for new ones.

    One thread at a time may use an object.

    Args:
        most: limit of the sum of the objects' sizes. A single larger object is kept.
    """

    def __init__(self, most):
        self._most, self._size = most, 0
        self._objects = {}    # {key: (object, its size)}

    def __len__(self):
        return len(self._objects)

    def get(self, key, make, size=1):
        """Return the object of a key.

        Args:
            key: hashable key.
            make: function without arguments that makes the object if it is not kept.
            size: size of the object, see :func:`size_of`.
        """
        found = self._objects.get(key)
        if found is None:
            found = self._objects[key] = make(), size
            self._size += size
            while self._size > self._most and len(self._objects) > 1:
                _, freed = self._objects.pop(next(iter(self._objects)))
                self._size -= freed
        return found[0]

    def clear(self):
        """Drop all objects."""
        self._objects.clear()
        self._size = 0


def size_of(frame_format):
    """Return the size of an object whose memory grows with the coded bits of a frame."""
    f = frame_format
    return 1 + f.num_symbols * f.coded_bits_per_symbol // _BITS
