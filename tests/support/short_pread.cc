/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */

/* Let pread() read less than it was asked for, and fail now and then as if a signal had
 * come. A program that is started with this library in LD_PRELOAD takes this function in
 * place of that of the C library. */

#include <sys/uio.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

constexpr std::size_t most = 1000; /* bytes; no multiple of a sample's */
std::atomic<long> calls{ 0 };
std::atomic<int> error{ 0 };

} // namespace

extern "C" {

/* Return the number of calls so far. */
long preads() { return calls; }

/* Let all later calls fail with an error number. */
void fail_preads(int number) { error = number; }

ssize_t pread(int file, void* out, std::size_t bytes, off_t offset)
{
    const int number = ++calls % 3 == 0 ? EINTR : error.load();
    if (number) {
        errno = number;
        return -1;
    }
    const iovec part{ out, std::min(bytes, most) };
    return preadv(file, &part, 1, offset);
}

ssize_t pread64(int file, void* out, std::size_t bytes, off_t offset)
{
    return pread(file, out, bytes, offset);
}
}
