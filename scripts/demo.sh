#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Set up the project if needed, then play the 4x4 Wi-Fi recording of the examples through GNU Radio
# with four detectors. Arguments go to "mimopack play". The folder demo-output/ receives pictures, a
# summary and the decoded frames for Wireshark (frames.pcap).
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
bash scripts/setup.sh
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
recording=examples/recordings/wifi_4x4_ht.sigmf-meta
if [ "$(head -c 8 "${recording%-meta}-data" 2> /dev/null | wc -c)" = 0 ]; then
    echo "demo: simulating the recording"
    .venv/bin/python examples/recordings/make_wifi.py
fi
if [ $# = 0 ]; then
    mkdir -p demo-output
    set -- --show nway --pcap demo-output/frames.pcap
fi
exec .venv/bin/mimopack play "$recording" "$@"
