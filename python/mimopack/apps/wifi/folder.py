# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode many recordings on a Dask cluster: a task for each, which its worker reads and writes."""

import io
import json
import secrets
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from ...cluster import Cluster
from ...files import locked, replace_file
from ...recording import files as names
from ..interrupt import STATUS
from ..progress import Progress
from .outputs import JsonFile, OutputError, Outputs, PcapFile, make_folder
from .reading import open_reader, refuse
from .recorded import RecordedFrames
from .words import plural

_WHAT = "Wi-Fi frames of recordings"
_SAVE_SECONDS = 10.0
_COUNTS = ("frames", "frames_complete", "mpdus", "mpdus_ok")


def decode(path, folder, marker, reading, receiver, full_scale_dbm):
    """Decode a recording on a worker, and write FOLDER/NAME.json and FOLDER/NAME.pcap.

    Args:
        path: path of the recording as the worker sees it, or a URL for fsspec.
        folder: the folder, which the worker shares with the program that started it.
        marker: name of a file that the program has put there.
        reading, receiver: further arguments of ``open_reader`` and of
            ``RecordedFrames``.
        full_scale_dbm: as for ``PcapFile``.

    Returns:
        A dictionary for the summary. Its key error says why the recording was not decoded.
    """
    try:
        if not (Path(folder) / marker).exists():
            raise OSError(f"--output: a worker does not see the folder {folder}: it must be a path "
                          "that all machines share")
        with _local(path) as local:
            return _decode(local, Path(folder) / _name(path), reading, receiver,
                           full_scale_dbm) | {"recording": path}
    except click.ClickException as error:
        reason = error.message
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        reason = str(error)
    return {"recording": path, "complete": False, "error": reason}


def _decode(path, stem, reading, receiver, full_scale_dbm):
    reader, sample_rate = open_reader(path, **reading, resample=True)
    source, outputs = RecordedFrames(reader, sample_rate, **receiver), Outputs()
    source.introduce(lambda line: None, lambda line: None)    # among the notes too
    try:
        for option, make, suffix in (
                ("--json", lambda path: JsonFile(path, follow=False), ".json"),
                ("--pcap", lambda path: PcapFile(path, source.start_time, reader.notes.append,
                                                 full_scale_dbm, follow=False), ".pcap")):
            target = stem.with_name(stem.name + suffix)
            outputs.add(option, target, make)
        for frame, when in source.frames(Progress(io.StringIO())):
            outputs.write(frame, when)
    except BaseException:
        outputs.discard()
        raise
    outputs.close()
    return source.as_json() | {"written": [str(one) for one in outputs.written]}


@contextmanager
def _local(path):
    """Context manager: the path of a recording as a file of this machine."""
    if "://" not in path:
        yield Path(path)
        return
    import fsspec

    system, inside = fsspec.core.url_to_fs(path)
    with tempfile.TemporaryDirectory() as folder:
        wanted = [inside]
        if inside.endswith(names.META):
            wanted.append(inside.removesuffix(names.META) + names.DATA)
        for one in wanted:
            system.get_file(one, f"{folder}/{Path(one).name}")
        yield Path(folder) / Path(inside).name


def _name(path):
    """Return the name of a recording, without the ending of its metadata file."""
    name = Path(path).name
    return name.removesuffix(names.META) if name.endswith(names.META) else name


def _recordings(paths):
    """Return {name: path}; patterns in URLs are expanded, which no shell does.

    Raises:
        Refusal: two have the same name, or a URL cannot be read.
    """
    found = {}
    for path in paths:
        several = [path]
        if "://" in path:
            try:
                import fsspec

                system, inside = fsspec.core.url_to_fs(path)
                several = [system.unstrip_protocol(one) for one in sorted(system.glob(inside))]
            except (OSError, ValueError, ImportError) as error:
                refuse(f"{path}: {error}")
            if not several:
                refuse(f"{path}: no such recording")
        else:
            several = [str(Path(path).absolute())]
        for one in several:
            if found.setdefault(_name(one), one) != one:
                refuse(f"{found[_name(one)]} and {one} have the same name, and their results would "
                       "too")
    return found


def decode_all(client, paths, folder, reading, receiver, full_scale_dbm, progress):
    """Decode recordings on a cluster, and write FOLDER/summary.json; return the exit status.

    Recordings that the summary has as complete, with the same options, are not decoded again.

    Raises:
        Refusal: the recordings or the folder cannot be used.
        ValueError, OSError: as for ``Cluster.finished``, or another run uses the folder.
    """
    recordings = _recordings(paths)
    folder = folder.absolute()
    try:
        make_folder(folder)
    except OutputError as error:
        refuse(str(error))
    told = {"reading": reading, "receiver": receiver, "full_scale_dbm": full_scale_dbm}
    summary = folder / "summary.json"
    with locked(summary), _marker(folder) as marker:
        done = _earlier(summary, told, recordings)
        try:
            with Cluster(client, _say) as crew:
                _work(crew, recordings, done, (str(folder), marker, reading, receiver,
                                               full_scale_dbm), summary, told, progress)
        except KeyboardInterrupt:
            pass
        finally:
            progress.clear()
            _write(summary, told, done)
    for line in _table(recordings, done):
        click.echo(line)
    click.echo(f"\nwritten: {summary}")
    if len(done) < len(recordings):
        click.echo(f"not complete: {len(recordings) - len(done)} of {len(recordings)} recordings "
                   "are left: run the same command to continue")
        return STATUS
    if any("error" in entry for entry in done.values()):
        return 2
    return 0 if any(entry["mpdus_ok"] for entry in done.values()) else 1


def _say(line):
    click.echo(line, err=True)


def _work(crew, recordings, done, arguments, summary, told, progress):
    """Hand out the recordings that are not done, and collect their entries of the summary."""
    resource = "GPU" if told["receiver"]["backend"] == "cuda" else None
    waiting = [name for name in recordings if name not in done]
    saved = time.monotonic()
    while waiting or len(crew):
        while waiting and crew.room(resource) > 0:
            name = waiting.pop(0)
            crew.submit(name, decode, recordings[name], *arguments, resource=resource)
        for name, entry, *_ in crew.finished(0.5):
            done[name] = entry
        progress.update(len(done) / len(recordings),
                        f"{len(done)} of {plural(len(recordings), 'recording')}")
        if time.monotonic() > saved + _SAVE_SECONDS:
            _write(summary, told, done)
            saved = time.monotonic()


@contextmanager
def _marker(folder):
    """Context manager: the name of a new file by which workers recognise the folder."""
    marker = folder / f".shared.{secrets.token_hex(8)}"
    marker.touch()
    try:
        yield marker.name
    finally:
        with suppress(OSError):
            marker.unlink()


def _earlier(path, told, recordings):
    """Return {name: entry} of the recordings that an earlier run has decoded completely.

    The summary may be damaged: an entry counts only if it has all that the next summary needs.
    """
    done = {}
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["what"] != _WHAT or content["options"] != json.loads(json.dumps(told)):
            return {}
        for entry in content["recordings"]:
            with suppress(OSError, ValueError, KeyError, TypeError):
                name = _name(entry["recording"])
                if (entry["complete"] and recordings.get(name) == entry["recording"]
                        and all(Path(one).exists() for one in entry["written"])
                        and all(isinstance(entry[count], int) for count in _COUNTS)):
                    done[name] = entry
    return done


def _write(path, told, done):
    entries = [done[name] for name in sorted(done)]
    with replace_file(path, follow=False) as file:
        file.write(json.dumps({
            "what": _WHAT, "options": told,
            **{name: sum(entry.get(name, 0) for entry in entries) for name in _COUNTS},
            "recordings": entries}, indent=1) + "\n")


def _table(recordings, done):
    width = max(len(name) for name in ["recording", *recordings])
    yield f"{'recording':<{width}}  {'frames':>7}  {'complete':>8}  {'MPDUs':>7}  {'FCS ok':>7}"
    for name in recordings:
        entry = done.get(name)
        if entry is None:
            yield f"{name:<{width}}  not decoded yet"
        elif "error" in entry:
            yield f"{name:<{width}}  {entry['error']}"
        else:
            yield (f"{name:<{width}}  {entry['frames']:>7}  {entry['frames_complete']:>8}  "
                   f"{entry['mpdus']:>7}  {entry['mpdus_ok']:>7}")
