#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Open GNU Radio Companion with the blocks of this checkout. Arguments: flowgraphs to open.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
bash "$here/scripts/setup.sh"
export GRC_BLOCKS_PATH=$here/.venv/share/gnuradio/grc/blocks${GRC_BLOCKS_PATH:+:$GRC_BLOCKS_PATH}
# Flowgraphs inherit this: threads of OpenBLAS would take cores from blocks (docs/install.md).
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
# Companion starts flowgraphs with the Python that runs Companion.
exec "$here/.venv/bin/python" /usr/bin/gnuradio-companion "$@"
