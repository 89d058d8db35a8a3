# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decode many recordings on a Dask cluster: a task for each, which its worker reads and writes."""

import io
import json
from concurrent.futures import as_completed
from pathlib import Path

import click

from ...cluster import cluster_executor
from ...files import locked, replace_file
from ...recording import names
from ..interrupt import STATUS
from ..progress import Progress
from .outputs import JsonFile, OutputError, Outputs, PcapFile, make_folder
from .reading import open_reader, refuse
from .recorded import RecordedFrames
from .words import plural

_WHAT = "Wi-Fi frames of recordings"
_COUNTS = ("frames", "frames_complete", "mpdus", "mpdus_ok")


def decode(path, folder, reading, receiver, full_scale_dbm):
    """Decode a recording on a worker, and write FOLDER/NAME.json and FOLDER/NAME.pcap.

    Args:
        path: path of the recording as the worker sees it.
        folder: the folder, which all machines share.
        reading, receiver: further arguments of ``open_reader`` and of ``RecordedFrames``.
        full_scale_dbm: as for ``PcapFile``.

    Returns:
        A dictionary for the summary. Its key error says why the recording was not decoded.
    """
    try:
        return _decode(Path(path), Path(folder) / _name(path), reading, receiver,
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
            outputs.add(option, stem.with_name(stem.name + suffix), make)
        for frame, when in source.frames(Progress(io.StringIO())):
            outputs.write(frame, when)
    except BaseException:
        outputs.discard()
        raise
    outputs.close()
    return source.as_json() | {"written": [str(path) for path in outputs.written]}


def _name(path):
    """Return the name of a recording, without the ending of its metadata file."""
    return Path(path).name.removesuffix(names.META)


def decode_all(client, paths, folder, reading, receiver, full_scale_dbm, progress):
    """Decode recordings on a cluster, and write FOLDER/summary.json; return the exit status.

    Recordings that the summary has as complete, with the same options, are not decoded again.

    Raises:
        Refusal: the recordings or the folder cannot be used.
        ValueError, OSError: as for ``cluster_executor``, or another run uses the folder.
    """
    recordings = {_name(path): str(Path(path).absolute()) for path in paths}
    if len(recordings) < len(paths):
        refuse("two recordings have the same name, and their results would too")
    folder = folder.absolute()
    try:
        make_folder(folder)
    except OutputError as error:
        refuse(str(error))
    options = {"reading": reading, "receiver": receiver, "full_scale_dbm": full_scale_dbm}
    summary = folder / "summary.json"
    with locked(summary):
        entries = _earlier(summary, options, recordings)
        resources = {"resources": {"GPU": 1}} if receiver["backend"] == "cuda" else {}
        try:
            with cluster_executor(client) as executor:
                futures = [executor.submit(decode, path, str(folder), reading, receiver,
                                           full_scale_dbm, **resources)
                           for name, path in recordings.items() if name not in entries]
                for future in as_completed(futures):
                    entry = future.result()
                    entries[_name(entry["recording"])] = entry
                    progress.update(len(entries) / len(recordings), f"{len(entries)} of "
                                    + plural(len(recordings), "recording"))
        except KeyboardInterrupt:
            pass
        finally:
            progress.clear()
            _write(summary, options, entries)
    for line in _table(recordings, entries):
        click.echo(line)
    click.echo(f"\nwritten: {summary}")
    if len(entries) < len(recordings):
        click.echo(f"not complete: {len(recordings) - len(entries)} of {len(recordings)} "
                   "recordings are left: run the same command to continue")
        return STATUS
    if any("error" in entry for entry in entries.values()):
        return 2
    return 0 if any(entry["mpdus_ok"] for entry in entries.values()) else 1


def _earlier(path, options, recordings):
    """Return {name: entry} of the recordings that an earlier run has decoded completely."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["options"] != json.loads(json.dumps(options)):
        return {}
    return {_name(entry["recording"]): entry for entry in content["recordings"]
            if entry["complete"] and recordings.get(_name(entry["recording"])) == entry["recording"]
            and all(Path(written).exists() for written in entry["written"])}


def _write(path, options, entries):
    with replace_file(path, follow=False) as file:
        file.write(json.dumps({
            "what": _WHAT, "options": options,
            **{name: sum(entry.get(name, 0) for entry in entries.values()) for name in _COUNTS},
            "recordings": [entries[name] for name in sorted(entries)]}, indent=1) + "\n")


def _table(recordings, entries):
    width = max(len(name) for name in ["recording", *recordings])
    yield f"{'recording':<{width}}  {'frames':>7}  {'complete':>8}  {'MPDUs':>7}  {'FCS ok':>7}"
    for name in recordings:
        entry = entries.get(name)
        if entry is None:
            yield f"{name:<{width}}  not decoded yet"
        elif "error" in entry:
            yield f"{name:<{width}}  {entry['error']}"
        else:
            yield (f"{name:<{width}}  {entry['frames']:>7}  {entry['frames_complete']:>8}  "
                   f"{entry['mpdus']:>7}  {entry['mpdus_ok']:>7}")
