#!/bin/sh
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Reproduce figure 3 of 001: frame error rates of detectors with 4x4 antennas, 16-QAM and 64-QAM, the
# LDPC code of 802.16e (2304, rate 1/2) with 20 decoder iterations, and i.i.d. Rayleigh channels. "ML"
# is exact max-log.
#
#     bench/reproduce_001_fig3.sh FOLDER [OPTION OF mimopack sim]...
#
# The script writes FOLDER/001-fig3-{qam16,qam64}.{json,png}; a further run continues from these files.
# The option --seconds applies to each of the two. MIMOPACK names a command to use instead of mimopack.
set -e
folder=${1:?usage: $0 FOLDER [OPTION OF mimopack sim]...}
shift
mkdir -p "$folder"

# Arguments: CONSTELLATION SNRS SURVIVORS [OPTION]... LLRs are clipped at 8, except with N = 4 (001
# section V.A), which is simulated without and with clipping.
simulate() {
    name=$1 snrs=$2 survivors=$3
    shift 3
    ${MIMOPACK:-mimopack} sim --constellation "$name" --code wimax:2304:1/2 --snr "$snrs" \
        -d nway:num_passes=1,llr_clip=8 -d nway:num_passes=2,llr_clip=8 \
        -d nway:num_passes=3,llr_clip=8 -d nway:num_passes=4,llr_clip=none \
        -d nway:num_passes=4,llr_clip=8 \
        -d "kbest:k=$survivors,llr_clip=8" -d trellis -d softsphere:llr_clip=8 \
        --decoder-iterations 20 --errors 200 \
        --output "$folder/001-fig3-$name.json" --plot "$folder/001-fig3-$name.png" "$@"
}

simulate qam16 10.5:15.5:0.5 64 "$@"
simulate qam64 16.5:21.5:0.5 256 "$@"
