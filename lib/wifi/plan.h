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

/* Samples of frames. */
struct wifi_frames {
    const float* const* samples; /* frames: rows x length complex */
    const std::int64_t* length;  /* frames, 1 or more */
    const std::int64_t* stride;  /* frames: complex samples from row to row */
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
constexpr int wifi_max_parts = 4;
constexpr std::int64_t wifi_preamble_samples(int scale) { return 334 * scale; }

/* Pieces of a stream that may hold a long training field behind a short one. */
struct wifi_acquisition {
    std::int64_t pieces, rows;
    std::int64_t stride;        /* complex samples from row to row */
    const float* samples;       /* rows x stride complex */
    const std::int64_t* starts; /* pieces */
    const float* lag;           /* pieces complex: sum x[n] conj(x[n + period]) */
    int scale, parts;           /* parts of 20 MHz */
    int turns;                  /* periods of the lag's phase searched to each side */
    const std::int64_t* bins;   /* parts x legacy, of an FFT of 64 scale */
    const float* sequence;      /* legacy: the long training field */
    const float* reference;     /* parts x 64 scale complex: its conjugate samples */
    /* Results, a value (or row) for each piece */
    std::int64_t* part;   /* a bit for each part of 20 MHz that holds the preamble */
    std::int64_t* start;  /* first sample of the short field, from the piece's start */
    std::int64_t* window; /* first sample of the long field's first FFT window */
    double* cfo;          /* cycles per sample */
    float* direct;        /* rows complex: direct current, or 0 */
};

/* Best places of windows in channels with paths at delays -32 ... 31 */
struct wifi_shifts {
    std::int64_t channels;
    int guard;
    const double* power; /* channels x 64 */
    std::int64_t* shift; /* channels: where the fewest other symbols reach in */
};

/* Spectra of the long training field's halves and of the symbols behind it. */
struct wifi_training {
    std::int64_t frames, rows, windows; /* two halves, and symbols */
    std::int64_t parts, carriers;       /* parts of 20 MHz, and carriers of each */
    const float* spectra;  /* frames x rows x windows x parts x carriers complex */
    const float* sequence; /* carriers */
    double* noise;         /* frames x rows: power per carrier */
    double* signal;        /* frames x rows: power per carrier without the noise */
    float* channel;        /* frames x carriers x parts x rows complex, over the noise */
};

/* Symbols through matched filters, over antennas and parts of 20 MHz. */
struct wifi_combination {
    std::int64_t frames, rows, windows, parts, carriers; /* of a part */
    const float* spectra; /* frames x rows x windows x parts x carriers complex */
    const float* channel; /* frames x carriers x parts x rows complex, over the noise */
    const double* noise;  /* frames x rows */
    float* out;           /* frames x windows - 2 x carriers complex */
    double* strength; /* frames: sum of |channel|^2, or of the first symbol's magnitudes
                         if this sum is smaller */
};

/* The three symbols behind the L-LTF, which hold the signal fields: BPSK, in some symbols
 * turned by 90 degrees */
constexpr int wifi_signal_bits =
    48; /* coded bits of a symbol; half of them with rate 1/2 */
struct wifi_signals {
    std::int64_t frames;
    const float* combined;    /* frames x 3 x legacy complex, through a matched filter */
    const double* strength;   /* frames: sum of |H|^2 over the noise */
    const std::int64_t* data; /* signal_bits: places among the legacy subcarriers */
    const std::int64_t* pilots; /* 4: places among the legacy subcarriers */
    const float* pilot_signs;   /* 3 x 4 */
    const std::int64_t* order;  /* signal_bits: where a coded bit is sent */
    const double* distance;     /* 3: samples from the middle of the L-LTF */
    /* Decode blocks of rate 1/2 from state 0 to state 0. Block i has num_bits[i] bits and
     * six zeros. */
    void (*decode)(const void* decoder,
                   const float* llr,
                   const std::int64_t* num_bits,
                   std::int64_t blocks,
                   std::uint8_t* bits);
    const void* decoder;
    /* Results, a row for each frame */
    std::uint8_t* first;  /* signal_bits / 2: the L-SIG */
    std::uint8_t* second; /* signal_bits: HT-SIG, or VHT-SIG-A */
    std::uint8_t* kind;   /* wifi_signal_kind */
};

/* Frames up to their signal fields: spectra, training, smoothing, combining, reading. */
struct wifi_smoother;
struct wifi_headers {
    std::int64_t frames, rows, parts;
    int fft;
    wifi_frames from;
    const float* direct; /* frames x rows complex: direct current, to be subtracted */
    const double* cfo;   /* frames, cycles per sample */
    const std::int64_t* starts; /* frames x windows */
    const float* white;         /* frames x rows x rows complex, or null */
    const std::int64_t* bins;   /* parts x legacy */
    const float* sequence;      /* legacy: the long training field */
    const wifi_smoother* smoother;
    wifi_signals signals;   /* combined and strength are set from the samples */
    double *noise, *signal; /* frames x rows: power per carrier, without whitening */
};
constexpr std::int64_t wifi_header_windows = 5; /* the L-LTF's halves and three symbols */

enum wifi_signal_kind : std::uint8_t {
    wifi_no_signal = 0,     /* neither an L-SIG nor a greenfield frame */
    wifi_greenfield = 1,    /* second may be the HT-SIG of a greenfield frame */
    wifi_l_sig = 2,         /* first was read; further flags: */
    wifi_second_turned = 4, /* the symbol behind the L-SIG is turned, like an HT-SIG */
    wifi_third_turned =
        8, /* the symbol behind it is turned, as in HT and VHT; second was read */
    wifi_repeated = 16 /* the L-SIG comes twice */
};

/* LLRs in the order of a code. */
struct wifi_order {
    std::int64_t frames, carriers, symbols, bits, coded;
    const float* llr;           /* frames x carriers x symbols x bits */
    const std::int64_t* source; /* coded: carrier * bits + bit */
    float* out;                 /* frames x symbols x coded; 0 in place of NaN and Inf */
};

/* A frame's LLRs as integers for the Viterbi decoder, encoder after encoder. */
struct wifi_rounding {
    std::int64_t carriers, symbols, bits, coded, encoders;
    std::int64_t used;          /* integers of an encoder that are decoded */
    const float* llr;           /* carriers x symbols x bits; NaN and Inf count as 0 */
    const std::int64_t* source; /* coded: carrier * bits + bit, encoder after encoder */
    int rate;                   /* place in viterbi_rates */
    float largest_mean;
    std::int8_t* scratch; /* carriers * symbols * bits + 16 */
    std::int8_t* out;     /* encoders x used; written up to symbols * coded */
};

/* Known subcarriers of frames, and their turns by sampling clock and oscillator */
struct wifi_tracking {
    std::int64_t frames, symbols, carriers;
    int fft;                /* samples of a symbol without guard interval */
    const float* known;     /* frames x symbols x carriers complex: received times the
                               conjugate of what is expected, over the noise */
    const std::int64_t* k;  /* carriers: their numbers, ascending */
    const double* distance; /* symbols: samples from the middle of the training */
    const double* before;   /* frames: sampling offsets to be taken out first */
    double* offset;         /* frames: remaining sampling offsets */
    double* phase;          /* frames x symbols, radians; or null */
};

/* Means of samples. */
struct wifi_means {
    std::int64_t frames, rows;
    wifi_frames from;
    float* mean;  /* frames x rows complex */
    float* power; /* frames x rows: mean of the squares */
};

/* FFTs of windows of frames. */
struct wifi_spectra {
    std::int64_t frames, rows, windows, num_bins;
    int fft;
    wifi_frames from;
    const float* direct; /* frames x rows complex: direct current, to be subtracted */
    const double* cfo;   /* frames: cycles per sample, to be taken out */
    const std::int64_t* starts; /* frames x windows, of 0 .. length - fft */
    const std::int64_t* bins;   /* of 0 .. fft - 1 */
    const float* scale;         /* frames x rows: factors of the spectra */
    float* out;                 /* frames x rows x windows x num_bins complex */
};

/* Power over delays of channels without their mean delays. */
struct wifi_profiles {
    std::int64_t frames, carriers, rows, delays;
    const float* channel;   /* frames x carriers x rows complex */
    const std::int64_t* k;  /* carriers: their numbers, ascending */
    double step;            /* mean delays are multiples of it, in samples at 20 MS/s */
    const float* transform; /* carriers x delays complex */
    float* turned;          /* like channel, without the mean delay */
    double* mean;           /* frames */
    float* power;           /* frames x delays: mean over rows */
    double* strength;       /* frames: mean of |channel|^2 */
};

/* The delays between which a channel's paths lie */
struct wifi_extents {
    std::int64_t frames, delays;
    const float* power;   /* frames x delays */
    const double* least;  /* frames: least power of a path */
    const double* margin; /* frames: room for weaker paths outside */
    const double* delay;  /* delays, ascending, as steps of one length */
    double lobe;          /* a sample of the transform's window, in delays */
    double longest;       /* longest extent that is used */
    double *first, *last; /* frames; 0 without a path */
    std::int64_t* usable; /* frames */
};

/* Channels through two real matrices each. */
struct wifi_smoothing {
    std::int64_t frames, carriers, wanted, rows;
    const float* channel; /* frames x carriers x rows complex */
    const std::int64_t *k, *wanted_k;
    const double *before, *after;  /* frames: delays taken out before, and put in after */
    const std::int64_t* rank;      /* frames; nothing is written for rank 0 */
    const float* const* analysis;  /* frames: rank x carriers */
    const float* const* synthesis; /* frames: wanted x rank */
    float* out;                    /* frames x wanted x rows complex */
};

/* Two real matrices that smooth channels, and the share of the noise that remains */
struct wifi_filter {
    std::int64_t rank;
    const float* analysis;  /* rank x carriers */
    const float* synthesis; /* wanted x rank */
    double error;
};

/* Rules for paths and for the choice of a filter. Delays count samples at 20 MS/s. */
struct wifi_delay_rules {
    double lobe;          /* as in wifi_extents */
    double longest;       /* as in wifi_extents */
    double margin;        /* delays beyond the outermost paths */
    double margin_per_db; /* additional delays for each dB of SNR above 15 dB */
    double sidelobe;      /* power of the window's sidelobe over the power of its path */
    double step, step_db; /* steps of the filters' widths and SNRs */
};

/* Smoothing of some subcarriers' channels within their delay spread */
struct wifi_smoother {
    std::int64_t carriers, wanted, delays;
    const std::int64_t *k, *wanted_k; /* their numbers, ascending */
    const double* delay;              /* delays, ascending, as steps of one length */
    const float* transform;           /* carriers x delays complex */
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

/* Channel matrices of rows x columns. */
struct wifi_channels {
    std::int64_t matrices;
    int rows, columns;
    const float* h; /* matrices x rows x columns complex */
    float* ratio;   /* largest singular value over the least, squared */
};

/* Received vectors of frames compared with the nearest points, after an MMSE estimate */
struct wifi_errors {
    std::int64_t frames, carriers, vectors; /* vectors with each carrier's matrix */
    int rows, columns;
    const std::int64_t* sides;  /* columns: points of a square QAM's axis; 1 is BPSK */
    const std::int64_t* chosen; /* num_chosen of the vectors */
    std::int64_t num_chosen;
    const float* y;     /* frames x carriers x vectors x rows complex */
    const float* h;     /* frames x carriers x rows x columns complex */
    const float* noise; /* frames */
    float* error;       /* frames x columns: mean of the squared distances */
};

constexpr int wifi_max_columns = 8;

/* The common properties of frames of one format. Windows and starts count samples at 20
 * MS/s from the FFT window of the L-LTF's first half on. */
struct wifi_format {
    int fft, scale; /* samples of a symbol; sample rate over 20 MS/s */
    /* Subcarriers: of the L-LTF, with a channel, in use, and with data */
    std::int64_t legacy, trained, carriers, data;
    std::int64_t streams, num_pilots;
    std::int64_t num_ltf;                              /* 0 if the L-LTF trains */
    const std::int64_t *legacy_bins, *ltf_bins, *bins; /* legacy, trained, carriers */
    const std::int64_t* k;             /* carriers: their numbers, ascending */
    const std::int64_t* band_k;        /* carriers: numbers in the band of the samples */
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const std::int64_t* places;        /* data of the carriers */
    const std::int64_t *pilot_places,
        *pilot_k;               /* num_pilots: of the carriers, and numbers */
    const float* pilots;       /* pilot_period x num_pilots x streams, then again */
    std::int64_t pilot_period; /* symbols */
    std::int64_t data_start, symbol; /* window of the first symbol; from one to the next */
    double training_middle;          /* middle of the training fields */
    bool greenfield;                 /* the first training field comes twice */
    const std::int64_t* ltf_starts; /* num_ltf, one more in greenfield frames */
    const float* mapping;           /* streams x num_ltf: signs over their number */
    const std::uint8_t* shared;     /* trained: 1 if all streams send the same; or null */
    const float *turn, *untrained; /* trained x streams complex: what shifts and parts do;
                                      its conjugate times the training sequence */
    double share;                  /* noise of an estimate over that of a symbol */
    bool smoothing, short_gi;
    const wifi_smoother* smoother;
    const std::int64_t*
        trained_here;      /* the smoother's among the trained carriers; null: all */
    std::int64_t signal_b; /* window of the VHT-SIG-B, or -1 */
    const float* signal_b_signs; /* streams */
};

/* Frames from their samples to received vectors, channels and noise. */
struct wifi_demodulation {
    const wifi_format* format;
    std::int64_t frames, rows;
    const std::int64_t* symbols; /* frames: their data symbols */
    wifi_frames from;
    const std::int64_t* first; /* frames: samples from which windows count */
    const double* cfo;         /* frames, cycles per sample */
    const float* direct;    /* frames x rows complex: direct current, to be subtracted */
    const float* white;     /* frames x rows x rows complex, or null */
    float* vectors;         /* of each frame: data x symbols x rows complex */
    float* whitened;        /* frames x data x rows x streams complex */
    double* noise_var;      /* frames: noise of the vectors and the channel */
    float* channel;         /* frames x trained x rows x streams complex, without turns */
    double* noise;          /* frames x rows: power in a subcarrier */
    double *offset, *phase; /* frames; of each frame: symbols, radians */
    std::int64_t* delay;    /* frames: delay of the first path, samples at 20 MS/s */
    float* signal_b;        /* frames x data: LLRs of the VHT-SIG-B */
    float* received;      /* of each frame: rows x symbols x carriers complex, over the
                             noise */
    float* least_squares; /* like channel, over the noise */
};

/* Constellation points of frames, from the bits of the code. */
struct wifi_points {
    std::int64_t frames, symbols, carriers; /* carriers with data and pilots */
    std::int64_t data, copies; /* subcarriers of a copy; copies send the same */
    int streams, bits;         /* bits of a point */
    int stbc;                  /* streams with a space-time block code */
    std::int64_t num_pilots;
    const std::uint8_t* coded;        /* frames x symbols x data * streams * bits */
    const std::int64_t* from;         /* data x streams x bits: place of the coded bit */
    const float* table;               /* 1 << bits complex, by their bits, MSB first */
    const std::int64_t* places;       /* copies x data, of 0 .. carriers - 1 */
    const std::int64_t* pilot_places; /* num_pilots, likewise */
    const float* pilots;              /* symbols x num_pilots x streams + stbc */
    float* out; /* frames x streams + stbc x symbols x carriers complex */
};

/* Frames of one format behind their first pass. `trained` subcarriers have a channel,
 * without the streams' turns. `carriers` of them hold data or pilots. */
struct wifi_shape {
    std::int64_t frames, rows, symbols, carriers, streams, trained;
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const float* turn;                 /* trained x streams complex */
};

/* A new estimate of clock, phase, noise and channel from decoded frames: least squares
 * over training fields and data. All values are over the noise of the antennas. */
struct wifi_refinement {
    wifi_shape shape;
    int fft;          /* samples of a symbol without guard interval */
    float weight;     /* weight of the training fields, in symbols */
    bool interpolate; /* replace the channels of subcarriers that an interferer hits */
    const float* received;         /* frames x rows x symbols x carriers complex */
    const float* points;           /* frames x streams x symbols x carriers complex */
    const float* channel;          /* frames x trained x rows x streams complex */
    const float* least_squares;    /* like channel, from the training fields */
    const std::int64_t* k;         /* carriers: their numbers, ascending */
    const std::int64_t* trained_k; /* trained: their numbers */
    const double* distance;        /* symbols: samples from the middle of the training */
    const std::int64_t* pilot_places; /* num_pilots of the carriers */
    std::int64_t num_pilots;
    const std::int64_t* estimated; /* num_estimated carriers; others keep theirs */
    std::int64_t num_estimated;
    double* offset;  /* frames: remaining sampling offsets */
    double* phase;   /* frames x symbols, radians */
    float* turned;   /* like received, without the turns of offset and phase */
    float* noise;    /* frames x carriers x rows */
    float* least;    /* frames x rows: the least noise of a carrier */
    float* estimate; /* like channel */
};

/* Inputs of a detector: the noise has variance 1 on each subcarrier and no correlation
 * between antennas. The noise is what remains of the symbols. */
struct wifi_whitening {
    wifi_shape shape;
    std::int64_t data;
    const float* received;      /* frames x rows x symbols x carriers complex */
    const float* points;        /* frames x streams x symbols x carriers complex */
    const float* channel;       /* frames x trained x rows x streams complex */
    const float* noise;         /* frames x carriers x rows */
    const std::int64_t* places; /* data of the carriers */
    float* vectors;             /* frames x data x symbols x rows complex */
    float* whitened;            /* frames x carriers x rows x streams complex */
};

struct wifi_build {
    const char* name; /* name of its isa_build */
    void (*correlate)(const wifi_correlation&);
    void (*metric)(const wifi_metric&);
    void (*acquire)(const wifi_acquisition&);
    void (*shifts)(const wifi_shifts&);
    void (*train)(const wifi_training&);
    void (*combine)(const wifi_combination&);
    void (*read)(const wifi_signals&);
    void (*headers)(const wifi_headers&);
    void (*order)(const wifi_order&);
    void (*round)(const wifi_rounding&);
    void (*track)(const wifi_tracking&);
    void (*means)(const wifi_means&);
    void (*spectra)(const wifi_spectra&);
    void (*profiles)(const wifi_profiles&);
    void (*extents)(const wifi_extents&);
    void (*smooth)(const wifi_smoothing&);
    void (*condition)(const wifi_channels&);
    void (*errors)(const wifi_errors&);
    void (*points)(const wifi_points&);
    void (*refine)(const wifi_refinement&);
    void (*whiten)(const wifi_whitening&);
    void (*smooth_channels)(const wifi_estimates&);
    void (*demodulate)(const wifi_demodulation&);
};

} // namespace mimopack
