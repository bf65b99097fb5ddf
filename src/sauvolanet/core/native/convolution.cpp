// Convolutions on (H, W, C) float32 arrays: the heart of both the runtime and the trainer.
//
// A group of 8, 16 or 24 output channels of several neighbouring pixels is held in registers while all taps and input
// channels pass by. The truth is `convolve_numpy` in net/run.py.

#include "bind.h"
#include "lanes.h"
#include "walk.h"

namespace sauvolanet::LEVEL {

// How many pixels of a group of 8, 16 or 24 outputs fit into the registers; with 16 more outputs, where there is room for
// them: then an input, once read, is used twice.
#if defined(__AVX512F__)
constexpr int PIXELS[] = {12, 12, 10}, PIXELS_MORE[] = {12, 12, 8};
constexpr bool ROOM = true;
#elif defined(__AVX2__) || defined(__ARM_NEON)
constexpr int PIXELS[] = {8, 6, 4}, PIXELS_MORE[] = {0, 0, 0};
constexpr bool ROOM = false;
#else
constexpr int PIXELS[] = {5, 3, 2}, PIXELS_MORE[] = {0, 0, 0};
constexpr bool ROOM = false;
#endif

struct Group {
    const Part &part;
    Index inputs;
    const float *w, *bias;
    const float *w_more;  // of the 16 outputs behind
    Index step;           // from pixel to pixel of the result
    bool relu;
};

template <int pixels, int eights, bool more> static void convolve_block(const Group &group, const float *x, float *y) {
    constexpr int wide = 8 * eights / WIDE, rest = 8 * eights % WIDE / 8;  // vectors of outputs
    constexpr int further = more ? 16 / WIDE : 0, outputs = 8 * eights;
    const Index inputs = group.inputs;
    Lanes<WIDE> a[pixels][wide + further + 1];
    Lanes<8> b[pixels];
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 6
        for (int v = 0; v < wide; v++) a[p][v] = load<WIDE>(group.bias + v * WIDE);
        if (rest) b[p] = load<8>(group.bias + wide * WIDE);
        for (int v = 0; v < further; v++) a[p][wide + v] = load<WIDE>(group.bias + outputs + v * WIDE);
    }
    for (int t = 0; t < group.part.count; t++) {
        const Tap tap = group.part.taps[t];
        const float *at = x + tap.x, *w = group.w + tap.number * inputs * outputs;
        const float *w_more = more ? group.w_more + tap.number * inputs * 16 : nullptr;
        for (Index c = 0; c < inputs; c++, at++, w += outputs, w_more += more ? 16 : 0) {
#pragma GCC unroll 12
            for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 6
                for (int v = 0; v < wide; v++)
                    a[p][v] = fma(load<WIDE>(w + v * WIDE), spread<WIDE>(at[p * inputs]), a[p][v]);
                if (rest) b[p] = fma(load<8>(w + wide * WIDE), spread<8>(at[p * inputs]), b[p]);
                for (int v = 0; v < further; v++)
                    a[p][wide + v] = fma(load<WIDE>(w_more + v * WIDE), spread<WIDE>(at[p * inputs]), a[p][wide + v]);
            }
        }
    }
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
        float *to = y + p * group.step;
#pragma GCC unroll 6
        for (int v = 0; v < wide + further; v++)
            store<WIDE>(to + (v < wide ? v * WIDE : outputs + (v - wide) * WIDE),
                        group.relu ? larger<WIDE>(a[p][v], Lanes<WIDE>{}) : a[p][v]);
        if (rest) store<8>(to + wide * WIDE, group.relu ? larger<8>(b[p], Lanes<8>{}) : b[p]);
    }
}

// Rows y0 … y1 − 1 of the convolution of x (H, W, inputs) into y (H, W, outputs); w : see `pack` in net/run.py.
//
// size : 1 or 3. dilation : distance of the taps. x and y are contiguous.
static void convolve(View<const float, 3> x, View<const float, 1> w, View<const float, 1> bias, View<float, 3> y, Index y0,
                     Index y1, Index size, Index dilation, bool relu) {
    const Index width = x.shape[1], inputs = x.shape[2], outputs = bias.shape[0], each = size * size * inputs;
    walk<ROOM>(x.shape[0], width, inputs, outputs, size, dilation, y0, y1, 40000, [&](const Part &part) {
        const Group group = {part,    inputs, w.data + part.output * each, bias.data + part.output,
                             w.data + (part.output + part.outputs) * each, outputs, relu};
        const float *from = x.data + part.row * width * inputs;
        float *to = y.data + part.row * width * outputs + part.output;
        with_outputs(part.outputs, [&](auto eights) {
            if constexpr (ROOM)
                if (part.more)
                    return by_blocks<PIXELS_MORE[eights - 1]>(part.first, part.last, [&](Index at, auto pixels) {
                        convolve_block<pixels, eights, true>(group, from + at * inputs, to + at * outputs);
                    });
            by_blocks<PIXELS[eights - 1]>(part.first, part.last, [&](Index at, auto pixels) {
                convolve_block<pixels, eights, false>(group, from + at * inputs, to + at * outputs);
            });
        });
    });
}

static void pool(View<const float, 3> x, View<float, 3> out, Index y0, Index y1) { largest_of_four(x, out, y0, y1); }

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
