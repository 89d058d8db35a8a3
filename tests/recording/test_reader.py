# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings are read as their metadata say; cut and failing files are named."""

import errno
import json
import os

import numpy as np
import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples

SAMPLES = exact_samples(3, 100_000, "ci16_le")


def _change(path, change):
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


@pytest.fixture
def collection(tmp_path):
    samples = exact_samples(3, 100, "cf32_le")
    return recording.write(tmp_path / "r", samples, 1e6, layout="collection")


def test_unequal_streams_are_cut_to_the_common_length(collection):
    data = collection.with_name("r-1.sigmf-data")
    data.write_bytes(data.read_bytes()[:60 * 8 + 3])
    reader = recording.Reader(collection)
    assert reader.num_samples == 60
    assert np.array_equal(reader.read(), exact_samples(3, 100, "cf32_le")[:, :60])
    assert any("first 60 samples" in note and "r-0 has 100" in note for note in reader.notes)
    assert any("last 3 bytes" in note for note in reader.notes)


def test_sample_rates_that_differ_are_an_error(collection):
    _change(collection.with_name("r-2.sigmf-meta"),
            lambda m: m["global"].update({"core:sample_rate": 2e6}))
    with pytest.raises(ValueError, match=r"sample rates differ \(r-0: 1000000.0, .*r-2: 2000000"):
        recording.Reader(collection)


def test_changed_stream_metadata_is_noted(collection):
    _change(collection.with_name("r-2.sigmf-meta"),
            lambda m: m["global"].update({"core:author": "someone else"}))
    assert ["r-2.sigmf-meta" in note for note in recording.Reader(collection).notes] == [True]


def test_missing_files_are_named(collection, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.sigmf-meta"):
        recording.Reader(tmp_path / "nothing")
    collection.with_name("r-1.sigmf-data").unlink()
    with pytest.raises(FileNotFoundError, match="r-1.sigmf-data"):
        recording.Reader(collection)
    collection.with_name("r-1.sigmf-meta").unlink()
    with pytest.raises(FileNotFoundError, match="'r-1'"):
        recording.Reader(collection)


@pytest.mark.parametrize(("change", "said"), [
    (lambda m: m["global"].update({"core:datatype": "ri16_le"}),
     r"r\.sigmf-meta: global\.core:datatype: got 'ri16_le', allowed are cf32_le, ci16_le"),
    (lambda m: m["captures"][0].update({"core:header_bytes": 4}), "header or trailing bytes"),
    (lambda m: m["global"].update({"core:sha512": "0" * 128}), "checksum"),
])
def test_metadata_that_cannot_be_used_is_refused(tmp_path, change, said):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6)
    _change(path, change)
    with pytest.raises(ValueError, match=said):
        recording.Reader(path, verify=True)


def test_what_is_not_metadata_is_refused(tmp_path):
    (tmp_path / "r.sigmf-meta").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        recording.Reader(tmp_path / "r")
    with pytest.raises(ValueError, match="extract it"):
        recording.Reader(tmp_path / "r.sigmf")


def test_a_folder_or_another_kind_of_file_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="holds no SigMF recordings"):
        recording.Reader(tmp_path)
    recording.write(tmp_path / "one", np.ones((2, 10)), 1e6)
    recording.write(tmp_path / "two", np.ones((1, 10)), 1e6, layout="collection")
    with pytest.raises(ValueError, match=r"one\.sigmf-meta, two-0\.sigmf-meta, two\.sigmf-coll"):
        recording.Reader(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"one\.sigmf-meta"):
        recording.Reader(".")
    (tmp_path / "raw.cf32").write_bytes(bytes(80))
    with pytest.raises(ValueError, match=r"docs/recordings\.md") as refused:
        recording.Reader(tmp_path / "raw.cf32")
    assert "raw.cf32.sigmf" not in str(refused.value)


def test_an_empty_dataset_is_refused(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 0)), 1e6)
    with pytest.raises(ValueError, match="no samples"):
        recording.Reader(path)


def test_given_values_replace_those_of_the_metadata(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6, datatype="ci16_le")
    reader = recording.open_recording(path, datatype="ci8", num_channels=4, sample_rate=2e6,
                                      frequency=1e9)
    assert (reader.datatype, reader.num_channels, reader.num_samples) == ("ci8", 4, 10)
    assert (reader.sample_rate, reader.frequency) == (2e6, 1e9)
    collection = recording.write(tmp_path / "c", np.ones((2, 10)), 1e6, layout="collection")
    with pytest.raises(ValueError, match="the channels of the collection"):
        recording.open_recording(collection, num_channels=4)


def test_control_characters_of_metadata_become_escapes(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6)
    _change(path, lambda m: (
        m["global"].update({"core:description": "a\x1b[2Jb\x9b\u202e\ud800\nc"}),
        m.update(annotations=[{"core:sample_start": 0, "core:label": "x\x07"}])))
    reader = recording.Reader(path)
    assert reader.description == "a\\x1b[2Jb\\x9b\\u202e\\ud800\nc"
    assert reader.annotations[0]["core:label"] == "x\\x07"
    assert recording.printable("Zürich\n5 GHz ✓") == "Zürich\\n5 GHz ✓"


def test_several_frequencies_are_noted(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6, frequency=5e9)
    _change(path, lambda m: m["captures"].append(
        {"core:sample_start": 5, "core:frequency": 6e9}))
    reader = recording.Reader(path)
    assert reader.frequency == 5e9
    assert ["the first, 5000 MHz," in note for note in reader.notes] == [True]


@pytest.mark.parametrize(("text", "seconds"), [
    ("2026-01-02T03:04:05Z", 1767323045.0), ("2026-01-02T03:04:05.5Z", 1767323045.5),
    ("2026-01-02T04:04:05+01:00", 1767323045.0), (None, None)])
def test_the_time_of_the_first_sample(tmp_path, text, seconds):
    path = recording.write(tmp_path / "r", np.ones((1, 10)), 1e6, datetime=text)
    assert recording.Reader(path).start_time == seconds


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_dataset_that_is_cut_while_it_is_read_is_an_error(tmp_path, layout):
    """Mapped memory would end the process with SIGBUS."""
    reader = recording.Reader(recording.write(tmp_path / "r", SAMPLES, 1e6, layout=layout,
                                              datatype="ci16_le"))
    pieces = reader.pieces(10_000)
    assert np.array_equal(next(pieces), SAMPLES[:, :10_000])
    data = sorted(tmp_path.glob("*.sigmf-data"))[-1]
    os.truncate(data, 50_000 * data.stat().st_size // 100_000 + 1)
    for start in range(10_000, 50_000, 10_000):
        assert np.array_equal(next(pieces), SAMPLES[:, start:start + 10_000])
    with pytest.raises(OSError, match=r"sigmf-data ends at sample 50000: it had 100000") as caught:
        next(pieces)
    assert str(data) in str(caught.value)
    assert np.array_equal(reader.read(0, 50_000), SAMPLES[:, :50_000])


def test_a_disk_error_names_the_file_and_the_sample(tmp_path, monkeypatch):
    path = recording.write(tmp_path / "r", SAMPLES, 1e6)
    reader = recording.Reader(path)

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="error at sample 77: '.*r.sigmf-data'") as caught:
        reader.read(77, 5)
    assert caught.value.errno == errno.EIO
