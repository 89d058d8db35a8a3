/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Search of a stream for short training fields: however the stream is cut into pieces,
 * the same windows are found. An input has the number of antennas, sizes of pieces, and
 * samples of small integers, some of which repeat as in a short training field. */
#include "table.h"
#include "wifi/scan.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace mimopack {
namespace MIMOPACK_ISA {
void correlate(const wifi_correlation&);
void metric(const wifi_metric&);
} // namespace MIMOPACK_ISA
} // namespace mimopack

namespace mimopack {
namespace MIMOPACK_ISA {
extern const wifi_build wifi;
}
} // namespace mimopack

namespace {

using namespace mimopack;

constexpr std::int64_t block = 16, most_pieces = 8;
constexpr scan_settings base{ 1, block, 6, 10, 4, 12, 0.3f, 13, 70 };
constexpr float threshold = 0.35f;

void require(bool holds)
{
    if (!holds)
        std::abort();
}

/* Windows of a stream: those above the threshold and the chosen ones, from its begin on
 */
struct windows {
    std::vector<std::int64_t> hits, chain;
    std::int64_t passed = 0;
};

windows search(const std::vector<float>& samples,
               std::int64_t rows,
               const std::vector<std::int64_t>& cuts,
               const wifi_build& build)
{
    scan_settings settings = base;
    settings.rows = rows;
    wifi_scan scan(settings, build);
    const std::int64_t count = samples.size() / (2 * rows);
    /* Values that nothing may read: of samples that have not come yet */
    std::vector<float> array(samples.size(), 1e30f);
    windows found;
    std::int64_t at = 0;
    for (const std::int64_t end : cuts) {
        const scan_result part = scan.take({ samples.data() + 2 * at,
                                             end - at,
                                             count,
                                             array.data(),
                                             count,
                                             at,
                                             found.passed * block },
                                           threshold);
        for (const std::int64_t hit : part.hits)
            found.hits.push_back(found.passed + hit);
        for (const std::int64_t one : part.chain)
            found.chain.push_back(found.passed + one);
        require(part.passed >= 0);
        require(part.lag.size() == 2 * part.metric.size());
        found.passed += part.passed;
        at = end;
    }
    return found;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 2 + most_pieces)
        return 0;
    const wifi_build& build = MIMOPACK_ISA::wifi;
    const std::int64_t rows = 1 + data[0] % 3, repeats = 1 + data[1] % 32;
    const std::uint8_t* const pieces = data + 2;
    data += 2 + most_pieces;
    size -= 2 + most_pieces;
    /* A block of 16 samples comes several times, and blocks of noise follow. */
    const std::int64_t own = std::min<std::int64_t>(size / block, 64);
    std::vector<float> stream;
    for (std::int64_t one = 0; one < own; ++one)
        for (std::int64_t again = 0; again < (one % 4 ? 1 : repeats); ++again)
            for (std::int64_t i = 0; i < block; ++i) {
                const std::int8_t value = data[one * block + i];
                stream.push_back(value == 127 ? 1e20f : value == -128 ? -0.0f : value);
                stream.push_back(static_cast<float>(value ^ 0x35));
            }
    const std::int64_t count = stream.size() / 2;
    std::vector<float> samples;
    for (std::int64_t row = 0; row < rows; ++row)
        for (const float one : stream)
            samples.push_back(one * static_cast<float>(row + 1));
    std::vector<std::int64_t> cuts;
    for (std::int64_t i = 0, end = 0; i < most_pieces; ++i) {
        end = std::min(count, end + 8 * pieces[i] * (i % 2 ? 1 : 3));
        cuts.push_back(end);
    }
    cuts.push_back(count);
    const windows whole = search(samples, rows, { count }, build);
    const windows parts = search(samples, rows, cuts, build);
    require(whole.hits == parts.hits && whole.chain == parts.chain &&
            whole.passed == parts.passed);
    require(std::is_sorted(whole.chain.begin(), whole.chain.end()));
    return 0;
}
