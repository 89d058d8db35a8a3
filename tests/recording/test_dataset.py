# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of samples that change or fail while they are read."""

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pytest
from gnuradio.mimopack import recording
from recordings import exact_samples


@pytest.fixture
def samples():
    return exact_samples(3, 100_000, "ci16_le")


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_dataset_that_is_cut_while_it_is_read_is_an_error(tmp_path, samples, layout):
    """Mapped memory would end the process with SIGBUS."""
    reader = recording.Reader(recording.write(tmp_path / "r", samples, 1e6, layout=layout,
                                              datatype="ci16_le"))
    pieces = reader.pieces(10_000)
    assert np.array_equal(next(pieces), samples[:, :10_000])
    data = sorted(tmp_path.glob("*.sigmf-data"))[-1]
    os.truncate(data, 50_000 * data.stat().st_size // 100_000 + 1)
    for start in range(10_000, 50_000, 10_000):
        assert np.array_equal(next(pieces), samples[:, start:start + 10_000])
    with pytest.raises(OSError, match=r"sigmf-data ends at sample 50000: it had 100000") as caught:
        next(pieces)
    assert str(data) in str(caught.value)
    assert np.array_equal(reader.read(0, 50_000), samples[:, :50_000])


def test_a_disk_error_names_the_file_and_the_sample(tmp_path, samples, monkeypatch):
    path = recording.write(tmp_path / "r", samples, 1e6)
    reader = recording.Reader(path)

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="error at sample 77: '.*r.sigmf-data'") as caught:
        reader.read(77, 5)
    assert caught.value.errno == errno.EIO


@pytest.mark.parametrize("datatype", ["ci16_be", "cf64_le"])
def test_a_system_that_reads_a_few_bytes_at_a_time_loses_none(tmp_path, monkeypatch, datatype):
    samples = exact_samples(2, 500, datatype)
    reader = recording.Reader(recording.write(tmp_path / "r", samples, 1e6,
                                              datatype=datatype))
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, buffers, offset: preadv(
        file, [buffers[0][:7]], offset))
    assert np.array_equal(reader.read(3, 400), samples[:, 3:403])


def test_a_file_is_closed_with_its_reader(tmp_path, samples):
    path = recording.write(tmp_path / "r", samples, 1e6, layout="collection")

    def opened():
        return [link for link in Path("/proc/self/fd").iterdir()
                if link.is_symlink() and str(tmp_path) in os.readlink(link)]

    reader = recording.Reader(path)
    assert len(opened()) == 3
    del reader
    gc.collect()
    assert opened() == []
