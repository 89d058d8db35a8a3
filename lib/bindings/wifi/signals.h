/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "bindings/wifi/common.h"

namespace mimopack {

/* Decode blocks of rate 1/2 into num_bits[i] bits each, from state 0 to state 0.
 * `decoder` is a viterbi_build. */
void decode_signals(const void* decoder,
                    const float* llr,
                    const std::int64_t* num_bits,
                    std::int64_t blocks,
                    std::uint8_t* bits);

} // namespace mimopack
