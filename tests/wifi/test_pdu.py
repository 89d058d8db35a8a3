# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Received frames as PDUs."""

import math
import struct

import pmt
import pytest
from gnuradio.mimopack.blocks import wifi_pdus
from gnuradio.mimopack.wifi.formats import HT, VHT, NonHT
from gnuradio.mimopack.wifi.pcap import PcapWriter
from gnuradio.mimopack.wifi.pdu import KEYS, frame_to_pdus
from tshark import numbers
from wifi_frames import FRAMES, mpdu_bytes, received

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 127)


class TestPdus:
    @pytest.mark.quick
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

    @pytest.mark.quick
    def test_encoding_is_that_of_gr_ieee802_11(self):
        # Its enumeration: BPSK 1/2, BPSK 3/4, QPSK 1/2, ... 64-QAM 3/4.
        encodings = [frame_to_pdus(received(NonHT(rate, 44)))[0][0]["encoding"]
                     for rate in (6, 9, 12, 18, 24, 36, 48, 54)]
        assert encodings == list(range(8))
        assert "encoding" not in frame_to_pdus(received(HT(0, 44)))[0][0]

    @pytest.mark.quick
    @pytest.mark.parametrize("frame", FRAMES, ids=lambda f: f.format.name if f.format else "none")
    def test_pmt_there_and_back(self, frame):
        for info, blob in frame_to_pdus(frame, 3):
            message = pmt.deserialize_str(pmt.serialize_str(wifi_pdus.to_pmt(info, blob)))
            assert wifi_pdus.from_pmt(message) == (info, blob)
            assert all(type(value) is KEYS[name] for name, value in info.items())

    @pytest.mark.quick
    @pytest.mark.parametrize("frame", FRAMES, ids=lambda f: f.format.name if f.format else "none")
    def test_pmts_of_a_frame_are_those_of_its_pdus(self, frame):
        moment = pmt.make_tuple(pmt.from_uint64(7), pmt.from_double(0.5))
        extra = {"time": 7.5, "rx_time": moment}
        pdus = [(info | extra, blob) for info, blob in frame_to_pdus(frame, 3)]
        for bad_fcs in (True, False):
            wanted = [pdu for pdu in pdus if bad_fcs or pdu[0]["fcs_ok"]]
            made = wifi_pdus.frame_to_pmts(frame, 3, bad_fcs, (7, 0.5))
            for one, pdu in zip(made, wanted, strict=True):
                other = wifi_pdus.to_pmt(*pdu)
                assert pmt.equal(pmt.cdr(one), pmt.cdr(other))
                assert pmt.length(pmt.car(one)) == len(pdu[0])
                for key in map(pmt.intern, pdu[0]):
                    values = [pmt.dict_ref(pmt.car(told), key, pmt.PMT_NIL)
                              for told in (one, other)]
                    assert pmt.serialize_str(values[0]) == pmt.serialize_str(values[1])

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

    @pytest.mark.parametrize("unknown", [None, math.nan])
    def test_unknown_values(self, tmp_path, unknown):
        frame = received(HT(0, 44), snr_db=unknown, cfo_hz=unknown, frequency=unknown)
        (info, _), = frame_to_pdus(frame)
        assert not {"snr", "freq_offset"} & set(info) and info["freq"] == 0.0
        assert [frame.facts()[name] for name in ("snr_db", "cfo_hz", "frequency")] == 3 * [None]
        with PcapWriter(tmp_path / "frames.pcap") as writer:
            writer.write(frame)
            assert writer.records == 1

    def test_unsigned_keys_as_gr_ieee802_11_sends_them(self):
        message = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])
        for key in ("frame_bytes", "encoding"):
            assert pmt.is_uint64(pmt.dict_ref(pmt.car(message), pmt.intern(key), pmt.PMT_NIL))

    def test_pdu_of_gr_ieee802_11(self, tmp_path):
        # As its blocks frame_equalizer and decode_mac make it.
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
        ({"format": "ht"}, "mcs: the key is missing, must be present if format is"),
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
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "ampdu_index": 1}, "ampdu_index: got 1"),
        ({**frame_to_pdus(received(VHT(0, 4)))[0][0], "ampdu_reference": 2**32}, "ampdu_reference"),
        ({"bandwidth_mhz": math.nan}, "bandwidth_mhz: got nan"),
        ({"encoding": 8}, "encoding: got 8"), ({"fcs": -1}, "fcs: got -1"),
        ({"time": math.inf}, "time: got inf"), ({"time": 1e300}, "time: got 1e+300"),
        ({"freq": math.nan}, "freq: got nan"), ({"snr": math.nan}, "snr: got nan"),
        ({"freq_offset": math.inf}, "freq_offset: got inf"),
        ({"level_dbfs": ("loud",)}, "level_dbfs: got"),
    ])
    def test_values_out_of_range(self, tmp_path, info, message):
        with PcapWriter(tmp_path / "frames.pcap") as writer:
            with pytest.raises(ValueError) as caught:
                writer.write_pdu(info, b"")
            assert str(caught.value).startswith(message)
            assert writer.records == 0
        assert (tmp_path / "frames.pcap").read_bytes() == HEADER

    @pytest.mark.parametrize("info, message", [
        ({"colour": 3}, "info: got the key 'colour', allowed are start"),
        ({"mcs": "high"}, "mcs: got 'high'"), ({"level_dbfs": 3.0}, "level_dbfs: got 3.0"),
        ({"format": 3}, "format: got 3"), ({"fcs": None, "mcs": None, "freq": "x"}, "freq: got")])
    def test_to_pmt_refuses(self, info, message):
        with pytest.raises(ValueError) as caught:
            wifi_pdus.to_pmt(info, b"")
        assert str(caught.value).startswith(message)
