// Arrays that Python owns, as the kernels see them.
//
// Every kernel is compiled once per processor level (see levels.h). LEVEL is the level's name and the namespace of all
// that is compiled for it, so that the linker never mixes code of two levels.

#pragma once

#include <cstdint>

#ifdef CHECK_BOUNDS
#include <cstdlib>
#define IN_BOUNDS(at, size) (static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(size) ? void() : std::abort())
#else
#define IN_BOUNDS(at, size) void()
#endif

namespace sauvolanet::LEVEL {

using Index = std::int64_t;

// An array of N dimensions. Rows may lie apart; the numbers of a row, along the last dimension, are neighbours.
// data is null where Python gave None. View<const T, N> is only read.
template <class T, int N> struct View {
    T *data = nullptr;
    Index shape[N] = {};
    Index stride[N] = {};  // in elements; the last is 1

    View<T, N - 1> operator[](Index at) const {
        IN_BOUNDS(at, shape[0]);
        View<T, N - 1> part;
        part.data = data + at * stride[0];
        for (int i = 1; i < N; i++) {
            part.shape[i - 1] = shape[i];
            part.stride[i - 1] = stride[i];
        }
        return part;
    }

    template <class... Rest> T &operator()(Index at, Rest... rest) const { return (*this)[at](rest...); }
};

template <class T> struct View<T, 1> {
    T *data = nullptr;
    Index shape[1] = {};
    Index stride[1] = {};

    T &operator[](Index at) const {
        IN_BOUNDS(at, shape[0]);
        return data[at];
    }

    T &operator()(Index at) const { return (*this)[at]; }

    // The numbers first … last − 1.
    View part(Index first, Index last) const {
        View inner = *this;
        inner.data = data + first;
        inner.shape[0] = last - first;
        return inner;
    }
};

}  // namespace sauvolanet::LEVEL
