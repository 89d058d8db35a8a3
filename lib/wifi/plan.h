/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* What the Wi-Fi receiver's inner loops are asked to do, and what each instruction set's
 * build of them offers. Complex numbers are pairs of floats, arrays are in C's order. */
#pragma once
#include "cpu/plan.h"

namespace mimopack {

/* Samples of frames. */
struct wifi_frames {
    const float* const* samples; /* frames: rows x length complex */
    const std::int64_t* length;  /* frames, 1 or more */
    const std::int64_t* stride;  /* frames: complex samples from row to row */
};

/* Blocks of samples, against the next block each. */
struct wifi_correlation {
    std::int64_t rows, blocks, block;
    std::int64_t stride;  /* complex samples from row to row */
    const float* samples; /* rows x blocks * block complex */
    std::int64_t apart;   /* blocks from row to row of what comes out */
    float* energy;        /* rows x blocks, without the block's mean */
    float* lag; /* rows x blocks - 1 complex: sum x[i] conj(x[i + block]), likewise */
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

/* Preambles are looked for from the window on in which the short training field
 * correlates best. So many samples are needed, of a sample rate of `scale` times 20 MS/s;
 * the channels have 52 subcarriers in each 20 MHz. */
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
    int turns; /* offsets are looked for so many periods of the lag's phase to each side
                */
    const std::int64_t* bins; /* parts x legacy, of an FFT of 64 scale */
    const float* sequence;    /* legacy: the long training field */
    const float* reference;   /* parts x 64 scale complex: its conjugate samples */
    /* Of each piece: */
    std::int64_t* part;   /* a bit for each part of 20 MHz that holds the preamble */
    std::int64_t* start;  /* sample from the piece's start, of the short field */
    std::int64_t* window; /* likewise, of the FFT window in the long one's first half */
    double* cfo;          /* cycles per sample */
    float* direct;        /* rows complex: direct current, 0 where there is none */
};

/* Where windows lie best in channels with paths at delays -32 ... 31. */
struct wifi_shifts {
    std::int64_t channels;
    int guard;
    const double* power; /* channels x 64 */
    std::int64_t*
        shift; /* channels: where the fewest paths reach in from other symbols */
};

/* Spectra of the long training field's halves and of the symbols behind it. */
struct wifi_training {
    std::int64_t frames, rows, windows; /* two halves, and symbols */
    std::int64_t parts, carriers;       /* parts of 20 MHz, and carriers of each */
    const float* spectra;  /* frames x rows x windows x parts x carriers complex */
    const float* sequence; /* carriers */
    double* noise;         /* frames x rows: power per carrier */
    double* signal;        /* likewise, without the noise */
    float* channel;        /* frames x carriers x parts x rows complex, over the noise */
};

/* Symbols through matched filters, over antennas and parts of 20 MHz. */
struct wifi_combination {
    std::int64_t frames, rows, windows, parts, carriers; /* of a part */
    const float* spectra; /* frames x rows x windows x parts x carriers complex */
    const float* channel; /* frames x carriers x parts x rows complex, over the noise */
    const double* noise;  /* frames x rows */
    float* out;           /* frames x windows - 2 x carriers complex */
    double* strength;     /* frames: sum of |channel|^2, or of the first symbol's
                             magnitudes where that is less */
};

/* The three symbols behind the L-LTF, of which signal fields are read: BPSK, some of it
 * turned by 90 degrees. */
constexpr int wifi_signal_bits = 48; /* of a symbol, coded; half of them with rate 1/2 */
struct wifi_signals {
    std::int64_t frames;
    const float* combined;    /* frames x 3 x legacy complex, through a matched filter */
    const double* strength;   /* frames: sum of |H|^2 over the noise */
    const std::int64_t* data; /* signal_bits of the legacy subcarriers */
    const std::int64_t* pilots; /* 4, likewise */
    const float* pilot_signs;   /* 3 x 4 */
    const std::int64_t* order;  /* signal_bits: where a coded bit is sent */
    const double* distance;     /* 3: samples from the middle of the L-LTF */
    /* Decodes blocks of rate 1/2, each of so many bits and six zeros, from state 0 to 0
     */
    void (*decode)(const void* decoder,
                   const float* llr,
                   const std::int64_t* num_bits,
                   std::int64_t blocks,
                   std::uint8_t* bits);
    const void* decoder;
    /* Of each frame: */
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
    const float* direct;        /* frames x rows complex, what is taken off */
    const double* cfo;          /* frames, cycles per sample */
    const std::int64_t* starts; /* frames x windows */
    const float* white;         /* frames x rows x rows complex, or null */
    const std::int64_t* bins;   /* parts x legacy */
    const float* sequence;      /* legacy: the long training field */
    const wifi_smoother* smoother;
    wifi_signals signals;   /* but for what comes from the samples */
    double *noise, *signal; /* frames x rows: power per carrier, without whitening */
};
constexpr std::int64_t wifi_header_windows = 5; /* the L-LTF's halves and three symbols */

enum wifi_signal_kind : std::uint8_t {
    wifi_no_signal = 0,     /* no L-SIG, and no greenfield frame either */
    wifi_greenfield = 1,    /* second may be the HT-SIG of one */
    wifi_l_sig = 2,         /* first was read, and: */
    wifi_second_turned = 4, /* the symbol behind it is turned, as HT-SIG is */
    wifi_third_turned = 8,  /* the next one is, as in HT and VHT: second was read */
    wifi_repeated = 16      /* the L-SIG comes twice */
};

/* LLRs in the order of a code. */
struct wifi_order {
    std::int64_t frames, carriers, symbols, bits, coded;
    const float* llr;           /* frames x carriers x symbols x bits */
    const std::int64_t* source; /* coded: carrier * bits + bit */
    float* out;                 /* frames x symbols x coded; 0 for what is not finite */
};

/* A frame's LLRs as integers for the Viterbi decoder, encoder after encoder. */
struct wifi_rounding {
    std::int64_t carriers, symbols, bits, coded, encoders;
    std::int64_t used;          /* integers of an encoder that are decoded */
    const float* llr;           /* carriers x symbols x bits; 0 for what is not finite */
    const std::int64_t* source; /* coded: carrier * bits + bit, encoder after encoder */
    int rate;                   /* place in viterbi_rates */
    float largest_mean;
    std::int8_t* scratch; /* carriers * symbols * bits + 16 */
    std::int8_t* out;     /* encoders x used; written up to symbols * coded */
};

/* Known subcarriers of frames, and how the sampling clock and the oscillator turn them.
 */
struct wifi_tracking {
    std::int64_t frames, symbols, carriers;
    int fft;                /* samples of a symbol without guard interval */
    const float* known;     /* frames x symbols x carriers complex: received times the
                               conjugate of what is expected, over the noise */
    const std::int64_t* k;  /* carriers: their numbers, ascending */
    const double* distance; /* symbols: samples from the middle of the training */
    const double* before;   /* frames: sampling offsets that are taken out first */
    double* offset;         /* frames: those that are left */
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
    const float* direct;        /* frames x rows complex, what is taken off */
    const double* cfo;          /* frames, cycles per sample that are taken out */
    const std::int64_t* starts; /* frames x windows, of 0 .. length - fft */
    const std::int64_t* bins;   /* of 0 .. fft - 1 */
    const float* scale;         /* frames x rows, what spectra are multiplied with */
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

/* Between which delays a channel's paths lie. */
struct wifi_extents {
    std::int64_t frames, delays;
    const float* power;  /* frames x delays */
    const double* least; /* frames: least power of a path */
    const double*
        margin;          /* frames: what weaker paths may lie beyond the outermost ones */
    const double* delay; /* delays, ascending, as steps of one length */
    double lobe;         /* a sample of the transform's window, in delays */
    double longest;      /* of an extent that is used */
    double *first, *last; /* frames; 0 where there is no path */
    std::int64_t* usable; /* frames */
};

/* Channels through two real matrices each. */
struct wifi_smoothing {
    std::int64_t frames, carriers, wanted, rows;
    const float* channel; /* frames x carriers x rows complex */
    const std::int64_t *k, *wanted_k;
    const double *before, *after;  /* frames: delays taken out before, and put in after */
    const std::int64_t* rank;      /* frames; where it is 0 nothing is written */
    const float* const* analysis;  /* frames: rank x carriers */
    const float* const* synthesis; /* frames: wanted x rank */
    float* out;                    /* frames x wanted x rows complex */
};

/* Two real matrices that smooth channels, and what they leave of the noise. */
struct wifi_filter {
    std::int64_t rank;
    const float* analysis;  /* rank x carriers */
    const float* synthesis; /* wanted x rank */
    double error;
};

/* Rules for paths and for the choice of a filter. Delays count samples at 20 MS/s. */
struct wifi_delay_rules {
    double lobe;          /* as in wifi_extents */
    double longest;       /* likewise */
    double margin;        /* delays beyond the outermost paths */
    double margin_per_db; /* more of them for each dB of SNR above 15 dB */
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
    /* Return a filter for a spread of the paths and an SNR, both in steps of the rules.
     */
    wifi_filter (*find)(const void* bank, int width, int level);
    const void* bank;
};

/* Least squares estimates that are smoothed. */
struct wifi_estimates {
    const wifi_smoother* smoother;
    std::int64_t frames, rows;
    const float* channel; /* frames x carriers x rows complex */
    double noise;         /* variance of their noise */
    bool smooth;          /* or find paths only */
    float* out;           /* frames x wanted x rows complex */
    double* error;        /* frames: variance of the error over the noise */
    std::int64_t*
        done;      /* frames: whether they are smoothed; nothing is put out where not */
    double* paths; /* frames x 64: power at delays -32 ... 31, samples at 20 MS/s */
};

/* Channel matrices of rows x columns. */
struct wifi_channels {
    std::int64_t matrices;
    int rows, columns;
    const float* h; /* matrices x rows x columns complex */
    float* ratio;   /* of the largest singular value's square to the least one's */
};

/* Received vectors of frames against the nearest points, as MMSE estimates see them. */
struct wifi_errors {
    std::int64_t frames, carriers, vectors; /* vectors with each carrier's matrix */
    int rows, columns;
    int side;                   /* points of a square QAM's axis; 1 is BPSK */
    float scale;                /* half the distance of neighbours on it */
    const std::int64_t* chosen; /* num_chosen of the vectors */
    std::int64_t num_chosen;
    const float* y;     /* frames x carriers x vectors x rows complex */
    const float* h;     /* frames x carriers x rows x columns complex */
    const float* noise; /* frames */
    float* error;       /* frames x columns: mean of the squared distances */
};

constexpr int wifi_max_columns = 8;

/* What frames of one format have in common. Windows and starts count samples at 20 MS/s
 * from the FFT window of the L-LTF's first half on. */
struct wifi_format {
    int fft, scale; /* samples of a symbol; sample rate over 20 MS/s */
    std::int64_t legacy, trained, carriers,
        data; /* of the L-LTF, with a channel, in use */
    std::int64_t symbols, streams, num_pilots;
    std::int64_t num_ltf;                              /* 0 where the L-LTF trains */
    const std::int64_t *legacy_bins, *ltf_bins, *bins; /* legacy, trained, carriers */
    const std::int64_t* k;             /* carriers: their numbers, ascending */
    const std::int64_t* band_k;        /* likewise, in the band of the samples */
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const std::int64_t* places;        /* data of the carriers */
    const std::int64_t *pilot_places,
        *pilot_k;               /* num_pilots: of the carriers, and numbers */
    const float* pilots;        /* symbols x num_pilots x streams */
    const std::int64_t* starts; /* symbols */
    const double* distance; /* symbols: samples from the middle of the training fields */
    bool greenfield;        /* the first training field comes twice */
    const std::int64_t* ltf_starts; /* num_ltf, one more in greenfield frames */
    const float* mapping;           /* streams x num_ltf: signs over their number */
    const std::uint8_t* shared; /* trained: whether all streams send the same; or null */
    const float *turn, *untrained; /* trained x streams complex: what shifts and parts do;
                                      its conjugate times the training sequence */
    double share;                  /* noise of an estimate over that of a symbol */
    bool smoothing, short_gi;
    const wifi_smoother* smoother;
    const std::int64_t* trained_here; /* its carriers among the trained ones; null: all */
    std::int64_t signal_b;            /* window of the VHT-SIG-B, or -1 */
    const float* signal_b_signs;      /* streams */
};

/* Frames from their samples to received vectors, channels and noise. */
struct wifi_demodulation {
    const wifi_format* format;
    std::int64_t frames, rows;
    wifi_frames from;
    const std::int64_t* first; /* frames: samples from which windows count */
    const double* cfo;         /* frames, cycles per sample */
    const float* direct;       /* frames x rows complex, what is taken off */
    const float* white;        /* frames x rows x rows complex, or null */
    float* vectors;            /* frames x data x symbols x rows complex */
    float* whitened;           /* frames x data x rows x streams complex */
    double* noise_var;         /* frames: of the vectors, and of the channel's error */
    float* channel;         /* frames x trained x rows x streams complex, without turns */
    double* noise;          /* frames x rows: power in a subcarrier */
    double *offset, *phase; /* frames; frames x symbols, radians */
    std::int64_t* delay;    /* frames: of the first path, samples at 20 MS/s */
    float* signal_b;        /* frames x data: LLRs of the VHT-SIG-B */
    float* received;      /* frames x rows x symbols x carriers complex, over the noise */
    float* least_squares; /* like channel, over the noise */
};

/* Constellation points of frames, from the bits of the code. */
struct wifi_points {
    std::int64_t frames, symbols, carriers; /* carriers with data and pilots */
    std::int64_t data, copies; /* subcarriers of a copy, which send the same */
    int streams, bits;         /* bits of a point */
    int stbc;                  /* streams with a space-time block code */
    std::int64_t num_pilots;
    const std::uint8_t* coded; /* frames x symbols x data * streams * bits */
    const std::int64_t* from; /* data x streams x bits: which of the coded bits is sent */
    const float* table;       /* 1 << bits complex, by their bits, MSB first */
    const std::int64_t* places;       /* copies x data, of 0 .. carriers - 1 */
    const std::int64_t* pilot_places; /* num_pilots, likewise */
    const float* pilots;              /* symbols x num_pilots x streams + stbc */
    float* out; /* frames x streams + stbc x symbols x carriers complex */
};

/* Frames of one format behind their first pass. `trained` subcarriers have a channel,
 * without the streams' turns, `carriers` of them hold data or pilots. */
struct wifi_shape {
    std::int64_t frames, rows, symbols, carriers, streams, trained;
    const std::int64_t* trained_place; /* carriers: their places among the trained ones */
    const float* turn;                 /* trained x streams complex */
};

/* Clock, phase, noise and channel anew, from what was decoded: least squares over
 * training fields and data. All is over the noise of the antennas. */
struct wifi_refinement {
    wifi_shape shape;
    int fft;                       /* samples of a symbol without guard interval */
    float weight;                  /* symbols that the training fields are worth */
    bool interpolate;              /* channels of subcarriers that an interferer hits */
    const float* received;         /* frames x rows x symbols x carriers complex */
    const float* points;           /* frames x streams x symbols x carriers complex */
    const float* channel;          /* frames x trained x rows x streams complex */
    const float* least_squares;    /* likewise, of the training fields */
    const std::int64_t* k;         /* carriers: their numbers, ascending */
    const std::int64_t* trained_k; /* trained, likewise */
    const double* distance;        /* symbols: samples from the middle of the training */
    const std::int64_t* pilot_places; /* num_pilots of the carriers */
    std::int64_t num_pilots;
    const std::int64_t*
        estimated; /* num_estimated of the carriers: others keep the channel */
    std::int64_t num_estimated;
    double* offset;  /* frames: sampling offsets that are left */
    double* phase;   /* frames x symbols, radians */
    float* turned;   /* like received, without the turns of both */
    float* noise;    /* frames x carriers x rows */
    float* least;    /* frames x rows: the least noise of a carrier */
    float* estimate; /* like channel */
};

/* What a detector takes, with noise of variance 1 on each subcarrier and no correlation
 * between antennas, as it was found in what is left of the symbols. */
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
    const char* name; /* of its isa_build */
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
