/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpu/builds.h"
#include "cpu/plan.h"
#include <initializer_list>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const isa_build build; \
    }
MIMOPACK_BUILDS(MIMOPACK_DECLARE)
#undef MIMOPACK_DECLARE
#define MIMOPACK_ADDRESS(isa) &isa::build,

const isa_build* const* available_builds(int& count)
{
    static const isa_build* found[3];
    static const int number = [] {
        int n = 0;
        for (const isa_build* build : { MIMOPACK_BUILDS(MIMOPACK_ADDRESS) })
            if (build->available())
                found[n++] = build;
        return n;
    }();
    count = number;
    return found;
}
#undef MIMOPACK_ADDRESS

} // namespace mimopack
