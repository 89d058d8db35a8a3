# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write whole files: a file gets its name when it is complete, and one program at a time uses it.

Only regular files are replaced. A path that is a symbolic link means the file behind the link. For
files that a program names itself in a folder of the user it does not: a link there may lead to
files that the user has not named.
"""

import errno
import fcntl
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path


def regular(path):
    """Return the path of the regular file that a path means; the file need not exist yet.

    A FIFO, a device or a socket is a ValueError, a folder an OSError.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode    # of the path: /dev/stdout may lead to a pipe without one
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is a FIFO, a device or a socket, must be a regular file")
    return target


class Replacement:
    """A file that gets its name when it is complete. An older file of that name stays until then.

    Use it as a context manager to remove the incomplete file after an exception.

    Args:
        path: final path.
        streams: accept a FIFO or a device too, which has no content to replace. It is written
            directly.
        follow: whether a symbolic link means the file behind it; otherwise the link is replaced.

    Attributes:
        path: final path.
        part: path to write to: a new empty file in the same folder, named NAME.RANDOM.part; for a
            FIFO or a device the final path.
    """

    def __init__(self, path, streams=False, follow=True):
        self.path = self.part = Path(path)
        self._target = None    # of a regular file
        replaced = not follow and self.path.is_symlink()
        stream = self.path.exists() and not self.path.is_file() and not self.path.is_dir()
        if streams and stream and not replaced:
            return
        self._target = self.path if replaced else regular(path)
        self.part = self._beside(f".{secrets.token_hex(4)}.part")
        self.part.touch(exist_ok=False)

    def _beside(self, suffix):
        return self._target.with_name(self._target.name + suffix)

    def finish(self):
        """Give the file its final name, after its content has reached the disk."""
        if self._target is not None:
            with self.part.open("rb") as file:
                os.fsync(file.fileno())
            self.part.replace(self._target)

    def leave(self):
        """Leave the incomplete file as NAME.part; return its path, or None without such a file."""
        if self._target is None or not self.part.exists():
            return None
        with suppress(OSError):    # otherwise the file keeps its temporary name
            self.part = self.part.replace(self._beside(".part"))
        return self.part

    def discard(self):
        """Remove the incomplete file."""
        if self._target is not None:
            self.part.unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.discard()


@contextmanager
def replace_file(path, binary=False, follow=True):
    """Context manager: open a file that gets its name at the end, for text or bytes.

    After an exception an older file of that name is unchanged, and nothing else remains. ``follow``
    is that of ``Replacement``. An OSError has the name of the file.
    """
    try:
        with Replacement(path, follow=follow) as replacement:
            with (replacement.part.open("wb") if binary else
                  replacement.part.open("w", encoding="utf-8", newline="\n")) as file:
                yield file
            replacement.finish()
    except OSError as error:
        error.filename = str(path)    # a failed write knows no name
        raise


def _lock_of(path):
    target = regular(path)
    return target.with_name(f".{target.name}.lock")


@contextmanager
def locked(path):
    """Context manager: keep other runs away from a file.

    The lock is one of the system (flock) on the file .NAME.lock, and ends with the process at the
    latest. A process that is killed leaves .NAME.lock, which does not matter to the next run. If
    another run has the lock, a ValueError says so.
    """
    lock = _lock_of(path)
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{path} is in use by another run: wait until it ends, or name "
                             "another file") from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def in_use(path):
    """Return whether a run on this machine has the lock of a file."""
    try:
        with _lock_of(path).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
