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

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
          stat.S_IFSOCK: "a socket"}
# A new file or none: nobody else's file, and nothing that a link leads to.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def regular(path):
    """Return the path of the regular file that a path means; the file need not exist yet.

    Raises:
        ValueError: the path is a FIFO, a device or a socket.
        OSError: the path is a folder, or cannot be looked up.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode    # of the path: /dev/stdout may lead to a pipe without one
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is {_KINDS[stat.S_IFMT(mode)]}, must be a regular file")
    return target


def _is_stream(path):
    return path.exists() and not path.is_file() and not path.is_dir()


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

    Raises:
        ValueError: the path is a FIFO, a device or a socket, and not accepted.
        OSError: the file cannot be created.
    """

    def __init__(self, path, streams=False, follow=True):
        self.path = self.part = Path(path)
        self._target = None    # of a regular file
        replaced = not follow and self.path.is_symlink()
        if streams and not replaced and _is_stream(self.path):
            return
        self._target = self.path if replaced else regular(path)
        self.part = self._beside(f".{secrets.token_hex(4)}.part")
        os.close(os.open(self.part, _NEW, 0o666))

    def _beside(self, suffix):
        return self._target.with_name(self._target.name + suffix)

    def finish(self):
        """Give the file its final name, after its content has reached the disk.

        Raises:
            OSError: the content cannot be written.
        """
        if self._target is None:
            return
        _sync(self.part)
        self.part.replace(self._target)
        # The file is complete, even if the folder may not be opened or does not support it.
        with suppress(OSError):
            _sync(self._target.parent)

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
    is that of ``Replacement``.

    Raises:
        ValueError: the path is a FIFO, a device or a socket.
        OSError: the file cannot be written; the error has the name of the file.
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


@contextmanager
def locked(path):
    """Context manager: keep other runs away from a file.

    The lock is one of the system (flock) on the file .NAME.lock, and ends with the process at the
    latest. A process that is killed leaves .NAME.lock, which does not matter to the next run.

    Raises:
        ValueError: another run has the lock, or the path is no regular file.
        OSError: the lock cannot be taken.
    """
    target = regular(path)
    lock = target.with_name(f".{target.name}.lock")
    try:
        handle = _take(lock)
    except BlockingIOError:
        raise ValueError(f"{path} is in use by another run: wait until it ends, or name another "
                         "file") from None
    except OSError as error:
        error.filename = error.filename or str(lock)    # flock knows no name
        raise
    try:
        yield
    finally:
        with suppress(OSError):    # a lock file that stays does not matter
            lock.unlink()
        os.close(handle)


def in_use(path):
    """Return whether a run on this machine has the lock of a file.

    Raises:
        ValueError: the path is no regular file.
    """
    target = regular(path)
    try:
        handle = os.open(target.with_name(f".{target.name}.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def _take(lock):
    """Open and lock a file; return its handle."""
    while True:
        handle = os.open(lock, _LOCK, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_open(lock, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)    # the last holder removed the file after it was opened here


def _is_open(path, handle):
    """Return whether a path still names the open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except FileNotFoundError:
        return False


def _sync(path):
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
