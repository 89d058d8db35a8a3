# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""radio_source in GNU Radio Companion: a flowgraph compiles and receives, bad parameters do not."""

import runpy

import numpy as np
import soapy_driver as driver
from flowgraphs import block, run, save
from gnuradio.mimopack import recording


def flowgraph(folder, **parameters):
    """Return blocks and connections: three antennas of the driver into files."""
    path = recording.write(folder / "air", driver.ramp(3) / 2**16, 20e6, frequency=5.18e9)
    settings = {"device": f"driver=mimopack,recording={path}", "frequency": "frequency",
                "num_rx": "3", "sample_rate": "20e6", "gain": "gain",
                "antenna_names": '["RX"] * 3', "clock_source": '"external"', **parameters}
    blocks = [block("frequency", "variable", value="5.18e9"), block("gain", "variable", value="30"),
              block("radio", "mimopack_radio_source", **settings)]
    connections = []
    for port in map(str, range(3)):
        blocks += [block(f"head_{port}", "blocks_head", type="complex", num_items="20000"),
                   block(f"sink_{port}", "blocks_file_sink", type="complex",
                         file=str(folder / port))]
        connections += [["radio", port, f"head_{port}", "0"],
                        [f"head_{port}", "0", f"sink_{port}", "0"]]
    return blocks, connections


def test_a_compiled_flowgraph_receives(companion, tmp_path):
    script = companion.compiled(save(tmp_path, *flowgraph(tmp_path)), tmp_path)
    made = script.read_text()
    assert "self.radio.control.set_frequency(self.frequency)" in made
    assert "self.radio.control.set_gain(self.gain)" in made
    run(script, tmp_path)
    for port in range(3):
        np.testing.assert_array_equal(
            np.fromfile(tmp_path / str(port), np.complex64),
            (driver.ramp(3)[port, :20000] / 2**16).astype(np.complex64))


def test_a_refused_value_of_a_variable_is_only_logged(companion, tmp_path, capfd):
    """An exception in the slot of a slider would end the process."""
    script = companion.compiled(save(tmp_path, *flowgraph(tmp_path)), tmp_path)
    graph = runpy.run_path(str(script))["generated"]()
    graph.set_gain(100)
    graph.set_frequency(-1)
    graph.set_gain("loud")
    assert graph.radio.refused_settings() == 3
    assert graph.radio.gain() == (30,) and graph.radio.frequency() == 5.18e9
    assert graph.radio.source.get_gain(2) == 30
    assert ("setting refused: gain: got 100 dB, the device has 0 to 80 dB"
            in capfd.readouterr().out)
    graph.set_gain(31)
    assert graph.radio.gain() == (31,)


def test_companion_refuses(companion, tmp_path):
    refusals = companion.refusals(save(tmp_path, *flowgraph(
        tmp_path, device="serial=F5", frequency="-1.0", bandwidth="0")), tmp_path)
    for said in ("'driver=' in device", "frequency > 0", "bandwidth > 0"):
        assert said in refusals
