#!/bin/sh
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Reproduce figure 7 of 002: bit error rates of its iterative receiver with 4x4 16-QAM, a turbo code of
# rate 1/3 with about 10,000 coded bits (LTE's with K = 3328 has 9996), and i.i.d. Rayleigh channels.
# The dotted line of zfsic is hard ZF-SIC. Pass 1 of bitflip is coded transmission without feedback;
# up to 4 iterations follow. The decoder's LLRs are fed back unchanged, as in 002, and multiplied by
# 0.4. All frames take all passes, because a turbo decoder has no checks that detect a wrong codeword.
#
#     bench/reproduce_002_fig7.sh FOLDER [OPTION OF mimopack sim]...
#
# The script writes FOLDER/002-fig7.{json,png}; a further run continues from these files. MIMOPACK names
# a command to use instead of mimopack.
set -e
folder=${1:?usage: $0 FOLDER [OPTION OF mimopack sim]...}
shift
mkdir -p "$folder"

${MIMOPACK:-mimopack} sim --constellation qam16 --code turbo:3328 --snr 8:17:0.5 \
    -d zfsic:iterations=1 -d bitflip:feedback_scale=1 -d bitflip:feedback_scale=0.4 \
    --iterations 5 --decoder-iterations 8 --no-early-stop --errors 100 --max-frames 20000 \
    --output "$folder/002-fig7.json" --plot "$folder/002-fig7.png" "$@"
