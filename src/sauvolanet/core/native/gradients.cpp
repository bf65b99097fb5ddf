// What training adds to the kernels of a network: gradients of weights, and normalisation with ReLU both ways.
//
// All arrays are (H, W, C) float32 of one patch; the caller walks over the batch. The truth is torch's own autograd.

#include <algorithm>
#include <utility>
#include <vector>

#include "bind.h"
#include "lanes.h"

namespace sauvolanet::LEVEL {

// How many inputs of 8 or 16 outputs fit into the registers.
#if defined(__AVX512F__)
constexpr int MOST_INPUTS[] = {12, 12};
#elif defined(__AVX2__) || defined(__ARM_NEON)
constexpr int MOST_INPUTS[] = {8, 6};
#else
constexpr int MOST_INPUTS[] = {5, 3};
#endif

struct Pixels {  // rows × columns of them; steps from pixel to pixel and from row to row of inputs and outputs
    Index rows, columns, x_step, x_row, grad_step, grad_row;
};

// total[inputs, 8 · eights outputs] += Σ over pixels of x ⊗ grad.
template <int inputs, int eights>
static void outer(const Pixels &pixels, const float *x, const float *grad, float *total, Index step) {
    constexpr int wide = 8 * eights < WIDE ? 8 * eights : WIDE, count = 8 * eights / wide;  // lanes of a vector, vectors
    Lanes<wide> sums[inputs][count];
#pragma GCC unroll 12
    for (int c = 0; c < inputs; c++)
#pragma GCC unroll 4
        for (int v = 0; v < count; v++) sums[c][v] = load<wide>(total + c * step + v * wide);
    for (Index r = 0; r < pixels.rows; r++) {
        const float *a = x + r * pixels.x_row, *g = grad + r * pixels.grad_row;
        for (Index n = 0; n < pixels.columns; n++, a += pixels.x_step, g += pixels.grad_step)
#pragma GCC unroll 12
            for (int c = 0; c < inputs; c++)
#pragma GCC unroll 4
                for (int v = 0; v < count; v++) sums[c][v] = fma(load<wide>(g + v * wide), spread<wide>(a[c]), sums[c][v]);
    }
#pragma GCC unroll 12
    for (int c = 0; c < inputs; c++)
#pragma GCC unroll 4
        for (int v = 0; v < count; v++) store<wide>(total + c * step + v * wide, sums[c][v]);
}

using Outer = void (*)(const Pixels &, const float *, const float *, float *, Index);

template <int eights, int... less> static Outer outer_of(Index inputs, std::integer_sequence<int, less...>) {
    static constexpr Outer all[] = {outer<less + 1, eights>...};
    return all[inputs - 1];
}

// The same for any number of inputs, dealt evenly to blocks.
template <int eights>
static void outer_all(const Pixels &pixels, Index inputs, const float *x, const float *grad, float *total, Index step) {
    constexpr int most = MOST_INPUTS[eights - 1];
    const Index blocks = (inputs + most - 1) / most;
    for (Index i = 0; i < blocks; i++) {
        const Index a = inputs * i / blocks, b = inputs * (i + 1) / blocks;
        const Outer block = outer_of<eights>(b - a, std::make_integer_sequence<int, most>());
        block(pixels, x + a, grad, total + a * step, step);
    }
}

// total (size², inputs, outputs) += gradient of the weights from one patch; all arrays are contiguous.
static void weight_gradient(View<const float, 3> x, View<const float, 3> grad, View<float, 3> total, Index size, Index dilation) {
    const Index height = x.shape[0], width = x.shape[1], inputs = x.shape[2], outputs = grad.shape[2];
    const Index chunk = std::max<Index>(1, 4096 / (width * inputs));  // rows whose inputs stay in the first cache
    for (Index i = 0; i < height; i += chunk)
        for (Index t = 0; t < size * size; t++) {
            const Index down = (t / size - size / 2) * dilation, right = (t % size - size / 2) * dilation;
            // the pixels whose input of this tap lies on the page
            const Index top = std::max(i, -down), bottom = std::min({i + chunk, height, height - down});
            const Index left = std::max<Index>(0, -right), end = std::min(width, width - right);
            if (top >= bottom || left >= end) continue;
            const Pixels pixels = {bottom - top, end - left, inputs, width * inputs, outputs, width * outputs};
            const float *from = x.data + ((top + down) * width + left + right) * inputs;
            const float *g = grad.data + (top * width + left) * outputs;
            float *to = total.data + t * inputs * outputs;
            Index o = 0;
            for (; o + 16 <= outputs; o += 16) outer_all<2>(pixels, inputs, from, g + o, to + o, outputs);
            if (o < outputs) outer_all<1>(pixels, inputs, from, g + o, to + o, outputs);
        }
}

// Sums over the pixels of a patch: float32 along a row, the rows in float64 into total (kinds, C).
//
// add(i, j, sums) adds the numbers of pixel j of row i to sums (kinds, C).
template <class Add> static void sum_rows(Index height, Index width, Index kinds, Index channels, double *total, Add add) {
    std::vector<float> sums(static_cast<std::size_t>(kinds * channels));
    for (Index i = 0; i < height; i++) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (Index j = 0; j < width; j++) add(i, j, sums.data());
        for (Index c = 0; c < kinds * channels; c++) total[c] += static_cast<double>(sums[static_cast<std::size_t>(c)]);
    }
}

// total (2, C) float64 += sums and sums of squares of z over its pixels.
static void pixel_moments(View<const float, 3> z, View<double, 2> total) {
    const Index channels = z.shape[2];
    sum_rows(z.shape[0], z.shape[1], 2, channels, total.data, [&](Index i, Index j, float *sums) {
        const float *from = z[i][j].data;
        by_lanes(channels, [&](Index c, auto lanes) {
            constexpr int N = lanes;
            const auto value = load<N>(from + c);
            store<N>(sums + c, load<N>(sums + c) + value);
            store<N>(sums + channels + c, load<N>(sums + channels + c) + value * value);
        });
    });
}

// total (2, C) float64 += Σ g and Σ g · ẑ where y > 0, ẑ = (z − mean) · inverse.
static void normalise_sums(View<const float, 3> z, View<const float, 3> y, View<const float, 3> grad, View<const float, 1> mean,
                           View<const float, 1> inverse, View<double, 2> total) {
    const Index channels = z.shape[2];
    sum_rows(z.shape[0], z.shape[1], 2, channels, total.data, [&](Index i, Index j, float *sums) {
        const float *from = z[i][j].data, *out = y[i][j].data, *grads = grad[i][j].data;
        by_lanes(channels, [&](Index c, auto lanes) {
            constexpr int N = lanes;
            const auto g = where_positive<N>(load<N>(out + c), load<N>(grads + c));
            const auto scaled = (load<N>(from + c) - load<N>(mean.data + c)) * load<N>(inverse.data + c);
            store<N>(sums + c, load<N>(sums + c) + g);
            store<N>(sums + channels + c, load<N>(sums + channels + c) + g * scaled);
        });
    });
}

// out = scale · (g − mean_grad − ẑ · mean_product), g masked by the ReLU.
static void normalise_gradient(View<const float, 3> z, View<const float, 3> y, View<const float, 3> grad,
                               View<const float, 1> mean, View<const float, 1> inverse, View<const float, 1> scale,
                               View<const float, 1> mean_grad, View<const float, 1> mean_product, View<float, 3> out) {
    for (Index i = 0; i < z.shape[0]; i++)
        for (Index j = 0; j < z.shape[1]; j++) {
            const float *from = z[i][j].data, *ys = y[i][j].data, *grads = grad[i][j].data;
            float *to = out[i][j].data;
            by_lanes(z.shape[2], [&](Index c, auto lanes) {
                constexpr int N = lanes;
                const auto g = where_positive<N>(load<N>(ys + c), load<N>(grads + c)) - load<N>(mean_grad.data + c);
                const auto scaled = (load<N>(from + c) - load<N>(mean.data + c)) * load<N>(inverse.data + c);
                store<N>(to + c, load<N>(scale.data + c) * fma(-scaled, load<N>(mean_product.data + c), g));
            });
        }
}

// total (C) float64 += sums of z over its pixels.
static void channel_sums(View<const float, 3> z, View<double, 1> total) {
    const Index channels = z.shape[2];
    sum_rows(z.shape[0], z.shape[1], 1, channels, total.data, [&](Index i, Index j, float *sums) {
        const float *from = z[i][j].data;
        by_lanes(channels, [&](Index c, auto lanes) {
            constexpr int N = lanes;
            store<N>(sums + c, load<N>(sums + c) + load<N>(from + c));
        });
    });
}

// Gradients of `attend`; for_change may be None, for_k and for_r (float64) are added to.
static void attend_gradient(View<const float, 3> attention, View<const float, 3> mean, View<const float, 3> deviation,
                            View<const float, 1> k, View<const float, 1> r, View<const float, 1> constants,
                            View<const float, 2> threshold, View<const float, 2> grad, View<float, 3> for_logits,
                            View<float, 3> for_change, View<double, 1> for_k, View<double, 1> for_r) {
    const Index windows = k.shape[0], choices = attention.shape[2];
    std::vector<float> inverse(static_cast<std::size_t>(windows)), sums_k(inverse), sums_r(inverse);
    for (Index c = 0; c < windows; c++) inverse[c] = 1.0f / r[c];
    for (Index i = 0; i < grad.shape[0]; i++) {
        std::fill(sums_k.begin(), sums_k.end(), 0.0f);
        std::fill(sums_r.begin(), sums_r.end(), 0.0f);
        for (Index j = 0; j < grad.shape[1]; j++) {
            const float g = grad(i, j), t = threshold(i, j);
            const auto weights = attention[i][j];
            const auto means = mean[i][j], deviations = deviation[i][j];
            const auto to = for_logits[i][j];
            for (Index c = 0; c < windows; c++) {
                const float a = weights[c] * g, m = means[c], ratio = deviations[c] * inverse[c];
                sums_k[c] += a * m * (ratio - 1.0f);
                sums_r[c] += a * m * ratio;
                to[c] = a * (m * (1.0f + k[c] * (ratio - 1.0f)) - t);
            }
            for (Index c = windows; c < choices; c++) to[c] = weights[c] * g * (constants[c - windows] - t);
            if (for_change.data) std::copy_n(to.data, choices, for_change[i][j].data);
        }
        for (Index c = 0; c < windows; c++) {
            for_k[c] += static_cast<double>(sums_k[c]);
            for_r[c] -= static_cast<double>(sums_r[c] * k[c] * inverse[c]);
        }
    }
}

// The gradient of `unfold` for the head; fold is 1 or 2.
static void unfold_gradient(View<const float, 3> grad, Index fold, Index choices, View<float, 3> out) {
    const Index shift = fold - 1, odd = fold - 1;  // x / fold = x >> shift, x % fold = x & odd
    for (Index y = 0; y < grad.shape[0]; y++)
        for (Index x = 0; x < grad.shape[1]; x++)
            std::copy_n(grad[y][x].data, choices,
                        out[y >> shift][x >> shift].data + ((y & odd) * fold + (x & odd)) * choices);
}

// The gradient of enlarging: out = sum of grad over each two by two cells.
static void sum_cells(View<const float, 3> grad, View<float, 3> out) {
    for (Index y = 0; y < out.shape[0]; y++)
        for (Index j = 0; j < out.shape[1]; j++) {
            const float *a = grad[2 * y][2 * j].data, *b = grad[2 * y][2 * j + 1].data;
            const float *c = grad[2 * y + 1][2 * j].data, *d = grad[2 * y + 1][2 * j + 1].data;
            float *__restrict to = out[y][j].data;
            for (Index n = 0; n < out.shape[2]; n++) to[n] = (a[n] + b[n]) + (c[n] + d[n]);
        }
}

Table gradients = {KERNEL(weight_gradient), KERNEL(pixel_moments), KERNEL(normalise_sums), KERNEL(normalise_gradient),
                   KERNEL(channel_sums), KERNEL(attend_gradient), KERNEL(unfold_gradient), KERNEL(sum_cells), {}};

}  // namespace sauvolanet::LEVEL
