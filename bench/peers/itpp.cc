/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Time IT++'s soft MIMO detectors (ND_UQAM) for `mimopack bench`: one thread, one
 * channel matrix per vector, detection only.
 *
 *     g++ -O3 -march=native itpp.cc -litpp -o itpp
 *     ./itpp NT BITS_PER_SYMBOL NOISE_VAR
 *
 * The program reads lines "METHOD N" and answers each with a line of JSON: the time for N
 * vectors and their bit errors. */
#include <itpp/itcomm.h>
#include <itpp/itstat.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace itpp;

int main(int argc, char** argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s NT BITS_PER_SYMBOL NOISE_VAR\n", argv[0]);
        return 2;
    }
    const int nt = std::atoi(argv[1]), bits = std::atoi(argv[2]);
    const double noise_var = std::atof(argv[3]);
    const std::map<std::string, ND_UQAM::Soft_Demod_Method> methods = {
        { "FULL_ENUM_MAXLOG", ND_UQAM::FULL_ENUM_MAXLOG },
        { "FULL_ENUM_LOGMAP", ND_UQAM::FULL_ENUM_LOGMAP },
        { "ZF_LOGMAP", ND_UQAM::ZF_LOGMAP }
    };
    RNG_reset(1);
    ND_UQAM channel;
    channel.set_M(nt, 1 << bits);
    std::vector<cmat> h;
    std::vector<cvec> y;
    std::vector<bvec> sent;
    QLLRvec prior(nt * bits), llr(nt * bits);
    prior.zeros();

    std::printf("{\"name\": \"IT++\"}\n"); /* Debian's itpp_version() is empty */
    std::fflush(stdout);
    std::string name;
    std::size_t n;
    while (std::cin >> name >> n) {
        while (y.size() < n) {
            h.push_back(randn_c(nt, nt));
            sent.push_back(randb(nt * bits));
            y.push_back(h.back() * channel.modulate_bits(sent.back()) +
                        std::sqrt(noise_var) * randn_c(nt));
        }
        const auto method = methods.at(name);
        std::vector<QLLRvec> results(n);
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < n; ++i) {
            channel.demodulate_soft_bits(y[i], h[i], noise_var, prior, llr, method);
            results[i] = llr;
        }
        const std::chrono::duration<double> elapsed =
            std::chrono::steady_clock::now() - start;
        long errors = 0, squared = 0;
        for (std::size_t i = 0; i < n; ++i) {
            long wrong = 0;
            for (int b = 0; b < nt * bits; ++b)
                wrong += (results[i](b) < 0) != static_cast<bool>(sent[i](b));
            errors += wrong;
            squared += wrong * wrong;
        }
        std::printf("{\"seconds\": %.9g, \"vectors\": %zu, \"errors\": %ld, "
                    "\"errors_squared\": %ld}\n",
                    elapsed.count(),
                    n,
                    errors,
                    squared);
        std::fflush(stdout);
    }
}
