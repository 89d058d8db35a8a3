# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi receiver with detectors on a GPU gives the same frames as on the CPU."""

import numpy as np
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.wifi import HT, VHT
from wifi_air import air, data_mpdu, frames_in

pytestmark = pytest.mark.gpu

FRAMES = [(lambda n: HT(27, n), [data_mpdu(300, 1)]),
          (lambda n: HT(31, n, coding="ldpc"), [data_mpdu(300, 2)]),
          (lambda n: HT(13, n, stbc=1), [data_mpdu(300, 3)]),
          (lambda n: HT(8, n), [data_mpdu(300, 4)]),
          (lambda n: VHT.of_length(7, n, 3), [data_mpdu(300, 5), data_mpdu(90, 6)])]


def rayleigh(num_rx, num_tx, rng):
    """Return a random matrix that needs a real detector."""
    return (rng.standard_normal((num_rx, num_tx))
            + 1j * rng.standard_normal((num_rx, num_tx))) / np.sqrt(2)


@pytest.mark.parametrize("iterations", [1, 3])
def test_the_same_frames(iterations):
    samples, sent = air(FRAMES * 4, 4, snr_db=27, channel=rayleigh)
    cpu = frames_in(samples, backend="cpu", iterations=iterations)
    gpu = frames_in(samples, backend="cuda", iterations=iterations)
    assert len(cpu) == len(gpu) == len(sent)
    assert sum(frame.fcs_ok for frame in cpu) > len(sent) / 2
    assert [frame.psdu for frame in cpu if frame.fcs_ok] == [
        frame.psdu for frame in gpu if frame.fcs_ok]


def test_flowgraph():
    samples, sent = air(FRAMES * 4, 4, snr_db=40)
    top = gr.top_block()
    receiver = mimopack.wifi_receiver(num_rx=4, backend="cuda")
    sources = [blocks.vector_source_c(row.tolist()) for row in samples]
    for port, source in enumerate(sources):
        top.connect(source, (receiver, port))
    store = blocks.message_debug()
    top.msg_connect(receiver, "out", store, "store")
    top.run()
    assert receiver.counts()["decoded"] == len(sent)
    assert receiver.failures() == 0
    assert store.num_messages() == sum(len(frame.mpdus) for frame in sent)
