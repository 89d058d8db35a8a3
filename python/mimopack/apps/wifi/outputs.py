# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that frames are written to as they come."""

import errno
import json
import os
import stat
from pathlib import Path

from ...wifi.csi import CsiWriter
from ...wifi.pcap import PcapWriter

_LATEST = 2**31    # seconds since 1970, with room for the longest recording below 2^32


def is_stream(path):
    """Return whether a path is a FIFO or a device, which has no content to replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_fifo(path):
    """Return whether a path is a FIFO, whose opening waits for a reader."""
    return path.exists() and stat.S_ISFIFO(path.stat().st_mode)


def pcap_time(start_time, path, warn):
    """Return a recording's start time; None, with a warning, where a capture file cannot hold it.
    """
    if start_time is not None and not 0 <= start_time < _LATEST:
        warn(f"{path} has times from 1970 on: the recording's own time does not fit in")
        return None
    return start_time


class Replacement:
    """A file that gets its name when it is whole, an older file of that name stays until then.

    Attributes:
        path: what it shall be.
        part: what is to be written: another name; of a FIFO or a device the path.
    """

    def __init__(self, path):
        self.path = Path(path)
        target = Path(os.path.realpath(self.path))    # a link stays one
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self._target = target
        self.part = self.path if is_stream(target) else target.with_name(target.name + ".part")

    def finish(self):
        """Give the file its name."""
        if self.part != self.path:
            self.part.replace(self._target)

    def discard(self):
        """Remove what was written."""
        if self.part != self.path:
            self.part.unlink(missing_ok=True)


class JsonFile:
    """A list of frames in a JSON file, one in a line."""

    def __init__(self, path):
        self._replacement = Replacement(path)
        self.path = self._replacement.path
        self._file = self._replacement.part.open("w", encoding="utf-8", newline="\n")
        self._separator = "["

    def write(self, frame):
        """Append a frame."""
        self._file.write(f"{self._separator}\n{json.dumps(frame.as_json(), allow_nan=False)}")
        self._separator = ","

    def close(self):
        """End the list and give the file its name."""
        if self._file.closed:
            return
        with self._file:
            self._file.write("[]\n" if self._separator == "[" else "\n]\n")
        self._replacement.finish()

    def discard(self):
        """Remove what was written."""
        self._file.close()
        self._replacement.discard()


class PcapFile:
    """A capture file; where the reader of a FIFO goes away, it takes no more."""

    def __init__(self, path, start_time, warn):
        self._replacement = Replacement(path)
        self.path = self._replacement.path
        self._writer = PcapWriter(self._replacement.part)
        self._start_time, self._warn = pcap_time(start_time, self.path, warn), warn

    def write(self, frame):
        """Append a frame's MPDUs."""
        if self._writer.closed:
            return
        try:
            self._writer.write(frame, time=self._start_time)
        except BrokenPipeError:
            self._warn(f"the reader of {self.path} has gone away: no more frames are written to it")

    def close(self):
        """Close the file and give it its name."""
        if not self._writer.closed:
            self._writer.close()
            self._replacement.finish()

    def discard(self):
        """Remove what was written."""
        self._writer.close()
        self._replacement.discard()


class CsiFile:
    """A file of channel matrices."""

    def __init__(self, path):
        self.path = Path(path)
        self._writer = CsiWriter(path)

    def write(self, frame):
        """Append a frame, if its channel is known."""
        self._writer.write(frame)

    def close(self):
        """Complete the file."""
        self._writer.close()

    def discard(self):
        """Remove what was written."""
        self._writer.discard()


class Outputs:
    """All files of a run.

    Attributes:
        paths: of the files.
    """

    def __init__(self):
        self._files = []

    @property
    def paths(self):
        """The files' paths."""
        return [one.path for one in self._files]

    def add(self, output):
        """Take a file that is open."""
        self._files.append(output)

    def write(self, frame):
        """Write a frame to every file."""
        for output in self._files:
            output.write(frame)

    def discard(self):
        """Remove what was written to every file; older files of their names stay."""
        for output in self._files:
            output.discard()

    def close(self):
        """Complete every file, also where one of them fails; raises the first failure."""
        failure = None
        for output in self._files:
            try:
                output.close()
            except (OSError, ValueError) as error:
                failure = failure or error
        if failure is not None:
            raise failure
