# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record from a radio that loses samples: gr-soapy's source with the driver in soapy/."""

import numpy as np
import soapy_driver as driver
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import recording
from gnuradio.mimopack.recording.timeline import between


def test_what_a_radio_loses_is_a_gap_in_the_recording(tmp_path):
    air = recording.write(tmp_path / "air", driver.ramp(4) / 2**17, driver.RATE, frequency=5.18e9)
    top = gr.top_block()
    source = driver.soapy.source(
        "driver=mimopack", "fc32", 4, f"recording={air},speed=0,overflow_at=5000:0.02s,"
        "overflow_samples=700", "", [""], [""])
    # The rate and frequency differ from the radio's; its tags must win.
    sink = mimopack.sigmf_multichannel_sink(str(tmp_path / "r"), 4, sample_rate=20e6,
                                            frequency=2.4e9)
    heads = [blocks.head(gr.sizeof_gr_complex, 40_000) for _ in range(4)]
    for port, head in enumerate(heads):
        top.connect((source, port), head, (sink, port))
    driver.run(top, lambda: sink.counts()["samples"] == 40_000)
    reader = recording.Reader(tmp_path / "r", verify=True)
    assert (reader.num_samples, reader.sample_rate) == (40_000, driver.RATE)
    kept = np.r_[0:5000, 5700:20000, 20700:41400]
    assert np.array_equal(reader.read(), (driver.ramp(4)[:, kept] / 2**17).astype(np.complex64))
    first = reader.segments[0].time
    assert [(one.start, one.frequency, round(between(first, one.time) * driver.RATE))
            for one in reader.segments] == [
        (0, 5.18e9, 0), (5000, 5.18e9, 5700), (19_300, 5.18e9, 20_700)]
    assert (sink.counts()["gaps"], sink.counts()["lost"]) == (2, 1400)
