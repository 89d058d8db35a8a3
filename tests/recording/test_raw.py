# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of raw samples without metadata."""

import numpy as np
import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples, stored


def _raw(path, samples, datatype):
    """Write samples (channels, n) interleaved, without metadata."""
    stored(samples, datatype).tofile(path)
    return path


@pytest.mark.parametrize("datatype", ["ci16_be", "cu8"])
def test_bare_samples_are_read_as_a_recording_with_metadata_is(tmp_path, datatype):
    samples = exact_samples(3, 701, datatype)
    path = _raw(tmp_path / f"r.{datatype}", samples, datatype)
    reader = recording.RawReader(path, num_channels=3, sample_rate=20e6, frequency=5.18e9)
    assert (reader.num_channels, reader.num_samples, reader.datatype) == (3, 701, datatype)
    assert (reader.sample_rate, reader.frequency, reader.notes) == (20e6, 5.18e9, [])
    assert np.array_equal(reader.read(), samples)
    assert np.array_equal(np.concatenate(list(reader.pieces(300)), axis=1), samples)


@pytest.mark.parametrize(("name", "datatype"), [
    ("a.cf32", "cf32_le"), ("a.cfile", "cf32_le"), ("a.CS16", "ci16_le"), ("a.cu8", "cu8"),
    ("a.ci16_be", "ci16_be")])
def test_the_name_of_a_bare_file_says_its_format(tmp_path, name, datatype):
    path = _raw(tmp_path / name, np.ones((1, 9)), datatype)
    assert recording.open_recording(path).datatype == datatype


def test_bare_samples_that_cannot_be_read_are_refused(tmp_path):
    path = _raw(tmp_path / "r.bin", np.ones((1, 9)), "ci16_le")
    for options, said in [
            ({"datatype": "q7"}, "datatype: got 'q7', allowed are cf32_le"),
            ({"datatype": "ci16", "num_channels": 0}, "num_channels: got 0, allowed are 1"),
            ({"datatype": "ci16", "sample_rate": -1.0}, "sample_rate: got -1.0"),
            ({"datatype": "ci16", "frequency": np.nan}, "frequency: got nan"),
            ({"datatype": "cf32", "num_channels": 8}, "holds no samples")]:
        with pytest.raises(ValueError, match=said):
            recording.open_recording(path, **options)
    with pytest.raises(FileNotFoundError):
        recording.open_recording(tmp_path / "nothing.cf32")


def test_an_unknown_sample_format_has_an_exception_of_its_own(tmp_path):
    path = _raw(tmp_path / "r.bin", np.ones((1, 9)), "ci16_le")
    said = r"datatype: the name of .*r\.bin has no extension .*give one of cf32_le"
    with pytest.raises(recording.UnknownDatatype, match=said) as caught:
        recording.open_recording(path)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ValueError, match="datatype: got 'q7'") as caught:
        recording.open_recording(path, datatype="q7")
    assert not isinstance(caught.value, recording.UnknownDatatype)


def test_surplus_bytes_of_bare_samples_are_noted(tmp_path):
    path = tmp_path / "r.ci16"
    path.write_bytes(bytes(8 * 5 + 3))
    reader = recording.open_recording(path, num_channels=2)
    assert reader.num_samples == 5
    assert reader.notes == ["r.ci16 ends within a sample: its last 3 bytes are left out"]
