#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Set up the project if needed, then run ruff and pytest. Arguments go to pytest. Without arguments
# pytest uses all cores, at most 8, unless there is a GPU: tests cannot share it.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
bash scripts/setup.sh --tests
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1

echo "test: ruff"
.venv/bin/python -m ruff check

options=()
if ! .venv/bin/python -c 'import cupy; cupy.zeros(1).sum().get()' 2> /dev/null; then
    echo "test: no NVIDIA GPU with CuPy found; skipping the tests marked gpu"
    options=(-m "not gpu")
    if [ $# = 0 ]; then
        options+=(-n auto --maxprocesses 8)
    fi
fi
echo "test: pytest"
exec .venv/bin/python -m pytest ${options[@]+"${options[@]}"} "$@"
