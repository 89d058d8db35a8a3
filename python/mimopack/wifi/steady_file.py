# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file for the HDF5 library, which may end the process if a disk refuses its bytes."""

import os


class SteadyFile:
    """A new binary file for h5py that hides errors of the disk.

    If the disk fails or is full while HDF5 closes a file, the library keeps the file half open, and
    ends the process when it is closed again. So the library sees no errors: ``check`` raises the
    first one. From then on the bytes go to memory, for which the caller should close the file soon.

    Args:
        path: path of the file.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._at, self._size = 0, 0
        self._kept = []    # (position, bytes) of what the disk did not take
        self._error = None

    def check(self):
        """Raise the first error.

        Raises:
            OSError: not all bytes could be written or read.
        """
        if self._error is not None:
            raise self._error

    def close(self):
        """Close the file; then raise the first error, as ``check`` does."""
        if self._file is not None:
            file, self._file, self._kept = self._file, None, []
            self._tried(os.close, file)
        self.check()

    # h5py calls the following methods.

    def seek(self, offset, whence=os.SEEK_SET):
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self):
        return self._at

    def flush(self):
        pass

    def truncate(self, size):
        self._size = size
        if self._error is None:
            self._tried(os.ftruncate, self._file, size)

    def write(self, data):
        left = memoryview(data).cast("B")
        while left and self._error is None:
            count = self._tried(os.pwrite, self._file, left, self._at)
            left, self._at = left[count:], self._at + count
        if left:
            self._kept.append((self._at, bytes(left)))
        self._at += len(left)
        self._size = max(self._size, self._at)

    def read(self, size):
        data = bytearray(size)
        self.readinto(data)
        return bytes(data)

    def readinto(self, buffer):
        view, first = memoryview(buffer).cast("B"), self._at
        count = self._tried(os.preadv, self._file, [view], first)
        view[count:] = bytes(len(view) - count)
        for at, data in self._kept:
            begin, end = max(first, at), min(first + len(view), at + len(data))
            if begin < end:
                view[begin - first:end - first] = data[begin - at:end - at]
        self._at += len(view)
        return len(view)

    def _tried(self, function, *arguments):
        """Return the result of a function, or 0 after an error."""
        try:
            return function(*arguments)
        except OSError as error:
            self._error = self._error or error
            return 0
