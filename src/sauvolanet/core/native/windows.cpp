// Window statistics, one band of rows at a time, and other things that are counted on gray; the truth is in
// core/windows.py.
//
// Column sums of the window's rows slide down the page (one row in, one row out); their running sums along the row give
// every window's sum as one difference.

#include "windows.h"

#include "bind.h"

namespace sauvolanet::LEVEL {

template <class Sum> static void add_row(View<const std::uint8_t, 1> row, Sum *__restrict sums, Sum *__restrict squares) {
    for (Index x = 0; x < row.shape[0]; x++) {
        const Sum value = row[x];
        sums[x] += value;
        squares[x] += value * value;
    }
}

template <class Sum>
static void drop_row(View<const std::uint8_t, 1> row, Sum *__restrict sums, Sum *__restrict squares) {
    for (Index x = 0; x < row.shape[0]; x++) {
        const Sum value = row[x];
        sums[x] -= value;
        squares[x] -= value * value;
    }
}

template <class Sum>
static void exchange_rows(View<const std::uint8_t, 1> in, View<const std::uint8_t, 1> out, Sum *__restrict sums,
                          Sum *__restrict squares) {
    for (Index x = 0; x < in.shape[0]; x++) {
        const Sum a = in[x], b = out[x];
        sums[x] += a - b;
        squares[x] += (a - b) * (a + b);
    }
}

// Running sums along a row: p[x] = sums[0] + … + sums[x − 1], and q likewise from the squares.
template <class Sum>
static void accumulate(const Sum *sums, const Sum *squares, Index width, Sum *__restrict p, Sum *__restrict q) {
    Sum running_p = p[0] = 0, running_q = q[0] = 0;
    const auto step = [&](Index x) {
        p[x + 1] = running_p += sums[x];
        q[x + 1] = running_q += squares[x];
    };
    Index x = 0;
    for (; x + 8 <= width; x += 8)
        for (int i = 0; i < 8; i++) step(x + i);
    for (; x < width; x++) step(x);
}

template <class Kind, class Sum>
static void statistics_of_rows(View<const std::uint8_t, 2> gray, Index half, View<Sum, 2> state, Index y0, Index y1,
                               View<float, 2> mean, View<float, 2> deviation, bool begin) {
    const Index height = gray.shape[0], width = gray.shape[1];
    Sum *sums = state[0].data, *squares = state[1].data, *p = state[2].data, *q = state[3].data;
    for (Index y = y0; y < y1; y++) {
        const bool enters = y + half < height, leaves = y - half - 1 >= 0;
        if (begin && y == y0) {
            std::fill(sums, sums + width, Sum{0});
            std::fill(squares, squares + width, Sum{0});
            for (Index i = std::max<Index>(y - half, 0); i < std::min(y + half + 1, height); i++)
                add_row(gray[i], sums, squares);
        } else if (enters && leaves) {
            exchange_rows(gray[y + half], gray[y - half - 1], sums, squares);
        } else if (enters) {
            add_row(gray[y + half], sums, squares);
        } else if (leaves) {
            drop_row(gray[y - half - 1], sums, squares);
        }
        accumulate(sums, squares, width, p, q);
        const auto running = [](const Sum *sums) {
            return [sums = reinterpret_cast<const Kind *>(sums)](Index x) { return sums[x]; };
        };
        row_statistics<Kind>(running(p), running(q), width, rows_inside(height, y, half), half, 0, width, mean[y - y0].data,
                             deviation[y - y0].data);
    }
}

// Rows y0 … y1 − 1 of the mean and deviation into the first rows of two arrays.
//
// state : (4, W + 1), what is known from the row above: column sums, of squares too, and room for running sums. With
// begin it is filled anew, else y0 follows the last row of the call before. For windows whose sums fit into 32 bits.
static void mean_deviation(View<const std::uint8_t, 2> gray, Index half, View<std::uint32_t, 2> state, Index y0,
                           Index y1, View<float, 2> mean, View<float, 2> deviation, bool begin) {
    if (half <= 90)  // a window of 181: its sum of squares fits into 31 bits
        statistics_of_rows<std::int32_t>(gray, half, state, y0, y1, mean, deviation, begin);
    else
        statistics_of_rows<std::uint32_t>(gray, half, state, y0, y1, mean, deviation, begin);
}

// The same for any window.
static void mean_deviation_wide(View<const std::uint8_t, 2> gray, Index half, View<std::uint64_t, 2> state, Index y0,
                                Index y1, View<float, 2> mean, View<float, 2> deviation, bool begin) {
    statistics_of_rows<std::uint64_t>(gray, half, state, y0, y1, mean, deviation, begin);
}

// ink = gray < surface, one band.
static void below(View<const std::uint8_t, 2> gray, View<const float, 2> surface, View<bool, 2> ink) {
    for (Index y = 0; y < gray.shape[0]; y++) {
        const auto grays = gray[y];
        const auto surfaces = surface[y];
        const auto inks = ink[y];
        for (Index x = 0; x < grays.shape[0]; x++) inks[x] = static_cast<float>(grays[x]) < surfaces[x];
    }
}

// counts[v] += how often the gray v occurs. Four tables in turn, so that like neighbours do not wait for each other.
static void histogram(View<const std::uint8_t, 2> gray, View<Index, 1> counts) {
    Index table[4][256] = {};
    for (Index y = 0; y < gray.shape[0]; y++) {
        const auto row = gray[y];
        const Index width = row.shape[0];
        Index x = 0;
        for (; x + 4 <= width; x += 4)
            for (int i = 0; i < 4; i++) table[i][row[x + i]]++;
        for (; x < width; x++) table[0][row[x]]++;
    }
    for (Index v = 0; v < 256; v++) counts[v] += table[0][v] + table[1][v] + table[2][v] + table[3][v];
}

Table windows = {KERNEL(mean_deviation), KERNEL(mean_deviation_wide), KERNEL(below), KERNEL(histogram), {}};

}  // namespace sauvolanet::LEVEL
