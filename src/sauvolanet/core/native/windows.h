// Means and deviations of one row of windows from running sums; what windows.cpp and the network's kernels share.
//
// Sums are integers modulo the range of their type, Kind, which is wide enough for the sums of one window: differences of
// wrapped sums are right. A signed Kind turns to floats faster.

#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "view.h"

namespace sauvolanet::LEVEL {

// Number of page rows in the window around row y.
inline Index rows_inside(Index height, Index y, Index half) {
    return std::min(y + half + 1, height) - std::max<Index>(y - half, 0);
}

// Mean and deviation from the sum and the sum of squares of count grays.
//
// Both are taken about the gray c next to the mean, e = Σ (v − c) and s = Σ (v − c)², in integers, where a wrap cancels;
// so single precision is enough for the rest: nothing large is subtracted from something large.
template <class Kind>
inline void moments(std::make_unsigned_t<Kind> total, std::make_unsigned_t<Kind> square,
                    std::make_unsigned_t<Kind> count, float inverse, float &mean, float &deviation) {
    using Sum = std::make_unsigned_t<Kind>;
    constexpr float whole = 1 << 23;  // adding and taking it away rounds to the nearest integer, halves to the even one
    const auto near = static_cast<std::int32_t>(static_cast<float>(static_cast<Kind>(total)) * inverse + whole - whole);
    const auto c = static_cast<Sum>(near);
    const Sum e = total - count * c;
    const Sum s = square - c * (total + e);
    const float part = static_cast<float>(static_cast<std::int32_t>(e)) * inverse;
    mean = static_cast<float>(near) + part;
    deviation = std::sqrt(std::max(static_cast<float>(static_cast<Kind>(s)) * inverse - part * part, 0.0f));
}

// Columns first … last − 1 of a row of means and deviations, from the running sums of the columns' sums and squares, p(x) and
// q(x) up to width. A window that the page's left edge cuts grows from column to column, one that the right edge cuts shrinks.
template <class Kind, class Sums>
inline void row_statistics(Sums p, Sums q, Index width, Index rows, Index half, Index first, Index last,
                           float *__restrict mean, float *__restrict deviation) {
    using Sum = std::make_unsigned_t<Kind>;
    const auto one = [&](Index x, Index a, Index b, Sum count, float inverse) {
        moments<Kind>(static_cast<Sum>(p(b)) - static_cast<Sum>(p(a)), static_cast<Sum>(q(b)) - static_cast<Sum>(q(a)), count,
                      inverse, mean[x], deviation[x]);
    };
    const auto cut = [&](Index x, Index a, Index b) {
        const auto count = static_cast<Sum>(rows * (b - a));
        one(x, a, b, count, 1.0f / static_cast<float>(static_cast<Kind>(count)));
    };
    const Index begin = std::min(std::max(half, first), last), end = std::max(std::min(width - half, last), begin);
    if (width > 2 * half) {  // one edge at most cuts a window
        for (Index x = first; x < begin; x++) cut(x, 0, x + half + 1);
    } else {
        for (Index x = first; x < begin; x++) cut(x, std::max<Index>(x - half, 0), std::min(x + half + 1, width));
    }
    const auto count = static_cast<Sum>(rows * (2 * half + 1));
    const float inverse = 1.0f / static_cast<float>(static_cast<Kind>(count));
    for (Index x = begin; x < end; x++) one(x, x - half, x + half + 1, count, inverse);
    for (Index x = end; x < last; x++) cut(x, x - half, width);
}

}  // namespace sauvolanet::LEVEL
