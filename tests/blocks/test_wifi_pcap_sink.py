# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block wifi_pcap_sink: written files, and files that cannot be written."""

import math
import os
import threading
import time

import pmt
import pytest
from flowgraphs import block, save
from gnuradio import gr, mimopack
from gnuradio.mimopack.blocks import wifi_pdus
from gnuradio.mimopack.wifi.pcap import PcapWriter
from gnuradio.mimopack.wifi.pdu import frame_to_pdus
from tshark import numbers
from wifi_frames import FRAMES

GOOD = wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])


class Quiet(gr.basic_block):
    """A source without output, because a flowgraph needs a connection."""

    def __init__(self):
        gr.basic_block.__init__(self, "quiet", None, None)
        self.message_port_register_out(pmt.intern("out"))


class TestBlock:
    def play(self, sink, messages):
        """Send messages through the block; the flowgraph ends after the last one."""
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

    @pytest.mark.quick
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
        # After a restart, the block continues the file.
        self.play(sink, self.messages(frames)[first:])
        sink.close()
        assert (tmp_path / "block.pcap").read_bytes() == (tmp_path / "frames.pcap").read_bytes()
        assert (sink.refused(), sink.lost()) == (0, 0)

    def test_pdu_without_time_gets_that_of_its_arrival(self, tmp_path):
        path = tmp_path / "block.pcap"
        sink = mimopack.wifi_pcap_sink(str(path), time=7)
        before = time.time()
        self.play(sink, [pmt.cons(pmt.PMT_NIL, pmt.cdr(GOOD)), GOOD])
        (arrived,), (sent,) = numbers(path, "frame.time_epoch")
        assert before - 1e-3 <= arrived <= time.time()
        assert sent == pytest.approx(7.0002, abs=1e-9)

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
