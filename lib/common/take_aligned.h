/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of aligned_memory.h. One source of each library includes them: the core has
 * aligned_memory.cc, and a module of detectors has cpu/module.h. */
#pragma once
#include "common/aligned_memory.h"
#include <cstdint>

namespace mimopack {

void* take_aligned(std::size_t size)
{
    constexpr std::size_t alignment = 64;
    void* const memory = ::operator new(size + alignment, std::nothrow);
    if (!memory)
        return nullptr;
    /* There is room for a pointer before the result: the operator returns multiples of
     * 16. */
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory) / alignment + 1;
    void** const result = reinterpret_cast<void**>(begin * alignment);
    result[-1] = memory;
    return result;
}

void give_back_aligned(void* memory)
{
    if (memory)
        ::operator delete(static_cast<void**>(memory)[-1]);
}

} // namespace mimopack
