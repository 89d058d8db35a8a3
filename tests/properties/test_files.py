# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with a few wrong bytes: a reader reads them, or raises an error that it documents."""

import json
import zipfile

import numpy as np
import pytest
from gnuradio.mimopack import recording
from gnuradio.mimopack.coding import ldpc
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
    try:
        records = list(read_csi(path))
    except (ValueError, OSError) as error:
        assert str(error)
    else:
        assert all(one.matrices.ndim == 3 for one in records)
