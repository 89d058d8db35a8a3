#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate a recording of 802.11ax frames to two antennas, and write what the receiver finds in it.

There are an HE SU frame of two streams, an HE ER SU frame, an HE MU frame for three users, and a
Trigger frame with the HE TB frames of two stations. Each frame passes a new realisation of TDL-A of
3GPP TR 38.901. NAME.golden.json has the frames for tests to compare with.
"""

import json
from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import channel, recording, wifi
from gnuradio.mimopack.wifi import HE, HEMU, NonHT, mac

CARRIER = 5.18e9
LEVEL, SNR_DB, GAP, SIFS = 0.12, 33.0, 400, 320
HEADER = bytes.fromhex("08000000020000000002020000000001020000000001")
# LLC and SNAP with the Ethertype for local experiments, so that Wireshark does not guess.
LLC = bytes.fromhex("aaaa0300000088b5")
# A basic Trigger frame for stations 5 and 9 on the two RUs of 106 tones, until its UL Length: type,
# receiver, transmitter.
TRIGGER = bytes.fromhex("24000000ffffffffffff020000000001")


def data_mpdu(number, length):
    mpdu = HEADER + (number << 4).to_bytes(2, "little") + LLC
    mpdu += bytes((number * 37 + i) % 256 for i in range(length - len(mpdu)))
    return mpdu + mac.fcs(mpdu)


def trigger_mpdu(f, stations):
    """Return the Trigger frame for HE TB frames like f, of stations (AID, number of RU, MCS)."""
    def packed(*fields):
        bits = np.concatenate([value >> np.arange(size) & 1 for value, size in fields])
        return np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()

    # HE-LTFs of 4x with 3.2 us are type 2.
    body = TRIGGER + packed(
        (0, 4), (f.legacy_length, 12), (0, 4), (2, 2), (0, 12), (f.pre_fec_padding % 4, 2),
        (f.pe_disambiguity, 1), (0xFFFF, 16), (0, 1), (0x1FF, 9), (0, 1))
    for aid, unit, mcs in stations:
        body += packed((aid, 12), (0, 1), (unit, 7), (0, 1), (mcs, 4), (0, 7), (60, 7), (0, 1))
        body += bytes(1)
    return body + mac.fcs(body)


def frames():
    """Yield (format, MPDUs, samples on one or two antennas, gap before it)."""
    one, two = wifi.Transmitter(1), wifi.Transmitter(2)
    mpdus = [data_mpdu(1, 300), data_mpdu(2, 200)]
    f, sent = two.mpdu(lambda n: HE.of_length(7, n, 2, ltf=4, gi_us=3.2, coding="ldpc",
                                              bss_color=21), mpdus)
    yield f, mpdus, sent, GAP
    f, sent = one.mpdu(lambda n: HE.of_length(0, n, name="he-er-su", dcm=True, bss_color=21),
                       [data_mpdu(3, 40)])
    yield f, [data_mpdu(3, 40)], sent, GAP
    users = [{"sta_id": 17, "ru": (52, 1), "mcs": 4}, {"sta_id": 18, "ru": (52, 2), "mcs": 2},
             {"sta_id": 200, "ru": (106, 2), "mcs": 9, "coding": "ldpc"}]
    mpdus = [data_mpdu(4, 120), data_mpdu(5, 60), data_mpdu(6, 300)]
    f, psdus = wifi.pack_users(lambda lengths: HEMU.of_lengths(users, lengths, bss_color=21),
                               [[mpdu] for mpdu in mpdus])
    yield f, mpdus, one.frame(f, psdus), GAP
    mpdus = [data_mpdu(7, 130), data_mpdu(8, 110)]
    answers = [HE.of_length(3, 142, name="he-tb", ru=(106, i), ltf=4, gi_us=3.2, uplink=True,
                            bss_color=21) for i in (1, 2)]
    trigger = trigger_mpdu(answers[0], [(5, 53, 3), (9, 54, 3)])
    asking = NonHT(24, len(trigger))
    yield asking, [trigger], one.frame(asking, trigger), GAP
    yield answers[0], mpdus, sum(one.frame(f, mac.aggregate([mpdu], f.length))
                                 for f, mpdu in zip(answers, mpdus, strict=True)), SIFS


def simulate():
    """Return (samples (2, n), list of (start, format, MPDUs))."""
    rng, pieces, truth, at = np.random.default_rng(2026), [], [], 0
    for number, (f, mpdus, sent, gap) in enumerate(frames()):
        link = channel.MIMOChannel(len(sent), 2, "tdl_a", 50e-9, 20e6, cfo=20e3, seed=100 + number)
        burst = LEVEL * link.apply(sent)
        burst = burst[:, link.latency:f.num_samples + link.latency]
        pieces += [np.zeros((2, gap)), burst]
        truth.append((at + gap, f, mpdus))
        at += gap + burst.shape[1]
    samples = np.concatenate([*pieces, np.zeros((2, GAP))], axis=1)
    noise_var = LEVEL**2 * 10 ** (-SNR_DB / 10)
    return samples + channel.awgn(samples.shape[::-1], noise_var, rng).T, truth


@click.command()
@click.option("--output", type=click.Path(path_type=Path), show_default=True,
              default=Path(__file__).with_name("wifi_2rx_he"), help="Name without extension.")
def main(output):
    """Simulate the recording, write it as SigMF, and write the golden output."""
    samples, truth = simulate()
    writer = recording.Writer(
        output, 2, 20e6, datatype="ci16_le", frequency=CARRIER, overwrite=True,
        description=f"SIMULATED, not received over the air. Frames of IEEE 802.11ax, 20 MHz, to 2 "
                    f"antennas at {SNR_DB:g} dB SNR, each over a new realisation of TDL-A (3GPP TR "
                    "38.901, rms delay spread 50 ns), carrier offset 20 kHz.",
        fields={"core:author": "The gr-mimopack authors",
                "core:license": "https://www.gnu.org/licenses/gpl-3.0.html",
                "mimopack:simulated": True})
    with writer:
        writer.write(samples.astype(np.complex64))
        for start, f, mpdus in truth:
            recording.annotate_frame(writer, start, f.num_samples, mpdus, SNR_DB,
                                     label=f.describe(), format=f.name)
    reader = recording.Reader(output)
    receiver = wifi.Receiver(2, frequency=CARRIER)
    found = receiver.process(reader.read()) + receiver.finish()
    rows = [json.dumps({"start": frame.start, "format": frame.format.name,
                        "stations": [user.format.sta_id for user in frame.users],
                        "mpdus": [mpdu.data.hex() for mpdu in frame.mpdus]}) for frame in found]
    sent = [[mpdu.hex() for mpdu in mpdus] for _, _, mpdus in truth]
    if [json.loads(row)["mpdus"] for row in rows] != sent:
        raise click.ClickException("the receiver does not find what was sent")
    output.with_name(output.name + ".golden.json").write_text(
        "[\n " + ",\n ".join(rows) + "\n]\n", encoding="utf-8")
    click.echo(f"{writer.path}: {len(found)} frames, {samples.shape[1]} samples on 2 antennas, "
               f"{writer.clipped} values clipped")


if __name__ == "__main__":
    main()
