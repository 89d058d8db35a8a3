#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes .venv-sionna beside bench/, which `mimopack bench --suite cpu --peers bench/peers` looks for:
# Sionna needs NumPy 2, which GNU Radio of Debian 12 does not bear, so it gets an environment of
# its own. Python 3.11 or newer: PYTHON names it. PyTorch's Linux wheel on PyPI brings CUDA along
# (several GB) and runs on the CPU all the same; TORCH names another, such as a CPU wheel's file.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
"${PYTHON:-python3}" -m venv .venv-sionna
.venv-sionna/bin/python -m pip install --quiet "${TORCH:-torch==2.13.0}"
.venv-sionna/bin/python -m pip install --quiet sionna-no-rt==2.2.0
.venv-sionna/bin/python -c 'import sionna.phy; print("sionna-setup: Sionna is ready")'
