# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings are written exactly, replaced only on request, and valid after a failure."""

import errno
import os

import numpy as np
import pytest
import sigmf
from gnuradio.mimopack import recording
from limits import small_files
from recordings import exact_samples
from sigmf.sigmffile import fromfile

KINDS = [(layout, datatype) for layout in recording.LAYOUTS for datatype in recording.DATATYPES]
CHANNELS, LENGTH = 3, 40_000
SAMPLES = exact_samples(CHANNELS, LENGTH, "ci16_le")


@pytest.mark.quick
@pytest.mark.parametrize(("layout", "datatype"), KINDS)
def test_round_trip_is_exact_in_pieces(tmp_path, layout, datatype):
    samples = exact_samples(CHANNELS, 1001, datatype)
    with recording.Writer(tmp_path / "test", CHANNELS, 20e6, datatype, layout) as writer:
        for start, stop in [(0, 1), (1, 500), (500, 500), (500, 1001)]:
            writer.write(samples[:, start:stop])
    assert writer.clipped == 0
    reader = recording.Reader(tmp_path / "test", verify=True)
    assert (reader.num_channels, reader.num_samples) == (CHANNELS, 1001)
    assert reader.datatype == datatype
    assert reader.sample_rate == 20e6
    assert reader.notes == []
    assert np.array_equal(reader.read(), samples)
    assert np.array_equal(np.concatenate(list(reader.pieces(300)), axis=1), samples)
    assert np.array_equal(reader.read(17, 5), samples[:, 17:22])


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_the_sigmf_library_reads_what_is_written(tmp_path, layout):
    samples = exact_samples(2, 64, "ci16_le")
    with recording.Writer(tmp_path / "a.b", 2, 1e6, "ci16_le", layout, frequency=5.2e9,
                          description="SIMULATED", datetime="2026-01-02T03:04:05Z",
                          fields={"mimopack:num_tx": 2}) as writer:
        writer.write(samples)
        writer.annotate(10, 5, label='\u00e4 "annotations": []', **{"mimopack:snr_db": 3.5})
        writer.annotate(7, 3)
    loaded = fromfile(writer.path)
    if layout == "collection":
        assert len(loaded) == 2
        assert loaded.get_collection_info()["core:description"] == "SIMULATED"
        assert loaded.get_collection_info()["mimopack:num_tx"] == 2
        parts = [loaded.get_SigMFFile(stream_index=i) for i in range(2)]
        assert parts[0].get_global_info()["core:collection"] == "a.b"
        read = np.stack([part.read_samples() for part in parts])
    else:
        parts = [loaded]
        read = loaded.read_samples().T
    assert np.array_equal(read.astype(np.complex64), samples)
    for part in parts:
        part.validate()
        info = part.get_global_info()
        assert info["core:description"] == "SIMULATED"
        assert info["core:extensions"] == [
            {"name": "mimopack", "version": "0.1.0", "optional": True}]
        assert part.get_captures() == [{"core:sample_start": 0, "core:frequency": 5.2e9,
                                        "core:datetime": "2026-01-02T03:04:05Z"}]
        assert part.get_annotations() == [
            {"core:sample_start": 7, "core:sample_count": 3},
            {"core:sample_start": 10, "core:sample_count": 5,
             "core:label": '\u00e4 "annotations": []', "mimopack:snr_db": 3.5}]
    reader = recording.Reader(writer.path)
    assert reader.frequency == 5.2e9
    assert reader.global_info["mimopack:num_tx"] == 2
    assert reader.annotations[1]["mimopack:snr_db"] == 3.5


def test_a_file_made_by_the_sigmf_library_is_read(tmp_path):
    samples = exact_samples(3, 50, "cf32_le")
    np.ascontiguousarray(samples.T).tofile(tmp_path / "x.sigmf-data")
    meta = sigmf.SigMFFile(data_file=tmp_path / "x.sigmf-data", global_info={
        "core:datatype": "cf32_le", "core:num_channels": 3, "core:sample_rate": 5e6})
    meta.add_capture(0)
    meta.tofile(tmp_path / "x")
    reader = recording.Reader(tmp_path / "x.sigmf-data", verify=True)
    assert np.array_equal(reader.read(), samples)


@pytest.mark.parametrize("name", ["ci16_le", "ci8", "cu16_le", "cu8"])
def test_integers_are_the_nearest_even_at_halves_and_beyond_full_scale(name):
    datatype = recording.get_datatype(name)
    limits = np.iinfo(datatype.component)
    channels, rng = 2, np.random.default_rng(2)
    # Halves of a step, values around full scale, NaN and infinity; more than one conversion step.
    parts = rng.integers(-3 * 2**16, 3 * 2**16, (channels, 3001, 2)) * np.float32(0.5 / 2**16)
    parts[:, :400] = rng.integers(-300, 300, (channels, 400, 2)) / np.float32(256)
    parts[-1, 1000:1003] = ((np.nan, np.inf), (-np.inf, 3e38), (-0.0, np.nan))
    scaled = np.rint(parts.astype(np.float64) / datatype.scale) + datatype.offset
    wrong = ~((scaled >= limits.min) & (scaled <= limits.max))
    expected = np.clip(np.where(np.isnan(scaled), datatype.offset, scaled), limits.min, limits.max)
    components = np.empty((3001, channels, 2), datatype.component)
    clipped = datatype.encode([*parts.astype(np.float32).view(np.complex64)[..., 0]], components)
    assert np.array_equal(components, expected.transpose(1, 0, 2))
    assert clipped == wrong.sum() > 0


def test_a_recording_is_replaced_only_with_overwrite(tmp_path):
    recording.write(tmp_path / "r", np.zeros((1, 10)), 1e6)
    with pytest.raises(FileExistsError, match="overwrite"):
        recording.write(tmp_path / "r", np.ones((1, 20)), 1e6)
    assert recording.Reader(tmp_path / "r").num_samples == 10
    recording.write(tmp_path / "r", np.ones((1, 20)), 1e6, overwrite=True)
    assert recording.Reader(tmp_path / "r").num_samples == 20


def test_saving_in_between_leaves_a_whole_recording(tmp_path):
    writer = recording.Writer(tmp_path / "r", 1, 1e6, layout="collection")
    writer.write(np.ones((1, 10)))
    writer.save()
    assert recording.Reader(tmp_path / "r", verify=True).num_samples == 10
    writer.write(np.ones((1, 5)))
    writer.close()
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert (reader.num_samples, reader.notes) == (15, [])


@pytest.mark.parametrize("name", ["r.sigmf-data", "r.sigmf-meta"])
def test_links_are_never_followed(tmp_path, name):
    (tmp_path / "here").mkdir()
    target = tmp_path / "elsewhere"
    target.write_text("precious")
    link = tmp_path / "here" / name
    link.symlink_to(target)
    with pytest.raises(FileExistsError, match=f"path: .*/{name} is a symbolic link"):
        recording.write(tmp_path / "here/r", SAMPLES, 1e6)
    recording.write(tmp_path / "here/r", SAMPLES, 1e6, overwrite=True)
    assert not link.is_symlink() and target.read_text() == "precious"


class _Failing:
    """Stand-in for a file whose write number ``fatal`` takes a part of the data and fails."""

    def __init__(self, handle, fatal, error):
        self._handle, self._left, self._error = handle, fatal, error

    def __getattr__(self, name):
        return getattr(self._handle, name)

    def write(self, data):
        self._left -= 1
        if self._left == -1:
            self._handle.write(data[:len(data) // 2 + 1])
            raise self._error
        return self._handle.write(data)


@pytest.mark.parametrize("layout", recording.LAYOUTS)
@pytest.mark.parametrize("fatal", [0, 3])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()],
                         ids=["full", "ctrl-c"])
def test_a_failed_write_leaves_a_valid_recording(tmp_path, layout, fatal, error):
    writer = recording.Writer(tmp_path / "r", CHANNELS, 1e6, "ci16_le", layout)
    writer.write(SAMPLES[:, :100])
    writer._handles[-1] = _Failing(writer._handles[-1], fatal, error)
    with pytest.raises(type(error)), writer:
        for start in range(100, LENGTH, 5_000):
            writer.write(SAMPLES[:, start:start + 5_000])
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert reader.notes == [] and reader.num_samples == writer.num_samples >= 100
    assert np.array_equal(reader.read(), SAMPLES[:, :reader.num_samples])


def test_a_disk_that_refuses_the_metadata_is_named_and_the_samples_stay(tmp_path):
    writer = recording.Writer(tmp_path / "r", 1, 1e6)
    writer.write(SAMPLES[:1, :10])
    writer.save()
    writer.write(SAMPLES[:1, 10:20])
    with small_files(200), pytest.raises(OSError, match=r"File too large: '.*/r\.sigmf-meta'"):
        writer.close()
    assert sorted(os.listdir(tmp_path)) == ["r.sigmf-data", "r.sigmf-meta"]
    assert recording.Reader(tmp_path / "r").num_samples == 20


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_a_disk_that_is_full_from_the_start_leaves_no_files(tmp_path, layout):
    with (small_files(0), pytest.raises(OSError, match="File too large"),
          recording.Writer(tmp_path / "r", CHANNELS, 1e6, layout=layout) as writer):
        writer.write(SAMPLES)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("options", "said"), [
    (dict(num_channels=0), "num_channels: got 0"),
    (dict(sample_rate=0.0), "sample_rate: got 0.0"),
    (dict(datatype="ri16_le"), "datatype: got 'ri16_le', allowed are cf32_le, ci16_le, ci8, cu8"),
    (dict(layout="planar"), "layout: got 'planar', allowed are interleaved, collection"),
    (dict(fields={"core:hw": 5}), "fields.*not valid in SigMF"),
    (dict(fields={"mimopack:num_tx": np.int64(4)}), "fields.*not valid in SigMF"),
    (dict(frequency="high"), "frequency.*not valid in SigMF"),
])
def test_bad_writer_parameters_are_named(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        recording.Writer(tmp_path / "r", **{"num_channels": 2, "sample_rate": 1e6, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["", "."])
def test_a_recording_needs_a_name(path):
    with pytest.raises(ValueError, match=f"path: got '{path}', must end with the name of"):
        recording.Writer(path, 1, 1e6)


def test_samples_of_another_shape_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"samples: got shape \(3, 4\), must be \(2, n\)"):
        recording.Writer(tmp_path / "w", 2, 1e6).write(np.ones((3, 4)))
