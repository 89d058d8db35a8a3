/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* MPDUs of a PSDU; tests/support/wifi_oracle.py has the same search in NumPy. */
#pragma once
#include <cstdint>
#include <vector>

namespace mimopack {

struct mpdu_place {
    std::int64_t offset, length; /* bytes of the PSDU */
    bool fcs_ok;
};

struct mpdu_places {
    std::vector<mpdu_place> mpdus;
    bool complete; /* all fit, and no gap of an A-MPDU has room for another one */
};

/* Find the MPDUs of an A-MPDU, or check the only MPDU of a PSDU (IEEE 802.11-2020
 * §9.7). */
mpdu_places find_mpdus(const std::uint8_t* psdu, std::int64_t length, bool aggregated);

} // namespace mimopack
