// The two ends of a network in 8 bits: from the page to the bytes of its first convolution, and from its head to thresholds.
//
// Window statistics are taken on the way, row by row, and never kept for the page. What the numbers mean, and the truth of
// each kernel, is in net/eight.py; fold is 2.

#include <cstring>
#include <vector>

#include "bind.h"
#include "eight.h"
#include "strips.h"

namespace sauvolanet::LEVEL {

constexpr int PIXELS = WIDE < 8 ? 8 : WIDE;  // that are done together, where a lane is a pixel

inline std::size_t room(Index count) { return static_cast<std::size_t>(count + 2 * PIXELS); }

// How the page's gray is scaled; no deviation is below the floor.
struct Scaled {
    float low, gain, floor;

    void grays(const std::uint8_t *from, Index count, float *__restrict to) const {
        for (Index x = 0; x < count; x++) to[x] = (static_cast<float>(from[x]) - low) * gain;
    }
    void means(const float *from, Index count, float *__restrict to) const {
        for (Index x = 0; x < count; x++) to[x] = (from[x] - low) * gain;
    }
    void deviations(const float *from, Index count, float *__restrict to) const {
        for (Index x = 0; x < count; x += WIDE)
            store<WIDE>(to + x, larger<WIDE>(load<WIDE>(from + x) * gain, spread<WIDE>(floor)));
    }
};

// Four channels, a row of numbers each, as bytes side by side: number · gain + zero, rounded, 0 … 127.
static void four_bytes(const float *const rows[4], const float *gain, const float *zero, Index count, std::int32_t *to) {
    for (Index x = 0; x < count; x += WIDE) {
        Whole<WIDE> all{};
        for (int c = 0; c < 4; c++) {
            const Lanes<WIDE> value = load<WIDE>(rows[c] + x) * gain[c] + spread<WIDE>(zero[c]);
            all = all + (truncated<WIDE>(limited<WIDE>(value)) << 8 * c);
        }
        std::memcpy(to + x, &all, sizeof all);
    }
}

// Rows y0 … y1 − 1 of the bytes that the first convolution reads of a region of the page: cells of two by two pixels, each
// kind of feature from its own channel on, none if that is < 0. Beyond the region its last row and column go on.
//
// top, left, height, width : the region. gain, zero : of the channels, whose number is a multiple of four.
static void first_bytes(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, float low, float scale, float floor,
                        View<const float, 1> numbers, Index at_gray, Index at_mean, Index at_deviation, Index at_numbers,
                        View<const float, 1> gain, View<const float, 1> zero, Index top, Index left, Index height, Index width,
                        Index y0, Index y1, View<Byte, 3> out) {
    const Scaled scaled = {low, scale, floor};
    const Index channels = out.shape[2];
    each_strip(gray, windows, left, width, top + std::min(2 * y0, height - 1), [&](auto strip, Index from, Index count) {
        const Index begin = from / 2, cells = (from + count == width ? out.shape[1] : (from + count) / 2) - begin;
        const Index pitch = static_cast<Index>(room(cells));
        std::vector<float> planes(static_cast<std::size_t>(channels * pitch)), line(room(2 * cells));
        std::vector<std::int32_t> four(room(cells));
        const auto plane = [&](Index channel) { return planes.data() + channel * pitch; };
        for (Index c = 0; at_numbers >= 0 && c < numbers.shape[0]; c++) std::fill_n(plane(at_numbers + c), pitch, numbers[c]);
        Index last = -1;
        for (Index y = y0; y < y1; y++) {
            for (Index a = 0; a < 2; a++) {
                const Index row = top + std::min(2 * y + a, height - 1);
                if (row != last) strip.row(row);
                last = row;
                const auto go_on = [&] { std::fill(line.begin() + count, line.begin() + 2 * cells, line[count - 1]); };
                const auto add = [&](float *__restrict to) {
                    go_on();
                    const float *from_line = line.data();
                    if (a == 0)
                        for (Index x = 0; x < cells; x++) to[x] = from_line[2 * x] + from_line[2 * x + 1];
                    else
                        for (Index x = 0; x < cells; x++) to[x] = (to[x] + from_line[2 * x] + from_line[2 * x + 1]) * 0.25f;
                };
                for (Index w = 0; w < windows.shape[0]; w++) {
                    const Index at = w * strip.width + strip.first;
                    if (at_mean >= 0) {
                        scaled.means(&strip.means[at], count, line.data());
                        add(plane(at_mean + w));
                    }
                    if (at_deviation >= 0) {
                        scaled.deviations(&strip.deviations[at], count, line.data());
                        add(plane(at_deviation + w));
                    }
                }
                if (at_gray < 0) continue;
                scaled.grays(gray[row].data + left + from, count, line.data());
                go_on();
                for (Index b = 0; b < 2; b++)
                    for (Index x = 0; x < cells; x++) plane(at_gray + 2 * a + b)[x] = line[2 * x + b];
            }
            for (Index c = 0; c < channels; c += 4) {
                const float *const rows[] = {plane(c), plane(c + 1), plane(c + 2), plane(c + 3)};
                four_bytes(rows, gain.data + c, zero.data + c, cells, four.data());
                Byte *to = out[y][begin].data + c;
                for (Index x = 0; x < cells; x++) std::memcpy(to + x * channels, &four[x], 4);
            }
        }
    });
}

// The logits of a row of pixels: cells hold those of two by two pixels.
struct Logits {
    const float *cells;
    Index step, choices;  // from cell to cell

    const float *at(Index x) const { return cells + x / 2 * step + x % 2 * choices; }
};

// One pixel after the other: Σ softmax(logits + change) · (m · (level + slope · s), constants), every product and sum rounded
// by itself. first : an even pixel. change : eight numbers for each pixel. mean, deviation : of windows, `pitch` numbers apart.
static void attend_row(const Logits &logits, Index first, const float *change, const float *mean, const float *deviation,
                       Index pitch, View<const float, 1> slope, View<const float, 1> level, View<const float, 1> constants,
                       Index count, float *threshold) {
    const Index windows = slope.shape[0], choices = logits.choices;
    float spare[PIXELS][8] = {};
    for (Index j = 0; j < count; j += PIXELS) {
        const Index many = std::min<Index>(PIXELS, count - j);
        Lanes<PIXELS> value[8];
        if (many == PIXELS) {
            for (int p = 0; p < 8; p++) value[p] = load_eights<PIXELS>(logits.at(first + j + p), 4 * logits.step);
        } else {
            for (Index p = 0; p < many; p++) std::copy_n(logits.at(first + j + p), choices, spare[p]);
            for (int p = 0; p < 8; p++) value[p] = load_eights<PIXELS>(spare[p], 64);
        }
        for (int p = 0; p < 8; p++) value[p] = value[p] + load_eights<PIXELS>(change + (j + p) * 8, 64);
        turn(value);
        Lanes<PIXELS> top = value[0], all{}, total{};
        for (Index n = 1; n < choices; n++) top = larger<PIXELS>(top, value[n]);
        for (Index n = 0; n < choices; n++) {
            const Lanes<PIXELS> weight = exponential<PIXELS, false>(value[n] - top);
            all = all + weight;
            if (n < windows) {
                const Lanes<PIXELS> m = load<PIXELS>(mean + n * pitch + j), d = load<PIXELS>(deviation + n * pitch + j);
                total = total + weight * (m * (d * slope[n] + level[n]));
            } else {
                total = total + weight * constants[n - windows];
            }
        }
        float result[PIXELS];
        store<PIXELS>(result, total / all);
        std::copy_n(result, many, threshold + j);
    }
}

// Rows y0 … y1 − 1 of the page of a region's thresholds, from what the network's last convolution of one tap reads, x. It gives
// logits; two convolutions of these, the gray, and the gray minus its mean in three windows change them; then they choose
// between the windows and constants.
//
// top, left : the region's first row and column; it is as large as threshold. x : bytes of cells, the first at x_top, x_left,
// which are even. near : the three windows. gain, zero : of what the first of the two convolutions reads. At most eight
// choices; eight numbers can be read from the logits of every pixel of a cell; the second convolution has eight outputs.
static void thresholds8(View<const std::uint8_t, 2> gray, View<const Index, 1> windows, float low, float scale, float floor,
                        View<const Byte, 3> x, Index x_top, Index x_left, View<const Weight, 1> w0,
                        View<const std::int32_t, 1> start0, View<const float, 1> gain0, View<const float, 1> bias0,
                        View<const Index, 1> near, View<const float, 1> gain, View<const float, 1> zero,
                        View<const Weight, 1> w1, View<const std::int32_t, 1> start1, View<const float, 1> gain1,
                        View<const float, 1> bias1, View<const Weight, 1> w2, View<const std::int32_t, 1> start2,
                        View<const float, 1> gain2, View<const float, 1> bias2, View<const float, 1> slope,
                        View<const float, 1> level, View<const float, 1> constants, Index top, Index left, Index y0, Index y1,
                        View<float, 2> threshold) {
    const Scaled scaled = {low, scale, floor};
    const Index many = windows.shape[0], choices = many + constants.shape[0], height = gray.shape[0];
    const Bytewise head(w0, start0, gain0, bias0, 1, 1), one(w1, start1, gain1, bias1, 3, 1), two(w2, start2, gain2, bias2, 3, 1);
    const Index inputs = one.inputs, hidden = two.inputs, outputs = head.outputs;
    each_strip(gray, windows, left, threshold.shape[1], std::max<Index>(y0 - 2, 0), [&](auto strip, Index from, Index columns) {
        // three rows of each, used in turn, and one of what lies beyond the page
        const Index count = strip.last - strip.first, pitch = static_cast<Index>(room(count)), begin = strip.left + strip.first;
        const Index wide[] = {(count + 2) * inputs, (count + 2) * hidden};
        std::vector<Byte> bytes(static_cast<std::size_t>(4 * wide[0])), between(static_cast<std::size_t>(4 * wide[1]));
        for (Index i = 0; i < 4 * wide[0]; i++) bytes[i] = static_cast<Byte>(zero[i % inputs]);
        std::vector<float> means(static_cast<std::size_t>(3 * many * pitch)), deviations(means.size());
        std::vector<float> line(room(count)), away(3 * room(count)), change(8 * room(count));
        std::vector<std::int32_t> four(room(count));
        const Index cells = (count + 1) / 2;
        std::vector<float> heads(static_cast<std::size_t>(2 * cells * outputs));
        Index known = -1;  // the row of cells that was computed last
        const auto logits = [&](Index y) {
            return Logits{&heads[y / 2 % 2 * cells * outputs + y % 2 * 2 * choices], outputs, choices};
        };
        const auto slot = [&](Index y) { return y < 0 || y >= height ? 3 : y % 3; };

        const auto read = [&](Index y) {
            strip.row(y);
            float *mean = &means[y % 3 * many * pitch], *deviation = &deviations[y % 3 * many * pitch];
            for (Index w = 0; w < many; w++) {
                scaled.means(&strip.means[w * strip.width + strip.first], count, mean + w * pitch);
                scaled.deviations(&strip.deviations[w * strip.width + strip.first], count, deviation + w * pitch);
            }
            scaled.grays(gray[y].data + begin, count, line.data());
            const float *rows[4] = {line.data()};
            for (Index c = 0; c < 3; c++) {
                float *__restrict to = &away[c * pitch];
                const float *m = mean + near[c] * pitch, *g = line.data();
                for (Index i = 0; i < count; i++) to[i] = g[i] - m[i];
                rows[c + 1] = to;
            }
            four_bytes(rows, gain.data + choices, zero.data + choices, count, four.data());
            const Lanes<8> gains = load<8>(gain.data), zeros = load<8>(zero.data);
            if (y / 2 != known) {
                const Index here = 0;
                known = y / 2;
                head.row(x[known - x_top / 2][(begin - x_left) / 2].data, &here, cells, &heads[known % 2 * cells * outputs],
                         outputs);
            }
            const Logits row = logits(y);
            Byte *to = &bytes[slot(y) * wide[0] + inputs];
            for (Index i = 0; i < count; i++, to += inputs) {
                store_bytes<8>(to, load<8>(row.at(i)) * gains + zeros);
                std::memcpy(to + choices, &four[i], 4);
            }
        };
        const auto convolved = [&](const Bytewise &layer, const std::vector<Byte> &given, Index wide_row, Index y, auto *to) {
            const Index rows[] = {slot(y - 1) * wide_row, slot(y) * wide_row, slot(y + 1) * wide_row};
            layer.row(given.data(), rows, count, to, layer.outputs);
        };
        for (Index y = std::max<Index>(y0 - 2, 0); y < y1 + 2; y++) {
            if (y < height) read(y);
            if (y >= std::max<Index>(y0, 1) && y - 1 < height)
                convolved(one, bytes, wide[0], y - 1, &between[slot(y - 1) * wide[1] + hidden]);
            if (y - 2 < y0) continue;
            convolved(two, between, wide[1], y - 2, change.data());
            const Index skipped = left + from - begin, row = (y - 2) % 3 * many * pitch + skipped;
            attend_row(logits(y - 2), skipped, &change[8 * skipped], &means[row], &deviations[row], pitch, slope, level,
                       constants, columns, threshold[y - 2 - top].data + from);
        }
    }, 2);
}

Table ends = {KERNEL(first_bytes), KERNEL(thresholds8), {}};

}  // namespace sauvolanet::LEVEL
