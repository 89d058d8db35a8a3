/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Let one allocation of C++ fail. A program that is started with this library in
 * LD_PRELOAD takes these functions in place of those of the C++ and C libraries. */

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <unwind.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<long> left{ 0 }; /* calls up to the one that fails; 0 or less: none fails */

/* Where the code of a library lies, and whose it is */
struct range {
    std::uintptr_t begin, end;
    bool ours;
};

constexpr int most_ranges = 500;
range ranges[most_ranges]; /* of this project's libraries and of Python's */
int count = 0;             /* 0: all calls count */
thread_local bool looking = false;

int note(dl_phdr_info* library, std::size_t, void*)
{
    const char* const name = library->dlpi_name;
    const bool ours =
        std::strstr(name, "/mimopack/_core") || std::strstr(name, "/mimopack/_runtime");
    /* The program itself has an empty name. */
    if (!ours && *name && !std::strstr(name, "python"))
        return 0;
    for (int i = 0; i < library->dlpi_phnum && count < most_ranges; ++i)
        if (const auto& part = library->dlpi_phdr[i]; part.p_type == PT_LOAD) {
            const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
            ranges[count++] = { begin, begin + part.p_memsz, ours };
        }
    return 0;
}

_Unwind_Reason_Code look(_Unwind_Context* frame, void* found)
{
    const auto place = static_cast<std::uintptr_t>(_Unwind_GetIP(frame));
    for (int i = 0; i < count; ++i)
        if (ranges[i].begin <= place && place < ranges[i].end) {
            /* Functions of GNU Radio's headers may have been compiled here. */
            Dl_info function;
            if (ranges[i].ours && dladdr(reinterpret_cast<void*>(place), &function) &&
                function.dli_sname && std::strncmp(function.dli_sname, "_ZN2gr", 6) == 0)
                return _URC_NO_REASON;
            *static_cast<bool*>(found) = ranges[i].ours;
            return _URC_END_OF_STACK;
        }
    return _URC_NO_REASON;
}

/* Return whether this project's code has made the call, itself or through other
 * libraries, but not through Python. */
bool is_ours()
{
    if (count == 0)
        return true;
    if (looking)
        return false;
    bool found = false;
    looking = true;
    _Unwind_Backtrace(look, &found);
    looking = false;
    return found;
}

bool fails() { return left.load() > 0 && is_ours() && left.fetch_sub(1) == 1; }

} // namespace

extern "C" void fail_at(long call) { left = call; }

/* From now on count only what this project's libraries ask for, all of which are there.
 */
extern "C" void count_ours()
{
    count = 0;
    dl_iterate_phdr(note, nullptr);
}

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
