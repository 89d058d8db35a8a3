/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Let one allocation of C++ fail. A program that is started with this library in LD_PRELOAD
 * takes these functions in place of those of the C++ and C libraries. */

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

std::atomic<long> left{ 0 }; /* calls up to the one that fails; 0 or less: none fails */

bool fails() { return left.load() > 0 && left.fetch_sub(1) == 1; }

} // namespace

extern "C" void fail_at(long call) { left = call; }

/* Whether a call has failed since fail_at(). */
extern "C" int has_failed() { return left.load() <= 0; }

void* operator new(std::size_t size)
{
    void* const memory = fails() ? nullptr : std::malloc(size ? size : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    return fails() ? nullptr : std::malloc(size ? size : 1);
}

void* operator new(std::size_t size, std::align_val_t alignment)
{
    void* const memory =
        fails() ? nullptr : memalign(static_cast<std::size_t>(alignment), size);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size)
{
    *memory = fails() ? nullptr : memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
