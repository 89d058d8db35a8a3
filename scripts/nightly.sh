#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Search for faults for a night (docs/reliability.md): some 20 hours on two cores.
#
#     scripts/nightly.sh [STEP...]    # properties, address, thread, fuzz, loops, soak; default: all
#
# The output of a step goes to build/nightly/STEP.log. A step that finds a fault does not stop the
# others. The exit status is 1 if any found one.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
steps=(properties address thread fuzz loops soak)
for step in "$@"; do
    if [[ " ${steps[*]} " != *" $step "* ]]; then
        echo "nightly: no step '$step', allowed are ${steps[*]}" >&2
        exit 2
    fi
done
bash scripts/setup.sh --tests --fuzzers
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
python=.venv/bin/python
cores=$(nproc)

run_step() {
    case $1 in
        properties)
            "$python" -m pytest tests/properties --hypothesis-profile=nightly -m "not gpu" -n "$cores"
            ;;
        address | thread) "$python" scripts/sanitize_cpu.py "$1" ;;
        fuzz) "$python" scripts/fuzz.py all --seconds 900 --jobs "$cores" ;;
        loops) "$python" bench/wifi_loops.py --seconds 3600 --jobs "$cores" ;;
        soak)
            for what in detectors receiver restarts live; do
                "$python" bench/soak.py "$what" --seconds 1800 || return 1
            done
            ;;
    esac
}

mkdir -p build/nightly
failed=()
[ $# != 0 ] || set -- "${steps[@]}"
for step in "$@"; do
    echo "nightly: $step"
    if ! (run_step "$step") > "build/nightly/$step.log" 2>&1; then
        failed+=("$step")
        tail -n 20 "build/nightly/$step.log"
    fi
done
if [ ${#failed[@]} != 0 ]; then
    echo "nightly: a fault, or no end, in: ${failed[*]} (build/nightly)"
    exit 1
fi
echo "nightly: no fault"
