# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings of several channels: round trips, metadata and bad input."""

import json
import math
import re

import numpy as np
import pytest
import sigmf
from gnuradio.mimopack import recording
from recordings import exact_samples
from sigmf.sigmffile import fromfile
from source_tree import ROOT

KINDS = [(layout, datatype) for layout in recording.LAYOUTS for datatype in recording.DATATYPES]


@pytest.mark.quick
@pytest.mark.parametrize(("layout", "datatype"), KINDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_round_trip_is_exact_in_pieces(tmp_path, layout, datatype, channels):
    samples = exact_samples(channels, 1001, datatype)
    with recording.Writer(tmp_path / "test", channels, 20e6, datatype, layout) as writer:
        for start, stop in [(0, 1), (1, 500), (500, 500), (500, 1001)]:
            writer.write(samples[:, start:stop])
    assert writer.clipped == 0
    reader = recording.Reader(tmp_path / "test", verify=True)
    assert (reader.num_channels, reader.num_samples) == (channels, 1001)
    assert reader.datatype == datatype
    assert reader.sample_rate == 20e6
    assert reader.notes == []
    assert np.array_equal(reader.read(), samples)
    assert np.array_equal(np.concatenate(list(reader.pieces(300)), axis=1), samples)
    assert np.array_equal(reader.read(17, 5), samples[:, 17:22])


@pytest.mark.quick
@pytest.mark.parametrize(("layout", "datatype"), KINDS)
def test_the_sigmf_library_reads_what_is_written(tmp_path, layout, datatype):
    samples = exact_samples(2, 64, datatype)
    with recording.Writer(tmp_path / "a.b", 2, 1e6, datatype, layout, frequency=5.2e9,
                          description="SIMULATED", datetime="2026-01-02T03:04:05Z",
                          fields={"mimopack:num_tx": 2}) as writer:
        writer.write(samples)
        writer.annotate(10, 5, label="frame", **{"mimopack:snr_db": 3.5})
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
        assert part.get_annotations() == [{"core:sample_start": 10, "core:sample_count": 5,
                                           "core:label": "frame", "mimopack:snr_db": 3.5}]
    reader = recording.Reader(writer.path)
    assert reader.frequency == 5.2e9
    assert reader.global_info["mimopack:num_tx"] == 2
    assert reader.annotations[0]["mimopack:snr_db"] == 3.5


def test_a_file_made_by_the_sigmf_library_is_read(tmp_path):
    samples = exact_samples(3, 50, "cf32_le")
    np.ascontiguousarray(samples.T).tofile(tmp_path / "x.sigmf-data")
    meta = sigmf.SigMFFile(data_file=tmp_path / "x.sigmf-data", global_info={
        "core:datatype": "cf32_le", "core:num_channels": 3, "core:sample_rate": 5e6})
    meta.add_capture(0)
    meta.tofile(tmp_path / "x")
    reader = recording.Reader(tmp_path / "x.sigmf-data", verify=True)
    assert np.array_equal(reader.read(), samples)


def test_integers_clip_at_full_scale_and_are_counted(tmp_path):
    samples = np.array([[1.5 - 2j, 0.5 + 1j, np.nan + 0.25j, -1 + 0.99999j]], np.complex64)
    with recording.Writer(tmp_path / "c", 1, 1e6, "ci16_le") as writer:
        writer.write(samples)
    # Clipped: 1.5, -2, 1 (one step above the largest integer), NaN, and 0.99999, which rounds up.
    assert writer.clipped == 5
    top = 32767 / 32768
    assert recording.Reader(tmp_path / "c").read()[0] == pytest.approx(
        np.array([top - 1j, 0.5 + top * 1j, 0.25j, -1 + top * 1j]))


@pytest.mark.parametrize("name", ["ci16_le", "ci8", "cu16_le", "cu8"])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_integers_are_the_nearest_even_at_halves_and_beyond_full_scale(name, channels):
    datatype = recording.get_datatype(name)
    limits = np.iinfo(datatype.component)
    rng = np.random.default_rng(channels)
    # Halves of a step, values around full scale, NaN and infinity; more than one conversion step.
    parts = rng.integers(-3 * 2**16, 3 * 2**16, (channels, 3001, 2)) * np.float32(0.5 / 2**16)
    parts[:, :400] = rng.integers(-300, 300, (channels, 400, 2)) / np.float32(256)
    parts[-1, 1000:1003] = ((np.nan, np.inf), (-np.inf, 3e38), (-0.0, np.nan))
    scaled = np.rint(parts.astype(np.float64) / datatype.scale) + datatype.offset
    wrong = ~((scaled >= limits.min) & (scaled <= limits.max))
    expected = np.clip(np.where(np.isnan(scaled), datatype.offset, scaled), limits.min, limits.max)
    components, clipped = datatype.encode(parts.astype(np.float32).view(np.complex64)[..., 0])
    assert components.dtype == datatype.component
    assert np.array_equal(components, expected.transpose(1, 0, 2))
    assert clipped == wrong.sum() > 0


def test_the_same_samples_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with recording.Writer(tmp_path / name / "r", 2, 1e6, "ci16_le", "collection") as writer:
            writer.write(exact_samples(2, 100, "ci16_le"))
            writer.annotate(1, 2)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["r-0.sigmf-data", "r-0.sigmf-meta", "r-1.sigmf-data", "r-1.sigmf-meta",
                     "r.sigmf-collection"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_recording_needs_a_name(path):
    with pytest.raises(ValueError, match=f"path: got '{path}', must end with the name of"):
        recording.Writer(path, 1, 1e6)


def test_nothing_is_overwritten_unless_asked(tmp_path):
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
    (lambda m: m["global"].pop("core:datatype"),
     r"r\.sigmf-meta: global\.core:datatype: it is missing"),
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


@pytest.mark.parametrize(("content", "said"), [
    ({}, "global: it is missing"),
    ({"global": [], "captures": [], "annotations": []}, r"global: got \[\], must be an object"),
    ({"global": {}}, "captures: it is missing"),
    ({"global": {}, "captures": 5, "annotations": []}, "core:datatype: it is missing"),
    ([], "not SigMF metadata")])
def test_metadata_without_its_parts_is_refused(tmp_path, content, said):
    (tmp_path / "r.sigmf-meta").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=said):
        recording.Reader(tmp_path / "r")


@pytest.mark.parametrize("layout", recording.LAYOUTS)
def test_links_at_temporary_names_are_not_followed(tmp_path, layout):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("r.sigmf-meta", "r-0.sigmf-meta", "r.sigmf-collection"):
        (tmp_path / f"{name}.part").symlink_to(victim)
    path = recording.write(tmp_path / "r", np.ones((1, 10)), 1e6, layout=layout)
    assert recording.Reader(path).num_samples == 10
    assert victim.read_text() == "precious"


def test_a_collection_without_its_object_is_refused(tmp_path):
    (tmp_path / "r.sigmf-collection").write_text("{}")
    with pytest.raises(ValueError, match=r"sigmf-collection: collection: it is missing"):
        recording.Reader(tmp_path / "r")


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


def test_pieces_outside_the_recording_are_refused(tmp_path):
    reader = recording.Reader(recording.write(tmp_path / "r", np.ones((2, 10)), 1e6))
    with pytest.raises(ValueError, match="got 5, 6"):
        reader.read(5, 6)
    with pytest.raises(ValueError, match=r"samples: got shape \(3, 4\)"):
        recording.Writer(tmp_path / "w", 2, 1e6).write(np.ones((3, 4)))


def _example(document, heading, first_line):
    """Return the code example in a section of a document that begins with a given line."""
    text = document.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
             if code.startswith(first_line)]
    assert len(found) == 1
    return found[0]


def test_the_documented_way_from_raw_files_to_a_recording(tmp_path, monkeypatch):
    document = ROOT / "docs/recordings.md"
    code = _example(document, "Record your own radio", "import numpy as np")
    samples = exact_samples(2, 1_000_100, "cf32_le")
    samples[0].tofile(tmp_path / "antenna0.cf32")
    samples[1, :-50].tofile(tmp_path / "antenna1.cf32")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(document), "exec"), {})
    reader = recording.Reader("capture", verify=True)
    assert np.array_equal(reader.read(), samples[:, :-50])
    assert reader.sample_rate == 20e6
    assert reader.frequency == 5.18e9


def test_given_values_replace_those_of_the_metadata(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6, datatype="ci16_le")
    reader = recording.open_recording(path, datatype="ci8", num_channels=4, sample_rate=2e6,
                                      frequency=1e9)
    assert (reader.datatype, reader.num_channels, reader.num_samples) == ("ci8", 4, 10)
    assert (reader.sample_rate, reader.frequency) == (2e6, 1e9)
    collection = recording.write(tmp_path / "c", np.ones((2, 10)), 1e6, layout="collection")
    with pytest.raises(ValueError, match="the channels of the collection"):
        recording.open_recording(collection, num_channels=4)


@pytest.mark.parametrize(("change", "said"), [
    (lambda m: m["global"].update({"core:sample_rate": "20e6"}), "core:sample_rate: got '20e6'"),
    (lambda m: m["global"].update({"core:sample_rate": np.inf}), "core:sample_rate: got inf"),
    (lambda m: m["global"].update({"core:sample_rate": np.nan}), "core:sample_rate: got nan"),
    (lambda m: m["global"].update({"core:num_channels": "2"}), "core:num_channels: got '2'"),
    (lambda m: m["global"].update({"core:dataset": "../r"}), r"core:dataset: got '\.\./r'"),
    (lambda m: m["global"].update({"core:dataset": ".."}), r"core:dataset: got '\.\.'"),
    (lambda m: m["global"].update({"core:dataset": "r" * 5000}), "core:dataset: got 'rrr"),
    (lambda m: m["captures"][0].update({"core:frequency": "5e9"}),
     r"captures\[0\]\.core:frequency: got '5e9'"),
    (lambda m: m["captures"][0].update({"core:frequency": np.nan}), "core:frequency: got nan"),
    (lambda m: m.update(captures="none"), "captures: got 'none', must be a list"),
    (lambda m: m.update(annotations=["a"]), r"annotations\[0\]: got 'a', must be an object"),
    (lambda m: m.update(annotations=[{"core:sample_start": "3"}]),
     r"annotations\[0\]\.core:sample_start: got '3'"),
])
def test_metadata_of_a_wrong_type_is_named(tmp_path, change, said):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6)
    _change(path, change)
    with pytest.raises(ValueError, match=said):
        recording.Reader(path)


@pytest.mark.parametrize("name", ["../r-0", "", "..", ".", "sub/r-0", "/tmp/r-0", "r" * 5000])
def test_a_collection_names_only_files_beside_it(tmp_path, name):
    (tmp_path / "sub").mkdir()
    path = recording.write(tmp_path / "sub/r", np.ones((2, 10)), 1e6, layout="collection")
    recording.write(tmp_path / "r-0", np.ones((1, 10)), 1e6)
    _change(path, lambda m: m["collection"].update({"core:streams": [{"name": name}]}))
    with pytest.raises(ValueError, match=r"r\.sigmf-collection: collection\.core:streams\[0\]: "):
        recording.Reader(path)


@pytest.mark.parametrize("depth", [500, 900, 2000, 100_000])
def test_a_collection_that_is_nested_deeply_is_refused(tmp_path, depth):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6, layout="collection")
    path.write_text('{"collection": {"core:streams": ' + "[" * depth + "]" * depth + "}}")
    with pytest.raises(ValueError, match="nested too deeply|core:streams"):
        recording.Reader(path)


@pytest.mark.parametrize("streams", ["r-0", [3], [[3, "hash"]], [{"hash": "0"}], [[]]])
def test_streams_of_a_wrong_type_are_named(tmp_path, streams):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6, layout="collection")
    _change(path, lambda m: m["collection"].update({"core:streams": streams}))
    if streams == "r-0":
        assert recording.Reader(path).num_channels == 1    # a bare name is not ambiguous
    else:
        with pytest.raises(ValueError, match=r"r\.sigmf-collection: collection\.core:streams\[0\]"):
            recording.Reader(path)


@pytest.mark.parametrize("value", ["20 dB", True, [1.0], {"a": 1}, math.nan, math.inf,
                                   pytest.param(10**400, id="10^400")])
def test_an_snr_of_a_wrong_type_is_named(value):
    with pytest.raises(ValueError, match=r"mimopack:snr_db: got .*annotation at sample 7\)"):
        recording.read_frames([{"core:sample_start": 7, "mimopack:snr_db": value}])


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


def test_checksums_can_be_asked_for(tmp_path):
    path = recording.write(tmp_path / "r", np.ones((2, 10)), 1e6)
    assert list(recording.Reader(path).checksum_errors()) == []
    _change(path, lambda m: m["global"].update({"core:sha512": "0" * 128}))
    assert ["core:sha512" in said for said in recording.Reader(path).checksum_errors()] == [True]


@pytest.mark.parametrize(("text", "seconds"), [
    ("2026-01-02T03:04:05Z", 1767323045.0), ("2026-01-02T03:04:05.5Z", 1767323045.5),
    ("2026-01-02T04:04:05+01:00", 1767323045.0), (None, None)])
def test_the_time_of_the_first_sample(tmp_path, text, seconds):
    path = recording.write(tmp_path / "r", np.ones((1, 10)), 1e6, datetime=text)
    assert recording.Reader(path).start_time == seconds


@pytest.mark.parametrize("layout", ["interleaved", "collection"])
def test_discarding_leaves_nothing(tmp_path, layout):
    writer = recording.Writer(tmp_path / "r", 2, 1e6, layout=layout)
    writer.write(np.ones((2, 10), np.complex64))
    writer.discard()
    writer.discard()
    assert not list(tmp_path.iterdir())
