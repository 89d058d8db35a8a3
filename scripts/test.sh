#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Set up the project if needed, and run its tests:
#
#     scripts/test.sh              the quick tests: is the module right on this machine?
#     scripts/test.sh --all        ruff and all tests, for all instruction sets, as CI does
#     scripts/test.sh --sionna     the tests with Sionna, py3gpp, PyTorch and JAX, which take 5 GB
#     scripts/test.sh ARGUMENT...  pytest with these arguments, such as tests/coding
#
# The first form needs little more than scripts/demo.sh has installed, and compiles nothing else. The
# others install all programs that some test uses. Tests marked gpu run where there is a GPU, one
# after the other.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
options=(-n auto --maxprocesses 8 --dist worksteal)
case ${1:-} in
    "")
        bash scripts/setup.sh --pytest
        # Other files may import what is not installed.
        mapfile -t paths < <(grep -rl --include="test_*.py" "pytest\.mark\.quick" tests)
        marked=quick
        set -- -q "${paths[@]}"
        ;;
    --all)
        bash scripts/setup.sh --tests --isas all
        .venv/bin/python -m ruff check
        marked=
        set -- -q --durations 25 tests
        ;;
    --sionna)
        bash scripts/setup.sh
        environment=build/sionna-venv    # of its own, because PyTorch needs NumPy 2
        if [ ! -e "$environment/ready-with-py3gpp" ]; then
            /usr/bin/python3 -m venv --clear "$environment"
            "$environment/bin/python" -m pip install --quiet \
                torch==2.11.0 sionna-no-rt==2.2.0 py3gpp==0.6.0 jax pytest
            touch "$environment/ready-with-py3gpp"
        fi
        shift
        marked=
        if ! "$environment/bin/python" -c 'import cupy, torch; torch.zeros(1).cuda()' 2> /dev/null
        then
            echo "test: no NVIDIA GPU with CuPy found; skipping the tests marked gpu"
            marked="not gpu"
        fi
        PYTHONPATH=build/python exec "$environment/bin/python" -m pytest -q --noconftest \
            -c /dev/null -p no:cacheprovider -m "$marked" tests/sionna "$@"
        ;;
    *)
        bash scripts/setup.sh --tests
        marked=
        options=()
        ;;
esac
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
# The processes share the cores: idle threads of OpenMP and OpenBLAS would keep others waiting.
export OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1

if .venv/bin/python -c 'import cupy; cupy.zeros(1).sum().get()' 2> /dev/null; then
    options=()
else
    echo "test: no NVIDIA GPU with CuPy found; skipping the tests marked gpu"
    marked="${marked:+$marked and }not gpu"
fi
exec .venv/bin/python -m pytest ${marked:+-m "$marked"} ${options[@]+"${options[@]}"} "$@"
