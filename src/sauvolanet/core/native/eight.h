// Convolutions of bytes, row by row: activations 0 … 127, weights −127 … 127, exact sums, so every processor gives the same
// numbers.
//
// Where weights are finer than that, they are 128 times one weight plus another: sums of the first, times 128, go on with the
// second.
//
// An activation of 7 bits times a weight of 8, two of them summed, fits into 16 bits: AVX2 needs no saturation. What the
// numbers mean is in net/eight.py.

#pragma once

#include <algorithm>
#include <vector>

#include "lanes.h"
#include "walk.h"

namespace sauvolanet::LEVEL {

using Byte = std::uint8_t;
using Weight = std::int8_t;

// Sums of 8 or 16 outputs; `dot` adds four products to each, `go_on` takes them 128 times.
//
// w : the weights of four inputs of each output. x : these inputs, `four`, taken from memory once for all outputs.
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)

#define SAUVOLANET_SIXTEEN
using Eight = __m256i;
using Sixteen = __m512i;
using Four = Sixteen;
constexpr int PIXELS_8[] = {12, 12, 10};

// GCC's own function keeps a copy of every sum, and moves it twice for each product. t : the lower half of a register.
#if defined(__GNUC__)
inline void add_products(Sixteen &sums, Four x, Sixteen w) { asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(w)); }
inline void add_products(Eight &sums, Four x, Eight w) { asm("vpdpbusd %2, %t1, %0" : "+v"(sums) : "v"(x), "v"(w)); }
#else
inline void add_products(Sixteen &sums, Four x, Sixteen w) { sums = _mm512_dpbusd_epi32(sums, x, w); }
inline void add_products(Eight &sums, Four x, Eight w) { sums = _mm256_dpbusd_epi32(sums, _mm512_castsi512_si256(x), w); }
#endif

inline Four four(const Byte *from) { return _mm512_maskz_broadcastd_epi32(ALL_16, _mm_loadu_si32(from)); }
inline void begin(Eight &sums, const std::int32_t *from) { sums = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)); }
inline void begin(Sixteen &sums, const std::int32_t *from) { sums = _mm512_loadu_si512(from); }
inline void dot(Eight &sums, Four x, const Weight *w) {
    add_products(sums, x, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w)));
}
inline void dot(Sixteen &sums, Four x, const Weight *w) { add_products(sums, x, _mm512_loadu_si512(w)); }
inline void go_on(Eight &sums, const std::int32_t *from) {
    sums = _mm256_add_epi32(_mm256_slli_epi32(sums, 7), _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
}
inline void go_on(Sixteen &sums, const std::int32_t *from) {
    sums = _mm512_add_epi32(_mm512_maskz_slli_epi32(ALL_16, sums, 7), _mm512_loadu_si512(from));
}

#elif defined(__AVX2__)

using Eight = __m256i;
using Four = __m256i;
constexpr int PIXELS_8[] = {8, 5, 4};

inline Four four(const Byte *from) {
    std::int32_t x;
    std::memcpy(&x, from, 4);
    return _mm256_set1_epi32(x);
}
inline void begin(Eight &sums, const std::int32_t *from) { sums = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)); }
inline void dot(Eight &sums, Four x, const Weight *w) {
    const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
    const __m256i pairs = _mm256_maddubs_epi16(x, weights);
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline void go_on(Eight &sums, const std::int32_t *from) {
    sums = _mm256_add_epi32(_mm256_slli_epi32(sums, 7), _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
}

#else

struct Eight {
    std::int32_t of[8];
};
struct Four {
    Weight of[4];
};
constexpr int PIXELS_8[] = {2, 2, 2};

inline Four four(const Byte *from) {
    Four x;
    std::memcpy(x.of, from, 4);
    return x;
}
inline void begin(Eight &sums, const std::int32_t *from) { std::copy_n(from, 8, sums.of); }
inline void dot(Eight &sums, Four x, const Weight *w) {
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 4; i++) sums.of[o] += std::int32_t(x.of[i]) * std::int32_t(w[4 * o + i]);
}
inline void go_on(Eight &sums, const std::int32_t *from) {
    for (int o = 0; o < 8; o++) sums.of[o] = sums.of[o] * 128 + from[o];
}

#endif

struct Group8 {  // of outputs
    Index taps[9];  // where the inputs of each lie from those of the first; without dilation those of a row are one
    int count;
    Index run;           // inputs of a tap
    Index inputs, step;  // from pixel to pixel
    const Weight *w, *finer;  // the second of the two weights, or none
    const std::int32_t *start, *finer_start;
    const float *gain, *bias;
};

// What is cut off to the byte of a number: rounded, 0 … 127.
template <int N> inline Lanes<N> limited(Lanes<N> value) {
    return smaller<N>(larger<N>(value, Lanes<N>{}), spread<N>(127.0f)) + 0.5f;
}

// N numbers as bytes.
template <int N> inline void store_bytes(Byte *to, Lanes<N> value) {
    const Bytes<N> bytes = as_bytes<N>(truncated<N>(limited<N>(value)));
    std::memcpy(to, &bytes, sizeof bytes);
}

// N outputs, sum · gain + bias: as bytes, or as they are.
template <int N> inline void put(Byte *to, Lanes<N> value) { store_bytes<N>(to, value); }
template <int N> inline void put(float *to, Lanes<N> value) { store<N>(to, value); }
template <int N, class Sums, class Number>
inline void put_sums(const Sums &sums, Lanes<N> gain, Lanes<N> bias, Number *to) {
    Whole<N> whole;
    static_assert(sizeof whole == sizeof sums);
    std::memcpy(&whole, &sums, sizeof whole);
    put<N>(to, as_float<N>(whole) * gain + bias);
}

template <int pixels, int eights, int passes, class Number>
static void convolve_block(const Group8 &group, const Byte *x, Number *y) {
#if defined(SAUVOLANET_SIXTEEN)
    constexpr int sixteens = eights / 2, rest = eights % 2;
    Sixteen a[pixels][sixteens + 1];
#else
    constexpr int sixteens = 0, rest = eights;
#endif
    Eight b[pixels][rest + 1];
    (void)sixteens;
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
#if defined(SAUVOLANET_SIXTEEN)
        for (int v = 0; v < sixteens; v++) begin(a[p][v], group.start + 16 * v);
#endif
#pragma GCC unroll 3
        for (int v = 0; v < rest; v++) begin(b[p][v], group.start + 16 * sixteens + 8 * v);
    }
    for (int pass = 0; pass < passes; pass++) {
        const Weight *w = pass ? group.finer : group.w;
        if (pass) {
#pragma GCC unroll 12
            for (int p = 0; p < pixels; p++) {
#if defined(SAUVOLANET_SIXTEEN)
                for (int v = 0; v < sixteens; v++) go_on(a[p][v], group.finer_start + 16 * v);
#endif
#pragma GCC unroll 3
                for (int v = 0; v < rest; v++) go_on(b[p][v], group.finer_start + 16 * sixteens + 8 * v);
            }
        }
        for (int t = 0; t < group.count; t++) {
            const Byte *at = x + group.taps[t];
            for (Index c = 0; c < group.run; c += 4, w += 32 * eights) {
#pragma GCC unroll 12
                for (int p = 0; p < pixels; p++) {
                    const Four x4 = four(at + p * group.inputs + c);
#if defined(SAUVOLANET_SIXTEEN)
                    for (int v = 0; v < sixteens; v++) dot(a[p][v], x4, w + 64 * v);
#endif
#pragma GCC unroll 3
                    for (int v = 0; v < rest; v++) dot(b[p][v], x4, w + 64 * sixteens + 32 * v);
                }
            }
        }
    }
#if defined(SAUVOLANET_SIXTEEN)
    for (int v = 0; v < sixteens; v++) {
        const Lanes<16> gain = load<16>(group.gain + 16 * v), bias = load<16>(group.bias + 16 * v);
#pragma GCC unroll 12
        for (int p = 0; p < pixels; p++) put_sums<16>(a[p][v], gain, bias, y + p * group.step + 16 * v);
    }
#endif
#pragma GCC unroll 3
    for (int v = 0; v < rest; v++) {
        const int at = 16 * sixteens + 8 * v;
        const Lanes<8> gain = load<8>(group.gain + at), bias = load<8>(group.bias + at);
#pragma GCC unroll 12
        for (int p = 0; p < pixels; p++) put_sums<8>(b[p][v], gain, bias, y + p * group.step + at);
    }
}

#if defined(SAUVOLANET_SIXTEEN)

// Eight outputs fill half a register, so two groups of four neighbouring inputs go through it at a time: the lanes of an
// output are side by side, and added at the end. Taps of a row are neighbours, too, if nothing lies between them.
//
// The weights of a group of eight outputs in that order: row of taps, two groups of inputs, output, group, input.
inline std::vector<Weight> paired(const Weight *w, Index size, Index inputs) {
    const Index groups = size * inputs / 4, steps = (groups + 1) / 2;
    std::vector<Weight> pairs(static_cast<std::size_t>(size * steps * 64));
    for (Index a = 0; a < size; a++)
        for (Index g = 0; g < groups; g++)
            for (Index o = 0; o < 8; o++)
                std::copy_n(w + ((a * groups + g) * 8 + o) * 4, 4, &pairs[((a * steps + g / 2) * 16 + 2 * o + g % 2) * 4]);
    return pairs;
}

template <int pixels, int passes, class Number> static void convolve_pairs(const Group8 &group, const Byte *x, Number *y) {
    const Index groups = group.run / 4;
    Sixteen sums[pixels];
    const auto starts = [](const std::int32_t *from) {
        return _mm512_maskz_cvtepu32_epi64(ALL, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
    };
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) sums[p] = starts(group.start);
    for (int pass = 0; pass < passes; pass++) {
        const Weight *w = pass ? group.finer : group.w;
        if (pass) {
#pragma GCC unroll 12
            for (int p = 0; p < pixels; p++)
                sums[p] = _mm512_add_epi32(_mm512_maskz_slli_epi32(ALL_16, sums[p], 7), starts(group.finer_start));
        }
        for (int t = 0; t < group.count; t++) {
            const Byte *at = x + group.taps[t];
            for (Index g = 0; g + 1 < groups; g += 2, w += 64) {
                const Sixteen weights = _mm512_loadu_si512(w);
#pragma GCC unroll 12
                for (int p = 0; p < pixels; p++) {
                    const auto *eight = reinterpret_cast<const __m128i *>(at + p * group.inputs + 4 * g);
                    add_products(sums[p], _mm512_maskz_broadcastq_epi64(ALL, _mm_loadl_epi64(eight)), weights);
                }
            }
            if (groups % 2 == 0) continue;
            const Sixteen weights = _mm512_loadu_si512(w);
#pragma GCC unroll 12
            for (int p = 0; p < pixels; p++) {
                add_products(sums[p], four(at + p * group.inputs + 4 * (groups - 1)), weights);
            }
            w += 64;
        }
    }
    const Sixteen first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const Sixteen second = _mm512_add_epi32(first, _mm512_set1_epi32(1));
    const Lanes<16> gain = load_eights<16>(group.gain, 0), bias = load_eights<16>(group.bias, 0);
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p += 2) {  // two pixels at a time
        const Sixteen next = sums[p + 1 < pixels ? p + 1 : p];
        const Sixteen both = _mm512_add_epi32(_mm512_permutex2var_epi32(sums[p], first, next),
                                              _mm512_permutex2var_epi32(sums[p], second, next));
        if (p + 1 < pixels) put_sums<16>(both, gain, bias, y + 8 * p);
        else put_sums<8>(_mm512_maskz_extracti64x4_epi64(ALL, both, 0), load<8>(group.gain), load<8>(group.bias), y + 8 * p);
    }
}

#endif

// A convolution of bytes; w : see `pack` in net/eight.py. size : 1 or 3. Finer weights, and what their sums start with, lie behind
// the others.
struct Bytewise {
    View<const Weight, 1> w;
    View<const std::int32_t, 1> start;
    View<const float, 1> gain, bias;
    Index inputs, size, dilation;
    Index outputs;
    bool finer;
    std::vector<Weight> two, finer_two;  // its weights in pairs, where that is the way

    Bytewise(View<const Weight, 1> w, View<const std::int32_t, 1> start, View<const float, 1> gain, View<const float, 1> bias,
             Index size, Index dilation)
        : w(w), start(start), gain(gain), bias(bias), inputs(w.shape[0] / (start.shape[0] * size * size)), size(size),
          dilation(size == 1 ? 1 : dilation), outputs(bias.shape[0]), finer(start.shape[0] > outputs) {
#if defined(SAUVOLANET_SIXTEEN)
        if (outputs != 8 || this->dilation != 1) return;
        two = paired(w.data, size, inputs);
        if (finer) finer_two = paired(w.data + 8 * size * size * inputs, size, inputs);
#endif
    }

    // A row of outputs, `step` numbers from pixel to pixel. x : the first input. rows : where the inputs of each row of
    // taps lie from it.
    template <class Number> void row(const Byte *x, const Index *rows, Index width, Number *y, Index step) const {
        if (finer) in_passes<2>(x, rows, width, y, step);
        else in_passes<1>(x, rows, width, y, step);
    }

    template <int passes, class Number>
    void in_passes(const Byte *x, const Index *rows, Index width, Number *y, Index step) const {
        for (Index output = 0; output < outputs;) {
            const Index many = output == 0 && outputs % 16 ? std::min<Index>(outputs, 24) : 16;
            const Weight *weights = w.data + output * size * size * inputs;
            Group8 group = {{}, 0, dilation == 1 ? size * inputs : inputs, inputs, step, weights,
                            finer ? weights + outputs * size * size * inputs : nullptr, start.data + output,
                            finer ? start.data + outputs + output : nullptr, gain.data + output, bias.data + output};
            for (Index a = 0; a < size; a++)
                for (Index b = 0; b < size * inputs; b += group.run) group.taps[group.count++] = rows[a] + b * dilation;
            Number *to = y + output;
            output += many;
#if defined(SAUVOLANET_SIXTEEN)
            if (!two.empty() && step == 8) {
                group.w = two.data(), group.finer = finer ? finer_two.data() : nullptr;
                by_blocks<12>(0, width, [&](Index at, auto pixels) {
                    convolve_pairs<pixels, passes>(group, x + at * inputs, to + at * step);
                });
                continue;
            }
#endif
            with_outputs(many, [&](auto eights) {
                by_blocks<PIXELS_8[eights - 1]>(0, width, [&](Index at, auto pixels) {
                    convolve_block<pixels, eights, passes>(group, x + at * inputs, to + at * step);
                });
            });
        }
    }
};

}  // namespace sauvolanet::LEVEL
