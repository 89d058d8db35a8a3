# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that a SigMF recording may lead to."""

import json

import numpy as np
import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples

SAMPLES = exact_samples(2, 100, "cf32_le")


@pytest.fixture
def collection(tmp_path):
    """A Collection in a folder, and a recording outside of the folder."""
    (tmp_path / "inside").mkdir()
    recording.write(tmp_path / "outside", SAMPLES[1:], 1e6)
    return recording.write(tmp_path / "inside/r", SAMPLES, 1e6, layout="collection")


def test_names_in_other_folders_need_permission(collection):
    metadata = json.loads(collection.read_text())
    metadata["collection"]["core:streams"] = ["r-0", {"name": "../outside"}]
    collection.write_text(json.dumps(metadata))
    with pytest.raises(ValueError, match=r"r\.sigmf-collection: collection\.core:streams\[1\]: "
                                         r"outside\.sigmf-meta leads to the folder .*, must be in "
                                         "the same folder; allow_outside"):
        recording.Reader(collection)
    reader = recording.open_recording(collection, allow_outside=True)
    assert np.array_equal(reader.read(), SAMPLES)


def test_symbolic_links_of_a_collection_need_permission(collection, tmp_path):
    one = collection.with_name("r-1.sigmf-data")
    one.unlink()
    one.symlink_to(tmp_path / "outside.sigmf-data")
    with pytest.raises(ValueError, match=r"r\.sigmf-collection: collection\.core:streams\[1\]: "
                                         r"r-1\.sigmf-data leads to the folder"):
        recording.Reader(collection)
    assert np.array_equal(recording.Reader(collection, allow_outside=True).read(), SAMPLES)


def _with_dataset(tmp_path, name):
    """Return a metadata file that names a dataset; tmp_path/outside.dat holds the samples."""
    (tmp_path / "inside").mkdir()
    path = recording.write(tmp_path / "inside/r", SAMPLES, 1e6)
    path.with_suffix(".sigmf-data").rename(tmp_path / "outside.dat")
    metadata = json.loads(path.read_text())
    metadata["global"]["core:dataset"] = name.format(tmp=tmp_path)
    path.write_text(json.dumps(metadata))
    return path


@pytest.mark.parametrize("name", ["../outside.dat", "link"])
def test_a_dataset_elsewhere_needs_permission(tmp_path, name):
    path = _with_dataset(tmp_path, name)
    (tmp_path / "inside/link").symlink_to(tmp_path / "outside.dat")
    with pytest.raises(ValueError, match=r"r\.sigmf-meta: global\.core:dataset: .* leads to the "):
        recording.Reader(path)
    assert np.array_equal(recording.Reader(path, allow_outside=True).read(), SAMPLES)


def test_the_folder_is_that_of_the_metadata_behind_a_link(tmp_path):
    for folder in ("far", "near"):
        (tmp_path / folder).mkdir()
    recording.write(tmp_path / "far/r", SAMPLES, 1e6)
    for ending in ("meta", "data"):
        (tmp_path / f"near/r.sigmf-{ending}").symlink_to(tmp_path / f"far/r.sigmf-{ending}")
    assert np.array_equal(recording.Reader(tmp_path / "near/r").read(), SAMPLES)
    (tmp_path / "far/r.sigmf-data").rename(tmp_path / "secret")
    (tmp_path / "far/r.sigmf-data").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="leads to the folder"):
        recording.Reader(tmp_path / "near/r")
