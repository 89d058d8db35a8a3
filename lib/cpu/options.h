/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan's options as the struct that a family's kernel.h declares (common/options.h) */
#pragma once
#include "common/options.h"
#include "cpu/plan.h"

namespace mimopack {
namespace MIMOPACK_ISA {

MP_FN bool same_name(const char* a, const char* b)
{
    while (*a && *a == *b)
        ++a, ++b;
    return *a == *b;
}

MP_FN bool set_option(int& member, const option& given)
{
    member = static_cast<int>(given.number);
    return !given.list;
}

MP_FN bool set_option(float& member, const option& given)
{
    member = static_cast<float>(given.number);
    return !given.list;
}

MP_FN bool set_option(int_list& member, const option& given)
{
    if (!given.list || given.length > max_list_option)
        return false;
    member.count = given.length;
    for (int i = 0; i < given.length; ++i)
        member.values[i] = given.list[i];
    return true;
}

/* Call body(options), or return unknown_option if Options does not declare one of the
 * plan's options. */
template <class Options, class Body>
std::size_t with_options(const plan& p, Body body)
{
    Options options;
    int taken = 0;
    options.each([&](const char* name, auto& member) {
        for (int i = 0; i < p.num_options; ++i)
            if (same_name(p.options[i].name, name))
                taken += set_option(member, p.options[i]);
    });
    return taken == p.num_options ? body(options) : unknown_option;
}

} // namespace MIMOPACK_ISA
} // namespace mimopack
