/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bindings/wifi/common.h"
#include "cpu/builds.h"
#include <cstring>

namespace mimopack {

#define MIMOPACK_DECLARE(isa)     \
    namespace isa {               \
    extern const wifi_build wifi; \
    }
MIMOPACK_BUILDS(MIMOPACK_DECLARE)
#undef MIMOPACK_DECLARE
#define MIMOPACK_ADDRESS(isa) &isa::wifi,

const wifi_build& find_wifi(const std::string& isa)
{
    const char* name = find_build(isa).name;
    const wifi_build* found = nullptr;
    for (const wifi_build* build : { MIMOPACK_BUILDS(MIMOPACK_ADDRESS) })
        if (!std::strcmp(build->name, name))
            found = build;
    return *found;
}
#undef MIMOPACK_ADDRESS

void bind_wifi(py::module_& core)
{
    auto m = core.def_submodule("wifi", "Inner loops of gnuradio.mimopack.wifi.");
    bind_wifi_smoother(m); /* before the classes that take a Smoother */
    bind_wifi_headers(m);
    bind_wifi_following(m);
    bind_wifi_samples(m);
    bind_wifi_channels(m);
    bind_wifi_decoding(m);
    bind_wifi_demodulator(m);
}

} // namespace mimopack
