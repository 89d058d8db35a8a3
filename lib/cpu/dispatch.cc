/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"
#include <initializer_list>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const isa_build build; \
    }
MIMOPACK_DECLARE(baseline)
#if defined(__x86_64__)
MIMOPACK_DECLARE(avx2)
MIMOPACK_DECLARE(avx512)
#endif

const isa_build* const* available_builds(int& count)
{
    static const isa_build* found[3];
    static const int number = [] {
        int n = 0;
#if defined(__x86_64__)
        for (const isa_build* build : { &avx512::build, &avx2::build, &baseline::build })
#else
        for (const isa_build* build : { &baseline::build })
#endif
            if (build->available())
                found[n++] = build;
        return n;
    }();
    count = number;
    return found;
}

} // namespace mimopack
