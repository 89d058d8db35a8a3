/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A detector's own parameters. The kernel.h of each family declares them as a struct
 * whose each() calls visit("name", member) for every member. The Python class uses the
 * same names (Parameter.core) and checks the values. */
#pragma once
#include "common/config.h"

namespace mimopack {

/* A list of integers; the Python class limits its length */
struct int_list {
    int count = 0;
    int values[max_list_option] = {};
};

/* Options of a detector without parameters of its own */
struct no_options {
    template <class Visit>
    MP_FN void each(Visit) const
    {
    }
};

} // namespace mimopack
