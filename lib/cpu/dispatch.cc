/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"
#include <initializer_list>

namespace mimopack {

const isa_build* const* available_builds(int& count)
{
    static const isa_build* found[3];
    static const int number = [] {
        int n = 0;
#if defined(__x86_64__)
        for (const isa_build* build : { &isa_avx512, &isa_avx2, &isa_baseline })
#else
        for (const isa_build* build : { &isa_baseline })
#endif
            if (build->available())
                found[n++] = build;
        return n;
    }();
    count = number;
    return found;
}

} // namespace mimopack
