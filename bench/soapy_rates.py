#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the speed of the SoapySDR driver of soapy/ with four channels.

    bench/soapy_rates.py [--seconds 3] [--rounds 5] [--output FILE.json]

SOAPY_SDR_PLUGIN_PATH must name the driver's folder. A recording of random samples is written to a
temporary folder, so that it lies in the page cache. Each row has samples per second of each channel
by the wall clock (``samples_per_s``) and by processor time (``samples_per_core_s``), which other
programs on the machine hardly change. Rows are:

- readStream: one thread reads the recording as fast as it can, for each format of the file and of
  the samples that are read;
- gr-soapy: GNU Radio's source and null sinks, as fast as they can, and in real time. In real time
  ``overflows`` counts the gaps that the source tags;
- loopback: one thread reads at 20 MS/s what the driver returns, with nothing transmitted or with a
  transmission all the time.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import SoapySDR
from gnuradio import blocks, gr, soapy
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps.machine import describe
from gnuradio.mimopack.text import json_rows

CHANNELS, RATE, LENGTH = 4, 20e6, 4_000_000
FILES = ("ci16_le", "cf32_le", "ci8")
KINDS = {SoapySDR.SOAPY_SDR_CF32: (np.complex64, 1), SoapySDR.SOAPY_SDR_CS16: (np.int16, 2)}


def radio(arguments, kind):
    """Return (device, active stream, arrays for a read)."""
    device = SoapySDR.Device(f"driver=mimopack,{arguments}")
    stream = device.setupStream(SoapySDR.SOAPY_SDR_RX, kind, list(range(CHANNELS)))
    device.activateStream(stream)
    dtype, width = KINDS[kind]
    return device, stream, list(np.zeros((CHANNELS, width * device.getStreamMTU(stream)), dtype))


def read(device, stream, arrays, width):
    """Read once; return the number of samples of each channel."""
    result = device.readStream(stream, arrays, len(arrays[0]) // width, 0, 1_000_000)
    if result.ret < 0 and result.ret != SoapySDR.SOAPY_SDR_OVERFLOW:
        raise RuntimeError(f"readStream: {SoapySDR.errToStr(result.ret)}")
    return max(result.ret, 0)


def row_of(case, samples, wall, processor, **more):
    return {"case": case, "samples_per_s": samples / wall,
            "samples_per_core_s": samples / processor, "cores": processor / wall} | more


def read_file(path, kind, seconds):
    """Read a recording as fast as possible."""
    device, stream, arrays = radio(f"recording={path},repeat=1,speed=0", kind)
    width, samples = KINDS[kind][1], 0
    begun, processor = time.perf_counter(), time.process_time()
    while (wall := time.perf_counter() - begun) < seconds:
        samples += read(device, stream, arrays, width)
    processor = time.process_time() - processor
    device.closeStream(stream)
    return row_of(f"readStream {kind} {path.name}", samples, wall, processor)


def flowgraph(path, speed, seconds):
    """Run gr-soapy's source into null sinks."""
    top = gr.top_block()
    source = soapy.source("driver=mimopack", "fc32", CHANNELS,
                          f"recording={path},repeat=1,speed={speed}", "", [""], [""])
    sinks = [blocks.null_sink(gr.sizeof_gr_complex) for _ in range(CHANNELS)]
    tags = blocks.tag_debug(gr.sizeof_gr_complex, "", "rx_time")
    tags.set_display(False)
    tags.set_save_all(True)
    for port, sink in enumerate(sinks):
        top.connect((source, port), sink)
    top.connect((source, 0), tags)
    begun, processor = time.perf_counter(), time.process_time()
    top.start()
    time.sleep(seconds)
    samples, wall = sinks[0].nitems_read(0), time.perf_counter() - begun
    processor = time.process_time() - processor
    top.stop()
    top.wait()
    # The first tag tells the time of the start.
    return row_of(f"gr-soapy speed={speed}", samples, wall, processor,
                  overflows=len(tags.current_tags()) - 1)


def loopback(case, arguments, transmits, seconds):
    """Read at 20 MS/s, and write as many samples if asked to."""
    arguments = f"{arguments},channels={CHANNELS},rate={RATE:.0f},serial={case}"
    kind = SoapySDR.SOAPY_SDR_CF32
    device, stream, arrays = radio(arguments, kind)
    if transmits:
        sent = device.setupStream(SoapySDR.SOAPY_SDR_TX, kind, list(range(CHANNELS)))
        device.activateStream(sent)
        out = list(np.random.default_rng(1).normal(
            0, 0.1, (CHANNELS, 2 * len(arrays[0]))).astype(np.float32).view(np.complex64))
        for _ in range(3):    # stays ahead of the clock
            device.writeStream(sent, out, len(out[0]), 0, 0, 1_000_000)
    samples = lost = 0
    begun, processor = time.perf_counter(), time.process_time()
    while (wall := time.perf_counter() - begun) < seconds:
        count = read(device, stream, arrays, 1)
        samples += count
        if transmits and count:
            wrote = device.writeStream(sent, [one[:count] for one in out], count, 0, 0, 1_000_000)
            lost += count - max(wrote.ret, 0)
    processor = time.process_time() - processor
    device.closeStream(stream)
    if transmits:
        device.closeStream(sent)
    return row_of(f"loopback {case}", samples, wall, processor, not_sent=lost)


def measure(folder, seconds):
    """Measure one round; return the rows."""
    rows = [read_file(folder / datatype, kind, seconds) for kind in KINDS for datatype in FILES]
    rows += [flowgraph(folder / "ci16_le", speed, seconds) for speed in (0, 1)]
    moving = "cfo_hz=1000,snr_db=30"
    return rows + [
        loopback("idle", "loopback=identity", False, seconds),
        loopback("identity", f"loopback=identity,{moving}", True, seconds),
        loopback("rayleigh", f"loopback=rayleigh,taps=3,{moving}", True, seconds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each case and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if not SoapySDR.Device.enumerate("driver=mimopack"):
        parser.error("SoapySDR does not find the driver mimopack: SOAPY_SDR_PLUGIN_PATH must name "
                     "its folder")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = np.random.default_rng(1).uniform(-0.7, 0.7, (CHANNELS, LENGTH, 2))
        samples = parts.astype(np.float32).view(np.complex64)[..., 0]
        for datatype in FILES:
            recording.write(folder / datatype, samples, RATE, datatype=datatype, frequency=5.18e9,
                            description="SIMULATED")
        del parts, samples
        rounds = [measure(folder, arguments.seconds) for _ in range(arguments.rounds)]
    rows = []
    for same in zip(*rounds, strict=True):
        row = {key: statistics.median(one[key] for one in same)
               for key in same[0] if key != "case"}
        # The worst round counts: a median would hide it.
        row |= {key: max(one[key] for one in same) for key in ("overflows", "not_sent")
                if key in row}
        rows.append({"case": same[0]["case"]} | row)
        print(f"{rows[-1]['case']:<28} {row['samples_per_s'] / 1e6:>7.1f} MS/s, "
              f"{row['samples_per_core_s'] / 1e6:>7.1f} MS/s per core, {row['cores']:.2f} cores",
              *(f", {key}: {row[key]}" for key in ("overflows", "not_sent") if key in row))
    if arguments.output:
        arguments.output.write_text(json_rows(
            {"what": "SoapySDR driver, samples per second of each channel (simulated)",
             "machine": describe(), "channels": CHANNELS, "seconds": arguments.seconds,
             "rounds": arguments.rounds, "results": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
