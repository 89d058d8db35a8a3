#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sets up what is missing, then plays the 4x4 recording of the examples through GNU Radio.
# Arguments go to "mimopack play". Pictures and a summary are written to demo-output/.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
bash scripts/setup.sh
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
recording=examples/recordings/mimo_4x4_qam16.sigmf-meta
if [ "$(head -c 8 "${recording%-meta}-data" 2> /dev/null | wc -c)" = 0 ]; then
    echo "demo: simulating the recording"
    .venv/bin/python examples/recordings/make_capture.py
fi
[ $# -gt 0 ] || set -- --show nway
exec .venv/bin/mimopack play "$recording" "$@"
