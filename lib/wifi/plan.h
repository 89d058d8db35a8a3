/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs and outputs of the Wi-Fi receiver's inner loops, and the table of each
 * instruction set's build of them. Complex numbers are pairs of floats, and arrays are in
 * C's order.
 *
 * A comment beside an array gives its shape, and behind a colon its contents. */
#pragma once
#include "cpu/plan.h"

namespace mimopack {

constexpr int wifi_max_rows = 8;    /* antennas of a receiver */
constexpr int wifi_max_columns = 8; /* streams */

/* Samples of a frame's antennas */
struct wifi_samples {
    const float* data;           /* rows x length complex */
    std::int64_t length, stride; /* length >= 1; complex samples from row to row */
};

/* Correlation of blocks of samples, each with the next block */
struct wifi_correlation {
    std::int64_t rows, blocks, block;
    std::int64_t stride;  /* complex samples from row to row */
    const float* samples; /* rows x blocks * block complex */
    std::int64_t apart;   /* blocks from row to row of both outputs */
    float* energy;        /* rows x blocks, without the block's mean */
    float* lag; /* rows x blocks - 1 complex: sum x[i] conj(x[i + block]), without the
                   mean */
};

/* Normalised correlations over `window` blocks: the mean over rows of the lags' sum over
 * the root of both energies' product. */
struct wifi_metric {
    std::int64_t rows, size; /* windows, one from each block on */
    int window;
    const float* energy; /* rows x size + window */
    const float* lag;    /* rows x size + window - 1 complex */
    std::int64_t apart;  /* blocks from row to row of both */
    float* mean;         /* size complex */
    float* square;       /* size: |mean|^2 */
};

/* A preamble is looked for from the best window of the short training field on. The
 * search needs this number of samples at a sample rate of `scale` times 20 MS/s. Channels
 * have 52 subcarriers in each 20 MHz. */
constexpr int wifi_legacy = 52;
constexpr int wifi_max_parts = 8;
constexpr std::int64_t wifi_preamble_samples(int scale) { return 334 * scale; }

/* How a long training field behind a short one is looked for */
struct wifi_acquisition {
    std::int64_t rows;
    wifi_samples from;
    int scale, parts;         /* parts of 20 MHz */
    int turns;                /* periods of the lag's phase searched to each side */
    const std::int64_t* bins; /* parts x legacy, of an FFT of 64 scale */
    const float* sequence;    /* legacy: the long training field */
    const float* reference;   /* parts x 64 scale complex: its conjugate samples */
};

enum wifi_signal_kind : std::uint8_t {
    wifi_no_signal = 0,     /* neither a valid L-SIG nor a greenfield frame's HT-SIG */
    wifi_greenfield = 1,    /* the HT-SIG of a greenfield frame was read */
    wifi_l_sig = 2,         /* an L-SIG was read; further flags: */
    wifi_second_turned = 4, /* the symbol behind the L-SIG is turned, like an HT-SIG */
    wifi_third_turned = 8,  /* the next symbol is turned, as in HT and VHT */
    wifi_repeated = 16,     /* the L-SIG comes twice */
    wifi_he_signal = 32,    /* an HE-SIG-A was read */
    wifi_he_extended = 64   /* its symbols come twice, as in HE ER SU */
};

/* Signal fields lie in the three symbols behind the L-LTF: BPSK, in some symbols turned
 * by 90 degrees. A symbol has 48 coded bits of rate 1/2. */
constexpr int wifi_signal_bits = 48, wifi_signal_symbols = 3;
constexpr int wifi_header_windows = 2 + wifi_signal_symbols; /* halves of the L-LTF too */
constexpr int wifi_field_bits = 24 + 48; /* L-SIG, and HT-SIG, VHT-SIG-A or HE-SIG-A */

/* In HE frames, the L-SIG comes twice, and up to four symbols of the HE-SIG-A follow.
 * They have two more subcarriers on each side, whose signs in the L-SIG are known. */
constexpr int wifi_he_symbols = 6, wifi_he_carriers = wifi_legacy + 4;
constexpr int wifi_he_bits = 52; /* coded bits of a symbol */
constexpr int wifi_he_windows = 2 + wifi_he_symbols;

/* A preamble: at first only its likely place, later what was found there */
struct wifi_preamble {
    std::int64_t place; /* the best window of the short field, in the samples */
    float lag[2];       /* sum x[n] conj(x[n + period]) there */
    /* Results of acquire(). start and window count from the place: the first samples of
     * the short field and of the long field's first FFT window. */
    std::int64_t part; /* a bit for each part of 20 MHz that holds the preamble */
    std::int64_t start, window;
    double cfo;                      /* cycles per sample */
    float direct[2 * wifi_max_rows]; /* direct current, or 0 */
    /* Results of headers() */
    double noise[wifi_max_rows], signal[wifi_max_rows]; /* power per carrier */
    std::uint8_t kind;                                  /* wifi_signal_kind */
    std::uint8_t fields[wifi_field_bits];               /* 0 where a field was not read */
};

/* Where signal fields have their bits */
struct wifi_signal_layout {
    const std::int64_t* data;     /* signal_bits: places among the legacy subcarriers */
    const std::int64_t* pilots;   /* 4: places among the legacy subcarriers */
    const float* pilot_signs;     /* he_symbols x 4 */
    const std::int64_t* order;    /* signal_bits: where a coded bit is sent */
    const std::int64_t* he_order; /* he_bits: the same in an HE-SIG-A */
    const double* distance;       /* he_symbols: samples from the middle of the L-LTF */
};

/* The symbols of a frame's signal fields through a matched filter, and what they say */
struct wifi_signal {
    float symbols[wifi_signal_symbols][2 * wifi_legacy]; /* complex */
    double strength;                                     /* sum of |H|^2 over the noise */
    std::uint8_t kind;
    std::uint8_t fields[wifi_field_bits];
};

/* How headers are read. All preambles of a call lie in the same parts of 20 MHz. */
struct wifi_smoother;
struct wifi_headers {
    std::int64_t rows, parts;
    int fft;
    wifi_samples from;
    const std::int64_t* windows; /* he_windows: from the long field's first one on */
    const float* white;          /* preambles x rows x rows complex, or null */
    const std::int64_t* bins;    /* parts x legacy */
    const float* sequence;       /* legacy: the long training field */
    const wifi_smoother* smoother;
    wifi_signal_layout layout;
};

/* A frame's LLRs as integers for the Viterbi decoder, encoder after encoder. */
struct wifi_rounding {
    std::int64_t carriers, symbols, bits, coded, encoders;
    /* Coded bits in a symbol, and in each of the last `block` symbols */
    std::int64_t sent, last, block;
    std::int64_t used;          /* integers of an encoder that are decoded */
    const float* llr;           /* carriers x symbols x bits; NaN and Inf count as 0 */
    const std::int64_t* source; /* coded: carrier * bits + bit, encoder after encoder */
    int rate;                   /* place in viterbi_rates */
    float largest_mean;
    std::int8_t* scratch; /* carriers * symbols * bits + 16 */
    std::int8_t* out;     /* encoders x used; written up to symbols * coded */
};

/* FFTs of a frame's windows */
struct wifi_spectra {
    std::int64_t rows, windows, num_bins;
    int fft;
    wifi_samples from;
    const float* direct;        /* rows complex: direct current, to be subtracted */
    double cfo;                 /* cycles per sample, to be taken out */
    const std::int64_t* starts; /* windows; moved inside of the samples */
    const std::int64_t* bins;   /* of 0 .. fft - 1 */
    const float* white;         /* rows x rows complex, or null */
    const float* scale;         /* rows: factors of the spectra, or null */
    float* out;                 /* rows x windows x num_bins complex */
};

/* Values are padded with zeros to a multiple of this, for lanes of any width. */
constexpr std::int64_t wifi_padding = 80;
MP_FN constexpr std::int64_t wifi_padded(std::int64_t size)
{
    return (size + wifi_padding - 1) / wifi_padding * wifi_padding;
}

/* Delays after which the inner factor of the transform to delays repeats */
constexpr std::int64_t wifi_period = 16;

/* Two real matrices that smooth channels, and the share of the noise that remains */
struct wifi_filter {
    std::int64_t rank;
    const float* analysis;  /* carriers x padded(rank) */
    const float* synthesis; /* rank x padded(wanted) */
    double error;
};

/* Rules for paths and for the choice of a filter. Delays count samples at 20 MS/s. */
struct wifi_delay_rules {
    double lobe;          /* width of the transform's window */
    double longest;       /* longest extent that is smoothed */
    double margin;        /* delays beyond the outermost paths */
    double margin_per_db; /* additional delays for each dB of SNR above 15 dB */
    double sidelobe;      /* power of the window's sidelobe over the power of its path */
    double step, step_db; /* steps of the filters' widths and SNRs */
};

/* Smoothing of some subcarriers' channels within their delay spread */
struct wifi_smoother {
    std::int64_t carriers, wanted, delays;
    const std::int64_t *k, *wanted_k; /* their numbers, ascending */
    int density;                      /* subcarriers in 312.5 kHz */
    int apart; /* places from a subcarrier to the one that is 312.5 kHz above it */
    const double* delay; /* delays, ascending, as steps of one length */
    /* The transform to delays, see _delay_transform in wifi/smoothing.py */
    std::int64_t points, block;
    const std::int64_t* place; /* points */
    const float* weights;      /* points x 2 */
    const float* inner;        /* turns x 2 x wifi_period: real and imaginary parts */
    const float *re, *im;      /* block x padded(delays): the outer factor */
    wifi_delay_rules rules;
    /* Return a filter for a spread of paths and an SNR, in steps of the rules. */
    wifi_filter (*find)(const void* bank, int width, int level);
    const void* bank;
};

/* Least squares estimates to be smoothed */
struct wifi_estimates {
    const wifi_smoother* smoother;
    std::int64_t frames, rows;
    const float* channel; /* frames x carriers x rows complex */
    double noise;         /* variance of the estimates' noise */
    bool smooth;          /* false: find paths only */
    float* out;           /* frames x wanted x rows complex */
    double* error;        /* frames: variance of the error over the noise */
    std::int64_t* done;   /* frames: 1 for a smoothed channel; 0 without output */
    double* paths; /* frames x 64: power at delays -32 ... 31, samples at 20 MS/s */
};

/* Channel matrices of a frame */
struct wifi_channels {
    std::int64_t matrices;
    int rows, columns;
    const float* h;      /* matrices x rows x columns complex */
    const double* noise; /* rows: the matrices are divided by its root */
};

/* A frame's received vectors compared with the nearest points, after an MMSE estimate. At
 * most eight of the vectors count, evenly spread. */
struct wifi_errors {
    std::int64_t carriers, vectors; /* vectors with each carrier's matrix */
    int rows, columns;
    const std::int64_t* sides; /* columns: points of a square QAM's axis; 1 is BPSK */
    const float* y;            /* carriers x vectors x rows complex */
    const float* h;            /* carriers x rows x columns complex */
    float noise;
    float* error; /* columns: mean of the squared distances */
};

/* The common properties of frames of one format. Windows and starts count samples at 20
 * MS/s from the FFT window of the L-LTF's first half on. */
struct wifi_format {
    int fft, scale;          /* samples of a symbol; sample rate over 20 MS/s */
    int legacy_fft, ltf_fft; /* samples of half an L-LTF, and of a later training field */
    /* Subcarriers: of the L-LTF, of later training fields, with a channel, in use, and
     * with data */
    std::int64_t legacy, sounded, trained, carriers, data;
    std::int64_t streams, num_pilots;
    std::int64_t num_ltf;                              /* 0 if the L-LTF trains */
    const std::int64_t *legacy_bins, *ltf_bins, *bins; /* legacy, sounded, carriers */
    const std::int64_t* sounded_place; /* sounded: places among the trained; null: all */
    const std::int64_t* k;             /* carriers: their numbers, ascending */
    const std::int64_t* band_k;        /* carriers: numbers in the band of the samples */
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const std::int64_t* places;        /* data of the carriers */
    const std::int64_t *pilot_places,
        *pilot_k;              /* num_pilots: of the carriers, and numbers */
    const float* pilots;       /* pilot_period x num_pilots x streams, then again */
    std::int64_t pilot_period; /* symbols */
    std::int64_t data_start,
        symbol;                     /* window of the first symbol; from one to the next */
    double training_middle;         /* middle of the training fields */
    bool greenfield;                /* the first training field comes twice */
    const std::int64_t* ltf_starts; /* num_ltf, one more in greenfield frames */
    /* Factors of the training fields over their number, conjugate: of each stream
     * (streams x num_ltf complex), and where all streams send the same (num_ltf) */
    const float *mapping, *shared_mapping;
    const std::uint8_t* shared;    /* trained: 1 if all streams send the same; or null */
    const float *turn, *untrained; /* trained x streams complex: what shifts and parts do;
                                      its conjugate times the training sequence */
    double share;                  /* noise of an estimate over that of a symbol */
    bool smoothing, short_gi;
    const wifi_smoother* smoother;
    const std::int64_t*
        trained_here; /* the smoother's among the trained carriers; null: all */
    /* The same for frames whose data train too */
    const wifi_smoother* refined_smoother;
    const std::int64_t* refined_here;
    std::int64_t signal_b;              /* window of the VHT-SIG-B, or -1 */
    const float* signal_b_signs;        /* streams */
    const std::int64_t* signal_b_order; /* data carriers of its bits, copy after copy */
    std::int64_t signal_b_coded,
        signal_b_copies;       /* coded bits; each comes in all copies */
    const std::int64_t* sides; /* streams: points of the constellation's axis */

    /* Return the distance of symbol t from the middle of the training, in samples. */
    MP_FN double distance(std::int64_t t) const
    {
        const double half = 0.5 * fft / scale;
        return (static_cast<double>(data_start + symbol * t) + half - training_middle) *
               scale;
    }
    /* Return the bits of the VHT-SIG-B without its tail. */
    MP_FN std::int64_t signal_b_bits() const
    {
        return signal_b < 0 ? 0 : signal_b_coded / 2 - 6;
    }
};

/* A frame from its samples to received vectors, channel and noise */
struct wifi_frame {
    wifi_samples from;
    std::int64_t first;   /* sample from which windows count */
    double cfo;           /* cycles per sample */
    const float* white;   /* rows x rows complex, or null */
    std::int64_t symbols; /* of data */
    /* A part of a frame, from a midamble on: how much later its windows are, in samples
     * at 20 MS/s, and the number of its first symbol in the frame; else 0 */
    std::int64_t later, first_symbol;
    /* Memory for results */
    float* vectors;              /* data x symbols x rows complex */
    float* whitened;             /* data x rows x streams complex */
    float* channel;              /* trained x rows x streams complex, without turns */
    float* received;             /* rows x symbols x carriers complex, over the noise */
    float* least_squares;        /* like channel, over the noise */
    double* phase;               /* symbols: radians */
    float* signal_b;             /* data: LLRs of the VHT-SIG-B */
    std::uint8_t* signal_b_bits; /* the VHT-SIG-B without its tail */
    /* Results */
    double noise_var;            /* noise of the vectors and the channel */
    double noise[wifi_max_rows]; /* power in a subcarrier */
    double offset, step; /* of the sampling clock; mean turn from symbol to symbol */
    std::int64_t delay;  /* delay of the first path, samples at 20 MS/s */
    float error[wifi_max_columns]; /* error vectors of the streams, see wifi_errors */
    double condition;              /* see wifi_build */
};

struct wifi_build {
    const char* name; /* name of its isa_build */
    void (*correlate)(const wifi_correlation&);
    void (*metric)(const wifi_metric&);
    void (*acquire)(const wifi_acquisition&, wifi_preamble*, std::int64_t count);
    void (*headers)(const wifi_headers&, wifi_preamble* const*, std::int64_t count);
    void (*read)(const wifi_signal_layout&, wifi_signal*, std::int64_t count);
    void (*round)(const wifi_rounding&);
    /* Find a receiver's direct current in a frame of FFTs of this size: the mean of the
     * samples, or 0 where the mean may belong to the signal. */
    void (*direct)(
        const wifi_samples&, std::int64_t rows, double cfo, int fft, float* direct);
    void (*spectra)(const wifi_spectra&);
    /* Return the mean condition number in dB; 0 for one column, NaN for more columns than
     * rows. */
    double (*condition)(const wifi_channels&);
    void (*errors)(const wifi_errors&);
    /* Demodulate a frame again, with its decoded symbols as further training. points:
     * streams x symbols x carriers complex. `before` needs symbols, channel, noise,
     * received and least_squares; `after` gets the others but signal_b and what only the
     * first pass finds. offset and step are those that remain. */
    void (*refine)(const wifi_format&,
                   std::int64_t rows,
                   const wifi_frame& before,
                   const float* points,
                   wifi_frame& after);
    void (*smooth_channels)(const wifi_estimates&);
    void (*demodulate)(const wifi_format&,
                       std::int64_t rows,
                       wifi_frame* const*,
                       std::int64_t count);
};

} // namespace mimopack
