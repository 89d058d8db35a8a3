# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack sim``: bit and frame error rates over SNR."""

import os
import time
from contextlib import contextmanager

# Each simulation thread encodes with NumPy, so OpenBLAS needs no threads. The setting works only
# before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import click
import numpy as np

from .. import sim
from ..checks import MOST_THREADS
from ..constellation import BUILT_IN
from ..detectors import names as detector_names
from ..detectors.parameters import BACKENDS
from ..sim import channels, codes
from .interrupt import Interrupt
from .machine import describe, describe_gpu
from .options import BACKEND, FiniteRange, HeadedCommand, OutputFile, heading

DEFAULT_DETECTORS = ("mmse", "nway")
DEFAULT_SNRS = "8:24:4"

_SHARES = 1000    # steps of the progress bar


class _Values(click.ParamType):
    name = "FIRST:LAST:STEP"

    def convert(self, value, param, context):
        try:
            if ":" not in value:
                return [float(part) for part in value.split(",")]
            first, last, step = (float(part) for part in value.split(":"))
            if not 0 < step < np.inf or not 0 <= (last - first) / step < 10_000:
                raise ValueError
            count = int((last - first) / step + 1e-9) + 1
            return [round(first + i * step, 6) for i in range(count)]
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is neither FIRST:LAST:STEP nor numbers separated by commas",
                      param, context)


@contextmanager
def _progress(points, errors, max_frames, quiet):
    """Show a progress bar; yield the ``progress`` function for ``Simulation.run``, or None."""
    if quiet:
        yield None
        return
    shares = {}

    def describe_point(item):
        return item and "{} at {:g} dB: {} frames, {} wrong".format(*item)

    with click.progressbar(length=_SHARES, label="simulating",
                           item_show_func=describe_point) as bar:
        shown = 0

        def grown(detector, at_db, tally):
            nonlocal shown
            shares[detector, at_db] = min(1.0, max(tally.frame_errors / errors,
                                                   tally.frames / max_frames))
            now = int(_SHARES * sum(shares.values()) / points)
            bar.update(now - shown, (detector, at_db, tally.frames, tally.frame_errors))
            shown = now

        yield grown


def _simulate(simulation, run, at, errors, max_frames, seconds, quiet):
    """Run the simulation until its end or Ctrl-C.

    ``run`` describes the run in the file. Return None, or the OSError if the file cannot be
    written.
    """
    simulation.store.runs.append(run)
    start = time.perf_counter()
    points = len(at) * len(simulation.detectors)
    with Interrupt() as interrupt, _progress(points, errors, max_frames, quiet) as progress:
        try:
            try:
                with interrupt.allowed():
                    simulation.run(at, errors, max_frames, seconds, progress)
            except KeyboardInterrupt:
                pass
            run["seconds"] = round(time.perf_counter() - start, 3)
            simulation.store.write()
        except OSError as error:
            return error
    return None


def _table(rows):
    width = max(len(row["detector"]) for row in rows)
    yield (f"{'detector':<{width}} {'dB':>7} {'frames':>8} {'FER':>9} {'95 % interval':>20} "
           f"{'BER':>9} {'before dec.':>11}")
    for row in rows:
        low, high = row["fer_95"][-1]
        yield (f"{row['detector']:<{width}} {row['at_db']:>7g} {row['frames']:>8} "
               f"{row['fer'][-1]:>9.2e} {f'{low:.2e} {high:.2e}':>20} {row['ber'][-1]:>9.2e} "
               f"{row['ber_before_decoding']:>11.2e}{'' if row['complete'] else '  not complete'}")


_link = heading("Link")
_receiver = heading("Receiver")
_run = heading("Length of the run")
_machine = heading("Machine")
_output = heading("Output")


@click.command("sim", cls=HeadedCommand)
@_link("--code", default="none", show_default=True, metavar="NAME", help=f"{codes.allowed()}.")
@_link("--channel", default="rayleigh", show_default=True, metavar="NAME",
       help=f"{channels.ALLOWED}.")
@_link("--constellation", default="qam16", show_default=True, metavar="NAME",
       help=f"{', '.join(BUILT_IN)}.")
@_link("--num-tx", default=4, show_default=True, metavar="N", help="Transmit antennas.")
@_link("--num-rx", default=4, show_default=True, metavar="N", help="Receive antennas.")
@_link("--interleaver", type=click.Choice(["random", "none"]), default="random",
       show_default=True, help="Permutation of the coded bits of a frame.")
@_link("--snr", type=_Values(),
       help="SNR per receive antenna (num_tx / noise_var) in dB: FIRST:LAST:STEP, or values "
            f"separated by commas. Default: {DEFAULT_SNRS}.")
@_link("--ebn0", type=_Values(),
       help="Eb/N0 in dB instead of --snr. Eb is the energy of an information bit at all receive "
            "antennas.")
@_receiver("-d", "--detector", "names", multiple=True, metavar="NAME[:KEY=VALUE]",
           help=f"Detector: {', '.join(detector_names())}. Its parameters may follow, as in "
                "nway:num_passes=2, and parameters of the receiver for this detector only: "
                "iterations=, feedback_scale= and list_bits= (list decoder in the last pass). May "
                "be given several times; all detectors receive the same frames. Default: "
                f"{', '.join(DEFAULT_DETECTORS)}.")
@_receiver("--iterations", default=1, show_default=True, metavar="N",
           help="Passes of detector and decoder; 1 means no feedback.")
@_receiver("--decoder-iterations", default=20, show_default=True, metavar="N",
           help="Maximum number of decoder iterations in each pass.")
@_receiver("--feedback-scale", default=0.6, show_default=True, metavar="FACTOR",
           help="Factor of the LLRs that the decoder feeds back to the detector.")
@_receiver("--early-stop/--no-early-stop", default=True, show_default=True,
           help="Skip further passes for frames in which the decoder has found a codeword.")
@_run("--errors", default=100, show_default=True, type=click.IntRange(1), metavar="N",
      help="Frame errors that complete a point.")
@_run("--max-frames", default=100_000, show_default=True, type=click.IntRange(1), metavar="N",
      help="Frames that complete a point, however few are wrong.")
@_run("--seconds", type=FiniteRange(0, min_open=True), metavar="SECONDS",
      help="Stop after about this time.")
@_run("--seed", default=1, show_default=True, metavar="N",
      help="Seed of the random numbers; equal seeds give equal frames.")
@_machine("--backend", type=click.Choice(BACKENDS), default="cpu", show_default=True,
          metavar="NAME", help=f"Where the detectors run: {BACKEND}")
@_machine("--threads", default=0, show_default=True, type=click.IntRange(0, MOST_THREADS),
          metavar="N", help="CPU threads; 0 takes all cores.")
@_machine("--batch", type=click.IntRange(1, 2**20), metavar="N",
          help="Frames per call; default 64, on a GPU 1024. N does not affect the results.")
@_output("-o", "--output", type=OutputFile(),
         help="JSON file for the results. A further run continues it.")
@_output("--plot", type=OutputFile(), help="PNG file for the curves.")
@_output("-q", "--quiet", is_flag=True, help="No progress bar.")
def sim_command(names, snr, ebn0, iterations, decoder_iterations, feedback_scale, early_stop,
                errors, max_frames, seconds, backend, threads, batch, output, plot, quiet, **link):
    """Simulate bit and frame error rates over SNR.

    Without options, two detectors of uncoded 4x4 16-QAM are compared. Each detector has a point for
    each SNR. The point is complete after --errors wrong frames or --max-frames frames. All data are
    simulated; the receiver knows channel and noise variance. See docs/simulation.md.

    \b
    Example:
      mimopack sim -d mmse -d nway --code wifi:648:1/2 --snr 9:13:1 -o sim.json
    """
    if snr is not None and ebn0 is not None:
        raise click.UsageError("give either --snr or --ebn0")
    assumed = [f"-d {name}" for name in DEFAULT_DETECTORS if not names]
    if snr is None and ebn0 is None:
        assumed.append(f"--snr {DEFAULT_SNRS}")
        snr = _Values().convert(DEFAULT_SNRS, None, None)
    names, at = names or DEFAULT_DETECTORS, ebn0 if snr is None else snr
    try:
        machine = describe()
        if backend == "cuda":
            machine["gpu"] = describe_gpu()
        link = sim.Link(snr_kind="snr" if ebn0 is None else "ebn0", **link)
        simulation = sim.Simulation(link, names, iterations, decoder_iterations, feedback_scale,
                                    early_stop, output, backend, threads, batch)
        run = {"machine": machine, "backend": backend, "seconds": 0.0}
        with simulation.store.held():
            failure = _simulate(simulation, run, at, errors, max_frames, seconds, quiet)
    except (ValueError, ImportError, OSError) as error:
        raise click.UsageError(str(error)) from error
    rows = simulation.store.rows
    if assumed:
        click.echo(f"by default: {' '.join(assumed)} (mimopack sim --help lists all options)")
    click.echo(f"simulated: {link.num_tx}x{link.num_rx} {link.constellation}, code {link.code}, "
               f"channel {link.channel}; dB of "
               + ("SNR per receive antenna" if ebn0 is None else "Eb/N0"))
    for line in _table(rows) if rows else ():
        click.echo(line)
    if output and failure is None:
        click.echo(f"written: {output}")
    if not simulation.complete:
        click.echo("not complete" + (": run the same command to continue" if output else ""))
    if plot and rows:
        from . import curves

        try:
            curves.draw(rows, simulation.store.parameters, plot)
            click.echo(f"written: {plot}")
        except (ValueError, OSError) as error:
            failure = failure or error
    if failure is not None:
        raise click.ClickException(str(failure))
