# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""File names of SigMF, and the library that knows its metadata."""

from pathlib import Path

META, DATA, COLLECTION = ".sigmf-meta", ".sigmf-data", ".sigmf-collection"


def library():
    """The ``sigmf`` package, imported when first needed: the detectors do without it."""
    try:
        import sigmf
    except ImportError as error:
        raise ImportError("recordings need the Python package sigmf: "
                          "python3 -m pip install sigmf") from error
    return sigmf


def base(path):
    """The path without SigMF's extension, if it has one."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in (META, DATA, COLLECTION) else path


def with_extension(stem, extension):
    """The path with the extension added; dots in its name stay."""
    return stem.with_name(stem.name + extension)


def metadata_file(path):
    """The metadata file, or collection file, that a path means.

    Args:
        path: of the metadata, the dataset or the collection, or what these names begin with.

    Raises:
        ValueError: the path is an archive.
        FileNotFoundError: there is no such recording.
    """
    path = Path(path)
    if path.suffix == ".sigmf":
        raise ValueError(f"path: got the archive {path}, extract it first (tar -xf)")
    if path.suffix == COLLECTION:
        found = [path]
    else:
        found = [with_extension(base(path), META), with_extension(base(path), COLLECTION)]
    for candidate in found:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"path: no recording {path}: there is no file {' or '.join(map(str, found))}")
