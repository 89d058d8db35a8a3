#!/bin/sh
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Figure 7 of 002: bit error rates of its iterative receiver, 4x4 16-QAM, turbo code of rate 1/3
# with about 10,000 coded bits (LTE's, K = 3328: 9996), i.i.d. Rayleigh channels: hard ZF-SIC is the
# dotted line of zfsic, coded without feedback is pass 1 of bitflip, then up to 4 iterations. The
# decoder's LLRs go back as they are, as in 002, and multiplied by 0.4. All frames see all passes, as
# a turbo decoder has no checks that tell a right codeword from a wrong one.
#
#     bench/reproduce_002_fig7.sh FOLDER [OPTION OF mimopack sim]...
#
# It writes FOLDER/002-fig7.{json,png}, and goes on from there when run again. MIMOPACK names another
# command than mimopack.
set -e
folder=${1:?usage: $0 FOLDER [OPTION OF mimopack sim]...}
shift
mkdir -p "$folder"

${MIMOPACK:-mimopack} sim --constellation qam16 --code turbo:3328 --snr 8:17:0.5 \
    -d zfsic:iterations=1 -d bitflip:feedback_scale=1 -d bitflip:feedback_scale=0.4 \
    --iterations 5 --decoder-iterations 8 --no-early-stop --errors 100 --max-frames 20000 \
    --output "$folder/002-fig7.json" --plot "$folder/002-fig7.png" "$@"
