/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory for vectors of lanes, which begins at a multiple of 64 bytes.
 *
 * posix_memalign and C++'s own operators for such types are no alternative: glibc before
 * 2.38 seldom uses again what they returned and got back. A program that calls them many
 * times grows without limit (glibc's bug 14581). */
#pragma once
#include "common/config.h"
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace mimopack {

/* Return memory, or null if there is none. */
MP_FN void* take_aligned(std::size_t size)
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

MP_FN void give_back_aligned(void* memory)
{
    if (memory)
        ::operator delete(static_cast<void**>(memory)[-1]);
}

/* Memory that is given back at the end of a block; null if there is none. */
class aligned_memory
{
public:
    MP_FN explicit aligned_memory(std::size_t size) : d_memory(take_aligned(size)) {}
    aligned_memory(const aligned_memory&) = delete;
    aligned_memory& operator=(const aligned_memory&) = delete;
    MP_FN ~aligned_memory() { give_back_aligned(d_memory); }

    MP_FN void* get() const { return d_memory; }

private:
    void* const d_memory;
};

/* T belongs to an instruction set, so this does too. */
template <class T>
struct aligned_allocator {
    using value_type = T;

    aligned_allocator() = default;
    template <class U>
    aligned_allocator(const aligned_allocator<U>&)
    {
    }
    T* allocate(std::size_t n)
    {
        void* const memory = take_aligned(n * sizeof(T));
        if (!memory)
            throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { give_back_aligned(memory); }
    template <class U>
    bool operator==(const aligned_allocator<U>&) const
    {
        return true;
    }
    template <class U>
    bool operator!=(const aligned_allocator<U>&) const
    {
        return false;
    }
};

template <class T>
using aligned_vector = std::vector<T, aligned_allocator<T>>;

} // namespace mimopack
