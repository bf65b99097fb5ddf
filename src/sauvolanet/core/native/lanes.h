// N float32 as one value, so that a kernel can say which numbers stay in registers.
//
// A compiler left alone keeps one accumulator at a time; a convolution wants a dozen. Every multiply-add is written, in a
// written order, so a pixel's value depends on nothing but its inputs. Where the processor has fused multiply-adds (every
// level but plain on x86) they are fused, and all such levels agree bit for bit.

#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "view.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace sauvolanet::LEVEL {

#if defined(__GNUC__)  // GCC and Clang have vectors with operators

// Lanes of the processor's own registers.
#if defined(__AVX512F__)
constexpr int WIDE = 16;
#elif defined(__AVX2__)
constexpr int WIDE = 8;
#else
constexpr int WIDE = 4;
#endif

template <class T, int N> struct VectorOf {
    typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <int N> using Lanes = typename VectorOf<float, N>::type;
template <int N> using Whole = typename VectorOf<std::int32_t, N>::type;
template <int N> using Bytes = typename VectorOf<std::uint8_t, N>::type;
template <int N> using Doubles = typename VectorOf<double, N>::type;

template <int N> inline Whole<N> truncated(Lanes<N> a) { return __builtin_convertvector(a, Whole<N>); }
template <int N> inline Lanes<N> as_float(Whole<N> a) { return __builtin_convertvector(a, Lanes<N>); }
template <int N> inline Bytes<N> as_bytes(Whole<N> a) { return __builtin_convertvector(a, Bytes<N>); }
template <int N> inline Doubles<N> as_double(Lanes<N> a) { return __builtin_convertvector(a, Doubles<N>); }
template <int N> inline Lanes<N> from_bytes(Bytes<N> a) {
#if defined(__AVX2__)  // a compiler goes by way of 16 bits and halves
    if constexpr (N == 8) {
        std::int64_t bytes;
        std::memcpy(&bytes, &a, sizeof a);
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes)));
    }
#endif
#if defined(__AVX512F__)
    if constexpr (N == 16) {
        __m128i bytes;
        std::memcpy(&bytes, &a, sizeof a);
        return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
    }
#endif
    return __builtin_convertvector(__builtin_convertvector(a, Whole<N>), Lanes<N>);
}

// The numbers of two vectors, one behind the other, in another order.
#if defined(__clang__)
template <int... order, class V> inline V picked(V a, V b) { return __builtin_shufflevector(a, b, order...); }
#else
template <int... order, class V> inline V picked(V a, V b) { return __builtin_shuffle(a, b, Whole<sizeof...(order)>{order...}); }
#endif

#else  // no vectors: arrays of the same behaviour

constexpr int WIDE = 4;

template <class T, int N> struct VectorOf {
    T of[N];

    T &operator[](int i) { return of[i]; }
    const T &operator[](int i) const { return of[i]; }

    template <class Combine> static auto each(VectorOf a, VectorOf b, Combine combine) {
        VectorOf<decltype(combine(a[0], b[0])), N> out;
        for (int i = 0; i < N; i++) out[i] = combine(a[i], b[i]);
        return out;
    }
    friend VectorOf operator+(VectorOf a, VectorOf b) { return each(a, b, [](T x, T y) { return T(x + y); }); }
    friend VectorOf operator-(VectorOf a, VectorOf b) { return each(a, b, [](T x, T y) { return T(x - y); }); }
    friend VectorOf operator*(VectorOf a, VectorOf b) { return each(a, b, [](T x, T y) { return T(x * y); }); }
    friend VectorOf operator/(VectorOf a, VectorOf b) { return each(a, b, [](T x, T y) { return T(x / y); }); }
    friend VectorOf operator-(T a, VectorOf b) { return each(b, b, [a](T x, T) { return T(a - x); }); }
    friend VectorOf operator+(VectorOf a, T b) { return each(a, a, [b](T x, T) { return T(x + b); }); }
    friend VectorOf operator-(VectorOf a, T b) { return each(a, a, [b](T x, T) { return T(x - b); }); }
    friend VectorOf operator*(VectorOf a, T b) { return each(a, a, [b](T x, T) { return T(x * b); }); }
    friend VectorOf operator<<(VectorOf a, int b) { return each(a, a, [b](T x, T) { return T(x << b); }); }
    friend VectorOf<std::int32_t, N> operator>(VectorOf a, VectorOf b) {  // −1 where it is true
        return each(a, b, [](T x, T y) { return std::int32_t(x > y ? -1 : 0); });
    }
};
template <int N> using Lanes = VectorOf<float, N>;
template <int N> using Whole = VectorOf<std::int32_t, N>;
template <int N> using Bytes = VectorOf<std::uint8_t, N>;
template <int N> using Doubles = VectorOf<double, N>;

template <int N> inline Whole<N> truncated(Lanes<N> a) {
    Whole<N> out;
    for (int i = 0; i < N; i++) out[i] = static_cast<std::int32_t>(a[i]);
    return out;
}
template <int N> inline Lanes<N> as_float(Whole<N> a) {
    Lanes<N> out;
    for (int i = 0; i < N; i++) out[i] = static_cast<float>(a[i]);
    return out;
}
template <int N> inline Bytes<N> as_bytes(Whole<N> a) {
    Bytes<N> out;
    for (int i = 0; i < N; i++) out[i] = static_cast<std::uint8_t>(a[i]);
    return out;
}
template <int N> inline Doubles<N> as_double(Lanes<N> a) {
    Doubles<N> out;
    for (int i = 0; i < N; i++) out[i] = a[i];
    return out;
}
template <int N> inline Lanes<N> from_bytes(Bytes<N> a) {
    Lanes<N> out;
    for (int i = 0; i < N; i++) out[i] = static_cast<float>(a[i]);
    return out;
}
template <int... order, class V> inline V picked(V a, V b) {
    constexpr int count = sizeof...(order);
    return {{(order < count ? a[order % count] : b[order % count])...}};
}

#endif

template <int N> inline Lanes<N> load(const float *from) {
    Lanes<N> value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <int N> inline void store(float *to, Lanes<N> value) { std::memcpy(to, &value, sizeof value); }

// The number in all lanes.
template <int N> inline Lanes<N> spread(float number) { return number - Lanes<N>{}; }

// a · b + c, rounded once wherever the processor can.
inline Lanes<8> fma(Lanes<8> a, Lanes<8> b, Lanes<8> c) {
#if defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON) && defined(__GNUC__)
    float32x4_t part[3][2];
    std::memcpy(part[0], &a, sizeof a);
    std::memcpy(part[1], &b, sizeof b);
    std::memcpy(part[2], &c, sizeof c);
    for (int i = 0; i < 2; i++) part[2][i] = vfmaq_f32(part[2][i], part[0][i], part[1][i]);
    std::memcpy(&c, part[2], sizeof c);
    return c;
#else
    return a * b + c;
#endif
}

inline Lanes<4> fma(Lanes<4> a, Lanes<4> b, Lanes<4> c) {
#if defined(__FMA__)
    return _mm_fmadd_ps(a, b, c);
#elif defined(__ARM_NEON) && defined(__GNUC__)
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}

inline float fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_NEON)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
}

inline Lanes<1> fma(Lanes<1> a, Lanes<1> b, Lanes<1> c) { return spread<1>(fma(a[0], b[0], c[0])); }

#if defined(__AVX512F__)
inline Lanes<16> fma(Lanes<16> a, Lanes<16> b, Lanes<16> c) { return _mm512_fmadd_ps(a, b, c); }
#endif

// The same, or rounded twice on every processor.
template <bool fused, class V> inline V multiply_add(V a, V b, V c) {
    if constexpr (fused) return fma(a, b, c);
    else return a * b + c;
}

#if defined(__AVX512F__)
constexpr __mmask8 ALL = 0xff;  // GCC 12 warns of what some functions leave open without a mask
constexpr __mmask16 ALL_16 = 0xffff;
#endif

// A compiler makes two instructions of the comparison and the choice where one does exactly that.
template <int N> inline Lanes<N> larger(Lanes<N> a, Lanes<N> b) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return _mm512_maskz_max_ps(ALL_16, a, b);
#endif
#if defined(__AVX__)
    if constexpr (N == 8) return _mm256_max_ps(a, b);
#endif
#if defined(__GNUC__)
    return a > b ? a : b;
#else
    return Lanes<N>::each(a, b, [](float x, float y) { return x > y ? x : y; });
#endif
}

template <int N> inline Lanes<N> smaller(Lanes<N> a, Lanes<N> b) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return _mm512_maskz_min_ps(ALL_16, a, b);
#endif
#if defined(__AVX__)
    if constexpr (N == 8) return _mm256_min_ps(a, b);
#endif
#if defined(__GNUC__)
    return a < b ? a : b;
#else
    return Lanes<N>::each(a, b, [](float x, float y) { return x < y ? x : y; });
#endif
}

// The value where test is positive, else 0.
template <int N> inline Lanes<N> where_positive(Lanes<N> test, Lanes<N> value) {
#if defined(__GNUC__)
    return test > Lanes<N>{} ? value : Lanes<N>{};
#else
    return Lanes<N>::each(test, value, [](float x, float y) { return x > 0 ? y : 0.0f; });
#endif
}

// work(c, lanes) for the numbers from c on: several lanes at a time, the last numbers one by one.
template <class Work> inline void by_lanes(Index count, Work work) {
    constexpr int many = WIDE < 8 ? WIDE : 8;
    Index c = 0;
    for (; c + many <= count; c += many) work(c, std::integral_constant<int, many>());
    for (; c < count; c++) work(c, std::integral_constant<int, 1>());
}

// One number from all lanes: halves, then quarters, then neighbours are combined.
template <class Combine> inline float across(Lanes<8> value, Combine combine) {
    value = combine(value, picked<4, 5, 6, 7, 0, 1, 2, 3>(value, value));
    value = combine(value, picked<2, 3, 0, 1, 6, 7, 4, 5>(value, value));
    return combine(value, picked<1, 0, 3, 2, 5, 4, 7, 6>(value, value))[0];
}

inline float highest(Lanes<8> value) {
    return across(value, [](Lanes<8> a, Lanes<8> b) { return larger<8>(a, b); });
}

inline float total(Lanes<8> value) {
    return across(value, [](Lanes<8> a, Lanes<8> b) { return a + b; });
}

// exp(value) in each lane, value ≤ 0, to about 1e-7; below −87 it is about 1e-38.
template <int N, bool fused = true> inline Lanes<N> exponential(Lanes<N> value) {
    const Lanes<N> power = larger<N>(value, spread<N>(-87.0f)) * 1.4426950408889634f;
    Whole<N> whole = truncated<N>(power);
    whole = whole + (as_float<N>(whole) > power);  // rounded down
    const Lanes<N> part = power - as_float<N>(whole);
    Lanes<N> result = spread<N>(1.8775767e-3f);
    for (float number : {8.9893397e-3f, 5.5826318e-2f, 2.4015361e-1f, 6.9315308e-1f, 9.9999994e-1f})
        result = multiply_add<fused>(result, part, spread<N>(number));
    const Whole<N> bits = (whole + 127) << 23;
    Lanes<N> scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return result * scale;
}

// Eight rows of eight numbers become eight columns.
inline void turn(Lanes<8> (&block)[8]) {
    Lanes<8> pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = picked<0, 8, 2, 10, 4, 12, 6, 14>(block[i], block[i + 1]);
        pairs[i + 1] = picked<1, 9, 3, 11, 5, 13, 7, 15>(block[i], block[i + 1]);
    }
    for (int i = 0; i < 8; i++)
        if (!(i & 2)) {
            fours[i] = picked<0, 1, 8, 9, 4, 5, 12, 13>(pairs[i], pairs[i + 2]);
            fours[i + 2] = picked<2, 3, 10, 11, 6, 7, 14, 15>(pairs[i], pairs[i + 2]);
        }
    for (int i = 0; i < 4; i++) {
        block[i] = picked<0, 1, 2, 3, 8, 9, 10, 11>(fours[i], fours[i + 4]);
        block[i + 4] = picked<4, 5, 6, 7, 12, 13, 14, 15>(fours[i], fours[i + 4]);
    }
}

#if defined(__AVX512F__)

// The same of two such blocks side by side.
inline void turn(Lanes<16> (&block)[8]) {
    Lanes<16> pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = picked<0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30>(block[i], block[i + 1]);
        pairs[i + 1] = picked<1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31>(block[i], block[i + 1]);
    }
    for (int i = 0; i < 8; i++)
        if (!(i & 2)) {
            fours[i] = picked<0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29>(pairs[i], pairs[i + 2]);
            fours[i + 2] = picked<2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31>(pairs[i], pairs[i + 2]);
        }
    for (int i = 0; i < 4; i++) {
        block[i] = picked<0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27>(fours[i], fours[i + 4]);
        block[i + 4] = picked<4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31>(fours[i], fours[i + 4]);
    }
}

#endif

// Eight numbers from each of N / 8 places, `step` numbers apart.
template <int N> inline Lanes<N> load_eights(const float *from, [[maybe_unused]] Index step) {
#if defined(__AVX512F__)
    return _mm512_insertf32x8(_mm512_castps256_ps512(load<8>(from)), load<8>(from + step), 1);
#else
    return load<N>(from);
#endif
}

}  // namespace sauvolanet::LEVEL
