#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate the Wi-Fi recording of the examples: HT frames of four streams to four antennas.

Each frame passes a new realisation of the channel: TDL-A of 3GPP TR 38.901 with correlated
antennas. The MPDUs are data frames with ascending sequence numbers. Their payloads are random,
after the Ethertype for local experiments. Each frame has an annotation with its SNR, format and
MPDU. Equal options give equal bytes on machines of the same type.
"""

from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import channel, recording, wifi
from gnuradio.mimopack.wifi import mac

CARRIER = 5.18e9
# Largest standard deviation of a receive antenna's signal, as a share of full scale. The peaks of
# OFDM with fading then stay below 1.
LEVEL = 0.12
SHORTEST_GAP, LONGEST_GAP = 300, 700
HEADER = bytes.fromhex("08000000020000000002020000000001020000000001")
# LLC and SNAP with the Ethertype for local experiments, so that Wireshark does not guess.
LLC = bytes.fromhex("aaaa0300000088b5")


def simulate(frames, snrs, seed, mcs, coding, num_rx, delay_spread, correlation, cfo, length):
    """Simulate frames with idle noise between them.

    Args:
        frames: number of frames, divided evenly between the SNRs, in random order.
        snrs: mean SNRs per receive antenna in dB.
        mcs, coding: MCS and coding of the HT format.
        length: bytes of an MPDU without its frame check sequence.

    Returns:
        (samples (num_rx, n) complex64, list of (start, format, MPDU, snr_db) for each frame).
    """
    rng = np.random.default_rng(seed)
    num_tx = wifi.HT(mcs, length).num_streams
    transmitter = wifi.Transmitter(num_tx)
    link = channel.MIMOChannel(
        num_tx, num_rx, "tdl_a", delay_spread, 20e6, rho_tx=correlation, rho_rx=correlation,
        cfo=cfo, sampling_offset=1e6 * cfo / CARRIER, seed=rng.integers(2**32))
    noise_var = LEVEL**2 * 10 ** (-max(snrs) / 10)
    pieces, truth, at = [], [], 0
    for number, snr in enumerate(rng.permutation(np.resize(snrs, frames))):
        gap = int(rng.integers(SHORTEST_GAP, LONGEST_GAP))
        mpdu = HEADER + (number << 4).to_bytes(2, "little") + LLC
        mpdu += rng.bytes(length - len(mpdu))
        mpdu += mac.fcs(mpdu)
        found, sent = transmitter.mpdu(lambda n: wifi.HT(mcs, n, coding=coding), [mpdu],
                                       number % 127 + 1)
        link.renew()
        burst = link.apply(sent) * np.sqrt(noise_var * 10 ** (snr / 10))
        pieces += [np.zeros((num_rx, gap)), burst]
        truth.append((at + gap + link.latency, found, mpdu, float(snr)))
        at += gap + burst.shape[1]
    samples = np.concatenate([*pieces, np.zeros((num_rx, SHORTEST_GAP))], axis=1)
    return samples + channel.awgn(samples.shape[::-1], noise_var, rng).T, truth


@click.command()
@click.option("--output", type=click.Path(path_type=Path), show_default=True,
              default=Path(__file__).with_name("wifi_4x4_ht"), help="Name without extension.")
@click.option("--frames", default=80, show_default=True, help="Number of frames.")
@click.option("--snr", "snrs", multiple=True, default=(18.0, 21.0, 24.0, 27.0),
              show_default=True, help="SNR per receive antenna in dB; may be given several times.")
@click.option("--mcs", default=28, show_default=True, help="HT MCS; 28 is 16-QAM 3/4, 4 streams.")
@click.option("--coding", type=click.Choice(["bcc", "ldpc"]), default="bcc", show_default=True)
@click.option("--seed", default=2026, show_default=True)
@click.option("--delay-spread", default=50e-9, show_default=True, help="rms, in seconds.")
@click.option("--correlation", default=0.5, show_default=True,
              help="Correlation between neighbouring antennas, at both ends.")
@click.option("--cfo", default=40e3, show_default=True, help="Carrier offset in Hz.")
@click.option("--num-rx", default=4, show_default=True, help="Receive antennas.")
@click.option("--length", default=500, show_default=True, help="Bytes of an MPDU.")
@click.option("--overwrite", is_flag=True, help="Replace a recording of this name.")
def main(output, frames, snrs, mcs, coding, seed, delay_spread, correlation, cfo, num_rx, length,
         overwrite):
    """Simulate a recording and write it as SigMF; annotations describe the transmitted frames."""
    samples, truth = simulate(frames, snrs, seed, mcs, coding, num_rx, delay_spread, correlation,
                              cfo, length)
    listed = ", ".join(f"{snr:g}" for snr in snrs)
    description = (
        f"SIMULATED, not received over the air. {frames} frames of IEEE 802.11n (HT MCS {mcs}, "
        f"{coding.upper()}, 20 MHz) to {num_rx} antennas at {listed} dB SNR per receive antenna, "
        f"each over a new realisation of TDL-A (3GPP TR 38.901, rms delay spread "
        f"{delay_spread * 1e9:g} ns, antenna correlation {correlation:g} at both ends), carrier "
        f"offset {cfo:g} Hz, sampling offset {1e6 * cfo / CARRIER:.3f} ppm, seed {seed}.")
    fields = {"core:author": "The gr-mimopack authors",
              "core:license": "https://www.gnu.org/licenses/gpl-3.0.html",
              "mimopack:simulated": True}
    output.parent.mkdir(parents=True, exist_ok=True)
    data = output.with_name(output.name + ".sigmf-data")
    if not (data.exists() and data.stat().st_size):
        overwrite = True    # metadata without samples is not worth keeping
    try:
        writer = recording.Writer(output, num_rx, 20e6, datatype="ci16_le", frequency=CARRIER,
                                  description=description, fields=fields, overwrite=overwrite)
    except FileExistsError as error:
        raise click.ClickException(f"{error} (--overwrite, or another --output)") from error
    with writer:
        writer.write(samples.astype(np.complex64))
        for start, found, mpdu, snr_db in truth:
            recording.annotate_frame(
                writer, start, found.num_samples, [mpdu], snr_db,
                label=f"{found.describe()}, {snr_db:g} dB", format=found.name, mcs=found.mcs,
                num_streams=found.num_streams, coding=found.coding)
    click.echo(f"{writer.path}: {frames} frames, {samples.shape[1]} samples on {num_rx} antennas, "
               f"{writer.clipped} values clipped")


if __name__ == "__main__":
    main()
