// The threshold of Su's method, one band of rows at a time, and its cleaning; the truth is in classic/su.py.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "bind.h"

namespace sauvolanet::LEVEL {

using Gray = View<const std::uint8_t, 2>;
using Mask = View<const bool, 2>;

namespace {

// gray ≤ mean + deviation/2 of n values with the sum s and the sum of squares q, without a root or a division.
inline bool is_ink(double gray, double n, double s, double q, double least) {
    const double above = gray * n - s;
    return (n >= least) & ((above <= 0) | (4 * above * above <= q * n - s * s));
}

// Number, gray and squared gray of the edge pixels: sums of each column's rows in the window, and running sums of those
// along the row. Kind holds the sums of one window; running sums may wrap.
template <class Kind> struct EdgeSums {
    using Sum = std::make_unsigned_t<Kind>;

    Index width;
    std::vector<Sum> room;
    Sum *columns[3], *running[3];

    explicit EdgeSums(Index width) : width(width), room(6 * width + 3) {
        for (Index i = 0; i < 3; i++) {
            columns[i] = room.data() + i * width;
            running[i] = room.data() + 3 * width + i * (width + 1);
        }
    }

    void add_row(const std::uint8_t *gray, const bool *edges, Sum sign) {
        Sum *__restrict n = columns[0], *__restrict s = columns[1], *__restrict q = columns[2];
        for (Index x = 0; x < width; x++) {
            const Sum one = sign * edges[x], value = gray[x];
            n[x] += one;
            s[x] += one * value;
            q[x] += one * value * value;
        }
    }

    void accumulate() {
        for (Index i = 0; i < 3; i++) {
            Sum value = 0;
            for (Index x = 0; x < width; x++) running[i][x + 1] = value += columns[i][x];
        }
    }

    void put(const std::uint8_t *gray, Index half, double least, bool *__restrict ink) const {
        const Sum *n = running[0], *s = running[1], *q = running[2];
        const auto decide = [&](Index x, Index a, Index b) {
            ink[x] = is_ink(gray[x], static_cast<Kind>(n[b] - n[a]), static_cast<Kind>(s[b] - s[a]),
                            static_cast<Kind>(q[b] - q[a]), least);
        };
        const Index begin = std::min(half, width), end = std::max(width - half, begin);
        for (Index x = 0; x < begin; x++) decide(x, 0, std::min(x + half + 1, width));
        for (Index x = begin; x < end; x++) decide(x, x - half, x + half + 1);
        for (Index x = end; x < width; x++) decide(x, std::max<Index>(x - half, 0), width);
    }
};

template <class Kind>
void below_edges_as(Gray gray, Mask edges, Index half, double least, Index y0, Index y1, View<bool, 2> ink) {
    const Index height = gray.shape[0];
    EdgeSums<Kind> sums(gray.shape[1]);
    const auto add = [&](Index y, int sign) { sums.add_row(gray[y].data, edges[y].data, sign); };
    for (Index y = std::max<Index>(y0 - half, 0); y < std::min(y0 + half, height); y++) add(y, 1);
    for (Index y = y0; y < y1; y++) {
        if (y + half < height) add(y + half, 1);
        sums.accumulate();
        sums.put(gray[y].data, half, least, ink[y].data);
        if (y - half >= 0) add(y - half, -1);
    }
}

// Whether one of the eight neighbours is true.
inline bool joined(Mask mask, Index y, Index x) {
    for (Index i = std::max<Index>(y - 1, 0); i < std::min(y + 2, mask.shape[0]); i++)
        for (Index j = std::max<Index>(x - 1, 0); j < std::min(x + 2, mask.shape[1]); j++)
            if (mask(i, j) && (i != y || j != x)) return true;
    return false;
}

}  // namespace

// Rows y0 … y1 − 1 of the ink.
static void below_edges(Gray gray, Mask edges, Index window, Index least, Index y0, Index y1, View<bool, 2> ink) {
    if (window <= 181)  // its sum of squares fits into 31 bits
        below_edges_as<std::int32_t>(gray, edges, window / 2, static_cast<double>(least), y0, y1, ink);
    else
        below_edges_as<std::int64_t>(gray, edges, window / 2, static_cast<double>(least), y0, y1, ink);
}

// Where both neighbours of an edge along (dy, dx) are alike, the darker becomes ink and the lighter paper.
static void settle(Gray gray, Mask edges, Mask ink, Index dy, Index dx, View<bool, 2> result) {
    const Index height = gray.shape[0], width = gray.shape[1];
    for (Index y = 0; y < height; y++) std::copy_n(ink[y].data, width, result[y].data);
    for (const bool rising : {true, false})
        for (Index y = height - dy - 1; y >= dy; y--)  // backwards, so that of two edges the first has the last word
            for (Index x = width - dx - 1; x >= dx; x--) {
                if (!edges(y, x) || ink(y - dy, x - dx) != ink(y + dy, x + dx) || !joined(edges, y, x)) continue;
                const int step = gray(y + dy, x + dx) - gray(y - dy, x - dx);
                if (rising ? step > 0 : step < 0) {
                    result(y - dy, x - dx) = rising;
                    result(y + dy, x + dx) = !rising;
                }
            }
}

// Pixels unlike all their eight neighbours change sides; beyond the page is paper.
static void drop_lone(Mask ink, View<bool, 2> result) {
    const Index height = ink.shape[0], width = ink.shape[1];
    for (Index y = 0; y < height; y++)
        for (Index x = 0; x < width; x++) {
            if (ink(y, x)) {
                result(y, x) = joined(ink, y, x);
                continue;
            }
            const bool inside = 0 < y && y < height - 1 && 0 < x && x < width - 1;
            result(y, x) = inside && ink(y, x - 1) && ink(y, x + 1) && ink(y - 1, x) && ink(y + 1, x) &&
                           ink(y - 1, x - 1) && ink(y - 1, x + 1) && ink(y + 1, x - 1) && ink(y + 1, x + 1);
        }
}

Table su = {KERNEL(below_edges), KERNEL(settle), KERNEL(drop_lone), {}};

}  // namespace sauvolanet::LEVEL
