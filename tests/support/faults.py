# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make each call of an operation fail once in turn, as the tests of SQLite do."""

import errno
import io
import os
import sys
import threading
from contextlib import contextmanager

import pmt
import pytest
from array_memory import watch_arrays
from gnuradio import gr
from gnuradio.mimopack import _runtime

# Longest loop over the calls of an operation. A longer one would not end.
_MOST = 20_000


class Fault:
    """One call that fails: call number ``at`` of the watched operations, counted from 1.

    Args:
        at: number of the call that fails; 0 lets none fail.
        lasts: whether all later calls fail too.

    Attributes:
        calls: number of calls so far.
        happened: whether a call has failed.
    """

    def __init__(self, at=0, lasts=False):
        self.at, self.lasts, self.calls, self.happened = at, lasts, 0, False
        self._lock, self._active = threading.Lock(), True

    def fails(self):
        """Count a call; return whether it is one that fails."""
        with self._lock:
            if not self._active:
                return False
            self.calls += 1
            if not self.at or (self.calls < self.at if self.lasts else self.calls != self.at):
                return False
            self.happened = True
            return True

    def check(self, make_error):
        """Count a call; raise ``make_error()`` if it is one that fails."""
        if self.fails():
            raise make_error()

    @contextmanager
    def paused(self):
        """Context manager: let the test's own calls pass, uncounted."""
        self._active = False
        try:
            yield
        finally:
            self._active = True


def each_fault(run, lasts=False):
    """Call ``run(fault)`` with each call failing in turn, until a run has no failure.

    The first 20 calls fail one after another. Of the later ones, which repeat the earlier ones, a
    sixth more are passed over each time.

    Returns:
        Number of runs with a failure, at least 1.
    """
    at, runs = 1, 0
    while at < _MOST:
        fault = Fault(at, lasts)
        run(fault)
        if not fault.happened:
            assert runs, "the operation was never called"
            return runs
        runs += 1
        at += max(1, (at - 20) // 6 + 1)
    raise AssertionError(f"after {_MOST} calls there are still calls that have not failed")


def watch(patch, fault, owner, name, make_error, when=lambda *arguments: True):
    """Let calls of ``owner.name`` fail; only calls for whose arguments ``when`` is true count."""
    real = getattr(owner, name)

    def call(*arguments, **keywords):
        if when(*arguments):
            fault.check(lambda: make_error(*arguments))
        return real(*arguments, **keywords)

    patch.setattr(owner, name, call)


class _File:
    """A file whose methods fail."""

    def __init__(self, file, fault, names, make_error):
        self._file, self._fault, self._names, self._error = file, fault, names, make_error

    def __getattr__(self, name):
        value = getattr(self._file, name)
        if name not in self._names:
            return value

        def call(*arguments):
            self._fault.check(self._error)
            return value(*arguments)

        return call

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        self._file.__exit__(*error)
        if {"close", "flush"} & set(self._names):    # closing writes what waits
            self._fault.check(self._error)

    def __iter__(self):
        return iter(self._file)


def _error(number, what):
    """Return an OSError as the system does: with the name of the file, unless it is open."""
    names = [str(name) for name in what if isinstance(name, str | os.PathLike)]
    return OSError(number, f"injected: {os.strerror(number)}", *names[:1])


def _no_space(*what):
    return _error(errno.ENOSPC, what)


def _broken(*what):
    return _error(errno.EIO, what)


def _path_of(what):
    if isinstance(what, int):
        return os.readlink(f"/proc/self/fd/{what}")
    return os.path.abspath(os.fspath(what))


def _watch_opened(patch, fault, folder, names, make_error):
    """Let methods of files fail that are opened below a folder."""
    real = io.open

    def opened(path, *arguments, **keywords):
        below = _path_of(path).startswith(str(folder))
        if below and "open" in names:
            fault.check(lambda: make_error(path))
        file = real(path, *arguments, **keywords)
        return _File(file, fault, names, make_error) if below else file

    patch.setattr(io, "open", opened)
    patch.setattr("builtins.open", opened)
    patch.setattr("tempfile._io.open", opened)


def _method(*names, error=_no_space):
    return lambda patch, fault, folder: _watch_opened(patch, fault, folder, names, error)


def _system(*names, error=_broken):
    def install(patch, fault, folder):
        for name in names:
            watch(patch, fault, os, name, error,
                  lambda path, *_: _path_of(path).startswith(str(folder)))

    return install


# {operation on files: function (patch, fault, folder) that lets it fail below a folder}
FILES = {
    "open": lambda patch, fault, folder: (
        _watch_opened(patch, fault, folder, ("open",), _no_space),
        _system("open", error=_no_space)(patch, fault, folder)),
    "read": _method("read", "readinto", error=_broken),
    "preadv": _system("preadv"),
    "write": _method("write"),
    "seek": _method("seek", "tell", error=_broken),
    "truncate": _method("truncate", error=_broken),
    "flush": _method("flush"),
    "close": _method("close"),
    "fsync": _system("fsync"),
    "rename": _system("replace", "rename"),
    "unlink": _system("unlink"),
    "fstat": _system("fstat"),
}


def _of_mimopack(depth):
    return sys._getframe(depth).f_globals["__name__"].startswith("gnuradio.mimopack")


def _watch_threads(patch, fault, folder):
    """Let threads fail to start, except those of the tests."""
    watch(patch, fault, threading.Thread, "start",
          lambda *_: RuntimeError("injected: can't start new thread"), lambda *_: _of_mimopack(3))


# Calls of GNU Radio that allocate memory, as Python code makes them: methods of blocks written in
# Python, methods of all blocks, functions that make or convert messages, and functions of _runtime.
PORTS = ("message_port_pub", "add_item_tag", "get_tags_in_window")
HANDLERS = ("_post", "delete_head_nowait", "system_handler")
CONVERSIONS = (
    "cons", "dict_add", "dict_items", "f32vector_elements", "f64vector_elements", "from_double",
    "from_long", "init_f32vector", "init_u8vector", "intern", "make_dict", "s32vector_elements",
    "symbol_to_string", "to_pmt", "to_python", "u8vector_elements")
RUNTIME = ("forget_listeners", "has_senders", "listeners", "mpdus_to_pdus", "publish", "to_pdu",
           "to_pmt", "to_pmt_dict", "to_python", "to_python_dict")


def watch_gnuradio(patch, fault, blocks, called):
    """Let calls of GNU Radio fail that mimopack's Python code makes.

    Args:
        blocks: blocks written in Python whose methods may fail.
        called: set to which the names of the calls are added.
    """
    def watch_one(owner, name):
        def by_mimopack(*_):
            if not _of_mimopack(3):
                return False
            called.add(name)
            return True

        watch(patch, fault, owner, name, lambda *_: RuntimeError("injected: std::bad_alloc"),
              by_mimopack)

    for block in blocks:
        for name in PORTS:
            if hasattr(block, name):
                watch_one(block, name)
    for name in HANDLERS:
        watch_one(_owner(name), name)
    for name in CONVERSIONS:
        watch_one(pmt, name)
    for module in [one for name, one in sys.modules.items()
                   if name.startswith("gnuradio.mimopack") and one is not None]:
        for name in RUNTIME:
            if getattr(module, name, None) is _REAL[name]:
                watch_one(module, name)


_REAL = {name: getattr(_runtime, name) for name in RUNTIME}


def _owner(name):
    """Return the class of GNU Radio that defines a method of all blocks."""
    kinds = type(gr.top_block().to_basic_block()).__mro__ + type(
        gr.sync_block("any", None, None).to_basic_block()).__mro__
    return next(kind for kind in kinds if name in vars(kind))


MEMORY = {"arrays": watch_arrays}
THREADS = {"threads": _watch_threads}


@contextmanager
def injected(operation, fault, folder):
    """Context manager: let calls of an operation fail as ``fault`` says."""
    with pytest.MonkeyPatch.context() as patch:
        operation(patch, fault, folder)
        yield


class Folders:
    """Make a new folder for each run."""

    def __init__(self, folder):
        self._folder, self._number = folder, 0

    def __call__(self):
        self._number += 1
        made = self._folder / str(self._number)
        made.mkdir()
        return made
