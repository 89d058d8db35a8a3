# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tshark and scapy read capture files: every field of every format; and FIFOs."""

import contextlib
import itertools
import math
import os
import struct
import threading
from dataclasses import replace

import pytest
from gnuradio.mimopack.wifi.formats import BY_NAME, EHT, HE, HT, VHT, VHTMU, NonHT
from gnuradio.mimopack.wifi.pcap import PcapWriter, radiotap
from gnuradio.mimopack.wifi.pdu import of_format
from tshark import numbers, tshark
from wifi_frames import HE_FRAMES, HT_FRAMES, VHT_FRAMES, mpdu_bytes, received

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 127)


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


def test_every_field_of_ht(tmp_path):
    # Wireshark takes frames at the same time for parts of one A-MPDU with one rate.
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
        # Wireshark 4.0 shows 6.2 instead of 6 Mbit/s for MCS 32.
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
        # tshark has the same name for "extra symbol known" and "extra symbol".
        assert row == [
            1, 1, 1, 0, 0, bool(f.stbc), f.short_gi, f.beamformed, [1, f.extra_symbol],
            {20: 0, 40: 1, 80: 4, 160: 11}[f.bandwidth_mhz], f.num_streams,
            f.num_space_time_streams, f.mcs, f.coding == "ldpc", f.group_id,
            f.partial_aid, 1, 1, f.short_gi, 0, 0, 1, 8], f
    rates = numbers(path, "wlan_radio.data_rate")
    for f, (rate,) in zip(VHT_FRAMES, rates, strict=True):
        assert rate == pytest.approx(f.rate_mbps, abs=0.06), f


def test_every_field_of_he(tmp_path):
    path = written(tmp_path, *(received(f, start=20_000 * i) for i, f in enumerate(HE_FRAMES)))
    first = ["ppdu_format", "bss_color_known", "ul_dl_known", "data_mcs_known", "data_dcm_known",
             "coding_known", "ldpc_extra_symbol_segment_known", "stbc_known",
             "spatial_reuse_1_known", "data_bw_ru_allocation_known", "doppler_known"]
    names = [*(f"data_1.{name}" for name in first), "data_2.gi_known", "data_2.txbf_known",
             "data_2.txop_known", "data_2.midamble_periodicity_known", "data_3.bss_color",
             "data_3.ul_dl", "data_3.data_mcs", "data_3.data_dcm", "data_3.coding",
             "data_3.ldpc_extra_symbol_segment", "data_3.stbc", "data_5.data_bw_ru_allocation",
             "data_5.gi", "data_5.ltf_symbol_size", "txbf", "data_6.nsts", "data_6.doppler_value",
             "data_6.txop_value", "data_6.midamble_periodicity"]
    rows = numbers(path, *(f"radiotap.he.{name}" for name in names), "radiotap.present.vht",
                   "wlan_radio.phy", "wlan.fcs.status")
    for f, row in zip(HE_FRAMES, rows, strict=True):
        part = f.ru.size if f.ru.size < 242 else 0
        assert row == [
            ("he-su", "he-er-su", "he-mu", "he-tb").index(f.name), *[1] * 14, f.bss_color,
            f.uplink, f.mcs, f.dcm, f.coding == "ldpc", f.extra_symbol, f.stbc,
            {0: 0, 26: 4, 52: 5, 106: 6}[part], {0.8: 0, 1.6: 1, 3.2: 2}[f.gi_us],
            {1: 1, 2: 2, 4: 3}[f.ltf], f.beamformed, f.num_space_time_streams, f.doppler, f.txop,
            f.midamble == 20, 0, 11, 1], f


def test_one_file_has_all_formats(tmp_path):
    vht_mu = VHTMU.of_lengths([{"mcs": 5}, {"mcs": 3}], [100, 100]).users[0]
    frames = [NonHT(6, 44), HT(11, 44), VHT(9, 20, 2, bandwidth_mhz=160), vht_mu,
              HE(5, 20), HE(2, 20, name="he-er-su"), HE(1, 20, name="he-mu", num_sig_b=1),
              HE(7, 20, name="he-tb", ltf=4, gi_us=3.2, uplink=True),
              EHT(13, 20, 2, coding="ldpc", bandwidth_mhz=160)]
    assert [f.name for f in frames] == list(BY_NAME)
    path = written(tmp_path, *(received(f, [mpdu_bytes(i)], start=20_000 * i)
                               for i, f in enumerate(frames)))
    rows = numbers(path, "wlan.seq", "wlan_radio.phy", "radiotap.channel.freq", "wlan.fcs.status")
    # tshark 4.0 knows no field of EHT frames, and takes 802.11a from the frequency.
    assert rows == [[i, phy, 5180, 1]
                    for i, phy in enumerate((5, 7, 8, 8, 11, 11, 11, 11, 5))]


def test_what_users_of_an_he_mu_frame_share(tmp_path):
    shared = {"name": "he-mu", "num_sig_b": 5, "sig_b_mcs": 3, "sig_b_dcm": True}
    frames = [HE(9, 10, ru=(52, 3), sta_id=1025, sig_b_compressed=False, ru_allocation="24",
                 coding="ldpc", **shared),
              HE(2, 10, bandwidth_mhz=80, ru=(106, 8), sta_id=7, sig_b_compressed=False,
                 ru_allocation="1 200 255 96", **shared),
              HE(1, 10, bandwidth_mhz=160, ru=(26, 74), sta_id=8, sig_b_compressed=False,
                 ru_allocation="0 1 2 3 4 5 6 7", **shared),
              HE(4, 10, sta_id=9, sig_b_compressed=True, **shared),
              HE(7, 10, name="he-tb", ltf=4, gi_us=3.2, ru=(26, 9), uplink=True, sta_id=33)]
    path = written(tmp_path, *(received(f, start=20_000 * i) for i, f in enumerate(frames)))
    names = ["he.data_1.spatial_reuse_2_known", "he.data_4.sta_id_user", "he.data_3.data_mcs",
             "he.data_2.ru_allocation_offseti_known", "he.data_2.ru_allocation_offset",
             "he.data_5.data_bw_ru_allocation", "present.he_mu", "he_mu.sig_b_mcs",
             "he_mu.sig_b_mcs_known", "he_mu.sig_b_dcm", "he_mu.sig_b_dmc_known",
             "he_mu.sig_b_compression_known", "he_mu.sig_b_compression",
             "he_mu.symbol_cnt_or_user_cnt_known", "he_mu.sig_b_syms_or_mu_mimo_users",
             "he_mu.bw_from_sig_a_known", "he_mu.bw_from_sig_a",
             "he_mu.chan1_rus_known", "he_mu.chan2_rus_known",
             *(f"he_mu.chan{channel}_rus_{i}_index" for channel in (1, 2) for i in range(2))]
    rows = numbers(path, *(f"radiotap.{name}" for name in names), "wlan.fcs.status")
    assert rows == [
        [1, 1025, 9, 1, 2, 5, 1, 3, 1, 1, 1, 1, 0, 1, 4, 1, 0, 1, None, 24, 0, None, None, 1],
        [1, 7, 2, 1, 7, 6, 1, 3, 1, 1, 1, 1, 0, 1, 4, 1, 2, 1, 1, 1, 255, 200, 96, 1],
        [1, 8, 1, 0, 0, 4, 1, 3, 1, 1, 1, 1, 0, 1, 4, 1, 3, 1, 1, 0, 2, 1, 3, 1],
        [1, 9, 4, 0, 0, 0, 1, 3, 1, 1, 1, 1, 1, *[None] * 2, 1, 0, *[None] * 6, 1],
        [0, None, 7, 1, 8, 4, 0, *[None] * 16, 1]]


def test_users_have_their_own_headers(tmp_path):
    users = [received(HE(mcs, 10, name="he-mu", ru=ru, num_sig_b=3), [mpdu_bytes(i)] * 2)
             for i, (mcs, ru) in enumerate(((1, (106, 1)), (7, (52, 3))))]
    both = replace(users[0], users=tuple(users), mpdus=users[0].mpdus + users[1].mpdus)
    path = written(tmp_path, both, received(VHT(1, 5), start=50_000))
    rows = numbers(path, "radiotap.he.data_3.data_mcs", "radiotap.ampdu.reference")
    assert rows == [[1, 0], [1, 0], [7, 1], [7, 1], [None, 2]]


def test_users_of_a_vht_frame_have_their_place_in_the_group(tmp_path):
    f = VHTMU.of_lengths([{"mcs": 5}, {"mcs": 3, "num_streams": 2, "coding": "ldpc",
                                       "user_position": 2}], [100, 100], group_id=9)
    users = [received(user, [mpdu_bytes(i)]) for i, user in enumerate(f.users)]
    both = replace(users[0], users=tuple(users), mpdus=users[0].mpdus + users[1].mpdus)
    path = written(tmp_path, both)
    rows = numbers(path, *(f"radiotap.vht.{name}.{i}" for i in (0, 2)
                           for name in ("nss", "mcs", "coding")), "radiotap.vht.gid")
    assert rows == [[1, 5, 0, None, None, None, 9], [None, None, None, 2, 3, 1, 9]]


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
    # First the antenna with the strongest signal, then all antennas in order.
    assert rows == [[[-4, -20, -4, -30], [-60, -50, -60, -55], [0, 1, 2], 1],
                    [[-20, -20], -60, [0, 1], 1], [None, None, [0, 1], 1],
                    [None, -60, 0, 1], [None, None, None, 1],
                    [[127, -128, 127], [127, -128, 127], [0, 1], 1]]
    words = tshark(path, "radiotap.present.word")
    assert [len(row[0]) for row in words] == [4, 3, 3, 1, 1, 3]
    path = written(tmp_path, frames[0], dbm_full_scale=-27.5)
    assert numbers(path, "radiotap.dbm_antsignal", "radiotap.dbm_antnoise") == [
        [[-31, -48, -31, -58], [-88, -78, -88, -82]]]


def test_every_set_of_fields_is_aligned(tmp_path):
    # Each combination of fields moves the later fields.
    choices = itertools.product(
        ({}, {"time": 1.5}), ({}, {"freq": 5180e6}), (None, "non-ht", "ht", "vht"),
        ({}, {"ampdu_reference": 70000, "ampdu_index": 1, "ampdu_count": 2}),
        ((), (-40.0,), (-40.0, -40.0), (-40.0,) * 3), (False, True))
    infos = []
    for time, frequency, fmt, ampdu, levels, short in choices:
        info = time | frequency | ampdu | {"level_dbfs": levels, "noise_dbfs": levels[:1],
                                           "short_gi": short}
        if fmt:
            info |= {"format": fmt, "mcs": 3 if fmt == "ht" else 9, "bandwidth_mhz": 20.0,
                     "num_streams": 1, "stbc": 0, "coding": "bcc", "greenfield": False,
                     "group_id": 33, "partial_aid": 259}
        infos.append(info)
    path = tmp_path / "frames.pcap"
    with path.open("wb") as file:
        file.write(HEADER)
        for info in infos:
            data = radiotap(info) + mpdu_bytes()[:-4]
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)
    rows = numbers(path, "radiotap.mactime", "radiotap.channel.freq", "radiotap.datarate",
                   "radiotap.mcs.index", "radiotap.vht.mcs.0", "radiotap.vht.paid",
                   "radiotap.ampdu.reference", "radiotap.antenna", "radiotap.flags.shortgi",
                   "wlan.seq")
    assert len(rows) == 256
    for info, row in zip(infos, rows, strict=True):
        antennas, fmt = [float(i) for i in range(len(info["level_dbfs"]))], info.get("format")
        assert row == [
            1.5e6 if "time" in info else None, 5180 if "freq" in info else None,
            # tshark shows the rate of an MCS under the same name.
            {"non-ht": 9, "ht": 28.8889 if info["short_gi"] else 26}.get(fmt),
            3 if fmt == "ht" else None, *((9, 259) if fmt == "vht" else (None, None)),
            info.get("ampdu_reference"),
            antennas[0] if len(antennas) == 1 else antennas or None, info["short_gi"], 0], info


def test_time_keeps_nanoseconds(tmp_path):
    path = tmp_path / "frames.pcap"
    with PcapWriter(path) as writer:
        writer.write(received(NonHT(6, 44), start=3), time=1_700_000_000.25)
        writer.write(received(NonHT(6, 44), start=20_000_000 * 100_000 + 1), time=1_700_000_000)
        writer.write(received(NonHT(6, 44), start=-7))
    assert [row[0][0] for row in tshark(path, "frame.time_epoch")] == [
        "1700000000.250000150", "1700100000.000000050", "0.000000000"]
    assert [row[0] for row in numbers(path, "radiotap.mactime")] == [0, 1e11, 0]


class TestFiles:
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

    @pytest.mark.parametrize("size", [1500, 10000])    # a pipe takes up to 4096 bytes atomically
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
                    assert "live.pcap: the reader has stalled" in str(error)
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


_HE_MU = of_format(HE(1, 10, name="he-mu", ru=(26, 5), num_sig_b=3), 1)


@pytest.mark.parametrize("call, message", [
    (lambda w: PcapWriter(3), "path_or_file: got 3, must be a path or a binary file"),
    (lambda w: PcapWriter(w, "loud"), "dbm_full_scale: got 'loud', must be a number"),
    (lambda w: PcapWriter(w, math.nan), "dbm_full_scale: got nan, must be finite"),
    (lambda w: PcapWriter(w, patience=-1), "patience: got -1, allowed are 0 to 10^6 seconds"),
    (lambda w: PcapWriter(w, patience=math.nan), "patience: got nan, allowed are 0 to 10^6"),
    (lambda w: PcapWriter(w, patience="long"), "patience: got 'long', must be a number"),
    (lambda w: w.write(b"frame"), "frame: got bytes, must be a ReceivedFrame"),
    (lambda w: w.write(received(NonHT(6, 44)), time=-1), "time: got -1.0 plus"),
    (lambda w: w.write(received(NonHT(6, 44)), time=math.nan), "time: got nan plus"),
    (lambda w: w.write(received(NonHT(6, 44)), time="now"), "time: got 'now', must be a number"),
    (lambda w: w.write(received(NonHT(6, 44)), time=2**32), "time: got 4294967296.0 plus"),
    (lambda w: w.write(received(NonHT(6, 44), antennas=257)), "antenna_snr_db: got 257 antennas"),
    (lambda w: w.write_pdu({**_HE_MU, "ru": "big"}, b""), "ru: got 'big', must be such as"),
    (lambda w: w.write_pdu({**_HE_MU, "ru_allocation": "1 256"}, b""),
     "ru_allocation: got '1 256'"),
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
