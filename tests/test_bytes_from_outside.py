# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of strangers: random changes of valid inputs are refused by name, or read right."""

import json
import math
import random
import re

import numpy as np
import pytest
import wifi_oracle
from gnuradio.mimopack import recording, wifi
from gnuradio.mimopack.coding import ldpc
from gnuradio.mimopack.wifi import csi, mac, signal_fields
from gnuradio.mimopack.wifi.formats import Unsupported

VALUES = (0, 1, -1, 255, 65536, 2**31, 2**63, 2**64, 10**30, 0.5, 1e308, math.inf, math.nan, "",
          "a", "\x1b[2J", "\u202e", "../x", "x" * 300, "2026-01-01T00:00:00Z", "ci8", "ri16_le",
          None, True, [], {}, [[]], [None])


def changed_bytes(data, rng):
    """Return bytes with one to four places changed, removed, repeated or inserted."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(4)
        if kind == 0:
            data[at:at] = rng.randbytes(rng.choice((1, 4)))
        elif kind == 1:
            del data[at:at + rng.choice((1, 4, 64))]
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        else:
            size = rng.choice((1, 2, 4, 8))
            data[at:at + size] = rng.randbytes(size)
    return bytes(data)


def places(value):
    """Yield all (container, key) within a dictionary or list."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def changed_json(data, rng):
    """Return a JSON text with one to three values changed or removed, or with changed bytes."""
    if not rng.randrange(5):
        return changed_bytes(data, rng)
    content = json.loads(data)
    for _ in range(rng.randint(1, 3)):
        container, key = rng.choice(list(places(content)) or [(content, "a")])
        if rng.randrange(4):
            container[key] = rng.choice(VALUES)
        else:
            container.pop(key, None) if isinstance(container, dict) else container.pop(key)
    return json.dumps(content).encode()


def inputs(seeds, change, count, seed=1):
    """Return the seeds and ``count`` changes of them."""
    rng = random.Random(seed)
    return [*seeds, *(change(rng.choice(seeds), rng) for _ in range(count))]


METADATA = {
    "global": {"core:datatype": "ci16_le", "core:version": "1.0.0", "core:num_channels": 2,
               "core:sample_rate": 20e6, "core:description": "a test", "core:extensions": [
                   {"name": "mimopack", "version": "1.0.0", "optional": True}]},
    "captures": [{"core:sample_start": 0, "core:frequency": 2.412e9,
                  "core:datetime": "2026-01-02T03:04:05.678Z"},
                 {"core:sample_start": 100, "core:frequency": 5.18e9, "core:global_index": 120,
                  "core:datetime": "2026-01-02T04:04:06+01:00", "mimopack:sample_rate": 10e6}],
    "annotations": [{"core:sample_start": 10, "core:sample_count": 50, "core:label": "frame",
                     "mimopack:mpdus": ["00ff", "a1"], "mimopack:snr_db": 12.5}]}
COLLECTION = {"collection": {"core:version": "1.0.0", "core:streams": [
    {"name": "air", "hash": "0"}, ["air", "0"]]}}


# The package sigmf warns of names that no extension declares.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("content, name", [(METADATA, "air.sigmf-meta"),
                                           (COLLECTION, "both.sigmf-collection")])
def test_metadata_of_recordings(content, name, tmp_path):
    (tmp_path / "air.sigmf-meta").write_text(json.dumps(METADATA))
    (tmp_path / "air.sigmf-data").write_bytes(np.random.default_rng(1).bytes(4800))
    path = tmp_path / name
    for data in inputs([json.dumps(content).encode()], changed_json, 60):
        path.write_bytes(data)
        try:
            reader = recording.Reader(path)
        except (ValueError, OSError) as error:
            assert re.search(rf"air|{name}|File name too long: .*x\.sigmf", str(error)), data
            assert "\n" not in str(error), data
            continue
        assert reader.num_channels >= 1 and reader.datatype in recording.DATATYPES, data
        for rate in (reader.sample_rate, *(segment.sample_rate for segment in reader.segments)):
            assert rate is None or 0 < rate < math.inf, data
        starts = [segment.start for segment in reader.segments]
        assert starts[0] == 0 and sorted(set(starts)) == starts, data
        assert starts[-1] < reader.num_samples, data
        for text in (reader.description, repr(reader), *reader.notes):
            assert all(letter.isprintable() or letter in "\n\t" for letter in text), data
        count = min(64, reader.num_samples)
        assert reader.read(0, count).shape == (reader.num_channels, count), data


def test_alist_files(tmp_path):
    path, again = tmp_path / "code.alist", tmp_path / "again.alist"
    ldpc.write_alist(ldpc.ParityChecks(3, [0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 3, 1, 4]), path)
    for data in inputs([path.read_bytes()], changed_bytes, 300):
        path.write_bytes(data)
        try:
            code = ldpc.read_alist(path)
        except ValueError as error:
            assert path.name in str(error), data
            continue
        ldpc.write_alist(code, again)
        assert np.array_equal(ldpc.read_alist(again).dense(), code.dense()), data


def test_csi_files(tmp_path):
    path = tmp_path / "channels.npz"
    frames, carriers, antennas = 3, 4, 2
    np.savez(path, **{name: np.zeros(frames, dtype) for name, dtype in csi._SCALARS.items()},
             layout=csi.LAYOUT, level_dbfs=np.full((frames, antennas), -30.0),
             noise=np.full((frames, antennas), 1e-3),
             csi=np.ones(frames * carriers * antennas, np.complex64),
             csi_offset=np.arange(frames + 1) * carriers * antennas,
             csi_shape=np.tile([carriers, antennas, 1], (frames, 1)),
             carriers=np.tile(np.arange(carriers), frames).astype("i4"),
             carriers_offset=np.arange(frames + 1) * carriers)
    assert len(csi.read_csi(path)) == frames
    for data in inputs([path.read_bytes()], changed_bytes, 80):
        path.write_bytes(data)
        try:
            assert len(csi.read_csi(path)) == frames
        except ValueError as error:
            assert path.name in str(error) and "\n" not in str(error)


def repaired(data):
    """Return a PSDU in which words with a delimiter's signature have a right CRC."""
    psdu = bytearray(data)
    for place in range(0, len(psdu) - 3, mac.DELIMITER):
        if psdu[place + 3] == 0x4E:
            head = int.from_bytes(psdu[place:place + 2], "little")
            psdu[place + 2] = wifi_oracle.delimiter_crc(head)
            begin, length = place + mac.DELIMITER, head >> 4 | (head >> 2 & 3) << 12
            if head & 2 and mac.FCS < length <= len(psdu) - begin:
                end = begin + length
                psdu[end - mac.FCS:end] = mac.fcs(bytes(psdu[begin:end - mac.FCS]))
    return bytes(psdu)


def test_mpdus():
    """MPDUs are those of a plain search; wrong ones may overlap, but not without limit."""
    bodies = (b"\xd4\0\0\0" + bytes(6), b"\x88\3" + bytes(60),
              bytes(20) + mac.delimiter(0, eof=True))    # an EOF delimiter inside an MPDU
    mpdus = [body + mac.fcs(body) for body in bodies]
    seeds = [mac.aggregate(mpdus), mac.aggregate(mpdus, 300), mac.aggregate(mpdus[:1], 60),
             mac.delimiter(200) * 100]
    outcomes = []
    for data in inputs(seeds, changed_bytes, 1000):
        for psdu, aggregated in ((data, False), (data, True), (repaired(data), True)):
            mpdus, complete = mac.split(psdu, aggregated)
            places = [(mpdu.offset, len(mpdu.data), mpdu.fcs_ok) for mpdu in mpdus]
            assert (places, complete) == wifi_oracle.find_mpdus(psdu, aggregated), psdu
            assert sum(len(mpdu.data) for mpdu in mpdus) <= 5 * len(psdu), psdu
            for mpdu in mpdus:
                header = mac.parse_header(mpdu.data)
                assert 0 <= header.type < 4 and len(header.addresses) <= 4, psdu
            outcomes.append(complete)
    assert 0.1 < np.mean(outcomes) < 0.9


def test_signal_fields():
    """Fields with right checks are refused by name, or parsing reverses encoding."""
    rng = np.random.default_rng(1)
    formats = []
    for _ in range(3000):
        first, second = rng.integers(0, 2, 24, np.uint8), rng.integers(0, 2, 48, np.uint8)
        first[:5] = signal_fields.LSig(6, 3).bits()[:5]
        first[17], first[18:], second[42:] = int(first[:17].sum()) % 2, 0, 0
        second[34:42] = signal_fields.crc8(second[:34])
        try:
            l_sig = signal_fields.LSig.parse(first)
        except signal_fields.SignalError:
            continue
        assert l_sig.bits().tolist() == first.tolist()
        for parse, encode in (
                (signal_fields.parse_ht_sig, signal_fields.ht_sig),
                (lambda bits, l_sig=l_sig: signal_fields.parse_vht_sig_a(bits, l_sig),
                 signal_fields.vht_sig_a)):
            try:
                form = parse(second)
            except (signal_fields.SignalError, Unsupported) as error:
                assert str(error)
                continue
            assert form.num_symbols >= 0 and form.num_samples >= form.data_start > 0, form
            assert form.rate_mbps > 0 and form.describe(), form
            again = encode(form)
            if form.name == "ht" or again[25] == second[25]:
                assert parse(again) == form
            formats.append(form.name)
    assert {"ht", "vht"} <= set(formats)


def air():
    """Return samples of two antennas with a frame of each format, 8 us apart."""
    mpdus = [bytes([0x88, 0, 0, 0]) + bytes(range(size)) for size in (26, 40)]
    mpdus = [mpdu + mac.fcs(mpdu) for mpdu in mpdus]
    frames = []
    for make, count in ((lambda n: wifi.NonHT(54, n), 1),
                        (lambda n: wifi.HT(12, n, aggregated=True, coding="ldpc"), 2),
                        (lambda n: wifi.VHT.of_length(5, n, num_streams=2), 2)):
        samples = wifi.Transmitter(2).frame(*wifi.pack(make, mpdus[:count]))
        frames.append(np.pad(samples, ((0, 0), (160, 160))))
    samples = 0.1 * np.concatenate(frames, axis=1)
    noise = np.random.default_rng(1).standard_normal((*samples.shape, 2)) @ [1e-3, 1e-3j]
    return (samples + noise).astype(np.complex64)


def test_samples():
    """No frame fails with an exception, and reports do not depend on how samples are cut."""
    clean, rng = air(), np.random.default_rng(2)
    receiver = wifi.Receiver(2, detector="mmse", backend="cpu")

    def reports(pieces):
        receiver.restart()
        receiver.counts.clear()
        with np.errstate(all="ignore"):
            frames = [frame for piece in pieces for frame in receiver.process(piece)]
            frames += receiver.finish()
        assert not receiver.counts["failures"]
        return [json.dumps(frame.as_json(), allow_nan=False) for frame in frames]

    assert len(reports([clean])) == 3
    for _ in range(25):
        samples = clean.copy()
        for _ in range(rng.integers(1, 5)):
            begin, length = rng.integers(samples.shape[1] - 1), rng.integers(1, 1000)
            part = samples[rng.integers(2), begin:begin + length]
            kind = rng.integers(5)
            if kind == 0:
                part[:] = rng.choice([0, np.nan, np.inf, 1e38, 1e-38])
            elif kind == 1:
                part *= rng.choice([-1, 1j, 1e6, 1e-6])
            elif kind == 2:
                samples = np.delete(samples, slice(begin, begin + length), axis=1)
            elif kind == 3:
                samples = np.concatenate([samples[:, :begin + length], samples[:, begin:]], axis=1)
            else:
                part += 0.05 * rng.standard_normal(len(part))
        samples = np.ascontiguousarray(samples)
        cuts = np.sort(rng.integers(0, samples.shape[1], 3))
        assert reports(np.split(samples, cuts, axis=1)) == reports([samples])
