// What a network reads, and what its logits become: scaled window statistics, features of the attention, thresholds.
//
// The truth is in net/inputs.py and net/run.py. Rows of several numbers per pixel are read and written eight numbers at a
// time, so what lies behind a pixel's own numbers is touched too; the last pixels of a row are done number by number.

#include <algorithm>
#include <cmath>
#include <limits>

#include "bind.h"
#include "lanes.h"
#include "strips.h"

namespace sauvolanet::LEVEL {

constexpr float LEAST = -std::numeric_limits<float>::infinity();

// Columns of (windows, columns) into out (columns, windows) as max((v − low) · gain, floor).
static void put(const float *values, Index pitch, Index count, Index windows, float low, float gain, float floor, float *out) {
    Index x = 0;
    for (const Index safe = windows <= 8 ? count - 8 - 8 / windows : 0; x < safe; x += 8) {
        Lanes<8> block[8];
        for (int w = 0; w < 8; w++)
            block[w] = larger<8>((load<8>(values + w * pitch + x) - low) * gain, spread<8>(floor));
        turn(block);
        for (int i = 0; i < 8; i++) store<8>(out + (x + i) * windows, block[i]);
    }
    for (; x < count; x++)
        for (Index w = 0; w < windows; w++) out[x * windows + w] = std::max((values[w * pitch + x] - low) * gain, floor);
}

// Rows y0 … y1 − 1 of the page of the scaled mean and deviation (H, W, windows) of a region: max((v − low) · gain, floor).
//
// top, left : the region's first row and column; it is as large as mean.
static void scaled_statistics(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, Index top, Index left, Index y0,
                              Index y1, float low, float gain, float floor, View<float, 3> mean, View<float, 3> deviation) {
    each_strip(gray, windows, left, mean.shape[1], y0, [&](auto strip, Index from, Index count) {
        const Index many = windows.shape[0];
        for (Index y = y0; y < y1; y++) {
            strip.row(y);
            put(&strip.means[strip.first], strip.width, count, many, low, gain, LEAST, mean[y - top][from].data);
            put(&strip.deviations[strip.first], strip.width, count, many, 0, gain, floor, deviation[y - top][from].data);
        }
    });
}

// Rows y0 … y1 − 1 of the page of threshold = Σ softmax(logits) · (m · (level + slope · s), constants), at most eight
// choices, without keeping m and s. slope = k / r, level = 1 − k.
//
// logits : (H, W, at least eight numbers of which the first are the choices). A lane is a pixel.
static void thresholds(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, Index top, Index left, Index y0, Index y1,
                       float low, float gain, float floor, View<const float, 3> logits, View<const float, 1> slope,
                       View<const float, 1> level, View<const float, 1> constants, View<float, 2> threshold) {
    const Index many = windows.shape[0], choices = many + constants.shape[0];
    each_strip(gray, windows, left, threshold.shape[1], y0, [&](auto strip, Index from, Index count) {
        for (Index y = y0; y < y1; y++) {
            strip.row(y);
            const float *from_logits = logits[y - top][from].data;
            for (Index x = 0; x < count; x += 8) {
                Lanes<8> block[8];
                for (Index i = 0; i < 8; i++) block[i] = load<8>(from_logits + std::min(x + i, count - 1) * logits.stride[1]);
                turn(block);
                Lanes<8> peak = block[0];
                for (Index c = 1; c < choices; c++) peak = larger<8>(peak, block[c]);
                Lanes<8> weights{}, surface{};
                for (Index c = 0; c < choices; c++) {
                    const Lanes<8> weight = exponential<8>(block[c] - peak);
                    weights = weights + weight;
                    Lanes<8> one;
                    if (c < many) {
                        const Index at = c * strip.width + strip.first + x;
                        const Lanes<8> mean = fma(load<8>(&strip.means[at]), spread<8>(gain), spread<8>(-low * gain));
                        const Lanes<8> deviation = larger<8>(load<8>(&strip.deviations[at]) * gain, spread<8>(floor));
                        one = mean * fma(spread<8>(slope[c]), deviation, spread<8>(level[c]));
                    } else {
                        one = spread<8>(constants[c - many]);
                    }
                    surface = fma(weight, one, surface);
                }
                surface = surface / weights;
                float *to = threshold[y - top].data + from + x;
                if (x + 8 <= count) store<8>(to, surface);
                else
                    for (Index i = 0; i < count - x; i++) to[i] = surface[static_cast<int>(i)];
            }
        }
    });
}

// The mean of full (H, W, C) over a cell; the page's edge goes on beyond it.
static void cell(View<const float, 3> full, Index y, Index x, Index fold, float part, float *out) {
    for (Index c = 0; c < full.shape[2]; c++) {
        float sum = 0;
        for (Index a = 0; a < fold; a++)
            for (Index b = 0; b < fold; b++)
                sum += full(std::min(y * fold + a, full.shape[0] - 1), std::min(x * fold + b, full.shape[1] - 1), c);
        out[c] = sum * part;
    }
}

// Rows y0 … y1 − 1 of the features (H / fold, W / fold, C): each kind from its own channel on, none if that is < 0.
//
// All arrays are contiguous.
static void features(View<const float, 2> scaled, View<const float, 3> mean, View<const float, 3> deviation,
                     View<const float, 1> numbers, Index at_gray, Index at_mean, Index at_deviation, Index at_numbers,
                     Index fold, Index y0, Index y1, View<float, 3> out) {
    const Index height = mean.shape[0], width = mean.shape[1], windows = mean.shape[2], pitch = width * windows;
    const Index cells = out.shape[1], channels = out.shape[2];
    const float part = 1.0f / static_cast<float>(fold * fold);
    struct {
        View<const float, 3> full;
        Index at;
    } kinds[] = {{mean, at_mean}, {deviation, at_deviation}};
    // the one with the lower channels first: cells are written from left to right, so that what lanes spoil is written
    // later, and gray and the page's numbers after them
    if (at_mean > at_deviation) std::swap(kinds[0], kinds[1]);
    for (Index y = y0; y < y1; y++) {
        Index inside = std::min(width / 2, cells - 7 / channels - 1);
        if (fold != 2 || 2 * y + 2 >= height || pitch < 8 || inside < 0) inside = 0;
        float *to = out[y].data;
        for (Index x = 0; x < cells; x++)
            for (const auto &kind : kinds) {
                if (kind.at < 0) continue;
                if (x >= inside) {
                    cell(kind.full, y, x, fold, part, to + x * channels + kind.at);
                    continue;
                }
                for (Index c = 0; c < windows; c += 8) {
                    const float *from = kind.full.data + 2 * (y * pitch + x * windows) + c;
                    const Lanes<8> sum = load<8>(from) + load<8>(from + windows) + load<8>(from + pitch) +
                                         load<8>(from + pitch + windows);
                    store<8>(to + x * channels + kind.at + c, sum * part);
                }
            }
        if (at_gray >= 0)
            for (Index a = 0; a < fold; a++) {
                const float *row = scaled[std::min(y * fold + a, height - 1)].data;
                for (Index b = 0; b < fold; b++)
                    for (Index x = 0; x < cells; x++)
                        to[x * channels + at_gray + a * fold + b] = row[std::min(x * fold + b, width - 1)];
            }
        if (at_numbers >= 0)
            for (Index x = 0; x < cells; x++) std::copy_n(numbers.data, numbers.shape[0], to + x * channels + at_numbers);
    }
}

// Logits at full resolution from the folded head, then gray and gray − mean of the windows in `near`; fold is 1 or 2.
//
// top : the page's row that is the first of out.
static void unfold(View<const float, 3> head, View<const float, 2> scaled, View<const float, 3> mean, View<const Index, 1> near,
                   Index fold, Index choices, Index top, View<float, 3> out) {
    const Index width = out.shape[1], inputs = out.shape[2];
    const Index safe = std::max<Index>(width - fold - 7 / inputs - 1, 0);
    const Index shift = fold - 1, odd = fold - 1;  // x / fold = x >> shift, x % fold = x & odd
    for (Index i = 0; i < out.shape[0]; i++) {
        const Index y = top + i;
        for (Index x = 0; x < width; x++) {
            const float *from = head[y >> shift][x >> shift].data + ((y & odd) * fold + (x & odd)) * choices;
            float *to = out[i][x].data;
            if (x < safe)
                for (Index c = 0; c < choices; c += 8) store<8>(to + c, load<8>(from + c));
            else std::copy_n(from, choices, to);
            if (inputs > choices) {
                const float gray = scaled(y, x);
                to[choices] = gray;
                for (Index c = 0; c < near.shape[0]; c++) to[choices + 1 + c] = gray - mean(y, x, near[c]);
            }
        }
    }
}

struct Choices {  // a lane is a choice: what lies behind them has a bias of minus infinity
    Lanes<8> slope, level, constant, bias;

    // The threshold of one pixel; one over the sum of the weights goes to `inverse`, the weights to `weights`.
    float attend(const float *logits, const float *change, const float *mean, const float *deviation, Lanes<8> &weights,
                 float &inverse) const {
        Lanes<8> value = load<8>(logits);
        if (change) value = value + load<8>(change);
        value = value + bias;
        weights = exponential<8>(value - highest(value));
        const Lanes<8> surface = fma(load<8>(mean), fma(slope, load<8>(deviation), level), constant);
        inverse = 1.0f / total(weights);
        return total(weights * surface) * inverse;
    }
};

// threshold = Σ softmax(logits + change) · (m · (level + slope · s), constants), at most eight choices.
//
// change : like logits, or None. attention : the softmax is put there, unless it is None.
static void attend(View<const float, 3> logits, View<const float, 3> change, View<const float, 3> mean,
                   View<const float, 3> deviation, View<const float, 1> slope, View<const float, 1> level,
                   View<const float, 1> constants, View<float, 3> attention, View<float, 2> threshold) {
    const Index width = threshold.shape[1], windows = mean.shape[2], choices = windows + constants.shape[0];
    float table[4][8] = {}, spare[4][8] = {};
    std::copy_n(slope.data, windows, table[0]);
    std::copy_n(level.data, windows, table[1]);
    std::copy_n(constants.data, constants.shape[0], table[2] + windows);
    std::fill(table[3] + choices, table[3] + 8, LEAST);
    const Choices all = {load<8>(table[0]), load<8>(table[1]), load<8>(table[2]), load<8>(table[3])};
    const Index safe = width - 8 / windows - 1;
    Lanes<8> weights;
    float inverse;
    for (Index i = 0; i < threshold.shape[0]; i++) {
        const float *l = logits[i].data, *c = change.data ? change[i].data : nullptr, *m = mean[i].data, *d = deviation[i].data;
        float *to = threshold[i].data;
        for (Index j = 0; j < width; j++) {
            if (j < safe) {
                to[j] = all.attend(l, c, m, d, weights, inverse);
            } else {
                std::copy_n(l, choices, spare[0]);
                if (c) std::copy_n(c, choices, spare[1]);
                std::copy_n(m, windows, spare[2]);
                std::copy_n(d, windows, spare[3]);
                to[j] = all.attend(spare[0], c ? spare[1] : nullptr, spare[2], spare[3], weights, inverse);
            }
            if (attention.data)
                for (Index n = 0; n < choices; n++) attention(i, j, n) = weights[static_cast<int>(n)] * inverse;
            l += logits.stride[1];
            if (c) c += change.stride[1];
            m += mean.stride[1];
            d += deviation.stride[1];
        }
    }
}

// The same with every product and sum rounded by itself, as all processors do it, and with change. A lane is a pixel.
static void attend_exactly(View<const float, 3> logits, View<const float, 3> change, View<const float, 3> mean,
                           View<const float, 3> deviation, View<const float, 1> slope, View<const float, 1> level,
                           View<const float, 1> constants, View<float, 3> attention, View<float, 2> threshold) {
    const Index width = threshold.shape[1], windows = mean.shape[2], choices = windows + constants.shape[0];
    const Index safe = width - 8 / windows - 1;  // before it eight numbers of a pixel can be read
    const View<const float, 3> *given[] = {&logits, &change, &mean, &deviation};
    constexpr int N = WIDE < 8 ? 8 : WIDE;  // pixels at a time
    float spare[4][N][8] = {};
    for (Index i = 0; i < threshold.shape[0]; i++)
        for (Index j = 0; j < width; j += N) {
            const Index count = std::min<Index>(N, width - j);
            Lanes<N> values[4][8];
            for (int kind = 0; kind < 4; kind++) {
                const View<const float, 2> row = (*given[kind])[i];
                const Index many = kind < 2 ? choices : windows;
                const float *from = row.data + j * row.stride[0];
                Index step = row.stride[0];
                if (j + N > safe) {
                    for (Index p = 0; p < count; p++) std::copy_n(from + p * step, many, spare[kind][p]);
                    from = spare[kind][0];
                    step = 8;
                }
                for (int p = 0; p < 8; p++) values[kind][p] = load_eights<N>(from + p * step, 8 * step);
            }
            auto &[value, more, m, d] = values;
            for (int p = 0; p < 8; p++) value[p] = value[p] + more[p];
            turn(value);
            turn(m);
            turn(d);
            Lanes<N> top = value[0], all{}, total{};
            for (Index n = 1; n < choices; n++) top = larger<N>(top, value[n]);
            for (Index n = 0; n < choices; n++) {
                value[n] = exponential<N, false>(value[n] - top);
                all = all + value[n];
                if (n < windows) total = total + value[n] * (m[n] * (d[n] * slope[n] + level[n]));
                else total = total + value[n] * constants[n - windows];
            }
            float result[N];
            store<N>(result, total / all);
            std::copy_n(result, count, threshold[i].data + j);
            if (!attention.data) continue;
            for (Index n = 0; n < choices; n++) {
                store<N>(result, value[n] / all);
                for (Index p = 0; p < count; p++) attention(i, j + p, n) = result[p];
            }
        }
}

// out (H, 2, C) float64 += sums and sums of squares of each row: pixel after pixel, eight channels at a time, which stay in
// registers.
static void row_sums(View<const float, 3> z, View<double, 3> out) {
    for (Index i = 0; i < z.shape[0]; i++)
        by_lanes(z.shape[2], [&](Index c, auto lanes) {
            constexpr int N = lanes;
            Doubles<N> sum{}, square{};
            for (Index j = 0; j < z.shape[1]; j++) {
                const Doubles<N> value = as_double<N>(load<N>(z[i][j].data + c));
                sum = sum + value;
                square = square + value * value;
            }
            for (int n = 0; n < N; n++) out(i, 0, c + n) += sum[n], out(i, 1, c + n) += square[n];
        });
}

// y = max(z · scale + shift, 0) per channel; y may be z.
static void normalise(View<const float, 3> z, View<const float, 1> scale, View<const float, 1> shift, View<float, 3> y) {
    for (Index i = 0; i < z.shape[0]; i++)
        for (Index j = 0; j < z.shape[1]; j++) {
            const float *from = z[i][j].data;
            float *to = y[i][j].data;
            by_lanes(z.shape[2], [&](Index c, auto lanes) {
                constexpr int N = lanes;
                const auto value = fma(load<N>(from + c), load<N>(scale.data + c), load<N>(shift.data + c));
                store<N>(to + c, larger<N>(value, Lanes<N>{}));
            });
        }
}

// Thresholds on the gray's own scale, values · times + low; 0 for those that are not above the floor, unless that is 0.
static void to_gray(View<const float, 2> values, float times, float low, float floor, View<float, 2> out) {
    for (Index y = 0; y < values.shape[0]; y++) {
        const float *from = values[y].data;
        float *__restrict to = out[y].data;
        for (Index x = 0; x < values.shape[1]; x++) {
            const float value = from[x] * times + low;
            to[x] = floor != 0 && value <= floor ? 0.0f : value;
        }
    }
}

Table features_table = {KERNEL(scaled_statistics), KERNEL(thresholds), KERNEL(features),  KERNEL(unfold), KERNEL(attend),
                        KERNEL(attend_exactly),    KERNEL(row_sums),   KERNEL(normalise), KERNEL(to_gray), {}};

}  // namespace sauvolanet::LEVEL
