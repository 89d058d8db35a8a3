#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Search for faults: the campaigns of docs/reliability.md that take long and need no GPU.
#
#     scripts/nightly.sh [STEP...]
#
# Steps: properties, address, thread, fuzz, loops, detectors, receiver, restarts, live; all of them
# without arguments, which takes a night or more on two cores. The output of a step goes to
# build/nightly/STEP.log, results to build/nightly/STEP.json. After a step that finds a fault, or
# does not end in time, the next one begins. The exit status is then 1.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
steps=(properties address thread fuzz loops detectors receiver restarts live)
for step in "$@"; do
    if [[ " ${steps[*]} " != *" $step "* ]]; then
        echo "nightly: no step '$step', allowed are ${steps[*]}" >&2
        exit 2
    fi
done
[ $# != 0 ] || set -- "${steps[@]}"
trap 'exit 130' INT TERM
bash scripts/setup.sh --tests --fuzzers --isas all
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
cores=$(nproc)

# Run a command for some hours at most.
within() {
    timeout --kill-after=60 "$1h" .venv/bin/python "${@:2}"
}

run_step() {
    case $1 in
        properties) within 12 -m pytest tests/properties --hypothesis-profile=nightly \
            -m "not gpu" -n "$cores" ;;
        address | thread) within 6 scripts/sanitize_cpu.py "$1" ;;
        fuzz) within 6 scripts/fuzz.py all --seconds 900 --jobs "$cores" ;;
        loops) within 2 bench/wifi_loops.py --frames 1000000000 --seconds 3600 --jobs "$cores" \
            --output build/nightly/loops.json ;;
        *) within 1 bench/soak.py "$1" --seconds 1800 --output "build/nightly/$1.json" ;;
    esac
}

mkdir -p build/nightly
failed=()
for step in "$@"; do
    echo "nightly: $step"
    status=0
    run_step "$step" > "build/nightly/$step.log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        failed+=("$step")
        tail -n 20 "build/nightly/$step.log"
        [ $status != 124 ] || echo "nightly: $step did not end in time"
    fi
done
if [ ${#failed[@]} != 0 ]; then
    echo "nightly: look at build/nightly for ${failed[*]}"
    exit 1
fi
echo "nightly: no fault"
