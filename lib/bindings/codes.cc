/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The decoders of codes */
#include "bindings/common.h"
#include "codes/crc.h"
#include "codes/decoders.h"
#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace mimopack {

namespace {

using index_array = py::array_t<std::int32_t, py::array::c_style>;
using long_array = py::array_t<std::int64_t, py::array::c_style>;

/* The shape of an array with one axis. For a plain number, pybind11 before 2.12 reads the
 * items' size where NumPy 2 has something else, and makes all strides 0. */
py::array::ShapeContainer vector_shape(std::size_t n)
{
    return py::array::ShapeContainer{ static_cast<py::ssize_t>(n) };
}

/* A decoder with soft output */
class soft_decoder
{
public:
    /* Decode a batch with at most this number of iterations. */
    using run_function = std::function<std::size_t(const codeword_batch&, int)>;

    soft_decoder(const isa_build& build,
                 bool int16,
                 std::size_t num_bits,
                 std::size_t num_messages,
                 run_function run)
        : d_build(build),
          d_lanes(int16 ? 2 * build.lanes : build.lanes),
          d_num_bits(num_bits),
          d_num_messages(num_messages),
          d_run(std::move(run))
    {
    }

    /* Return (a-posteriori LLRs, found, iterations, number of erased codewords). */
    py::tuple decode(const float_array& llr,
                     std::optional<float_array> messages,
                     int most,
                     int threads) const
    {
        float_array posterior({ static_cast<std::size_t>(llr.shape(0)), d_num_bits });
        codeword_batch b{};
        b.posterior = posterior.mutable_data();
        return run(b, llr, messages, most, threads, posterior);
    }

    /* Return decisions in place of LLRs; only of a quasi_cyclic_decoder's decoder. */
    py::tuple decide(const float_array& llr, int most, int threads) const
    {
        byte_array bits({ static_cast<std::size_t>(llr.shape(0)), d_num_bits });
        codeword_batch b{};
        b.bits = bits.mutable_data();
        return run(b, llr, {}, most, threads, bits);
    }

    /* Return the number of messages of n codewords, in whole groups of lanes. */
    std::size_t num_messages(std::size_t n) const
    {
        return (n + d_lanes - 1) / d_lanes * d_lanes * d_num_messages;
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_lanes;
    const std::size_t d_num_bits, d_num_messages;
    const run_function d_run;

    py::tuple run(codeword_batch& b,
                  const float_array& llr,
                  std::optional<float_array> messages,
                  int most,
                  int threads,
                  const py::array& result) const
    {
        b.n = llr.shape(0);
        if (llr.ndim() != 2 || static_cast<std::size_t>(llr.shape(1)) != d_num_bits ||
            (messages && static_cast<std::size_t>(messages->size()) != num_messages(b.n)))
            throw std::invalid_argument("decode: inconsistent array shapes");
        py::array_t<bool> found(vector_shape(b.n));
        index_array iterations(vector_shape(b.n));
        b.llr = llr.data();
        b.messages = messages ? messages->mutable_data() : nullptr;
        b.found = reinterpret_cast<std::uint8_t*>(found.mutable_data());
        b.iterations = iterations.mutable_data();
        std::size_t erased = 0;
        if (b.n)
            erased = run_batch(
                b, threads, [&](const codeword_batch& all) { return d_run(all, most); });
        return py::make_tuple(result, found, iterations, erased);
    }
};

soft_decoder ldpc_decoder(const py::kwargs& given)
{
    const auto num_bits = keyword<int>(given, "num_bits");
    const auto first = keyword<std::vector<int>>(given, "first"),
               columns = keyword<std::vector<int>>(given, "columns");
    const auto factor = keyword<float>(given, "factor"),
               offset = keyword<float>(given, "offset");
    const auto min_star = keyword<bool>(given, "min_star"),
               early_stop = keyword<bool>(given, "early_stop");
    const isa_build& build = find_build(isa_of(given));
    const auto inside = [=](int column) { return column >= 0 && column < num_bits; };
    if (!std::all_of(columns.begin(), columns.end(), inside))
        throw std::invalid_argument("code: a check has a bit outside 0 to num_bits - 1");
    return { build,
             false,
             static_cast<std::size_t>(num_bits),
             columns.size(),
             [=, &build](const codeword_batch& b, int most) {
                 const int num_checks = static_cast<int>(first.size()) - 1;
                 return build.decoders.ldpc({ num_bits,
                                              num_checks,
                                              first.data(),
                                              columns.data(),
                                              most,
                                              factor,
                                              offset,
                                              min_star,
                                              early_stop },
                                            b);
             } };
}

soft_decoder quasi_cyclic_decoder(const py::kwargs& given)
{
    const auto size = keyword<int>(given, "size"),
               columns = keyword<int>(given, "columns");
    const auto first = keyword<std::vector<int>>(given, "first"),
               column = keyword<std::vector<int>>(given, "column"),
               shift = keyword<std::vector<int>>(given, "shift");
    const auto factor = keyword<float>(given, "factor"),
               offset = keyword<float>(given, "offset");
    const auto min_star = keyword<bool>(given, "min_star"),
               early_stop = keyword<bool>(given, "early_stop");
    const isa_build& build = find_build(isa_of(given));
    const auto below = [](const std::vector<int>& values, int limit) {
        return std::all_of(values.begin(), values.end(), [=](int value) {
            return value >= 0 && value < limit;
        });
    };
    if (column.size() != shift.size() || !below(column, columns) || !below(shift, size))
        throw std::invalid_argument("code: a block lies outside the matrix");
    for (std::size_t row = 1; row < first.size(); ++row)
        if (first[row] - first[row - 1] > quasi_cyclic_degree)
            throw std::invalid_argument("code: a block row has too many blocks");
    return { build,
             true,
             static_cast<std::size_t>(columns) * size,
             0,
             [=, &build](const codeword_batch& b, int most) {
                 const int rows = static_cast<int>(first.size()) - 1;
                 return build.decoders.quasi_cyclic({ size,
                                                      rows,
                                                      columns,
                                                      first.data(),
                                                      column.data(),
                                                      shift.data(),
                                                      most,
                                                      factor,
                                                      offset,
                                                      min_star,
                                                      early_stop },
                                                    b);
             } };
}

soft_decoder turbo_decoder(const py::kwargs& given)
{
    const auto interleaver = keyword<std::vector<int>>(given, "interleaver");
    const auto scale = keyword<float>(given, "scale");
    const auto early_stop = keyword<bool>(given, "early_stop"),
               int16 = keyword<bool>(given, "int16");
    const isa_build& build = find_build(isa_of(given));
    const int size = static_cast<int>(interleaver.size());
    return { build,
             int16,
             3 * interleaver.size() + 12,
             interleaver.size(),
             [=, &build](const codeword_batch& b, int most) {
                 return build.decoders.turbo(
                     { size, interleaver.data(), most, scale, early_stop, int16 }, b);
             } };
}

int find_rate(const std::string& rate)
{
    const auto found = std::find_if(std::begin(viterbi_rates),
                                    std::end(viterbi_rates),
                                    [&](const puncturing& p) { return rate == p.rate; });
    if (found == std::end(viterbi_rates))
        throw std::invalid_argument("no convolutional code has rate " + rate);
    return static_cast<int>(found - viterbi_rates);
}

/* A codeword has the information bits before the bits that are sent. */
soft_decoder convolutional_decoder(const py::kwargs& given)
{
    const auto num_info = keyword<int>(given, "num_info");
    const auto margin = keyword<float>(given, "margin");
    const auto int16 = keyword<bool>(given, "int16");
    const puncturing& p = viterbi_rates[find_rate(keyword<std::string>(given, "rate"))];
    std::vector<int> place; /* of A and B of each step; -1 for a bit that is not sent */
    int num_bits = num_info;
    for (int i = 0; i < 2 * (num_info + viterbi_tail); ++i)
        place.push_back(p.kept >> i % (2 * p.steps) & 1 ? num_bits++ : -1);
    const isa_build& build = find_build(isa_of(given));
    return { build,
             int16,
             static_cast<std::size_t>(num_bits),
             0,
             [=, &build](const codeword_batch& b, int) {
                 return build.decoders.convolutional(
                     { num_info, num_bits, place.data(), margin, int16 }, b);
             } };
}

class viterbi_decoder
{
public:
    viterbi_decoder(const std::string& rate, const std::string& isa)
        : d_build(find_build(isa)), d_rate(find_rate(rate))
    {
    }

    /* Decode the bits of all blocks. */
    byte_array decode(const py::array& llr,
                      const long_array& num_bits,
                      float largest_mean,
                      int threads) const
    {
        viterbi_batch b{};
        b.n = num_bits.size();
        b.num_bits = num_bits.data();
        b.rate = d_rate;
        b.llr = llr.data();
        b.int8 = py::isinstance<py::array_t<std::int8_t>>(llr);
        b.largest_mean = largest_mean;
        constexpr std::int64_t most = 0xffffffff; /* sums must fit */
        std::int64_t coded = 0, decoded = 0;
        for (std::size_t i = 0; i < b.n; ++i) {
            if (b.num_bits[i] < 0 || b.num_bits[i] > most)
                throw std::invalid_argument("num_bits: got " +
                                            std::to_string(b.num_bits[i]) +
                                            ", allowed are 0 to " + std::to_string(most));
            coded += coded_length(viterbi_rates[d_rate], b.num_bits[i] + viterbi_tail);
            decoded += b.num_bits[i];
        }
        if (coded != llr.size())
            throw std::invalid_argument("llr: got " + std::to_string(llr.size()) +
                                        " values, must be " + std::to_string(coded) +
                                        " for blocks of num_bits at rate " +
                                        viterbi_rates[d_rate].rate);
        byte_array bits(vector_shape(decoded));
        b.bits = bits.mutable_data();
        if (decoded > 0)
            run_batch(b, threads, [&](const viterbi_batch& all) {
                return decode_viterbi(d_build.decoders.viterbi, all);
            });
        return bits;
    }

    std::string isa() const { return d_build.name; }

private:
    const isa_build& d_build;
    const int d_rate; /* place in viterbi_rates */
};

/* Computes LLRs of code blocks from those of the bits sent */
class llr_recovery
{
public:
    /* sources: (times, blocks, bits of a block), where each bit's first, second, ...
     * transmission is among the `sent` bits of all blocks: twice its place, plus 1 if it
     * was sent inverted; negative if there is none. For the others, see recovery_plan. */
    llr_recovery(const index_array& sources,
                 std::size_t sent,
                 std::size_t begin,
                 std::size_t end,
                 float known)
        : d_build(find_build("auto"))
    {
        constexpr std::size_t lanes = 16; /* of any build */
        const std::size_t times = sources.shape(0), blocks = sources.shape(1),
                          size = sources.shape(2),
                          stride = (size + lanes - 1) / lanes * lanes;
        d_plan = { times, blocks, size, stride, sent, nullptr, begin, end, known };
        d_sources.assign(times * blocks * stride, 2);
        for (std::size_t i = 0; i < times * blocks * size; ++i) {
            const std::int32_t source = sources.data()[i];
            if (source < 0)
                continue;
            if (static_cast<std::size_t>(source >> 1) >= sent)
                throw std::invalid_argument("sources: a place is outside the LLRs");
            d_sources[i / size * stride + i % size] = 4 * (source >> 1) + (source & 1);
        }
        if (begin > end || end > size)
            throw std::invalid_argument("known bits: must be inside the block");
    }

    void run(const float_array& llr, float_array& out, int threads) const
    {
        const std::size_t n = llr.shape(0);
        if (llr.ndim() != 2 || static_cast<std::size_t>(llr.shape(1)) != d_plan.sent ||
            static_cast<std::size_t>(out.size()) != n * d_plan.blocks * d_plan.size)
            throw std::invalid_argument("recover: inconsistent array shapes");
        recovery_plan plan = d_plan;
        plan.sources = d_sources.data();
        const float* const from = llr.data();
        float* const to = out.mutable_data();
        const int team = team_size(threads);
        const py::gil_scoped_release release;
        d_build.decoders.recover(plan, n, from, to, team);
    }

private:
    const isa_build& d_build;
    recovery_plan d_plan;
    std::vector<std::int32_t> d_sources;
};

/* Return the CRC of each row, (n, count) bits, as a number. */
py::array_t<std::uint32_t>
crc(const byte_array& bits, int length, std::uint32_t polynomial)
{
    const std::size_t n = bits.shape(0), count = bits.shape(1);
    py::array_t<std::uint32_t> out(vector_shape(n));
    const bit_crc code(length, polynomial);
    const std::uint8_t* const from = bits.data();
    std::uint32_t* const to = out.mutable_data();
    const py::gil_scoped_release release;
    for (std::size_t i = 0; i < n; ++i)
        to[i] = code.remainder(from + i * count, count);
    return out;
}

/* Join the first `length` bits of the code blocks of n transport blocks, and check CRCs:
 * a pair of a CRC's length, 0 for none, and its polynomial. Return (n transport blocks
 * with their CRCs; n remainders, 0 for a correct CRC; for each code block: 1 if it was
 * found or has bits other than 0, plus 2 if its own CRC is correct). */
py::tuple join(const byte_array& bits,
               const py::array_t<bool, py::array::c_style>& found,
               std::size_t blocks,
               std::size_t length,
               std::pair<int, std::uint32_t> block_crc,
               std::pair<int, std::uint32_t> crc,
               int threads)
{
    const std::size_t count = bits.shape(0), size = bits.shape(1), n = count / blocks,
                      own = length - block_crc.first, width = blocks * own;
    if (bits.ndim() != 2 || count != n * blocks || size < length ||
        static_cast<std::size_t>(found.size()) != count)
        throw std::invalid_argument("join: inconsistent shapes");
    byte_array out({ n, width }), flags({ n, blocks });
    py::array_t<std::uint32_t> remainders(vector_shape(n));
    const bit_crc of_whole(crc.first, crc.second),
        of_block =
            block_crc.first ? bit_crc(block_crc.first, block_crc.second) : of_whole;
    const std::uint8_t* const from = bits.data();
    const bool* const known = found.data();
    std::uint8_t *const to = out.mutable_data(), *const flag = flags.mutable_data();
    std::uint32_t* const remainder = remainders.mutable_data();
    const int team = team_size(threads);
    {
        const py::gil_scoped_release release;
#pragma omp parallel num_threads(team) if (team > 1)
        {
#pragma omp for
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint8_t* const block = from + i * size;
                std::copy(block, block + own, to + i * own);
                const bool is_zero =
                    std::find(block, block + length, 1) == block + length;
                flag[i] =
                    (known[i] || !is_zero) + 2 * (of_block.remainder(block, length) == 0);
            }
#pragma omp for
            for (std::size_t i = 0; i < n; ++i)
                remainder[i] = of_whole.remainder(to + i * width, width);
        }
    }
    return py::make_tuple(out, remainders, flags);
}

} // namespace

void bind_codes(py::module_& m)
{
    py::class_<soft_decoder>(m, "SoftDecoder", py::module_local())
        .def("decode",
             &soft_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("messages").noconvert(),
             py::kw_only(),
             py::arg("most"),
             py::arg("threads"))
        .def("decide",
             &soft_decoder::decide,
             py::arg("llr").noconvert(),
             py::kw_only(),
             py::arg("most"),
             py::arg("threads"))
        .def("num_messages", &soft_decoder::num_messages)
        .def_property_readonly("isa", &soft_decoder::isa);
    py::class_<llr_recovery>(m, "Recovery", py::module_local())
        .def(py::init<const index_array&, std::size_t, std::size_t, std::size_t, float>(),
             py::arg("sources").noconvert(),
             py::kw_only(),
             py::arg("sent"),
             py::arg("begin"),
             py::arg("end"),
             py::arg("known"))
        .def("run",
             &llr_recovery::run,
             py::arg("llr").noconvert(),
             py::arg("out").noconvert(),
             py::kw_only(),
             py::arg("threads"));
    m.def("join",
          &join,
          py::arg("bits").noconvert(),
          py::arg("found").noconvert(),
          py::kw_only(),
          py::arg("blocks"),
          py::arg("length"),
          py::arg("block_crc"),
          py::arg("crc"),
          py::arg("threads"));
    m.def("crc",
          &crc,
          py::arg("bits").noconvert(),
          py::arg("length"),
          py::arg("polynomial"));
    m.def("ldpc_decoder", &ldpc_decoder);
    m.def("quasi_cyclic_decoder", &quasi_cyclic_decoder);
    m.def("turbo_decoder", &turbo_decoder);
    m.def("convolutional_decoder", &convolutional_decoder);
    /* Return {rate: which of A1 B1 A2 B2 ... are sent}. */
    py::dict rates;
    for (const puncturing& p : viterbi_rates) {
        py::tuple kept(2 * p.steps);
        for (int i = 0; i < 2 * p.steps; ++i)
            kept[i] = static_cast<int>(p.kept >> i & 1);
        rates[p.rate] = kept;
    }
    m.attr("VITERBI_RATES") = rates;
    py::class_<viterbi_decoder>(m, "ViterbiDecoder", py::module_local())
        .def(py::init<const std::string&, const std::string&>(),
             py::kw_only(),
             py::arg("rate"),
             py::arg("isa") = "auto")
        .def("decode",
             &viterbi_decoder::decode,
             py::arg("llr").noconvert(),
             py::arg("num_bits").noconvert(),
             py::kw_only(),
             py::arg("largest_mean"),
             py::arg("threads"))
        .def_property_readonly("isa", &viterbi_decoder::isa);
}

} // namespace mimopack
