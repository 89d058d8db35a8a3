/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Run IT++'s decoders of turbo and LDPC codes in one thread, for `mimopack bench --suite
 * codes`. The turbo decoder is max-log, the LDPC decoder is min-sum with a flooding
 * schedule. Neither stops early.
 *
 *     g++ -O3 -march=native itpp_codes.cc -litpp -o itpp_codes
 *     ./itpp_codes turbo K ITERATIONS SCALE
 *     ./itpp_codes ldpc ALIST_FILE ITERATIONS
 *
 * The program reads lines "LLRS DECISIONS N" and answers each with a line of JSON: the
 * time to decode N codewords, whose LLRs (float32, ln P(1)/P(0)) are in the file LLRS. It
 * writes a byte for each bit to the file DECISIONS, unless that is "-": information bits
 * for turbo, all bits for LDPC. The LLRs of a turbo codeword are in the order of LTE's
 * three streams. */
#include <itpp/itcomm.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace itpp;

namespace {

/* IT++'s LLRs are ln P(0)/P(1). IT++ takes bits from the three streams in turns, which is
 * also how LTE distributes tail bits over the streams. */
vec from_streams(const float* llr, int length)
{
    vec received(3 * length);
    for (int stream = 0; stream < 3; ++stream)
        for (int i = 0; i < length; ++i)
            received(3 * i + stream) = -llr[stream * length + i];
    return received;
}

struct decoder {
    int num_bits;
    std::function<vec(const float*)> prepare;
    std::function<bvec(const vec&)> decode;
};

decoder make_turbo(int size, int iterations, double scale)
{
    Turbo_Codec codec;
    const ivec generators = "11 13"; /* 013, 015 */
    codec.set_parameters(generators,
                         generators,
                         4,
                         lte_turbo_interleaver_sequence(size),
                         iterations,
                         "LOGMAX",
                         scale);
    codec.set_scaling_factor(1.0);
    return { 3 * size + 12,
             [=](const float* llr) { return from_streams(llr, size + 4); },
             [=](const vec& received) mutable {
                 bvec bits;
                 codec.decode(received, bits);
                 return bits;
             } };
}

decoder make_ldpc(const std::string& file, int iterations)
{
    LDPC_Parity checks(file, "alist");
    const auto code = std::make_shared<LDPC_Code>(&checks); /* IT++ cannot copy it */
    code->set_exit_conditions(iterations, false, false);
    code->set_llrcalc(LLR_calc_unit(12, 0, 7)); /* no table: min-sum */
    const int n = code->get_nvar();
    return { n,
             [=](const float* llr) {
                 vec received(n);
                 for (int i = 0; i < n; ++i)
                     received(i) = -llr[i];
                 return received;
             },
             [=](const vec& received) {
                 QLLRvec posterior;
                 code->bp_decode(code->get_llrcalc().to_qllr(received), posterior);
                 return posterior < 0;
             } };
}

} // namespace

int main(int argc, char** argv)
{
    const std::string code = argc > 1 ? argv[1] : "";
    if (!(code == "turbo" && argc == 5) && !(code == "ldpc" && argc == 4)) {
        std::fprintf(stderr,
                     "usage: %s turbo K ITERATIONS SCALE | ldpc ALIST_FILE ITERATIONS\n",
                     argv[0]);
        return 2;
    }
    const decoder d =
        code == "turbo"
            ? make_turbo(std::atoi(argv[2]), std::atoi(argv[3]), std::atof(argv[4]))
            : make_ldpc(argv[2], std::atoi(argv[3]));

    std::printf("{\"name\": \"IT++\"}\n"); /* Debian's itpp_version() is empty */
    std::fflush(stdout);
    std::string llrs, decisions;
    std::size_t n;
    while (std::cin >> llrs >> decisions >> n) {
        std::vector<float> llr(n * d.num_bits);
        std::ifstream(llrs, std::ios::binary)
            .read(reinterpret_cast<char*>(llr.data()), llr.size() * sizeof(float));
        std::vector<vec> received(n);
        for (std::size_t i = 0; i < n; ++i)
            received[i] = d.prepare(&llr[i * d.num_bits]);
        std::vector<bvec> bits(n);
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < n; ++i)
            bits[i] = d.decode(received[i]);
        const std::chrono::duration<double> elapsed =
            std::chrono::steady_clock::now() - start;
        if (decisions != "-") {
            std::ofstream out(decisions, std::ios::binary);
            for (const bvec& word : bits)
                for (int i = 0; i < word.size(); ++i)
                    out.put(static_cast<bool>(word(i)));
        }
        std::printf("{\"seconds\": %.9f, \"vectors\": %zu}\n", elapsed.count(), n);
        std::fflush(stdout);
    }
}
