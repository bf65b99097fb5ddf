// Convolutions on (H, W, C) float32 arrays: the heart of both the runtime and the trainer.
//
// A group of 8, 16 or 24 output channels of several neighbouring pixels is held in registers while all taps and input
// channels pass by. A tap that lies beyond the page is left out. The truth is `convolve_numpy` in net/run.py.

#include <algorithm>
#include <utility>

#include "bind.h"
#include "lanes.h"

namespace sauvolanet::LEVEL {

constexpr Index STRIP = 40000;  // numbers in the rows of a strip that its taps span, 160 KB

struct Tap {
    Index x, w;  // where its input lies from the pixel, and its weights in those of the group
};

// How many pixels of a group of 8, 16 or 24 outputs fit into the registers.
#if defined(__AVX512F__)
constexpr int PIXELS[] = {12, 12, 10};
#elif defined(__AVX2__) || defined(__ARM_NEON)
constexpr int PIXELS[] = {8, 6, 4};
#else
constexpr int PIXELS[] = {5, 3, 2};
#endif

struct Group {  // of output channels
    Index inputs;
    const float *w, *bias;
    Index step;  // from pixel to pixel of the result
    bool relu;
};

template <int pixels, int eights>
static void convolve_block(const Group &group, const Tap *taps, int count, const float *x, float *y) {
    constexpr int wide = 8 * eights / WIDE, rest = 8 * eights % WIDE / 8;  // vectors of outputs
    const Index inputs = group.inputs;
    Lanes<WIDE> a[pixels][wide + 1];
    Lanes<8> b[pixels];
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++) a[p][v] = load<WIDE>(group.bias + v * WIDE);
        if (rest) b[p] = load<8>(group.bias + wide * WIDE);
    }
    for (int t = 0; t < count; t++) {
        const float *at = x + taps[t].x, *w = group.w + taps[t].w;
        for (Index c = 0; c < inputs; c++, at++, w += 8 * eights) {
#pragma GCC unroll 12
            for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 6
                for (int v = 0; v < wide; v++)
                    a[p][v] = fma(load<WIDE>(w + v * WIDE), spread<WIDE>(at[p * inputs]), a[p][v]);
                if (rest) b[p] = fma(load<8>(w + wide * WIDE), spread<8>(at[p * inputs]), b[p]);
            }
        }
    }
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
        float *to = y + p * group.step;
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++)
            store<WIDE>(to + v * WIDE, group.relu ? larger<WIDE>(a[p][v], Lanes<WIDE>{}) : a[p][v]);
        if (rest) store<8>(to + wide * WIDE, group.relu ? larger<8>(b[p], Lanes<8>{}) : b[p]);
    }
}

using Block = void (*)(const Group &, const Tap *, int, const float *, float *);

template <int eights, int... less> static Block block_of(Index pixels, std::integer_sequence<int, less...>) {
    static constexpr Block all[] = {convolve_block<less + 1, eights>...};
    return all[pixels - 1];
}

// Columns first … last − 1 of a row, dealt evenly to blocks.
template <int eights>
static void convolve_columns(const Group &group, const Tap *taps, int count, Index first, Index last, const float *x,
                             float *y) {
    constexpr int most = PIXELS[eights - 1];
    const Index blocks = (last - first + most - 1) / most;
    for (Index i = 0; i < blocks; i++) {
        const Index a = first + (last - first) * i / blocks, b = first + (last - first) * (i + 1) / blocks;
        const Block block = block_of<eights>(b - a, std::make_integer_sequence<int, most>());
        block(group, taps, count, x + a * group.inputs, y + a * group.step);
    }
}

// Rows y0 … y1 − 1 of the convolution of x (H, W, inputs) into y (H, W, outputs); w : see `pack` in net/run.py.
//
// size : 1 or 3. dilation : distance of the taps. x and y are contiguous. The page is walked in strips of columns whose
// rows stay in the second cache.
static void convolve(View<const float, 3> x, View<const float, 1> w, View<const float, 1> bias, View<float, 3> y, Index y0,
                     Index y1, Index size, Index dilation, bool relu) {
    const Index height = x.shape[0], width = x.shape[1], inputs = x.shape[2], outputs = bias.shape[0];
    const Index half = size / 2, reach = half * dilation;
    const Index strips = std::max<Index>(1, std::min(width * inputs * (2 * reach + 1) / STRIP, width / 32));
    // the columns between two of these have the same taps on the page
    const Index cuts[] = {0, std::min(reach, std::max<Index>(width - reach, 0)), std::max(std::min(reach, width), width - reach), width};
    for (Index strip = 0; strip < strips; strip++) {
        const Index left = width * strip / strips, right = width * (strip + 1) / strips;
        for (Index i = y0; i < y1; i++) {
            for (int part = 0; part < 3; part++) {
                const Index first = std::max(left, cuts[part]), last = std::min(right, cuts[part + 1]);
                if (first >= last) continue;
                for (Index from = 0; from < outputs;) {
                    const Index many = from == 0 && outputs % 16 ? std::min<Index>(outputs, 24) : 16;
                    Tap taps[9];
                    int count = 0;
                    for (Index a = -half; a <= half; a++)
                        for (Index b = -half; b <= half; b++) {
                            const Index row = i + a * dilation, column = first + b * dilation;
                            if (row >= 0 && row < height && column >= 0 && column < width)
                                taps[count++] = {(a * width + b) * dilation * inputs,
                                                 ((a + half) * size + b + half) * inputs * many};
                        }
                    const Group group = {inputs, w.data + from * size * size * inputs, bias.data + from, outputs, relu};
                    const auto columns = many == 8 ? convolve_columns<1> : many == 16 ? convolve_columns<2> : convolve_columns<3>;
                    columns(group, taps, count, first, last, x.data + i * width * inputs, y.data + i * width * outputs + from);
                    from += many;
                }
            }
        }
    }
}

// Rows y0 … y1 − 1 of the maximum of each two by two cells.
static void pool(View<const float, 3> x, View<float, 3> out, Index y0, Index y1) {
    const Index channels = out.shape[2];
    for (Index y = y0; y < y1; y++)
        for (Index j = 0; j < out.shape[1]; j++) {
            const float *a = x[2 * y][2 * j].data, *b = x[2 * y][2 * j + 1].data;
            const float *c = x[2 * y + 1][2 * j].data, *d = x[2 * y + 1][2 * j + 1].data;
            float *to = out[y][j].data;
            for (Index n = 0; n < channels; n++) to[n] = std::max(std::max(a[n], b[n]), std::max(c[n], d[n]));
        }
}

// out = skip + small, rows y0 … y1 − 1 of small taken twice in both directions.
static void add_enlarged(View<const float, 3> skip, View<const float, 3> small, View<float, 3> out, Index y0, Index y1) {
    const Index channels = skip.shape[2];
    for (Index y = 2 * y0; y < 2 * y1; y++)
        for (Index j = 0; j < 2 * small.shape[1]; j++) {
            const float *a = skip[y][j].data, *b = small[y / 2][j / 2].data;
            float *to = out[y][j].data;
            for (Index n = 0; n < channels; n++) to[n] = a[n] + b[n];
        }
}

Table convolution = {KERNEL(convolve), KERNEL(pool), KERNEL(add_enlarged), {}};

}  // namespace sauvolanet::LEVEL
