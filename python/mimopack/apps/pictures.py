# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of a recording: constellations, channels, LLRs. Drawn without a display.

Layers and antennas are counted from 0, as ports and LLRs are.
"""

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

from .. import constellation as constellations
from ..ofdm.waveform import DATA_CARRIERS

_BLUE, _ORANGE, _GREY = "#1f6fb4", "#d95f02", "#8a8a8a"
STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
          "axes.spines.right": False, "figure.dpi": 110, "savefig.bbox": "tight"}


def draw(tallies, parameters, folder):
    """Draw all pictures from the first frames that each ``Tally`` kept; returns their paths."""
    frame = _best_frame(next(tally.kept for tally in tallies if tally.kept))
    paths = [folder / name for name in ("constellation.png", "channel.png", "llr.png")]
    with plt.rc_context(STYLE):
        for path, figure in zip(paths, (_constellation(frame, parameters), _channel(frame),
                                        _llrs(tallies)), strict=True):
            figure.savefig(path)
            plt.close(figure)
    return paths


def _best_frame(frames):
    """The frame whose layers come apart best: SNR high, condition number low."""
    def quality(frame):
        information = frame.information
        value = information["snr_db"] - information["condition_db"]
        return value if np.isfinite(value) else -np.inf

    return max(frames, key=quality)


def _describe(frame):
    information = frame.information
    return (f"frame {information['frame']} at sample {information['start']}, "
            f"SNR {information['snr_db']:.1f} dB, condition {information['condition_db']:.1f} dB")


def equalise(y, h, noise_var):
    """Unbiased MMSE estimates of the layers.

    x_hat = diag(1 / b) W y with W = (H^H H + noise_var I)^-1 H^H and b = diag(W H).

    Args:
        y: (n, nr), h: (n, nr, nt), noise_var: scalar.

    Returns:
        (n, nt) complex128.
    """
    hermitian = h.conj().transpose(0, 2, 1).astype(np.complex128)
    gram = hermitian @ h
    regular = gram + noise_var * np.eye(gram.shape[1])
    filtered = np.linalg.solve(regular, hermitian @ y[..., None])[..., 0]
    bias = np.einsum("nii->ni", np.linalg.solve(regular, gram)).real
    return filtered / bias


def _constellation(frame, parameters):
    constellation = constellations.get(parameters.constellation)
    points = constellation.points
    layers = equalise(frame.y, frame.h, frame.information["noise_var"])
    # Without the truth the nearest point stands for what was sent, which flatters the error.
    sent = (constellation.modulate(frame.bits) if frame.bits is not None
            else points[np.argmin(np.abs(layers[..., None] - points), axis=-1)])
    evm = np.sqrt(np.mean(np.abs(layers - sent) ** 2, axis=0))
    figure, axes = plt.subplots(1, len(evm), figsize=(2.9 * len(evm), 3.3), squeeze=False,
                                sharex=True, sharey=True, layout="constrained")
    limit = 1.6 * np.abs(np.concatenate([points.real, points.imag])).max()
    for index, (axis, layer) in enumerate(zip(axes[0], layers.T, strict=True)):
        axis.plot(layer.real, layer.imag, ".", markersize=3, alpha=0.6, color=_BLUE)
        axis.plot(points.real, points.imag, "+", markersize=7, color=_ORANGE)
        axis.set_title(f"layer {index}, EVM {100 * evm[index]:.0f} %")
        axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xlabel="in-phase")
    axes[0, 0].set_ylabel("quadrature")
    figure.suptitle("Received constellation, MMSE equalised, of the frame that comes apart best\n"
                    f"({_describe(frame)})")
    return figure


def _channel(frame):
    h = frame.h[:len(DATA_CARRIERS)]
    decibels = 20 * np.log10(np.maximum(np.abs(h), 1e-12))
    # Shown against the mean power of all pairs: the receiver's gain is not known.
    decibels -= 10 * np.log10(np.mean(np.abs(h) ** 2))
    num_rx, num_tx = h.shape[1:]
    figure, axes = plt.subplots(num_rx, num_tx, figsize=(2.2 * num_tx + 0.8, 1.6 * num_rx + 0.6),
                                squeeze=False, sharex=True, sharey=True, layout="constrained")
    for i in range(num_rx):
        for j in range(num_tx):
            axes[i, j].plot(DATA_CARRIERS, decibels[:, i, j], ".-", markersize=2.5, linewidth=1,
                            color=_BLUE)
            axes[i, j].axhline(0, color=_GREY, linewidth=0.8)
    axes[0, 0].set_ylim(max(decibels.min() - 3, -45), decibels.max() + 3)
    for j in range(num_tx):
        axes[0, j].set_title(f"from transmit antenna {j}")
        axes[-1, j].set_xlabel("subcarrier")
    for i in range(num_rx):
        axes[i, 0].set_ylabel(f"to receive {i}\n|H|, dB")
    figure.suptitle(f"|H| over the data subcarriers, against its mean: {_describe(frame)}")
    return figure


def _llrs(tallies):
    tallies = [tally for tally in tallies if tally.kept]
    values = [np.concatenate([frame.llr.ravel() for frame in tally.kept]) for tally in tallies]
    # The middle is where detectors differ: the strongest LLRs would squeeze it into a line.
    limit = max(float(np.quantile(np.abs(llr), 0.8)) for llr in values) or 1.0
    edges = np.linspace(-limit, limit, 81)
    figure, axes = plt.subplots(1, len(tallies), figsize=(2.9 * len(tallies) + 0.5, 3.3),
                                squeeze=False, sharex=True, sharey=True, layout="constrained")
    for axis, tally, llr in zip(axes[0], tallies, values, strict=True):
        share = np.full(llr.size, 100 / llr.size)
        if all(frame.bits is not None for frame in tally.kept):
            bits = np.concatenate([frame.bits.ravel() for frame in tally.kept])
            for bit, colour in ((0, _BLUE), (1, _ORANGE)):
                axis.hist(llr[bits == bit], edges, weights=share[bits == bit], color=colour,
                          histtype="stepfilled", alpha=0.5, label=f"{bit} sent")
            axis.set_title(f"{tally.detector}: {100 * np.mean((llr > 0) != bits):.2f} % of signs "
                           "wrong")
        else:
            axis.hist(llr, edges, weights=share, histtype="stepfilled", alpha=0.6, color=_GREY)
            axis.set_title(tally.detector)
        axis.set(yscale="log", xlim=(-limit, limit), xlabel="LLR, ln P(1)/P(0)")
    axes[0, 0].set_ylabel("% of all bits")
    if axes[0, 0].get_legend_handles_labels()[0]:
        axes[0, 0].legend(loc="upper left", fontsize=8, handlelength=1)
    frames = max(len(tally.kept) for tally in tallies)
    figure.suptitle(f"LLRs of the first {frames} frames (the strongest lie outside)")
    return figure
