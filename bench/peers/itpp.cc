/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Times IT++'s soft MIMO detectors (ND_UQAM) for `mimopack bench`: one thread, one
 * channel matrix per vector, detection alone.
 *
 *     g++ -O3 -march=native itpp.cc -litpp -o itpp
 *     ./itpp NT BITS_PER_SYMBOL NOISE_VAR SECONDS
 *
 * Prints one JSON object per method: vectors per second (median of five runs) and BER. */
#include <itpp/itcomm.h>
#include <itpp/itstat.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace itpp;

int main(int argc, char** argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s NT BITS_PER_SYMBOL NOISE_VAR SECONDS\n", argv[0]);
        return 2;
    }
    const int nt = std::atoi(argv[1]), bits = std::atoi(argv[2]);
    const double noise_var = std::atof(argv[3]), seconds = std::atof(argv[4]);
    RNG_reset(1);
    ND_UQAM channel;
    channel.set_M(nt, 1 << bits);

    const struct {
        const char* name;
        int method;
        int vectors;
    } methods[] = { { "FULL_ENUM_MAXLOG", ND_UQAM::FULL_ENUM_MAXLOG, 20 },
                    { "FULL_ENUM_LOGMAP", ND_UQAM::FULL_ENUM_LOGMAP, 20 },
                    { "ZF_LOGMAP", ND_UQAM::ZF_LOGMAP, 5000 } };
    for (const auto& m : methods) {
        std::vector<cmat> h(m.vectors);
        std::vector<cvec> y(m.vectors);
        std::vector<bvec> sent(m.vectors);
        for (int i = 0; i < m.vectors; ++i) {
            h[i] = randn_c(nt, nt);
            sent[i] = randb(nt * bits);
            y[i] = h[i] * channel.modulate_bits(sent[i]) +
                   std::sqrt(noise_var) * randn_c(nt);
        }
        QLLRvec prior(nt * bits), llr(nt * bits);
        prior.zeros();
        std::vector<double> rates;
        long errors = 0, counted = 0;
        for (int run = 0; run < 5; ++run) {
            long done = 0;
            double elapsed = 0;
            while (elapsed < seconds / 5) {
                const auto start = std::chrono::steady_clock::now();
                for (int i = 0; i < m.vectors; ++i) {
                    channel.demodulate_soft_bits(
                        y[i],
                        h[i],
                        noise_var,
                        prior,
                        llr,
                        static_cast<ND_UQAM::Soft_Demod_Method>(m.method));
                    if (done == 0)
                        for (int b = 0; b < nt * bits; ++b, ++counted)
                            errors += (llr(b) < 0) != static_cast<bool>(sent[i](b));
                }
                elapsed += std::chrono::duration<double>(
                               std::chrono::steady_clock::now() - start)
                               .count();
                done += m.vectors;
            }
            rates.push_back(done / elapsed);
        }
        std::nth_element(rates.begin(), rates.begin() + 2, rates.end());
        std::printf("{\"method\": \"%s\", \"vectors_per_s\": %.6g, \"ber\": %.4g}\n",
                    m.name,
                    rates[2],
                    static_cast<double>(errors) / counted);
    }
}
