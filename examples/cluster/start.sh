#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Start a Dask scheduler and workers on this machine, run a command on them, and end them.
#
#     examples/cluster/start.sh WORKERS COMMAND...
#     examples/cluster/start.sh 4 mimopack sim campaign figure.toml
#
# The command gets the option --scheduler at its end. Workers on other machines join with
#     python3 -m dask worker tcp://HOST:8786 --nworkers auto --nthreads 1
# HOST has to listen for them: LISTEN=0.0.0.0 examples/cluster/start.sh ... Whoever reaches the port
# can run code here: see "Security" in docs/campaigns.md. PYTHON names another interpreter.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^#     \(.*\)/usage: \1/p' "$0" | head -n 1 >&2; exit 2; }
workers=$1
shift
python=${PYTHON:-python3}
export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False    # it takes a twentieth of the time
address=tcp://${LISTEN:-127.0.0.1}:${PORT:-8786}

children=()
trap '[ ${#children[@]} = 0 ] || kill "${children[@]}" 2> /dev/null || true' EXIT
"$python" -m dask scheduler --host "$address" > scheduler.log 2>&1 &
children+=($!)
"$python" -m dask worker "${address/0.0.0.0/127.0.0.1}" --nworkers "$workers" --nthreads 1 \
    > workers.log 2>&1 &
children+=($!)
"$@" --scheduler "${address/0.0.0.0/127.0.0.1}"
