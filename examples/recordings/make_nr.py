#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate a recording of 5G NR slots: PUSCH of two users on the same PRBs, to two antennas.

Each user passes its own realisation of TDL-A of 3GPP TR 38.901. NAME.json describes what was sent,
as the command mimopack nr takes it; its key tb_sent has the transport blocks for tests to compare
with.
"""

import json
from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import channel, nr, recording

SLOTS = [4, 5, 6, 7]
LEVEL, SNR_DB, OFFSET_HZ, BEFORE, AFTER = 0.12, 10.5, 250.0, 900, 100
CONFIG = {
    "carrier": {"n_cell_id": 77, "subcarrier_spacing_khz": 30, "n_size_grid": 12},
    "pusch": {"num_layers": 1},
    "dmrs": {"additional_position": 1},
    "users": [{"n_rnti": 4601, "dmrs_ports": [0], "mcs": {"index": 15}},
              {"n_rnti": 4602, "dmrs_ports": [1], "mcs": {"index": 10}}],
    "slot_numbers": SLOTS,
}


def simulate():
    """Return (samples (2, n), sample rate, [transport blocks of each user])."""
    rng, received, sent = np.random.default_rng(2026), 0, []
    for number, user in enumerate(nr.load_users(CONFIG)):
        transmitter, rate = nr.PuschTransmitter(user), nr.Ofdm(user.carrier).sample_rate
        bits = rng.integers(0, 2, (len(SLOTS), transmitter.tb_size), np.uint8)
        link = channel.MIMOChannel(1, 2, "tdl_a", 100e-9, rate, doppler=10, cfo=OFFSET_HZ,
                                   seed=30 + number)
        samples = np.pad(transmitter.samples(bits, SLOTS[0]), ((0, 0), (BEFORE, AFTER)))
        received = received + link.apply(samples)[:, link.latency:][:, :samples.shape[1]]
        sent.append([row.tobytes().hex() for row in np.packbits(bits, axis=1)])
    noise = channel.awgn(received.shape[::-1], 10 ** (-SNR_DB / 10), rng).T
    return LEVEL * (received + noise), rate, sent


@click.command()
@click.option("--output", type=click.Path(path_type=Path), show_default=True,
              default=Path(__file__).with_name("nr_2rx"), help="Name without extension.")
def main(output):
    """Simulate the recording, and write it as SigMF with the description of what was sent."""
    samples, rate, sent = simulate()
    path = recording.write(
        output, samples.astype(np.complex64), rate, datatype="ci16_le", overwrite=True,
        description="SIMULATED, not received over the air. 5G NR PUSCH of two users on the same 12 "
                    f"PRBs to 2 antennas at {SNR_DB:g} dB SNR per user and resource element, each "
                    "over TDL-A (3GPP TR 38.901, rms delay spread 100 ns), carrier offset "
                    f"{OFFSET_HZ:g} Hz.",
        fields={"core:author": "The gr-mimopack authors",
                "core:license": "https://www.gnu.org/licenses/gpl-3.0.html",
                "mimopack:simulated": True})
    output.with_name(output.name + ".json").write_text(
        json.dumps(CONFIG | {"tb_sent": sent}, indent=1) + "\n", encoding="utf-8")
    click.echo(f"{path}: {samples.shape[1]} samples on 2 antennas")


if __name__ == "__main__":
    main()
