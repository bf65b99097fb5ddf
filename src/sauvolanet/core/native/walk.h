// The way of a convolution over a page, whatever its numbers are.

#pragma once

#include <algorithm>
#include <utility>

#include "view.h"

namespace sauvolanet::LEVEL {

struct Tap {
    Index x;       // where its first input lies from the pixel's
    Index number;  // among all taps of the kernel, row by row
};

struct Part {  // of a row of the page, and of the outputs: what is computed with the same taps and weights
    Index row, first, last;    // columns
    Index output, outputs;     // the first, and how many: 8, 16 or 24
    bool more;                 // and 16 behind them
    const Tap *taps;           // those on the page
    int count;
};

// work(part) for rows y0 … y1 − 1 of a convolution. size : 1 or 3. dilation : distance of the taps, which are left out
// where they lie beyond the page. The page is walked in strips of columns whose rows stay in the second cache: `strip`
// numbers in the rows that the taps span. more : whether a part may have two groups of outputs.
template <bool more, class Work>
static void walk(Index height, Index width, Index inputs, Index outputs, Index size, Index dilation, Index y0, Index y1,
                 Index strip, Work work) {
    const Index half = size / 2, reach = half * dilation;
    const Index strips = std::max<Index>(1, std::min(width * inputs * (2 * reach + 1) / strip, width / 32));
    // the columns between two of these have the same taps on the page
    const Index edge = std::min(reach, width), other = std::max<Index>(width - reach, 0);
    const Index cuts[] = {0, std::min(edge, other), std::max(edge, other), width};
    for (Index s = 0; s < strips; s++) {
        const Index left = width * s / strips, right = width * (s + 1) / strips;
        for (Index row = y0; row < y1; row++)
            for (int cut = 0; cut < 3; cut++) {
                const Index first = std::max(left, cuts[cut]), last = std::min(right, cuts[cut + 1]);
                if (first >= last) continue;
                Tap taps[9];
                int count = 0;
                for (Index a = -half; a <= half; a++)
                    for (Index b = -half; b <= half; b++) {
                        const Index y = row + a * dilation, x = first + b * dilation;
                        if (y >= 0 && y < height && x >= 0 && x < width)
                            taps[count++] = {(a * width + b) * dilation * inputs, (a + half) * size + b + half};
                    }
                for (Index output = 0; output < outputs;) {
                    const Index many = output == 0 && outputs % 16 ? std::min<Index>(outputs, 24) : 16;
                    const bool two = more && output + many + 16 <= outputs;
                    work(Part{row, first, last, output, many, two, taps, count});
                    output += two ? many + 16 : many;
                }
            }
    }
}

// Eights::value is how many outputs there are, in eights: 1, 2 or 3.
template <class Work> static void with_outputs(Index outputs, Work work) {
    if (outputs == 8) work(std::integral_constant<int, 1>());
    else if (outputs == 16) work(std::integral_constant<int, 2>());
    else work(std::integral_constant<int, 3>());
}

// work(first, count) for blocks of at most `most` neighbours that first … last − 1 are dealt to evenly; count is a constant.
template <int most, class Work, int... less>
static void by_blocks(Index first, Index last, Work work, std::integer_sequence<int, less...>) {
    using Call = void (*)(Work &, Index);
    static constexpr Call calls[] = {[](Work &call, Index at) { call(at, std::integral_constant<int, less + 1>()); }...};
    const Index blocks = (last - first + most - 1) / most;
    for (Index i = 0; i < blocks; i++) {
        const Index a = first + (last - first) * i / blocks, b = first + (last - first) * (i + 1) / blocks;
        calls[b - a - 1](work, a);
    }
}

template <int most, class Work> static void by_blocks(Index first, Index last, Work work) {
    by_blocks<most>(first, last, work, std::make_integer_sequence<int, most>());
}

// The largest of each `many` numbers of four cells; a constant number of them is one instruction.
template <int many, class Number>
inline void largest_of_each(const Number *upper, const Number *lower, Index step, Number *__restrict to) {
    for (int n = 0; n < many; n++) to[n] = std::max(std::max(upper[n], upper[step + n]), std::max(lower[n], lower[step + n]));
}

// Rows y0 … y1 − 1 of the maximum of each two by two cells of x. Channels are a multiple of eight.
template <class Number> static void largest_of_four(View<const Number, 3> x, View<Number, 3> out, Index y0, Index y1) {
    const Index channels = out.shape[2], step = x.stride[1];
    for (Index y = y0; y < y1; y++) {
        const Number *upper = x[2 * y].data, *lower = x[2 * y + 1].data;
        Number *to = out[y].data;
        for (Index j = 0; j < out.shape[1]; j++, upper += 2 * step, lower += 2 * step, to += out.stride[1]) {
            Index c = 0;
            for (; c + 16 <= channels; c += 16) largest_of_each<16>(upper + c, lower + c, step, to + c);
            if (c < channels) largest_of_each<8>(upper + c, lower + c, step, to + c);
        }
    }
}

}  // namespace sauvolanet::LEVEL
