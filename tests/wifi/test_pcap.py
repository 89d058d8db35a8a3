# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Capture files as tshark and scapy read them: every field of every format; FIFOs, PDUs and the
block."""

import contextlib
import itertools
import math
import os
import random
import shutil
import struct
import subprocess
import threading
import time

import pmt
import pytest
from flowgraphs import block, save
from gnuradio import gr, mimopack
from gnuradio.mimopack.blocks import wifi_pdus
from gnuradio.mimopack.wifi.formats import HT, VHT, NonHT
from gnuradio.mimopack.wifi.pcap import PcapWriter, Radio, radiotap
from gnuradio.mimopack.wifi.pdu import KEYS, frame_to_pdus
from scapy.layers.dot11 import Dot11, Dot11FCS, RadioTap
from scapy.utils import RawPcapReader
from wifi_frames import mpdu_bytes, received

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 127)


def tshark(path, *names):
    """What tshark decodes: for each record a list with a list of each field's values."""
    if shutil.which("tshark") is None:
        pytest.fail("tshark is missing: scripts/setup.sh --tests installs it")
    selected = ["_ws.malformed", "_ws.expert.message", *names]
    done = subprocess.run(
        ["tshark", "-r", path, "-o", "wlan.check_checksum:TRUE", "-T", "fields",
         "-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;",
         *itertools.chain.from_iterable(("-e", name) for name in selected)],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [[cell.split(";") if cell else [] for cell in line.split("\t")]
            for line in done.stdout.splitlines()]
    # A bad frame check sequence counts as malformed, and nothing else may.
    assert all(not row[0] or row[1][0].startswith("Bad checksum") for row in rows), rows
    # A truth value is True since tshark 4.2, 1 before.
    values = {"True": 1, "False": 0}
    return [[[values.get(value, value) for value in cell] for cell in row[2:]] for row in rows]


def numbers(path, *names):
    """The same as numbers; a field that occurs once is no list, one that is missing None."""
    def of(cell):
        found = [float(int(value, 0)) if isinstance(value, str) and value.startswith("0x")
                 else float(value) for value in cell]
        return None if not found else found[0] if len(found) == 1 else found
    return [[of(cell) for cell in row] for row in tshark(path, *names)]


def written(folder, *frames, **options):
    path = folder / "frames.pcap"
    with PcapWriter(path, **options) as writer:
        for frame in frames:
            writer.write(frame)
    return path


FLAGS = ["fcs", "badfcs", "shortgi", "cfp", "preamble", "wep", "frag", "datapad"]
CHANNEL = ["freq", "flags.ofdm", "flags.2ghz", "flags.5ghz", "flags.half", "flags.quarter",
           "flags.turbo", "flags.cck", "flags.passive", "flags.dynamic", "flags.gfsk"]


def flag_names():
    return [f"radiotap.flags.{name}" for name in FLAGS]


def channel_names():
    return [f"radiotap.channel.{name}" for name in CHANNEL]


def test_file_header_and_record(tmp_path):
    path = written(tmp_path, received(NonHT(6, 100), start=20_000_001))
    data = path.read_bytes()
    assert data[:24] == HEADER
    seconds, nanoseconds, captured, original = struct.unpack("<IIII", data[24:40])
    assert (seconds, nanoseconds) == (1, 50)
    assert captured == original == len(data) - 40
    assert data[40:].endswith(mpdu_bytes())


def test_every_field_of_a_non_ht_frame(tmp_path):
    data = [mpdu_bytes(7), mpdu_bytes(8, fcs_ok=False)]
    path = written(tmp_path, *(received(NonHT(54, len(one)), [one]) for one in data))
    rows = numbers(path, "radiotap.version", "radiotap.length", "radiotap.mactime",
                   "radiotap.datarate", "radiotap.dbm_antsignal", "radiotap.dbm_antnoise",
                   "radiotap.antenna", "frame.time_epoch", "wlan.seq", "wlan.fcs.status",
                   *flag_names(), *channel_names())
    for row, sequence, ok in zip(rows, (7, 8), (1, 0), strict=True):
        assert row[:8] == [0, 25, 200, 54, -20, -50, 0, 0.0002]
        assert row[8:10] == [sequence, ok]
        assert row[10:18] == [1, 1 - ok, 0, 0, 0, 0, 0, 0]
        assert row[18:] == [5180, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert tshark(path, "wlan.ta", "wlan.ra") == 2 * [[["02:00:00:00:00:02"],
                                                       ["02:00:00:00:00:01"]]]


@pytest.mark.parametrize("sample_rate, half, quarter", [
    (20e6, 0, 0), (10e6, 1, 0), (5e6, 0, 1), (40e6, 0, 0), (80e6, 0, 0)])
def test_rates_of_narrow_channels(tmp_path, sample_rate, half, quarter):
    rates = (6, 9, 12, 18, 24, 36, 48, 54)
    path = written(tmp_path, *(received(NonHT(rate, 44), sample_rate=sample_rate,
                                        frequency=5890e6) for rate in rates))
    rows = numbers(path, "radiotap.datarate", "radiotap.channel.freq",
                   "radiotap.channel.flags.half", "radiotap.channel.flags.quarter",
                   "radiotap.mactime", "radiotap.present.mcs", "radiotap.present.vht")
    scale = min(1, sample_rate / 20e6)
    for rate, row in zip(rates, rows, strict=True):
        assert row == [math.ceil(rate * scale * 2) / 2, 5890, half, quarter,
                       4000 / sample_rate * 1e6, 0, 0]


@pytest.mark.parametrize("frequency, shown", [
    (2412e6, [2412, 1, 0]), (2484e6, [2484, 1, 0]), (5180.4e6, [5180, 0, 1]),
    (5885e6, [5885, 0, 1]), (6115e6, [6115, 0, 1]), (868e6, [868, 0, 0]),
    (None, None), (0.0, None), (-5e9, None), (70e9, None)])
def test_frequencies(tmp_path, frequency, shown):
    path = written(tmp_path, received(NonHT(6, 44), frequency=frequency))
    row, = numbers(path, "radiotap.present.channel", "radiotap.channel.freq",
                   "radiotap.channel.flags.2ghz", "radiotap.channel.flags.5ghz",
                   "radiotap.dbm_antsignal", "wlan.fcs.status")
    assert row == ([1, *shown] if shown else [0, None, None, None]) + [-20, 1]


HT_FRAMES = [
    HT(0, 100), HT(7, 100, short_gi=True), HT(8, 100, bandwidth_mhz=40, coding="ldpc"),
    HT(15, 100, stbc=1), HT(15, 100, stbc=2), HT(12, 100, greenfield=True, short_gi=True),
    HT(31, 100, bandwidth_mhz=40, short_gi=True, coding="ldpc"), HT(32, 100, bandwidth_mhz=40),
    HT(2, 100, stbc=1, coding="ldpc", aggregated=True)]
VHT_FRAMES = [
    VHT(0, 10), VHT(9, 10, num_streams=2, bandwidth_mhz=80, short_gi=True),
    VHT(4, 10, num_streams=4, bandwidth_mhz=40, coding="ldpc", group_id=63, partial_aid=511),
    VHT(3, 10, num_streams=2, stbc=2), VHT(8, 10, stbc=1, coding="ldpc", extra_symbol=True),
    VHT(7, 10, num_streams=3, beamformed=True, partial_aid=256)]


def test_every_field_of_ht(tmp_path):
    # Wireshark takes frames of one time for parts of one A-MPDU, with one rate.
    path = written(tmp_path, *(received(f, start=20_000 * i) for i, f in enumerate(HT_FRAMES)))
    names = ["known", "index", "bw", "gi", "format", "fec", "stbc", "have_bw", "have_index",
             "have_gi", "have_format", "have_fec", "have_stbc", "have_ness", "ness_bit0"]
    rows = numbers(path, *(f"radiotap.mcs.{name}" for name in names), "radiotap.flags.shortgi",
                   "radiotap.present.rate", "radiotap.present.vht", "radiotap.present.ampdu",
                   "wlan_radio.phy", "wlan.fcs.status")
    for f, row in zip(HT_FRAMES, rows, strict=True):
        assert row == [0x7F, f.mcs, f.bandwidth_mhz == 40, f.short_gi, f.greenfield,
                       f.coding == "ldpc", f.stbc, *[1] * 7, 0, f.short_gi, 0, 0, f.aggregated,
                       7, 1], f
    rates = numbers(path, "wlan_radio.data_rate")
    for f, (rate,) in zip(HT_FRAMES, rates, strict=True):
        # For MCS 32, Wireshark 4.0 has 6.2 instead of 6 Mbit/s.
        assert rate == pytest.approx(f.rate_mbps, abs=0.25 if f.mcs == 32 else 0.06), f


def test_every_field_of_vht(tmp_path):
    path = written(tmp_path, *(received(f, start=20_000 * i) for i, f in enumerate(VHT_FRAMES)))
    names = ["have_stbc", "have_gi", "have_beamformed", "have_txop_ps", "have_sgi_nsym_da",
             "stbc", "gi", "beamformed", "ldpc_extra", "bw", "nss.0", "nsts.0", "mcs.0",
             "coding.0", "gid", "paid"]
    rows = numbers(path, *(f"radiotap.vht.{name}" for name in names), "radiotap.mcs.have_gid",
                   "radiotap.mcs.have_paid", "radiotap.flags.shortgi", "radiotap.present.rate",
                   "radiotap.present.mcs", "radiotap.present.ampdu", "wlan_radio.phy")
    for f, row in zip(VHT_FRAMES, rows, strict=True):
        # tshark has one name for "extra symbol known" and "extra symbol".
        assert row == [
            1, 1, 1, 0, 0, bool(f.stbc), f.short_gi, f.beamformed, [1, f.extra_symbol],
            {20: 0, 40: 1, 80: 4}[f.bandwidth_mhz], f.num_streams, f.num_space_time_streams, f.mcs,
            f.coding == "ldpc", f.group_id, f.partial_aid, 1, 1, f.short_gi, 0, 0, 1, 8], f
    rates = numbers(path, "wlan_radio.data_rate")
    for f, (rate,) in zip(VHT_FRAMES, rates, strict=True):
        assert rate == pytest.approx(f.rate_mbps, abs=0.06), f


@pytest.mark.parametrize("fmt", [HT(7, 400, aggregated=True), VHT(5, 20)])
def test_aggregates(tmp_path, fmt):
    three = [mpdu_bytes(1), mpdu_bytes(2, fcs_ok=False), mpdu_bytes(3)]
    frames = [received(fmt, three), received(NonHT(6, 44), [mpdu_bytes(4)], start=8000),
              received(fmt, [], start=9000), received(fmt, [mpdu_bytes(5)], start=12_000)]
    path = tmp_path / "frames.pcap"
    with PcapWriter(path) as writer:
        assert [writer.write(frame) for frame in frames] == [3, 1, 0, 1]
        assert writer.records == 5
    names = ["reference", "flags.lastknown", "flags.last", "flags.delim_crc_error",
             "flags.report_zerolen", "flags.is_zerolen", "delim_crc"]
    rows = numbers(path, "wlan.seq", "radiotap.flags.badfcs",
                   *(f"radiotap.ampdu.{name}" for name in names))
    assert rows == [[1, 0, 0, 1, 0, 0, 0, 0, None], [2, 1, 0, 1, 0, 0, 0, 0, None],
                    [3, 0, 0, 1, 1, 0, 0, 0, None], [4, 0, *[None] * 7],
                    [5, 0, 1, 1, 1, 0, 0, 0, None]]


def test_antennas(tmp_path):
    nan, infinite = math.nan, -math.inf
    frames = [
        received(NonHT(6, 44), level_dbfs=(-20.4, -3.6, -30.0), noise_dbfs=(-50.0, -60.0, -55.0)),
        received(VHT(0, 5), level_dbfs=(-20.0, nan), noise_dbfs=(infinite, -60.0)),
        received(HT(0, 44), level_dbfs=(nan, nan), noise_dbfs=()),
        received(NonHT(6, 44), level_dbfs=(nan,), noise_dbfs=(-60.0,)),
        received(NonHT(6, 44), level_dbfs=(), noise_dbfs=()),
        received(NonHT(6, 44), level_dbfs=(-400.0, 300.0), noise_dbfs=(-400.0, 300.0))]
    path = written(tmp_path, *frames)
    rows = numbers(path, "radiotap.dbm_antsignal", "radiotap.dbm_antnoise", "radiotap.antenna",
                   "wlan.fcs.status")
    # The antenna with the strongest signal first, then all of them in order.
    assert rows == [[[-4, -20, -4, -30], [-60, -50, -60, -55], [0, 1, 2], 1],
                    [[-20, -20], -60, [0, 1], 1], [None, None, [0, 1], 1],
                    [None, -60, 0, 1], [None, None, None, 1],
                    [[127, -128, 127], [127, -128, 127], [0, 1], 1]]
    words = tshark(path, "radiotap.present.word")
    assert [len(row[0]) for row in words] == [4, 3, 3, 1, 1, 3]
    path = written(tmp_path, frames[0], dbm_full_scale=-27.5)
    assert numbers(path, "radiotap.dbm_antsignal", "radiotap.dbm_antnoise") == [
        [[-31, -48, -31, -58], [-88, -78, -88, -82]]]


def test_256_antennas(tmp_path):
    path = written(tmp_path, received(VHT(0, 5), antennas=256, level_dbfs=(-70.0,) * 256))
    row, = numbers(path, "radiotap.antenna", "radiotap.dbm_antsignal", "wlan.fcs.status")
    assert row == [list(range(256)), [-70] * 257, 1]


def test_every_set_of_fields_is_aligned(tmp_path):
    # Each combination of fields puts those behind it elsewhere.
    choices = itertools.product(
        (None, 1.5), (None, 5180e6), (None, "non-ht", "ht", "vht"), (None, (70000, 1, 2)),
        ((), (-40.0,), (-40.0, -40.0), (-40.0,) * 3), (False, True))
    radios = [Radio(time=t, frequency=frequency, format=fmt, mcs=9 if fmt != "ht" else 3,
                    ampdu=ampdu, level_dbfs=levels, noise_dbfs=levels[:1], short_gi=short,
                    group_id=33, partial_aid=259)
              for t, frequency, fmt, ampdu, levels, short in choices]
    path = tmp_path / "frames.pcap"
    with path.open("wb") as file:
        file.write(HEADER)
        for radio in radios:
            data = radiotap(radio) + mpdu_bytes()[:-4]
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)
    rows = numbers(path, "radiotap.mactime", "radiotap.channel.freq", "radiotap.datarate",
                   "radiotap.mcs.index", "radiotap.vht.mcs.0", "radiotap.vht.paid",
                   "radiotap.ampdu.reference", "radiotap.antenna", "radiotap.flags.shortgi",
                   "wlan.seq")
    assert len(rows) == 256
    for radio, row in zip(radios, rows, strict=True):
        antennas = [float(i) for i in range(len(radio.level_dbfs))]
        assert row == [
            radio.time and 1.5e6, radio.frequency and 5180,
            # tshark shows the rate of an MCS under the same name.
            {"non-ht": 9, "ht": 28.8889 if radio.short_gi else 26}.get(radio.format),
            3 if radio.format == "ht" else None,
            *((9, 259) if radio.format == "vht" else (None, None)), radio.ampdu and 70000,
            antennas[0] if len(antennas) == 1 else antennas or None, radio.short_gi, 0], radio


def test_scapy_reads_the_same(tmp_path):
    frames = [received(NonHT(24, 44), frequency=2437e6, antennas=2),
              # scapy puts the MCS field on even places: two antennas put it there anyway.
              received(HT(13, 44, bandwidth_mhz=40, short_gi=True, coding="ldpc", stbc=1),
                       antennas=2),
              received(VHT(4, 10, num_streams=2, bandwidth_mhz=80, partial_aid=300, group_id=1),
                       [mpdu_bytes(3)])]
    with RawPcapReader(str(written(tmp_path, *frames))) as reader:
        assert (reader.linktype, reader.nano) == (127, True)
        legacy, ht, vht = (RadioTap(data) for data, _ in reader)
    assert (legacy.mac_timestamp, legacy.Rate, legacy.ChannelFrequency) == (200, 24.0, 2437)
    assert str(legacy.ChannelFlags) == "OFDM+2GHz" and str(legacy.Flags) == "FCS"
    assert (legacy.dBm_AntSignal, legacy.dBm_AntNoise) == (-20, -50)
    assert (ht.MCS_index, ht.MCS_bandwidth, ht.guard_interval) == (13, 1, 1)
    assert (ht.HT_format, ht.FEC_type, ht.STBC_streams) == (0, 1, 1)
    # scapy takes the partial AID for big-endian.
    assert (vht.A_MPDU_ref, vht.VHT_bandwidth, vht.PartialAID, vht.GroupID) == (0, 4, 0x2C01, 1)
    assert vht.mcs_nss == b"\x42\0\0\0\0"
    assert [Dot11FCS in packet or Dot11 in packet for packet in (legacy, ht, vht)] == [True] * 3
    assert [packet.addr2 for packet in (legacy, ht, vht)] == ["02:00:00:00:00:02"] * 3
    assert vht.SC >> 4 == 3


def test_time_keeps_nanoseconds(tmp_path):
    path = tmp_path / "frames.pcap"
    with PcapWriter(path) as writer:
        writer.write(received(NonHT(6, 44), start=3), time=1_700_000_000.25)
        writer.write(received(NonHT(6, 44), start=20_000_000 * 100_000 + 1), time=1_700_000_000)
        writer.write(received(NonHT(6, 44), start=-7))
    assert [row[0][0] for row in tshark(path, "frame.time_epoch")] == [
        "1700000000.250000150", "1700100000.000000050", "0.000000000"]
    assert [row[0] for row in numbers(path, "radiotap.mactime")] == [0, 1e11, 0]


def test_frames_without_format_and_short_mpdus(tmp_path):
    frames = [received(None), received(HT(7, 400, aggregated=True), [b"abc", b"abcd"]),
              received(None, [])]
    path = written(tmp_path, *frames)
    with RawPcapReader(str(path)) as reader:
        records = [data for data, _ in reader]
    assert len(records) == 3 and records[0].endswith(mpdu_bytes())
    lengths = [int.from_bytes(record[2:4], "little") for record in records]
    flags = [record[16] for record in records]    # behind a word of presence bits and the TSFT
    assert [record[length:] for record, length in zip(records[1:], lengths[1:], strict=True)] \
        == [b"abc", b"abcd"]
    assert flags == [0x10, 0x40, 0x50]
    path = written(tmp_path, frames[0])
    assert numbers(path, "radiotap.present.rate", "radiotap.present.mcs", "radiotap.present.vht",
                   "radiotap.channel.freq", "radiotap.dbm_antsignal") == [[0, 0, 0, 5180, -20]]


class TestFiles:
    def test_a_file_that_was_given_stays_open(self, tmp_path):
        path = tmp_path / "frames.pcap"
        with path.open("wb") as file:
            with PcapWriter(file) as writer:
                writer.write(received(NonHT(6, 44)))
                assert len(path.read_bytes()) > 24    # flushed
            assert writer.closed and not file.closed
        assert numbers(path, "wlan.fcs.status") == [[1]]

    def test_fifo_is_read_live(self, tmp_path):
        path = tmp_path / "live.pcap"
        os.mkfifo(path)
        if shutil.which("tshark") is None:
            pytest.fail("tshark is missing: scripts/setup.sh --tests installs it")
        with subprocess.Popen(["tshark", "-i", path, "-l", "-T", "fields", "-e", "wlan.seq"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
            with PcapWriter(path) as writer:
                for sequence in range(3):
                    writer.write(received(NonHT(6, 44), [mpdu_bytes(sequence)]))
                    # It is read before the next one is written.
                    assert reader.stdout.readline() == f"{sequence}\n"
            assert reader.wait(timeout=30) == 0

    def test_reader_that_goes_away(self, tmp_path):
        path = tmp_path / "live.pcap"
        os.mkfifo(path)
        heads = []

        def read():
            with path.open("rb", buffering=0) as file:
                heads.append(file.read(24))

        thread = threading.Thread(target=read)
        thread.start()
        writer = PcapWriter(path)
        thread.join(30)
        assert heads == [HEADER]
        with writer:
            with pytest.raises(BrokenPipeError, match="the reader has gone away.*live.pcap"):
                writer.write(received(NonHT(6, 44)))
            assert writer.closed and writer.records == 0
            with pytest.raises(ValueError, match="live.pcap: writing has ended"):
                writer.write(received(NonHT(6, 44)))

    @pytest.mark.parametrize("size", [1500, 10000])    # a pipe takes 4096 bytes at once or not
    def test_reader_that_stands_still(self, tmp_path, size):
        path = tmp_path / "live.pcap"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        got, lost = b"", []

        def read():
            parts = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    parts.append(os.read(reader, 1 << 16))
            return b"".join(parts)

        with PcapWriter(path, patience=0.01) as writer:
            for sequence in range(200):
                if sequence == 100:
                    got += read()
                try:
                    writer.write(received(NonHT(6, 44), [mpdu_bytes(sequence, size)]))
                except TimeoutError as error:
                    assert "live.pcap: the reader stands still" in str(error)
                    lost.append(sequence)
            assert 0 < len(lost) == 200 - writer.records
            assert not writer.closed
            got += read()
        got += read()
        os.close(reader)
        (tmp_path / "read.pcap").write_bytes(got)
        written = [sequence for sequence in range(200) if sequence not in lost]
        assert 100 in written and written[-1] < 199
        assert numbers(tmp_path / "read.pcap", "wlan.seq", "wlan.fcs.status") \
            == [[sequence, 1] for sequence in written]

    def test_full_disk(self, tmp_path):
        with pytest.raises(OSError, match="No space left"):
            PcapWriter("/dev/full")

    def test_missing_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            PcapWriter(tmp_path / "nowhere/frames.pcap")


@pytest.mark.parametrize("call, message", [
    (lambda w: PcapWriter(3), "path_or_file: got 3, must be a path or a binary file"),
    (lambda w: PcapWriter(w, "loud"), "dbm_full_scale: got 'loud', must be a number"),
    (lambda w: PcapWriter(w, math.nan), "dbm_full_scale: got nan, must be finite"),
    (lambda w: PcapWriter(w, patience=-1), "patience: got -1, allowed are 0 to 10^6 seconds"),
    (lambda w: PcapWriter(w, patience=math.nan), "patience: got nan, allowed are 0 to 10^6"),
    (lambda w: PcapWriter(w, patience="long"), "patience: got 'long', must be a number"),
    (lambda w: w.write(b"frame"), "frame: got bytes, must be a ReceivedFrame"),
    (lambda w: w.write(received(NonHT(6, 44)), time=-1), "time: got -1.0 and"),
    (lambda w: w.write(received(NonHT(6, 44)), time=math.nan), "time: got nan and"),
    (lambda w: w.write(received(NonHT(6, 44)), time="now"), "time: got 'now', must be a number"),
    (lambda w: w.write(received(NonHT(6, 44)), time=2**32), "time: got 4294967296.0 and"),
    (lambda w: w.write(received(NonHT(6, 44), antennas=257)), "level_dbfs: got 257 antennas"),
    (lambda w: w.write_pdu({}, "text"), "blob: got str, must be bytes"),
    (lambda w: w.write_pdu({}, bytes(262144)), "blob: got 262144 bytes, allowed are 0 to 2621"),
])
def test_refusals(tmp_path, call, message):
    with PcapWriter(tmp_path / "frames.pcap") as writer:
        with pytest.raises(ValueError) as caught:
            call(writer)
        assert str(caught.value).startswith(message)
        assert writer.records == 0 and not writer.closed
        writer.write(received(NonHT(6, 44)))
    assert numbers(tmp_path / "frames.pcap", "wlan.fcs.status") == [[1]]


FRAMES = [received(NonHT(54, 44), antennas=2), received(NonHT(9, 44), sample_rate=5e6),
          *map(received, HT_FRAMES), *map(received, VHT_FRAMES),
          received(HT(3, 200, aggregated=True), [mpdu_bytes(1), mpdu_bytes(2, fcs_ok=False)]),
          received(NonHT(6, 44), frequency=None), received(None)]


class TestPdus:
    def test_dictionary(self):
        frame = received(VHT(5, 20, group_id=7, partial_aid=8, beamformed=True),
                         [mpdu_bytes(1, 60), mpdu_bytes(2, fcs_ok=False)], antennas=2)
        (first, blob), (second, _) = frame_to_pdus(frame, 9)
        assert blob == mpdu_bytes(1, 60)[:-4]
        assert first == {
            "frame_bytes": 88, "snr": 30.0, "freq": 5180e6, "freq_offset": -1234.5, "dlt": 105,
            "format": "vht", "mcs": 5, "num_streams": 1, "stbc": 0, "bandwidth_mhz": 20.0,
            "short_gi": False, "coding": "bcc", "greenfield": False, "fcs_ok": True,
            "fcs": int.from_bytes(mpdu_bytes(1, 60)[-4:], "little"), "time": 2e-4, "start": 4000,
            "antenna_snr_db": (30.0, 30.0), "level_dbfs": (-20.0, -23.0),
            "noise_dbfs": (-50.0, -51.0), "ampdu_index": 0, "ampdu_count": 2,
            "ampdu_reference": 9, "group_id": 7, "partial_aid": 8, "beamformed": True,
            "extra_symbol": False}
        assert (second["ampdu_index"], second["fcs_ok"]) == (1, False)

    def test_encoding_is_that_of_gr_ieee802_11(self):
        # Its enumeration: BPSK 1/2, BPSK 3/4, QPSK 1/2, ... 64-QAM 3/4.
        encodings = [frame_to_pdus(received(NonHT(rate, 44)))[0][0]["encoding"]
                     for rate in (6, 9, 12, 18, 24, 36, 48, 54)]
        assert encodings == list(range(8))
        assert "encoding" not in frame_to_pdus(received(HT(0, 44)))[0][0]

    def test_every_key_that_gr_ieee802_11_has_is_there(self):
        """Its readers ask for numbers without saying what stands for none."""
        info = frame_to_pdus(received(NonHT(6, 44), frequency=None))[0][0]
        assert (info["freq"], type(info["freq"])) == (0.0, float)

    @pytest.mark.parametrize("frame", FRAMES, ids=lambda f: f.format.name if f.format else "none")
    def test_pmt_there_and_back(self, frame):
        for index, (info, blob) in enumerate(frame_to_pdus(frame, 3)):
            message = pmt.deserialize_str(pmt.serialize_str(wifi_pdus.to_pmt(info, blob)))
            assert wifi_pdus.from_pmt(message) == (info, blob)
            assert all(type(value) is KEYS[name] for name, value in info.items())
            assert Radio.from_pdu(wifi_pdus.from_pmt(message)[0]) \
                == Radio.from_frame(frame, index, 3)

    @pytest.mark.parametrize("frame", FRAMES, ids=lambda f: f.format.name if f.format else "none")
    def test_pmts_of_a_frame_are_those_of_its_pdus(self, frame):
        moment = pmt.make_tuple(pmt.from_uint64(7), pmt.from_double(0.5))
        extra = {"time": 7.5, "rx_time": moment}
        pdus = [(info | extra, blob) for info, blob in frame_to_pdus(frame, 3)]
        for bad_fcs in (True, False):
            wanted = [pdu for pdu in pdus if bad_fcs or pdu[0]["fcs_ok"]]
            made = wifi_pdus.frame_to_pmts(frame, 3, bad_fcs, **extra)
            for one, pdu in zip(made, wanted, strict=True):
                other = wifi_pdus.to_pmt(*pdu)
                assert pmt.equal(pmt.cdr(one), pmt.cdr(other))
                assert pmt.length(pmt.car(one)) == len(pdu[0])
                for key in map(pmt.intern, pdu[0]):
                    values = [pmt.dict_ref(pmt.car(told), key, pmt.PMT_NIL)
                              for told in (one, other)]
                    assert pmt.serialize_str(values[0]) == pmt.serialize_str(values[1])

    @pytest.mark.parametrize("size", [0, 1, 255, 256, 4095, 65536])
    def test_bytes_are_the_u8vector_that_gnu_radio_makes(self, size):
        blob = random.Random(size).randbytes(size)
        made = pmt.cdr(wifi_pdus.to_pmt({}, blob))
        assert pmt.is_u8vector(made) and pmt.equal(made, pmt.init_u8vector(size, list(blob)))
        assert bytes(pmt.u8vector_elements(made)) == blob

    def test_same_records_from_frames_and_pdus(self, tmp_path):
        direct, indirect = tmp_path / "direct.pcap", tmp_path / "indirect.pcap"
        references = 0
        with PcapWriter(direct) as one, PcapWriter(indirect) as other:
            for frame in FRAMES:
                one.write(frame, time=5)
                for info, blob in frame_to_pdus(frame, references):
                    other.write_pdu(info, blob, time=5)
                references += "ampdu_reference" in info
        assert direct.read_bytes() == indirect.read_bytes()
        assert len(numbers(direct, "wlan.seq")) == len(FRAMES) + 1

    def test_unsigned_keys_as_gr_ieee802_11_sends_them(self):
        message = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])
        for key in ("frame_bytes", "encoding"):
            assert pmt.is_uint64(pmt.dict_ref(pmt.car(message), pmt.intern(key), pmt.PMT_NIL))

    def test_pdu_of_gr_ieee802_11(self, tmp_path):
        # As its frame_equalizer and decode_mac make it.
        info = pmt.make_dict()
        for key, value in (("frame_bytes", pmt.from_uint64(68)), ("encoding", pmt.from_uint64(4)),
                           ("snr", pmt.from_double(21.5)), ("freq", pmt.from_double(5.89e9)),
                           ("freq_offset", pmt.from_double(100.0)), ("dlt", pmt.from_long(105))):
            info = pmt.dict_add(info, pmt.intern(key), value)
        body = mpdu_bytes(6)[:-4]
        path = tmp_path / "frames.pcap"
        with PcapWriter(path) as writer:
            writer.write_pdu(*wifi_pdus.from_pmt(
                pmt.cons(info, pmt.init_u8vector(len(body), list(body)))))
        assert numbers(path, "radiotap.datarate", "radiotap.channel.freq", "radiotap.flags.fcs",
                       "radiotap.flags.badfcs", "radiotap.present.tsft", "wlan.seq", "data.len") \
            == [[24, 5890, 0, 0, 0, 6, 36]]

    @pytest.mark.parametrize("info, message", [
        ({"dlt": 127}, "dlt: got 127, allowed are 105"),
        ({"format": "he"}, "mcs: got none, must be there where format is"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "format": "he"}, "format: got 'he'"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "mcs": 128}, "mcs: got 128"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "mcs": 16}, "mcs: got 16"),
        ({**frame_to_pdus(received(NonHT(6, 4)))[0][0], "mcs": 7}, "mcs: got 7"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "bandwidth_mhz": 80.0}, "bandwidth_mhz: got"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "bandwidth_mhz": 37.5}, "bandwidth_mhz: got"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "stbc": 4}, "stbc: got 4"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "num_streams": 0}, "num_streams: got 0"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "coding": "turbo"}, "coding: got 'turbo'"),
        ({**frame_to_pdus(received(HT(0, 44)))[0][0], "short_gi": 1}, "short_gi: got 1"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "group_id": 64}, "group_id: got 64"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "partial_aid": -1}, "partial_aid: got -1"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "ampdu_index": 1}, "ampdu index: got 1"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "ampdu_reference": 2**32}, "ampdu reference"),
        ({"bandwidth_mhz": math.nan}, "bandwidth_mhz: got nan"),
        ({"encoding": 8}, "encoding: got 8"), ({"fcs": -1}, "fcs: got -1"),
        ({"time": math.inf}, "time: got inf"), ({"time": 1e300}, "time: got 1e+300"),
        ({"freq": math.nan}, "frequency: got nan"), ({"level_dbfs": ("loud",)}, "level_dbfs: got"),
    ])
    def test_values_out_of_range(self, tmp_path, info, message):
        with PcapWriter(tmp_path / "frames.pcap") as writer:
            with pytest.raises(ValueError) as caught:
                writer.write_pdu(info, b"")
            assert str(caught.value).startswith(message)
            assert writer.records == 0
        assert (tmp_path / "frames.pcap").read_bytes() == HEADER

    @pytest.mark.parametrize("info, message", [
        ({"colour": 3}, "info: got the key 'colour', allowed are frame_bytes"),
        ({"mcs": "high"}, "mcs: got 'high'"), ({"level_dbfs": 3.0}, "level_dbfs: got 3.0"),
        ({"format": 3}, "format: got 3"), ({"fcs": None, "mcs": None, "freq": "x"}, "freq: got")])
    def test_to_pmt_refuses(self, info, message):
        with pytest.raises(ValueError) as caught:
            wifi_pdus.to_pmt(info, b"")
        assert str(caught.value).startswith(message)


def nested(depth):
    value = pmt.PMT_NIL
    for _ in range(depth):
        value = pmt.cons(value, pmt.PMT_NIL)
    return value


BYTES = pmt.init_u8vector(4, [1, 2, 3, 4])
GOOD = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])


def with_value(key, value):
    return pmt.cons(pmt.dict_add(pmt.car(GOOD), pmt.intern(key), value), pmt.cdr(GOOD))


HOSTILE = [
    pmt.PMT_NIL, pmt.PMT_T, pmt.intern("text"), pmt.from_long(1), BYTES, pmt.make_dict(),
    pmt.cons(pmt.PMT_NIL, pmt.PMT_NIL), pmt.cons(pmt.intern("key"), BYTES),
    pmt.cons(pmt.make_dict(), pmt.init_f32vector(2, [1.0, 2.0])),
    pmt.cons(pmt.cons(pmt.from_long(1), pmt.from_long(2)), BYTES),
    pmt.cons(pmt.list2(pmt.from_long(1), pmt.from_long(2)), BYTES), nested(1000),
    pmt.cons(pmt.make_dict(), nested(1000)), pmt.cons(nested(1000), BYTES),
    *(with_value(key, pmt.intern("text")) for key in KEYS if KEYS[key] is not str),
    *(with_value(key, pmt.from_complex(1j)) for key in KEYS),
    *(with_value(key, nested(1000)) for key in KEYS),
    *(with_value(key, pmt.from_long(-2**63)) for key in KEYS
      if key not in ("frame_bytes", "snr", "freq_offset", "time", "start", "group_id",
                     "partial_aid", "ampdu_index", "ampdu_count", "ampdu_reference", "encoding")),
    *(with_value(key, pmt.from_uint64(2**64 - 1)) for key in ("mcs", "fcs", "stbc", "dlt")),
    *(with_value(key, pmt.from_double(math.nan)) for key in ("time", "freq", "bandwidth_mhz")),
    with_value("time", pmt.from_double(1e300)),
    with_value("level_dbfs", pmt.init_f32vector(257, [1.0] * 257)),
    pmt.cons(pmt.car(GOOD), pmt.init_u8vector(300_000, [0] * 300_000))]


class Quiet(gr.basic_block):
    """A source of nothing: a flowgraph needs a connection."""

    def __init__(self):
        gr.basic_block.__init__(self, "quiet", None, None)
        self.message_port_register_out(pmt.intern("out"))


class Failing:
    """A file on a disk that is full after a number of writes."""

    def __init__(self, writes):
        self.writes = writes

    def write(self, data):
        self.writes -= 1
        if self.writes < 0:
            raise OSError(28, "No space left on device")


class TestBlock:
    def play(self, sink, messages):
        """Messages through the block; the flowgraph ends when all were taken."""
        graph, source = gr.top_block(), Quiet()
        graph.msg_connect(source, "out", sink, "in")
        graph.start()
        for message in messages:
            sink._post(pmt.intern("in"), message)
        # The sink ends with the sender of its messages.
        source._post(pmt.intern("system"), pmt.cons(pmt.intern("done"), pmt.from_long(1)))
        graph.wait()

    def messages(self, frames):
        return [wifi_pdus.to_pmt(info, blob) for number, frame in enumerate(frames)
                for info, blob in frame_to_pdus(frame, number)]

    def test_same_file_as_the_writer(self, tmp_path):
        frames = [frame for frame in FRAMES if frame.format and frame.format.aggregated]
        assert len(frames) > 5
        sink = mimopack.wifi_pcap_sink(str(tmp_path / "block.pcap"), dbm_full_scale=-10.0, time=7)
        self.play(sink, self.messages(frames[:3]))
        first = sink.records()
        with PcapWriter(tmp_path / "frames.pcap", dbm_full_scale=-10.0) as writer:
            for frame in frames[:3]:
                writer.write(frame, time=7)
            assert first == writer.records
            assert (tmp_path / "block.pcap").read_bytes() \
                == (tmp_path / "frames.pcap").read_bytes()
            for frame in frames[3:]:
                writer.write(frame, time=7)
        # Started again, it goes on.
        self.play(sink, self.messages(frames)[first:])
        sink.close()
        assert (tmp_path / "block.pcap").read_bytes() == (tmp_path / "frames.pcap").read_bytes()
        assert (sink.refused(), sink.lost()) == (0, 0)

    def test_hostile_messages(self, tmp_path, capfd):
        path = tmp_path / "block.pcap"
        sink = mimopack.wifi_pcap_sink(str(path))
        self.play(sink, [GOOD, *HOSTILE, GOOD])
        assert (sink.records(), sink.refused(), sink.lost()) == (2, len(HOSTILE), 0)
        assert "PDU left out: " in "".join(capfd.readouterr())
        assert numbers(path, "wlan.fcs.status") == [[1], [1]]

    def test_each_hostile_message_is_refused(self):
        class Nothing:
            def write(self, data):
                """Take it."""

        writer = PcapWriter(Nothing())
        for number, message in enumerate(HOSTILE):
            with pytest.raises(ValueError):
                writer.write_pdu(*wifi_pdus.from_pmt(message))
                pytest.fail(f"message {number} was taken")

    def test_pdu_without_time_gets_that_of_its_arrival(self, tmp_path):
        path = tmp_path / "block.pcap"
        sink = mimopack.wifi_pcap_sink(str(path), time=7)
        before = time.time()
        self.play(sink, [pmt.cons(pmt.PMT_NIL, pmt.cdr(GOOD)), GOOD])
        (arrived,), (sent,) = numbers(path, "frame.time_epoch")
        assert before - 1e-3 <= arrived <= time.time()
        assert sent == pytest.approx(7.0002, abs=1e-9)

    def test_disk_that_fills_up(self, capfd):
        sink = mimopack.wifi_pcap_sink(Failing(2))
        self.play(sink, [GOOD] * 4)
        assert (sink.records(), sink.refused(), sink.lost()) == (1, 0, 3)
        said = "".join(capfd.readouterr())
        assert said.count("the capture file ends here: [Errno 28] No space left on device") == 1

    def test_stops_while_the_reader_stands_still(self, tmp_path, capfd):
        path = tmp_path / "live.pcap"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDWR)
        sink = mimopack.wifi_pcap_sink(str(path))
        player = threading.Thread(target=self.play, args=(sink, [GOOD] * 2000), daemon=True)
        player.start()
        player.join(60)
        assert not player.is_alive()
        os.close(reader)
        assert sink.records() > 0 < sink.lost() == 2000 - sink.records()
        assert "PDU lost: " in "".join(capfd.readouterr())

    @pytest.mark.parametrize("arguments, error, message", [
        ({"path": "/dev/full"}, OSError, "No space left"),
        ({"path": "/nowhere/frames.pcap"}, FileNotFoundError, "nowhere"),
        ({"path": 3}, ValueError, "path_or_file: got 3"),
        ({"path": "/dev/null", "time": -1}, ValueError, "time: got -1, allowed are"),
        ({"path": "/dev/null", "time": "now"}, ValueError, "time: got 'now'"),
        ({"path": "/dev/null", "dbm_full_scale": math.inf}, ValueError, "dbm_full_scale: got inf"),
    ])
    def test_wrong_arguments(self, arguments, error, message):
        with pytest.raises(error, match=message):
            mimopack.wifi_pcap_sink(**arguments)

    def test_in_companion(self, companion, tmp_path):
        path = tmp_path / "companion.pcap"
        blocks = [block("strobe", "blocks_message_strobe", period="20", msg="pmt.PMT_NIL"),
                  block("sink", "mimopack_wifi_pcap_sink", path=str(path),
                        dbm_full_scale="-30.0", time="7.5")]
        script = companion.compiled(
            save(tmp_path, blocks, [["strobe", "strobe", "sink", "in"]]), tmp_path)
        assert "dbm_full_scale=(-30.0),\n            time=7.5)" in script.read_text()
        refused = [block("sink", "mimopack_wifi_pcap_sink", path=str(path), time="-1")]
        assert "0 <= time" in companion.refusals(save(tmp_path, refused, []), tmp_path)
