// Window statistics of a page in strips of columns, row after row.

#pragma once

#include <algorithm>
#include <vector>

#include "windows.h"

namespace sauvolanet::LEVEL {

constexpr Index COLUMNS = 512;  // that go down the page together, so that the running sums stay in the second cache

// Window statistics of some columns of the page, row after row downwards.
//
// Kind : holds the sum of squares of the largest window. first, last : the columns wanted, counted from `left`.
template <class Kind> struct Strip {
    using Sum = std::make_unsigned_t<Kind>;

    View<const std::uint8_t, 2> gray;
    View<const Index, 1> windows;
    Index reach, left, width, first, last;
    Index known;  // running sums exist of the rows above this one; they begin with zeros
    Index held;   // so many rows of them
    std::vector<Kind> sums, squares;
    std::vector<float> means, deviations;

    Strip(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, Index begin, Index end, Index top)
        : gray(gray), windows(windows) {
        reach = *std::max_element(windows.data, windows.data + windows.shape[0]) / 2;
        left = std::max<Index>(begin - reach, 0);
        width = std::min(end + reach, gray.shape[1]) - left;
        first = begin - left;
        last = end - left;
        known = std::max<Index>(top - reach, 0);
        held = 2 * reach + 2;
        for (auto *rows : {&sums, &squares}) rows->resize(static_cast<std::size_t>(held * (width + 1)));
        const Index room = (std::max<Index>(windows.shape[0], 8) + 1) * width + 16;  // lanes read beyond the last window
        for (auto *rows : {&means, &deviations}) rows->resize(static_cast<std::size_t>(room));
    }

    // Running sums of the next row and of its squares, on top of the row above; modulo the type's range.
    void integrate() {
        const std::uint8_t *row = gray[known].data + left;
        const Index from = known % held * (width + 1) + 1, to = (known + 1) % held * (width + 1) + 1;
        Sum total = 0, square = 0;
        for (Index x = 0; x < width; x++) {
            const Sum value = row[x];
            total += value;
            square += value * value;
            sums[to + x] = static_cast<Kind>(static_cast<Sum>(sums[from + x]) + total);
            squares[to + x] = static_cast<Kind>(static_cast<Sum>(squares[from + x]) + square);
        }
        known++;
    }

    // Mean and deviation of row y in every window, into (windows, width).
    void row(Index y) {
        const Index height = gray.shape[0];
        while (known < std::min(y + reach + 1, height)) integrate();
        for (Index w = 0; w < windows.shape[0]; w++) {
            const Index half = windows[w] / 2;
            const Index above = std::max<Index>(y - half, 0) % held * (width + 1);
            const Index below = std::min(y + half + 1, height) % held * (width + 1);
            const auto between = [&](const std::vector<Kind> &rows) {
                return [a = &rows[above], b = &rows[below]](Index x) {
                    return static_cast<Kind>(static_cast<Sum>(b[x]) - static_cast<Sum>(a[x]));
                };
            };
            row_statistics<Kind>(between(sums), between(squares), width, rows_inside(height, y, half), half, first, last,
                                 &means[w * width], &deviations[w * width]);
        }
    }
};

// work(strip, first, columns) for strips of `count` columns of the page from `begin` on; first, counted from there, is even.
// more : so many columns to each side have statistics, too, where the page has them.
template <class Work>
static void each_strip(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, Index begin, Index count, Index top,
                       Work work, Index more = 0) {
    const Index strips = std::max<Index>(1, count / COLUMNS);
    const Index largest = *std::max_element(windows.data, windows.data + windows.shape[0]);
    for (Index i = 0; i < strips; i++) {
        const Index a = count * i / strips & ~Index(1), b = i + 1 < strips ? count * (i + 1) / strips & ~Index(1) : count;
        const Index from = std::max<Index>(begin + a - more, 0), to = std::min(begin + b + more, gray.shape[1]);
        if (largest <= 181) work(Strip<std::int32_t>(gray, windows, from, to, top), a, b - a);
        else work(Strip<std::int64_t>(gray, windows, from, to, top), a, b - a);
    }
}

}  // namespace sauvolanet::LEVEL
