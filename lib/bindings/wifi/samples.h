/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once
#include "bindings/wifi/common.h"

namespace mimopack {

/* Find a receiver's direct current (frames, rows): the mean of the samples, or 0 where
 * the mean may belong to the signal. The squared mean of a signal is close to its power
 * over its length if the carrier offset moves a subcarrier to frequency 0, and far below
 * otherwise. */
void find_direct(const wifi_build& build,
                 const wifi_frames& from,
                 std::int64_t frames,
                 std::int64_t rows,
                 const double* cfo,
                 double fft,
                 std::complex<float>* direct);

} // namespace mimopack
