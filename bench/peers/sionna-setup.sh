#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Make .venv-sionna beside bench/, for `mimopack bench --suite cpu --peers bench/peers`. Sionna needs
# a separate environment because it needs NumPy 2, which breaks the GNU Radio of Debian 12. The
# variable PYTHON selects a Python, 3.11 or newer. PyTorch's Linux wheel on PyPI includes CUDA
# (several GB) but also runs on the CPU; TORCH selects another wheel, such as the file of a CPU wheel.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
"${PYTHON:-python3}" -m venv .venv-sionna
.venv-sionna/bin/python -m pip install --quiet "${TORCH:-torch==2.13.0}"
.venv-sionna/bin/python -m pip install --quiet sionna-no-rt==2.2.0
.venv-sionna/bin/python -c 'import sionna.phy; print("sionna-setup: Sionna is ready")'
