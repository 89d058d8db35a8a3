/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal fields of frames, from samples */
#pragma once
#include "bindings/wifi/smoother.h"

namespace mimopack {

/* The layout of signal fields, see wifi_signals */
struct signal_layout {
    long_array data, pilots;
    float_array pilot_signs;
    long_array order;
    double_array distance;

    bool fits() const;
};

/* The signal fields that were read: a value or a row for each frame */
struct signal_results {
    std::vector<std::uint8_t> kind;          /* wifi_signal_kind */
    std::vector<std::uint8_t> first, second; /* bits: L-SIGs; HT-SIGs or VHT-SIG-As */

    explicit signal_results(std::int64_t frames);

    /* Return what the loops take, without symbols. */
    wifi_signals plan(const signal_layout& layout, const std::string& isa);

    /* Set the kind to wifi_no_signal where neither an L-SIG nor the HT-SIG of a
     * greenfield frame is valid. Clear what means nothing: equal frames shall have equal
     * results. */
    void settle();

    static constexpr std::int64_t first_bits = wifi_signal_bits / 2,
                                  second_bits = wifi_signal_bits;

private:
    bool settle(std::int64_t frame);
};

/* Frames of which the signal fields are to be read */
struct header_frames {
    const frames_of& all;
    std::int64_t frames, rows;
    const std::int64_t* starts; /* frames x windows: first samples of the windows */
    const double* cfo;          /* frames */
    const float* direct;        /* frames x rows complex */
    const float* white;         /* frames x rows x rows complex, or null */
    const std::int64_t* bins;   /* parts x legacy */
    std::int64_t parts;
};

/* Reads signal fields from samples. A reader keeps the arrays that it is given. */
class header_reader
{
public:
    header_reader(int fft,
                  const float_array& sequence,
                  std::shared_ptr<smoother> s,
                  const signal_layout& layout);

    int fft() const { return d_fft; }

    /* Read the fields, and set noise and signal (frames x rows). Windows that reach
     * beyond the samples are moved inside. The caller must not hold Python's lock. */
    signal_results read(const header_frames& from,
                        double* noise,
                        double* signal,
                        const std::string& isa) const;


    py::tuple read_symbols(const complex_array& combined,
                           const double_array& strength,
                           const std::string& isa) const;

private:
    int d_fft;
    float_array d_sequence;
    signal_layout d_layout;
    std::shared_ptr<smoother> d_smoother;
};

} // namespace mimopack
