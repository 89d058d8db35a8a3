/* SPDX-FileCopyrightText: 2026 The gr-mimopack authors
 * SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of a tree search (tree_search.h): one float or integer for each symbol, each
 * hypothesis or each node, padded to whole lanes. */
#pragma once
#include "common/storage.h"

namespace mimopack {
namespace MIMOPACK_ISA {

/* Take `count` objects that consist of floats and integers from an arena of lanes. */
template <class T, class F>
MP_FN T* take(arena<F>& a, unsigned long count)
{
    return reinterpret_cast<T*>(a.take((count * sizeof(T) + sizeof(F) - 1) / sizeof(F)));
}

/* SIZE floats that are also read and written as lanes. */
template <class F, int SIZE>
struct lane_row {
    static constexpr int length = (SIZE + F::width - 1) / F::width * F::width;
    float value[length];

    MP_FN float& operator[](int i) { return value[i]; }
    MP_FN float operator[](int i) const { return value[i]; }
    MP_FN F load(int i) const { return F::load(value + i); }
    MP_FN void store(int i, F lane) { lane.store(value + i); }
};

/* SIZE integers that are also read as lanes. */
template <class F, int SIZE>
struct integer_row {
    static constexpr int length = lane_row<F, SIZE>::length;
    int value[length];

    MP_FN int& operator[](int i) { return value[i]; }
    MP_FN int operator[](int i) const { return value[i]; }
    /* The bits of the integers in a lane of floats */
    MP_FN F load(int i) const
    {
        return F::load(reinterpret_cast<const float*>(value + i));
    }
};

/* One vector's floats in an array of lanes */
template <class F>
struct lane_element {
    const float* first;

    MP_FN static lane_element of(const F* lanes, int vector)
    {
        return { reinterpret_cast<const float*>(lanes) + vector };
    }
    MP_FN float operator[](int i) const { return first[i * F::width]; }
    MP_FN F spread(int i) const { return F(first[i * F::width]); }
};

template <class F, int WIDTH>
struct tree_storage {
    static constexpr int side = 1 << WIDTH;
    static constexpr int size = side * side;
    static constexpr int bits = 2 * WIDTH;

    using symbol_row = lane_row<F, size>;
    /* The hypotheses of a layer: the least metric for each value of each bit, at 2 b +
     * value for bit b */
    using hypotheses = lane_row<F, 2 * bits>;

    static constexpr int symbols = symbol_row::length;
    static constexpr int chunks = symbols / F::width;

    /* Costs that priors add to each level of a layer's axes */
    struct axis_costs {
        float re[side], im[side];
    };

    /* Properties of each symbol, the same for all vectors */
    struct symbol_tables {
        symbol_row re, im;             /* levels of the axes */
        integer_row<F, size> code;     /* Gray bits, from the most significant */
        integer_row<F, size> index;    /* number of the symbol */
        hypotheses disagreement[size]; /* 0 for hypotheses of the symbol's bits, else
                                          no_metric */
    };

    /* The children at a level of the tree and the path through it */
    struct alignas(F) tree_level {
        symbol_row limit;             /* U of each symbol */
        symbol_row cost;              /* cost of each symbol's priors */
        symbol_row metric;            /* metric of each child */
        symbol_row lower;             /* metric plus the least contribution of the next
                                       * level */
        int open[symbols + F::width]; /* children that survived */
        int count, next;              /* open children, and the next one to visit */
        int chosen;                   /* symbol of the path */
        float above;                  /* largest U of the path at this level and above */
        float below;                  /* largest U of the wanted levels below this one */
    };

    /* Nodes at level 2 that wait until they fill a lane, an array for each property. */
    struct node_list {
        static constexpr int length = 3 * F::width + symbols;
        static constexpr int appended = 3; /* rows that append writes at once */
        using row = float[length];
        row* rows;

        MP_FN static int num_rows(int nt) { return appended + 4 + nt; }

        /* The rows that append writes: metrics, metrics from which a node is of no use,
         * and the symbols s3 and s2 at levels 3 and 2 as the integer s3 * M + s2 */
        MP_FN float* metric() const { return rows[0]; }
        MP_FN float* limit() const { return rows[1]; }
        MP_FN int* last_symbols() const { return reinterpret_cast<int*>(rows[2]); }

        /* With more than four layers: b of levels 0 and 1 minus the symbols above level
         * 3, and the symbol at a level above 3 */
        MP_FN float* left(int i) const { return rows[appended + i]; }
        MP_FN float* path(int level) const { return rows[appended + 4 + level]; }
    };
};

/* What is left of a vector's budget (common/budget.h) */
struct search_budget {
    long long left; /* nodes; a search may pass 0 */
    bool has_ended; /* a search wanted more */

    /* Take a node and return true, unless none is left. */
    MP_FN bool takes_one()
    {
        if (left <= 0) {
            has_ended = true;
            return false;
        }
        --left;
        return true;
    }
};

/* One vector's level_model and the hypotheses that a search improves. Costs, hypotheses
 * and slack have an entry for each column of H, not for each level. */
template <class F, int WIDTH>
struct tree_problem {
    using axis_costs = typename tree_storage<F, WIDTH>::axis_costs;
    using hypotheses = typename tree_storage<F, WIDTH>::hypotheses;

    lane_element<F> b, r, diagonal;
    lane_element<F> inverse; /* 1 / diagonal */
    const axis_costs* cost;  /* null without priors */
    hypotheses* hypothesis;  /* improved by the search */
    const hypotheses* slack; /* distances above the least metric at which hypotheses
                              * stop to matter; null without a limit */
    int shift;               /* level i is column (i + shift) mod nt */
    int first;               /* lowest level whose hypotheses are wanted, >= 2 */

    MP_FN int column(int level, int nt) const
    {
        return level + shift < nt ? level + shift : level + shift - nt;
    }

    /* r between a level and a level above it */
    MP_FN F r_re(int level, int above, int nt) const
    {
        return r.spread(2 * (level * nt + above));
    }
    MP_FN F r_im(int level, int above, int nt) const
    {
        return r.spread(2 * (level * nt + above) + 1);
    }
};

} // namespace MIMOPACK_ISA
} // namespace mimopack
