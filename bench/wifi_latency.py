#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the latency of the Wi-Fi receiver, from a frame's last sample at the antenna to its PDU.

    bench/wifi_latency.py [--case NAME[=THREADS] ...] [--airtime 100] [--packets 363,2040,10000]
        [--seconds 20] [--threads 1] [--output FILE.json]

The flowgraph is like that of `mimopack wifi --radio`: gr-soapy's source, wifi_receiver, and a block
in C++ that takes its PDUs. A block in Python would slow down the receiver. The radio is the
SoapySDR driver of soapy/, whose folder SOAPY_SDR_PLUGIN_PATH must name. It plays a simulated
recording in a loop and in real time. Its clock is set to the host's clock, so time stamps tell when
a sample was taken. The latency of a frame ends when the handler of the block gets the PDU. It
includes the wait for the packet with the frame's last sample, which is half a packet on average.

--packets is the number of samples per antenna in one transfer of the radio. UHD's defaults are
about 360 over Ethernet with an MTU of 1500 bytes, 2000 over 10 GbE, and 2040 for a B210 over USB 3.
10000 is half a millisecond.

The loads are frames of several formats at 10 % airtime, and loads of bench/wifi.py. The frames of
the latter follow each other at 16 us, or less often if --airtime is below 100 %. Noise alone has no
latency; it shows whether the receiver keeps up. If samples were lost or dropped, the machine did
not keep up, and the latency is that of its buffers. The first two seconds are not counted. "others"
is the number of cores that other processes used meanwhile. It should be near 0.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import wifi as loads
import wifi_real_time
from gnuradio import gr, mimopack, soapy
from gnuradio.mimopack import _runtime, recording
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows
from gnuradio.mimopack.wifi import Receiver

WARM_UP = 2.0
FREQUENCY = 5.18e9
OUTPUT_BUFFER = 1 << 20    # samples, of the source, as in the command
MIXED = {"10 % airtime, 1 antenna": 1, "10 % airtime, 2 antennas": 2, "10 % airtime, 4 antennas": 4}
NOISE = ("noise, 1 antenna", "noise, 2 antennas", "noise, 4 antennas")
FULL = ("non-HT 54", "HT MCS 15", "HT MCS 27", "HT MCS 31", "VHT MCS 9, 80 MHz")


def cases(airtimes):
    """Return {name: function that makes (samples (antennas, n), sample rate)}."""
    makers = {name: lambda antennas=antennas: (wifi_real_time.mixed(antennas)[0], 20e6)
              for name, antennas in MIXED.items()}
    makers |= {name: lambda case=loads.CASES[name]: (loads.simulate(case, 100), case.sample_rate)
               for name in NOISE}
    for name in FULL:
        for airtime in airtimes:
            makers[f"{name}, {airtime} % of full load"] = (
                lambda case=loads.CASES[name], airtime=airtime: full(case, airtime))
    return makers


def full(case, airtime):
    """Return samples with the given percentage of the airtime at full load, and their rate."""
    frame = loads.simulate(case, 1, gap_s=0).shape[1] / case.sample_rate
    gap = (frame + loads.GAP) * 100 / airtime - frame
    return loads.simulate(case, 100, gap_s=gap), case.sample_rate


def frames_of(samples, rate):
    """Return the first samples of all frames in a recording, and their lengths, as arrays."""
    receiver = Receiver(len(samples), rate)
    frames = receiver.process(samples) + receiver.finish()
    if not all(frame.complete for frame in frames):
        raise RuntimeError("not all frames of the recording decode")
    return (np.array([frame.start for frame in frames]),
            np.array([frame.num_samples for frame in frames]))


def busy():
    """Return the CPU seconds of all processes on all cores."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, soft_irq, steal = map(int, fields[:8])
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def clock_offset(source, tries=200):
    """Return (ns by which the device's clock is ahead of the host's, uncertainty in ns)."""
    best = None
    for _ in range(tries):
        before = time.monotonic_ns()
        device = source.get_hardware_time("")
        after = time.monotonic_ns()
        if best is None or after - before < best[1]:
            best = device - (before + after) // 2, after - before
    return best[0], best[1] // 2


def measure(path, samples, rate, packet, seconds, threads):
    """Return the results of one run as a dictionary."""
    starts, lengths = frames_of(samples, rate)
    antennas = len(samples)
    top = gr.top_block()
    source = soapy.source(
        "driver=mimopack", "fc32", antennas, f"recording={path},repeat=1,packet={packet}",
        "", [""], [""])
    source.set_min_output_buffer(OUTPUT_BUFFER)
    source.set_hardware_time(time.monotonic_ns(), "")
    offset, uncertainty = clock_offset(source)
    receiver = mimopack.wifi_receiver(antennas, rate, FREQUENCY, backend="cpu", threads=threads,
                                      overload="drop")
    arrivals, statuses = _runtime.arrivals(), []
    receiver.listen(lambda frame, when: None, statuses.append)
    for port in range(antennas):
        top.connect((source, port), (receiver, port))
    top.msg_connect(receiver, "out", arrivals, "in")
    top.start()
    time.sleep(WARM_UP)
    others, begun = busy() - time.process_time(), time.monotonic()
    time.sleep(seconds)
    others = max(0.0, busy() - time.process_time() - others) / (time.monotonic() - begun)
    top.stop()
    top.wait()
    counts = receiver.counts()
    noted = arrivals.take()
    noted = noted[noted[:, 0] > WARM_UP * rate]
    latency = np.empty(0)
    if len(noted):
        # Positions in the repeated recording, each within a few samples of a frame's start.
        places = noted[:, 0] % samples.shape[1]
        nearest = np.abs(places[:, None] - starts).argmin(axis=1)
        last = noted[:, 1] - offset + (lengths[nearest] - 1) * 1e9 / rate
        latency = (noted[:, 2] - last) * 1e-6
    whole = [status for status in statuses[1:-1] if status["seconds"] > 0.5]
    expected = len(starts) * (counts["samples"] / samples.shape[1])
    return {
        "packet": packet, "packet_ms": 1e3 * packet / rate, "pdus": len(latency),
        **dict(zip(("median_ms", "p99_ms", "max_ms"),
                   np.percentile(latency, (50, 99, 100)) if len(latency) else [None] * 3,
                   strict=True)),
        "load": float(np.mean([status["load"] for status in whole])),
        "decoded_share": counts["decoded"] / expected if expected else None,
        **{name: counts[name] for name in ("samples", "lost", "dropped", "failures")},
        "clock_uncertainty_us": uncertainty / 1e3, "others_cores": others,
        "load_average": os.getloadavg()[0]}


def line(row):
    """Return a row of the results as a line of text."""
    frames = ""
    if row["pdus"]:
        frames = (f"median {row['median_ms']:6.2f} ms, 99 % {row['p99_ms']:6.2f} ms, "
                  f"largest {row['max_ms']:6.2f} ms; {row['pdus']} PDUs, "
                  f"{100 * row['decoded_share']:.2f} % of the frames, ")
    return (f"{row['case']:<30} packets of {row['packet']:>5}: {frames}load {row['load']:.2f}, "
            f"lost {row['lost']}, dropped {row['dropped']} of {row['samples']} samples, "
            f"others {row['others_cores']:.2f} cores")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", metavar="NAME[=THREADS]",
                        help="loads whose name contains this; may be given several times")
    parser.add_argument("--airtime", default="100", help="percent of full load, such as 25,50,100")
    parser.add_argument("--packets", default="363,2040,10000", help="samples per transfer")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    packets, airtimes = ([int(word) for word in text.split(",")]
                         for text in (arguments.packets, arguments.airtime))
    results, before = [], os.getloadavg()
    for name, make in cases(airtimes).items():
        wanted = [case.partition("=") for case in arguments.case or [""]]
        wanted = [threads for case, _, threads in wanted if case in name]
        if not wanted:
            continue
        threads = int(wanted[0] or arguments.threads)
        samples, rate = make()
        with tempfile.TemporaryDirectory() as folder:
            peak = np.abs(samples.view(np.float32)).max()
            path = recording.write(Path(folder) / "air", samples * np.float32(0.9 / peak), rate,
                                   frequency=FREQUENCY, datatype="ci16_le",
                                   description="SIMULATED")
            samples = recording.Reader(path).read()
            for packet in packets:
                row = {"case": name, "threads": threads, "antennas": len(samples),
                       "sample_rate": rate,
                       **measure(path, samples, rate, packet, arguments.seconds, threads)}
                results.append(row)
                print(line(row), flush=True)
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "Wi-Fi receiver behind gr-soapy, latency from a frame's last sample to its "
                     "PDU; simulated recordings, the SoapySDR driver mimopack in real time",
             "machine": describe(), "detector": Receiver().detector,
             "threads": arguments.threads, "cores": len(os.sched_getaffinity(0)),
             "seconds": arguments.seconds,
             "load_average_before": before, "load_average_after": os.getloadavg(),
             "gap_s": loads.GAP, "results": results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
