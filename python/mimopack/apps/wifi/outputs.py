# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output files, written while frames come."""

import errno
import json
import os
import stat
from contextlib import contextmanager, suppress

from ...files import Replacement
from ...wifi.csi import HDF5_SUFFIXES, CsiWriter
from ...wifi.pcap import PcapWriter

_CSI_SUFFIXES = (".npz", *HDF5_SUFFIXES)
_to_json = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_LATEST = 2**31    # seconds since 1970; leaves room for the longest recording below 2^32


def is_fifo(path):
    """Return whether a path is a FIFO. Opening a FIFO waits for a reader."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:    # as does writing to the path, which then tells the reason
        return False


class OutputError(OSError):
    """A file cannot be written; the text names the option, the path and the reason."""


_FAILURES = OSError, ValueError, ImportError    # that writing to a file raises


def output_error(option, path, error):
    """Return the :class:`OutputError` of an exception."""
    return OutputError(f"{option}: cannot write {path}: "
                       f"{getattr(error, 'strerror', None) or error}")


@contextmanager
def naming(option, path):
    """Raise :class:`OutputError` in place of exceptions from writing to a path."""
    try:
        yield
    except _FAILURES as error:
        raise output_error(option, path, error) from error


def make_folder(folder):
    """Make a folder for output files.

    Raises:
        OutputError: the folder cannot be made.
    """
    with naming("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def replacement(path, follow=True):
    """Return the ``Replacement`` of a file that is written while frames come.

    ``follow`` is that of ``Replacement``.

    Raises:
        ValueError, OSError: the file cannot be written.
    """
    if str(path) == "-":
        raise ValueError("must be the name of a file, since the report goes to standard output")
    return Replacement(path, streams=True, follow=follow)


class _OutputFile:
    """A file that is written while frames come. A subclass has ``_open``, ``_end`` and ``_stop``.

    Attributes:
        path: path of the file.
    """

    def __init__(self, path, follow=True):
        self.path = path
        with replacement(path, follow) as self._replacement:
            self._open(self._replacement.part)

    def close(self):
        """Complete the file and give it its final name."""
        self._end()
        self._replacement.finish()

    def leave(self):
        """Leave the incomplete file; return its path, see ``Replacement.leave``."""
        with suppress(OSError):
            self._stop()
        return self._replacement.leave()

    def discard(self):
        """Remove what was written."""
        self._stop()
        self._replacement.discard()


class JsonFile(_OutputFile):
    """A JSON file with a list of frames, one frame per line."""

    def _open(self, part):
        self._file, self._separator = part.open("w", encoding="utf-8", newline="\n"), "["

    def write(self, frame, time=None):
        """Append a frame, with its time if it is known."""
        report = frame.as_json()
        if time is not None:
            report["rx_time"] = time
        self._file.write(f"{self._separator}\n{_to_json(report)}")
        self._separator = ","

    def _end(self):
        with self._file:
            self._file.write("[]\n" if self._separator == "[" else "\n]\n")

    def _stop(self):
        self._file.close()


class PcapFile(_OutputFile):
    """A capture file. If the reader of a FIFO goes away, later frames are not written.

    Args:
        path, follow: as for ``replacement``.
        start_time: time of a recording's first sample in seconds since 1970, or None.
        warn: function that prints a warning.
        dbm_full_scale: see ``PcapWriter``.
    """

    def __init__(self, path, start_time, warn, dbm_full_scale=0.0, follow=True):
        self._warn, self._dbm_full_scale, self._left = warn, dbm_full_scale, False
        if start_time is not None and not 0 <= start_time < _LATEST:
            warn(f"{path} has times from 1970 on: the recording's own time does not fit in")
            start_time = None
        self._start_time = start_time
        super().__init__(path, follow)

    def _open(self, part):
        self._writer = PcapWriter(part, self._dbm_full_scale)

    def write(self, frame, time=None):
        """Append the MPDUs of a frame, with its time if it is known."""
        if self._left:
            return
        if time is not None and not 0 <= time[0] < _LATEST:
            time = None
        try:
            self._writer.write(frame, self._start_time, time)
        except BrokenPipeError:
            self._left = True
            self._warn(f"the reader of {self.path} has gone away: no more frames are written to it")

    def _end(self):
        self._writer.close()

    _stop = _end


class CsiFile:
    """A file of channel matrices."""

    def __init__(self, path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.suffix.lower() not in _CSI_SUFFIXES:
            raise ValueError(f"the name must end in {', '.join(_CSI_SUFFIXES)}")
        self.path, self._writer = path, CsiWriter(path)

    def write(self, frame, time=None):
        """Append a frame if its channel is known."""
        self._writer.write(frame)

    def close(self):
        """Complete the file and give it its final name."""
        self._writer.close()

    def leave(self):
        """Remove the incomplete file, since it cannot be read."""
        with suppress(OSError):
            self._writer.discard()

    def discard(self):
        """Remove what was written."""
        self._writer.discard()


class Outputs:
    """All output files of a run.

    Attributes:
        written: paths of the completed files.
        left: paths of the incomplete files that remain.
    """

    def __init__(self):
        self._files = {}    # {option: file}
        self._failed = set()
        self.written, self.left = [], []

    def open(self, paths, own_files, start_time, warn, full_scale_dbm=0.0):
        """Open the files before the first frame comes.

        Args:
            paths: {option: path, or None}, of the options --json, --csi and --pcap.
            own_files: paths of the recording's files.
            start_time, warn, full_scale_dbm: as for ``PcapFile``.

        Raises:
            OutputError: a file cannot be written.
            ValueError: two options name the same file.
        """
        taken = {os.path.realpath(path): "the recording" for path in own_files}
        paths = {option: path for option, path in paths.items() if path is not None}
        for option, path in paths.items():
            other = taken.setdefault(os.path.realpath(path), option)
            if other != option:
                raise ValueError(f"{option}: {path} is the recording too"
                                 if other == "the recording"
                                 else f"{option}: {other} writes to {path} already")
        make = {"--json": JsonFile, "--csi": CsiFile,
                "--pcap": lambda path: PcapFile(path, start_time, warn, full_scale_dbm)}
        for option, path in paths.items():
            if is_fifo(path):
                warn(f"{path} waits for a reader"
                     + f", such as wireshark -k -i {path}" * (option == "--pcap"))
            self.add(option, path, make[option])

    def add(self, option, path, make):
        """Open the file of an option with ``make(path)``.

        Raises:
            OutputError: the file cannot be written.
        """
        with naming(option, path):
            self._files[option] = make(path)

    def write(self, frame, time=None):
        """Write a frame to every file.

        Args:
            frame: ``wifi.ReceivedFrame``.
            time: time (seconds, fraction) since 1970 of the frame's first sample. None if it
                follows from the start of the recording.

        Raises:
            OutputError: a file cannot be written.
        """
        for option, output in self._files.items():
            try:
                output.write(frame, time)
            except _FAILURES as error:
                self._failed.add(option)
                raise output_error(option, output.path, error) from error

    def discard(self):
        """Remove the data written to every file; older files of the same names stay."""
        for output in self._files.values():
            output.discard()

    def close(self):
        """Complete every file that has not failed.

        Raises:
            OutputError: a file cannot be written. The other files are completed first.
        """
        failure = None
        for option, output in self._files.items():
            if option not in self._failed:
                try:
                    output.close()
                    self.written.append(output.path)
                except _FAILURES as error:
                    self._failed.add(option)
                    failure = failure or output_error(option, output.path, error)
            if option in self._failed:
                left = output.leave()
                if left is not None:
                    self.left.append(left)
        if failure is not None:
            raise failure
