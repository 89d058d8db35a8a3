# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with a few wrong bytes: a reader reads them, or raises an error that it documents."""

import json
import zipfile
from functools import cache

import numpy as np
import pytest
from fuzz_targets import load
from gnuradio.mimopack import crossover, recording
from gnuradio.mimopack.apps.wifi import folder as wifi_folder
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.sim.campaign import Campaign
from gnuradio.mimopack.wifi.csi import CsiWriter, read_csi
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import changed, changed_json, fewer, junk

HAMMING = ldpc.ParityChecks(3, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
                            [0, 2, 4, 6, 1, 2, 5, 6, 3, 4, 5, 6])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def alist(folder):
    ldpc.write_alist(HAMMING, folder / "valid.alist")
    return (folder / "valid.alist").read_bytes()


@given(data=st.data())
@fewer(1)
def test_alist(folder, alist, data):
    path = folder / "changed.alist"
    path.write_bytes(data.draw(changed(alist)))
    try:
        code = ldpc.read_alist(path)
    except ValueError as error:
        assert str(error).startswith(f"{path}: got ")
        return
    words = ldpc.LdpcEncoder(code).encode(np.ones((1, ldpc.LdpcEncoder(code).num_info), np.uint8))
    assert not (words @ code.dense().T % 2).any()


@pytest.fixture(scope="module")
def metadata(folder):
    with recording.Writer(folder / "valid", 2, 20e6, "ci16_le", frequency=5.18e9,
                          datetime="2026-01-02T03:04:05Z") as writer:
        writer.write(np.full((2, 50), 0.5, np.complex64))
        writer.annotate(10, 5, label="frame", **{"mimopack:snr_db": 3.5})
    return json.loads((folder / "valid.sigmf-meta").read_text())


@given(data=st.data())
def test_sigmf_metadata(folder, metadata, data):
    meta = folder / "changed.sigmf-meta"
    meta.with_suffix(".sigmf-data").write_bytes((folder / "valid.sigmf-data").read_bytes())
    if data.draw(st.booleans()):
        content = data.draw(changed(json.dumps(metadata).encode()))
    else:
        content = json.dumps(changed_json(data.draw, metadata)).encode()
    meta.write_bytes(content)
    try:
        reader = recording.open_recording(meta)
    except (ValueError, FileNotFoundError) as error:
        assert str(error)
        return
    assert reader.read().shape == (reader.num_channels, reader.num_samples)
    assert isinstance(repr(reader), str) and len(reader.segments) >= 1
    try:
        recording.read_frames(reader.annotations)
    except ValueError as error:
        assert str(error)


@given(value=junk(), key=st.sampled_from(["datatype", "num_channels", "sample_rate", "frequency"]),
       kind=st.sampled_from(["valid.sigmf-meta", "raw.cs16"]))
@example(value=np.array([None, 1], object), key="datatype", kind="raw.cs16")
def test_arguments_of_a_recording(folder, metadata, value, key, kind):
    (folder / "raw.cs16").write_bytes(bytes(4000))
    try:
        reader = recording.open_recording(folder / kind, **{key: value})
    except ValueError as error:
        assert str(error).startswith(("datatype: ", "num_channels: ", "sample_rate: ",
                                      "frequency: ", "path: "))
    else:
        assert reader.read().shape == (reader.num_channels, reader.num_samples)


@pytest.fixture(scope="module")
def csi(folder, received_frames):
    with CsiWriter(folder / "valid.npz") as out:
        for frame in received_frames[0][:3]:
            out.write(frame)
    return (folder / "valid.npz").read_bytes()


@given(data=st.data())
def test_csi(folder, csi, data):
    path = folder / "changed.npz"
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(changed(csi)))
    else:    # a valid archive with a changed member
        with zipfile.ZipFile(folder / "valid.npz") as valid, zipfile.ZipFile(path, "w") as out:
            chosen = data.draw(st.sampled_from(valid.namelist()))
            for name in valid.namelist():
                content = valid.read(name)
                out.writestr(name, data.draw(changed(content)) if name == chosen else content)
    read_or_refuse(path)


def read_or_refuse(path):
    """Read channel states: the error must have a text, or each matrix its axes."""
    try:
        records = list(read_csi(path))
    except (ValueError, OSError) as error:
        assert str(error)
    else:
        assert all(one.matrices.ndim == 3 for one in records)


@pytest.fixture(scope="module")
def hdf5(folder, received_frames):
    h5py = pytest.importorskip("h5py")
    with CsiWriter(folder / "valid.h5") as out:
        for frame in received_frames[0][:3]:
            out.write(frame)
    with h5py.File(folder / "valid.h5") as file:
        return h5py, {name: dataset[()] for name, dataset in file.items()}


@given(data=st.data())
def test_csi_in_hdf5(folder, hdf5, data):
    """A file with other datasets, or the beginning of a file.

    Bytes inside are not changed: libhdf5 parses them.
    """
    h5py, arrays = hdf5
    path, arrays = folder / "changed.h5", dict(arrays)
    if data.draw(st.booleans()):
        content = (folder / "valid.h5").read_bytes()
        path.write_bytes(content[:data.draw(st.integers(0, len(content) - 1))])
    else:
        other = st.sampled_from(list(arrays.values())) | st.sampled_from(
            [3, -1.5, b"x", "x", np.zeros(0), np.zeros((2, 0)), np.array([1.0, np.nan]),
             np.array([2**62, -1]), np.array([[1, 2, 3]]), np.array([b"", b"x" * 300])])
        for name in data.draw(st.sets(st.sampled_from(list(arrays)), min_size=1, max_size=2)):
            arrays[name] = data.draw(other | st.none())
        with h5py.File(path, "w") as file:
            for name, value in arrays.items():
                if value is not None:
                    file[name] = value
    read_or_refuse(path)


@cache
def seeds(name):
    return load(name).seeds()


@pytest.mark.parametrize("name", ["collection", "results"])
@given(data=st.data())
def test_collections_and_results_to_continue(name, data):
    """The contract is that of the fuzz target."""
    seed = data.draw(st.sampled_from(seeds(name)))
    if data.draw(st.booleans()):
        content = data.draw(changed(seed))
    else:
        content = json.dumps(changed_json(data.draw, json.loads(seed))).encode()
    load(name).check(content)


CAMPAIGN = [
    'title = "Two links"', 'plot = "figure.png"', "[defaults]", "num_tx = 2", "num_rx = 2",
    'constellation = "qpsk"', 'detectors = ["mmse", "nway:num_passes=2"]', 'snr = "2:4:2"',
    "errors = 10", "max_frames = 64", "[[simulation]]", 'name = "coded"', 'code = "wifi:648:1/2"',
    "iterations = 1", "[[simulation]]", 'name = "plain"', 'detectors = ["zf"]',
    'ebn0 = [1, "90:100:5"]', "seed = 3"]
LITERALS = st.sampled_from([
    "0", "-1", "2", "1.5", "nan", "inf", "-inf", "9" * 30, "true", '""', '"x"', '"../x"', "[]",
    "[[1]]", '["zf", "zf"]', '["zf:a=1"]', "[3]", "{}", "{ a = 1 }", "2026-01-02", "12:00:00",
    '"1,2"', '"5:1:1"', '"\\u0000"', '"\\u001b[31m"', "[1, [2, [3]]]"])


@given(data=st.data())
def test_campaign(folder, data):
    lines = list(CAMPAIGN)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        if lines[at].startswith("["):
            lines[at] = data.draw(st.sampled_from(["", "[x]", "[[defaults]]", "[simulation]"]))
        else:
            lines[at] = f"{lines[at].partition(' = ')[0]} = {data.draw(LITERALS)}"
    content = "\n".join(lines).encode()
    if data.draw(st.booleans()):
        content = data.draw(changed(content))
    path = folder / "changed.toml"
    path.write_bytes(content)
    try:
        campaign = Campaign(path)
    except ValueError as error:
        assert str(error).startswith(f"campaign: {path}: ")
        return
    for part in campaign.parts:
        points = len(part.simulation["detectors"]) * len(part.snrs)
        assert part.state([]) == (0, 0, points) and part.snrs == sorted(part.snrs)
    if all(part.output.parent == folder / "changed" for part in campaign.parts):
        try:
            made = campaign.simulations()
        except ValueError as error:
            assert str(error).startswith(tuple(f"{part.name}: " for part in campaign.parts))
        else:
            assert list(made) == [part.name for part in campaign.parts]


@given(data=st.data())
def test_summary_of_a_folder(folder, data):
    """``mimopack wifi --scheduler`` continues from this file, and writes it again."""
    (folder / "a.json").write_text("[]")
    recordings, options = {"a": "/air/a", "b": "/air/b"}, {"passes": 1}
    counts = {"frames": 3, "frames_complete": 2, "mpdus": 5, "mpdus_ok": 4}
    summary = {"what": "Wi-Fi frames of recordings", "options": options, **counts, "recordings": [
        {"recording": "/air/a", "complete": True, "written": [str(folder / "a.json")], **counts},
        {"recording": "/air/b", "complete": False, "error": "no such file"}]}
    path = folder / "summary.json"
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(changed(json.dumps(summary).encode())))
    else:
        path.write_text(json.dumps(changed_json(data.draw, summary)))
    done = wifi_folder._earlier(path, options, recordings)
    assert set(done) <= {"a"}
    assert len(list(wifi_folder._table(recordings, done))) == 3
    wifi_folder._write(path, options, done)
    assert wifi_folder._earlier(path, options, recordings) == done


@pytest.mark.parametrize("change", [{"mpdus": None}, {"frames": "x"}, {"written": [5]},
                                    {"written": ["\0"]}, {"written": None}])
def test_an_entry_of_a_damaged_summary_is_decoded_again(change, tmp_path):
    """Some of these ended ``mimopack wifi --scheduler`` with a traceback."""
    entry = {"recording": "/air/a", "complete": True, "written": [], "frames": 3,
             "frames_complete": 2, "mpdus": 5, "mpdus_ok": 4}
    path = tmp_path / "summary.json"
    for change_to, expected in (({}, {"a": entry}), (change, {})):
        path.write_text(json.dumps({"what": "Wi-Fi frames of recordings", "options": {},
                                    "recordings": [entry | change_to]}))
        assert wifi_folder._earlier(path, {}, {"a": "/air/a"}) == expected


@given(data=st.data())
def test_measurements_of_auto(data):
    """Measurements that earlier processes have stored: damaged ones are as if they were missing."""
    configuration = {"work": "mmse", "mimopack": "1", "gpus": ["a GPU"]}
    crossover._known.clear()
    crossover.keep(configuration, data.draw(st.sampled_from([16, 4096, np.inf])), [(16, 1.0, 2.0)])
    path, = crossover.folder().glob("*.json")
    crossover._known.clear()
    entry = json.loads(path.read_text())
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(changed(path.read_bytes())))
    else:
        path.write_text(json.dumps(changed_json(data.draw, entry)))
    least = crossover.recall(configuration)
    assert least is None or least >= 1
    assert len(crossover.kept()) <= 1


@pytest.mark.parametrize("read", [
    lambda path: wifi_folder._earlier(path, {}, {}), lambda path: crossover.kept()])
def test_lists_that_are_nested_too_deeply_are_damage(read, monkeypatch, tmp_path):
    monkeypatch.setattr(crossover, "folder", lambda: tmp_path)
    (tmp_path / "x.json").write_text("[" * 100_000)
    assert not read(tmp_path / "x.json")
