# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF file names, and the import of the ``sigmf`` package."""

from pathlib import Path

# File name extensions of SigMF.
META, DATA, COLLECTION = ".sigmf-meta", ".sigmf-data", ".sigmf-collection"


def library():
    """Import and return the package ``sigmf``; called on first use, as detectors work without it.
    """
    try:
        import sigmf
    except ImportError as error:
        raise ImportError("recordings need the Python package sigmf: pip install sigmf in a "
                          "virtual environment (mimopack doctor prints how)") from error
    return sigmf


def base(path):
    """Return the path without its SigMF extension, if it has one."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in (META, DATA, COLLECTION) else path


def with_extension(stem, extension):
    """Append an extension to a path. The name may contain dots, unlike in ``Path.with_suffix``."""
    return stem.with_name(stem.name + extension)


def metadata_file(path):
    """Return the path of the metadata file or collection file of a recording.

    ``path`` is that of the metadata, the dataset or the collection, or their common stem. An
    archive, a folder or a file of another kind is a ValueError.
    """
    path = Path(path)
    if path.suffix == ".sigmf":
        raise ValueError(f"path: got the archive {path}, extract it first (tar -xf)")
    if path.suffix == COLLECTION:
        candidates = [path]
    elif path.name:
        candidates = [with_extension(base(path), META), with_extension(base(path), COLLECTION)]
    else:
        candidates = []  # "." and "/" have no name to extend
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    if path.is_dir():
        names = sorted(entry.name for entry in path.iterdir()
                       if entry.suffix in (META, COLLECTION))
        raise ValueError(f"path: got the folder {path}, give one of its recordings: "
                         f"{', '.join(names)}" if names
                         else f"path: got the folder {path}, which holds no SigMF recordings")
    if path.is_file() and path.suffix not in (META, DATA, COLLECTION):
        raise ValueError(f"path: {path} is no SigMF recording. mimopack wifi reads raw samples; "
                         "recording.Writer makes a recording of them (docs/recordings.md)")
    if path.suffix not in ("", META, DATA, COLLECTION):
        candidates.insert(0, path)    # perhaps a file of raw samples
    *others, last = map(str, candidates or [path])
    raise FileNotFoundError(f"path: no recording {path}: there is no file "
                            + (f"{', '.join(others)} or {last}" if others else last))
