/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Options are a detector's own parameters. Each family declares them in its kernel.h, as
 * a struct whose each() calls visit("name", member) for each of them; the names are those
 * that the Python class gives (Parameter.core). Python checks the values. */
#pragma once
#include "common/config.h"

namespace mimopack {

/* A list of integers, as long as the Python class allows */
struct int_list {
    int count = 0;
    int values[max_list_option] = {};
};

/* For detectors without parameters of their own */
struct no_options {
    template <class Visit>
    MP_FN void each(Visit) const
    {
    }
};

} // namespace mimopack
