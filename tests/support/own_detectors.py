# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors of a user in plain Python, and a package that declares one."""

import numpy as np
from gnuradio.mimopack import constellation


class OwnZf:
    """Zero forcing with max-log LLRs. Does what ZF does."""

    name = "own_zf"

    def __init__(self, num_tx, num_rx, points, scale=1.0):
        self.num_tx, self.num_rx = num_tx, num_rx
        self.constellation, self.scale = constellation.get(points), scale

    def detect(self, y, h, noise_var):
        h = np.repeat(h, len(y) // len(h), axis=0).astype(complex)
        inverse = np.linalg.inv(h.conj().swapaxes(1, 2) @ h)
        x = inverse @ h.conj().swapaxes(1, 2) @ y[:, :, None]
        noise = noise_var[:, None] * np.einsum("nii->ni", inverse).real
        metric = abs(x - self.constellation.points)**2 / noise[:, :, None]
        ones = self.constellation.bits.T == 1
        llr = np.stack([metric[:, :, ~one].min(2) - metric[:, :, one].min(2) for one in ones], 2)
        return self.scale * llr.reshape(len(y), -1)


class OwnPrior(OwnZf):
    """The same, with a-priori LLRs added to the result."""

    name = "own_prior"

    def detect(self, y, h, noise_var, prior=None):
        llr = OwnZf.detect(self, y, h, noise_var)
        return llr if prior is None else llr + prior


class OwnLoud(OwnZf):
    """A detector that fails at its work."""

    name = "own_loud"

    def detect(self, y, h, noise_var):
        raise ArithmeticError("too loud")


def install(folder, entries, modules, package="some_detectors",
            group="gnuradio.mimopack.detectors"):
    """Lay a package with entry points into a folder, as pip does."""
    info = folder / f"{package}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("\n".join(
        [f"[{group}]", *entries, ""]))
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
